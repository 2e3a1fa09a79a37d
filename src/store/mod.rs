//! The record: a database with every call and its result, and with the saved state of sessions.
//! Uses only `config` and `error`.
//!
//! `tables` declares the operations on the tables of the record; `sqlite` and `postgres` implement
//! them. One thread (`writer`) runs the writes, and batches concurrent ones. `sessions`, `records`,
//! `calls` and `cursors` have the types of the entries and the methods of `Store`. `ledger` keeps
//! changes of sessions whose write has failed. `retention` deletes the oldest data, and `migration`
//! copies a record into another one. If a write fails, `--store-failure` decides whether the call
//! fails too.

mod calls;
mod clients;
mod cursors;
mod delta;
mod failures;
mod ledger;
mod location;
mod migration;
mod postgres;
mod purge;
mod records;
mod reservations;
mod retention;
mod sessions;
mod sqlite;
mod table_rows;
mod tables;
#[cfg(test)]
mod tests;
mod time;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    time::Duration,
};

use parking_lot::Mutex;

use self::{
    calls::CallFeed,
    failures::{DatabaseError, DatabaseResult, FailureKind},
    ledger::Ledger,
    postgres::PostgresServer,
    sqlite::ServerLock,
    tables::{RecordReader, RecordTables},
    writer::{FailurePolicy, Writer},
};
pub use self::{
    calls::{CallEnd, CallFilter, RecordedCall},
    clients::{ClientServer, ServerEndpoint, UnreachableServerWait},
    cursors::{CursorOwner, CursorRead},
    delta::delta,
    failures::{RecordingFailure, WriteResult},
    location::{DatabaseUrl, RecordLocation},
    migration::MigrationCounts,
    purge::PurgeCounts,
    records::{
        Message, NewAnswer, NewRequest, NewestMessages, Picture, Record, RecordFilter,
        RecordedAnswer, Summary,
    },
    reservations::Reservation,
    sessions::{
        NewOrigin, NewSession, NewState, OriginText, SavedState, SessionFilter, SessionRow,
        SessionState,
    },
    sqlite::Fault,
    time::{iso8601, now},
};
use crate::{
    config::{Config, Retention, StoreFailure},
    error::{ErrorCode, Result, TroupeError},
    offload,
};

/// Timeout for queued writes when the server ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum size of a record in memory, in bytes, whatever `--retention` allows.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// Timeout of `flush`.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// Why the database is unavailable when it is not known.
const NO_RESPONSE: &str = "the database does not respond";

/// The record of a server. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    location: RecordLocation,
    writer: Writer,
    /// Connections for reads. A record in memory is read through the writer.
    reader: Option<Arc<dyn RecordReader>>,
    /// The id of this server in the record.
    server: Arc<str>,
    presence: ServerPresence,
    ledger: Ledger,
    calls: CallFeed,
}

/// Shows other servers that this one is running.
enum ServerPresence {
    /// No other server uses the record.
    None,
    Lock(ServerLock),
    Heartbeat(PostgresServer),
}

/// The state of the record, for monitoring.
#[derive(Debug, Clone)]
pub struct RecordStatus {
    /// Why the record cannot be written.
    pub failure: Option<String>,
    /// Whether calls fail meanwhile.
    pub refuses: bool,
    /// The number of writes that wait.
    pub queued: usize,
    /// The number of entries that were lost.
    pub lost: u64,
}

