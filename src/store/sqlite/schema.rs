//! Opens the database file. Creates its tables and migrates them.

use std::{
    fs::File,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode as Sqlite, OpenFlags};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    private,
};

/// How long one attempt to write waits for another server's write. The writer repeats the attempt.
const BUSY_TIMEOUT: Duration = Duration::from_millis(250);
/// How long the start waits for another server that creates the tables.
const START_BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// The pause between two attempts to change the journal mode.
const JOURNAL_RETRY: Duration = Duration::from_millis(5);

/// The migrations of the tables. The `user_version` of the file counts those that were applied.
/// Times are milliseconds since 1970.
const MIGRATIONS: &[&str] = &[
    "
CREATE TABLE servers (
    server_id TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    started_at TIMESTAMP NOT NULL
);
CREATE TABLE sessions (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP NOT NULL,
    last_activity TIMESTAMP NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('active', 'closed', 'expired', 'error')),
    metadata JSON NOT NULL,
    server_id TEXT NOT NULL
);
CREATE TABLE session_snapshots (
    session_id TEXT PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
    saved_at TIMESTAMP NOT NULL,
    state TEXT NOT NULL
);
CREATE TABLE requests (
    ref_id TEXT PRIMARY KEY,
    session_id TEXT REFERENCES sessions ON DELETE CASCADE,
    tool_name TEXT NOT NULL,
    params JSON NOT NULL,
    timestamp TIMESTAMP NOT NULL,
    server_id TEXT NOT NULL,
    connection_id TEXT NOT NULL
);
CREATE INDEX requests_of_session ON requests (session_id);
CREATE TABLE responses (
    ref_id TEXT PRIMARY KEY REFERENCES requests ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('success', 'error')),
    result TEXT,
    page_snapshot TEXT,
    console_logs TEXT,
    error_message TEXT,
    timestamp TIMESTAMP NOT NULL,
    -- What was too long for one answer, whole.
    content TEXT
);
CREATE TABLE console_logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ref_id TEXT NOT NULL REFERENCES responses ON DELETE CASCADE,
    level TEXT NOT NULL CHECK (level IN ('debug', 'info', 'warn', 'error')),
    message TEXT NOT NULL,
    timestamp TIMESTAMP NOT NULL,
    location JSON
);
CREATE INDEX console_logs_of_response ON console_logs (ref_id);
CREATE TABLE pictures (
    ref_id TEXT NOT NULL REFERENCES responses ON DELETE CASCADE,
    number INTEGER NOT NULL,
    mime_type TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (ref_id, number)
);
-- The cursors of records. With a session's id as `ref_id`, the cursor of all its records.
CREATE TABLE diff_cursors (
    ref_id TEXT PRIMARY KEY,
    cursor_position INTEGER NOT NULL,
    last_snapshot_hash TEXT NOT NULL,
    last_read TIMESTAMP NOT NULL,
    -- The record whose content was read.
    last_ref_id TEXT NOT NULL
);
",
    "
-- The storage of each origin of a session. It may be large and rarely changes.
CREATE TABLE session_origins (
    session_id TEXT NOT NULL REFERENCES session_snapshots ON DELETE CASCADE,
    origin TEXT NOT NULL,
    hash TEXT NOT NULL,
    storage JSON NOT NULL,
    PRIMARY KEY (session_id, origin)
);
",
    "
-- Adds the states of sessions whose server has ended. SQLite cannot change a constraint of a table.
CREATE TABLE sessions_with_all_states (
    session_id TEXT PRIMARY KEY,
    created_at TIMESTAMP NOT NULL,
    last_activity TIMESTAMP NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('active', 'closed', 'expired', 'error', 'recoverable', 'stale')),
    metadata JSON NOT NULL,
    server_id TEXT NOT NULL
);
INSERT INTO sessions_with_all_states SELECT * FROM sessions;
DROP TABLE sessions;
ALTER TABLE sessions_with_all_states RENAME TO sessions;
",
    "
-- True if an earlier call of the session has the same message. Lists of the session's messages
-- omit it.
ALTER TABLE console_logs ADD COLUMN is_repeated BOOLEAN NOT NULL DEFAULT FALSE;
",
    "
-- The test ids of the elements that the call acted on, by their refs.
ALTER TABLE responses ADD COLUMN test_ids JSON;
",
];

/// The reason why a file cannot be used as the record.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Fault {
    #[error("the record {path} was made by a newer version of Troupe (its tables are version {found}, this one knows {known})", path = .path.display())]
    Newer { path: PathBuf, found: i64, known: usize },
    #[error("the record {path} is damaged or is not a record of Troupe ({why})", path = .path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("the record {path} cannot be written ({why})", path = .path.display())]
    Unavailable { path: PathBuf, why: String },
}

impl Fault {
    pub(in crate::store) fn unavailable(path: &Path, why: impl ToString) -> Self {
        Self::Unavailable { path: path.to_owned(), why: why.to_string() }
    }

    /// Converts an SQLite error about `path`.
    fn of(path: &Path, error: &rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(Sqlite::DatabaseCorrupt | Sqlite::NotADatabase) => {
                Self::Damaged { path: path.to_owned(), why: error.to_string() }
            }
            _ => Self::unavailable(path, error),
        }
    }

    /// Returns the suggestion for the user.
    pub fn suggestion(&self) -> &'static str {
        match self {
            Self::Newer { .. } => "use that version, or another file (--store PATH)",
            Self::Damaged { .. } => {
                "`troupe doctor --repair` moves it aside and begins a new one; --store PATH names another file"
            }
            Self::Unavailable { .. } => {
                "--store PATH names another file, --store none records nothing"
            }
        }
    }
}

