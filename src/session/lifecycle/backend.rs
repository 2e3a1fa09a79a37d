//! The traits of session backends: Troupe's own browsers (`browsers`), or an upstream server for each session
//! (`upstreams`). Sessions do not depend on which of them is used.

use std::sync::Arc;

use async_trait::async_trait;

use super::session::AttachedWorker;
use crate::{
    config::ContextConfig,
    error::{Result, TroupeError},
    session::persistence::SessionOrigin,
};

/// What all sessions of a server have in common.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The id of the next new session.
    fn next_id(&self) -> Arc<str> {
        uuid::Uuid::new_v4().to_string().into()
    }

    /// What does the work of the session `id`, which is made with `options`.
    fn attend(
        self: Arc<Self>,
        id: &Arc<str>,
        options: &ContextConfig,
        birth: &SessionOrigin,
    ) -> AttachedWorker;

    /// Starts what sessions share, where it does not run.
    async fn start(self: Arc<Self>) -> Result<()>;

    /// Returns an error if a new session could not be served.
    async fn admit(self: Arc<Self>) -> Result<()> {
        Ok(())
    }

    /// Why the backend, or the session's part of it, could not be started at the last attempt.
    fn failure(&self) -> Option<TroupeError>;

    /// Returns what the metrics report of its browsers.
    fn browser_counts(&self) -> BrowserCounts {
        BrowserCounts::default()
    }

    /// From now on nothing more is started; ends what no session has.
    async fn stop(&self);

    /// Ends what sessions shared, when all are over.
    async fn end(&self);
}

/// How many browsers run, and how many were started in place of one that died.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BrowserCounts {
    pub running: usize,
    pub restarts: u64,
}