impl Store {
    /// Opens the record that the configuration names. A file of a newer version or a damaged file
    /// is rejected. If a file cannot be written, a warning is logged and the record is kept in
    /// memory. A PostgreSQL database that cannot be reached is tried again in the background.
    pub fn open(config: &Config) -> Result<Self> {
        let location = RecordLocation::of(config)?;
        let path = match &location {
            RecordLocation::File(path) => path,
            RecordLocation::Postgres(_) => {
                return offload::in_place(offload::LARGE, || Self::in_postgres(&location, config));
            }
            RecordLocation::None | RecordLocation::Memory => {
                return match config.max_sessions_total {
                    Some(_) => Err(not_shareable("there is no folder for the record")),
                    None => Self::in_memory(location, config),
                };
            }
        };
        match Self::in_file(path, config) {
            Ok(store) => Ok(store),
            Err(fault @ Fault::Unavailable { .. }) if config.max_sessions_total.is_some() => {
                Err(not_shareable(&fault.to_string()))
            }
            Err(fault @ Fault::Unavailable { .. }) => {
                tracing::warn!("{fault}; until the server ends, the record is kept in memory only");
                Self::in_memory(RecordLocation::Memory, config)
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// Opens a store in memory that contains only the state of sessions.
    pub fn none() -> Result<Self> {
        Self::in_memory(RecordLocation::None, &Config::default())
    }

    fn in_memory(location: RecordLocation, config: &Config) -> Result<Self> {
        let bytes = config.retention.bytes.min(MAX_MEMORY);
        let retention = Retention { bytes, ..config.retention };
        let policy = FailurePolicy::of(&location, config);
        let writer =
            Writer::start(sqlite::open_in_memory()?, retention, location.to_string(), policy)?;
        Ok(Self::new(location, new_server_id(), writer, None, ServerPresence::None))
    }

    fn in_file(path: &Path, config: &Config) -> Result<Self, Fault> {
        let server = new_server_id();
        let opened = sqlite::open_file(path, &server)?;
        if opened.is_new && config.store.is_none() {
            tracing::info!(
                "calls and sessions are recorded in {} (readable only by your user account). To delete the record: \
                 `troupe sessions purge --all`; to record nothing: --store none",
                path.display()
            );
        }
        let location = RecordLocation::File(path.to_owned());
        let policy = FailurePolicy::of(&location, config);
        let writer = Writer::start(opened.writer, config.retention, location.to_string(), policy)
            .map_err(|error| Fault::unavailable(path, error.message))?;
        let presence = ServerPresence::Lock(opened.lock);
        Ok(Self::new(location, server, writer, Some(Arc::new(opened.reader)), presence))
    }

    fn in_postgres(location: &RecordLocation, config: &Config) -> Result<Self> {
        let RecordLocation::Postgres(url) = location else { return Self::none() };
        let server = new_server_id();
        let policy = FailurePolicy::of(location, config);
        let opened = postgres::open(url, &server, policy.timeout)?;
        let writer = Writer::start(opened.writer, config.retention, location.to_string(), policy)?;
        let presence = ServerPresence::Heartbeat(opened.server);
        Ok(Self::new(location.clone(), server, writer, Some(Arc::new(opened.reader)), presence))
    }

    /// Creates the store, and adds this server to the table of running servers.
    fn new(
        location: RecordLocation,
        server: Arc<str>,
        writer: Writer,
        reader: Option<Arc<dyn RecordReader>>,
        presence: ServerPresence,
    ) -> Self {
        let id = server.clone();
        writer.queue(0, move |tables| tables.begin_server(&id));
        let (ledger, calls) = Default::default();
        Self(Arc::new(Inner { location, writer, reader, server, presence, ledger, calls }))
    }

    /// Returns the id of this server in the record.
    pub fn server_id(&self) -> &str {
        &self.0.server
    }

    /// Returns whether calls are recorded.
    pub fn records(&self) -> bool {
        self.0.location != RecordLocation::None
    }

    /// Returns whether the record outlives this server.
    pub fn is_durable(&self) -> bool {
        matches!(self.0.location, RecordLocation::File(_) | RecordLocation::Postgres(_))
    }

    /// Returns the path of the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.location {
            RecordLocation::File(path) => Some(path),
            RecordLocation::None | RecordLocation::Memory | RecordLocation::Postgres(_) => None,
        }
    }

    /// Returns whether the record can be written.
    pub fn status(&self) -> RecordStatus {
        let writer = &self.0.writer;
        RecordStatus {
            failure: writer.failure(),
            refuses: writer.refuses(),
            queued: writer.queued(),
            lost: writer.lost(),
        }
    }

    /// Waits until all earlier writes are committed or have failed.
    pub async fn flush(&self) {
        let done = self.0.writer.barrier();
        if tokio::time::timeout(FLUSH_TIMEOUT, done).await.is_err() {
            tracing::warn!("the record could not be written in time");
        }
    }

    /// Writes the queued rows, removes this server from the table of running servers, and releases
    /// its lock.
    pub async fn close(&self) {
        if let ServerPresence::Heartbeat(server) = &self.0.presence {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, server.stop()).await;
        }
        let id = self.0.server.clone();
        self.0.writer.queue(0, move |tables| tables.end_server(&id));
        let done = self.0.writer.barrier();
        if tokio::time::timeout(CLOSE_TIMEOUT, done).await.is_err() {
            let lost = self.0.writer.queued();
            tracing::warn!("{lost} entries of the record could not be written before the end");
        }
        if let ServerPresence::Lock(lock) = &self.0.presence {
            lock.release();
        }
    }