impl From<Fault> for TroupeError {
    fn from(fault: Fault) -> Self {
        Self::new(ErrorCode::InternalError, fault.to_string()).suggestion(fault.suggestion())
    }
}

/// An open file with the tables of this version.
pub(in crate::store) struct OpenedFile {
    pub connection: Connection,
    pub is_new: bool,
}

/// Opens the file at `path` for writing. Creates it if it does not exist, and applies missing
/// migrations.
pub(in crate::store) fn open(path: &Path) -> Result<OpenedFile, Fault> {
    let is_new = !path.exists();
    // SQLite uses the mode of the file for the WAL files.
    let created = private::ensure_file(path).and_then(|()| File::open(path));
    created.map_err(|error| Fault::unavailable(path, error))?;
    let fault = |error: &rusqlite::Error| Fault::of(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| fault(&error))?;
    connection.busy_timeout(START_BUSY_TIMEOUT).map_err(|error| fault(&error))?;
    let version = version(path, &connection)?;
    if connection.is_readonly("main").unwrap_or(true) {
        return Err(Fault::unavailable(path, "it is read-only"));
    }
    prepare(&connection, version).map_err(|error| fault(&error))?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(|error| fault(&error))?;
    Ok(OpenedFile { connection, is_new })
}

/// Returns the version of the tables, 0 for a file without tables. Rejects files of other programs.
fn version(path: &Path, connection: &Connection) -> Result<usize, Fault> {
    // In one transaction, because another server may be creating the tables.
    let read = || {
        let snapshot = connection.unchecked_transaction()?;
        let number = |sql: &str| snapshot.query_row(sql, [], |row| row.get::<_, i64>(0));
        Ok((number("PRAGMA user_version")?, number("SELECT count(*) FROM sqlite_schema")?))
    };
    let (found, tables) = read().map_err(|error| Fault::of(path, &error))?;
    let damaged = |why: &str| Fault::Damaged { path: path.to_owned(), why: why.to_owned() };
    match usize::try_from(found) {
        Err(_) => Err(damaged("its version is negative")),
        Ok(found) if found > MIGRATIONS.len() => Err(Fault::Newer {
            path: path.to_owned(),
            found: found as i64,
            known: MIGRATIONS.len(),
        }),
        Ok(0) if tables > 0 => Err(damaged("it has the tables of another program")),
        Ok(found) => Ok(found),
    }
}

/// Sets the options of the file and of the connection, and applies missing migrations.
fn prepare(connection: &Connection, version: usize) -> rusqlite::Result<()> {
    if version == 0 {
        // Possible only before the first table. Lets the file shrink after deletions.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    use_wal(connection)?;
    // With a WAL, NORMAL can lose the last writes only when the machine loses power.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.set_prepared_statement_cache_capacity(64);
    if version < MIGRATIONS.len() {
        // With foreign keys, dropping a table would delete the rows that refer to it.
        connection.pragma_update(None, "foreign_keys", false)?;
        migrate(connection)?;
    }
    connection.pragma_update(None, "foreign_keys", true)
}

/// Sets the journal mode of the file. SQLite's busy timeout does not apply here, so the change is
/// retried while a server that starts at the same time locks the file.
fn use_wal(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error)
                if error.sqlite_error_code() == Some(Sqlite::DatabaseBusy)
                    && begun.elapsed() < START_BUSY_TIMEOUT =>
            {
                thread::sleep(JOURNAL_RETRY);
            }
            result => return result,
        }
    }
}

/// Applies the missing migrations in one transaction.
fn migrate(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch("BEGIN IMMEDIATE")?;
    // Another server may have applied them while this one waited.
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    // A newer server may have applied more migrations. They stay, and the next statement that does
    // not fit them fails.
    if let Some(missing) = usize::try_from(version).ok().and_then(|done| MIGRATIONS.get(done..)) {
        for step in missing {
            connection.execute_batch(step)?;
        }
        connection.pragma_update(None, "user_version", MIGRATIONS.len() as i64)?;
    }
    connection.execute_batch("COMMIT")
}

/// Opens a database in memory, which ends with the connection.
pub(super) fn open_in_memory() -> Result<Connection> {
    let open = || {
        let connection = Connection::open_in_memory()?;
        prepare(&connection, 0)?;
        Ok(connection)
    };
    open().map_err(|error: rusqlite::Error| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("the record could not be created in memory: {error}"),
        )
    })
}

/// Opens a read-only connection.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, Fault> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.busy_timeout(START_BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(64);
        Ok(connection)
    };
    open().map_err(|error| Fault::of(path, &error))
}

/// Reads the whole file and returns its fault, if any.
pub(in crate::store) fn examine(path: &Path) -> Result<(), Fault> {
    let connection = open_for_reading(path)?;
    version(path, &connection)?;
    let verdict: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| Fault::of(path, &error))?;
    if verdict == "ok" {
        return Ok(());
    }
    Err(Fault::Damaged { path: path.to_owned(), why: verdict })
}
