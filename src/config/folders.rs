//! Directories of the user and of the process.

use std::path::PathBuf;

/// Returns the working directory of the process; `/` if it has been deleted.
pub fn working_directory() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| PathBuf::from(std::path::MAIN_SEPARATOR_STR))
}
