//! The operations on the tables of a record. `sqlite` and `postgres` implement them. All run on
//! threads that may block.

use super::{
    calls::{CallFilter, RecordedCall},
    clients::{ClientServer, ServerEndpoint},
    cursors::Cursor,
    failures::DatabaseResult,
    ledger::UnwrittenChanges,
    records::{
        ConsoleScope, NewAnswer, NewRequest, NewestMessages, Picture, Record, RecordFilter, Summary,
    },
    sessions::{NewSession, SavedState, SessionFilter, SessionRow},
    table_rows::{Cell, CopiedTable},
};
use crate::config::Retention;

/// The operations within one transaction. Times are milliseconds since 1970.
pub(super) trait RecordTables {
    fn record(&self, ref_id: &str) -> DatabaseResult<Option<Record>>;
    /// Returns the last call that was answered in one of `sessions`; with `has_page`, the last one
    /// with a page snapshot.
    fn newest_record(&self, sessions: &[String], has_page: bool) -> DatabaseResult<Option<Record>>;
    /// Returns the `refId`s of the calls of a session, oldest first.
    fn history(&self, session: &str) -> DatabaseResult<Vec<String>>;
    /// Returns the pictures of a call from the number `first`. The picture of the page is last.
    fn pictures_from(&self, ref_id: &str, first: u64) -> DatabaseResult<Vec<Picture>>;
    fn picture(&self, ref_id: &str, number: u64) -> DatabaseResult<Option<Picture>>;
    /// Returns calls, newest first.
    fn requests(&self, filter: &RecordFilter) -> DatabaseResult<Vec<Summary>>;
    /// Returns a call and its error message.
    fn summary(&self, ref_id: &str) -> DatabaseResult<Option<(Summary, Option<String>)>>;
    /// Returns the newest messages that fit into `budget` characters.
    fn console(
        &self,
        scope: &ConsoleScope,
        level: Option<&str>,
        budget: usize,
    ) -> DatabaseResult<NewestMessages>;
    /// Returns calls, newest first.
    fn calls(&self, filter: &CallFilter) -> DatabaseResult<Vec<RecordedCall>>;
    fn cursor(&self, key: &str) -> DatabaseResult<Option<Cursor>>;
    fn saved_state(&self, session: &str) -> DatabaseResult<Option<SavedState>>;
    /// Returns the saved storage of each origin of a session.
    fn saved_origins(&self, session: &str) -> DatabaseResult<Vec<String>>;
    /// Returns sessions, newest first, as the server `server` sees them.
    fn sessions(&self, filter: &SessionFilter, server: &str) -> DatabaseResult<Vec<SessionRow>>;

    /// Returns the running server that uses a session, if it is not `own` and has a URL. Only
    /// servers that share a database have URLs, and only they keep their clients in the record.
    fn server_of_session(
        &self,
        _session: &str,
        _own: &str,
    ) -> DatabaseResult<Option<ServerEndpoint>> {
        Ok(None)
    }
    /// Returns whether a server other than `own` has claimed a session since `own` did.
    fn is_taken_over(&self, _session: &str, _own: &str) -> DatabaseResult<bool> {
        Ok(false)
    }
    /// Returns the server that serves a client.
    fn server_of_client(&self, _client: &str, _own: &str) -> DatabaseResult<Option<ClientServer>> {
        Ok(None)
    }
    /// Claims a client that no running server other than `own` serves. Returns its state.
    fn claim_client(&self, _client: &str, _own: &str) -> DatabaseResult<Option<String>> {
        Ok(None)
    }
    /// Writes the state of a client of the server `own`.
    fn write_client(&self, _client: &str, _state: &str, _own: &str) -> DatabaseResult<()> {
        Ok(())
    }
    /// Removes a client of the server `own`.
    fn remove_client(&self, _client: &str, _own: &str) -> DatabaseResult<()> {
        Ok(())
    }

