//! Tracks the servers that share a file. Each server holds a lock while it runs. Other servers
//! change its data only when the lock is free.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::schema::Fault;
use crate::store::{sessions::STALE_AGE, time::now};

/// The locks of the servers that share a file, in a folder beside it.
#[derive(Clone)]
pub(super) struct ServerLocks(Arc<LockFolder>);

struct LockFolder {
    /// `None` for a record in memory.
    folder: Option<PathBuf>,
    /// The id and the lock of this server. The system releases the lock when the process ends in
    /// any way.
    own: Mutex<Option<(String, File)>>,
}

impl ServerLocks {
    pub fn without_file() -> Self {
        Self(Arc::new(LockFolder { folder: None, own: Mutex::default() }))
    }

    /// Takes a lock for the server `id`. Must be called before the server is added to the file.
    pub fn register(record: &Path, id: &str) -> Result<Self, Fault> {
        let folder = PathBuf::from(format!("{}-servers", record.display()));
        let lock = || {
            fs::create_dir_all(&folder)?;
            let file = File::create(folder.join(id))?;
            file.lock()?;
            Ok(file)
        };
        // Repeats the attempt, because the last server may have removed the folder meanwhile.
        let file = lock().or_else(|_| lock());
        let file = file.map_err(|error: std::io::Error| Fault::unavailable(record, error))?;
        let own = Mutex::new(Some((id.to_owned(), file)));
        Ok(Self(Arc::new(LockFolder { folder: Some(folder), own })))
    }

    /// Releases the lock of this server.
    pub fn unregister(&self) {
        self.0.unregister();
    }

    /// Returns whether another server is running. An empty id marks a released session.
    pub fn is_running(&self, id: &str) -> bool {
        let Some(folder) = self.0.folder.as_ref().filter(|_| !id.is_empty()) else { return false };
        let Ok(file) = File::open(folder.join(id)) else { return false };
        matches!(file.try_lock(), Err(TryLockError::WouldBlock))
    }
}

impl LockFolder {
    fn unregister(&self) {
        if let Some((id, _lock)) = self.own.lock().take() {
            remove_lock_file(self.folder.as_deref(), &id);
        }
    }
}

impl Drop for LockFolder {
    fn drop(&mut self) {
        self.unregister();
    }
}

/// Removes the lock file of the server `id`.
fn remove_lock_file(folder: Option<&Path>, id: &str) {
    if let Some(folder) = folder {
        let _ = fs::remove_file(folder.join(id));
        // Succeeds only for the last server.
        let _ = fs::remove_dir(folder);
    }
}

/// Inserts the row of this server, unless it exists. Each transaction that writes the server's id
/// calls this first. The write at the start may have failed, and the data of a server without a row
/// counts as that of an ended server.
pub(super) fn ensure_server(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT OR IGNORE INTO servers (server_id, pid, started_at) VALUES (?1, ?2, ?3)",
        )?
        .execute(params![id, std::process::id(), now()])?;
    Ok(())
}

/// Adds a server to the file. Removes servers that have ended without removing themselves.
pub(super) fn begin(
    connection: &Connection,
    id: &str,
    locks: &ServerLocks,
) -> rusqlite::Result<()> {
    ensure_server(connection, id)?;
    let others: Vec<String> = connection
        .prepare("SELECT server_id FROM servers WHERE server_id <> ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for other in others.iter().filter(|other| !locks.is_running(other)) {
        remove(connection, other, "the server died during the call")?;
        remove_lock_file(locks.0.folder.as_deref(), other);
    }
    store_states_of_ended_servers(connection)
}

/// Removes a server from the file.
pub(super) fn end(connection: &Connection, id: &str) -> rusqlite::Result<()> {
    remove(connection, id, "the server ended during the call")?;
    store_states_of_ended_servers(connection)
}

/// Removes `server` from the file. Records the error `why` for its calls without a result.
fn remove(connection: &Connection, server: &str, why: &str) -> rusqlite::Result<()> {
    connection.execute(
        "INSERT INTO responses (ref_id, status, error_message, timestamp)
         SELECT ref_id, 'error', ?2, ?3 FROM requests
         WHERE server_id = ?1 AND ref_id NOT IN (SELECT ref_id FROM responses)",
        params![server, why, now()],
    )?;
    connection.execute("DELETE FROM servers WHERE server_id = ?1", [server])?;
    Ok(())
}

/// Stores the state of each session whose server has ended: `recoverable` or `stale` by the age of
/// its saved state, or `closed` if it has none.
pub(super) fn store_states_of_ended_servers(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(
        "UPDATE sessions SET state = (
             SELECT iif(max(saved_at) IS NULL, 'closed', iif(max(saved_at) >= ?1, 'recoverable', 'stale'))
             FROM session_snapshots WHERE session_snapshots.session_id = sessions.session_id)
         WHERE state IN ('active', 'recoverable') AND server_id NOT IN (SELECT server_id FROM servers)",
        [now().saturating_sub(STALE_AGE)],
    )?;
    Ok(())
}