    /// Runs a query. Fails when the database has not responded for `--store-timeout`.
    async fn read<T: Send + 'static>(
        &self,
        query: impl Fn(&dyn RecordTables) -> DatabaseResult<T> + Send + 'static,
    ) -> Result<T> {
        self.read_within(self.0.writer.timeout(), query).await
    }

    /// Runs a query. Fails when the database has not responded for `limit` or for the duration of a
    /// lease, whichever is longer.
    async fn read_within<T: Send + 'static>(
        &self,
        limit: Duration,
        query: impl Fn(&dyn RecordTables) -> DatabaseResult<T> + Send + 'static,
    ) -> Result<T> {
        tokio::select! {
            biased;
            read = self.run_query(query) => read,
            () = self.wait_lease_expired(limit) => {
                let message = NO_RESPONSE.to_owned();
                Err(unreadable(&DatabaseError { kind: FailureKind::Unavailable, message }))
            }
        }
    }

    async fn run_query<T: Send + 'static>(
        &self,
        query: impl Fn(&dyn RecordTables) -> DatabaseResult<T> + Send + 'static,
    ) -> Result<T> {
        let Some(reader) = self.0.reader.clone() else {
            let answer = self.ask_writer(FLUSH_TIMEOUT, query).await;
            return answer.map_err(|error| unreadable(&error));
        };
        let read = tokio::task::spawn_blocking(move || {
            let mut answer = None;
            reader.read(&mut |tables| {
                answer = Some(query(tables)?);
                Ok(())
            })?;
            answer.ok_or_else(|| not_committed("the query did not run"))
        });
        let answer = read.await.map_err(|error| unreadable(&not_committed(&error.to_string())))?;
        answer.map_err(|error| unreadable(&error))
    }

    /// Queues a write of a call. The future fails at the latest when the database has not responded
    /// for `--store-timeout`.
    fn write_of_call<W>(
        &self,
        bytes: usize,
        work: W,
    ) -> impl Future<Output = WriteResult> + Send + use<W>
    where
        W: Fn(&dyn RecordTables) -> DatabaseResult<()> + Send + 'static,
    {
        let writer = &self.0.writer;
        let (written, refuses) = (writer.write(bytes, work), writer.refuses());
        let lease_expired = self.wait_lease_expired(writer.timeout());
        async move {
            tokio::select! {
                biased;
                written = written => written,
                () = lease_expired, if refuses => Err(RecordingFailure::Unavailable(NO_RESPONSE.to_owned())),
            }
        }
    }

    /// Runs `work`, which changes the record, in a transaction. Returns its result after the
    /// commit.
    async fn change<T: Send + 'static>(
        &self,
        work: impl Fn(&dyn RecordTables) -> DatabaseResult<T> + Send + 'static,
    ) -> Result<T> {
        self.ask_writer(FLUSH_TIMEOUT, work).await.map_err(|error| not_changed(&error))
    }

    /// Runs `query` in a transaction of the writer, and returns its result after the commit. After
    /// the timeout, the query may still run.
    async fn ask_writer<T: Send + 'static>(
        &self,
        timeout: Duration,
        query: impl Fn(&dyn RecordTables) -> DatabaseResult<T> + Send + 'static,
    ) -> DatabaseResult<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        let result: Arc<Mutex<Option<DatabaseResult<T>>>> = Arc::default();
        let result_slot = result.clone();
        let work = move |tables: &dyn RecordTables| {
            let answer = query(tables);
            let outcome = answer.as_ref().map(|_| ()).map_err(DatabaseError::clone);
            // A repeated transaction replaces the result of the former attempt.
            *result.lock() = Some(answer);
            outcome
        };
        self.0.writer.run_isolated(work, move |is_committed| {
            let answer = result_slot.lock().take();
            // Without a result, `sender` is dropped. An error needs no commit.
            if let Some(answer) = answer.filter(|answer| is_committed || answer.is_err()) {
                let _ = sender.send(answer);
            }
        });
        // A paused clock advances while another thread is waited for, but not a blocking task.
        let received = tokio::task::spawn_blocking(move || receiver.recv_timeout(timeout)).await;
        match received {
            Ok(Ok(answer)) => answer,
            Ok(Err(RecvTimeoutError::Disconnected)) | Err(_) => {
                Err(not_committed("the transaction was not committed"))
            }
            Ok(Err(RecvTimeoutError::Timeout)) => Err(DatabaseError {
                kind: FailureKind::Unavailable,
                message: self
                    .0
                    .writer
                    .failure()
                    .unwrap_or_else(|| "the writer did not answer in time".to_owned()),
            }),
        }
    }

    /// Truncates the log of a file, so that the deleted data is not in it.
    async fn truncate_log(&self) -> Result<()> {
        let Some(path) = self.path().map(Path::to_owned) else { return Ok(()) };
        let truncated = tokio::task::spawn_blocking(move || sqlite::truncate_log(&path))
            .await
            .map_err(|error| unreadable(&not_committed(&error.to_string())))?;
        if !matches!(truncated, Ok(true)) {
            tracing::warn!(
                "another server is reading the record: the file shrinks when that server has finished"
            );
        }
        Ok(())
    }
}

