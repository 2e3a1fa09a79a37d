//! The queries for sessions and their saved state.
//!
//! A session belongs to the server in its column `server_id`, which only a claim changes. Each
//! write to it checks that in the same transaction, so a server that was frozen until another one
//! took its session over changes nothing. The id of a server is used once, so it serves as the
//! fencing token. A session that its server has released keeps the id: another server may have had
//! it meanwhile.

use std::collections::HashMap;

use tokio_postgres::Row;

use super::{
    servers::IS_RUNNING,
    statements::{PostgresTables, signed, storable},
};
use crate::store::{
    failures::{DatabaseError, DatabaseResult, FailureKind},
    ledger::{SessionSnapshot, UnwrittenChanges},
    sessions::{
        NewOrigin, NewSession, NewState, SavedState, SessionColumns, SessionFilter, SessionRow,
        SessionState, is_blank, is_claimable,
    },
    time::now,
};

/// The key of the lock that one server holds while it counts sessions to add one: `count`.
const COUNT_LOCK: i64 = 0x63_6f75_6e74;

/// Maximum size in bytes of a saved state that can be empty.
const MAX_BLANK: usize = 64 * 1024;

/// The server of a session, as it is in the record.
pub(super) struct SessionHolder {
    server: String,
    state: String,
    /// Whether that server has released it.
    is_released: bool,
}

