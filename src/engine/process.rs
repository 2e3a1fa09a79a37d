//! A browser's process and its folder: starts, watches and ends the process, and removes folders of servers that
//! died.
//!
//! Each browser has its own folder (profile and TMPDIR), which this process locks. After `kill -9`, the next start
//! finds the lock free and removes the folder.

use std::{
    collections::VecDeque,
    fs::{self, File},
    io,
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
use tokio_util::sync::CancellationToken;

use super::connection::Wire;
use crate::config::own_variables;

/// How long a browser may take to end by itself; all of a server's end must fit in 2 s.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(1000);
/// How long a browser may take to print where it listens.
const START_TIMEOUT: Duration = Duration::from_secs(45);
/// Lines of its stderr that a failed start is explained with.
const KEPT_LINES: usize = 20;

/// A browser's process that runs, or has run.
pub struct Running {
    pub pid: Option<u32>,
    pub stderr: Stderr,
    pub ending: Ending,
}

/// How a browser ends.
pub struct Ending {
    whose: Whose,
    exited: CancellationToken,
}

enum Whose {
    /// Its supervisor is asked once; it answers when the process is gone and its folder is removed.
    Ours(Mutex<Option<oneshot::Sender<oneshot::Sender<()>>>>),
    SomebodyElses,
}

impl Ending {
    /// That of a browser which somebody else has started: for us it is over with the connection.
    pub fn of_connection(closed: CancellationToken) -> Self {
        Self { whose: Whose::SomebodyElses, exited: closed }
    }

    /// Cancelled when it is over.
    pub fn exited(&self) -> &CancellationToken {
        &self.exited
    }

    /// Ends a browser of ours, which `ask` asks to end by itself; from another one we `leave`.
    pub async fn close(&self, ask: impl FnOnce(), leave: impl Future<Output = ()>) {
        let end = match &self.whose {
            Whose::Ours(end) => end.lock().take(),
            Whose::SomebodyElses => {
                leave.await;
                None
            }
        };
        let Some(end) = end else { return self.exited.cancelled().await };
        ask();
        let (done, ended) = oneshot::channel();
        if end.send(done).is_ok() {
            let _ = ended.await;
        }
    }
}

impl Running {
    /// Waits for the line on stderr that contains `prefix` and returns the address after it, or why there is none.
    pub async fn address(&self, prefix: &str) -> Result<String, String> {
        let address =
            |line: &str| line.split_once(prefix).map(|(_, address)| address.trim().to_owned());
        tokio::select! {
            address = self.stderr.find(address) => Ok(address),
            () = self.ending.exited().cancelled() => Err("it ended at once".to_owned()),
            () = tokio::time::sleep(START_TIMEOUT) => {
                Err(format!("it did not listen within {} s", START_TIMEOUT.as_secs()))
            }
        }
    }

    /// Closes `wire` when the browser ends, also if another process keeps its socket open.
    pub fn close_on_exit(&self, wire: &Wire) {
        let (exited, wire) = (self.ending.exited().clone(), wire.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = exited.cancelled() => wire.close(),
                () = wire.closed().cancelled_owned() => {}
            }
        });
    }
}

/// Asks the process to end.
#[cfg(target_os = "linux")]
pub fn terminate(pid: u32) {
    signal(pid, nix::sys::signal::Signal::SIGTERM);
}

/// Ends the process at once.
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

/// Starts `command` as a browser whose folder is `folder`; `gone` is called when the process has ended.
pub fn start(
    mut command: Command,
    folder: Folder,
    gone: impl FnOnce() + Send + 'static,
) -> io::Result<Running> {
    for name in own_variables() {
        command.env_remove(name);
    }
    command
        .envs(TEMP_VARIABLES.iter().map(|name| (name, folder.path.join(TEMP))))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    // A Ctrl-C in the terminal is for the server, which ends the browser normally.
    #[cfg(unix)]
    command.process_group(0);
    // Without it a console program opens a console window.
    #[cfg(windows)]
    command.creation_flags(windows_sys::Win32::System::Threading::CREATE_NO_WINDOW);
    #[cfg(target_os = "linux")]
    die_with_parent(&mut command);
    let child = spawn(command)?;
    let guard = TreeGuard::of(&child)?;
    Ok(supervise(child, guard, folder, gone))
}

