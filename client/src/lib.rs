//! The protocol between the native client of the command line and the daemon.
//!
//! The client sends a [`CommandRequest`] as JSON to [`PATH`] on the socket of the daemon. The
//! response with status 200 has one [`CommandEvent`] in each line. An empty line only shows that
//! the daemon runs. The daemon sends the head of this response before the command starts. With any
//! other status, or if the connection closes without a response, the command has not run, and the
//! Node program runs it. After a timeout, the command may have run: the client reports an error.

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
    pub terminal: Terminal,
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

/// What the terminal of the caller shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terminal {
    pub colors: Colors,
    /// `None` if stdout is not a terminal, or a terminal that shows no images.
    pub images: Option<ImageProtocol>,
}

impl Terminal {
    pub fn of_this_process() -> Self {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let is_terminal = std::io::stdout().is_terminal();
        let images = is_terminal.then(|| ImageProtocol::of(variable)).flatten();
        Self { colors: Colors::of_this_process(), images }
    }
}

/// The protocol with which a terminal shows an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ImageProtocol {
    /// <https://iterm2.com/documentation-images.html>
    Iterm,
    /// <https://sw.kovidgoyal.net/kitty/graphics-protocol/>
    Kitty,
}

impl ImageProtocol {
    /// Returns the protocol of the terminal with these environment variables. A missing variable is
    /// empty.
    fn of(variable: impl Fn(&str) -> String) -> Option<Self> {
        // tmux and screen pass neither protocol on.
        if ["TMUX", "STY"].iter().any(|name| !variable(name).is_empty()) {
            return None;
        }
        match variable("TERM_PROGRAM").as_str() {
            "iTerm.app" | "WezTerm" | "mintty" => return Some(Self::Iterm),
            "ghostty" => return Some(Self::Kitty),
            _ => {}
        }
        let is_kitty = variable("TERM").ends_with("-kitty") || !variable("KITTY_PID").is_empty();
        is_kitty.then_some(Self::Kitty)
    }
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

/// Returns the directory for persistent state: `troupe` in `XDG_STATE_HOME`, else
/// `~/.local/state/troupe` on Linux and the convention of other systems. `None` without a home
/// directory.
pub fn state_folder() -> Option<PathBuf> {
    let home = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    if let Some(home) = home.filter(|home| home.is_absolute()) {
        return Some(home.join("troupe"));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_protocol_is_that_of_the_terminal() {
        let protocol = |variables: &[(&str, &str)]| {
            ImageProtocol::of(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map_or_else(String::new, |(_, value)| (*value).to_owned())
            })
        };
        let iterm = ("TERM_PROGRAM", "iTerm.app");
        assert_eq!(protocol(&[iterm]), Some(ImageProtocol::Iterm));
        assert_eq!(protocol(&[iterm, ("TMUX", "/tmp/tmux-0/default,1,0")]), None);
        assert_eq!(protocol(&[("TERM", "xterm-kitty")]), Some(ImageProtocol::Kitty));
        assert_eq!(protocol(&[("TERM_PROGRAM", "ghostty")]), Some(ImageProtocol::Kitty));
        assert_eq!(protocol(&[("TERM", "xterm-256color")]), None);
        assert_eq!(protocol(&[]), None);
    }
}
