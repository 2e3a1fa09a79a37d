//! The record in an SQLite file or in memory.
//!
//! Reads use a separate connection, so that they do not wait for writes. `checkpoints` runs
//! SQLite's checkpoints in the background. `schema` opens a file and rejects files that are not
//! Troupe's. `servers` tracks which servers share a file and which of them are running. `sessions`,
//! `records`, `deletion` and `migration` have the queries.

mod checkpoints;
mod deletion;
mod migration;
mod records;
mod schema;
mod servers;
mod sessions;

use std::{
    path::Path,
    thread,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};

pub use self::schema::Fault;
pub(super) use self::schema::examine;
#[cfg(test)]
pub(super) use self::schema::open;
use self::servers::ServerLocks;
use super::{
    calls::{CallFilter, RecordedCall},
    cursors::Cursor,
    failures::{DatabaseError, DatabaseResult, FailureKind},
    ledger::UnwrittenChanges,
    records::{
        ConsoleScope, NewAnswer, NewRequest, NewestMessages, Picture, Record, RecordFilter, Summary,
    },
    sessions::{NewSession, SavedState, SessionFilter, SessionRow},
    table_rows::{Cell, CopiedTable},
    tables::{RecordReader, RecordTables, RecordWriter, TransactionWork},
};
use crate::{config::Retention, error::Result};

/// How long the truncation of the log waits for another checkpoint, and how often it looks.
const TRUNCATE_TIMEOUT: Duration = Duration::from_secs(1);
const TRUNCATE_PAUSE: Duration = Duration::from_millis(5);

impl From<rusqlite::Error> for DatabaseError {
    fn from(error: rusqlite::Error) -> Self {
        let kind = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => FailureKind::Unavailable,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => FailureKind::Damaged,
            Some(ErrorCode::ConstraintViolation) => FailureKind::InvalidEntry,
            _ => FailureKind::Other,
        };
        Self { kind, message: error.to_string() }
    }
}

/// An open file.
pub(super) struct SqliteFile {
    pub writer: SqliteWriter,
    pub reader: SqliteReader,
    pub lock: ServerLock,
    pub is_new: bool,
}

/// The lock that shows other servers that this one is running.
pub(super) struct ServerLock(ServerLocks);

impl ServerLock {
    /// Releases the lock.
    pub fn release(&self) {
        self.0.unregister();
    }
}

/// Opens the file at `path` for the server `server`. Creates it if it does not exist.
pub(super) fn open_file(path: &Path, server: &str) -> Result<SqliteFile, Fault> {
    let mut opened = schema::open(path)?;
    checkpoints::start(&mut opened.connection, path)
        .map_err(|error| Fault::unavailable(path, error))?;
    let locks = ServerLocks::register(path, server)?;
    let reader = schema::open_for_reading(path)?;
    Ok(SqliteFile {
        writer: SqliteWriter { connection: opened.connection, locks: locks.clone() },
        reader: SqliteReader { connection: Mutex::new(reader), locks: locks.clone() },
        lock: ServerLock(locks),
        is_new: opened.is_new,
    })
}

/// Opens a record in memory, which ends with the connection.
pub(super) fn open_in_memory() -> Result<SqliteWriter> {
    let locks = ServerLocks::without_file();
    Ok(SqliteWriter { connection: schema::open_in_memory()?, locks })
}

/// Truncates the write-ahead log of the file at `path`. Returns false if another server is reading.
pub(super) fn truncate_log(path: &Path) -> DatabaseResult<bool> {
    let connection = Connection::open(path)?;
    let give_up = Instant::now() + TRUNCATE_TIMEOUT;
    loop {
        let truncated = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| Ok(row.get::<_, i64>(0)? == 0));
        if truncated? {
            return Ok(true);
        }
        if Instant::now() > give_up {
            return Ok(false);
        }
        // SQLite does not wait for another checkpoint, such as that of this server's own thread.
        thread::sleep(TRUNCATE_PAUSE);
    }
}

pub(super) struct SqliteWriter {
    connection: Connection,
    locks: ServerLocks,
}

impl RecordWriter for SqliteWriter {
    fn transact(&mut self, work: TransactionWork<'_>) -> DatabaseResult<()> {
        // Dropping the transaction without a commit rolls it back.
        let transaction =
            Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        work(&SqliteTables { connection: &transaction, locks: &self.locks })?;
        Ok(transaction.commit()?)
    }
}

pub(super) struct SqliteReader {
    connection: Mutex<Connection>,
    locks: ServerLocks,
}

impl RecordReader for SqliteReader {
    fn read(&self, query: TransactionWork<'_>) -> DatabaseResult<()> {
        let connection = self.connection.lock();
        query(&SqliteTables { connection: &connection, locks: &self.locks })
    }
}

struct SqliteTables<'a> {
    connection: &'a Connection,
    locks: &'a ServerLocks,
}

