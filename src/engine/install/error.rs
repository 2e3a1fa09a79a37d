//! Errors of finding and installing a browser.

use std::path::PathBuf;

use crate::config::BrowserKind;
use crate::error::{ErrorCode, TroupeError};

#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("no browser was found for `{kind}`{}: looked for {looked}", if *headless { "" } else { " with a window" })]
    NotFound { kind: BrowserKind, headless: bool, looked: String },
    #[error("the executable that `--executable-path` names is not there: `{}`", path.display())]
    ExecutableMissing { path: PathBuf },
    #[error("{} is not built yet in this version", kind.as_str())]
    NotBuilt { kind: BrowserKind },
    #[error("{} is supported on Linux only", kind.as_str())]
    UnsupportedPlatform { kind: BrowserKind },
    #[error("this user has no cache folder to install to (HOME is not set)")]
    NoCacheFolder,
    #[error("no way to install a browser worked; {}", failures.join("; "))]
    NoWayWorked { kind: BrowserKind, failures: Vec<String> },
}

impl InstallError {
    /// What to type.
    pub fn suggestion(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { kind: BrowserKind::Firefox, .. } => Some(
                "run `npx -y troupe install firefox`, or name a browser with --executable-path",
            ),
            Self::NotFound { kind: BrowserKind::Webkit, .. } => Some(
                "run `npx -y troupe install webkit`, or name its driver with --executable-path",
            ),
            Self::NotFound { .. } => Some(
                "run `npx -y troupe install chromium`, or name a browser with --executable-path",
            ),
            Self::ExecutableMissing { .. } => {
                Some("correct --executable-path, or leave it out so that a browser is looked for")
            }
            Self::NotBuilt { .. } => Some("use --browser chromium"),
            Self::UnsupportedPlatform { .. } => Some("use --browser chromium or firefox"),
            Self::NoCacheFolder => Some("set HOME, or name a browser with --executable-path"),
            Self::NoWayWorked { kind: BrowserKind::Firefox, .. } => {
                Some("install Firefox by other means and name it with --executable-path")
            }
            Self::NoWayWorked { kind: BrowserKind::Webkit, .. } => {
                Some("install WebKitWebDriver (WebKitGTK) and Xvfb by other means")
            }
            Self::NoWayWorked { .. } => {
                Some("install Chromium by other means and name it with --executable-path")
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
            InstallError::NoCacheFolder | InstallError::NoWayWorked { .. } => "notInstalled",
        };
        let suggestion = error.suggestion();
        let answer = Self::new(ErrorCode::BrowserError, error.to_string()).detail("reason", reason);
        match suggestion {
            Some(suggestion) => answer.suggestion(suggestion),
            None => answer,
        }
    }
}
