//! The origin of a setting.

use std::{fmt, path::PathBuf};

/// The source of a value, in the spelling that the user wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Flag(String),
    Variable(String),
    Key { key: String, file: Option<PathBuf> },
    Default(&'static str),
}

impl Origin {
    /// The precedence of its layer: a higher one overrides.
    pub(super) fn layer(&self) -> u8 {
        match self {
            Self::Default(_) => 0,
            Self::Key { .. } => 1,
            Self::Variable(_) => 2,
            Self::Flag(_) => 3,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "`{flag}`"),
            Self::Variable(name) => write!(f, "environment variable `{name}`"),
            Self::Key { key, file: None } => write!(f, "`{key}`"),
            Self::Key { key, file: Some(file) } => write!(f, "`{key}` in `{}`", file.display()),
            Self::Default(name) => write!(f, "the default of `--{name}`"),
        }
    }
}
