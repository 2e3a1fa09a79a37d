//! What is forgotten: the oldest, when it is too old or there is too much.

use std::time::{Duration, Instant};

use rusqlite::{Connection, params};

use super::time::now;
use crate::config::Retention;

/// Between two looks, where the last one found nothing to forget: so long, or so many transactions.
const PAUSE: Duration = Duration::from_secs(60);
const TRANSACTIONS: u32 = 64;
/// Calls that are forgotten at once: a write in between waits no longer than for these.
const SLICE: usize = 10;
/// Pages of the file that are given back at once.
const VACUUM_SLICE: usize = 500;

/// Forgets a little after each write, as long as there is something to forget.
pub(super) struct Trimmer {
    retention: Retention,
    next: Instant,
    transactions: u32,
}

impl Trimmer {
    pub fn new(retention: Retention) -> Self {
        Self { retention, next: Instant::now(), transactions: 0 }
    }

    /// Counts a transaction; whether it is time to look.
    pub fn counts_as_due(&mut self) -> bool {
        self.transactions += 1;
        self.transactions >= TRANSACTIONS || Instant::now() >= self.next
    }

    /// Forgets a slice of what is over the limits, if it is time to look.
    pub fn trim(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        if !self.counts_as_due() {
            return Ok(());
        }
        if !forget(connection, self.retention)? {
            self.next = Instant::now() + PAUSE;
            self.transactions = 0;
        }
        Ok(())
    }
}

/// Forgets a slice; whether there was something.
fn forget(connection: &Connection, retention: Retention) -> rusqlite::Result<bool> {
    let oldest = now().saturating_sub(retention.age);
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u64>(0));
    let pages = number("PRAGMA page_count")?.saturating_sub(number("PRAGMA freelist_count")?);
    let too_much = pages.saturating_mul(number("PRAGMA page_size")?) > retention.bytes;
    // They were written in the order of time: nothing is looked through.
    let slice = format!(
        "DELETE FROM requests WHERE rowid IN (SELECT rowid FROM requests ORDER BY rowid LIMIT {SLICE})
             AND (?1 OR timestamp < ?2)"
    );
    // Who reads meanwhile sees all of it go, or nothing.
    let transaction = connection.unchecked_transaction()?;
    let mut gone = transaction.execute(&slice, params![too_much, oldest])?;
    // A session goes with its last call, once nothing can be resumed from it.
    gone += transaction.execute(
        "DELETE FROM sessions WHERE last_activity < ?1
             AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.session_id = sessions.session_id)
             AND server_id NOT IN (SELECT server_id FROM servers)",
        params![oldest],
    )?;
    if gone == 0 {
        return Ok(false);
    }
    transaction.execute(
        "DELETE FROM diff_cursors WHERE ref_id NOT IN (SELECT ref_id FROM requests)
             AND ref_id NOT IN (SELECT session_id FROM sessions)",
        [],
    )?;
    transaction.commit()?;
    give_room_back(connection)?;
    Ok(true)
}

/// Gives a slice of the file's free pages back to the disk.
pub(super) fn give_room_back(connection: &Connection) -> rusqlite::Result<()> {
    // Each page is a row that says nothing.
    let mut vacuum = connection.prepare(&format!("PRAGMA incremental_vacuum({VACUUM_SLICE})"))?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}
