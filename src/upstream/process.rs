//! The process of a server and its child processes, which end together: a process group, on Windows
//! a job.

use std::{
    collections::VecDeque,
    io,
    process::Stdio,
    sync::{Arc, OnceLock},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, BufReader},
    process::{ChildStdin, ChildStdout, Command},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{lines::next_line, watchdog::GroupWatchdog};
#[cfg(windows)]
use crate::engine::job::Job;

/// Maximum length of a line in the log, in bytes.
const MAX_LINE_LENGTH: usize = 4_096;
/// Number of lines in the error of a failed start.
const MAX_KEPT_LINES: usize = 10;
/// Maximum number of lines that are logged in a second. The rest are counted.
const LINES_A_SECOND: u32 = 50;
/// How long to wait for the end of a killed group.
const KILL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long to wait for the last output of an ended server; its child processes may keep the pipe
/// open for longer.
const LAST_OUTPUT_TIMEOUT: Duration = Duration::from_millis(500);
/// Intervals of polling for the end of a group, for which there is no notification.
const FIRST_POLL: Duration = Duration::from_millis(5);
const LAST_POLL: Duration = Duration::from_millis(80);

/// The process of a server. Dropping it kills its process group.
pub(super) struct Process {
    pub pid: u32,
    exited: CancellationToken,
    kill: CancellationToken,
    status: Arc<OnceLock<String>>,
    last_lines: Arc<Mutex<VecDeque<String>>>,
    /// The tasks that read the output.
    readers: TaskTracker,
    watchdog: GroupWatchdog,
    #[cfg(windows)]
    job: Job,
}

/// The pipes of a process whose stdout carries the protocol.
pub(super) struct Pipes {
    pub input: ChildStdin,
    pub output: ChildStdout,
}