/// Ends the processes that a browser has started: when it is dropped, and when this process ends. On Linux the kernel
/// ends the browser ([`die_with_parent`]), and its processes end with it.
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

type Job = Box<dyn FnOnce() + Send>;

/// Spawns `command` on a thread that ends with this process. The kernel kills a browser when the thread that spawned it
/// ends ([`die_with_parent`]), and threads of a runtime end while it runs: `block_in_place` makes a worker one that
/// ends when it is idle.
fn spawn(mut command: Command) -> io::Result<Child> {
    static SPAWNER: LazyLock<io::Result<mpsc::Sender<Job>>> = LazyLock::new(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
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
        // The command may own the child's ends of pipes: only without them do we see the browser's end as EOF.
        drop(command);
        // The caller waits for it.
        let _ = answer.send(child);
    };
    spawner.send(Box::new(job)).map_err(|error| io::Error::other(error.to_string()))?;
    spawned.recv().map_err(io::Error::other)?
}

/// The last lines that a browser wrote on stderr.
#[derive(Clone, Default)]
pub struct Stderr(Arc<Lines>);

#[derive(Default)]
struct Lines {
    last: Mutex<VecDeque<String>>,
    more: Notify,
}

impl Stderr {
    fn push(&self, line: String) {
        {
            let mut lines = self.0.last.lock();
            if lines.len() == KEPT_LINES {
                lines.pop_front();
            }
            lines.push_back(line);
        }
        self.0.more.notify_waiters();
    }

