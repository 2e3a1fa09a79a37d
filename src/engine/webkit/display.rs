//! The display of the browser windows: the user's display, or an Xvfb process that Troupe starts
//! for headless mode and that ends with the server. A browser ends when its display is closed.

use std::time::Duration;

use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    engine::{
        EngineError, EngineResult,
        install::XVFB,
        launching::headless_mode,
        process::{self, BrowserFolder, BrowserShutdown, RunningBrowser},
    },
};

const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Larger than any requested window, because the parts of a window outside of it are not painted.
const SCREEN: &str = "4096x4096x24";

pub(super) struct Display {
    /// For example `:7`. `None` uses the display of this process.
    name: Option<String>,
    pid: Option<u32>,
    /// `None` if Troupe did not start the display.
    ending: Option<BrowserShutdown>,
    gone: CancellationToken,
}

impl Display {
    /// Returns the user's display in headed mode, and starts an Xvfb process in headless mode.
    pub async fn open(config: &Config) -> EngineResult<Self> {
        let failed = |reason: String, suggestion: Option<&str>| EngineError::Launch {
            reason,
            suggestion: suggestion.map(str::to_owned),
        };
        if !headless_mode(config)? {
            let gone = CancellationToken::new();
            return Ok(Self { name: None, pid: None, ending: None, gone });
        }
        const INSTALL: &str =
            "run `npx -y troupe install webkit`, or set DISPLAY and pass --headless false";
        let program = which::which(XVFB).map_err(|_| {
            failed(
                "headless WebKit needs the program `Xvfb`, which is not on PATH".to_owned(),
                Some(INSTALL),
            )
        })?;
        let mut command = Command::new(program);
        // Xvfb writes the display number to stderr, on a separate line among its messages.
        command.args(["-displayfd", "2", "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset"]);
        let folder = BrowserFolder::create().map_err(|error| {
            failed(format!("cannot create a folder for the display: {error}"), None)
        })?;
        let running = process::start(command, folder, || ())
            .map_err(|error| failed(format!("`{XVFB}` could not be started: {error}"), None))?;
        let RunningBrowser { pid, stderr, ending } = running;
        let number = stderr.find(|line| line.trim().parse::<u32>().ok());
        let number = tokio::select! {
            number = number => number,
            () = ending.exited().cancelled() => return Err(failed(format!("`{XVFB}` exited before it was ready: {}", stderr.text()), None)),
            () = tokio::time::sleep(START_TIMEOUT) => {
                return Err(failed(format!("`{XVFB}` did not start within {} s", START_TIMEOUT.as_secs()), None));
            }
        };
        let gone = ending.exited().clone();
        Ok(Self { name: Some(format!(":{number}")), pid, ending: Some(ending), gone })
    }

    /// Sets the environment variables of `command` so that its windows open on this display.
    pub fn set_display_variables(&self, command: &mut Command) {
        if let Some(name) = &self.name {
            command.env("DISPLAY", name).env("GDK_BACKEND", "x11").env_remove("WAYLAND_DISPLAY");
        }
    }

    /// Returns whether Troupe started this display. Its windows are not visible to the user.
    pub fn is_virtual(&self) -> bool {
        self.ending.is_some()
    }

    pub fn pid(&self) -> Option<u32> {
        self.pid
    }

    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    pub async fn close(&self) {
        match &self.ending {
            Some(ending) => ending.terminate(self.pid).await,
            None => self.gone.cancel(),
        }
    }
}
