//! The contents of the dashboard, as JSON: the sessions of the server, and the calls in its record.
//! Independent of HTTP.
//!
//! - `sessions` and `calls` have the lists.
//! - `export` has the report and the script of a session.
//! - `live_list` follows the list of live sessions, and `images` has their live images.
//! - `answer` checks the answers of people to questions of agents.
//! - `takeover` sends the input of people to sessions, and `uploads` their files.

mod answer;
mod calls;
mod export;
mod images;
mod live_list;
mod sessions;
mod takeover;
mod uploads;

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use serde::Serialize;
use tokio::sync::broadcast;

pub use self::{
    calls::{CallDetails, CallPage, CallView, MAX_CALLS},
    images::{ImageRequest, OVERVIEW_INTERVAL, SessionViewer},
    live_list::LiveList,
    sessions::{SessionDetails, SessionView},
    takeover::{PersonInputs, PersonNotice, SessionControl, SessionControls},
    uploads::{FileChooserView, MAX_UPLOAD, UploadError},
};
use self::{images::WatchedSessions, live_list::LiveListTask};
use crate::{
    error::Result,
    session::SessionManager,
    store::{Picture, Store},
};
pub use crate::{
    page::PersonInput,
    store::{CallFilter, RecordedCall},
};

/// Returns the names of sessions by their ids. Reads files.
pub type SessionNameSource = Arc<dyn Fn() -> HashMap<String, String> + Send + Sync>;

/// The dashboard of a server.
pub struct Dashboard {
    manager: Arc<SessionManager>,
    names: Option<SessionNameSource>,
    watched: WatchedSessions,
    live_list: Mutex<Weak<LiveListTask>>,
}

/// The numbers of deleted sessions and calls.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct DeletionCounts {
    pub sessions: usize,
    pub calls: usize,
}

impl Dashboard {
    pub fn new(manager: Arc<SessionManager>, names: Option<SessionNameSource>) -> Self {
        let watched = WatchedSessions::new(manager.store().clone());
        Self { manager, names, watched, live_list: Mutex::default() }
    }

    fn store(&self) -> &Store {
        self.manager.store()
    }

    /// Returns the picture `number` of a call.
    pub async fn picture(&self, ref_id: &str, number: u64) -> Result<Option<Picture>> {
        self.store().picture(ref_id, number).await
    }

    /// Returns the session of a call, if the call is recorded.
    pub async fn session_of(&self, ref_id: &str) -> Result<Option<Option<String>>> {
        Ok(self.store().record(ref_id).await?.map(|record| record.session_id))
    }

    /// Begins to watch the session `id`. `None` if it is not open.
    pub fn watch(&self, id: &str, request: ImageRequest) -> Option<SessionViewer> {
        let session = self.manager.find(id)?;
        Some(self.watched.watch(&session, request))
    }

    /// Returns a receiver of all calls from now on: each when it begins, and again when it ends.
    pub fn call_events(&self) -> broadcast::Receiver<Arc<RecordedCall>> {
        self.store().call_events()
    }

    /// Deletes the record of a session that no server uses. Returns `None` if there is none.
    pub async fn delete(&self, session: &str) -> Result<Option<DeletionCounts>> {
        if self.store().find_session(session).await?.is_none() {
            return Ok(None);
        }
        let purged = self.store().purge(Some(session)).await?;
        Ok(Some(DeletionCounts { sessions: purged.sessions, calls: purged.calls }))
    }
}