    /// Waits until one of the lines is what `look` looks for.
    pub async fn find<T>(&self, look: impl Fn(&str) -> Option<T>) -> T {
        loop {
            let more = self.0.more.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let found = {
                let lines = self.0.last.lock();
                lines.iter().find_map(|line| look(line))
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

/// Asks the kernel to end the browser with the thread that spawns it. A pipe to it does the same, but only once the
/// browser reads it.
#[cfg(target_os = "linux")]
fn die_with_parent(command: &mut Command) {
    // SAFETY: between fork and exec only `prctl` is called, which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
                .map_err(io::Error::from)
        });
    }
}

/// Owns the child to its end, and then removes its folder.
fn supervise(
    mut child: Child,
    guard: TreeGuard,
    folder: Folder,
    gone: impl FnOnce() + Send + 'static,
) -> Running {
    let pid = child.id();
    let stderr = Stderr::default();
    let reading = child.stderr.take().map(|pipe| tokio::spawn(keep_lines(pipe, stderr.clone())));
    let (end, ended) = oneshot::channel::<oneshot::Sender<()>>();
    let exited = CancellationToken::new();
    let token = exited.clone();
    tokio::spawn(async move {
        let mut done = None;
        let mut in_order = false;
        tokio::select! {
            biased;
            asked = ended => {
                done = asked.ok();
                match tokio::time::timeout(CLOSE_TIMEOUT, child.wait()).await {
                    Ok(status) => in_order = status.is_ok_and(|status| status.success()),
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
        let _ = tokio::task::spawn_blocking(move || folder.remove(in_order)).await;
        if let Some(done) = done {
            let _ = done.send(());
        }
    });
    Running { pid, stderr, ending: Ending { whose: Whose::Ours(Mutex::new(Some(end))), exited } }
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
pub struct Folder {
    path: PathBuf,
    /// Held, not read: the lock ends with the process.
    _lock: File,
    /// Runs on the folder after its browser has ended normally.
    last: Option<Box<dyn FnOnce() + Send>>,
}

const LOCK: &str = "lock";
const UNFINISHED: &str = "new";
/// Whether a folder gets its name only once it is locked.
const RENAMES: bool = !cfg!(windows);
/// The browser's TMPDIR in it.
const TEMP: &str = "t";
/// The variables that name the folder for temporary files.
const TEMP_VARIABLES: &[&str] = if cfg!(windows) { &["TMP", "TEMP"] } else { &["TMPDIR"] };
/// Nobody takes longer than this to make a folder.
const MAKING: Duration = Duration::from_secs(60);

/// Chromium makes a socket three folders below; the system allows its path 107 bytes (macOS 103).
#[cfg(unix)]
const LONGEST_TEMP_DIR: usize = 24;

fn root() -> PathBuf {
    let temp = std::env::temp_dir();
    #[cfg(unix)]
    {
        let temp =
            if temp.as_os_str().len() > LONGEST_TEMP_DIR { PathBuf::from("/tmp") } else { temp };
        temp.join(format!("troupe-browsers-{}", nix::unistd::getuid()))
    }
    #[cfg(not(unix))]
    temp.join("troupe-browsers")
}

impl Folder {
    pub fn create() -> io::Result<Self> {
        let root = root();
        private_dir(&root)?;
        let mut name = uuid::Uuid::new_v4().simple().to_string();
        name.truncate(10);
        let path = root.join(name);
        // Under its name only once it is locked, or another server's sweep might take it for abandoned. Windows cannot
        // rename a folder with an open file: there the sweep spares every new folder.
        let unfinished = if RENAMES { path.with_extension(UNFINISHED) } else { path.clone() };
        private_dir(&unfinished)?;
        let lock = File::create(unfinished.join(LOCK))?;
        lock.lock()?;
        fs::create_dir(unfinished.join(TEMP))?;
        if RENAMES {
            fs::rename(&unfinished, &path)?;
        }
        Ok(Self { path, _lock: lock, last: None })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that the browser downloads to.
    pub fn downloads(&self) -> PathBuf {
        self.path.join("downloads")
    }

    /// Runs `last` before the folder is removed, if its browser has ended normally.
    pub fn before_it_goes(&mut self, last: impl FnOnce() + Send + 'static) {
        self.last = Some(Box::new(last));
    }

    /// The browser's last processes may still write: a second try a moment later is the next start's sweep.
    fn remove(self, in_order: bool) {
        let Self { path, _lock: lock, last } = self;
        if let Some(last) = last.filter(|_| in_order) {
            last();
        }
        // Windows cannot remove a folder with an open file.
        drop(lock);
        if fs::remove_dir_all(&path).is_err() && path.exists() {
            let _ = fs::remove_dir_all(&path);
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

/// Does `launch`, and beside it removes what dead servers left.
pub async fn beside_sweep<T>(launch: impl Future<Output = T>) -> T {
    let sweeping = tokio::task::spawn_blocking(|| sweep(&root()));
    let launched = launch.await;
    let _ = sweeping.await;
    launched
}

/// Removes the folders of browsers whose server is dead. Cheap where there is nothing to do.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_old = || {
            let modified = entry.metadata().and_then(|metadata| metadata.modified());
            modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > MAKING))
        };
        let abandoned = if path.extension().is_some_and(|extension| extension == UNFINISHED) {
            is_old()
        } else if !RENAMES && !is_old() {
            false
        } else {
            match File::open(path.join(LOCK)) {
                Ok(lock) => lock.try_lock().is_ok(),
                // Half removed. Any other error (too many open files, no permission) says nothing about the server.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            }
        };
        if abandoned {
            tracing::debug!(path = %path.display(), "removing the folder of a dead browser");
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_sweep_keeps_folders_whose_lock_is_held_or_cannot_be_opened() {
        let root = std::env::temp_dir().join(format!("troupe-sweep-{}", std::process::id()));
        let folder = |name: &str| {
            let path = root.join(name);
            fs::create_dir_all(&path).unwrap();
            path
        };
        let held = File::create(folder("held").join(LOCK)).unwrap();
        held.lock().unwrap();
        drop(File::create(folder("abandoned").join(LOCK)).unwrap());
        folder("half-removed");
        // A link to itself: opening it fails with ELOOP for every user, including root.
        std::os::unix::fs::symlink(LOCK, folder("unreadable").join(LOCK)).unwrap();
        sweep(&root);
        let mut kept: Vec<_> =
            fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(kept, ["held", "unreadable"]);
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_browser_outlives_the_thread_that_started_it() {
        let mut command = Command::new("/bin/sh");
        // Told to, it reports that it lives.
        command.args([
            "-c",
            "trap 'echo alive >&2' TERM; echo ready >&2; while :; do sleep 0.1; done",
        ]);
        let runtime = Handle::current();
        let (tell, told) = oneshot::channel();
        let starting = thread::spawn(move || {
            let _entered = runtime.enter();
            let running = start(command, Folder::create().unwrap(), || ()).unwrap();
            tell.send((running, nix::unistd::gettid())).ok().unwrap();
        });
        let (running, thread) = told.await.unwrap();
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
            () = running.ending.exited().cancelled() => panic!("the browser ended with a thread"),
        }
        running.ending.close(|| kill(running.pid.unwrap()), async {}).await;
    }
}
