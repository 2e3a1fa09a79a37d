//! The interface of session backends. Sessions do not depend on which backend is used.

use std::sync::Arc;

use async_trait::async_trait;

use super::session::AttachedWorker;
use crate::{
    config::ContextConfig,
    error::{Result, TroupeError},
    session::persistence::SessionOrigin,
};

/// The part of a backend that all sessions of a server share.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Returns the id of the next new session.
    fn next_id(&self) -> Arc<str> {
        uuid::Uuid::new_v4().to_string().into()
    }

    /// Creates the worker of the session `id` with `options`.
    fn attach(
        self: Arc<Self>,
        id: &Arc<str>,
        options: &ContextConfig,
        origin: &SessionOrigin,
    ) -> AttachedWorker;

    /// Starts what sessions share, unless it is running.
    async fn start(self: Arc<Self>) -> Result<()>;

    /// Returns an error if a new session could not be served.
    async fn admit(self: Arc<Self>) -> Result<()> {
        Ok(())
    }

    /// Returns why the last start of a browser or upstream server failed; `None` if it succeeded.
    fn failure(&self) -> Option<TroupeError>;

    /// Returns what new sessions wait for, if it is a decision of the user.
    fn wait_reason(&self) -> Option<&'static str> {
        None
    }

    /// Returns the number of its browsers, for the metrics.
    fn browser_counts(&self) -> BrowserCounts {
        BrowserCounts::default()
    }

    /// Prevents further starts, and ends what no session uses.
    async fn stop(&self);

    /// Ends what sessions shared, after all sessions have ended.
    async fn end(&self);
}

/// The number of running browsers, and of browsers that were started to replace one that died.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BrowserCounts {
    pub running: usize,
    pub restarts: u64,
}
