//! Starts a Chromium, or connects to a running one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::super::{
    EngineError, EngineResult,
    connection::BrowserConnection,
    network_policy::{Egress, Gateway},
    process::{self, BrowserFolder, BrowserShutdown, RunningBrowser, Stderr},
    remote::GridFiles,
};
use super::{
    browser_state::SessionPages,
    emulation::{SCREEN, WindowMode},
    switches,
};
use crate::config::Config;
#[cfg(any(windows, feature = "testing"))]
use crate::engine::connection::BrowserAddress;
use crate::engine::launching::{DOCTOR_HINT, find_browser, headless_mode, last_lines};

/// The connection to a browser and, if Troupe started it, its process.
pub(super) struct ChromiumProcess {
    pub connection: BrowserConnection,
    pub pid: Option<u32>,
    pub stderr: Stderr,
    pub ending: BrowserShutdown,
    pub window_mode: WindowMode,
    /// The folder of downloads, whose file names are their ids.
    pub downloads: PathBuf,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    /// The proxy, if connections are restricted.
    pub gateway: Option<Arc<Gateway>>,
    pub session_pages: SessionPages,
}

impl ChromiumProcess {
    /// The user's own browser.
    pub fn users(connection: BrowserConnection) -> Self {
        let ending = BrowserShutdown::of_connection(connection.closed());
        Self {
            window_mode: WindowMode::UserTab,
            ..Self::running(connection, ending, SessionPages::UsersBrowser)
        }
    }

    /// A browser that another program has started.
    pub fn running(
        connection: BrowserConnection,
        ending: BrowserShutdown,
        session_pages: SessionPages,
    ) -> Self {
        Self {
            ending,
            connection,
            pid: None,
            stderr: Stderr::default(),
            window_mode: WindowMode::Visible,
            downloads: std::env::temp_dir(),
            files: None,
            gateway: None,
            session_pages,
        }
    }
}

/// The transport of the connection to a started browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DevToolsTransport {
    /// File descriptors 3 and 4.
    #[cfg(unix)]
    Pipe,
    /// A free port of 127.0.0.1: the browser prints its address. On Windows a process
    /// inherits no file descriptors.
    #[cfg(any(windows, feature = "testing"))]
    WebSocket,
}

impl DevToolsTransport {
    #[cfg(windows)]
    fn of_this_platform() -> Self {
        Self::WebSocket
    }

    #[cfg(unix)]
    fn of_this_platform() -> Self {
        #[cfg(feature = "testing")]
        if std::env::var_os("CHROMIUM_OVER_WEBSOCKET").is_some() {
            return Self::WebSocket;
        }
        Self::Pipe
    }

    fn switch(self) -> &'static str {
        match self {
            #[cfg(unix)]
            Self::Pipe => "--remote-debugging-pipe",
            #[cfg(any(windows, feature = "testing"))]
            Self::WebSocket => "--remote-debugging-port=0",
        }
    }
}

/// Starts the configured browser.
pub(super) async fn launch(config: &Config) -> EngineResult<ChromiumProcess> {
    let headless = headless_mode(config)?;
    let found = find_browser(config, headless)?;
    let folder = BrowserFolder::create().map_err(|error| EngineError::Launch {
        reason: format!("cannot create a folder for the browser's profile: {error}"),
        suggestion: None,
    })?;
    let transport = DevToolsTransport::of_this_platform();
    let mut arguments = arguments(config, headless, found.is_headless_shell, folder.path());
    arguments.insert(0, transport.switch().to_owned());
    let gateway = Egress::of_browser(config).await?;
    if let Some(gateway) = &gateway {
        arguments.extend(PROXY_ARGUMENTS.iter().map(|argument| (*argument).to_owned()));
        arguments.push(format!("--proxy-server={}", gateway.url()));
        arguments.push(format!("--proxy-bypass-list={PROXY_LOOPBACK}"));
    }
    let arguments = switches::merge(arguments);
    let window_mode = match (headless, found.is_headless_shell) {
        (true, true) => WindowMode::None,
        (true, false) => WindowMode::Invisible,
        (false, _) => WindowMode::Visible,
    };
    tracing::debug!(path = %found.path.display(), ?arguments, "starting the browser");
    let mut command = Command::new(&found.path);
    command.args(arguments);
    let not_started = |error: io::Error| EngineError::Launch {
        reason: format!("`{}` could not be started: {error}", found.path.display()),
        suggestion: None,
    };
    let downloads = folder.downloads();
    let (connection, running) = match transport {
        #[cfg(unix)]
        DevToolsTransport::Pipe => connect_pipe(command, folder).map_err(not_started)?,
        #[cfg(any(windows, feature = "testing"))]
        DevToolsTransport::WebSocket => {
            let running = process::start(command, folder, || ()).map_err(not_started)?;
            (connect_websocket(&running).await?, running)
        }
    };
    let RunningBrowser { pid, stderr, ending } = running;
    Ok(ChromiumProcess {
        connection,
        pid,
        stderr,
        ending,
        window_mode,
        downloads,
        files: None,
        gateway,
        session_pages: match config.user_data_dir {
            Some(_) => SessionPages::Profile,
            None => SessionPages::OwnContext,
        },
    })
}

