//! Starting a Chromium over a pipe, attaching to a running one, ending it, and sweeping what a death left.
//!
//! Each browser has a folder of its own (profile and TMPDIR), held by a lock of this process: after
//! `kill -9` the next start finds the lock free and removes the folder.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::oneshot,
};
use tokio_util::sync::CancellationToken;

use super::super::{EngineError, EngineResult, install, wire::Wire};
use crate::config::{Config, display_present};

/// How long a browser may take to end by itself; all of a server's end must fit in 2 s.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1000);
/// Lines of its stderr that a failed start is explained with.
const KEPT_LINES: usize = 20;

/// A browser's connection and, where we started it, its process.
pub(super) struct Process {
    pub wire: Wire,
    pub pid: Option<u32>,
    pub stderr: Stderr,
    /// Ends the process; answered when it is gone and its folder is removed.
    pub end: Option<oneshot::Sender<oneshot::Sender<()>>>,
    /// Whether pages need a window each to be painted.
    pub windowed: bool,
    /// Where it puts downloads, under their ids.
    pub downloads: PathBuf,
    pub exited: CancellationToken,
}

/// The last lines that a browser wrote on stderr.
#[derive(Clone, Default)]
pub(super) struct Stderr(Arc<Mutex<VecDeque<String>>>);

impl Stderr {
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
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
    let exited = wire.closed();
    let downloads = std::env::temp_dir();
    Ok(Process { wire, pid: None, stderr: Stderr::default(), end: None, windowed: true, downloads, exited })
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
    let arguments = arguments(config, headless, found.is_headless_shell, &folder.path);
    tracing::debug!(path = %found.path.display(), ?arguments, "starting the browser");
    spawn(&found.path, &arguments, folder, !found.is_headless_shell).map_err(|error| EngineError::Launch {
        reason: format!("`{}` could not be started: {error}", found.path.display()),
        suggestion: None,
    })
}

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
    // page until the frame after an input: each action would wait those 16 ms.
    "--disable-features=AutoExpandDetailsElement,AvoidUnnecessaryBeforeUnloadCheckSync,\
     DeferRendererTasksAfterInput,DialMediaRouteProvider,GlobalMediaControls,HttpsUpgrades,ImprovedCookieControls,\
     LensOverlay,MediaRouter,OptimizationHints,PaintHolding,ThirdPartyStoragePartitioning,Translate",
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
        command
            .args(arguments)
            .env("TMPDIR", folder.path.join(TEMP))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            // A Ctrl-C in the terminal is for us; we end the browser in good order.
            .process_group(0)
            .kill_on_drop(true);
        command
            .fd_mappings(vec![
                FdMapping { parent_fd: child_reads, child_fd: 3 },
                FdMapping { parent_fd: child_writes, child_fd: 4 },
            ])
            .map_err(|error| io::Error::other(error.to_string()))?;
        #[cfg(target_os = "linux")]
        die_with_parent(&mut command);
        let child = command.spawn()?;
        // The command owns the child's ends: only without them do we see the browser's end as EOF.
        drop(command);
        Ok(supervise(child, wire, folder, windowed))
    }
    #[cfg(not(unix))]
    {
        let _ = (path, arguments, folder, windowed);
        Err(io::Error::other("starting a browser is not built yet on this system; use --browser-endpoint"))
    }
}

/// Asks the kernel to end the browser with the thread that starts it: a worker thread, which lives as long
/// as the server. The pipe does the same, but only once the browser reads it.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only `prctl` is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).map_err(io::Error::from)
        });
    }
}

