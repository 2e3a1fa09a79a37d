//! Starting a Firefox and reaching it over its WebSocket, and attaching to a running one.

use std::{io, path::Path, path::PathBuf, sync::Arc};

use tokio::process::Command;

use super::{preferences, startup::Startup};
use crate::{
    config::{Config, display_present},
    engine::{
        EngineError, EngineResult,
        connection::Wire,
        install,
        network_policy::{Egress, Gateway},
        process::{self, Ending, Folder, Running, Stderr},
    },
};

/// The line on stderr when it is ready.
const LISTENING: &str = "WebDriver BiDi listening on ";

/// A browser's connection and, where we started it, its process.
pub(super) struct Process {
    pub wire: Wire,
    pub pid: Option<u32>,
    pub ending: Ending,
    /// Where it puts downloads.
    pub downloads: PathBuf,
    /// The proxy, if pages may not connect everywhere.
    pub gateway: Option<Arc<Gateway>>,
    /// The cached files that the next browser needs, if this one ends normally.
    pub startup: Option<Startup>,
}

/// Connects to a running browser (`ws://host:port`).
pub(super) async fn attach(endpoint: &str) -> EngineResult<Process> {
    let address = endpoint.replacen("http://", "ws://", 1);
    let wire = connect(&address).await.map_err(|reason| EngineError::Launch {
        reason: format!("no Firefox answers at `{endpoint}`: {reason}"),
        suggestion: Some(
            "start one with --remote-debugging-port=9222 --remote-allow-system-access and pass its address"
                .into(),
        ),
    })?;
    let ending = Ending::of_connection(wire.closed());
    Ok(Process {
        wire,
        pid: None,
        ending,
        downloads: std::env::temp_dir(),
        gateway: None,
        startup: None,
    })
}

async fn connect(address: &str) -> Result<Wire, String> {
    let address = address.trim_end_matches('/');
    if address.ends_with("/session") {
        return Wire::connect(address).await;
    }
    Wire::connect(&format!("{address}/session")).await
}

/// Starts the browser that the configuration means.
pub(super) async fn launch(config: &Config) -> EngineResult<Process> {
    let failed =
        |reason: String, suggestion: Option<String>| EngineError::Launch { reason, suggestion };
    let (headless, warning) = config
        .effective_headless(display_present())
        .map_err(|error| failed(error.to_string(), None))?;
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    let found = install::find(config.browser, headless, config)
        .map_err(|error| failed(error.to_string(), error.suggestion().map(str::to_owned)))?;
    let gateway = Egress::of_browser(config).await?;
    let settings = preferences::user_js(config, gateway.as_ref().map(|gateway| gateway.port()))
        .map_err(|value| EngineError::UnknownSetting { name: "permission", value })?;
    let no_folder =
        |error: io::Error| failed(format!("no folder for the browser's profile: {error}"), None);
    let mut folder = Folder::create().map_err(no_folder)?;
    let profile = config.user_data_dir.clone().unwrap_or_else(|| folder.path().join("profile"));
    prepare(&profile, &settings).map_err(no_folder)?;
    // A profile that is kept keeps its own.
    let startup = Startup::of(&found.path, &profile).filter(|_| config.user_data_dir.is_none());
    if let Some(startup) = startup.clone() {
        let given = startup.clone();
        let _ = tokio::task::spawn_blocking(move || given.give()).await;
        folder.before_it_goes(move || {
            if startup.is_wanted() {
                startup.take();
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
    Ok(Process { gateway, startup, ..reach(running, downloads).await? })
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
    // There `firefox.exe` is a launcher, which otherwise ends at once.
    if cfg!(windows) {
        command.arg("--wait-for-browser");
    }
    command.args(["--no-remote", "--profile"]).arg(profile);
    // Any free port; the browser takes one client and no more.
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

/// Connects to the browser as soon as it says where it listens.
async fn reach(running: Running, downloads: PathBuf) -> EngineResult<Process> {
    let address =
        running.address(LISTENING).await.map_err(|reason| died(&running.stderr, &reason))?;
    let wire = connect(&address).await.map_err(|reason| died(&running.stderr, &reason))?;
    running.close_on_exit(&wire);
    let Running { pid, ending, .. } = running;
    Ok(Process { wire, pid, ending, downloads, gateway: None, startup: None })
}

/// Why a browser did not come up, in its own last words.
fn died(stderr: &Stderr, what: &str) -> EngineError {
    let said = stderr.text();
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let said = lines[lines.len().saturating_sub(3)..].join("; ");
    let reason = if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") };
    EngineError::Launch {
        reason,
        suggestion: Some("troupe doctor tells what is missing".to_owned()),
    }
}