impl RecordTables for SqliteTables<'_> {
    fn record(&self, ref_id: &str) -> DatabaseResult<Option<Record>> {
        Ok(records::record(self.connection, ref_id)?)
    }

    fn newest_record(&self, sessions: &[String], has_page: bool) -> DatabaseResult<Option<Record>> {
        Ok(records::newest_record(self.connection, sessions, has_page)?)
    }

    fn history(&self, session: &str) -> DatabaseResult<Vec<String>> {
        Ok(records::history(self.connection, session)?)
    }

    fn pictures_from(&self, ref_id: &str, first: u64) -> DatabaseResult<Vec<Picture>> {
        Ok(records::pictures_from(self.connection, ref_id, first)?)
    }

    fn picture(&self, ref_id: &str, number: u64) -> DatabaseResult<Option<Picture>> {
        Ok(records::picture(self.connection, ref_id, number)?)
    }

    fn requests(&self, filter: &RecordFilter) -> DatabaseResult<Vec<Summary>> {
        Ok(records::requests(self.connection, filter)?)
    }

    fn summary(&self, ref_id: &str) -> DatabaseResult<Option<(Summary, Option<String>)>> {
        Ok(records::summary(self.connection, ref_id)?)
    }

    fn console(
        &self,
        scope: &ConsoleScope,
        level: Option<&str>,
        budget: usize,
    ) -> DatabaseResult<NewestMessages> {
        Ok(records::console(self.connection, scope, level, budget)?)
    }

    fn calls(&self, filter: &CallFilter) -> DatabaseResult<Vec<RecordedCall>> {
        Ok(records::calls(self.connection, filter)?)
    }

    fn cursor(&self, key: &str) -> DatabaseResult<Option<Cursor>> {
        Ok(records::cursor(self.connection, key)?)
    }

    fn saved_state(&self, session: &str) -> DatabaseResult<Option<SavedState>> {
        Ok(sessions::saved_state(self.connection, session)?)
    }

    fn saved_origins(&self, session: &str) -> DatabaseResult<Vec<String>> {
        Ok(sessions::saved_origins(self.connection, session)?)
    }

    fn sessions(&self, filter: &SessionFilter, server: &str) -> DatabaseResult<Vec<SessionRow>> {
        Ok(sessions::sessions(self.connection, filter, server, self.locks)?)
    }

    fn begin_server(&self, server: &str) -> DatabaseResult<()> {
        Ok(servers::begin(self.connection, server, self.locks)?)
    }

    fn end_server(&self, server: &str) -> DatabaseResult<()> {
        Ok(servers::end(self.connection, server)?)
    }

    fn store_states_of_ended_servers(&self) -> DatabaseResult<()> {
        Ok(servers::store_states_of_ended_servers(self.connection)?)
    }

    fn begin_session(&self, session: &NewSession, server: &str) -> DatabaseResult<()> {
        Ok(sessions::begin_session(self.connection, session, server)?)
    }

    fn write_session(
        &self,
        id: &str,
        unwritten: &UnwrittenChanges,
        server: &str,
    ) -> DatabaseResult<()> {
        Ok(sessions::write_session(self.connection, id, unwritten, server)?)
    }

    fn count_open_sessions(&self, server: &str, except: Option<&str>) -> DatabaseResult<usize> {
        Ok(sessions::count_open_sessions(self.connection, server, except, self.locks)?)
    }

    fn claim_session(&self, id: &str, server: &str) -> DatabaseResult<bool> {
        Ok(sessions::claim_session(self.connection, id, server, self.locks)?)
    }

    fn write_request(
        &self,
        request: &NewRequest,
        session: Option<&NewSession>,
        server: &str,
    ) -> DatabaseResult<()> {
        Ok(records::write_request(self.connection, request, session, server)?)
    }

    fn write_answer(
        &self,
        request: &NewRequest,
        answer: &NewAnswer,
        at: u64,
    ) -> DatabaseResult<()> {
        Ok(records::write_answer(self.connection, request, answer, at)?)
    }

    fn move_cursor(&self, key: &str, cursor: &Cursor) -> DatabaseResult<()> {
        Ok(records::move_cursor(self.connection, key, cursor)?)
    }

    fn delete_calls(&self, session: Option<&str>) -> DatabaseResult<usize> {
        Ok(deletion::delete_calls(self.connection, session)?)
    }

    fn delete_sessions(&self, session: Option<&str>) -> DatabaseResult<(usize, usize)> {
        Ok(deletion::delete_sessions(self.connection, session)?)
    }

    fn delete_excess(&self, retention: Retention) -> DatabaseResult<bool> {
        Ok(deletion::delete_excess(self.connection, retention)?)
    }

    fn keys_after(
        &self,
        table: &CopiedTable,
        last: i64,
        most: usize,
    ) -> DatabaseResult<Vec<(i64, String)>> {
        Ok(migration::keys_after(self.connection, table, last, most)?)
    }

    fn rows_of(&self, table: &CopiedTable, keys: &[String]) -> DatabaseResult<Vec<Vec<Cell>>> {
        Ok(migration::rows_of(self.connection, table, keys)?)
    }

    fn insert_row(&self, table: &CopiedTable, row: &[Cell], _size: usize) -> DatabaseResult<bool> {
        Ok(migration::insert_row(self.connection, table, row)?)
    }

    fn free_space(&self) -> DatabaseResult<u64> {
        Ok(deletion::free_space(self.connection)?)
    }

    #[cfg(test)]
    fn connection(&self) -> Option<&Connection> {
        Some(self.connection)
    }
}
