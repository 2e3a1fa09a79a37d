//! The location of a server's record, which `--store` selects.

use std::{
    fmt,
    path::{Path, PathBuf},
};

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
    /// A PostgreSQL database.
    Postgres(DatabaseUrl),
}

impl fmt::Display for RecordLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Memory => f.write_str("memory"),
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => url.fmt(f),
        }
    }
}

/// The URL of a database. Its password is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// Returns the URL with its password.
    pub(super) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ok(mut url) = url::Url::parse(&self.0) else { return f.write_str("postgres://…") };
        // The query can contain a password too.
        url.set_query(None);
        let _ = url.set_password(None);
        url.fmt(f)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl RecordLocation {
    /// Returns the location that `--store` selects. By default it is a file in the state folder of
    /// the operating system.
    pub fn of(config: &Config) -> Result<Self> {
        if !config.records() {
            return Ok(Self::None);
        }
        Ok(match config.store_location() {
            Some("memory" | ":memory:") => Self::Memory,
            Some(url) if url.starts_with("postgres://") || url.starts_with("postgresql://") => {
                Self::Postgres(DatabaseUrl(url.to_owned()))
            }
            Some(url) if url.contains("://") => {
                // The rest of the URL may contain a password.
                let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`--store {scheme}://…` is not supported by this version"),
                )
                .detail("reason", "notBuilt")
                .suggestion("use none, memory, the path of an SQLite file, or postgres://…"));
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

    fn location(store: &str) -> Result<RecordLocation> {
        RecordLocation::of(&Config { store: Some(store.to_owned()), ..Config::default() })
    }

    #[test]
    fn the_path_of_a_file_can_be_a_url() {
        let path = location("/data/record.db").unwrap();
        assert_eq!(path, RecordLocation::File("/data/record.db".into()));
        assert_eq!(location("sqlite:///data/record.db").unwrap(), path);
    }

    #[test]
    fn messages_about_a_database_do_not_contain_its_password() {
        for query in ["", "?password=hidden&sslmode=require"] {
            let location = location(&format!("postgres://user:hidden@db/troupe{query}")).unwrap();
            assert_eq!(location.to_string(), "postgres://user@db/troupe");
            assert_eq!(format!("{location:?}"), "Postgres(postgres://user@db/troupe)");
        }
        let error = location("mysql://user:hidden@db/troupe").unwrap_err();
        assert_eq!(error.message, "`--store mysql://…` is not supported by this version");
    }
}
