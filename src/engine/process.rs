//! A browser's process and its folder (profile and TMPDIR): starts, supervises and ends the
//! process.

use std::{
    collections::VecDeque,
    fs, io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, LazyLock, mpsc},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    runtime::Handle,
    sync::{Notify, oneshot},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{connection::BrowserConnection, locked_folder::LockedFolder};
use crate::config::variables_hidden_from_browsers;

/// Maximum time for a browser to exit by itself. The shutdown of the server must take less than 2
/// s.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1000);
/// Maximum time for a browser to print its address.
const START_TIMEOUT: Duration = Duration::from_secs(45);
/// Maximum number of stderr lines that are kept for the error of a failed start.
const MAX_LINES: usize = 20;

/// The process of a browser.
pub struct RunningBrowser {
    pub pid: Option<u32>,
    pub stderr: Stderr,
    pub ending: BrowserShutdown,
}

/// Ends a browser, and reports its end.
pub struct BrowserShutdown {
    owner: ProcessOwner,
    exited: CancellationToken,
    /// Releases the browser when it is dropped.
    _release: Option<DropGuard>,
}

enum ProcessOwner {
    /// Troupe started the process. The sender asks the supervisor to end it; the supervisor replies
    /// when the process has exited and its folder is removed.
    Troupe(Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>),
    /// Another program started the process. It is ended only if `is_ended`.
    External { is_ended: bool },
}

impl BrowserShutdown {
    /// For a browser that another program started. It counts as ended when the connection closes.
    pub fn of_connection(closed: CancellationToken) -> Self {
        Self::of_external(false, closed, None)
    }

    /// For a remote browser that is ended when it is no longer needed.
    pub fn of_remote(closed: CancellationToken) -> Self {
        Self::of_external(true, closed, None)
    }

    /// For a browser in a Selenium Grid, which ends after the connection is closed. Dropping the
    /// result cancels the token of `release`.
    pub fn of_grid(ended: CancellationToken, release: DropGuard) -> Self {
        Self::of_external(false, ended, Some(release))
    }

    fn of_external(is_ended: bool, exited: CancellationToken, release: Option<DropGuard>) -> Self {
        Self { owner: ProcessOwner::External { is_ended }, exited, _release: release }
    }

    /// Returns a token that is canceled when the browser has ended.
    pub fn exited(&self) -> &CancellationToken {
        &self.exited
    }

    /// Ends a browser that Troupe started: calls `request_exit`, and kills the browser after a
    /// timeout. Disconnects from a browser that another program started; a remote browser that
    /// has to end gets `request_exit` first.
    pub async fn close(&self, request_exit: impl FnOnce(), disconnect: impl Future<Output = ()>) {
        let end = match &self.owner {
            ProcessOwner::Troupe(end) => end.lock().take(),
            ProcessOwner::External { is_ended: true } => {
                request_exit();
                if tokio::time::timeout(CLOSE_TIMEOUT, self.exited.cancelled()).await.is_err() {
                    disconnect.await;
                }
                return self.exited.cancelled().await;
            }
            ProcessOwner::External { is_ended: false } => {
                disconnect.await;
                None
            }
        };
        let Some(end) = end else { return self.exited.cancelled().await };
        request_exit();
        let (done, ended) = oneshot::channel();
        if end.send(done).is_ok() {
            let _ = ended.await;
        }
    }

    /// Ends a process that handles SIGTERM, and waits until it has ended.
    #[cfg(target_os = "linux")]
    pub async fn terminate(&self, pid: Option<u32>) {
        self.close(|| pid.into_iter().for_each(terminate), async {}).await;
    }
}

impl RunningBrowser {
    /// Waits for the line on stderr that contains `prefix` and returns the address after it. The
    /// error describes why there is none.
    pub async fn address(&self, prefix: &str) -> Result<String, String> {
        let address =
            |line: &str| line.split_once(prefix).map(|(_, address)| address.trim().to_owned());
        tokio::select! {
            address = self.stderr.find(address) => Ok(address),
            () = self.ending.exited().cancelled() => Err("it exited before it was ready".to_owned()),
            () = tokio::time::sleep(START_TIMEOUT) => {
                Err(format!("it did not listen within {} s", START_TIMEOUT.as_secs()))
            }
        }
    }

    /// Closes `connection` when the browser ends, also if another process keeps its socket open.
    pub fn close_on_exit(&self, connection: &BrowserConnection) {
        let (exited, connection) = (self.ending.exited().clone(), connection.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = exited.cancelled() => connection.close(),
                () = connection.closed().cancelled_owned() => {}
            }
        });
    }
}

/// Sends SIGTERM to the process.
#[cfg(target_os = "linux")]
pub fn terminate(pid: u32) {
    signal(pid, nix::sys::signal::Signal::SIGTERM);
}