/// Arguments for a browser whose traffic must go through the proxy.
const PROXY_ARGUMENTS: &[&str] = &[
    // The proxy resolves all names, also for prefetches and WebRTC.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    // WebRTC over UDP would bypass the proxy. The first switch is for Chrome, the second for the
    // headless shell.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
];
/// The bypass list that sends loopback addresses through the proxy too.
pub(super) const PROXY_LOOPBACK: &str = "<-loopback>";

/// Returns the arguments of a launch: Troupe's own, then the user's.
fn arguments(config: &Config, headless: bool, is_shell: bool, folder: &Path) -> Vec<String> {
    let mut arguments: Vec<String> =
        switches::ALWAYS.iter().map(|argument| (*argument).to_owned()).collect();
    arguments.push(switches::disabled_features());
    let profile = config.user_data_dir.clone().unwrap_or_else(|| folder.join("profile"));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    // The user's profile may have extensions, and the user's arguments may load one.
    let own_extensions = config.browser_args.iter().any(|argument| argument.contains("extension"));
    if config.user_data_dir.is_none() && !own_extensions {
        arguments.push("--disable-extensions".into());
    }
    if headless {
        if !is_shell {
            arguments.push("--headless=new".into());
        }
        arguments.extend(switches::HEADLESS.iter().map(|argument| (*argument).to_owned()));
        arguments.push(format!("--screen-info={{{}x{}}}", SCREEN.width, SCREEN.height));
    }
    if !config.sandbox {
        arguments.push("--no-sandbox".into());
    }
    // No window before the first session.
    arguments.push("--no-startup-window".into());
    arguments.extend(config.browser_args.iter().cloned());
    arguments
}

#[cfg(unix)]
fn connect_pipe(
    mut command: Command,
    folder: BrowserFolder,
) -> io::Result<(BrowserConnection, RunningBrowser)> {
    use command_fds::{CommandFdExt, FdMapping};

    use super::super::connection::PipeEnds;

    let (connection, child_reads, child_writes) = PipeEnds::new()?.into_connection();
    command
        .fd_mappings(vec![
            FdMapping { parent_fd: child_reads, child_fd: 3 },
            FdMapping { parent_fd: child_writes, child_fd: 4 },
        ])
        .map_err(|error| io::Error::other(error.to_string()))?;
    let closing = connection.clone();
    let running = process::start(command, folder, move || closing.close())?;
    Ok((connection, running))
}

/// The prefix of the line that the browser prints to stderr when it is ready.
#[cfg(any(windows, feature = "testing"))]
const LISTENING: &str = "DevTools listening on ";

#[cfg(any(windows, feature = "testing"))]
async fn connect_websocket(running: &RunningBrowser) -> EngineResult<BrowserConnection> {
    let RunningBrowser { stderr, ending, .. } = running;
    let address = match running.address(LISTENING).await {
        Ok(address) => address,
        Err(reason) => return Err(launch_error(stderr, ending.exited(), &reason).await),
    };
    let connect = async { BrowserConnection::connect(BrowserAddress::new(&address, &[])?).await };
    let connection = match connect.await {
        Ok(connection) => connection,
        Err(failure) => return Err(launch_error(stderr, ending.exited(), &failure.reason).await),
    };
    running.close_on_exit(&connection);
    Ok(connection)
}

/// Describes why a browser did not start, with the last lines of its stderr.
pub(super) async fn launch_error(
    stderr: &Stderr,
    exited: &CancellationToken,
    what: &str,
) -> EngineError {
    let _ = tokio::time::timeout(Duration::from_millis(500), exited.cancelled()).await;
    let output = stderr.text();
    let suggestion = if output.contains("--no-sandbox") {
        Some(
            "root cannot use the browser's sandbox: pass --no-sandbox, or run as another user"
                .to_owned(),
        )
    } else if output.contains("sandbox") {
        Some("the browser's sandbox does not work here: pass --no-sandbox".to_owned())
    } else {
        Some(DOCTOR_HINT.to_owned())
    };
    // The fatal line, or else the last lines, without the time and the source location.
    let fatal: Vec<&str> = output.lines().filter(|line| line.contains(":FATAL:")).collect();
    let lines = if fatal.is_empty() { output.lines().collect() } else { fatal };
    let lines = lines
        .into_iter()
        .filter(|line| !line.contains("crashpad") && !line.contains("zygote"))
        .map(|line| {
            line.rsplit_once(")] ").or_else(|| line.split_once("] ")).map_or(line, |(_, text)| text)
        });
    let last = last_lines(lines);
    let reason = if last.is_empty() { what.to_owned() } else { format!("{what}: {last}") };
    EngineError::Launch { reason, suggestion }
}
