//! Copies a record into another one, such as an SQLite file into a PostgreSQL database.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use super::{
    Store,
    failures::DatabaseResult,
    sessions::{SessionFilter, SessionState},
    table_rows::{Cell, CopiedTable, OF_CALLS, OF_SESSIONS},
    tables::RecordTables,
};
use crate::error::{ErrorCode, Result, TroupeError};

/// The number of sessions or calls in a transaction. A call may contain several screenshots.
const BATCH: usize = 10;

/// The result of a migration.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MigrationCounts {
    pub sessions: usize,
    pub calls: usize,
    /// Sessions and calls that the target already had. They were not changed.
    pub kept: usize,
}

/// The rows of some sessions or calls, by table.
type CopiedRows = Vec<Vec<Vec<Cell>>>;

impl Store {
    /// Copies all sessions and calls into `target`. Those that `target` already has, from an
    /// interrupted migration for example, are not changed there. Fails if a running server uses a
    /// session of this record.
    pub async fn migrate(&self, target: &Self) -> Result<MigrationCounts> {
        let sessions = self.sessions(SessionFilter::default()).await?;
        let in_use =
            sessions.iter().filter(|session| session.state == SessionState::Active).count();
        if in_use > 0 {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!(
                    "running servers use {in_use} {} of {}",
                    if in_use == 1 { "session" } else { "sessions" },
                    self.0.location
                ),
            )
            .suggestion("stop these servers, then repeat the migration"));
        }
        let (sessions, kept_sessions) = self.copy(target, OF_SESSIONS).await?;
        let (calls, kept_calls) = self.copy(target, OF_CALLS).await?;
        Ok(MigrationCounts { sessions, calls, kept: kept_sessions + kept_calls })
    }

    /// Copies the rows of `tables`. Returns how many sessions or calls were copied, and how many
    /// `target` already had.
    async fn copy(&self, target: &Self, tables: &'static [CopiedTable]) -> Result<(usize, usize)> {
        let (mut copied, mut kept, mut last) = (0, 0, 0);
        loop {
            let (position, rows) =
                self.read(move |source| read_batch(source, tables, last)).await?;
            let Some(first) = rows.first().filter(|rows| !rows.is_empty()) else {
                return Ok((copied, kept));
            };
            let (count, rows) = (first.len(), Arc::new(rows));
            last = position;
            let inserted = target.change(move |target| insert_batch(target, tables, &rows)).await?;
            copied += inserted;
            kept += count - inserted;
        }
    }
}

/// Returns the rows of the next sessions or calls after the position `last`, and the position of
/// the last one.
fn read_batch(
    source: &dyn RecordTables,
    tables: &[CopiedTable],
    last: i64,
) -> DatabaseResult<(i64, CopiedRows)> {
    let Some(owner) = tables.first() else { return Ok((last, Vec::new())) };
    let next = source.keys_after(owner, last, BATCH)?;
    let position = next.last().map_or(last, |(position, _)| *position);
    let keys: Vec<String> = next.into_iter().map(|(_, key)| key).collect();
    // The target keeps the order of the sessions and the calls.
    let order: HashMap<&str, usize> =
        keys.iter().enumerate().map(|(at, key)| (key.as_str(), at)).collect();
    let rows = tables.iter().map(|table| {
        let mut rows = source.rows_of(table, &keys)?;
        rows.sort_by_key(|row| row.first().and_then(|key| order.get(key.text())));
        Ok(rows)
    });
    Ok((position, rows.collect::<DatabaseResult<_>>()?))
}

/// Inserts the rows of the sessions or calls that `target` does not have. Returns their number.
fn insert_batch(
    target: &dyn RecordTables,
    tables: &[CopiedTable],
    rows: &CopiedRows,
) -> DatabaseResult<usize> {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    for row in rows.iter().flatten() {
        let Some(key) = row.first() else { continue };
        *sizes.entry(key.text()).or_default() += row.iter().map(Cell::bytes).sum::<usize>();
    }
    let mut inserted: HashSet<&str> = HashSet::new();
    for (number, (table, rows)) in tables.iter().zip(rows).enumerate() {
        for row in rows {
            let key = row.first().map_or("", Cell::text);
            let size = sizes.get(key).copied().unwrap_or_default();
            // The first table has the sessions or calls themselves.
            if number == 0 {
                if target.insert_row(table, row, size)? {
                    inserted.insert(key);
                }
            } else if inserted.contains(key) {
                target.insert_row(table, row, size)?;
            }
        }
    }
    Ok(inserted.len())
}
