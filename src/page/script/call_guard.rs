//! Ends a call when the page closes, crashes, is blocked by a dialog, or does not respond.

use std::{sync::atomic::Ordering, time::Duration};

use futures_util::future::BoxFuture;

use crate::{
    engine::{self, EngineError, World},
    error::Result,
    page::{Page, state::OtherPageDialog},
};

/// Timeout for queries that do not wait for anything in the page.
pub(in crate::page) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Additional time for a wait that the page times itself, in case its event loop is blocked.
pub(in crate::page) const GRACE: Duration = Duration::from_secs(2);

impl Page {
    /// Waits until the dialog of another page blocks this one.
    pub(in crate::page) async fn await_blocking_dialog(&self) -> OtherPageDialog {
        let responds = |time_limit| -> BoxFuture<'_, bool> { Box::pin(self.responds(time_limit)) };
        self.state.dialogs().await_blocking(&self.id, responds).await
    }

    /// Returns whether the page completes an event loop tick within `time_limit`.
    pub(in crate::page) async fn responds(&self, time_limit: Duration) -> bool {
        let answer = self.engine.evaluate(self.main_frame(), World::Isolated, "0");
        self.within(time_limit, answer).await.is_some()
    }

    /// Awaits `work`. Fails if the page closes, crashes, is blocked by a dialog, or does not
    /// respond.
    pub(in crate::page) async fn guarded<T>(
        &self,
        work: impl Future<Output = engine::EngineResult<T>>,
    ) -> Result<T> {
        self.guarded_for(ANSWER_TIMEOUT, work).await
    }

    /// Awaits `work` like [`Self::guarded`], with the time limit `limit`.
    pub(in crate::page) async fn guarded_for<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = engine::EngineResult<T>>,
    ) -> Result<T> {
        // The error message is created outside of the lock.
        let stopped = self.state.await_some(|facts| match &facts.dialog {
            _ if facts.crashed.is_some() => Some(Err(EngineError::PageCrashed)),
            _ if facts.closed => Some(Err(EngineError::PageGone)),
            dialog => dialog.clone().map(Ok),
        });
        let outcome = async {
            tokio::select! {
                biased;
                done = work => done.map_err(|error| self.error(error)),
                stopped = stopped => Err(match stopped {
                    Ok(dialog) => self.dialog_open(&dialog),
                    Err(error) => self.error(error),
                }),
                other = self.await_blocking_dialog() => Err(self.blocked_by_error(&other)),
            }
        };
        self.while_responsive(limit, outcome).await
    }

    /// Awaits `work` in the page. If it takes longer than `limit`, marks the page as unresponsive
    /// and fails.
    pub(in crate::page) async fn while_responsive<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if let Some(done) = self.within(limit, work).await {
            return done;
        }
        self.is_unresponsive.store(true, Ordering::Relaxed);
        Err(self
            .timed_out("a script may be blocking the page's main thread: the page did not respond", limit)
            .suggestion("wait and call again, navigate away with `navigate`, close the page with `pages`, or close the session"))
    }

    /// Awaits `work`; `None` if it takes longer than `time`.
    pub(in crate::page) async fn within<T>(
        &self,
        time: Duration,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        tokio::time::timeout(time, work).await.ok()
    }
}

pub(in crate::page) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
