//! The traits of session backends: Troupe's own browsers (`browsers`), or an upstream server for each session
//! (`upstreams`). Sessions do not depend on which of them is used.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};

use super::{
    pages::Pages,
    saved::SavedSession,
    session::{PageInfo, Session},
    storage_state::StorageState,
};
use crate::{
    config::ContextConfig,
    error::{ErrorCode, Result, TroupeError},
    upstream::{OnProgress, Passed, Replayed},
};

/// The initial state of a session.
#[derive(Clone)]
pub enum Birth {
    /// Only the state that the client or the configuration provides.
    New(Option<StorageState>),
    /// The last saved state.
    Again(Arc<SavedSession>),
}

/// What all sessions of a server have in common.
#[async_trait]
pub trait Backend: Send + Sync {
    /// The id of the next new session.
    fn next_id(&self) -> Arc<str> {
        uuid::Uuid::new_v4().to_string().into()
    }

    /// What does the work of the session `id`, which is made with `options`.
    fn attend(self: Arc<Self>, id: &Arc<str>, options: &ContextConfig, birth: &Birth) -> Attended;

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

/// Who does the work of a new session.
pub struct Attended {
    pub worker: Arc<dyn Worker>,
    /// Its pages, where some were opened ahead.
    pub pages: Option<Arc<Pages>>,
}

/// What does the work of one session.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Creates `session`, and creates it again when its browser dies, until this future is dropped. Returns if it
    /// cannot be created at all.
    async fn live(&self, session: &Arc<Session>, birth: Birth) -> TroupeError;

    /// Starts what the first call needs, and returns what was restored of a resumed session. `None` means everything
    /// that was saved.
    async fn wake(&self) -> Result<Option<Replayed>>;

    /// Reads the state that the session can be resumed from, and saves it in its keeper and in the record. A
    /// `thorough` read includes everything; others omit data that is slow to read and was read recently. Returns
    /// false if something did not answer in time.
    async fn look(&self, session: &Session, thorough: bool) -> bool;

    /// Its pages, in order of opening.
    fn pages(&self, session: &Session) -> Vec<PageInfo>;

    /// Passes on a call that is none of our tools.
    async fn pass_through(
        &self,
        tool: &str,
        _: Map<String, Value>,
        _: OnProgress,
    ) -> Result<Passed> {
        Err(TroupeError::new(ErrorCode::InternalError, format!("no server stands behind `{tool}`")))
    }

    /// Ends the session's part of the backend.
    async fn close(&self, session: &Session);
}
