//! The files of the daemon in the state directory of the user.
//!
//! A daemon holds a lock for its whole life, so that there is one at a time. Its socket appears
//! when it accepts connections, and disappears before it stops. Clients that start a daemon hold
//! another lock, so that concurrent clients start one.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::socket::PrivateListener;
use crate::{
    config::{state_folder, version},
    error::{ErrorCode, Result, TroupeError},
    private,
};

/// Timeout for the locks: another client may be starting a daemon, or an old daemon may be saving
/// its sessions.
const LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// The folder with the files of the daemon.
#[derive(Debug, Clone)]
pub struct DaemonFolder(PathBuf);

/// A running daemon, as it describes itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DaemonInfo {
    pub pid: u32,
    pub version: String,
}

/// A held lock of the folder.
pub struct FolderLock {
    _file: File,
}

/// Listens on the socket. Requires the claim of the daemon, because it replaces the socket of a
/// daemon that was killed.
pub(in crate::transport) fn listen(path: &Path) -> Result<PrivateListener> {
    PrivateListener::bind(path).map_err(|error| {
        failed(format!("`{}` cannot be used as a socket: {error}", path.display()))
            .suggestion("set XDG_STATE_HOME to a shorter path on a local disk")
    })
}

impl DaemonFolder {
    /// Returns the folder of this user, and creates it.
    pub fn of_this_user() -> Result<Self> {
        let folder = state_folder().ok_or_else(|| {
            failed("this user has no state directory").suggestion("set HOME or XDG_STATE_HOME")
        })?;
        let folder = troupe_client::daemon_folder(&folder);
        let created = fs::create_dir_all(&folder).and_then(|()| private::restrict(&folder));
        created.map_err(|error| failed(format!("`{}`: {error}", folder.display())))?;
        Ok(Self(folder))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn socket(&self) -> PathBuf {
        troupe_client::socket(&self.0)
    }

    pub fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    /// Returns the folder for downloads and for other files whose path the caller has not given.
    pub fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    /// Returns the path of the file that describes the daemon. It is separate from the lock,
    /// because Windows cannot read a locked file.
    fn info(&self) -> PathBuf {
        self.0.join("daemon.json")
    }

    /// Claims the folder for a daemon. Waits until an earlier daemon has ended.
    pub async fn claim(&self) -> Result<FolderLock> {
        let lock = locked(self.0.join("lock")).await?;
        let info = DaemonInfo { pid: std::process::id(), version: version().into_owned() };
        let text = serde_json::to_vec(&info).unwrap_or_default();
        let written = fs::write(self.info(), text);
        written.map_err(|error| failed(format!("`{}`: {error}", self.info().display())))?;
        Ok(FolderLock { _file: lock })
    }

    /// Returns the running daemon, if there is one. It may be starting or stopping.
    pub fn running(&self) -> Result<Option<DaemonInfo>> {
        let path = self.0.join("lock");
        let read = || {
            match open(&path)?.try_lock() {
                Ok(()) => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
            let text = fs::read(self.info()).unwrap_or_default();
            Ok(serde_json::from_slice(&text).ok())
        };
        read().map_err(|error| failed(format!("`{}`: {error}", path.display())))
    }

    /// Waits until no other client starts a daemon. Until the result is dropped, none does.
    pub async fn lock_start(&self) -> Result<FolderLock> {
        Ok(FolderLock { _file: locked(self.0.join("start-lock")).await? })
    }

    /// Waits until the running daemon has ended.
    pub async fn wait_until_ended(&self) -> Result<()> {
        locked(self.0.join("lock")).await.map(drop)
    }
}

fn failed(message: impl Into<String>) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, message)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

async fn locked(path: PathBuf) -> Result<File> {
    let shown = path.display().to_string();
    let waiting = tokio::task::spawn_blocking(move || {
        let lock = open(&path)?;
        lock.lock()?;
        Ok::<_, io::Error>(lock)
    });
    match tokio::time::timeout(LOCK_TIMEOUT, waiting).await {
        Ok(Ok(Ok(lock))) => Ok(lock),
        Ok(Ok(Err(error))) => Err(failed(format!("`{shown}` cannot be locked: {error}"))),
        Ok(Err(error)) => Err(failed(format!("`{shown}` cannot be locked: {error}"))),
        Err(_) => Err(TroupeError::new(
            ErrorCode::ServerUnavailable,
            format!(
                "another process has held `{shown}` for {} s: a daemon that does not respond, or a command that starts one",
                LOCK_TIMEOUT.as_secs()
            ),
        )
        .suggestion("stop it with `troupe daemon stop`")),
    }
}
