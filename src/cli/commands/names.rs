//! The names of sessions. Each is a file that contains the id of its session.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use super::Caller;
use crate::{
    cli::daemon::failed,
    error::{ErrorCode, Result, TroupeError},
    private,
    transport::DaemonFolder,
};

/// Maximum length of a name.
const MAX_NAME: usize = 64;
/// Maximum length of the part of a default name that is the name of the folder.
const MAX_FOLDER_NAME: usize = 32;

/// Returns the name of the session: `-s`, `TROUPE_SESSION`, or a name for the working tree.
pub(super) fn name(given: Option<&str>, caller: &Caller) -> Result<String> {
    let set = caller.session.as_deref().filter(|name| !name.is_empty());
    let Some(name) = given.or(set) else { return Ok(of_tree(&caller.folder)) };
    let is_valid = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty()
        || name.len() > MAX_NAME
        || name.starts_with('.')
        || !name.chars().all(is_valid)
    {
        let message = format!("`{}` cannot name a session", crate::config::one_line(name));
        return Err(TroupeError::new(ErrorCode::InvalidParameters, message).suggestion(
            "use up to 64 letters, digits, `-`, `_` and `.`, not beginning with a dot",
        ));
    }
    Ok(name.to_owned())
}

/// Returns the root of the working tree that contains `folder`, or `folder` itself.
pub(in crate::cli) fn working_tree(folder: &Path) -> &Path {
    folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder)
}

/// Returns the name for the working tree that contains `folder`.
fn of_tree(folder: &Path) -> String {
    let tree = working_tree(folder);
    let folder_name = tree.file_name().unwrap_or_default().to_string_lossy();
    let plain = folder_name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let plain: String = plain.take(MAX_FOLDER_NAME).collect();
    let digest = Sha256::digest(tree.as_os_str().as_encoded_bytes());
    let digest: String = digest.iter().take(3).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{digest}", if plain.is_empty() { "root" } else { &plain })
}

/// The sessions of the user by their names.
pub(super) struct SessionNames(PathBuf);

/// The file of a name, locked until the session is known.
pub(super) struct NamedSession {
    path: PathBuf,
    file: Option<File>,
    id: Option<String>,
}

impl SessionNames {
    pub fn new(folder: &DaemonFolder) -> Result<Self> {
        let path = folder.path().join("sessions");
        let made = fs::create_dir_all(&path).and_then(|()| private::restrict(&path));
        made.map_err(|error| failed(&path, &error))?;
        Ok(Self(path))
    }

    /// Reads the session of `name`. With `exclusive`, waits until no other command may replace it,
    /// and locks it until [`NamedSession::unlock`].
    pub async fn open(&self, name: &str, exclusive: bool) -> Result<NamedSession> {
        let path = self.0.join(name);
        let read = move || {
            let mut options = OpenOptions::new();
            options.read(true);
            if exclusive {
                options.write(true).create(true).truncate(false);
            }
            let mut file = match options.open(&path) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound && !exclusive => {
                    return Ok(NamedSession { path, file: None, id: None });
                }
                Err(error) => return Err(failed(&path, &error)),
            };
            // A writer holds the lock while it creates a session.
            let locked = if exclusive { file.lock() } else { file.lock_shared() };
            let mut id = String::new();
            let read = locked.and_then(|()| file.read_to_string(&mut id));
            read.map_err(|error| failed(&path, &error))?;
            let id = Some(id.trim().to_owned()).filter(|id| !id.is_empty());
            Ok(NamedSession { path, file: exclusive.then_some(file), id })
        };
        tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| {
            Err(TroupeError::new(ErrorCode::InternalError, error.to_string()))
        })
    }

    /// Returns the names of all sessions by their ids.
    pub fn by_id(&self) -> HashMap<String, String> {
        let files = fs::read_dir(&self.0).into_iter().flatten().flatten();
        let named = files.filter_map(|file| {
            let id = fs::read_to_string(file.path()).ok()?.trim().to_owned();
            (!id.is_empty()).then(|| (id, file.file_name().to_string_lossy().into_owned()))
        });
        named.collect()
    }
}

impl NamedSession {
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Writes the id of a new session.
    pub fn set(&mut self, id: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let written = file.set_len(0).and_then(|()| file.rewind());
        let written = written.and_then(|()| file.write_all(id.as_bytes()));
        written.map_err(|error| failed(&self.path, &error))?;
        self.id = Some(id.to_owned());
        Ok(())
    }

    /// Releases the lock.
    pub fn unlock(&mut self) {
        self.file = None;
    }

    /// Forgets the session of the name. The file stays, because another command may be waiting for
    /// its lock.
    pub fn forget(&mut self) -> Result<()> {
        self.set("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_an_option_depends_on_the_working_tree() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, inner) = (folder.path().join("shop"), folder.path().join("shop/src/deep"));
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(tree.join(".git")).unwrap();
        assert_eq!(of_tree(&inner), of_tree(&tree));
        assert!(of_tree(&tree).starts_with("shop-"));
        assert_ne!(of_tree(&tree), of_tree(folder.path()));
    }
}
