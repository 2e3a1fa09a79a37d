//! Sessions in the record, and what they are resumed from.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::{Store, time::now};
use crate::error::Result;

/// A session whose state is older than this may be resumed, but the world may have gone on.
const FRESH: u64 = 24 * 3_600_000;

/// How it stands with a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionState {
    /// Its server lives.
    Active,
    Closed,
    Expired,
    /// Its browser died and could not be replaced.
    Error,
    /// Its server is gone; what it can be resumed from is less than 24 hours old.
    Recoverable,
    /// The same, older.
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

    /// How it is written: an `active` one of a server that is gone is one of the last two.
    fn written(self) -> &'static str {
        match self {
            Self::Recoverable | Self::Stale => Self::Active.as_str(),
            other => other.as_str(),
        }
    }
}

/// A session that begins, or begins again.
#[derive(Debug, Clone)]
pub struct NewSession {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// An object: `user` and `workingFolder`, the options it was created with, and so on.
    pub metadata: Value,
}

/// A session in a list.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: String,
    /// Milliseconds since 1970, as all times here.
    pub created_at: u64,
    pub last_activity: u64,
    pub state: SessionState,
    pub metadata: Value,
    /// When the state was saved from which it can be resumed.
    pub saved_at: Option<u64>,
    /// How many calls are in the record.
    pub requests: u64,
}

/// What a session can be resumed from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedState {
    pub state: String,
    pub saved_at: u64,
}

/// Which sessions are listed; every part that is given must fit.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    pub id: Option<String>,
    pub state: Option<SessionState>,
    /// `user` of the metadata.
    pub user: Option<String>,
    /// `workingFolder` of the metadata.
    pub working_folder: Option<String>,
}

impl SessionFilter {
    fn fits(&self, row: &SessionRow) -> bool {
        let is = |wanted: &Option<String>, key: &str| {
            wanted.as_deref().is_none_or(|wanted| row.metadata[key].as_str() == Some(wanted))
        };
        self.state.is_none_or(|state| state == row.state)
            && is(&self.user, "user")
            && is(&self.working_folder, "workingFolder")
    }
}

/// States that are queued and not written yet, the newest of each session.
#[derive(Clone, Default)]
pub(super) struct Unsaved(Arc<Mutex<HashMap<Arc<str>, SavedState>>>);

impl Unsaved {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, SavedState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store {
    /// Notes a session that begins, or begins again on this server under its former id.
    pub fn session_begun(&self, session: NewSession) {
        let server = self.0.server.id.clone();
        let metadata = session.metadata.to_string();
        self.0.writer.queue(metadata.len(), move |connection| {
            connection.execute(
                "INSERT INTO sessions (session_id, created_at, last_activity, state, metadata, server_id)
                 VALUES (?1, ?2, ?3, 'active', ?4, ?5)
                 ON CONFLICT (session_id) DO UPDATE SET
                     last_activity = excluded.last_activity, state = 'active', metadata = excluded.metadata,
                     server_id = excluded.server_id",
                params![&*session.id, session.created_at, now(), metadata, &*server],
            )?;
            Ok(())
        });
    }

    /// Notes that a session has ended. One that was closed leaves nothing to resume it from; one whose server
    /// ends is not noted at all: it stays as it is, and can be resumed.
    pub fn session_ended(&self, id: &str, state: SessionState) {
        let id: Arc<str> = id.into();
        if state == SessionState::Closed {
            self.0.unsaved.lock().remove(&id);
        }
        self.0.writer.queue(0, move |connection| {
            connection.execute(
                "UPDATE sessions SET state = ?2, last_activity = ?3 WHERE session_id = ?1",
                params![&*id, state.written(), now()],
            )?;
            if state == SessionState::Closed {
                connection.execute("DELETE FROM session_snapshots WHERE session_id = ?1", [&*id])?;
            }
            Ok(())
        });
    }

