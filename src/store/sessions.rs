//! Sessions in the record, and their saved state.

use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde_json::Value;

use super::{Store, time::now};
use crate::error::Result;

/// The age in milliseconds from which a saved state is stale. It can still be resumed, but web
/// sites may have changed.
pub(super) const STALE_AGE: u64 = 24 * 3_600_000;

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Its server is running.
    Active,
    Closed,
    Expired,
    /// Its browser died and could not be replaced.
    Error,
    /// Its server has ended. Its saved state is less than 24 hours old.
    Recoverable,
    /// Its server has ended. Its saved state is older than that.
    Stale,
}

impl SessionState {
    pub const ALL: &[Self] =
        &[Self::Active, Self::Closed, Self::Expired, Self::Error, Self::Recoverable, Self::Stale];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Closed => "closed",
            Self::Expired => "expired",
            Self::Error => "error",
            Self::Recoverable => "recoverable",
            Self::Stale => "stale",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|state| state.as_str() == name).copied()
    }
}

/// A session that begins or is resumed.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// A JSON object: `user` and `workingFolder`, the options it was created with, and so on.
    pub metadata: String,
}

/// A session in a list.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: String,
    /// Milliseconds since 1970, like all times here.
    pub created_at: u64,
    pub last_activity: u64,
    pub state: SessionState,
    pub metadata: Value,
    /// When its state was last saved.
    pub saved_at: Option<u64>,
    /// The number of its calls in the record.
    pub requests: u64,
    /// Whether its client has released it. Its server may still be running.
    pub is_released: bool,
    /// The process of another running server that uses it.
    pub used_by: Option<u32>,
}

/// The data for resuming a session, as it is written.
#[derive(Clone)]
pub struct NewState {
    pub state: String,
    pub origins: Vec<NewOrigin>,
}

impl NewState {
    /// Returns the approximate number of bytes in the record.
    fn bytes(&self) -> usize {
        self.state.len() + self.origins.iter().map(|origin| origin.bytes).sum::<usize>()
    }
}

/// The storage of one origin. It is written only if the origin's `hash` in the record differs.
#[derive(Clone)]
pub struct NewOrigin {
    pub origin: String,
    pub hash: String,
    /// The approximate size of `text` in bytes.
    pub bytes: usize,
    pub text: OriginText,
}

/// A text that is created at its first use.
pub type OriginText = Arc<LazyLock<String, Box<dyn FnOnce() -> String + Send>>>;

/// The data for resuming a session, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    pub state: String,
    pub saved_at: u64,
}

/// The filter of a list. A session must match every given field.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub id: Option<String>,
    pub state: Option<SessionState>,
    /// `user` of the metadata.
    pub user: Option<String>,
    /// `workingFolder` of the metadata.
    pub working_folder: Option<String>,
    /// Omits sessions whose saved state is empty: no cookies, no storage, and no page except
    /// `about:blank`.
    pub without_blank: bool,
}

impl SessionFilter {
    /// Returns whether a session matches the fields that a query does not check.
    pub(super) fn fits(&self, row: &SessionRow) -> bool {
        let is = |expected: &Option<String>, key: &str| {
            expected.as_deref().is_none_or(|value| row.metadata[key].as_str() == Some(value))
        };
        self.state.is_none_or(|state| state == row.state)
            && is(&self.user, "user")
            && is(&self.working_folder, "workingFolder")
    }
}

impl Store {
    /// Records a session that begins, or is resumed on this server under the same id.
    pub fn record_session_begin(&self, session: NewSession) {
        let server = self.0.server.clone();
        let session = Arc::new(session);
        self.0.ledger.begin(session.clone());
        self.0
            .writer
            .queue(session.metadata.len(), move |tables| tables.begin_session(&session, &server));
    }

    /// Records the end of a session. The saved state of a `Closed` session is deleted. A
    /// `Recoverable` session was released by its client. A session that ends with its server is not
    /// recorded as ended, so that it can be resumed.
    pub fn record_session_end(&self, id: &str, state: SessionState) {
        let id: Arc<str> = id.into();
        if self.0.ledger.end(&id, state) {
            self.write_session(id, 0);
        }
    }

    /// Queues a write of the ledger's entry for the session `id`.
    fn write_session(&self, id: Arc<str>, bytes: usize) {
        let (ledger, server) = (self.0.ledger.clone(), self.0.server.clone());
        let written = Arc::new(Mutex::new(None));
        let (settled_ledger, settled_id, outcome) = (ledger.clone(), id.clone(), written.clone());
        self.0.writer.queue_and_settle(
            bytes,
            move |tables| {
                let Some(unwritten) = ledger.read(&id) else { return Ok(()) };
                tables.write_session(&id, &unwritten, &server)?;
                *written.lock() = Some(unwritten);
                Ok(())
            },
            move |is_written| {
                let written = outcome.lock().take();
                settled_ledger.settle(&settled_id, written.filter(|_| is_written));
            },
        );
    }

