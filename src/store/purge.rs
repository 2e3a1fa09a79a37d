//! Deletes calls and sessions on request, even while servers use the record.

use std::path::Path;

use rusqlite::{Connection, params};

use super::{Store, not_changed, retention::free_slice, unreadable};
use crate::error::Result;

/// Maximum number of calls that one transaction deletes. It limits how long servers wait to write.
const SLICE: usize = 100;

/// The condition for sessions that a running server uses.
const IN_USE: &str =
    "sessions.state = 'active' AND sessions.server_id IN (SELECT server_id FROM servers)";

/// The numbers of deleted and kept sessions and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Purged {
    pub calls: usize,
    pub sessions: usize,
    /// Sessions that a running server uses. They and their calls are kept.
    pub in_use: usize,
}

impl Store {
    /// Deletes `session` and its calls, or all sessions and calls if it is `None`. Keeps sessions
    /// that a running server uses. Fails if a deletion cannot be committed, for example on a full
    /// disk.
    pub async fn purge(&self, session: Option<&str>) -> Result<Purged> {
        let session = session.map(str::to_owned);
        let mut purged = Purged::default();
        loop {
            let id = session.clone();
            let deleted =
                self.change(move |connection| delete_calls(connection, id.as_deref())).await?;
            if deleted == 0 {
                break;
            }
            purged.calls += deleted;
        }
        let (sessions, in_use) =
            self.change(move |connection| delete_sessions(connection, session.as_deref())).await?;
        self.shrink().await?;
        Ok(Purged { sessions, in_use, ..purged })
    }

    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let changed = self.ask_writer(work).await.map_err(|why| not_changed(&why))?;
        changed.map_err(|error| not_changed(&error))
    }

    /// Shrinks the file by its free pages.
    async fn shrink(&self) -> Result<()> {
        let mut free = self.change(free_pages).await?;
        while free > 0 {
            let left = self
                .change(|connection| free_slice(connection).and_then(|()| free_pages(connection)))
                .await?;
            // The file may have been created without incremental vacuum.
            if left >= free {
                break;
            }
            free = left;
        }
        let Some(path) = self.path().map(Path::to_owned) else { return Ok(()) };
        let shrink = move || -> rusqlite::Result<bool> {
            let connection = Connection::open(path)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| {
                Ok(row.get::<_, i64>(0)? == 0)
            })
        };
        let shrunk =
            tokio::task::spawn_blocking(shrink).await.map_err(|error| unreadable(&error))?;
        if !matches!(shrunk, Ok(true)) {
            tracing::warn!("another server is reading the record: its file shrinks later");
        }
        Ok(())
    }
}

fn free_pages(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row("PRAGMA freelist_count", [], |row| row.get(0))
}

/// Deletes up to `SLICE` calls and returns their number.
fn delete_calls(connection: &Connection, session: Option<&str>) -> rusqlite::Result<usize> {
    // The deleted text must not stay in unused parts of the file.
    connection.pragma_update(None, "secure_delete", true)?;
    // A call without a session belongs to its server.
    let slice = format!(
        "DELETE FROM requests WHERE rowid IN (
             SELECT requests.rowid FROM requests LEFT JOIN sessions USING (session_id)
             WHERE (?1 IS NULL OR session_id = ?1) AND NOT coalesce({IN_USE}, FALSE)
                 AND NOT (session_id IS NULL AND requests.server_id IN (SELECT server_id FROM servers))
             LIMIT {SLICE})"
    );
    connection.execute(&slice, params![session])
}

/// Deletes the sessions, and the data that belongs to no call and no session. Returns the number of
/// deleted sessions, and the number of those that are in use.
fn delete_sessions(
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
