//! Deletes the oldest calls and sessions when they are too old or the record is too large.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::{servers::store_states_of_ended_servers, time::now};
use crate::config::Retention;

/// If a check deleted nothing, the next one follows after this time or this number of transactions.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
const CHECK_TRANSACTIONS: u32 = 64;
/// Time between two updates of the stored states of sessions whose server has ended.
const STATE_UPDATE_INTERVAL: Duration = Duration::from_secs(600);
/// A check is due when the bytes written since the last one reach the limit divided by this number.
const CHECK_DIVISOR: u64 = 16;
/// Saved states of ended sessions may use the limit divided by this number. If they use more, they
/// are deleted before calls.
const SNAPSHOT_DIVISOR: u64 = 4;
/// Maximum number of calls that are deleted at once. It limits how long a write waits.
const SLICE: usize = 10;
/// Maximum number of file pages that are freed at once.
const VACUUM_SLICE: usize = 500;

/// Enforces the retention limits. Deletes a small part of the excess after each write.
pub(super) struct Trimmer {
    retention: Retention,
    next_check: Instant,
    next_state_update: Instant,
    transactions: u32,
    /// Bytes written since the last check.
    bytes: u64,
}

impl Trimmer {
    pub fn new(retention: Retention) -> Self {
        Self {
            retention,
            next_check: Instant::now(),
            next_state_update: Instant::now() + STATE_UPDATE_INTERVAL,
            transactions: 0,
            bytes: 0,
        }
    }

    /// Counts a transaction of `bytes` bytes. Returns whether a check is due.
    fn count_transaction(&mut self, bytes: usize) -> bool {
        self.transactions += 1;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        self.transactions >= CHECK_TRANSACTIONS
            || self.bytes >= self.retention.bytes / CHECK_DIVISOR
            || Instant::now() >= self.next_check
    }

    /// Counts a transaction of `bytes` bytes. If a check is due, deletes a part of what exceeds the
    /// limits.
    pub fn trim(&mut self, connection: &Connection, bytes: usize) -> rusqlite::Result<()> {
        if !self.count_transaction(bytes) {
            return Ok(());
        }
        if Instant::now() >= self.next_state_update {
            self.next_state_update = Instant::now() + STATE_UPDATE_INTERVAL;
            store_states_of_ended_servers(connection)?;
        }
        if !delete_slice(connection, self.retention)? {
            self.next_check = Instant::now() + CHECK_INTERVAL;
            (self.transactions, self.bytes) = (0, 0);
        }
        Ok(())
    }
}

/// The condition for sessions that have ended, whose server has ended, or that were released.
const HAS_ENDED: &str =
    "(sessions.state <> 'active' OR sessions.server_id NOT IN (SELECT server_id FROM servers))";

/// Deletes a part of the data that exceeds the limits. Returns whether there was any.
fn delete_slice(connection: &Connection, retention: Retention) -> rusqlite::Result<bool> {
    let oldest = now().saturating_sub(retention.age);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    let is_too_large = pages.saturating_mul(number("PRAGMA page_size")?) > retention.bytes;
    // In a transaction, so that readers see all deletions or none.
    let transaction = connection.unchecked_transaction()?;
    let mut deleted = 0;
    if is_too_large {
        deleted = delete_oldest_state(&transaction, retention)?;
    }
    if deleted == 0 {
        // Calls are stored in order of time, so the query reads no other rows.
        let slice = format!(
            "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests ORDER BY rowid LIMIT {SLICE})
                 AND (?1 OR timestamp < ?2)"
        );
        deleted = transaction.execute(&slice, params![is_too_large, oldest])?;
    }
    // A session is deleted after its last call.
    deleted += transaction.execute(
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
        deleted = transaction.execute(&oldest, [])?;
    }
    if deleted == 0 {
        return Ok(false);
    }
    transaction.execute(
        "DELETE FROM diff_cursors WHERE ref_id NOT IN (SELECT ref_id FROM requests)
             AND ref_id NOT IN (SELECT session_id FROM sessions)",
        [],
    )?;
    transaction.commit()?;
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

/// Shrinks the file by a slice of its free pages.
pub(super) fn free_slice(connection: &Connection) -> rusqlite::Result<()> {
    // The pragma returns an empty row for each page.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_SLICE})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
