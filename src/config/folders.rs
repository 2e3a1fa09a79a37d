//! Directories of the user and of the process.

use std::path::PathBuf;

/// Returns the directory for persistent state: `~/.local/state/troupe` on Linux. `None` without a
/// home directory.
pub fn state_folder() -> Option<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "troupe")?;
    Some(folders.state_dir().unwrap_or_else(|| folders.data_local_dir()).to_owned())
}

/// Returns the working directory of the process; `/` if it has been deleted.
pub fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from(std::path::MAIN_SEPARATOR_STR))
}
