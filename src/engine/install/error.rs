//! Errors of finding and installing a browser.

use std::path::PathBuf;

use crate::config::BrowserKind;
use crate::error::{ErrorCode, TroupeError};

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no browser was found for `{kind}`{}: searched for {searched}", if *headless { "" } else { " with a window" })]
    NotFound { kind: BrowserKind, headless: bool, searched: String },
    #[error("the executable in `--executable-path` does not exist: `{}`", path.display())]
    ExecutableMissing { path: PathBuf },
    #[error("{} is not supported by this version", kind.as_str())]
    NotBuilt { kind: BrowserKind },
    #[error("{} is supported on Linux only", kind.as_str())]
    UnsupportedPlatform { kind: BrowserKind },
    #[error("there is no cache folder to install to (HOME is not set)")]
    NoCacheFolder,
    #[error("no installation method worked; {}", failures.join("; "))]
    NoMethodWorked { kind: BrowserKind, failures: Vec<String> },
}

impl InstallError {
    /// Returns a command to run or an option to change.
    pub fn suggestion(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { kind: BrowserKind::Firefox, .. } => Some(
                "run `npx -y troupe install firefox`, or pass the path of a browser in --executable-path",
            ),
            Self::NotFound { kind: BrowserKind::Webkit, .. } => Some(
                "run `npx -y troupe install webkit`, or pass the path of its driver in --executable-path",
            ),
            Self::NotFound { .. } => Some(
                "run `npx -y troupe install chromium`, or pass the path of a browser in --executable-path",
            ),
            Self::ExecutableMissing { .. } => {
                Some("correct --executable-path, or omit it to search for an installed browser")
            }
            Self::NotBuilt { .. } => Some("use --browser chromium"),
            Self::UnsupportedPlatform { .. } => Some("use --browser chromium or firefox"),
            Self::NoCacheFolder => {
                Some("set HOME, or pass the path of a browser in --executable-path")
            }
            Self::NoMethodWorked { kind: BrowserKind::Firefox, .. } => {
                Some("install Firefox by other means and pass its path in --executable-path")
            }
            Self::NoMethodWorked { kind: BrowserKind::Webkit, .. } => {
                Some("install WebKitWebDriver (WebKitGTK) and Xvfb by other means")
            }
            Self::NoMethodWorked { .. } => {
                Some("install Chromium by other means and pass its path in --executable-path")
            }
        }
    }
}

impl From<InstallError> for TroupeError {
    fn from(error: InstallError) -> Self {
        let reason = match &error {
            InstallError::NotFound { .. } => "browserNotFound",
            InstallError::ExecutableMissing { .. } => "executableMissing",
            InstallError::NotBuilt { .. } => "notBuilt",
            InstallError::UnsupportedPlatform { .. } => "unsupportedPlatform",
            InstallError::NoCacheFolder | InstallError::NoMethodWorked { .. } => "notInstalled",
        };
        let suggestion = error.suggestion();
        let answer = Self::new(ErrorCode::BrowserError, error.to_string()).detail("reason", reason);
        match suggestion {
            Some(suggestion) => answer.suggestion(suggestion),
            None => answer,
        }
    }
}
