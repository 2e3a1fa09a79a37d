//! Deletes the oldest calls and sessions when they are too old or the record is too large.

use std::time::{Duration, Instant};

use super::{failures::DatabaseResult, tables::RecordWriter};
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
pub(super) const SNAPSHOT_DIVISOR: u64 = 4;

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
    pub fn trim(&mut self, writer: &mut dyn RecordWriter, bytes: usize) -> DatabaseResult<()> {
        if !self.count_transaction(bytes) {
            return Ok(());
        }
        if Instant::now() >= self.next_state_update {
            self.next_state_update = Instant::now() + STATE_UPDATE_INTERVAL;
            writer.transact(&mut |tables| tables.store_states_of_ended_servers())?;
        }
        let (mut deleted, retention) = (false, self.retention);
        writer.transact(&mut |tables| {
            deleted = tables.delete_excess(retention)?;
            Ok(())
        })?;
        if !deleted {
            self.next_check = Instant::now() + CHECK_INTERVAL;
            (self.transactions, self.bytes) = (0, 0);
        }
        Ok(())
    }
}
