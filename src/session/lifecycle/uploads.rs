//! Files that people upload for the pages of a session.

use std::{io, path::PathBuf};

use parking_lot::Mutex;

use crate::engine::LockedFolder;

/// The folder of the uploaded files, which only this user can read. A page reads a chosen file
/// later, so the folder stays until the session ends.
#[derive(Debug, Default)]
pub(super) struct Uploads(Mutex<Option<LockedFolder>>);

impl Uploads {
    /// Creates an empty folder for uploaded files. Blocks.
    pub fn new_folder(&self) -> io::Result<PathBuf> {
        let mut folder = self.0.lock();
        let folder = match &mut *folder {
            Some(folder) => folder,
            none => none.insert(LockedFolder::create("uploads-")?),
        };
        Ok(tempfile::tempdir_in(folder.path())?.keep())
    }

    /// Removes all uploaded files. Blocks.
    pub fn remove(&self) {
        let folder = self.0.lock().take();
        if let Some(folder) = folder {
            folder.remove();
        }
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        self.remove();
    }
}
