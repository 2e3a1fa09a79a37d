//! Tracks the servers that share a file. Each server holds a lock while it runs. Other servers
//! change its data only when the lock is free.

use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use rusqlite::{Connection, params};

use super::{schema::Fault, time::now};

/// The age in milliseconds from which a saved state is stale. It can still be resumed, but web
/// sites may have changed.
pub(super) const STALE_AGE: u64 = 24 * 3_600_000;

/// The registration of this server in the file.
pub(super) struct ServerRegistration {
    pub id: Arc<str>,
    /// The folder of the locks; `None` for a record in memory.
    pub folder: Option<PathBuf>,
    /// The lock. The system releases it when the process ends in any way.
    lock: Mutex<Option<File>>,
}

impl ServerRegistration {
    pub fn without_file() -> Self {
        Self { id: uuid::Uuid::new_v4().to_string().into(), folder: None, lock: Mutex::default() }
    }

    /// Takes a lock for this server. Must be called before the server is added to the file.
    pub fn register(record: &Path) -> Result<Self, Fault> {
        let folder = PathBuf::from(format!("{}-servers", record.display()));
        let mut server = Self::without_file();
        server.folder = Some(folder.clone());
        let lock = || {
            fs::create_dir_all(&folder)?;
            let file = File::create(folder.join(&*server.id))?;
            file.lock()?;
            Ok(file)
        };
        // Repeats the attempt, because the last server may have removed the folder meanwhile.
        let file = lock().or_else(|_| lock());
        let file = file.map_err(|error: std::io::Error| Fault::unavailable(record, error))?;
        *server.lock.lock() = Some(file);
        Ok(server)
    }

    /// Releases the lock.
    pub fn unregister(&self) {
        let lock = self.lock.lock().take();
        if lock.is_some() {
            remove_lock_file(self.folder.as_deref(), &self.id);
        }
    }

    /// Returns whether the server `id` is running.
    pub fn is_running(&self, id: &str) -> bool {
        *self.id == *id || is_running(self.folder.as_deref(), id)
    }
}

impl Drop for ServerRegistration {
    fn drop(&mut self) {
        self.unregister();
    }
}

/// Returns whether the server `id` is running. An empty id marks a released session.
fn is_running(folder: Option<&Path>, id: &str) -> bool {
    let Some(folder) = folder.filter(|_| !id.is_empty()) else { return false };
    let Ok(file) = File::open(folder.join(id)) else { return false };
    matches!(file.try_lock(), Err(TryLockError::WouldBlock))
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
pub(super) fn ensure_row(connection: &Connection, id: &str) -> rusqlite::Result<()> {
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
    folder: Option<&Path>,
) -> rusqlite::Result<()> {
    ensure_row(connection, id)?;
    let others: Vec<String> = connection
        .prepare("SELECT server_id FROM servers WHERE server_id <> ?1")?
        .query_map([id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for other in others.iter().filter(|other| !is_running(folder, other)) {
        remove(connection, other, "the server died during the call")?;
        remove_lock_file(folder, other);
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
