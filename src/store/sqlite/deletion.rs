//! Deletes calls and sessions: the oldest ones, and those that a user selects.

use rusqlite::{Connection, params};

use crate::{
    config::Retention,
    store::{retention::SNAPSHOT_DIVISOR, time::now},
};

/// Maximum number of calls that are deleted at once. It limits how long a write waits.
const SLICE: usize = 10;
/// Maximum number of file pages that are freed at once.
const VACUUM_SLICE: usize = 500;

/// Maximum number of calls that one transaction deletes. It limits how long servers wait to write.
const PURGE_SLICE: usize = 100;

/// The condition for sessions that have ended, whose server has ended, or that were released.
const HAS_ENDED: &str =
    "(sessions.state <> 'active' OR sessions.server_id NOT IN (SELECT server_id FROM servers))";

/// The condition for sessions that a running server uses.
const IN_USE: &str =
    "sessions.state = 'active' AND sessions.server_id IN (SELECT server_id FROM servers)";

/// Deletes a part of the data that exceeds the limits. Returns whether there was any.
pub(super) fn delete_excess(
    connection: &Connection,
    retention: Retention,
) -> rusqlite::Result<bool> {
    let oldest = now().saturating_sub(retention.age);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    let is_too_large = pages.saturating_mul(number("PRAGMA page_size")?) > retention.bytes;
    let mut deleted = 0;
    if is_too_large {
        deleted = delete_oldest_state(connection, retention)?;
    }
    if deleted == 0 {
        // Calls are stored in order of time, so the query reads no other rows.
        let slice = format!(
            "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests ORDER BY rowid LIMIT {SLICE})
                 AND (?1 OR timestamp < ?2)"
        );
        deleted = connection.execute(&slice, params![is_too_large, oldest])?;
    }
    // A session is deleted after its last call.
    deleted += connection.execute(
        &format!(
            "DELETE FROM sessions WHERE last_activity < ?1 AND {HAS_ENDED}
                 AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.session_id = sessions.session_id)"
        ),
        params![oldest],
    )?;
    if deleted == 0 && is_too_large {
        // No calls are left.
        let oldest = format!(
            "DELETE FROM sessions WHERE rowid IN
                 (SELECT rowid FROM sessions WHERE {HAS_ENDED} ORDER BY last_activity LIMIT {SLICE})"
        );
        deleted = connection.execute(&oldest, [])?;
    }
    if deleted == 0 {
        return Ok(false);
    }
    connection.execute(
        "DELETE FROM diff_cursors WHERE ref_id NOT IN (SELECT ref_id FROM requests)
             AND ref_id NOT IN (SELECT session_id FROM sessions)",
        [],
    )?;
    free_slice(connection)?;
    Ok(true)
}

/// Deletes the oldest saved state of an ended session, if such states use more than their part of
/// the limit. Returns the number of deleted states.
fn delete_oldest_state(connection: &Connection, retention: Retention) -> rusqlite::Result<usize> {
    let sizes = format!(
        "SELECT coalesce(sum(octet_length(session_snapshots.state) + (
                    SELECT coalesce(sum(octet_length(storage)), 0) FROM session_origins
                    WHERE session_origins.session_id = session_snapshots.session_id)), 0) > ?1
                AND EXISTS (SELECT 1 FROM requests)
         FROM session_snapshots JOIN sessions USING (session_id) WHERE {HAS_ENDED}"
    );
    let part = i64::try_from(retention.bytes / SNAPSHOT_DIVISOR).unwrap_or(i64::MAX);
    if !connection.query_row(&sizes, [part], |row| row.get::<_, bool>(0))? {
        return Ok(0);
    }
    let oldest = format!(
        "DELETE FROM session_snapshots WHERE session_id =
             (SELECT session_id FROM session_snapshots JOIN sessions USING (session_id) WHERE {HAS_ENDED}
              ORDER BY saved_at LIMIT 1)"
    );
    connection.execute(&oldest, [])
}

/// Shrinks the file by a slice of its unused pages. Returns how many are left.
pub(super) fn free_space(connection: &Connection) -> rusqlite::Result<u64> {
    free_slice(connection)?;
    free_pages(connection)
}

/// Shrinks the file by a slice of its free pages.
fn free_slice(connection: &Connection) -> rusqlite::Result<()> {
    // The pragma returns an empty row for each page.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_SLICE})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn free_pages(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))
}

/// Deletes up to `PURGE_SLICE` calls and returns their number.
pub(super) fn delete_calls(
    connection: &Connection,
    session: Option<&str>,
) -> rusqlite::Result<usize> {
    // The deleted text must not stay in unused parts of the file.
    connection.pragma_update(None, "secure_delete", true)?;
    // A call without a session belongs to its server.
    let slice = format!(
        "DELETE FROM requests WHERE rowid IN (
             SELECT requests.rowid FROM requests LEFT JOIN sessions USING (session_id)
             WHERE (?1 IS NULL OR session_id = ?1) AND NOT coalesce({IN_USE}, FALSE)
                 AND NOT (session_id IS NULL AND requests.server_id IN (SELECT server_id FROM servers))
             LIMIT {PURGE_SLICE})"
    );
    connection.execute(&slice, params![session])
}

/// Deletes the sessions, and the data that belongs to no call and no session. Returns the number of
/// deleted sessions, and the number of those that are in use.
pub(super) fn delete_sessions(
    connection: &Connection,
    session: Option<&str>,
) -> rusqlite::Result<(usize, usize)> {
    let is_selected = "(?1 IS NULL OR session_id = ?1)";
    let delete = format!("DELETE FROM sessions WHERE {is_selected} AND NOT ({IN_USE})");
    let deleted = connection.execute(&delete, params![session])?;
    connection.execute(
        "DELETE FROM diff_cursors WHERE ref_id NOT IN (SELECT ref_id FROM requests)
             AND ref_id NOT IN (SELECT session_id FROM sessions)",
        [],
    )?;
    let count = format!("SELECT count(*) FROM sessions WHERE {is_selected} AND {IN_USE}");
    let in_use = connection.query_row(&count, params![session], |row| row.get(0))?;
    Ok((deleted, in_use))
}
