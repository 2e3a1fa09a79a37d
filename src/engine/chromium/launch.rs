//! Starting a Chromium over a pipe, and attaching to a running one.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
};

use tokio::process::Command;

use super::super::{
    EngineError, EngineResult,
    gate::{Gateway, WayOut},
    install,
    process::{self, Ending, Folder, Running, Stderr},
    wire::Wire,
};
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

/// Connects to a running browser: `ws://…` as it is, `http://host:port` by asking it for its address.
pub(super) async fn attach(endpoint: &str) -> EngineResult<Process> {
    let failed = |reason: String| EngineError::Launch {
        reason: format!("no browser answers at `{endpoint}`: {reason}"),
        suggestion: Some("start one with --remote-debugging-port=9222 and pass its address".into()),
    };
    let url = if endpoint.starts_with("http") {
        super::super::wire::debugger_url(endpoint).await.map_err(failed)?
    } else {
        endpoint.to_owned()
    };
    let wire = Wire::connect(&url).await.map_err(failed)?;
    let ending = Ending::of_connection(wire.closed());
    let downloads = std::env::temp_dir();
    let stderr = Stderr::default();
    Ok(Process { wire, pid: None, stderr, ending, windows: Windows::Visible, downloads, gateway: None })
}

/// Starts the browser that the configuration means.
pub(super) async fn launch(config: &Config) -> EngineResult<Process> {
    let (headless, warning) = config
        .effective_headless(display_present())
        .map_err(|error| EngineError::Launch { reason: error.to_string(), suggestion: None })?;
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    let found = install::find(config.browser, headless, config).map_err(|error| EngineError::Launch {
        suggestion: error.suggestion().map(str::to_owned),
        reason: error.to_string(),
    })?;
    let folder = Folder::create().map_err(|error| EngineError::Launch {
        reason: format!("no folder for the browser's profile: {error}"),
        suggestion: None,
    })?;
    let mut arguments = arguments(config, headless, found.is_headless_shell, folder.path());
    let gateway = WayOut::of_browser(config).await?;
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
    let process = spawn(&found.path, &arguments, folder, windows);
    let process = process.map_err(|error| EngineError::Launch {
        reason: format!("`{}` could not be started: {error}", found.path.display()),
        suggestion: None,
    })?;
    Ok(Process { gateway, ..process })
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
    let mut arguments: Vec<String> = switches::ALWAYS.iter().map(|argument| (*argument).to_owned()).collect();
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

fn spawn(path: &Path, arguments: &[String], folder: Folder, windows: Windows) -> io::Result<Process> {
    #[cfg(unix)]
    {
        use command_fds::{CommandFdExt, FdMapping};

        use super::super::wire::PipeEnds;

        let (wire, child_reads, child_writes) = PipeEnds::new()?.into_wire();
        let mut command = Command::new(path);
        command.args(arguments);
        command
            .fd_mappings(vec![
                FdMapping { parent_fd: child_reads, child_fd: 3 },
                FdMapping { parent_fd: child_writes, child_fd: 4 },
            ])
            .map_err(|error| io::Error::other(error.to_string()))?;
        let downloads = folder.downloads();
        let connection = wire.clone();
        let Running { pid, stderr, ending } = process::start(command, folder, move || connection.close())?;
        Ok(Process { wire, pid, stderr, ending, windows, downloads, gateway: None })
    }
    #[cfg(not(unix))]
    {
        let _ = (path, arguments, folder, windows);
        Err(io::Error::other("starting a browser is not built yet on this system; use --browser-endpoint"))
    }
}
