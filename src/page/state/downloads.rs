//! The downloads of a session. Files are moved from the browser's folder into the output folder and
//! never overwrite another file.
//!
//! The result of an action or a navigation has, in `download`, a download that has started or ended
//! since the session's last result. If there are several, the others are in `downloads`. The result
//! waits up to `--timeout-settle` for a started download to end. A longer download is reported as
//! `inProgress`, and again in the result of the next action after its end.

use std::{
    fs::{self, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::task::TaskTracker;

use crate::{
    engine::DownloadStart,
    files::{FileLocation, FileStore},
    page::state::{Events, SessionEvent},
    policy::files::make_folder,
};

/// Maximum bytes of a file name.
const MAX_NAME_LENGTH: usize = 200;
/// Maximum number of files with the same suggested name in a folder.
const MAX_SAME_NAMES: usize = 10_000;
/// Beginnings of device names that Windows reserves.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DownloadState {
    InProgress,
    Completed(FileLocation),
    /// The reason why the download was canceled or interrupted, or could not be stored.
    Failed(String),
}

/// A download and its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    pub url: String,
    pub suggested_filename: String,
    pub state: DownloadState,
}

#[derive(Debug)]
struct DownloadEntry {
    id: Arc<str>,
    download: Download,
    /// The state that a result has reported, if any.
    reported: Option<DownloadState>,
}

/// The downloads of one session.
#[derive(Debug, Default)]
pub struct Downloads {
    files: FileStore,
    list: Mutex<Vec<DownloadEntry>>,
    changed: Notify,
    events: Events,
    /// Whether the browser's file stays where it is, because it is in the user's folder.
    copies: bool,
    /// Owns the tasks that move finished files.
    moving: TaskTracker,
}

impl Downloads {
    pub fn new(files: FileStore, events: Events, copies: bool) -> Self {
        Self { files, events, copies, ..Self::default() }
    }

    fn list(&self) -> MutexGuard<'_, Vec<DownloadEntry>> {
        self.list.lock()
    }

    pub(in crate::page) fn record_start(&self, start: &DownloadStart) {
        let download = Download {
            url: start.url.clone(),
            suggested_filename: start.suggested_filename.clone(),
            state: DownloadState::InProgress,
        };
        self.events.of_download(&download);
        self.list().push(DownloadEntry { id: start.id.clone(), download, reported: None });
        self.changed.notify_waiters();
    }

    /// Ends the download `id`. `file` is the path of the browser's file, or the reason why there is
    /// none.
    pub(in crate::page) fn record_end(
        self: &Arc<Self>,
        id: &Arc<str>,
        file: Result<PathBuf, String>,
    ) {
        let Some(name) = self
            .list()
            .iter()
            .find(|entry| entry.id == *id)
            .map(|entry| file_name(&entry.download.suggested_filename))
        else {
            return;
        };
        let path = match file {
            Ok(path) => path,
            Err(why) => return self.finish_download(id, DownloadState::Failed(why)),
        };
        let (downloads, id) = (self.clone(), id.clone());
        self.moving.spawn(async move {
            let state = match downloads.store(path, &name).await {
                Ok(location) => DownloadState::Completed(location),
                Err(reason) => {
                    tracing::warn!(name, reason, "a download could not be stored");
                    DownloadState::Failed(format!("it could not be stored: {reason}"))
                }
            };
            downloads.finish_download(&id, state);
        });
    }

    /// Moves or copies `from` to its final location. Returns why it cannot be stored there.
    async fn store(&self, from: PathBuf, name: &str) -> Result<FileLocation, String> {
        let copies = self.copies;
        let Some(folder) = self.files.download_folder() else {
            let uploaded =
                self.files.upload(&from, name).await.map_err(|error| match error.suggestion {
                    Some(suggestion) => format!("{}; {suggestion}", error.message),
                    None => error.message,
                });
            if !copies {
                // The browser's folder is removed with the browser in any case.
                let _ = tokio::fs::remove_file(&from).await;
            }
            return uploaded;
        };
        let name = name.to_owned();
        let stored = tokio::task::spawn_blocking(move || {
            let error = |error| format!("`{}`: {error}", folder.display());
            store(&from, &folder, &name, copies).map(FileLocation::Local).map_err(error)
        });
        stored.await.unwrap_or_else(|error| Err(error.to_string()))
    }

    fn finish_download(&self, id: &Arc<str>, state: DownloadState) {
        if let Some(entry) = self.list().iter_mut().find(|entry| entry.id == *id) {
            entry.download.state = state;
            self.events.of_download(&entry.download);
        }
        self.changed.notify_waiters();
    }

    /// Returns the downloads that have started or ended since the last call. Waits up to
    /// `time_limit` for started ones to end.
    pub async fn take_changes(&self, time_limit: Duration) -> Vec<Download> {
        let settled = async {
            loop {
                let changed = self.changed.notified();
                tokio::pin!(changed);
                changed.as_mut().enable();
                let is_waiting = self.list().iter().any(|entry| {
                    entry.reported.is_none() && entry.download.state == DownloadState::InProgress
                });
                if !is_waiting {
                    return;
                }
                changed.await;
            }
        };
        let _ = tokio::time::timeout(time_limit, settled).await;
        let mut list = self.list();
        let mut changes = Vec::new();
        for entry in list.iter_mut() {
            if entry.reported.as_ref() != Some(&entry.download.state) {
                entry.reported = Some(entry.download.state.clone());
                changes.push(entry.download.clone());
            }
        }
        list.retain(|entry| {
            entry.reported.is_none() || entry.reported == Some(DownloadState::InProgress)
        });
        changes
    }

    /// Waits until every finished file was moved. No download may end after this call.
    pub async fn finish(&self) {
        self.moving.close();
        self.moving.wait().await;
    }
}