    /// Makes a session this server's that no living one has; false where another was faster, or it is closed.
    pub async fn claim_session(&self, id: &str) -> Result<bool> {
        let store = self.clone();
        let id = id.to_owned();
        let claimed = self.ask_writer(move |connection| {
            let found: Option<(String, String)> = connection
                .query_row("SELECT state, server_id FROM sessions WHERE session_id = ?1", [&id], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })
                .optional()?;
            let Some((state, server)) = found else { return Ok(false) };
            let ours = *store.0.server.id == *server;
            let free = match state.as_str() {
                "active" => ours || !store.0.server.lives(&server),
                "closed" => false,
                _ => true,
            };
            if free {
                connection.execute(
                    "UPDATE sessions SET state = 'active', server_id = ?2 WHERE session_id = ?1",
                    params![id, &*store.0.server.id],
                )?;
            }
            Ok(free)
        });
        claimed.await?.map_err(|error| super::unreadable(&error))
    }

    /// Keeps what the session `id` can be resumed from, in place of what was kept before. Nobody waits for it; of
    /// several that are queued, the newest is written.
    pub fn save_state(&self, id: &str, state: String) {
        let id: Arc<str> = id.into();
        let bytes = state.len();
        let saved = SavedState { state, saved_at: now() };
        if self.0.unsaved.lock().insert(id.clone(), saved).is_some() {
            // The one that is queued will take it.
            return;
        }
        let unsaved = self.0.unsaved.clone();
        // Kept for a second attempt.
        let taken = Mutex::new(None);
        self.0.writer.queue(bytes, move |connection| {
            let mut taken = taken.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(newest) = unsaved.lock().remove(&id) {
                *taken = Some(newest);
            }
            let Some(SavedState { state, saved_at }) = &*taken else { return Ok(()) };
            connection
                .prepare_cached(
                    "INSERT INTO session_snapshots (session_id, saved_at, state)
                     SELECT session_id, ?2, ?3 FROM sessions WHERE session_id = ?1
                     ON CONFLICT (session_id) DO UPDATE SET saved_at = excluded.saved_at, state = excluded.state",
                )?
                .execute(params![&*id, saved_at, state])?;
            Ok(())
        });
    }

    /// What the session `id` can be resumed from.
    pub async fn saved_state(&self, id: &str) -> Result<Option<SavedState>> {
        // What is queued for it comes first.
        self.flush().await;
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

    /// The sessions that `filter` means, the newest first.
    pub async fn sessions(&self, filter: SessionFilter) -> Result<Vec<SessionRow>> {
        self.flush().await;
        let store = self.clone();
        self.read(move |connection| {
            let mut question = connection.prepare_cached(
                "SELECT session_id, created_at, last_activity, sessions.state, metadata, server_id, saved_at,
                        (SELECT count(*) FROM requests WHERE requests.session_id = sessions.session_id)
                 FROM sessions LEFT JOIN session_snapshots USING (session_id)
                 WHERE ?1 IS NULL OR session_id = ?1
                 ORDER BY created_at DESC, sessions.rowid DESC",
            )?;
            let mut lives = HashMap::new();
            let rows = question.query_map([&filter.id], |row| {
                let (state, server): (String, String) = (row.get(3)?, row.get(5)?);
                let saved_at: Option<u64> = row.get(6)?;
                let mut state = SessionState::named(&state).unwrap_or(SessionState::Error);
                let server_lives = |id: &String| store.0.server.lives(id);
                if state == SessionState::Active
                    && !*lives.entry(server.clone()).or_insert_with_key(server_lives)
                {
                    state = left_behind(saved_at);
                }
                Ok(SessionRow {
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

/// What a session is whose server is gone.
fn left_behind(saved_at: Option<u64>) -> SessionState {
    match saved_at {
        None => SessionState::Closed,
        Some(at) if now().saturating_sub(at) <= FRESH => SessionState::Recoverable,
        Some(_) => SessionState::Stale,
    }
}
