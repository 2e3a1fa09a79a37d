//! Sessions in the record, and their saved state.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::{Store, servers, time::now};
use crate::error::Result;

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

/// The condition that the saved state in `session_snapshots.state` is empty. An invalid state
/// counts as not empty.
const IS_BLANK: &str = "json_valid(session_snapshots.state)
     AND coalesce(json_array_length(session_snapshots.state, '$.cookies'), 0) = 0
     AND NOT EXISTS (SELECT 1 FROM json_each(session_snapshots.state, '$.pages')
                     WHERE json_extract(value, '$.url') NOT IN ('', 'about:blank'))
     AND NOT EXISTS (SELECT 1 FROM session_origins WHERE session_origins.session_id = sessions.session_id)";

impl SessionFilter {
    fn fits(&self, row: &SessionRow) -> bool {
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
    pub fn session_begun(&self, session: NewSession) {
        let server = self.0.server.id.clone();
        let session = Arc::new(session);
        self.0.ledger.begin(session.clone());
        self.0.writer.queue(session.metadata.len(), move |connection| {
            servers::ensure_row(connection, &server)?;
            connection.execute(
                "INSERT INTO sessions (session_id, created_at, last_activity, state, metadata, server_id)
                 VALUES (?1, ?2, ?3, 'active', ?4, ?5)
                 ON CONFLICT (session_id) DO UPDATE SET
                     last_activity = excluded.last_activity, state = 'active', metadata = excluded.metadata,
                     server_id = excluded.server_id",
                params![&*session.id, session.created_at, now(), session.metadata, &*server],
            )?;
            Ok(())
        });
    }

    /// Records the end of a session. The saved state of a `Closed` session is deleted. A
    /// `Recoverable` session was released by its client. A session that ends with its server is not
    /// recorded as ended, so that it can be resumed.
    pub fn session_ended(&self, id: &str, state: SessionState) {
        let id: Arc<str> = id.into();
        if self.0.ledger.end(&id, state) {
            self.write_session(id, 0);
        }
    }

    /// Queues a write of the ledger's entry for the session `id`.
    fn write_session(&self, id: Arc<str>, bytes: usize) {
        let (ledger, server) = (self.0.ledger.clone(), self.0.server.id.clone());
        let written = Arc::new(Mutex::new(None));
        let (settled_ledger, settled_id, outcome) = (ledger.clone(), id.clone(), written.clone());
        let work = move |connection: &Connection| {
            let Some(unwritten) = ledger.read(&id) else { return Ok(()) };
            unwritten.write(connection, &id, &server)?;
            *written.lock() = Some(unwritten);
            Ok(())
        };
        self.0.writer.queue_and_settle(bytes, work, move |is_written| {
            let written = outcome.lock().take();
            settled_ledger.settle(&settled_id, written.filter(|_| is_written));
        });
    }

    /// Repeats the failed writes of sessions.
    pub(super) fn retry_sessions(&self) {
        for id in self.0.ledger.due() {
            let bytes = self.0.ledger.snapshot(&id).map_or(0, |snapshot| snapshot.state.bytes());
            self.write_session(id, bytes);
        }
    }

    /// Claims a session that no running server uses. Returns false if another server has claimed
    /// it, or if the session is closed.
    pub async fn claim_session(&self, id: &str) -> Result<bool> {
        let store = self.clone();
        let id = id.to_owned();
        let claimed = self.ask_writer(move |connection| {
            let found: Option<(String, String)> = connection
                .query_row(
                    "SELECT state, server_id FROM sessions WHERE session_id = ?1",
                    [&id],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .optional()?;
            let Some((state, server)) = found else { return Ok(false) };
            let is_own = *store.0.server.id == *server;
            let is_free = match state.as_str() {
                "closed" => false,
                "expired" | "error" => true,
                _ => is_own || !store.0.server.is_running(&server),
            };
            if is_free {
                servers::ensure_row(connection, &store.0.server.id)?;
                connection.execute(
                    "UPDATE sessions SET state = 'active', server_id = ?2 WHERE session_id = ?1",
                    params![id, &*store.0.server.id],
                )?;
            }
            Ok(is_free)
        });
        let claimed = claimed.await.map_err(|why| super::not_changed(&why))?;
        claimed.map_err(|error| super::not_changed(&error))
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
        self.read(move |connection| {
            connection
                .query_row(
                    "SELECT state, saved_at FROM session_snapshots WHERE session_id = ?1",
                    [id],
                    |row| Ok(SavedState { state: row.get(0)?, saved_at: row.get(1)? }),
                )
                .optional()
        })
        .await
    }

    /// Returns the saved storage of each origin of the session `id`.
    pub async fn saved_origins(&self, id: &str) -> Result<Vec<String>> {
        self.flush().await;
        if let Some(snapshot) = self.0.ledger.snapshot(id) {
            let origins = &snapshot.state.origins;
            return Ok(origins.iter().map(|origin| origin.text.to_string()).collect());
        }
        let id = id.to_owned();
        self.read(move |connection| {
            connection
                .prepare_cached(
                    "SELECT storage FROM session_origins WHERE session_id = ?1 ORDER BY origin",
                )?
                .query_map([id], |row| row.get(0))?
                .collect()
        })
        .await
    }

    /// Returns the sessions that `filter` selects, newest first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRow>> {
        self.flush().await;
        let store = self.clone();
        self.read(move |connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT session_id, created_at, last_activity, sessions.state, metadata, server_id, saved_at,
                        (SELECT count(*) FROM requests WHERE requests.session_id = sessions.session_id),
                        (SELECT pid FROM servers WHERE servers.server_id = sessions.server_id)
                 FROM sessions LEFT JOIN session_snapshots USING (session_id)
                 WHERE (?1 IS NULL OR session_id = ?1) AND NOT (?2 AND coalesce({IS_BLANK}, FALSE))
                 ORDER BY created_at DESC, sessions.rowid DESC",
            ))?;
            let mut running_servers = HashMap::new();
            let rows = statement.query_map(params![filter.id, filter.without_blank], |row| {
                let (state, server): (String, String) = (row.get(3)?, row.get(5)?);
                let saved_at: Option<u64> = row.get(6)?;
                let mut state = SessionState::named(&state).unwrap_or(SessionState::Error);
                let is_server_running = |id: &String| store.0.server.is_running(id);
                let is_without_server = match state {
                    SessionState::Active => !*running_servers.entry(server.clone()).or_insert_with_key(is_server_running),
                    SessionState::Recoverable | SessionState::Stale => true,
                    SessionState::Closed | SessionState::Expired | SessionState::Error => false,
                };
                if is_without_server {
                    // The stored state is updated rarely, so it may have become stale meanwhile.
                    state = state_without_server(saved_at);
                }
                let is_elsewhere = state == SessionState::Active && *server != *store.0.server.id;
                Ok(SessionRow {
                    used_by: row.get::<_, Option<u32>>(8)?.filter(|_| is_elsewhere),
                    is_released: server.is_empty(),
                    id: row.get(0)?,
                    created_at: row.get(1)?,
                    last_activity: row.get(2)?,
                    state,
                    metadata: serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default(),
                    saved_at,
                    requests: row.get(7)?,
                })
            })?;
            let rows: Vec<SessionRow> = rows.collect::<rusqlite::Result<_>>()?;
            Ok(rows.into_iter().filter(|row| filter.fits(row)).collect())
        })
        .await
    }
}

/// Writes the origins that are new or have another hash, and removes those that are gone.
pub(super) fn write_origins(
    connection: &Connection,
    id: &str,
    origins: &[NewOrigin],
) -> rusqlite::Result<()> {
    let known: HashMap<String, String> = connection
        .prepare_cached("SELECT origin, hash FROM session_origins WHERE session_id = ?1")?
        .query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for origin in origins.iter().filter(|origin| known.get(&origin.origin) != Some(&origin.hash)) {
        connection
            .prepare_cached("INSERT OR REPLACE INTO session_origins VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![id, origin.origin, origin.hash, origin.text.as_str()])?;
    }
    for gone in known.keys().filter(|known| !origins.iter().any(|origin| origin.origin == **known))
    {
        connection
            .prepare_cached("DELETE FROM session_origins WHERE session_id = ?1 AND origin = ?2")?
            .execute([id, gone.as_str()])?;
    }
    Ok(())
}

/// Returns the state of a session whose server has ended.
fn state_without_server(saved_at: Option<u64>) -> SessionState {
    match saved_at {
        None => SessionState::Closed,
        Some(at) if now().saturating_sub(at) <= servers::STALE_AGE => SessionState::Recoverable,
        Some(_) => SessionState::Stale,
    }
}
