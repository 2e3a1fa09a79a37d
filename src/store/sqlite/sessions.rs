//! The queries for sessions and their saved state.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use super::servers::{ServerLocks, ensure_server};
use crate::store::{
    ledger::{SessionSnapshot, UnwrittenChanges},
    sessions::{
        NewOrigin, NewSession, NewState, SavedState, SessionColumns, SessionFilter, SessionRow,
        SessionState, is_claimable,
    },
    time::now,
};

/// The condition that the saved state in `session_snapshots.state` is empty. An invalid state
/// counts as not empty.
const IS_BLANK: &str = "json_valid(session_snapshots.state)
     AND coalesce(json_array_length(session_snapshots.state, '$.cookies'), 0) = 0
     AND NOT EXISTS (SELECT 1 FROM json_each(session_snapshots.state, '$.pages')
                     WHERE json_extract(value, '$.url') NOT IN ('', 'about:blank'))
     AND NOT EXISTS (SELECT 1 FROM session_origins WHERE session_origins.session_id = sessions.session_id)";

pub(super) fn begin_session(
    connection: &Connection,
    session: &NewSession,
    server: &str,
) -> rusqlite::Result<()> {
    let update = "(session_id) DO UPDATE SET
             last_activity = excluded.last_activity, state = 'active', metadata = excluded.metadata,
             server_id = excluded.server_id";
    insert_session(connection, session, server, update)
}

/// Inserts the row of an open session, unless it exists. The earlier write of the row may have
/// failed.
pub(super) fn ensure_session(
    connection: &Connection,
    session: &NewSession,
    server: &str,
) -> rusqlite::Result<()> {
    insert_session(connection, session, server, "DO NOTHING")
}

/// Inserts the row of an open session. `on_conflict` applies if it exists.
fn insert_session(
    connection: &Connection,
    session: &NewSession,
    server: &str,
    on_conflict: &str,
) -> rusqlite::Result<()> {
    ensure_server(connection, server)?;
    let sql = format!(
        "INSERT INTO sessions (session_id, created_at, last_activity, state, metadata, server_id)
         VALUES (?1, ?2, ?3, 'active', ?4, ?5) ON CONFLICT {on_conflict}"
    );
    let values = params![&*session.id, session.created_at, now(), session.metadata, server];
    connection.prepare_cached(&sql)?.execute(values)?;
    Ok(())
}

pub(super) fn write_session(
    connection: &Connection,
    id: &str,
    unwritten: &UnwrittenChanges,
    server: &str,
) -> rusqlite::Result<()> {
    if let Some(row) = &unwritten.row {
        ensure_session(connection, row, server)?;
    }
    if let Some(SessionSnapshot { state: NewState { state, origins }, saved_at }) =
        unwritten.snapshot.as_deref()
    {
        // Another server may have resumed the session meanwhile.
        let written = connection
            .prepare_cached(
                "INSERT INTO session_snapshots (session_id, saved_at, state)
                 SELECT session_id, ?2, ?3 FROM sessions
                 WHERE session_id = ?1 AND server_id IN (?4, '')
                 ON CONFLICT (session_id) DO UPDATE SET saved_at = excluded.saved_at, state = excluded.state",
            )?
            .execute(params![id, saved_at, state, server])?;
        if written > 0 {
            write_origins(connection, id, origins)?;
        }
    }
    let Some(end) = unwritten.end else { return Ok(()) };
    // A recoverable session belongs to no server. Another server may have resumed it meanwhile.
    let ended = connection.execute(
        "UPDATE sessions SET state = ?2, last_activity = ?3, server_id = iif(?4, '', server_id)
         WHERE session_id = ?1 AND server_id IN (?5, '')",
        params![id, end.as_str(), now(), end == SessionState::Recoverable, server],
    )?;
    if ended > 0 && end == SessionState::Closed {
        connection.execute("DELETE FROM session_snapshots WHERE session_id = ?1", [id])?;
    }
    Ok(())
}

pub(super) fn count_open_sessions(
    connection: &Connection,
    server: &str,
    except: Option<&str>,
    locks: &ServerLocks,
) -> rusqlite::Result<usize> {
    let mut statement = connection.prepare_cached(
        "SELECT server_id, count(*) FROM sessions
         WHERE state = 'active' AND session_id IS NOT ?1 GROUP BY server_id",
    )?;
    let counts = statement.query_map([except], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let counts: Vec<(String, usize)> = counts.collect::<rusqlite::Result<_>>()?;
    let is_running = |holder: &str| holder == server || locks.is_running(holder);
    Ok(counts.iter().filter(|(holder, _)| is_running(holder)).map(|(_, count)| count).sum())
}

pub(super) fn claim_session(
    connection: &Connection,
    id: &str,
    server: &str,
    locks: &ServerLocks,
) -> rusqlite::Result<bool> {
    let found: Option<(String, String)> = connection
        .query_row("SELECT state, server_id FROM sessions WHERE session_id = ?1", [&id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((state, holder)) = found else { return Ok(false) };
    if !is_claimable(&state, || holder == server || !locks.is_running(&holder)) {
        return Ok(false);
    }
    ensure_server(connection, server)?;
    connection.execute(
        "UPDATE sessions SET state = 'active', server_id = ?2 WHERE session_id = ?1",
        params![id, server],
    )?;
    Ok(true)
}

pub(super) fn saved_state(
    connection: &Connection,
    session: &str,
) -> rusqlite::Result<Option<SavedState>> {
    connection
        .query_row(
            "SELECT state, saved_at FROM session_snapshots WHERE session_id = ?1",
            [session],
            |row| Ok(SavedState { state: row.get(0)?, saved_at: row.get(1)? }),
        )
        .optional()
}

pub(super) fn saved_origins(
    connection: &Connection,
    session: &str,
) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare_cached(
            "SELECT storage FROM session_origins WHERE session_id = ?1 ORDER BY origin",
        )?
        .query_map([session], |row| row.get(0))?
        .collect()
}

pub(super) fn sessions(
    connection: &Connection,
    filter: &SessionFilter,
    own: &str,
    locks: &ServerLocks,
) -> rusqlite::Result<Vec<SessionRow>> {
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
        let is_running = state == SessionState::Active.as_str()
            && *running_servers
                .entry(server.clone())
                .or_insert_with_key(|id: &String| *id == own || locks.is_running(id));
        let columns = SessionColumns {
            id: row.get(0)?,
            created_at: row.get(1)?,
            last_activity: row.get(2)?,
            state,
            metadata: row.get(4)?,
            server,
            saved_at: row.get(6)?,
            requests: row.get(7)?,
            pid: row.get(8)?,
            is_running,
        };
        Ok(columns.row(own))
    })?;
    let rows: Vec<SessionRow> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(rows.into_iter().filter(|row| filter.fits(row)).collect())
}

/// Writes the origins that are new or have another hash, and removes those that are gone.
fn write_origins(connection: &Connection, id: &str, origins: &[NewOrigin]) -> rusqlite::Result<()> {
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
