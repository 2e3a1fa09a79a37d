//! The running servers of this user, in the state directory.
//!
//! Each server has a private socket and a file that it holds locked while it runs. The system
//! releases the lock when the process ends in any way, so a file without a lock is a dead server's.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{config::state_folder, private};

/// The extension of the locked files.
const LOCK: &str = "lock";
/// Maximum number of servers that are found.
const MAX_SERVERS: usize = 256;

/// The folder with the files of all running servers of this user.
#[derive(Debug, Clone)]
pub(in crate::transport) struct ServersFolder(PathBuf);

/// The files of this server, which are removed when it is dropped.
pub(in crate::transport) struct RegisteredServer {
    lock: PathBuf,
    socket: PathBuf,
    _file: File,
}

impl ServersFolder {
    /// Returns the folder of this user; `None` without a state directory.
    pub fn of_this_user() -> Option<Self> {
        Some(Self(state_folder()?.join("servers")))
    }

    /// Creates the files of this server. `open` creates its socket.
    pub fn register<S>(
        &self,
        open: impl FnOnce(&Path) -> io::Result<S>,
    ) -> io::Result<(RegisteredServer, S)> {
        fs::create_dir_all(&self.0)?;
        private::restrict(&self.0)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        // The path of a socket can have about 100 characters.
        let path = self.0.join(&id[..12]);
        let (new, lock) = (path.with_extension("starting"), path.with_extension(LOCK));
        let mut file = private::create_file(&new)?;
        let registered = RegisteredServer { lock, socket: path, _file: file.try_clone()? };
        let opened = file.lock().and_then(|()| writeln!(file, "{}", std::process::id()));
        let opened = opened.and_then(|()| open(&registered.socket));
        // Other processes see the file only when it is locked.
        match opened.and_then(|socket| fs::rename(&new, &registered.lock).map(|()| socket)) {
            Ok(socket) => Ok((registered, socket)),
            Err(error) => {
                let _ = fs::remove_file(&new);
                Err(error)
            }
        }
    }

    /// Returns the sockets of the running servers. Removes the files of dead ones.
    pub fn running(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let locks = entries
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == LOCK));
        locks.filter_map(|lock| socket_of(&lock)).take(MAX_SERVERS).collect()
    }
}

/// Returns the socket of a running server. Removes the files of a dead one.
fn socket_of(lock: &Path) -> Option<PathBuf> {
    let file = File::open(lock).ok()?;
    let socket = lock.with_extension("");
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Some(socket),
        Err(TryLockError::Error(_)) => None,
        Ok(()) => {
            let _ = fs::remove_file(&socket);
            let _ = fs::remove_file(lock);
            None
        }
    }
}

impl Drop for RegisteredServer {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_found_until_it_ends() {
        let state = tempfile::tempdir().unwrap();
        let folder = ServersFolder(state.path().join("servers"));
        assert!(folder.running().is_empty());
        let (one, ()) = folder.register(|path| fs::write(path, "")).unwrap();
        let (two, ()) = folder.register(|path| fs::write(path, "")).unwrap();
        let found = folder.running();
        assert!(found.len() == 2 && found.contains(&one.socket) && found.contains(&two.socket));
        #[cfg(unix)]
        for path in [&folder.0, &one.lock] {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o077, 0, "{path:?}");
        }
        drop(one);
        assert_eq!(folder.running(), std::slice::from_ref(&two.socket));
    }

    #[test]
    fn the_files_of_a_killed_server_are_removed() {
        let state = tempfile::tempdir().unwrap();
        let folder = ServersFolder(state.path().to_owned());
        for name in ["a", "a.lock"] {
            fs::write(folder.0.join(name), "1").unwrap();
        }
        assert!(folder.running().is_empty());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }

    #[test]
    fn a_server_without_a_socket_leaves_no_file() {
        let state = tempfile::tempdir().unwrap();
        let folder = ServersFolder(state.path().to_owned());
        let failed = folder.register(|_| Err::<(), _>(io::ErrorKind::AddrInUse.into()));
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 0);
    }
}
