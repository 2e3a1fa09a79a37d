//! The record in a PostgreSQL database, which several servers can share.
//!
//! `connections` has the pools, `statements` runs statements, and `schema` creates the tables.
//! `servers` has the leases of the servers. `sessions`, `clients`, `records`, `deletion` and
//! `migration` have the queries.

mod clients;
mod connections;
mod deletion;
mod migration;
mod records;
mod schema;
mod servers;
mod sessions;
mod statements;

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use deadpool_postgres::Object;
use parking_lot::Mutex;
use tokio::{
    task::JoinHandle,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::sync::CancellationToken;

use self::{
    connections::{ConnectionUse, Connections, database_error},
    servers::HEARTBEAT,
    statements::{PostgresTables, signed},
};
use super::{
    calls::{CallFilter, RecordedCall},
    clients::{ClientServer, Registration, ServerEndpoint},
    cursors::Cursor,
    failures::{DatabaseError, DatabaseResult, FailureKind},
    ledger::UnwrittenChanges,
    location::DatabaseUrl,
    records::{
        ConsoleScope, NewAnswer, NewRequest, NewestMessages, Picture, Record, RecordFilter, Summary,
    },
    sessions::{NewSession, SavedState, SessionFilter, SessionRow},
    table_rows::{Cell, CopiedTable},
    tables::{RecordReader, RecordTables, RecordWriter, TransactionWork},
    time::now,
};
use crate::{
    config::Retention,
    error::{ErrorCode, Result, TroupeError},
};

/// Time between two heartbeats. A lease lasts four times as long.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(750);

/// How long an examination waits for a connection.
const EXAMINATION_TIMEOUT: Duration = Duration::from_secs(5);

/// An open database.
pub(super) struct OpenedDatabase {
    pub writer: PostgresWriter,
    pub reader: PostgresReader,
    pub server: PostgresServer,
}

/// Opens the database for the server `server`. Fails if further attempts to connect would fail in
/// the same way; otherwise logs a warning. `timeout` limits the wait for a connection.
pub(super) fn open(
    url: &DatabaseUrl,
    server: &Arc<str>,
    timeout: Duration,
) -> Result<OpenedDatabase> {
    let connections = Arc::new(Connections::new(url, timeout)?);
    match connections.connect() {
        Ok(()) => {}
        Err(DatabaseError { kind, message }) if kind.is_temporary() => {
            tracing::warn!("the record {url} cannot be reached ({message}); retrying");
        }
        Err(error) => return Err(unusable(url, &error)),
    }
    Ok(OpenedDatabase {
        writer: PostgresWriter { connections: connections.clone() },
        reader: PostgresReader { connections: connections.clone() },
        server: PostgresServer::start(&connections, server.clone()),
    })
}

/// Connects to the database. Creates its tables if they are missing.
pub(super) fn examine(url: &DatabaseUrl) -> Result<()> {
    let connections = Arc::new(Connections::new(url, EXAMINATION_TIMEOUT)?);
    connections.connect().map_err(|error| unusable(url, &error))
}

fn unusable(url: &DatabaseUrl, error: &DatabaseError) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, format!("the record {url} cannot be used ({error})"))
        .suggestion("correct the URL in --store, or start the database")
}

