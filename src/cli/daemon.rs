//! Starts, stops and runs the daemon of the command line (`troupe daemon serve` runs it).

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::Command,
};
use tokio_util::sync::CancellationToken;

use super::{FAILED, OK, logging, misused, report, report_result, screen::Screen};
use crate::{
    config::{
        Config, LogConfig, Setting, Transport, absolute_variables, one_line, version,
        working_directory,
    },
    error::{ErrorCode, Result, TroupeError},
    policy::vault::Vault,
    transport::{CommandRunner, DaemonClient, DaemonFolder, DaemonInfo, Endpoint, socket_url},
};

/// Timeout for the start of a daemon.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum number of bytes of the log that `troupe daemon logs` prints.
const LOG_TAIL: usize = 32 * 1024;
/// The line that the daemon prints when it accepts connections.
const READY: &str = "ready";

/// The action of `troupe daemon ACTION`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DaemonAction {
    Start,
    Status,
    Stop,
    Logs,
    /// Runs the daemon in this process.
    Serve,
}

impl DaemonAction {
    pub const NAMES: &[(&str, Self)] = &[
        ("start", Self::Start),
        ("status", Self::Status),
        ("stop", Self::Stop),
        ("logs", Self::Logs),
        ("serve", Self::Serve),
    ];

    /// The names of the actions for users.
    pub fn offered() -> impl Iterator<Item = &'static str> {
        let offered = Self::NAMES.iter().filter(|(_, action)| *action != Self::Serve);
        offered.map(|(name, _)| *name)
    }
}

/// The command line that runs this program: the path of Node and that of the launcher.
#[derive(Debug, Clone)]
pub struct Launcher(pub Vec<String>);

pub(super) async fn run(
    config: Config,
    action: DaemonAction,
    flags: &[(String, String)],
    launcher: &Launcher,
    commands: Arc<dyn CommandRunner>,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    if action == DaemonAction::Serve {
        return Box::pin(serve(config, commands, screen, stop)).await;
    }
    let work = async {
        let folder = DaemonFolder::of_this_user()?;
        match action {
            DaemonAction::Start => {
                connect(&folder, launcher, flags).await?;
                screen.out(&status(&folder)?);
            }
            DaemonAction::Stop => match end(&folder).await? {
                true => screen.out("stopped; `troupe open` resumes its sessions"),
                false => screen.out("not running"),
            },
            DaemonAction::Logs => screen.out(&log(&folder)?),
            DaemonAction::Status | DaemonAction::Serve => screen.out(&status(&folder)?),
        }
        Ok(())
    };
    tokio::select! {
        done = work => report_result(screen, done),
        () = stop.cancelled() => super::STOPPED,
    }
}

fn status(folder: &DaemonFolder) -> Result<String> {
    let log = folder.log().display().to_string();
    Ok(match folder.running()? {
        None => format!("not running\nlog: {log}"),
        Some(daemon) => format!(
            "running\npid: {}\nversion: {}\nMCP clients: troupe --connect {}\nlog: {log}",
            daemon.pid,
            daemon.version,
            socket_url(&folder.socket())
        ),
    })
}

/// Returns the end of the log.
fn log(folder: &DaemonFolder) -> Result<String> {
    let path = folder.log();
    let bytes = fs::read(&path).map_err(|error| failed(&path, &error))?;
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(LOG_TAIL)..]).into_owned();
    if bytes.len() <= LOG_TAIL {
        return Ok(text);
    }
    let from = text.find('\n').map_or(0, |end| end + 1);
    Ok(format!("the last lines of {}:\n{}", path.display(), &text[from..]))
}

/// Returns the error of an operation on a file.
pub(super) fn failed(path: &Path, error: &std::io::Error) -> TroupeError {
    TroupeError::new(ErrorCode::InternalError, format!("`{}`: {error}", path.display()))
}

