//! Detects downloads, which the driver does not report. A file appears in the download folder when
//! its download is complete.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

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

    /// Returns the files that were downloaded since the last call. Moves each file into its own
    /// folder, because the next file may have the same name.
    pub fn take_new(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let files =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        files.filter_map(|entry| self.take(&entry.path()).ok()).collect()
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
}
