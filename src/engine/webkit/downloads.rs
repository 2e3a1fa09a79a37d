//! Detects downloads, which the driver does not report. A file appears in the download folder when
//! its download begins, empty. WebKit writes the content to another file, which replaces it when
//! the download is complete.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The extension that WebKit adds to the name of the file while it downloads its content.
const PARTIAL: &str = "wkdownload";

pub(super) struct DownloadFolder {
    folder: PathBuf,
    moved: AtomicU64,
}

impl DownloadFolder {
    pub fn of(folder: PathBuf) -> Self {
        Self { folder, moved: AtomicU64::new(0) }
    }

    /// Returns the number of files that were downloaded so far.
    pub fn count(&self) -> u64 {
        self.moved.load(Ordering::Acquire)
    }

    /// Returns the files whose downloads were completed since the last call. Moves each file into
    /// its own folder, because the next file may have the same name.
    pub fn take_new(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let files =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
        let complete = files.iter().filter(|file| is_complete(file));
        complete.filter_map(|file| self.take(file).ok()).collect()
    }

    fn take(&self, file: &Path) -> std::io::Result<PathBuf> {
        let file_folder =
            self.folder.join(format!("moved-{}", self.moved.fetch_add(1, Ordering::AcqRel)));
        std::fs::create_dir(&file_folder)?;
        let destination = file_folder.join(file.file_name().unwrap_or_default());
        std::fs::rename(file, &destination)?;
        Ok(destination)
    }
}

fn is_complete(file: &Path) -> bool {
    let is_partial = file.extension().is_some_and(|extension| extension == PARTIAL);
    let mut partial = file.as_os_str().to_owned();
    partial.push(".");
    partial.push(PARTIAL);
    !is_partial && !Path::new(&partial).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_is_reported_once_even_with_the_same_name() {
        let folder =
            std::env::temp_dir().join(format!("troupe-downloads-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let downloads = DownloadFolder::of(folder.clone());
        assert!(downloads.take_new().is_empty());
        for text in ["one", "two"] {
            std::fs::write(folder.join("file.txt"), text).unwrap();
            let take_new = downloads.take_new();
            let [file] = take_new.as_slice() else { panic!("{take_new:?}") };
            assert!(file.ends_with("file.txt"));
            assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        }
        assert!(downloads.take_new().is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_is_reported_when_its_content_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let downloads = DownloadFolder::of(folder.path().to_owned());
        let (file, partial) =
            (folder.path().join("film.mp4"), folder.path().join("film.mp4.wkdownload"));
        std::fs::write(&file, "").unwrap();
        std::fs::write(&partial, "film").unwrap();
        assert!(downloads.take_new().is_empty());
        std::fs::rename(partial, file).unwrap();
        let taken = downloads.take_new();
        assert_eq!(std::fs::read_to_string(&taken[0]).unwrap(), "film");
        assert_eq!(taken.len(), 1);
    }
}
