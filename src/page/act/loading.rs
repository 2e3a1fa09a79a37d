//! Waits for a document to load.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engine::{DownloadStart, EngineError},
    error::Result,
    page::{
        Page,
        state::{EventSequence, OpenDialog, OtherPageDialog},
    },
};

/// The time without requests after which the network is idle (`networkidle`).
const IDLE_TIME: Duration = Duration::from_millis(500);

/// How long after a navigation without a document its download may start.
pub(in crate::page) const DOWNLOAD_TIMEOUT: Duration = Duration::from_millis(300);

/// When a navigation counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WaitUntil {
    #[default]
    Load,
    DomContentLoaded,
    NetworkIdle,
}

pub(in crate::page) enum LoadOutcome {
    Loaded,
    Dialog(OpenDialog),
    Download(DownloadStart),
}

impl Page {
    /// Waits until a document that was committed since `mark` has loaded. It may be another one
    /// than that of the first navigation, because pages redirect by script.
    pub(in crate::page) async fn await_load_or_dialog(
        &self,
        until: WaitUntil,
        mark: EventSequence,
    ) -> Result<Option<OpenDialog>> {
        Ok(match self.await_load_outcome(until, mark).await? {
            LoadOutcome::Dialog(dialog) => Some(dialog),
            LoadOutcome::Loaded | LoadOutcome::Download(_) => None,
        })
    }

    /// Waits until a document that was committed since `mark` has reached the state `until`, or a
    /// dialog blocks it.
    pub(in crate::page) async fn await_load_outcome(
        &self,
        until: WaitUntil,
        mark: EventSequence,
    ) -> Result<LoadOutcome> {
        let reached = self.state.await_some(|facts| {
            // Only a crash during the navigation counts: a navigation recovers from an earlier one.
            if facts.crashed.is_some_and(|at| at > mark) {
                return Some(Err(EngineError::PageCrashed));
            }
            if facts.closed {
                return Some(Err(EngineError::PageGone));
            }
            if let Some(dialog) = facts.dialog_since(mark) {
                return Some(Ok(LoadOutcome::Dialog(dialog.into())));
            }
            let frame = facts.main_frame();
            let is_reached = match until {
                WaitUntil::DomContentLoaded => frame.dom_content_loaded,
                WaitUntil::Load | WaitUntil::NetworkIdle => frame.loaded,
            };
            (frame.committed_at > mark && is_reached).then_some(Ok(LoadOutcome::Loaded))
        });
        let reached = tokio::select! {
            biased;
            reached = reached => reached.map_err(|error| self.error(error))?,
            other = self.await_blocking_dialog_since(mark) => LoadOutcome::Dialog(other.into()),
        };
        if until == WaitUntil::NetworkIdle && matches!(reached, LoadOutcome::Loaded) {
            tokio::select! {
                () = self.state.await_network_idle(IDLE_TIME) => {}
                dialog = self.state.await_some(|facts| facts.dialog_since(mark)) => {
                    return Ok(LoadOutcome::Dialog(dialog.into()));
                }
                other = self.await_blocking_dialog() => return Ok(LoadOutcome::Dialog(other.into())),
            }
        }
        Ok(reached)
    }

    /// Waits until the dialog of another page blocks the document that was committed since `mark`,
    /// for example that of a popup that the document opens while it loads.
    async fn await_blocking_dialog_since(&self, mark: EventSequence) -> OtherPageDialog {
        self.state.await_some(|facts| facts.committed_since(mark).then_some(())).await;
        self.await_blocking_dialog().await
    }
}
