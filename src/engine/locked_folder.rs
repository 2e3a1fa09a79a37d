//! Folders for files that must not outlive their server, such as a browser's profile.
//!
//! The server locks each of its folders. After `kill -9`, the next start of a server finds the
//! folder unlocked and removes it.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

/// A folder that only this user can access, locked while the server runs.
#[derive(Debug)]
pub struct LockedFolder {
    path: PathBuf,
    /// The operating system releases the lock when the process ends.
    lock: File,
}

const LOCK: &str = "lock";
const UNLOCKED_EXTENSION: &str = "new";
/// Whether a folder gets its final name after it is locked.
const IS_RENAMED_WHEN_LOCKED: bool = !cfg!(windows);
/// Maximum time for the creation of a folder.
const CREATION_TIMEOUT: Duration = Duration::from_secs(60);

/// Chromium creates a socket three folders below. The path of a socket has at most 107 bytes
/// (macOS: 103).
#[cfg(unix)]
const MAX_TEMP_DIR_LENGTH: usize = 24;

fn root() -> PathBuf {
    let temp = std::env::temp_dir();
    #[cfg(unix)]
    {
        let temp =
            if temp.as_os_str().len() > MAX_TEMP_DIR_LENGTH { PathBuf::from("/tmp") } else { temp };
        temp.join(format!("troupe-browsers-{}", nix::unistd::getuid()))
    }
    #[cfg(not(unix))]
    temp.join("troupe-browsers")
}

impl LockedFolder {
    /// Creates a folder whose name begins with `prefix`. Blocks.
    pub fn create(prefix: &str) -> io::Result<Self> {
        let root = root();
        private_dir(&root)?;
        let id = uuid::Uuid::new_v4().simple().to_string();
        let path = root.join(format!("{prefix}{}", &id[..10]));
        // The folder is renamed after it is locked, or the sweep of another server could remove it.
        // Windows cannot rename a folder with an open file: there the sweep ignores every new
        // folder.
        let unfinished = if IS_RENAMED_WHEN_LOCKED {
            path.with_extension(UNLOCKED_EXTENSION)
        } else {
            path.clone()
        };
        private_dir(&unfinished)?;
        let lock = File::create(unfinished.join(LOCK))?;
        lock.lock()?;
        if IS_RENAMED_WHEN_LOCKED {
            fs::rename(&unfinished, &path)?;
        }
        Ok(Self { path, lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder. Other processes may still write to it; then the sweep of the next start
    /// removes it. Blocks.
    pub fn remove(self) {
        let Self { path, lock } = self;
        // Windows cannot remove a folder with an open file.
        drop(lock);
        if fs::remove_dir_all(&path).is_err() && path.exists() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// Creates a folder that only its owner can access. Fails if it exists and belongs to another user.
fn private_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_dir() || metadata.uid() != nix::unistd::getuid().as_raw() {
            return Err(io::Error::other(format!("`{}` belongs to another user", path.display())));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(path)
}

/// Runs `launch` and, in parallel, removes the folders of killed servers.
pub async fn with_sweep<T>(launch: impl Future<Output = T>) -> T {
    let sweeping = tokio::task::spawn_blocking(|| sweep(&root()));
    let launched = launch.await;
    let _ = sweeping.await;
    launched
}

/// Removes the folders whose server was killed.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified
                .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > CREATION_TIMEOUT))
        };
        let abandoned = if path.extension().is_some_and(|extension| extension == UNLOCKED_EXTENSION)
        {
            is_old()
        } else if !IS_RENAMED_WHEN_LOCKED && !is_old() {
            false
        } else {
            match File::open(path.join(LOCK)) {
                Ok(lock) => lock.try_lock().is_ok(),
                // The folder is partly removed. Other errors (too many open files, no permission)
                // do not mean a crash.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
        };
        if abandoned {
            tracing::debug!(path = %path.display(), "removing a folder whose server was killed");
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_keeps_folders_whose_lock_is_held_or_cannot_be_opened() {
        let root = std::env::temp_dir().join(format!("troupe-sweep-{}", std::process::id()));
        let folder = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let held = File::create(folder("held").join(LOCK)).unwrap();
        held.lock().unwrap();
        drop(File::create(folder("abandoned").join(LOCK)).unwrap());
        folder("half-removed");
        // A link to itself: opening it fails with ELOOP for every user, including root.
        std::os::unix::fs::symlink(LOCK, folder("unreadable").join(LOCK)).unwrap();
        sweep(&root);
        let mut kept: Vec<_> =
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(kept, ["held", "unreadable"]);
    }
}
