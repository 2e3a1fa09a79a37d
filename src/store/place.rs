//! The path of a server's record.

use std::path::{Path, PathBuf};

use crate::{
    config::{Config, state_folder},
    error::{ErrorCode, Result, TroupeError},
};

/// The location of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordLocation {
    /// Calls are not recorded, and the state of sessions is in memory.
    None,
    /// In memory, until the server ends.
    Memory,
    File(PathBuf),
}

impl RecordLocation {
    /// Returns the location that `--store` selects. By default it is a file in the state folder of
    /// the operating system.
    pub fn of(config: &Config) -> Result<Self> {
        if !config.records() {
            return Ok(Self::None);
        }
        Ok(match config.store.as_deref() {
            Some("memory" | ":memory:") => Self::Memory,
            Some(url) if url.contains("://") => {
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`--store {url}` is not supported by this version"),
                )
                .detail("reason", "notBuilt")
                .suggestion("use none, memory, or the path of an SQLite file"));
            }
            Some(path) => {
                Self::File(std::path::absolute(path).unwrap_or_else(|_| Path::new(path).to_owned()))
            }
            // Without a home directory there is no such folder. A file elsewhere would not be found
            // again.
            None => {
                state_folder().map_or(Self::Memory, |folder| Self::File(folder.join("record.db")))
            }
        })
    }
}
