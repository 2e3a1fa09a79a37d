//! Starting a Chromium, and attaching to a running one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::process::Command;

use super::super::{
    EngineError, EngineResult,
    connection::Wire,
    install,
    network_policy::{Egress, Gateway},
    process::{self, Ending, Folder, Running, Stderr},
};
#[cfg(any(windows, feature = "testing"))]
use super::browser::died;
use super::{emulation::SCREEN, switches};
use crate::config::{Config, display_present};

/// A browser's connection and, where we started it, its process.
pub(super) struct Process {
    pub wire: Wire,
    pub pid: Option<u32>,
    pub stderr: Stderr,
    pub ending: Ending,
    pub windows: Windows,
    /// Where it puts downloads, under their ids.
    pub downloads: PathBuf,
    /// The proxy, if pages may not connect everywhere.
    pub gateway: Option<Arc<Gateway>>,
}

/// How a browser shows its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Windows {
    /// The headless shell: a page has no window.
    None,
    /// Chrome without a display: a page needs its own window, because an older tab of a window is never painted.
    Invisible,
    /// Chrome on a display, or a browser of the user: as above, and the window's size is the viewport.
    Visible,
}

/// How Troupe reaches a browser that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Connection {
    /// File descriptors 3 and 4.
    #[cfg(unix)]
    Pipe,
    /// A free port of 127.0.0.1: the browser prints its address. On Windows a process inherits no file descriptors.
    #[cfg(any(windows, feature = "testing"))]
    WebSocket,
}

impl Connection {
    #[cfg(windows)]
    fn of_this_system() -> Self {
        Self::WebSocket
    }

    #[cfg(unix)]
    fn of_this_system() -> Self {
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

/// Connects to a running browser: `ws://…` as it is, `http://host:port` by asking it for its address.
pub(super) async fn attach(endpoint: &str) -> EngineResult<Process> {
    let failed = |reason: String| EngineError::Launch {
        reason: format!("no browser answers at `{endpoint}`: {reason}"),
        suggestion: Some("start one with --remote-debugging-port=9222 and pass its address".into()),
    };
    let url = if endpoint.starts_with("http") {
        super::super::connection::debugger_url(endpoint).await.map_err(failed)?
    } else {
        endpoint.to_owned()
    };
    let wire = Wire::connect(&url).await.map_err(failed)?;
    let ending = Ending::of_connection(wire.closed());
    let downloads = std::env::temp_dir();
    let stderr = Stderr::default();
    Ok(Process {
        wire,
        pid: None,
        stderr,
        ending,
        windows: Windows::Visible,
        downloads,
        gateway: None,
    })
}

/// Starts the browser that the configuration means.
pub(super) async fn launch(config: &Config) -> EngineResult<Process> {
    let (headless, warning) = config
        .effective_headless(display_present())
        .map_err(|error| EngineError::Launch { reason: error.to_string(), suggestion: None })?;
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    let found =
        install::find(config.browser, headless, config).map_err(|error| EngineError::Launch {
            suggestion: error.suggestion().map(str::to_owned),
            reason: error.to_string(),
        })?;
    let folder = Folder::create().map_err(|error| EngineError::Launch {
        reason: format!("no folder for the browser's profile: {error}"),
        suggestion: None,
    })?;
    let connection = Connection::of_this_system();
    let mut arguments = arguments(config, headless, found.is_headless_shell, folder.path());
    arguments.insert(0, connection.switch().to_owned());
    let gateway = Egress::of_browser(config).await?;
    if let Some(gateway) = &gateway {
        arguments.extend(ONE_WAY_OUT.iter().map(|argument| (*argument).to_owned()));
        arguments.push(format!("--proxy-server={}", gateway.url()));
        arguments.push(format!("--proxy-bypass-list={NO_BYPASS}"));
    }
    let arguments = switches::merge(arguments);
    let windows = match (headless, found.is_headless_shell) {
        (true, true) => Windows::None,
        (true, false) => Windows::Invisible,
        (false, _) => Windows::Visible,
    };
    tracing::debug!(path = %found.path.display(), ?arguments, "starting the browser");
    let mut command = Command::new(&found.path);
    command.args(arguments);
    let not_started = |error: io::Error| EngineError::Launch {
        reason: format!("`{}` could not be started: {error}", found.path.display()),
        suggestion: None,
    };
    let downloads = folder.downloads();
    let (wire, running) = match connection {
        #[cfg(unix)]
        Connection::Pipe => over_pipe(command, folder).map_err(not_started)?,
        #[cfg(any(windows, feature = "testing"))]
        Connection::WebSocket => {
            let running = process::start(command, folder, || ()).map_err(not_started)?;
            (over_websocket(&running).await?, running)
        }
    };
    let Running { pid, stderr, ending } = running;
    Ok(Process { wire, pid, stderr, ending, windows, downloads, gateway })
}

/// Arguments for a browser whose traffic must go through the proxy.
const ONE_WAY_OUT: &[&str] = &[
    // The proxy resolves all names, also for prefetches and WebRTC.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    // WebRTC goes by UDP, past every proxy. The one name is Chrome's, the other the headless shell's.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
];
/// Without it this machine would be reached past the proxy.
pub(super) const NO_BYPASS: &str = "<-loopback>";

/// The arguments of a launch, in order: Troupe's own, then the user's.
fn arguments(config: &Config, headless: bool, is_shell: bool, folder: &Path) -> Vec<String> {
    let mut arguments: Vec<String> =
        switches::ALWAYS.iter().map(|argument| (*argument).to_owned()).collect();
    arguments.push(switches::disabled_features());
    let profile = config.user_data_dir.clone().unwrap_or_else(|| folder.join("profile"));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    // A profile of the user may hold extensions, and a user's argument may load one.
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
fn over_pipe(mut command: Command, folder: Folder) -> io::Result<(Wire, Running)> {
    use command_fds::{CommandFdExt, FdMapping};

    use super::super::connection::PipeEnds;

    let (wire, child_reads, child_writes) = PipeEnds::new()?.into_wire();
    command
        .fd_mappings(vec![
            FdMapping { parent_fd: child_reads, child_fd: 3 },
            FdMapping { parent_fd: child_writes, child_fd: 4 },
        ])
        .map_err(|error| io::Error::other(error.to_string()))?;
    let connection = wire.clone();
    let running = process::start(command, folder, move || connection.close())?;
    Ok((wire, running))
}

/// The line on stderr when the browser is ready.
#[cfg(any(windows, feature = "testing"))]
const LISTENING: &str = "DevTools listening on ";

#[cfg(any(windows, feature = "testing"))]
async fn over_websocket(running: &Running) -> EngineResult<Wire> {
    let Running { stderr, ending, .. } = running;
    let address = match running.address(LISTENING).await {
        Ok(address) => address,
        Err(reason) => return Err(died(stderr, ending.exited(), &reason).await),
    };
    let wire = match Wire::connect(&address).await {
        Ok(wire) => wire,
        Err(reason) => return Err(died(stderr, ending.exited(), &reason).await),
    };
    running.close_on_exit(&wire);
    Ok(wire)
}
