//! What does the work of the sessions: browsers of ours (`browsers`), or for each session a server of its own
//! (`upstream`). Either is behind these two traits: no session asks which of them it is.

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

/// What a session begins with.
#[derive(Clone)]
pub enum Birth {
    /// Nothing but what the client or the configuration brings along.
    New(Option<StorageState>),
    /// What was last seen of it.
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

    /// Why it, or what a session has of its own, could not be started when it was last wanted.
    fn failure(&self) -> Option<TroupeError>;

    /// From now on nothing more is started; ends what no session has.
    async fn stop(&self);

    /// Ends what sessions shared, when all are over.
    async fn end(&self);
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
    /// Makes `session`, and again whatever happens to it, until this is given up; ends where it cannot be made at all.
    async fn live(&self, session: &Arc<Session>, birth: Birth) -> TroupeError;

    /// Starts what else is started by the first call, and tells what came back of a session that was brought back;
    /// `None`: all that was kept.
    async fn wake(&self) -> Result<Option<Replayed>>;

    /// Sees what it can be resumed from, notes it in its keeper and writes it down. A `thorough` look sees all, others
    /// leave out what is slow to read and was read lately. False where something was too slow to be seen now.
    async fn look(&self, session: &Session, thorough: bool) -> bool;

    /// Its pages, in order of opening.
    fn pages(&self, session: &Session) -> Vec<PageInfo>;

    /// Passes on a call that is none of our tools.
    async fn pass_through(&self, tool: &str, _: Map<String, Value>, _: OnProgress) -> Result<Passed> {
        Err(TroupeError::new(ErrorCode::InternalError, format!("no server stands behind `{tool}`")))
    }

    /// Ends what the session has of its own.
    async fn close(&self, session: &Session);
}