/// Sends SIGKILL to the process.
#[cfg(unix)]
pub fn kill(pid: u32) {
    signal(pid, nix::sys::signal::Signal::SIGKILL);
}

#[cfg(unix)]
fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    if let Ok(pid) = i32::try_from(pid) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
    }
}

/// Ends the process at once.
#[cfg(windows)]
pub use super::job::kill;

/// Starts a browser with its folder. Calls `gone` when the process has exited.
pub fn start(
    mut command: Command,
    folder: BrowserFolder,
    gone: impl FnOnce() + Send + 'static,
) -> io::Result<RunningBrowser> {
    for name in variables_hidden_from_browsers() {
        command.env_remove(name);
    }
    command
        .envs(TEMP_VARIABLES.iter().map(|name| (name, folder.path().join(TEMP))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // Ctrl-C in the terminal must not reach the browser: the server ends it normally.
    #[cfg(unix)]
    command.process_group(0);
    // Prevents a console window.
    #[cfg(windows)]
    command.creation_flags(windows_sys::Win32::System::Threading::CREATE_NO_WINDOW);
    #[cfg(target_os = "linux")]
    end_with_parent(&mut command);
    let child = spawn(command)?;
    let guard = TreeGuard::of(&child)?;
    Ok(supervise(child, guard, folder, gone))
}

/// Ends the processes that a browser has started: when it is dropped, and when this process ends.
/// On Linux the kernel ends the browser ([`end_with_parent`]), and its processes end with it.
struct TreeGuard {
    #[cfg(windows)]
    _job: super::job::Job,
    #[cfg(all(unix, not(target_os = "linux")))]
    _watchdog: super::process_watchdog::ProcessWatchdog,
}

impl TreeGuard {
    #[cfg(target_os = "linux")]
    fn of(_browser: &Child) -> io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(all(unix, not(target_os = "linux")))]
    fn of(browser: &Child) -> io::Result<Self> {
        let watchdog = super::process_watchdog::ProcessWatchdog::new()?;
        if let Some(pid) = browser.id() {
            watchdog.watch(pid)?;
        }
        Ok(Self { _watchdog: watchdog })
    }

    #[cfg(windows)]
    fn of(browser: &Child) -> io::Result<Self> {
        Ok(Self { _job: super::job::Job::of(browser)? })
    }

    /// Ends the processes.
    fn end(self) {}
}

type SpawnTask = Box<dyn FnOnce() + Send>;

/// Spawns `command` on a thread that ends with this process. The kernel kills a browser when the
/// thread that spawned it ends ([`end_with_parent`]). A runtime's threads can end earlier: after
/// `block_in_place`, a worker thread ends when it is idle.
fn spawn(mut command: Command) -> io::Result<Child> {
    static SPAWNER: LazyLock<io::Result<mpsc::Sender<SpawnTask>>> = LazyLock::new(|| {
        let (sender, jobs) = mpsc::channel::<SpawnTask>();
        let run =
            move || jobs.into_iter().for_each(|job| drop(catch_unwind(AssertUnwindSafe(job))));
        thread::Builder::new().name("troupe-spawn".to_owned()).spawn(run)?;
        Ok(sender)
    });
    let spawner =
        SPAWNER.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let runtime = Handle::current();
    let (answer, spawned) = mpsc::channel();
    let job = move || {
        let _entered = runtime.enter();
        let child = command.spawn();
        // The command may own the child's ends of pipes. They must be closed here, or reads would
        // never return EOF.
        drop(command);
        // The receiver is waiting, so this cannot fail.
        let _ = answer.send(child);
    };
    spawner.send(Box::new(job)).map_err(|error| io::Error::other(error.to_string()))?;
    spawned.recv().map_err(io::Error::other)?
}

/// The last lines of a browser's stderr.
#[derive(Clone, Default)]
pub struct Stderr(Arc<StderrLines>);

#[derive(Default)]
struct StderrLines {
    last: Mutex<VecDeque<String>>,
    more: Notify,
}

impl Stderr {
    fn push(&self, line: String) {
        {
            let mut lines = self.0.last.lock();
            if lines.len() == MAX_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
        self.0.more.notify_waiters();
    }

    /// Waits for a line for which `matcher` returns a value.
    pub async fn find<T>(&self, matcher: impl Fn(&str) -> Option<T>) -> T {
        loop {
            let more = self.0.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let found = {
                let lines = self.0.last.lock();
                lines.iter().find_map(|line| matcher(line))
            };
            if let Some(found) = found {
                return found;
            }
            more.await;
        }
    }

    pub fn text(&self) -> String {
        let lines = self.0.last.lock();
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

/// Makes the kernel kill the browser when the thread that spawned it ends. The end of the debugging
/// pipe ends a browser too, but only after its start.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only `prctl` is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
                .map_err(io::Error::from)
        });
    }
}

