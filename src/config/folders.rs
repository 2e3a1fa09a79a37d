//! Folders of the user's own.

use std::path::PathBuf;

/// Where what a server keeps between its runs belongs: `~/.local/state/troupe` on Linux. Without a home there is none.
pub fn state_folder() -> Option<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "troupe")?;
    Some(folders.state_dir().unwrap_or_else(|| folders.data_local_dir()).to_owned())
}
