//! The record: an SQLite file with every call and its result, and with the saved state of sessions.
//! Uses only `config` and `error`.
//!
//! One thread (`writer`) runs the writes, and batches concurrent ones. Reads use a separate
//! connection, so that they do not wait for writes. `checkpoints` runs SQLite's checkpoints in the
//! background. `schema` opens a file and rejects files that are not Troupe's. `servers` tracks
//! which servers share a file and which of them are running. `sessions`, `records`, `calls` and
//! `cursors` have the queries. `ledger` keeps changes of sessions whose write has failed.
//! `retention` deletes the oldest data. If a write fails, the server logs a warning and calls
//! continue.

mod calls;
mod checkpoints;
mod cursors;
mod delta;
mod ledger;
mod location;
mod purge;
mod records;
mod retention;
mod schema;
mod servers;
mod sessions;
#[cfg(test)]
mod tests;
mod time;
mod writer;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::Mutex;
use rusqlite::Connection;

use self::{calls::CallFeed, ledger::Ledger, servers::ServerRegistration, writer::Writer};
pub use self::{
    calls::{CallEnd, CallFilter, RecordedCall},
    cursors::{CursorOf, Reading},
    delta::delta,
    location::RecordLocation,
    purge::Purged,
    records::{
        Message, NewAnswer, NewRequest, NewestMessages, Picture, Record, RecordFilter,
        RecordedAnswer, Summary,
    },
    schema::Fault,
    sessions::{
        NewOrigin, NewSession, NewState, OriginText, SavedState, SessionFilter, SessionRow,
        SessionState,
    },
    time::{iso8601, now},
};
use crate::{
    config::{Config, Retention},
    error::{ErrorCode, Result, TroupeError},
};

/// Timeout for queued writes when the server ends.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum size of a record in memory, in bytes, whatever `--retention` allows.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// Timeout of `flush`.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The record of a server. Clones share it.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    location: RecordLocation,
    writer: Writer,
    /// A connection for reads. A record in memory is read through the writer.
    reader: Option<Arc<Mutex<Connection>>>,
    server: ServerRegistration,
    ledger: Ledger,
    calls: CallFeed,
}

impl Store {
    /// Opens the record that the configuration names. A file of a newer version or a damaged file
    /// is rejected. If a file cannot be written, a warning is logged and the record is kept in
    /// memory.
    pub fn open(config: &Config) -> Result<Self> {
        let location = RecordLocation::of(config)?;
        let RecordLocation::File(path) = &location else {
            return Self::in_memory(location, config);
        };
        match Self::in_file(path, config) {
            Ok(store) => Ok(store),
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
        let connection = schema::open_in_memory()?;
        let server = ServerRegistration::without_file();
        let bytes = config.retention.bytes.min(MAX_MEMORY);
        let writer = Writer::start(connection, Retention { bytes, ..config.retention }, None)?;
        let (ledger, calls) = Default::default();
        let inner = Inner { location, writer, reader: None, server, ledger, calls };
        Ok(Self(Arc::new(inner)).with_server_row())
    }

    fn in_file(path: &Path, config: &Config) -> Result<Self, Fault> {
        let mut opened = schema::open(path)?;
        if opened.is_new && config.store.is_none() {
            tracing::info!(
                "calls and sessions are recorded in {}, which only you can read; `troupe sessions purge --all` empties it, \
                 --store none switches that off",
                path.display()
            );
        }
        checkpoints::start(&mut opened.connection, path)
            .map_err(|error| Fault::unavailable(path, error))?;
        let server = ServerRegistration::register(path)?;
        let reader = schema::open_for_reading(path)?;
        let writer = Writer::start(opened.connection, config.retention, Some(path.to_owned()))
            .map_err(|error| Fault::unavailable(path, error.message))?;
        let store = Self(Arc::new(Inner {
            location: RecordLocation::File(path.to_owned()),
            writer,
            reader: Some(Arc::new(Mutex::new(reader))),
            server,
            ledger: Ledger::default(),
            calls: CallFeed::default(),
        }));
        Ok(store.with_server_row())
    }

    /// Adds this server to the table of running servers.
    fn with_server_row(self) -> Self {
        let (id, folder) = (self.0.server.id.clone(), self.0.server.folder.clone());
        self.0
            .writer
            .queue(0, move |connection| servers::begin(connection, &id, folder.as_deref()));
        self
    }

    /// Returns the id of this server in the record.
    pub fn server_id(&self) -> &str {
        &self.0.server.id
    }

    /// Returns whether calls are recorded.
    pub fn records(&self) -> bool {
        self.0.location != RecordLocation::None
    }

    /// Returns the path of the file, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.location {
            RecordLocation::File(path) => Some(path),
            RecordLocation::None | RecordLocation::Memory => None,
        }
    }

    /// Waits until all earlier writes are on disk or have failed.
    pub async fn flush(&self) {
        let done = self.0.writer.barrier();
        if tokio::time::timeout(FLUSH_TIMEOUT, done).await.is_err() {
            tracing::warn!("the record could not be written in time");
        }
    }

    /// Writes the queued rows, removes this server from the table of running servers, and releases
    /// its lock.
    pub async fn close(&self) {
        let id = self.0.server.id.clone();
        let done = self.0.writer.write(0, move |connection| servers::end(connection, &id));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, done).await;
        self.0.server.unregister();
    }

    /// Runs a query.
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = match self.0.reader.clone() {
            Some(reader) => tokio::task::spawn_blocking(move || query(&reader.lock()))
                .await
                .map_err(|error| unreadable(&error))?,
            None => self.ask_writer(query).await.map_err(|why| unreadable(&why))?,
        };
        answer.map_err(|error| unreadable(&error))
    }

    /// Runs `query` in a transaction of the writer, and returns its result after the commit. The
    /// outer error is the reason why no transaction with the query was committed.
    async fn ask_writer<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<rusqlite::Result<T>, &'static str> {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let once = Mutex::new(Some(query));
        let result: Arc<Mutex<Option<rusqlite::Result<T>>>> = Arc::default();
        let result_slot = result.clone();
        let work = move |connection: &Connection| {
            let query = once.lock().take();
            // A repeated transaction does not run the query again, so the result of the first
            // attempt must not be returned.
            let answer = query.map(|query| query(connection));
            *result.lock() = answer;
            Ok(())
        };
        self.0.writer.queue_and_settle(0, work, move |is_committed| {
            let answer = result_slot.lock().take();
            // Without a result, `sender` is dropped. An error needs no commit.
            if let Some(answer) = answer.filter(|answer| is_committed || answer.is_err()) {
                let _ = sender.send(answer);
            }
        });
        match tokio::time::timeout(FLUSH_TIMEOUT, receiver).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err("the transaction was not committed"),
            Err(_) => Err("the writer did not answer in time"),
        }
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, format!("the record could not be read: {why}"))
}

fn not_changed(why: &dyn std::fmt::Display) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, format!("the record could not be changed: {why}"))
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
    schema::examine(path).err()
}