impl FailurePolicy {
    /// Returns the policy for a record at `location`. By default, calls go on without a file, which
    /// only one machine uses, and fail without a database, on which other servers rely.
    fn of(location: &RecordLocation, config: &Config) -> Self {
        let (timeout, failure) = match location {
            RecordLocation::Postgres(_) => (Duration::from_secs(5), StoreFailure::Refuse),
            _ => (Duration::from_secs(1), StoreFailure::Continue),
        };
        Self {
            timeout: config.store_timeout.unwrap_or(timeout),
            failure: config.store_failure.unwrap_or(failure),
        }
    }
}

/// Returns the error for `--max-sessions-total` with a record in memory.
fn not_shareable(why: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::InvalidParameters,
        format!("`--max-sessions-total` needs a record that servers can share, but {why}"),
    )
    .suggestion("pass the path of a writable file or postgres://… in --store")
}

fn new_server_id() -> Arc<str> {
    uuid::Uuid::new_v4().to_string().into()
}

fn not_committed(why: &str) -> DatabaseError {
    DatabaseError { kind: FailureKind::Other, message: why.to_owned() }
}

fn unreadable(error: &DatabaseError) -> TroupeError {
    failure("the record could not be read", error)
}

fn not_changed(error: &DatabaseError) -> TroupeError {
    failure("the record could not be changed", error)
}

fn failure(what: &str, error: &DatabaseError) -> TroupeError {
    let code = match error.kind.is_temporary() {
        true => ErrorCode::ResourceExhausted,
        false => ErrorCode::InternalError,
    };
    TroupeError::new(code, format!("{what}: {error}"))
}

/// Renames a damaged file to an unused name in the same folder. Returns the new path.
pub fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = (1..)
        .map(|number| PathBuf::from(format!("{}.damaged-{number}", path.display())))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    std::fs::rename(path, &aside)?;
    // The WAL files contain data that was not checkpointed yet.
    for end in ["-wal", "-shm"] {
        let (from, to) = (format!("{}{end}", path.display()), format!("{}{end}", aside.display()));
        match std::fs::rename(from, to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

/// Checks the integrity of the file at `path`: `None` if it is intact, or the fault. Reads the
/// whole file.
pub fn examine(path: &Path) -> Option<Fault> {
    sqlite::examine(path).err()
}

/// Connects to a PostgreSQL database, and creates its tables if they are missing.
pub fn examine_database(url: &DatabaseUrl) -> Result<()> {
    postgres::examine(url)
}