    /// Repeats the failed writes of sessions.
    pub(super) fn retry_sessions(&self) {
        for id in self.0.ledger.due() {
            let bytes = self.0.ledger.snapshot(&id).map_or(0, |snapshot| snapshot.state.bytes());
            self.write_session(id, bytes);
        }
    }

    /// Queues a write of the state of the session `id`, which replaces the previous one. If several
    /// states are queued, only the newest is written.
    pub fn save_state(&self, id: &str, state: NewState) {
        let id: Arc<str> = id.into();
        let bytes = state.bytes();
        if self.0.ledger.save(&id, state) {
            self.write_session(id, bytes);
        }
    }

    /// Returns the saved state of the session `id`.
    pub async fn saved_state(&self, id: &str) -> Result<Option<SavedState>> {
        // Queued writes are completed first.
        self.flush().await;
        if let Some(snapshot) = self.0.ledger.snapshot(id) {
            return Ok(Some(SavedState {
                state: snapshot.state.state.clone(),
                saved_at: snapshot.saved_at,
            }));
        }
        let id = id.to_owned();
        self.read(move |tables| tables.saved_state(&id)).await
    }

    /// Returns the saved storage of each origin of the session `id`.
    pub async fn saved_origins(&self, id: &str) -> Result<Vec<String>> {
        self.flush().await;
        if let Some(snapshot) = self.0.ledger.snapshot(id) {
            let origins = &snapshot.state.origins;
            return Ok(origins.iter().map(|origin| origin.text.to_string()).collect());
        }
        let id = id.to_owned();
        self.read(move |tables| tables.saved_origins(&id)).await
    }

    /// Returns the session `id`.
    pub async fn find_session(&self, id: &str) -> Result<Option<SessionRow>> {
        let filter = SessionFilter { id: Some(id.to_owned()), ..SessionFilter::default() };
        Ok(self.sessions(filter).await?.pop())
    }

    /// Returns the sessions that `filter` selects, newest first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRow>> {
        self.flush().await;
        let server = self.0.server.clone();
        self.read(move |tables| tables.sessions(&filter, &server)).await
    }
}

/// The columns of a session, and which server uses it.
pub(super) struct SessionColumns {
    pub id: String,
    pub created_at: u64,
    pub last_activity: u64,
    pub state: String,
    /// JSON.
    pub metadata: String,
    /// The id of its server. Empty if the session was released.
    pub server: String,
    pub saved_at: Option<u64>,
    pub requests: u64,
    /// The process of its server, if that is in the record.
    pub pid: Option<u32>,
    /// Whether its server is running.
    pub is_running: bool,
}

impl SessionColumns {
    /// Returns the session as the server `own` sees it.
    pub fn row(self, own: &str) -> SessionRow {
        let mut state = SessionState::named(&self.state).unwrap_or(SessionState::Error);
        let is_without_server = match state {
            SessionState::Active => !self.is_running,
            SessionState::Recoverable | SessionState::Stale => true,
            SessionState::Closed | SessionState::Expired | SessionState::Error => false,
        };
        if is_without_server {
            // The stored state is updated rarely, so it may have become stale meanwhile.
            state = state_without_server(self.saved_at);
        }
        let is_elsewhere = state == SessionState::Active && self.server != own;
        SessionRow {
            used_by: self.pid.filter(|_| is_elsewhere),
            is_released: self.server.is_empty(),
            id: self.id,
            created_at: self.created_at,
            last_activity: self.last_activity,
            state,
            metadata: serde_json::from_str(&self.metadata).unwrap_or_default(),
            saved_at: self.saved_at,
            requests: self.requests,
        }
    }
}

/// Returns whether a session in this stored state can be claimed. `is_free`: no other running
/// server uses it.
pub(super) fn is_claimable(state: &str, is_free: impl FnOnce() -> bool) -> bool {
    match state {
        "closed" => false,
        "expired" | "error" => true,
        _ => is_free(),
    }
}

/// Returns whether a saved state has no cookies and no page except `about:blank`. An invalid state
/// counts as not empty.
pub(super) fn is_blank(state: &str) -> bool {
    let Ok(state) = serde_json::from_str::<Value>(state) else { return false };
    let list = |key: &str| state[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_blank_page =
        |page: &Value| page["url"].as_str().is_none_or(|url| matches!(url, "" | "about:blank"));
    list("cookies").is_empty() && list("pages").iter().all(is_blank_page)
}

/// Returns the state of a session whose server has ended.
fn state_without_server(saved_at: Option<u64>) -> SessionState {
    match saved_at {
        None => SessionState::Closed,
        Some(at) if now().saturating_sub(at) <= STALE_AGE => SessionState::Recoverable,
        Some(_) => SessionState::Stale,
    }
}