    /// Adds a server. Removes servers that have ended without removing themselves.
    fn begin_server(&self, server: &str) -> DatabaseResult<()>;
    /// Removes a server.
    fn end_server(&self, server: &str) -> DatabaseResult<()>;
    /// Stores the state of each session whose server has ended: `recoverable` or `stale` by the age
    /// of its saved state, or `closed` if it has none.
    fn store_states_of_ended_servers(&self) -> DatabaseResult<()>;
    /// Writes a session that begins, or is resumed on `server`.
    fn begin_session(&self, session: &NewSession, server: &str) -> DatabaseResult<()>;
    /// Writes the unwritten data of a session of `server`.
    fn write_session(
        &self,
        id: &str,
        unwritten: &UnwrittenChanges,
        server: &str,
    ) -> DatabaseResult<()>;
    /// Locks the number of sessions until the end of the transaction, so that two servers cannot
    /// both add the last allowed session. SQLite needs no lock: it runs one writing transaction at
    /// a time.
    fn lock_session_count(&self) -> DatabaseResult<()> {
        Ok(())
    }
    /// Returns the number of open sessions of `server` and of all other running servers, without
    /// the session `except`.
    fn count_open_sessions(&self, server: &str, except: Option<&str>) -> DatabaseResult<usize>;
    /// Claims a session that no running server uses. Returns false if another server uses it, or if
    /// it is closed.
    fn claim_session(&self, id: &str, server: &str) -> DatabaseResult<bool>;
    /// Writes the call, or its new data, and the row of its session if that is missing. Omits a
    /// session that is neither open nor in the record.
    fn write_request(
        &self,
        request: &NewRequest,
        session: Option<&NewSession>,
        server: &str,
    ) -> DatabaseResult<()>;
    /// Writes the result of a call.
    fn write_answer(&self, request: &NewRequest, answer: &NewAnswer, at: u64)
    -> DatabaseResult<()>;
    fn move_cursor(&self, key: &str, cursor: &Cursor) -> DatabaseResult<()>;

    /// Deletes up to a hundred calls of `session`, or of all sessions, that no running server uses.
    /// Returns their number.
    fn delete_calls(&self, session: Option<&str>) -> DatabaseResult<usize>;
    /// Deletes `session`, or all sessions, that no running server uses, and the data that belongs
    /// to no call and no session. Returns the number of deleted sessions, and of those in use.
    fn delete_sessions(&self, session: Option<&str>) -> DatabaseResult<(usize, usize)>;
    /// Deletes a part of the data that exceeds the limits. Returns whether there was any.
    fn delete_excess(&self, retention: Retention) -> DatabaseResult<bool>;
    /// Returns the positions and keys of the next rows of `table` after the position `last`, in the
    /// order in which they were inserted.
    fn keys_after(
        &self,
        table: &CopiedTable,
        last: i64,
        most: usize,
    ) -> DatabaseResult<Vec<(i64, String)>>;
    /// Returns the rows of `table` that belong to `keys`.
    fn rows_of(&self, table: &CopiedTable, keys: &[String]) -> DatabaseResult<Vec<Vec<Cell>>>;
    /// Inserts a row, unless its primary key exists. `size` is the number of bytes of all rows with
    /// this key. Returns whether it was inserted.
    fn insert_row(&self, table: &CopiedTable, row: &[Cell], size: usize) -> DatabaseResult<bool>;

    /// Gives a part of the unused space back to the system. Returns how much is left, in pages.
    fn free_space(&self) -> DatabaseResult<u64>;

    /// Returns the SQLite connection, for what only its tests do.
    #[cfg(test)]
    fn connection(&self) -> Option<&rusqlite::Connection> {
        None
    }
}

/// The work of one transaction.
pub(super) type TransactionWork<'a> = &'a mut dyn FnMut(&dyn RecordTables) -> DatabaseResult<()>;

/// A connection that writes. One thread owns it.
pub(super) trait RecordWriter: Send {
    /// Runs `work` in a transaction, and commits it if `work` succeeds.
    fn transact(&mut self, work: TransactionWork<'_>) -> DatabaseResult<()>;
}

/// Connections that only read.
pub(super) trait RecordReader: Send + Sync {
    /// Runs `query`, which sees a consistent state of each table.
    fn read(&self, query: TransactionWork<'_>) -> DatabaseResult<()>;
}
