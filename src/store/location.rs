//! The location of a server's record, which `--store` selects.

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
                // The rest of the URL may contain a password.
                let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`--store {scheme}://…` is not supported by this version"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_for_a_database_url_does_not_contain_its_password() {
        let store = Some("postgres://user:hidden@db/troupe".to_owned());
        let error = RecordLocation::of(&Config { store, ..Config::default() }).unwrap_err();
        assert_eq!(error.message, "`--store postgres://…` is not supported by this version");
    }
}
