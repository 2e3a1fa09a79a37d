//! The protocol between the native client of the command line and the daemon.
//!
//! The client sends a [`CommandRequest`] as JSON to [`PATH`] on the socket of the daemon. The
//! response with status 200 has one [`CommandEvent`] in each line. An empty line only shows that
//! the daemon runs. With any other status the command has not run, and the Node program runs it.

use std::{
    borrow::Cow,
    io::IsTerminal,
    path::{Path, PathBuf},
    time::Duration,
};

use anstream::{AutoStream, ColorChoice};
use serde::{Deserialize, Serialize};

/// The path of the endpoint.
pub const PATH: &str = "/command";
/// The environment variable with the name of the session.
pub const SESSION: &str = "TROUPE_SESSION";
/// The interval of empty lines while a command runs.
pub const ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// How long the client waits for the next line.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(60);
/// The exit code if the daemon ends during a command: that of `SERVER_UNAVAILABLE`.
pub const UNAVAILABLE: u8 = 32;

/// A command as the user has entered it, with the facts about the user's process that it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandRequest {
    /// The version of the client.
    pub version: String,
    pub arguments: Vec<String>,
    /// The working directory of the caller.
    pub folder: PathBuf,
    /// The value of [`SESSION`].
    pub session: Option<String>,
    pub colors: Colors,
    /// The text of stdin, if an argument is `-`.
    pub stdin: Option<String>,
}

/// A part of the output of a command, or its exit code, which is the last event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandEvent {
    Out(String),
    Err(String),
    Exit(u8),
}

/// Whether stdout and stderr are terminals that show colors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Colors {
    pub out: bool,
    pub err: bool,
}

impl Colors {
    pub fn of_this_process() -> Self {
        let (out, err) = (std::io::stdout(), std::io::stderr());
        Self {
            out: out.is_terminal() && AutoStream::choice(&out) != ColorChoice::Never,
            err: err.is_terminal() && AutoStream::choice(&err) != ColorChoice::Never,
        }
    }
}

/// Returns the version of this build. Tests of upgrades can set another version.
pub fn version() -> Cow<'static, str> {
    #[cfg(feature = "testing")]
    if let Ok(version) = std::env::var("TESTING_VERSION") {
        return Cow::Owned(version);
    }
    Cow::Borrowed(env!("CARGO_PKG_VERSION"))
}

/// Returns the directory for persistent state: `~/.local/state/troupe` on Linux. `None` without a
/// home directory.
pub fn state_folder() -> Option<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "troupe")?;
    Some(folders.state_dir().unwrap_or_else(|| folders.data_local_dir()).to_owned())
}

/// Returns the folder of the daemon in the state directory.
pub fn daemon_folder(state_folder: &Path) -> PathBuf {
    state_folder.join("daemon")
}

/// Returns the path of the socket in the folder of the daemon.
pub fn socket(daemon_folder: &Path) -> PathBuf {
    daemon_folder.join("socket")
}
