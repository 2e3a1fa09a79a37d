//! A driver and its browser, which start and end with one session.
//!
//! The browser is a child of the driver. `setpriv` makes the kernel end the browser with the
//! driver, and the driver ends with this process in the same way. `ProcessWatchdog` ends the
//! processes that the browser has started.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{net::TcpStream, process::Command};

use super::{display::Display, driver::Driver, emulation::Wanted};
use crate::{
    config::{Config, display_present},
    engine::{
        EngineError, EngineResult, install,
        process::{self, BrowserFolder, BrowserShutdown, RunningBrowser},
        process_watchdog::ProcessWatchdog,
    },
};

const START_TIMEOUT: Duration = Duration::from_secs(45);
/// Between two looks whether the driver listens: it does not say so.
const LOOK: Duration = Duration::from_millis(5);

/// Where a distribution has the browser that goes with the driver.
const BROWSERS: &[&str] = &[
    "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/x86_64-linux-gnu/webkit2gtk-4.0/MiniBrowser",
    "/usr/lib/aarch64-linux-gnu/webkit2gtk-4.0/MiniBrowser",
    "/usr/libexec/webkit2gtk-4.1/MiniBrowser",
    "/usr/lib/webkit2gtk-4.1/MiniBrowser",
];
const SETPRIV: &str = "/usr/bin/setpriv";

/// The paths of the programs that a session needs.
pub(super) struct Programs {
    driver: PathBuf,
    /// `None`: the driver knows where its browser is.
    browser: Option<PathBuf>,
}

/// A driver that has a session, and the process that it is.
pub(super) struct Process {
    pub driver: Arc<Driver>,
    pub pid: Option<u32>,
    pub ending: BrowserShutdown,
    /// The folder that the browser downloads to.
    pub downloads: PathBuf,
}

/// The programs that the configuration means.
pub(super) fn programs(config: &Config) -> EngineResult<Programs> {
    let headless = config.effective_headless(display_present()).is_ok_and(|(headless, _)| headless);
    let found =
        install::find(config.browser, headless, config).map_err(|error| EngineError::Launch {
            reason: error.to_string(),
            suggestion: error.suggestion().map(str::to_owned),
        })?;
    let can_be_bound = Path::new(SETPRIV).is_file();
    let browser =
        BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file()).filter(|_| can_be_bound);
    if browser.is_none() {
        tracing::warn!(
            "WebKit's browser could outlive a server that is killed: `{SETPRIV}` or MiniBrowser is not in its place"
        );
    }
    Ok(Programs { driver: found.path, browser })
}

/// Starts a driver, and by it a browser that is as `wanted`.
pub(super) async fn launch(
    config: &Config,
    programs: &Programs,
    display: &Display,
    wanted: &Wanted,
) -> EngineResult<Process> {
    let failed = |reason: String| EngineError::Launch {
        reason,
        suggestion: Some("troupe doctor tells what is missing".to_owned()),
    };
    let port =
        free_port().map_err(|error| failed(format!("no port for WebKit's driver: {error}")))?;
    let folder = BrowserFolder::create()
        .map_err(|error| failed(format!("no folder for the browser: {error}")))?;
    let mut command = Command::new(&programs.driver);
    command.args(["--host=127.0.0.1", &format!("--port={port}")]);
    display.show(&mut command);
    // Caches of the system's libraries are shared: made anew they cost a start its second.
    let (settings, data) = (folder.path().join("config"), folder.path().join("data"));
    write_settings(&settings, &folder)
        .map_err(|error| failed(format!("no place for the browser's settings: {error}")))?;
    let downloads = folder.downloads();
    command.env("XDG_CONFIG_HOME", settings).env("XDG_DATA_HOME", data);
    // Its own bus and its accessibility bus are not ours to start.
    command.env("NO_AT_BRIDGE", "1").env("GTK_A11Y", "none");
    command.envs(wanted.environment());
    tracing::debug!(?command, "starting the driver");
    let no_watchdog = |error| {
        failed(format!("the watchdog of the browser's processes could not be started: {error}"))
    };
    let watchdog = Arc::new(ProcessWatchdog::new().map_err(no_watchdog)?);
    let held = watchdog.clone();
    let running = process::start(command, folder, move || drop(held)).map_err(|error| {
        failed(format!("`{}` could not be started: {error}", programs.driver.display()))
    })?;
    let RunningBrowser { pid, stderr, ending } = running;
    if let Some(pid) = pid {
        watchdog.watch(pid).map_err(no_watchdog)?;
    }
    drop(watchdog);
    let capabilities = wanted.capabilities(browser_options(config, programs, wanted));
    let opening = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(LOOK).await;
        }
        Driver::open(port, capabilities).await
    };
    let opened = tokio::select! {
        opened = opening => opened.map_err(|reason| failed(format!("WebKit could not be started: {reason}"))),
        () = ending.exited().cancelled() => Err(failed(format!("WebKit's driver ended at once: {}", stderr.text()))),
        () = tokio::time::sleep(START_TIMEOUT) => {
            Err(failed(format!("WebKit did not start within {} s: {}", START_TIMEOUT.as_secs(), stderr.text())))
        }
    };
    match opened {
        Ok(driver) => Ok(Process { driver, pid, ending, downloads }),
        Err(error) => {
            close(&ending, pid).await;
            Err(error)
        }
    }
}

/// Returns the options of the browser's start. Where possible, the browser ends with the driver.
fn browser_options(config: &Config, programs: &Programs, wanted: &Wanted) -> serde_json::Value {
    let mut arguments = Vec::new();
    let Some(browser) = &programs.browser else { return serde_json::json!({}) };
    arguments.extend(["--pdeathsig", "KILL"].map(str::to_owned));
    arguments.push(browser.display().to_string());
    arguments.push("--automation".to_owned());
    arguments.extend(wanted.arguments());
    arguments.extend(config.browser_args.iter().cloned());
    serde_json::json!({"binary": SETPRIV, "args": arguments})
}

/// Writes the browser's settings. It downloads without a prompt into its own folder, which is
/// removed with it. It combines presses into a double click only if they are at the same pixel
/// (`presses`).
fn write_settings(settings: &Path, folder: &BrowserFolder) -> std::io::Result<()> {
    let downloads = folder.downloads();
    let toolkit = settings.join("gtk-3.0");
    std::fs::create_dir_all(&toolkit)?;
    std::fs::create_dir(&downloads)?;
    let line = format!("XDG_DOWNLOAD_DIR=\"{}\"\n", downloads.display());
    std::fs::write(settings.join("user-dirs.dirs"), line)?;
    std::fs::write(toolkit.join("settings.ini"), "[Settings]\ngtk-double-click-distance=1\n")
}

/// Returns a free port. The driver does not report the port if it chooses one itself.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Ends a process that handles SIGTERM, and waits until it has ended.
pub(super) async fn close(ending: &BrowserShutdown, pid: Option<u32>) {
    ending.close(|| pid.into_iter().for_each(process::terminate), async {}).await;
}