impl PostgresTables<'_> {
    pub(super) fn open_session(&self, session: &NewSession, server: &str) -> DatabaseResult<()> {
        // A session that is resumed was claimed.
        let on_conflict = "(session_id) DO UPDATE SET
                 last_activity = excluded.last_activity, state = 'active',
                 metadata = excluded.metadata, released = FALSE
             WHERE sessions.server_id = excluded.server_id";
        match self.insert_session(session, server, on_conflict)? {
            0 => Err(taken_over(&session.id)),
            _ => self.extend_lease(server),
        }
    }

    /// Inserts the row of an active session. `on_conflict` is SQL. Returns the number of rows that
    /// were written.
    fn insert_session(
        &self,
        session: &NewSession,
        server: &str,
        on_conflict: &str,
    ) -> DatabaseResult<u64> {
        let insert = format!(
            "INSERT INTO sessions (session_id, created_at, last_activity, state, metadata, server_id)
             VALUES ($1, $2, $3, 'active', $4, $5) ON CONFLICT {on_conflict}"
        );
        self.execute(
            &insert,
            &[
                &&*session.id,
                &signed(session.created_at),
                &signed(now()),
                &&*storable(&session.metadata),
                &server,
            ],
        )
    }

    /// Inserts the row of an open session, unless it exists. Fails if another server has taken the
    /// session over. No other server can until the end of the transaction.
    fn ensure_session(&self, session: &NewSession, server: &str) -> DatabaseResult<()> {
        let select =
            "SELECT server_id, state, released FROM sessions WHERE session_id = $1 FOR SHARE";
        match self.query_first(select, &[&&*session.id])? {
            Some(row) => self.require_holder(session, &self.read_holder(&row)?, server),
            None => self.insert_open_session(session, server),
        }
    }

    /// Inserts the row of an open session, unless it exists.
    pub(super) fn insert_open_session(
        &self,
        session: &NewSession,
        server: &str,
    ) -> DatabaseResult<()> {
        self.insert_session(session, server, "DO NOTHING")?;
        self.extend_lease(server)
    }

    /// Returns the holder in a row with `server_id`, `state` and `released`.
    pub(super) fn read_holder(&self, row: &Row) -> DatabaseResult<SessionHolder> {
        Ok(SessionHolder {
            server: self.column(row, 0)?,
            state: self.column(row, 1)?,
            is_released: self.column(row, 2)?,
        })
    }

    /// Fails if another server has taken the session over.
    pub(super) fn require_holder(
        &self,
        session: &NewSession,
        holder: &SessionHolder,
        server: &str,
    ) -> DatabaseResult<()> {
        let SessionHolder { server: holder, state, is_released } = holder;
        if holder != server {
            return Err(taken_over(&session.id));
        }
        // Another server regarded this one as ended, because its lease had expired.
        let was_given_up =
            state == SessionState::Recoverable.as_str() || state == SessionState::Stale.as_str();
        if was_given_up && !is_released {
            self.extend_lease(server)?;
            let sql = "UPDATE sessions SET state = 'active' WHERE session_id = $1";
            self.execute(sql, &[&&*session.id])?;
        }
        Ok(())
    }

    pub(super) fn write_unwritten(
        &self,
        id: &str,
        unwritten: &UnwrittenChanges,
        server: &str,
    ) -> DatabaseResult<()> {
        if let Some(row) = &unwritten.row {
            match self.ensure_session(row, server) {
                // The data is obsolete.
                Err(DatabaseError { kind: FailureKind::TakenOver, .. }) => return Ok(()),
                other => other?,
            }
        }
        if let Some(SessionSnapshot { state: NewState { state, origins }, saved_at }) =
            unwritten.snapshot.as_deref()
        {
            let bytes = state.len() + origins.iter().map(|origin| origin.bytes).sum::<usize>();
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            let written = self.execute(
                "INSERT INTO session_snapshots (session_id, saved_at, state, bytes)
                 SELECT session_id, $2::bigint, $3::text, $5::bigint FROM sessions
                 WHERE session_id = $1 AND server_id = $4 FOR SHARE
                 ON CONFLICT (session_id) DO UPDATE SET
                     saved_at = excluded.saved_at, state = excluded.state, bytes = excluded.bytes",
                &[&id, &signed(*saved_at), &&*storable(state), &server, &bytes],
            )?;
            if written > 0 {
                self.write_origins(id, origins)?;
            }
        }
        let Some(end) = unwritten.end else { return Ok(()) };
        let ended = self.execute(
            "UPDATE sessions SET state = $2, last_activity = $3, released = $4
             WHERE session_id = $1 AND server_id = $5",
            &[&id, &end.as_str(), &signed(now()), &(end == SessionState::Recoverable), &server],
        )?;
        if ended > 0 && end == SessionState::Closed {
            self.execute("DELETE FROM session_snapshots WHERE session_id = $1", &[&id])?;
        }
        Ok(())
    }

    /// Writes the origins that are new or have another hash, and removes those that are gone.
    fn write_origins(&self, id: &str, origins: &[NewOrigin]) -> DatabaseResult<()> {
        let known = "SELECT origin, hash FROM session_origins WHERE session_id = $1";
        let known: HashMap<String, String> = self
            .query(known, &[&id])?
            .iter()
            .map(|row| Ok((self.column(row, 0)?, self.column(row, 1)?)))
            .collect::<DatabaseResult<_>>()?;
        let is_changed = |origin: &&NewOrigin| known.get(&origin.origin) != Some(&origin.hash);
        for origin in origins.iter().filter(is_changed) {
            self.execute(
                "INSERT INTO session_origins (session_id, origin, hash, storage) VALUES ($1, $2, $3, $4)
                 ON CONFLICT (session_id, origin) DO UPDATE SET
                     hash = excluded.hash, storage = excluded.storage",
                &[&id, &origin.origin, &origin.hash, &&*storable(&origin.text)],
            )?;
        }
        let gone = known.keys().filter(|known| !origins.iter().any(|new| new.origin == **known));
        for origin in gone {
            let delete = "DELETE FROM session_origins WHERE session_id = $1 AND origin = $2";
            self.execute(delete, &[&id, origin])?;
        }
        Ok(())
    }

    pub(super) fn take_count_lock(&self) -> DatabaseResult<()> {
        self.query("SELECT pg_advisory_xact_lock($1)", &[&COUNT_LOCK])?;
        Ok(())
    }

    pub(super) fn count_sessions(
        &self,
        server: &str,
        except: Option<&str>,
    ) -> DatabaseResult<usize> {
        let count = format!(
            "SELECT count(*) FROM sessions
             WHERE state = 'active' AND session_id IS DISTINCT FROM $2::text
                 AND (server_id = $1 OR server_id IN (
                     SELECT server_id FROM servers WHERE {IS_RUNNING}))"
        );
        let row = self.query_first(&count, &[&server, &except])?;
        let count = row.map_or(Ok(0), |row| self.number(&row, 0))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    pub(super) fn claim(&self, id: &str, server: &str) -> DatabaseResult<bool> {
        let select =
            "SELECT server_id, state, released FROM sessions WHERE session_id = $1 FOR UPDATE";
        let Some(row) = self.query_first(select, &[&id])? else { return Ok(false) };
        let SessionHolder { server: holder, state, is_released } = self.read_holder(&row)?;
        let is_free = holder == server || is_released || self.remove_if_expired(&holder)?;
        if !is_claimable(&state, || is_free) {
            return Ok(false);
        }
        self.extend_lease(server)?;
        let claim = "UPDATE sessions SET state = 'active', server_id = $2, released = FALSE
                     WHERE session_id = $1";
        self.execute(claim, &[&id, &server])?;
        Ok(true)
    }

    pub(super) fn find_saved_state(&self, session: &str) -> DatabaseResult<Option<SavedState>> {
        let sql = "SELECT state, saved_at FROM session_snapshots WHERE session_id = $1";
        let Some(row) = self.query_first(sql, &[&session])? else { return Ok(None) };
        Ok(Some(SavedState { state: self.column(&row, 0)?, saved_at: self.number(&row, 1)? }))
    }

    pub(super) fn list_origins(&self, session: &str) -> DatabaseResult<Vec<String>> {
        let sql = r#"SELECT storage FROM session_origins WHERE session_id = $1
                     ORDER BY origin COLLATE "C""#;
        self.query(sql, &[&session])?.iter().map(|row| self.column(row, 0)).collect()
    }

    pub(super) fn list_sessions(
        &self,
        filter: &SessionFilter,
        own: &str,
    ) -> DatabaseResult<Vec<SessionRow>> {
        // Only a small state without origins can be empty.
        let small_state = match filter.without_blank {
            true => format!(
                "CASE WHEN octet_length(session_snapshots.state) <= {MAX_BLANK} AND NOT EXISTS (
                     SELECT 1 FROM session_origins
                     WHERE session_origins.session_id = sessions.session_id)
                 THEN session_snapshots.state END"
            ),
            false => "NULL::text".to_owned(),
        };
        let sql = format!(
            "SELECT session_id, created_at, last_activity, sessions.state, metadata,
                    CASE WHEN released THEN '' ELSE sessions.server_id END, saved_at,
                    (SELECT count(*) FROM requests WHERE requests.session_id = sessions.session_id),
                    servers.pid, coalesce({IS_RUNNING}, FALSE), {small_state}
             FROM sessions LEFT JOIN session_snapshots USING (session_id)
                 LEFT JOIN servers ON servers.server_id = sessions.server_id
             WHERE $1::text IS NULL OR session_id = $1
             ORDER BY created_at DESC, sessions.number DESC"
        );
        let mut sessions = Vec::new();
        for row in self.query(&sql, &[&filter.id])? {
            let small_state: Option<String> = self.column(&row, 10)?;
            if small_state.is_some_and(|state| is_blank(&state)) {
                continue;
            }
            let server: String = self.column(&row, 5)?;
            let pid = self.optional_number(&row, 8)?;
            let columns = SessionColumns {
                id: self.column(&row, 0)?,
                created_at: self.number(&row, 1)?,
                last_activity: self.number(&row, 2)?,
                state: self.column(&row, 3)?,
                metadata: self.column(&row, 4)?,
                saved_at: self.optional_number(&row, 6)?,
                requests: self.number(&row, 7)?,
                pid: pid.and_then(|pid| u32::try_from(pid).ok()),
                is_running: server == own || self.column(&row, 9)?,
                server,
            };
            sessions.push(columns.row(own));
        }
        sessions.retain(|session| filter.fits(session));
        Ok(sessions)
    }
}

fn taken_over(session: &str) -> DatabaseError {
    DatabaseError {
        kind: FailureKind::TakenOver,
        message: format!("another server has taken over session {session}"),
    }
}