/// Owns the child to its end, and then removes its folder.
fn supervise(mut child: Child, wire: Wire, folder: Folder, windowed: bool) -> Process {
    let pid = child.id();
    let stderr = Stderr::default();
    let reading = child.stderr.take().map(|pipe| tokio::spawn(keep_lines(pipe, stderr.clone())));
    let (end, ended) = oneshot::channel::<oneshot::Sender<()>>();
    let exited = CancellationToken::new();
    let token = exited.clone();
    let connection = wire.clone();
    let downloads = folder.path.join("downloads");
    tokio::spawn(async move {
        let mut done = None;
        tokio::select! {
            status = child.wait() => log_exit(status),
            asked = ended => {
                done = asked.ok();
                if tokio::time::timeout(CLOSE_TIMEOUT, child.wait()).await.is_err() {
                    let _ = child.kill().await;
                }
            }
        }
        if let Some(reading) = reading {
            // Grandchildren may hold the pipe open.
            let _ = tokio::time::timeout(Duration::from_millis(50), reading).await;
        }
        connection.close();
        token.cancel();
        let _ = tokio::task::spawn_blocking(move || folder.remove()).await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    });
    Process { wire, pid, stderr, end: Some(end), windowed, downloads, exited }
}

fn log_exit(status: io::Result<ExitStatus>) {
    match status {
        Ok(status) => tracing::warn!(%status, "the browser has ended by itself"),
        Err(error) => tracing::warn!(%error, "the browser could not be waited for"),
    }
}

async fn keep_lines(pipe: tokio::process::ChildStderr, kept: Stderr) {
    let mut lines = BufReader::new(pipe).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        tracing::trace!(line, "browser");
        kept.push(line);
    }
}

/// A browser's own folder, locked while its server lives.
struct Folder {
    path: PathBuf,
    /// Held, not read: the lock ends with the process.
    _lock: File,
}

const LOCK: &str = "lock";
const UNFINISHED: &str = "new";
/// The browser's TMPDIR in it.
const TEMP: &str = "t";
/// Nobody takes longer than this to make a folder.
const MAKING: Duration = Duration::from_secs(60);

/// Chromium makes a socket three folders below; the system allows its path 107 bytes (macOS 103).
const LONGEST_TEMP_DIR: usize = 24;

fn root() -> PathBuf {
    let temp = std::env::temp_dir();
    #[cfg(unix)]
    {
        let temp = if temp.as_os_str().len() > LONGEST_TEMP_DIR { PathBuf::from("/tmp") } else { temp };
        temp.join(format!("troupe-browsers-{}", nix::unistd::getuid()))
    }
    #[cfg(not(unix))]
    temp.join("troupe-browsers")
}

impl Folder {
    fn create() -> io::Result<Self> {
        let root = root();
        private_dir(&root)?;
        let mut name = uuid::Uuid::new_v4().simple().to_string();
        name.truncate(10);
        let path = root.join(name);
        // Under its name only once it is locked, or another server's sweep might take it for abandoned.
        let unfinished = path.with_extension(UNFINISHED);
        private_dir(&unfinished)?;
        let lock = File::create(unfinished.join(LOCK))?;
        lock.lock()?;
        fs::create_dir(unfinished.join(TEMP))?;
        fs::rename(&unfinished, &path)?;
        Ok(Self { path, _lock: lock })
    }

    /// The browser's last processes may still write: a second try a moment later is the next start's sweep.
    fn remove(self) {
        if fs::remove_dir_all(&self.path).is_err() && self.path.exists() {
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Creates a folder that only its owner can enter, and refuses one that is somebody else's.
fn private_dir(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        match fs::DirBuilder::new().mode(0o700).create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => return other,
        }
        let metadata = fs::symlink_metadata(path)?;
        if !metadata.is_dir() || metadata.uid() != nix::unistd::getuid().as_raw() {
            return Err(io::Error::other(format!("`{}` belongs to somebody else", path.display())));
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(path)
}

/// Removes the folders of browsers whose server is dead. Cheap where there is nothing to do.
pub fn sweep() {
    let Ok(entries) = fs::read_dir(root()) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let abandoned = if path.extension().is_some_and(|extension| extension == UNFINISHED) {
            entry
                .metadata()
                .and_then(|metadata| metadata.modified())
                .is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > MAKING))
        } else {
            File::open(path.join(LOCK)).map_or(true, |lock| lock.try_lock().is_ok())
        };
        if abandoned {
            tracing::debug!(path = %path.display(), "removing the folder of a dead browser");
            let _ = fs::remove_dir_all(&path);
        }
    }
}
