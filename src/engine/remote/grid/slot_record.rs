//! Records the sessions of a Selenium Grid in files, so that none stays open after `kill -9`.
//!
//! Each session has a file, which this process locks. After `kill -9`, the next start of a server
//! finds the file unlocked and deletes the session. A file contains no credentials.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

const EXTENSION: &str = "json";
/// Maximum size of a file that is read.
const MAX_SIZE: u64 = 64 << 10;

/// The contents of the file of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlotNote {
    /// The URL of the Grid without credentials.
    pub grid: String,
    /// The value of the capability that identifies the request.
    pub request: String,
    /// The Grid's id of the session. `None` until the Grid has responded.
    pub session: Option<String>,
    /// Milliseconds since 1970.
    pub requested_at: u64,
}

impl SlotNote {
    pub fn new(grid: String, request: String) -> Self {
        Self { grid, request, session: None, requested_at: now() }
    }

    pub fn age(&self) -> Duration {
        Duration::from_millis(now().saturating_sub(self.requested_at))
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The locked file of a session.
#[derive(Debug)]
pub(super) struct SlotRecord {
    path: PathBuf,
    /// The operating system releases the lock when the process ends.
    file: File,
    pub note: SlotNote,
}

impl SlotRecord {
    /// Creates the file of a session in `folder`.
    pub fn create(folder: &Path, note: SlotNote) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let path = folder.join(&note.request).with_extension(EXTENSION);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        // Other servers ignore an empty file, so it may be unlocked until here.
        file.lock()?;
        let mut record = Self { path, file, note };
        record.write()?;
        Ok(record)
    }

    /// Writes the id of the session.
    pub fn set_session(&mut self, session: String) -> io::Result<()> {
        self.note.session = Some(session);
        self.write()
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.note)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)?;
        self.file.sync_data()
    }

    /// Removes the file after the session has ended.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }

    /// Returns the sessions of `grid` that servers left when they were killed. Locks their files.
    pub fn leftovers(folder: &Path, grid: &str) -> Vec<Self> {
        let entries =
            fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries
            .filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION))
            .filter_map(Self::lock_leftover)
            .filter(|record| record.note.grid == grid)
            .collect()
    }

    /// Locks a file and reads it. Returns `None` if its server is running, or if the file is
    /// incomplete.
    fn lock_leftover(path: PathBuf) -> Option<Self> {
        let mut file = OpenOptions::new().read(true).write(true).open(&path).ok()?;
        file.try_lock().ok()?;
        let mut text = Vec::new();
        Read::by_ref(&mut file).take(MAX_SIZE).read_to_end(&mut text).ok()?;
        let note = serde_json::from_slice(&text).ok()?;
        // Another server may have removed the file before the lock.
        path.exists().then_some(Self { path, file, note })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_ended_servers_are_leftovers() {
        let folder = std::env::temp_dir().join(format!("troupe-slots-{}", uuid::Uuid::new_v4()));
        let note = |name: &str| SlotNote::new("http://grid".to_owned(), name.to_owned());
        let mut running = SlotRecord::create(&folder, note("running")).unwrap();
        running.set_session("one".to_owned()).unwrap();
        let mut killed = SlotRecord::create(&folder, note("killed")).unwrap();
        killed.set_session("two".to_owned()).unwrap();
        drop(killed);
        fs::write(folder.join("new.json"), "").unwrap();
        let others = SlotRecord::leftovers(&folder, "http://other");
        assert!(others.is_empty(), "{others:?}");
        let mut found = SlotRecord::leftovers(&folder, "http://grid");
        let found = found.pop().filter(|_| found.is_empty()).unwrap();
        assert_eq!(found.note.session.as_deref(), Some("two"));
        found.remove().unwrap();
        assert!(SlotRecord::leftovers(&folder, "http://grid").is_empty());
        running.remove().unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
