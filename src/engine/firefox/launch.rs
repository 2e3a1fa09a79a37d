//! Starts Firefox and connects to its WebSocket, or attaches to a running Firefox.

use std::{io, path::Path, path::PathBuf, sync::Arc};

use serde_json::{Map, Value};
use tokio::process::Command;

use super::{preferences, startup_cache::StartupCache};
use crate::{
    config::Config,
    engine::{
        EngineError, EngineResult,
        connection::{AttachFailure, BrowserAddress, BrowserConnection},
        launching::{DOCTOR_HINT, find_browser, headless_mode, last_lines},
        network_policy::{Egress, Gateway},
        process::{self, BrowserFolder, BrowserShutdown, RunningBrowser, Stderr},
        remote::{GridFiles, RemoteBrowser, RemoteBrowsers, RemoteProtocol},
    },
};

/// The line that Firefox prints to stderr when it is ready.
const LISTENING: &str = "WebDriver BiDi listening on ";

/// A browser's connection and, if Troupe started it, its process.
pub(super) struct FirefoxProcess {
    pub connection: BrowserConnection,
    pub pid: Option<u32>,
    pub ending: BrowserShutdown,
    /// The download folder.
    pub downloads: PathBuf,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    /// The proxy, if connections are restricted.
    pub gateway: Option<Arc<Gateway>>,
    /// Caches this browser's compiled scripts when it ends normally.
    pub startup: Option<StartupCache>,
    /// The capabilities of the BiDi session, if there is one already.
    pub session: Option<Map<String, Value>>,
}

impl FirefoxProcess {
    fn new(connection: BrowserConnection, ending: BrowserShutdown, downloads: PathBuf) -> Self {
        Self {
            connection,
            pid: None,
            ending,
            downloads,
            files: None,
            gateway: None,
            startup: None,
            session: None,
        }
    }
}

/// Connects to a remote browser.
pub(super) async fn attach(remote: &RemoteBrowsers) -> EngineResult<FirefoxProcess> {
    let RemoteBrowser { connection, ending, capabilities, files } =
        remote.connect(RemoteProtocol::Bidi).await?;
    let process = FirefoxProcess::new(connection, ending, std::env::temp_dir());
    Ok(FirefoxProcess { files, session: capabilities, ..process })
}

async fn connect(address: &str) -> Result<BrowserConnection, AttachFailure> {
    let address = BrowserAddress::new(address, &[])?.into_websocket().with_segment("session");
    BrowserConnection::connect(address).await
}

/// Starts the configured browser.
pub(super) async fn launch(config: &Config) -> EngineResult<FirefoxProcess> {
    let failed =
        |reason: String, suggestion: Option<String>| EngineError::Launch { reason, suggestion };
    let headless = headless_mode(config)?;
    let found = find_browser(config, headless)?;
    let gateway = Egress::of_browser(config).await?;
    let settings = preferences::user_js(config, gateway.as_ref().map(|gateway| gateway.port()))
        .map_err(|value| EngineError::UnknownSetting { name: "permission", value })?;
    let no_folder = |error: io::Error| {
        failed(format!("cannot create the browser's profile folder: {error}"), None)
    };
    let mut folder = BrowserFolder::create().map_err(no_folder)?;
    let profile = config.user_data_dir.clone().unwrap_or_else(|| folder.path().join("profile"));
    prepare(&profile, &settings).map_err(no_folder)?;
    // A persistent profile has its own compiled scripts.
    let startup =
        StartupCache::of(&found.path, &profile).filter(|_| config.user_data_dir.is_none());
    if let Some(startup) = startup.clone() {
        let restored = startup.clone();
        let _ = tokio::task::spawn_blocking(move || restored.restore()).await;
        folder.before_removal(move || {
            if startup.is_outdated() {
                startup.store();
            }
        });
    }
    let downloads = folder.downloads();
    std::fs::create_dir(&downloads).map_err(no_folder)?;
    let command = command(config, &found.path, headless, &profile);
    tracing::debug!(?command, "starting the browser");
    let running = process::start(command, folder, || ()).map_err(|error| {
        failed(format!("`{}` could not be started: {error}", found.path.display()), None)
    })?;
    Ok(FirefoxProcess { gateway, startup, ..reach(running, downloads).await? })
}

fn prepare(profile: &Path, settings: &str) -> io::Result<()> {
    std::fs::create_dir_all(profile)?;
    std::fs::write(profile.join("user.js"), settings)
}

fn command(config: &Config, path: &Path, headless: bool, profile: &Path) -> Command {
    let mut command = Command::new(path);
    if headless {
        command.arg("--headless");
    }
    // On Windows, `firefox.exe` is a launcher that otherwise exits immediately.
    if cfg!(windows) {
        command.arg("--wait-for-browser");
    }
    command.args(["--no-remote", "--profile"]).arg(profile);
    // Any free port. Firefox accepts one BiDi session.
    command.args(["--remote-debugging-port=0", "--remote-allow-system-access"]);
    command.args(&config.browser_args);
    command.env("MOZ_CRASHREPORTER_DISABLE", "1");
    if !config.sandbox {
        for part in ["CONTENT", "GMP", "RDD", "SOCKET_PROCESS", "UTILITY"] {
            command.env(format!("MOZ_DISABLE_{part}_SANDBOX"), "1");
        }
    }
    command
}

/// Connects to the browser as soon as it prints its address.
async fn reach(running: RunningBrowser, downloads: PathBuf) -> EngineResult<FirefoxProcess> {
    let address = running
        .address(LISTENING)
        .await
        .map_err(|reason| launch_error(&running.stderr, &reason))?;
    let connection = connect(&address)
        .await
        .map_err(|failure| launch_error(&running.stderr, &failure.reason))?;
    running.close_on_exit(&connection);
    let RunningBrowser { pid, ending, .. } = running;
    Ok(FirefoxProcess { pid, ..FirefoxProcess::new(connection, ending, downloads) })
}

/// Returns the launch error with the last lines of the browser's stderr.
fn launch_error(stderr: &Stderr, what: &str) -> EngineError {
    let output = stderr.text();
    let last = last_lines(output.lines());
    let reason = if last.is_empty() { what.to_owned() } else { format!("{what}: {last}") };
    EngineError::Launch { reason, suggestion: Some(DOCTOR_HINT.to_owned()) }
}