/// Supervises the process until its end, and then removes its folder.
fn supervise(
    mut child: Child,
    guard: TreeGuard,
    folder: BrowserFolder,
    gone: impl FnOnce() + Send + 'static,
) -> RunningBrowser {
    let pid = child.id();
    let stderr = Stderr::default();
    let reading = child.stderr.take().map(|pipe| tokio::spawn(collect_lines(pipe, stderr.clone())));
    let (end, ended) = oneshot::channel::<oneshot::Sender<()>>();
    let exited = CancellationToken::new();
    let token = exited.clone();
    tokio::spawn(async move {
        let mut done = None;
        let mut is_normal_exit = false;
        tokio::select! {
            biased;
            asked = ended => {
                done = asked.ok();
                match tokio::time::timeout(CLOSE_TIMEOUT, child.wait()).await {
                    Ok(status) => is_normal_exit = status.is_ok_and(|status| status.success()),
                    Err(_) => drop(child.kill().await),
                }
            }
            status = child.wait() => log_exit(status),
        }
        guard.end();
        if let Some(reading) = reading {
            // Grandchildren may hold the pipe open.
            let _ = tokio::time::timeout(Duration::from_millis(50), reading).await;
        }
        gone();
        token.cancel();
        let _ = tokio::task::spawn_blocking(move || folder.remove(is_normal_exit)).await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    });
    RunningBrowser {
        pid,
        stderr,
        ending: BrowserShutdown {
            owner: ProcessOwner::Troupe(Mutex::new(Some(end))),
            exited,
            _release: None,
        },
    }
}

fn log_exit(status: io::Result<ExitStatus>) {
    match status {
        Ok(status) => tracing::warn!(%status, "the browser exited unexpectedly"),
        Err(error) => tracing::warn!(%error, "cannot wait for the browser"),
    }
}

async fn collect_lines(pipe: tokio::process::ChildStderr, kept: Stderr) {
    let mut lines = BufReader::new(pipe).split(b'\n');
    while let Ok(Some(line)) = lines.next_segment().await {
        let line = String::from_utf8_lossy(&line).into_owned();
        tracing::trace!(line, "browser");
        kept.push(line);
    }
}

/// A browser's own folder.
pub struct BrowserFolder {
    folder: LockedFolder,
    /// Called before the folder is removed, if its browser has exited normally.
    before_removal: Option<Box<dyn FnOnce() + Send>>,
}

/// The browser's folder for temporary files, inside its folder.
const TEMP: &str = "t";
/// The environment variables for the folder of temporary files.
const TEMP_VARIABLES: &[&str] = if cfg!(windows) { &["TMP", "TEMP"] } else { &["TMPDIR"] };

impl BrowserFolder {
    pub fn create() -> io::Result<Self> {
        let folder = LockedFolder::create("")?;
        fs::create_dir(folder.path().join(TEMP))?;
        Ok(Self { folder, before_removal: None })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the folder that the browser downloads to.
    pub fn downloads(&self) -> PathBuf {
        self.path().join("downloads")
    }

    /// Sets a function to call before the folder is removed, if its browser has exited normally.
    pub fn before_removal(&mut self, before_removal: impl FnOnce() + Send + 'static) {
        self.before_removal = Some(Box::new(before_removal));
    }

    fn remove(self, is_normal_exit: bool) {
        if let Some(before_removal) = self.before_removal.filter(|_| is_normal_exit) {
            before_removal();
        }
        self.folder.remove();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_browser_keeps_running_when_the_thread_that_started_it_ends() {
        let mut command = Command::new("/bin/sh");
        // Prints `alive` on SIGTERM.
        command.args([
            "-c",
            "trap 'echo alive >&2' TERM; echo ready >&2; while :; do sleep 0.1; done",
        ]);
        let runtime = Handle::current();
        let (sender, receiver) = oneshot::channel();
        let starting = thread::spawn(move || {
            let _entered = runtime.enter();
            let running = start(command, BrowserFolder::create().unwrap(), || ()).unwrap();
            sender.send((running, nix::unistd::gettid())).ok().unwrap();
        });
        let (running, thread) = receiver.await.unwrap();
        starting.join().unwrap();
        let answers = async {
            running.stderr.find(|line| (line == "ready").then_some(())).await;
            // The kernel signals the children before it removes the thread.
            while Path::new(&format!("/proc/self/task/{thread}")).exists() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            terminate(running.pid.unwrap());
            running.stderr.find(|line| (line == "alive").then_some(())).await;
        };
        tokio::select! {
            () = answers => {}
            () = running.ending.exited().cancelled() => panic!("the browser ended with the thread"),
        }
        running.ending.close(|| kill(running.pid.unwrap()), async {}).await;
    }
}
