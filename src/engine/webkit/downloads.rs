//! Detects downloads. The driver does not report them: a file appears in the download folder when
//! it is complete.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

pub(super) struct DownloadFolder {
    folder: PathBuf,
    taken: AtomicU64,
}

impl DownloadFolder {
    pub fn of(folder: PathBuf) -> Self {
        Self { folder, taken: AtomicU64::new(0) }
    }

    /// Returns the number of files so far.
    pub fn count(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Returns the files that were downloaded since the last call. Each is in its own folder,
    /// because the next one may have the same name.
    pub fn fresh(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let files =
            entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        files.filter_map(|entry| self.take(&entry.path()).ok()).collect()
    }

    fn take(&self, file: &Path) -> std::io::Result<PathBuf> {
        let own = self.folder.join(format!("taken-{}", self.taken.fetch_add(1, Ordering::AcqRel)));
        std::fs::create_dir(&own)?;
        let place = own.join(file.file_name().unwrap_or_default());
        std::fs::rename(file, &place)?;
        Ok(place)
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
        assert!(downloads.fresh().is_empty());
        for text in ["one", "two"] {
            std::fs::write(folder.join("file.txt"), text).unwrap();
            let fresh = downloads.fresh();
            let [file] = fresh.as_slice() else { panic!("{fresh:?}") };
            assert!(file.ends_with("file.txt"));
            assert_eq!(std::fs::read_to_string(file).unwrap(), text);
        }
        assert!(downloads.fresh().is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