/// Starts `command` as the leader of a process group. Its stderr is logged with `name`, and so is
/// its stdout if it is not `piped`.
pub(super) fn start(
    mut command: Command,
    name: &str,
    piped: bool,
    watchdog: &GroupWatchdog,
) -> io::Result<(Process, Option<Pipes>)> {
    command
        .stdin(if piped { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    // Without this, a console program opens a console window.
    #[cfg(windows)]
    command.creation_flags(windows_sys::Win32::System::Threading::CREATE_NO_WINDOW);
    let mut child = command.spawn()?;
    #[cfg(windows)]
    let job = Job::of(&child)?;
    let pid = child.id().unwrap_or_default();
    watchdog.watch(pid);
    let last_lines = Arc::<Mutex<VecDeque<String>>>::default();
    let readers = TaskTracker::new();
    if let Some(stderr) = child.stderr.take() {
        // Ends when the last writer closes the pipe.
        readers.spawn(log_lines(stderr, name.to_owned(), last_lines.clone()));
    }
    let pipes = match (child.stdin.take(), child.stdout.take()) {
        (Some(input), Some(output)) => Some(Pipes { input, output }),
        (_, Some(output)) => {
            readers.spawn(log_lines(output, name.to_owned(), last_lines.clone()));
            None
        }
        _ => None,
    };
    readers.close();
    let (exited, kill) = (CancellationToken::new(), CancellationToken::new());
    let status = Arc::<OnceLock<String>>::default();
    let process = Process {
        pid,
        exited,
        kill,
        status: status.clone(),
        last_lines,
        readers,
        watchdog: watchdog.clone(),
        #[cfg(windows)]
        job,
    };
    let (exited, kill) = (process.exited.clone(), process.kill.clone());
    // Reaps the process, so that it does not stay a zombie.
    tokio::spawn(async move {
        let ended = tokio::select! {
            ended = child.wait() => ended,
            () = kill.cancelled() => {
                let _ = child.start_kill();
                child.wait().await
            }
        };
        let _ = status.set(match ended {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        });
        exited.cancel();
    });
    Ok((process, pipes))
}

impl Process {
    /// Returns the token that is canceled when the process has exited.
    pub fn exited(&self) -> &CancellationToken {
        &self.exited
    }

    /// Returns its exit status and last output, for a message.
    pub async fn last_output(&self) -> String {
        if self.status.get().is_some() {
            let _ = tokio::time::timeout(LAST_OUTPUT_TIMEOUT, self.readers.wait()).await;
        }
        let lines = self.last_lines.lock();
        let output: Vec<&str> = lines.iter().map(String::as_str).collect();
        match (self.status.get(), output.is_empty()) {
            (Some(status), true) => format!("it ended with {status}"),
            (Some(status), false) => format!("it ended with {status}: {}", output.join(" | ")),
            (None, true) => "it wrote no output".to_owned(),
            (None, false) => format!("its output: {}", output.join(" | ")),
        }
    }

    /// Ends the process group. Waits at most `timeout` while `request` runs, so that the group can
    /// end normally. Then sends SIGTERM, and after `term` SIGKILL. `request` returns true if it has
    /// requested the end of the server itself, not only of its child processes.
    pub async fn end(
        &self,
        request: impl Future<Output = bool>,
        timeout: Duration,
        term: Duration,
    ) {
        let by_itself = async {
            if request.await || !self.has_group() {
                self.wait_group_ended().await;
                return true;
            }
            false
        };
        if !tokio::time::timeout(timeout, by_itself).await.unwrap_or(false) {
            self.signal(Signal::Term);
            if tokio::time::timeout(term, self.wait_group_ended()).await.is_err() {
                tracing::warn!(pid = self.pid, "the upstream server did not end after SIGTERM");
                self.signal(Signal::Kill);
                if tokio::time::timeout(KILL_TIMEOUT, self.wait_group_ended()).await.is_err() {
                    tracing::warn!(pid = self.pid, "the upstream server cannot be killed");
                    return;
                }
            }
        }
        self.watchdog.forget(self.pid);
    }

    /// Waits until all processes of the group have ended.
    async fn wait_group_ended(&self) {
        self.exited.cancelled().await;
        let mut pause = FIRST_POLL;
        while self.has_group() {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_POLL);
        }
    }

    #[cfg(unix)]
    fn has_group(&self) -> bool {
        let Some(group) = group(self.pid) else { return false };
        nix::sys::signal::killpg(group, None).is_ok() && has_living(self.pid)
    }

    #[cfg(windows)]
    fn has_group(&self) -> bool {
        self.job.is_running()
    }

    fn signal(&self, signal: Signal) {
        #[cfg(unix)]
        if let Some(group) = group(self.pid) {
            let signal = match signal {
                Signal::Term => nix::sys::signal::Signal::SIGTERM,
                Signal::Kill => nix::sys::signal::Signal::SIGKILL,
            };
            let _ = nix::sys::signal::killpg(group, signal);
        }
        // Windows has no SIGTERM.
        #[cfg(windows)]
        self.job.terminate();
        if matches!(signal, Signal::Kill) || cfg!(windows) {
            self.kill.cancel();
        }
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Term,
    Kill,
}

/// Returns whether a process of the group is running. Zombies do not count.
#[cfg(target_os = "linux")]
fn has_living(group: u32) -> bool {
    let Ok(processes) = std::fs::read_dir("/proc") else { return true };
    processes.flatten().any(|process| {
        let stat = std::fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // The name in parentheses can contain any characters.
        let mut fields =
            stat.rsplit_once(") ").map(|(_, rest)| rest.split(' ')).into_iter().flatten();
        let (state, of) = (fields.next(), fields.nth(1));
        state.is_some_and(|state| !matches!(state, "Z" | "X"))
            && of == Some(group.to_string().as_str())
    })
}

#[cfg(all(unix, not(target_os = "linux")))]
fn has_living(_group: u32) -> bool {
    true
}

/// Returns the process group. Never the group of this process, which 0 would mean.
#[cfg(unix)]
fn group(pid: u32) -> Option<nix::unistd::Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).map(nix::unistd::Pid::from_raw)
}

impl Drop for Process {
    fn drop(&mut self) {
        // After the process was reaped and its group has ended, the id can belong to another
        // process.
        if !self.exited.is_cancelled() || self.has_group() {
            self.signal(Signal::Kill);
        }
        self.watchdog.forget(self.pid);
    }
}

/// Logs the output of a server that is not protocol messages. Lines over the limit are counted and
/// not logged.
async fn log_lines(pipe: impl AsyncRead + Unpin, name: String, kept: Arc<Mutex<VecDeque<String>>>) {
    let mut pipe = BufReader::new(pipe);
    let (mut since, mut logged, mut left_out) = (Instant::now(), 0_u32, 0_u64);
    while let Ok(Some(line)) = next_line(&mut pipe, MAX_LINE_LENGTH).await {
        let text = String::from_utf8_lossy(&line.text).trim_end().to_owned();
        if since.elapsed() >= Duration::from_secs(1) {
            if left_out > 0 {
                tracing::warn!(
                    session = name,
                    left_out,
                    "lines of the upstream server were not logged: there are too many"
                );
            }
            (since, logged, left_out) = (Instant::now(), 0, 0);
        }
        if logged < LINES_A_SECOND {
            logged += 1;
            tracing::info!(target: "troupe::upstream", session = name, "{text}");
        } else {
            left_out += 1;
        }
        let mut kept = kept.lock();
        if kept.len() == MAX_KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(text);
    }
    if left_out > 0 {
        tracing::warn!(
            session = name,
            left_out,
            "lines of the upstream server were not logged: there were too many"
        );
    }
}
