//! The common steps of every action on a page: waits until the element is actionable, and describes
//! the effects afterwards.

use serde::Deserialize;
use serde_json::Value;

use crate::{
    config::AfterAction,
    engine::{EngineError, EngineResult, FrameId},
    error::Result,
    page::{
        Page,
        act::{DocumentClock, EventLoopTick, SettledEffects, TickSnapshots},
        read::{Changes, SnapshotBefore, SnapshotOptions},
        script::ANSWER_TIMEOUT,
        state::EventSequence,
    },
};

/// The fields that an action has changed.
#[derive(Debug, Clone, Default)]
pub struct ChangedFields {
    /// For each field, whether it is a password field.
    pub passwords: Vec<bool>,
    /// The current value of a password field.
    pub secret: Option<String>,
}

/// A field whose value differs from the entered text after the page's handlers have run.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueMismatch {
    /// The index of the entered text.
    pub index: usize,
    /// The field's description, as in a snapshot.
    pub description: String,
    /// The value; `None` for a password field.
    pub value: Option<String>,
    pub max_length: Option<u64>,
}

/// The result of an action.
#[derive(Debug, Clone, Default)]
pub struct ActionOutcome {
    /// The element's description, as in a snapshot.
    pub element: String,
    /// The effects on the page.
    pub settled: SettledEffects,
    /// The changes of the page's snapshot by the action.
    pub changes: Option<String>,
    /// The changes of the page's snapshot between the client's last result and the action.
    pub earlier_changes: Option<String>,
    /// The snapshot after the action, if the configuration requests it.
    pub snapshot: Option<String>,
    /// The snapshot for the Playwright tool set, if it was taken with the action.
    pub aria_snapshot: Option<String>,
    pub entered: ChangedFields,
    pub other_values: Vec<ValueMismatch>,
}

impl ActionOutcome {
    /// Sets which of the entered fields are password fields.
    pub(in crate::page) fn with_entered(mut self, passwords: Vec<bool>) -> Self {
        let secret = self.settled.password.take().filter(|_| passwords.contains(&true));
        self.entered = ChangedFields { passwords, secret };
        self
    }
}

impl Page {
    /// Performs `work` on `element`, which is in `frame`, and describes its effects.
    pub(in crate::page) async fn act(
        &self,
        element: String,
        frame: &FrameId,
        work: impl AsyncFnOnce(EventSequence) -> Result<()>,
    ) -> Result<ActionOutcome> {
        let before = self.snapshot_before_action().await;
        let mark = self.state.mark();
        work(mark).await?;
        self.outcome(element, frame, mark, before, None).await
    }

    /// Returns the page's snapshot before an action. `None` if the configuration does not report
    /// changes, or if the page cannot be read in time.
    pub(in crate::page) async fn snapshot_before_action(&self) -> Option<SnapshotBefore> {
        self.within(self.config.timeout_settle, self.before_action()).await.flatten()
    }

    /// Returns the changes of the page since the client's last result. `None` if there are none, if
    /// the client was not shown this document, or if the page cannot be read in time.
    pub async fn changes_since_shown(&self) -> Option<String> {
        let now = self.snapshot_before_action().await?;
        let changes = Box::pin(self.changes_since(Some(now), None));
        let Changes { earlier, made } = self.within(self.config.timeout_settle, changes).await?;
        // The page may have changed while it was read.
        match (earlier, made) {
            (Some(earlier), Some(made)) => Some(format!("{earlier}\n{made}")),
            (earlier, made) => earlier.or(made),
        }
    }

    /// Describes the effects of an action on `element` since `mark`. `tick` is a tick of the page
    /// that is already pending.
    pub(in crate::page) async fn outcome(
        &self,
        element: String,
        frame: &FrameId,
        mark: EventSequence,
        before: Option<SnapshotBefore>,
        tick: Option<EventLoopTick<'_>>,
    ) -> Result<ActionOutcome> {
        let settled = self.settle(mark, frame, before.as_ref(), tick).await?;
        Ok(self.describe_effects(element, settled, before).await)
    }

    /// Describes the effects of an action on `element`. `before` is the page's snapshot before it.
    pub(in crate::page) async fn describe_effects(
        &self,
        element: String,
        mut settled: SettledEffects,
        before: Option<SnapshotBefore>,
    ) -> ActionOutcome {
        let TickSnapshots { native: snapshot, aria } = std::mem::take(&mut settled.snapshots);
        let mut done =
            ActionOutcome { element, settled, aria_snapshot: aria, ..ActionOutcome::default() };
        if done.settled.dialog.is_some() || done.settled.closed {
            return done;
        }
        // The action is done. A snapshot that times out must not make it fail.
        let adding = async {
            match self.config.after_action {
                AfterAction::None => {}
                AfterAction::Changes if done.settled.navigated => {}
                AfterAction::Changes => {
                    let clock = done.settled.clock.filter(|_| done.settled.requested);
                    let changes = self.rendered_changes(before, snapshot, clock);
                    (done.changes, done.earlier_changes) = Box::pin(changes).await;
                }
                AfterAction::Snapshot => {
                    done.snapshot = self.snapshot(&SnapshotOptions::default()).await.ok()
                }
            }
        };
        let _ = self.within(self.config.timeout_settle, adding).await;
        self.snapshot_cache.clear_reported();
        done
    }

    /// Returns the changes by the action, and those before it. With `clock`, which the caller
    /// passes if the page has made requests, waits until the page has rendered their responses.
    async fn rendered_changes(
        &self,
        before: Option<SnapshotBefore>,
        snapshot: Option<Value>,
        clock: Option<DocumentClock>,
    ) -> (Option<String>, Option<String>) {
        let retry_from = before.clone().zip(clock);
        let Changes { earlier, mut made } = self.changes_since(before, snapshot).await;
        if let Some((before, clock)) = retry_from
            && self.await_rendering(clock.at(before.taken_at), made.is_some()).await
        {
            made = self.changes_since(Some(before), None).await.made;
        }
        (made, earlier)
    }

    /// Runs `work`, and waits for its effects on the page.
    pub async fn run_and_settle<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let mark = self.state.mark();
        let done = work.await?;
        self.settle(mark, self.main_frame(), None, None).await?;
        Ok(done)
    }

    /// Awaits input. A dialog that it opens, or a page that it closes, is a result and not a
    /// failure.
    pub(in crate::page) async fn input(
        &self,
        mark: EventSequence,
        work: impl Future<Output = EngineResult<()>>,
    ) -> Result<()> {
        let interrupted = self.state.await_some(|facts| {
            if facts.crashed.is_some() {
                return Some(Err(EngineError::PageCrashed));
            }
            (facts.dialog_since(mark).is_some() || facts.closed).then_some(Ok(()))
        });
        let outcome = async {
            tokio::select! {
                biased;
                done = work => match done {
                    Err(EngineError::PageGone) => Ok(()),
                    other => other.map_err(|error| self.error(error)),
                },
                outcome = interrupted => outcome.map_err(|error| self.error(error)),
                // The wait for the outcome of the action reports the dialog.
                _ = self.await_blocking_dialog() => Ok(()),
            }
        };
        self.while_responsive(ANSWER_TIMEOUT, outcome).await
    }
}