/// Serves the socket until no client has connected for `--daemon-idle`.
async fn serve(
    mut config: Config,
    commands: Arc<dyn CommandRunner>,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let folder = match DaemonFolder::of_this_user() {
        Ok(folder) => folder,
        Err(error) => {
            report(screen, &error);
            return FAILED;
        }
    };
    config.transport = Transport::Http;
    config.connect = None;
    config.auth = false;
    (config.auth_token, config.auth_token_file) = (None, None);
    config.socket = Some(folder.socket());
    config.output_dir.get_or_insert(folder.output().into());
    let log =
        LogConfig { file: config.log.file.clone().or(Some(folder.log())), ..config.log.clone() };
    let vault = Vault::open(&config);
    if let Err(usage) = logging::start(&log, vault.unwrap_or_default(), &[]) {
        return misused(screen, &usage);
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let served = async {
        let _claim = folder.claim().await?;
        let server = Endpoint::open_daemon(config, commands).await?;
        screen.out(READY);
        server.run(stop).await
    };
    match served.await {
        Ok(()) => OK,
        Err(error) => {
            report(screen, &error);
            FAILED
        }
    }
}

/// Connects to the daemon. Starts it if there is none, and replaces an older one.
pub(super) async fn connect(
    folder: &DaemonFolder,
    launcher: &Launcher,
    flags: &[(String, String)],
) -> Result<DaemonClient> {
    let socket = folder.socket();
    if let Some(client) = DaemonClient::connect(&socket).await
        && !is_older(&client.version, &version())
    {
        return Ok(client);
    }
    let _start = folder.lock_start().await?;
    match DaemonClient::connect(&socket).await {
        Some(client) if !is_older(&client.version, &version()) => return Ok(client),
        Some(_) => drop(end(folder).await?),
        None => {}
    }
    start(folder, launcher, flags).await?;
    DaemonClient::connect(&socket).await.ok_or_else(|| {
        TroupeError::new(ErrorCode::ServerUnavailable, "the daemon ended after its start")
            .suggestion("`troupe daemon logs` prints its log")
    })
}

/// Returns whether the version `found` is before `own`.
pub(super) fn is_older(found: &str, own: &str) -> bool {
    let numbers = |version: &str| -> Vec<u64> {
        let release = version.split(['-', '+']).next().unwrap_or_default();
        release.split('.').map(|part| part.parse().unwrap_or(0)).collect()
    };
    numbers(found) < numbers(own)
}

/// Starts a daemon in the background, and waits until it accepts connections.
async fn start(
    folder: &DaemonFolder,
    launcher: &Launcher,
    flags: &[(String, String)],
) -> Result<()> {
    let [program, arguments @ ..] = launcher.0.as_slice() else {
        return Err(TroupeError::new(
            ErrorCode::InternalError,
            "the path of this program is not known",
        ));
    };
    let errors: PathBuf = folder.path().join("start-log");
    let mut options = OpenOptions::new();
    let file = options.create(true).write(true).truncate(true).open(&errors);
    let file = file.map_err(|error| failed(&errors, &error))?;
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let mut command = Command::new(program);
    command
        .args(arguments)
        .args(["daemon", "serve"])
        .args(flags.iter().flat_map(|(name, value)| absolute_flags(name, value)))
        .envs(absolute_variables(environment, &working_directory()))
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(file);
    in_own_session(&mut command);
    let mut child = command.spawn().map_err(|error| failed(program.as_ref(), &error))?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let mut output = BufReader::new(output);
        // Without a line, the message below has the reason.
        let _ = tokio::time::timeout(START_TIMEOUT, output.read_line(&mut line)).await;
    }
    if line.trim_end() == READY {
        return Ok(());
    }
    let why = fs::read_to_string(&errors).unwrap_or_default();
    Err(TroupeError::new(
        ErrorCode::ServerUnavailable,
        format!("the daemon could not be started: {}", one_line(why.trim())),
    )
    .suggestion("`troupe daemon logs` prints its log"))
}

/// Returns a flag as arguments for a process with another working directory.
fn absolute_flags(name: &str, text: &str) -> Vec<String> {
    match Setting::from_flag(name, text) {
        Ok(Setting { option, value, .. }) if option.kind.holds_paths() => {
            let paths = option.kind.arguments(&value, &working_directory());
            paths.iter().map(|path| format!("--{name}={path}")).collect()
        }
        _ => vec![format!("--{name}={text}")],
    }
}

/// Detaches the process from the terminal, whose end would stop it.
#[cfg(unix)]
fn in_own_session(command: &mut Command) {
    // SAFETY: `setsid` is async-signal-safe, and nothing else runs between fork and exec.
    unsafe {
        command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(std::io::Error::from));
    }
}

#[cfg(windows)]
fn in_own_session(command: &mut Command) {
    use windows_sys::Win32::System::Threading::{CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW};
    command.creation_flags(CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP);
}

/// Stops the daemon and waits until it has saved its sessions. Returns whether one was running.
async fn end(folder: &DaemonFolder) -> Result<bool> {
    let Some(daemon) = folder.running()? else { return Ok(false) };
    terminate(folder, &daemon).await?;
    folder.wait_until_ended().await?;
    Ok(true)
}

#[cfg(unix)]
async fn terminate(_folder: &DaemonFolder, daemon: &DaemonInfo) -> Result<()> {
    use nix::{
        sys::signal::{Signal, kill},
        unistd::Pid,
    };
    // The daemon holds its lock, so the process id is still its own.
    let pid = Pid::from_raw(i32::try_from(daemon.pid).unwrap_or(i32::MAX));
    match kill(pid, Signal::SIGTERM) {
        Ok(()) | Err(nix::errno::Errno::ESRCH) => Ok(()),
        Err(error) => Err(TroupeError::new(
            ErrorCode::InternalError,
            format!("the daemon (process {pid}) cannot be stopped: {error}"),
        )),
    }
}

/// Asks the daemon to stop: Windows has no SIGTERM.
#[cfg(windows)]
async fn terminate(folder: &DaemonFolder, daemon: &DaemonInfo) -> Result<()> {
    let asked = async { DaemonClient::connect(&folder.socket()).await?.drain().await.ok() };
    match tokio::time::timeout(START_TIMEOUT, asked).await {
        Ok(Some(())) => Ok(()),
        _ => Err(TroupeError::new(
            ErrorCode::ServerUnavailable,
            format!("the daemon (process {}) does not respond", daemon.pid),
        )
        .suggestion(format!("end it with: taskkill /PID {} /T /F", daemon.pid))),
    }
}

#[cfg(test)]
mod tests {
    use super::is_older;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (found, own, older) in [
            ("0.1.0", "0.1.0", false),
            ("0.9.0", "0.10.0", true),
            ("1.0.0", "0.9.9", false),
            ("0.1.0-next.1", "0.1.0", false),
            ("", "0.1.0", true),
        ] {
            assert_eq!(is_older(found, own), older, "{found} {own}");
        }
    }
}
