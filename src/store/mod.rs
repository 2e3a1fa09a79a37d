//! The record: every exchange, and what sessions are resumed from, in an SQLite file. Knows `config` and `error`.
//!
//! Who comes alone writes on the spot, what arrives together is batched by one thread (`writer`); readers have a connection
//! of their own, so that no call waits for another's; `log` keeps the disk's slowness from both. `schema` opens a file and
//! refuses what is not ours; `servers` tells the servers that share a file apart, the living from the dead; `sessions`,
//! `records` and `cursors` are the questions that are asked; `retention` forgets the oldest. Whatever happens to the file,
//! calls go on: what cannot be written is a warning.

mod cursors;
mod delta;
mod log;
mod place;
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
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rusqlite::Connection;

pub use self::{
    cursors::{CursorOf, Reading},
    delta::delta,
    place::Place,
    records::{Answered, Message, NewAnswer, NewRequest, Picture, Record, RecordFilter, Summary},
    schema::Fault,
    sessions::{NewSession, SavedState, SessionFilter, SessionRow, SessionState},
    time::{iso8601, now},
};
use self::{servers::Server, writer::Writer};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// How long the end of a server waits for what is queued.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// How long somebody waits who wants everything on disk.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The record of a server; a cheap clone.
#[derive(Clone)]
pub struct Store(Arc<Inner>);

struct Inner {
    place: Place,
    writer: Writer,
    /// A connection for reading; what is in memory is read where it is written.
    reader: Option<Arc<Mutex<Connection>>>,
    server: Server,
    unsaved: sessions::Unsaved,
}

impl Store {
    /// Opens what the configuration names. A file that is newer than this version, or damaged, is refused; one that
    /// cannot be written is a warning, and the record is kept in memory.
    pub fn open(config: &Config) -> Result<Self> {
        let place = Place::of(config)?;
        let Place::File(path) = &place else { return Self::in_memory(place, config) };
        match Self::in_file(path, config) {
            Ok(store) => Ok(store),
            Err(fault @ Fault::Unavailable { .. }) => {
                tracing::warn!("{fault}; until the server ends, the record is kept in memory only");
                Self::in_memory(Place::Memory, config)
            }
            Err(fault) => Err(fault.into()),
        }
    }

    /// One that forgets everything with the server, and records nothing but the state of sessions.
    pub fn none() -> Result<Self> {
        Self::in_memory(Place::None, &Config::default())
    }

    fn in_memory(place: Place, config: &Config) -> Result<Self> {
        let connection = schema::open_in_memory()?;
        let server = Server::alone();
        let writer = Writer::start(connection, config.retention, None)?;
        Ok(Self(Arc::new(Inner {
            place,
            writer,
            reader: None,
            server,
            unsaved: sessions::Unsaved::default(),
        })))
    }

    fn in_file(path: &Path, config: &Config) -> Result<Self, Fault> {
        let mut opened = schema::open(path)?;
        if opened.is_new && config.store.is_none() {
            tracing::info!(
                "calls and sessions are recorded in {}, which only you can read; `troupe sessions purge` empties it, \
                 --store none switches that off",
                path.display()
            );
        }
        log::empty_beside(&mut opened.connection, path).map_err(|error| Fault::unavailable(path, error))?;
        let server = Server::enter(path)?;
        let reader = schema::open_for_reading(path)?;
        let writer = Writer::start(opened.connection, config.retention, Some(path.to_owned()))
            .map_err(|error| Fault::unavailable(path, error.message))?;
        let store = Self(Arc::new(Inner {
            place: Place::File(path.to_owned()),
            writer,
            reader: Some(Arc::new(Mutex::new(reader))),
            server,
            unsaved: sessions::Unsaved::default(),
        }));
        let (id, folder) = (store.0.server.id.clone(), store.0.server.folder.clone());
        store.0.writer.queue(0, move |connection| servers::begin(connection, &id, folder.as_deref()));
        Ok(store)
    }

    /// Whether calls are recorded.
    pub fn records(&self) -> bool {
        self.0.place != Place::None
    }

    /// The file, where there is one.
    pub fn path(&self) -> Option<&Path> {
        match &self.0.place {
            Place::File(path) => Some(path),
            Place::None | Place::Memory => None,
        }
    }

    /// Returns once everything that was queued before is on disk, or cannot be.
    pub async fn flush(&self) {
        let done = self.0.writer.barrier();
        if tokio::time::timeout(FLUSH_TIMEOUT, done).await.is_err() {
            tracing::warn!("the record could not be written in time");
        }
    }

    /// The server's end: what is queued is written, and its place in the file is given up.
    pub async fn close(&self) {
        let id = self.0.server.id.clone();
        let done = self.0.writer.write(0, move |connection| servers::end(connection, &id));
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, done).await;
        self.0.server.leave();
    }

    /// Asks the file a question.
    async fn read<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let answer = match self.0.reader.clone() {
            Some(reader) => tokio::task::spawn_blocking(move || {
                question(&reader.lock().unwrap_or_else(PoisonError::into_inner))
            })
            .await
            .map_err(|error| unreadable(&error))?,
            None => self.ask_writer(question).await?,
        };
        answer.map_err(|error| unreadable(&error))
    }

    /// Asks where it is written: what the answer says holds until the next write.
    async fn ask_writer<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<rusqlite::Result<T>> {
        let (tell, told) = tokio::sync::oneshot::channel();
        let once = Mutex::new(Some((question, tell)));
        self.0.writer.queue(0, move |connection| {
            let taken = once.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some((question, tell)) = taken {
                let _ = tell.send(question(connection));
            }
            Ok(())
        });
        match tokio::time::timeout(FLUSH_TIMEOUT, told).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(unreadable(&"it cannot be written either")),
            Err(_) => Err(unreadable(&"it did not answer in time")),
        }
    }
}

fn unreadable(why: &dyn std::fmt::Display) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, format!("the record could not be read: {why}"))
}

/// Where a file is put that is in the way of a new one: beside it, under a name that is free.
pub fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = (1..)
        .map(|number| PathBuf::from(format!("{}.damaged-{number}", path.display())))
        .find(|aside| !aside.exists())
        .unwrap_or_else(|| path.with_extension("damaged"));
    std::fs::rename(path, &aside)?;
    // What was not checkpointed yet belongs to it.
    for end in ["-wal", "-shm"] {
        let (from, to) = (format!("{}{end}", path.display()), format!("{}{end}", aside.display()));
        match std::fs::rename(from, to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

/// Whether the file at `path` is whole: `None`, or what is wrong with it. Reads all of it.
pub fn examine(path: &Path) -> Option<Fault> {
    schema::examine(path).err()
}