/// The heartbeat of this server. Ends when it is dropped.
pub(super) struct PostgresServer {
    registration: Arc<Registration>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl PostgresServer {
    fn start(connections: &Arc<Connections>, server: Arc<str>) -> Self {
        let stop = CancellationToken::new();
        let registration = Arc::<Registration>::default();
        let registered = registration.clone();
        // Weak, because the connections own the runtime of the task.
        let (weak, stopped) = (Arc::downgrade(connections), stop.clone());
        let task = connections.spawn(async move {
            let mut beats = interval(HEARTBEAT_INTERVAL);
            beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = stopped.cancelled() => return,
                    () = registered.changed.notified() => {}
                    _ = beats.tick() => {}
                }
                let Some(connections) = weak.upgrade() else { return };
                let beaten =
                    timeout(2 * HEARTBEAT_INTERVAL, beat(&connections, &server, &registered)).await;
                if let Ok(Err(error)) = beaten {
                    tracing::debug!(%error, "the heartbeat of this server could not be written");
                }
            }
        });
        Self { registration, stop, task: Mutex::new(task) }
    }

    pub fn registration(&self) -> &Arc<Registration> {
        &self.registration
    }

    /// Stops the heartbeat. Returns when no heartbeat is being written any more, which would insert
    /// the row of this server again.
    pub async fn stop(&self) {
        self.stop.cancel();
        let task = self.task.lock().take();
        if let Some(task) = task {
            // Fails only if the task has panicked.
            let _ = task.await;
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Extends the lease of this server. Inserts its row if another server has removed it.
async fn beat(
    connections: &Connections,
    server: &str,
    registration: &Registration,
) -> DatabaseResult<()> {
    let client = connections.get(ConnectionUse::Write).await?;
    let pid = i64::from(std::process::id());
    let own = registration.own.lock().clone();
    let (url, secret) = own.map(|own| (own.url, own.secret)).unzip();
    let beaten = async {
        let statement = client.prepare_cached(HEARTBEAT).await?;
        let row =
            client.query_one(&statement, &[&server, &pid, &signed(now()), &url, &secret]).await?;
        registration.record_row(row.try_get(0)?);
        registration.last_beat.send_replace(Instant::now());
        Ok(())
    };
    beaten.await.map_err(|error| database_error(&error))
}

/// Maximum number of times that a transaction is repeated at once after a conflict.
const MAX_CONFLICTS: usize = 3;

pub(super) struct PostgresWriter {
    connections: Arc<Connections>,
}

impl RecordWriter for PostgresWriter {
    fn transact(&mut self, work: TransactionWork<'_>) -> DatabaseResult<()> {
        for _ in 0..MAX_CONFLICTS {
            match self.attempt(work) {
                Err(DatabaseError { kind: FailureKind::Conflict, .. }) => {}
                other => return other,
            }
        }
        self.attempt(work).map_err(|error| match error.kind {
            FailureKind::Conflict => DatabaseError { kind: FailureKind::Unavailable, ..error },
            _ => error,
        })
    }
}

impl PostgresWriter {
    fn attempt(&self, work: TransactionWork<'_>) -> DatabaseResult<()> {
        let client = self.connections.wait(self.connections.get(ConnectionUse::Write));
        let client = client.map_err(|error| match error.kind {
            // The operator may correct the database, or its permissions.
            FailureKind::Other => DatabaseError { kind: FailureKind::Unavailable, ..error },
            _ => error,
        })?;
        let tables = PostgresTables::in_transaction(&self.connections, &client);
        let error = match work(&tables).and_then(|()| tables.commit()) {
            Ok(()) => return Ok(()),
            Err(error) => error,
        };
        if error.kind == FailureKind::Unavailable || tables.roll_back().is_err() {
            close(client);
        }
        Err(error)
    }
}

pub(super) struct PostgresReader {
    connections: Arc<Connections>,
}

impl RecordReader for PostgresReader {
    fn read(&self, query: TransactionWork<'_>) -> DatabaseResult<()> {
        let mut is_repeated = false;
        loop {
            let client = self.connections.wait(self.connections.get(ConnectionUse::Read))?;
            let read = query(&PostgresTables::new(&self.connections, &client));
            match read {
                Err(DatabaseError { kind, .. }) if kind.is_temporary() && !is_repeated => {
                    // The database may have been restarted.
                    close(client);
                    is_repeated = true;
                }
                other => return other,
            }
        }
    }
}

/// Closes a connection instead of returning it to its pool. The database rolls its transaction
/// back.
fn close(client: Object) {
    drop(Object::take(client));
}

impl RecordTables for PostgresTables<'_> {
    fn record(&self, ref_id: &str) -> DatabaseResult<Option<Record>> {
        self.find_record(ref_id)
    }

    fn newest_record(&self, sessions: &[String], has_page: bool) -> DatabaseResult<Option<Record>> {
        self.find_newest_record(sessions, has_page)
    }

    fn history(&self, session: &str) -> DatabaseResult<Vec<String>> {
        self.list_history(session)
    }

    fn pictures_from(&self, ref_id: &str, first: u64) -> DatabaseResult<Vec<Picture>> {
        self.list_pictures(ref_id, first)
    }

    fn picture(&self, ref_id: &str, number: u64) -> DatabaseResult<Option<Picture>> {
        self.find_picture(ref_id, number)
    }

    fn requests(&self, filter: &RecordFilter) -> DatabaseResult<Vec<Summary>> {
        self.list_requests(filter)
    }

    fn summary(&self, ref_id: &str) -> DatabaseResult<Option<(Summary, Option<String>)>> {
        self.find_summary(ref_id)
    }

    fn console(
        &self,
        scope: &ConsoleScope,
        level: Option<&str>,
        budget: usize,
    ) -> DatabaseResult<NewestMessages> {
        self.list_console(scope, level, budget)
    }

    fn calls(&self, filter: &CallFilter) -> DatabaseResult<Vec<RecordedCall>> {
        self.list_calls(filter)
    }

    fn cursor(&self, key: &str) -> DatabaseResult<Option<Cursor>> {
        self.find_cursor(key)
    }

    fn saved_state(&self, session: &str) -> DatabaseResult<Option<SavedState>> {
        self.find_saved_state(session)
    }

    fn saved_origins(&self, session: &str) -> DatabaseResult<Vec<String>> {
        self.list_origins(session)
    }

    fn sessions(&self, filter: &SessionFilter, server: &str) -> DatabaseResult<Vec<SessionRow>> {
        self.list_sessions(filter, server)
    }

    fn server_of_session(
        &self,
        session: &str,
        own: &str,
    ) -> DatabaseResult<Option<ServerEndpoint>> {
        self.find_session_holder(session, own)
    }

    fn is_taken_over(&self, session: &str, own: &str) -> DatabaseResult<bool> {
        self.has_other_holder(session, own)
    }

    fn server_of_client(&self, client: &str, own: &str) -> DatabaseResult<Option<ClientServer>> {
        self.find_client_holder(client, own)
    }

    fn claim_client(&self, client: &str, own: &str) -> DatabaseResult<Option<String>> {
        self.take_client(client, own)
    }

    fn write_client(&self, client: &str, state: &str, own: &str) -> DatabaseResult<()> {
        self.save_client(client, state, own)
    }

    fn remove_client(&self, client: &str, own: &str) -> DatabaseResult<()> {
        self.delete_client(client, own)
    }

    fn begin_server(&self, server: &str) -> DatabaseResult<()> {
        self.begin_lease(server)
    }

    fn end_server(&self, server: &str) -> DatabaseResult<()> {
        self.end_lease(server)
    }

    fn store_states_of_ended_servers(&self) -> DatabaseResult<()> {
        self.end_expired_leases()
    }

    fn begin_session(&self, session: &NewSession, server: &str) -> DatabaseResult<()> {
        self.open_session(session, server)
    }

    fn write_session(
        &self,
        id: &str,
        unwritten: &UnwrittenChanges,
        server: &str,
    ) -> DatabaseResult<()> {
        self.write_unwritten(id, unwritten, server)
    }

    fn lock_session_count(&self) -> DatabaseResult<()> {
        self.take_count_lock()
    }

    fn count_open_sessions(&self, server: &str, except: Option<&str>) -> DatabaseResult<usize> {
        self.count_sessions(server, except)
    }

    fn claim_session(&self, id: &str, server: &str) -> DatabaseResult<bool> {
        self.claim(id, server)
    }

    fn write_request(
        &self,
        request: &NewRequest,
        session: Option<&NewSession>,
        server: &str,
    ) -> DatabaseResult<()> {
        self.write_call(request, session, server)
    }

    fn write_answer(
        &self,
        request: &NewRequest,
        answer: &NewAnswer,
        at: u64,
    ) -> DatabaseResult<()> {
        self.write_result(request, answer, at)
    }

    fn move_cursor(&self, key: &str, cursor: &Cursor) -> DatabaseResult<()> {
        self.write_cursor(key, cursor)
    }

    fn delete_calls(&self, session: Option<&str>) -> DatabaseResult<usize> {
        self.purge_calls(session)
    }

    fn delete_sessions(&self, session: Option<&str>) -> DatabaseResult<(usize, usize)> {
        self.purge_sessions(session)
    }

    fn delete_excess(&self, retention: Retention) -> DatabaseResult<bool> {
        self.delete_oldest(retention)
    }

    fn keys_after(
        &self,
        table: &CopiedTable,
        last: i64,
        most: usize,
    ) -> DatabaseResult<Vec<(i64, String)>> {
        self.list_keys(table, last, most)
    }

    fn rows_of(&self, table: &CopiedTable, keys: &[String]) -> DatabaseResult<Vec<Vec<Cell>>> {
        self.list_rows(table, keys)
    }

    fn insert_row(&self, table: &CopiedTable, row: &[Cell], size: usize) -> DatabaseResult<bool> {
        self.insert_missing(table, row, size)
    }

    fn free_space(&self) -> DatabaseResult<u64> {
        // Autovacuum does that.
        Ok(0)
    }
}