impl Events {
    fn of_download(&self, download: &Download) {
        self.publish(|| {
            let (state, path, failure) = match &download.state {
                DownloadState::InProgress => ("inProgress", None, None),
                DownloadState::Completed(location) => {
                    ("completed", Some(location.to_string()), None)
                }
                DownloadState::Failed(reason) => ("failed", None, Some(reason.clone())),
            };
            let Download { url, suggested_filename, .. } = download.clone();
            Some(SessionEvent::Download {
                url,
                suggested_filename,
                state: state.to_owned(),
                path,
                failure,
            })
        });
    }
}

/// Moves or copies `from` into `folder` as `name`, or as `name (1)`, `name (2)`… if that file
/// exists.
fn store(from: &Path, folder: &Path, name: &str, copies: bool) -> io::Result<PathBuf> {
    make_folder(folder)?;
    let (stem, extension) = split(name);
    for number in 0..MAX_SAME_NAMES {
        let name =
            if number == 0 { name.to_owned() } else { format!("{stem} ({number}){extension}") };
        let path = folder.join(name);
        // Creates the file first, so that two downloads, also those of two server processes, never
        // get the same name.
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        // A file cannot be renamed to another file system, so it is copied.
        let stored = if copies {
            fs::copy(from, &path).map(drop)
        } else {
            fs::rename(from, &path)
                .or_else(|_| fs::copy(from, &path).and_then(|_| fs::remove_file(from)))
        };
        if let Err(error) = stored {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        return Ok(path);
    }
    Err(io::Error::other(format!("too many files are named `{name}`")))
}

/// Splits a name into its stem and its extension, with the dot. A long suffix is not an extension.
fn split(name: &str) -> (&str, &str) {
    match name.rfind('.') {
        Some(at) if at > 0 && name.len() - at <= 16 => name.split_at(at),
        _ => (name, ""),
    }
}

/// Converts the name that a server suggests into one that is valid in every file system.
fn file_name(suggested: &str) -> String {
    let last = suggested.rsplit(['/', '\\']).next().unwrap_or_default();
    let clean: String = last
        .chars()
        .map(|c| if c.is_control() || "<>:\"|?*".contains(c) || is_invisible(c) { '_' } else { c })
        .collect();
    // A leading dot hides a file, and Windows removes dots and spaces at the end.
    let clean = clean.trim_start_matches(['.', ' ']).trim_end_matches(['.', ' ']);
    let (stem, extension) = split(clean);
    let mut end = stem.len().min(MAX_NAME_LENGTH - extension.len());
    while !stem.is_char_boundary(end) {
        end -= 1;
    }
    let stem = &stem[..end];
    let base = stem.split('.').next().unwrap_or_default().to_ascii_lowercase();
    let device = DEVICES.iter().any(|device| {
        base.strip_prefix(device).is_some_and(|rest| {
            rest.is_empty() || (rest.len() == 1 && rest.as_bytes()[0].is_ascii_digit())
        })
    });
    match (stem, device) {
        ("", _) => format!("download{extension}"),
        (_, true) => format!("_{stem}{extension}"),
        (_, false) => format!("{stem}{extension}"),
    }
}

/// Returns whether a character is invisible or reverses the text direction: `gpj.exe` could be
/// displayed as `exe.jpg`.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;

    fn start(id: &str, name: &str) -> DownloadStart {
        DownloadStart { id: id.into(), url: "http://a/".into(), suggested_filename: name.into() }
    }

    fn files_in(folder: &Path) -> FileStore {
        let output_dir = Some(folder.to_owned().into());
        FileStore::open(&Arc::new(Config { output_dir, ..Config::default() }))
    }

    fn folder() -> PathBuf {
        std::env::temp_dir().join(format!("troupe-downloads-test-{}", uuid::Uuid::new_v4()))
    }

    #[test]
    fn file_names_stay_in_their_folder_and_are_not_hidden() {
        for (suggested, name) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Windows\\x.dll", "x.dll"),
            (".bashrc", "bashrc"),
            ("..", "download"),
            ("", "download"),
            ("a:b?.txt", "a_b_.txt"),
            ("con.txt", "_con.txt"),
            ("COM1", "_COM1"),
            ("console.txt", "console.txt"),
            ("x.tar.gz ", "x.tar.gz"),
            ("a\u{202e}gpj.exe", "a_gpj.exe"),
            ("Übersicht 1.csv", "Übersicht 1.csv"),
        ] {
            assert_eq!(file_name(suggested), name, "{suggested}");
        }
    }

    proptest! {
        #[test]
        fn every_name_can_be_a_file(suggested in ".{0,300}") {
            let name = file_name(&suggested);
            prop_assert!(!name.is_empty() && name.len() <= MAX_NAME_LENGTH + 1, "{name}");
            prop_assert!(!name.starts_with('.') && !name.contains(['/', '\\', '\0']), "{name}");
        }
    }

    #[test]
    fn an_existing_file_is_never_overwritten() {
        let folder = folder();
        let source = folder.join("source");
        for (text, name) in [("one", "a.txt"), ("two", "a (1).txt"), ("three", "a (2).txt")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&source, text).unwrap();
            assert_eq!(store(&source, &folder, "a.txt", false).unwrap(), folder.join(name));
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text);
            assert!(!source.exists());
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_copied_file_stays_where_it_is() {
        let folder = folder();
        let source = folder.join("source");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&source, "one").unwrap();
        let stored = store(&source, &folder, "a.txt", true).unwrap();
        assert_eq!((fs::read_to_string(stored).unwrap(), source.exists()), ("one".into(), true));
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn a_download_is_reported_when_it_starts_and_when_it_ends() {
        let folder = folder();
        let downloads = Arc::new(Downloads::new(files_in(&folder), Events::default(), false));
        downloads.record_start(&start("1", "a.txt"));
        let changes = downloads.take_changes(Duration::ZERO).await;
        assert_eq!(changes[0].state, DownloadState::InProgress);
        assert_eq!(downloads.take_changes(Duration::ZERO).await, []);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("guid"), "text").unwrap();
        downloads.record_end(&"1".into(), Ok(folder.join("guid")));
        downloads.finish().await;
        let changes = downloads.take_changes(Duration::ZERO).await;
        assert_eq!(
            changes[0].state,
            DownloadState::Completed(FileLocation::Local(folder.join("a.txt")))
        );
        assert_eq!(downloads.take_changes(Duration::ZERO).await, []);
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn interrupted_downloads_and_those_that_cannot_be_stored_have_failed() {
        let files = files_in(Path::new("/dev/null/none"));
        let downloads = Arc::new(Downloads::new(files, Events::default(), false));
        for id in ["1", "2"] {
            downloads.record_start(&start(id, "a.txt"));
        }
        downloads.record_end(&"1".into(), Err("it was broken off".into()));
        downloads.record_end(&"2".into(), Ok("/nowhere".into()));
        let changes = downloads.take_changes(Duration::from_secs(10)).await;
        assert_eq!(changes[0].state, DownloadState::Failed("it was broken off".into()));
        assert!(
            matches!(&changes[1].state, DownloadState::Failed(why) if why.contains("/dev/null/none"))
        );
    }
}
