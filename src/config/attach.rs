//! The browser of the user that `--attach` names.

use std::{
    fmt,
    path::{MAIN_SEPARATOR, PathBuf},
};

use serde::{Deserialize, Serialize};

/// A release channel of a browser, and its profile folder on each system.
#[derive(Debug, PartialEq, Eq)]
pub struct BrowserChannel {
    pub name: &'static str,
    /// Below the folder of the user's configuration.
    linux: &'static str,
    /// Below `~/Library/Application Support`.
    macos: &'static str,
    /// Below the local application data.
    windows: &'static str,
}

const fn channel(
    name: &'static str,
    linux: &'static str,
    macos: &'static str,
    windows: &'static str,
) -> BrowserChannel {
    BrowserChannel { name, linux, macos, windows }
}

/// All channels, in the order in which they are searched for a running browser.
pub static CHANNELS: &[BrowserChannel] = &[
    channel("chrome", "google-chrome", "Google/Chrome", "Google/Chrome/User Data"),
    channel(
        "chrome-beta",
        "google-chrome-beta",
        "Google/Chrome Beta",
        "Google/Chrome Beta/User Data",
    ),
    channel(
        "chrome-dev",
        "google-chrome-unstable",
        "Google/Chrome Dev",
        "Google/Chrome Dev/User Data",
    ),
    channel(
        "chrome-canary",
        "google-chrome-canary",
        "Google/Chrome Canary",
        "Google/Chrome SxS/User Data",
    ),
    channel("msedge", "microsoft-edge", "Microsoft Edge", "Microsoft/Edge/User Data"),
    channel(
        "msedge-beta",
        "microsoft-edge-beta",
        "Microsoft Edge Beta",
        "Microsoft/Edge Beta/User Data",
    ),
    channel(
        "msedge-dev",
        "microsoft-edge-dev",
        "Microsoft Edge Dev",
        "Microsoft/Edge Dev/User Data",
    ),
    channel("chromium", "chromium", "Chromium", "Chromium/User Data"),
];

impl BrowserChannel {
    /// Returns its default profile folder. `None` without a home directory.
    pub fn profile_folder(&self) -> Option<PathBuf> {
        let folders = directories::BaseDirs::new()?;
        Some(if cfg!(target_os = "macos") {
            folders.config_dir().join(self.macos)
        } else if cfg!(windows) {
            folders.data_local_dir().join(self.windows)
        } else {
            folders.config_dir().join(self.linux)
        })
    }
}

/// The value of `--attach`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AttachTarget {
    /// The first running browser in the order of [`CHANNELS`].
    Running,
    Channel(&'static BrowserChannel),
    /// A port of this machine.
    Port(u16),
    /// A profile folder.
    Folder(PathBuf),
}

/// The value of `--attach` without a value.
pub const RUNNING: &str = "running";

impl AttachTarget {
    /// Parses `running`, the name of a channel, a port, or the path of a folder, which begins with
    /// `~` or `.` or contains a separator.
    pub fn parse(text: &str) -> Option<Self> {
        if text == RUNNING {
            return Some(Self::Running);
        }
        if let Some(channel) = CHANNELS.iter().find(|channel| channel.name == text) {
            return Some(Self::Channel(channel));
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().filter(|port| *port > 0).map(Self::Port);
        }
        if let Some(below) = text.strip_prefix("~/") {
            return Some(Self::Folder(directories::BaseDirs::new()?.home_dir().join(below)));
        }
        let is_path = text.starts_with('.') || text.contains(['/', MAIN_SEPARATOR]);
        (is_path && !text.contains("://")).then(|| Self::Folder(PathBuf::from(text)))
    }

    /// Describes the accepted values, for the sentence "must be …".
    pub fn allowed() -> String {
        let names: Vec<_> = CHANNELS.iter().map(|channel| format!("`{}`", channel.name)).collect();
        format!("`{RUNNING}`, a port, the path of a profile folder, or {}", names.join(", "))
    }
}

impl fmt::Display for AttachTarget {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running => out.write_str(RUNNING),
            Self::Channel(channel) => out.write_str(channel.name),
            Self::Port(port) => write!(out, "{port}"),
            Self::Folder(path) => write!(out, "{}", path.display()),
        }
    }
}

impl From<AttachTarget> for String {
    fn from(target: AttachTarget) -> Self {
        target.to_string()
    }
}

impl TryFrom<String> for AttachTarget {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` must be {}", Self::allowed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_names_a_channel_a_port_or_a_folder() {
        let parsed = |text| AttachTarget::parse(text).map(|target| target.to_string());
        for text in ["running", "chrome", "msedge-dev", "9222", "/home/ann/profile", "./profile"] {
            assert_eq!(parsed(text).as_deref(), Some(text));
        }
        for text in ["firefox", "0", "70000", "doctor", "http://127.0.0.1:9222", ""] {
            assert_eq!(parsed(text), None, "{text}");
        }
    }
}
