//! Starts a driver and its browser for one session.
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

use super::{display::Display, driver::Driver, emulation::LaunchOptions};
use crate::{
    config::{Config, display_present},
    engine::{
        EngineError, EngineResult,
        launching::{DOCTOR_HINT, find_browser},
        process::{self, BrowserFolder, BrowserShutdown, RunningBrowser},
        process_watchdog::ProcessWatchdog,
    },
};

const START_TIMEOUT: Duration = Duration::from_secs(45);
/// Time after which a second driver is started. The driver reserves a port for its browser and
/// closes it again. If another process then takes the port, the driver waits without a timeout.
const SECOND_START_DELAY: Duration = Duration::from_secs(15);
/// Interval for checking whether the driver listens, which it does not report.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// The paths at which Linux distributions install the driver's browser.
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
    /// `None` if the driver starts its default browser.
    browser: Option<PathBuf>,
}

/// A driver with a session, and its process.
pub(super) struct DriverProcess {
    pub driver: Arc<Driver>,
    pub pid: Option<u32>,
    pub ending: BrowserShutdown,
    /// The folder that the browser downloads to.
    pub downloads: PathBuf,
}

/// Finds the programs for this configuration.
pub(super) fn programs(config: &Config) -> EngineResult<Programs> {
    let headless = config.effective_headless(display_present()).is_ok_and(|(headless, _)| headless);
    let found = find_browser(config, headless)?;
    let has_setpriv = Path::new(SETPRIV).is_file();
    let browser =
        BROWSERS.iter().map(PathBuf::from).find(|path| path.is_file()).filter(|_| has_setpriv);
    if browser.is_none() {
        tracing::warn!(
            "WebKit's browser keeps running if the server is killed: `{SETPRIV}` or MiniBrowser was not found"
        );
    }
    Ok(Programs { driver: found.path, browser })
}

/// Starts a driver, which starts a browser with these options. If that takes long, starts another
/// one, and returns the first that responds.
pub(super) async fn launch(
    config: &Config,
    programs: &Programs,
    display: &Display,
    options: &LaunchOptions,
) -> EngineResult<DriverProcess> {
    let mut first = Box::pin(start(config, programs, display, options));
    tokio::select! {
        started = &mut first => return started,
        () = tokio::time::sleep(SECOND_START_DELAY) => {}
    }
    tracing::warn!(
        "WebKit has not started within {} s: starting a second one",
        SECOND_START_DELAY.as_secs()
    );
    let second = Box::pin(start(config, programs, display, options));
    Ok(futures_util::future::select_ok([first, second]).await?.0)
}

async fn start(
    config: &Config,
    programs: &Programs,
    display: &Display,
    options: &LaunchOptions,
) -> EngineResult<DriverProcess> {
    let failed =
        |reason: String| EngineError::Launch { reason, suggestion: Some(DOCTOR_HINT.to_owned()) };
    let port = free_port()
        .map_err(|error| failed(format!("no free port for WebKit's driver: {error}")))?;
    let folder = BrowserFolder::create()
        .map_err(|error| failed(format!("cannot create a folder for the browser: {error}")))?;
    let mut command = Command::new(&programs.driver);
    command.args(["--host=127.0.0.1", &format!("--port={port}")]);
    display.set_display_variables(&mut command);
    // The browsers share the caches of the system's libraries, because creating them takes a
    // second.
    let (settings, data) = (folder.path().join("config"), folder.path().join("data"));
    write_settings(&settings, &folder)
        .map_err(|error| failed(format!("cannot write the browser's settings: {error}")))?;
    let downloads = folder.downloads();
    command.env("XDG_CONFIG_HOME", settings).env("XDG_DATA_HOME", data);
    // Keeps the browser from starting an accessibility bus, which Troupe could not end.
    command.env("NO_AT_BRIDGE", "1").env("GTK_A11Y", "none");
    command.envs(options.environment());
    tracing::debug!(?command, "starting the driver");
    let no_watchdog = |error| {
        failed(format!("the watchdog of the browser's processes could not be started: {error}"))
    };
    let watchdog = Arc::new(ProcessWatchdog::new().map_err(no_watchdog)?);
    let watchdog_guard = watchdog.clone();
    let running =
        process::start(command, folder, move || drop(watchdog_guard)).map_err(|error| {
            failed(format!("`{}` could not be started: {error}", programs.driver.display()))
        })?;
    let RunningBrowser { pid, stderr, ending } = running;
    if let Some(pid) = pid {
        watchdog.watch(pid).map_err(no_watchdog)?;
    }
    drop(watchdog);
    let capabilities = options.capabilities(browser_options(config, programs, options));
    let opening = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Driver::open(port, capabilities).await
    };
    let opened = tokio::select! {
        opened = opening => opened.map_err(|reason| failed(format!("WebKit could not be started: {reason}"))),
        () = ending.exited().cancelled() => Err(failed(format!("WebKit's driver exited before it was ready: {}", stderr.text()))),
        () = tokio::time::sleep(START_TIMEOUT) => {
            Err(failed(format!("WebKit did not start within {} s: {}", START_TIMEOUT.as_secs(), stderr.text())))
        }
    };
    match opened {
        Ok(driver) => Ok(DriverProcess { driver, pid, ending, downloads }),
        Err(error) => {
            ending.terminate(pid).await;
            Err(error)
        }
    }
}

/// Returns the options with which the driver starts the browser. If `setpriv` exists, the kernel
/// ends the browser with the driver.
fn browser_options(
    config: &Config,
    programs: &Programs,
    options: &LaunchOptions,
) -> serde_json::Value {
    let mut arguments = Vec::new();
    let Some(browser) = &programs.browser else { return serde_json::json!({}) };
    arguments.extend(["--pdeathsig", "KILL"].map(str::to_owned));
    arguments.push(browser.display().to_string());
    arguments.push("--automation".to_owned());
    arguments.extend(options.arguments());
    arguments.extend(config.browser_args.iter().cloned());
    serde_json::json!({"binary": SETPRIV, "args": arguments})
}

/// Writes the browser's settings. With them, the browser downloads without a prompt into its own
/// folder, and combines presses into a double click only at the same pixel (see `press_history`).
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
