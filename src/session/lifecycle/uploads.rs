//! Files that people upload for the pages of a session.

use std::{io, path::PathBuf};

use parking_lot::Mutex;
use tempfile::TempDir;

/// The folder of the uploaded files, which only this user can read. A page reads a chosen file
/// later, so the folder stays until the session ends.
#[derive(Debug, Default)]
pub(super) struct Uploads(Mutex<Option<TempDir>>);

impl Uploads {
    /// Creates an empty folder for uploaded files. Blocks.
    pub fn new_folder(&self) -> io::Result<PathBuf> {
        let mut folder = self.0.lock();
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(tempfile::Builder::new().prefix("troupe-uploads-").tempdir()?),
        };
        Ok(tempfile::tempdir_in(folder.path())?.keep())
    }

    /// Removes all uploaded files. Blocks.
    pub fn remove(&self) {
        drop(self.0.lock().take());
    }
}
