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
use crate::config::{Config, display_present};

/// A browser's connection and, where we started it, its process.
pub(super) struct Process {
    pub wire: Wire,
    pub pid: Option<u32>,
    pub stderr: Stderr,
    pub ending: Ending,
    /// Whether pages need a window each to be painted.
    pub windowed: bool,
    /// Where it puts downloads, under their ids.
    pub downloads: PathBuf,
    /// What it is launched with, where pages may not go everywhere.
    pub gateway: Option<Arc<Gateway>>,
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
    Ok(Process { wire, pid: None, stderr, ending, windowed: true, downloads, gateway: None })
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
    let gateway = WayOut::of_browser(&config.security, &config.context).await?;
    if let Some(gateway) = &gateway {
        arguments.extend(ONE_WAY_OUT.iter().map(|argument| (*argument).to_owned()));
        arguments.push(format!("--proxy-server={}", gateway.url()));
        arguments.push(format!("--proxy-bypass-list={NO_BYPASS}"));
    }
    tracing::debug!(path = %found.path.display(), ?arguments, "starting the browser");
    let process = spawn(&found.path, &arguments, folder, !found.is_headless_shell);
    let process = process.map_err(|error| EngineError::Launch {
        reason: format!("`{}` could not be started: {error}", found.path.display()),
        suggestion: None,
    })?;
    Ok(Process { gateway, ..process })
}

/// What a browser is started with that may only reach the network through us.
const ONE_WAY_OUT: &[&str] = &[
    // Names are resolved by us, whoever asks (prefetches, WebRTC).
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--dns-prefetch-disable",
    // WebRTC goes by UDP, past every proxy. The one name is Chrome's, the other the headless shell's.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
];
/// Without it this machine would be reached past the proxy.
pub(super) const NO_BYPASS: &str = "<-loopback>";

/// What a browser for agents is started with: nothing that phones home, throttles or asks.
const ARGUMENTS: &[&str] = &[
    "--remote-debugging-pipe",
    "--allow-pre-commit-input",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-field-trial-config",
    "--disable-hang-monitor",
    "--disable-ipc-flooding-protection",
    "--disable-popup-blocking",
    "--disable-prompt-on-repost",
    "--disable-quic",
    "--disable-renderer-backgrounding",
    "--disable-search-engine-choice-screen",
    "--disable-sync",
    "--export-tagged-pdf",
    "--force-color-profile=srgb",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-service-autorun",
    "--password-store=basic",
    "--use-mock-keychain",
    // One flag: Chromium heeds the last of several only. DeferRendererTasksAfterInput holds back every task of a
    // page until the frame after an input: each action would wait those 16 ms. RenderDocument makes a frame anew for each of its
    // documents, with all that listens to it: a third of a navigation.
    "--disable-features=AutoExpandDetailsElement,AvoidUnnecessaryBeforeUnloadCheckSync,\
     DeferRendererTasksAfterInput,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,ImprovedCookieControls,\
     LensOverlay,MediaRouter,OptimizationHints,PaintHolding,RenderDocument,ThirdPartyStoragePartitioning,Translate",
];

fn arguments(config: &Config, headless: bool, is_shell: bool, folder: &Path) -> Vec<String> {
    let mut arguments: Vec<String> = ARGUMENTS.iter().map(|argument| (*argument).to_owned()).collect();
    let profile = config.user_data_dir.clone().unwrap_or_else(|| folder.join("profile"));
    arguments.push(format!("--user-data-dir={}", profile.display()));
    if headless {
        if !is_shell {
            arguments.push("--headless=new".into());
        }
        arguments.extend(
            [
                "--hide-scrollbars",
                "--mute-audio",
                // A mouse, as on the desktop that sites are made for.
                "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",
            ]
            .map(String::from),
        );
    }
    if !config.sandbox {
        arguments.push("--no-sandbox".into());
    }
    // No window before the first session.
    arguments.push("--no-startup-window".into());
    arguments.extend(config.browser_args.iter().cloned());
    arguments
}

fn spawn(path: &Path, arguments: &[String], folder: Folder, windowed: bool) -> io::Result<Process> {
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
        Ok(Process { wire, pid, stderr, ending, windowed, downloads, gateway: None })
    }
    #[cfg(not(unix))]
    {
        let _ = (path, arguments, folder, windowed);
        Err(io::Error::other("starting a browser is not built yet on this system; use --browser-endpoint"))
    }
}
