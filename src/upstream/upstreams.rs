//! The state that the upstream servers of all sessions share: the command, the list of tools, and
//! the ports in use.

use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::Value;
use tokio::{sync::watch, time::Instant};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    client::{Client, RequestFailure},
    command::{Command, CommandValues},
    health::{Health, HealthEvent, HealthState, RestartPolicy},
    http,
    ports::{Port, Ports},
    process::{self, Process},
    stdio,
    supervisor::{Upstream, UpstreamHealth, degraded, unavailable},
    watchdog::GroupWatchdog,
};
use crate::{
    config::{Config, UpstreamConfig, UpstreamTransport},
    error::{ErrorCode, Result, TroupeError},
    policy::files,
    private,
};

/// The subfolder of the output folder that contains a folder for each session.
const FOLDER: &str = "upstream";
/// Maximum number of attempts if another process takes the port before the server does.
const PORT_ATTEMPTS: usize = 5;

/// A tool of the upstream server.
#[derive(Debug, Clone, PartialEq)]
pub struct UpstreamTool {
    pub name: String,
    pub read_only: bool,
    /// The entry in the result of `tools/list`.
    pub listed: Value,
}

impl AsRef<str> for UpstreamTool {
    fn as_ref(&self) -> &str {
        &self.name
    }
}

/// A running server whose handshake has succeeded.
pub(super) struct RunningServer {
    process: Process,
    pub client: Arc<Client>,
    /// The port where it listens, with the HTTP transport.
    port: Option<Port>,
}

impl RunningServer {
    pub async fn last_output(&self) -> String {
        self.process.last_output().await
    }

    /// Ends the server and its child processes. It can clean up while `request` runs. Then the
    /// connection is closed, which ends a server over stdio.
    pub async fn end(&self, request: impl Future<Output = ()>, timeout: Duration, term: Duration) {
        let request = async {
            request.await;
            self.client.shut().cancel();
            self.client.gone().cancelled().await;
            self.port.is_none()
        };
        self.process.end(request, timeout, term).await;
        self.client.gone().cancel();
    }
}

/// A server that was started to list its tools. It serves the session with its id.
struct SpareServer {
    id: Arc<str>,
    running: RunningServer,
}

/// The attempts to start a server without a session: to list the tools, or to check whether a
/// server can be started again.
#[derive(Clone)]
enum StartAttempts {
    NotRunning,
    Running {
        /// Why the last attempt failed.
        last: Option<TroupeError>,
    },
    /// Too many attempts have failed. The next one follows later.
    Degraded(TroupeError),
}

/// The state that all upstream servers share.
pub struct Upstreams {
    config: UpstreamConfig,
    command: Command,
    root: PathBuf,
    working_folder: PathBuf,
    ports: Ports,
    watchdog: GroupWatchdog,
    tools: watch::Sender<Option<Arc<Vec<UpstreamTool>>>>,
    start_attempts: watch::Sender<StartAttempts>,
    /// The tasks of the attempts, which end with `stopping`.
    attempts: TaskTracker,
    stopping: CancellationToken,
    spare: Mutex<Option<SpareServer>>,
    /// The id of the spare server, which the next new session gets.
    spare_id: Mutex<Option<Arc<str>>>,
    /// Why the last start failed, until one succeeds.
    failure: Mutex<Option<TroupeError>>,
    all: Mutex<Vec<Weak<Upstream>>>,
}

impl Upstreams {
    /// Reads the configuration. Returns `None` with the built-in engine.
    pub fn open(config: &Config) -> Result<Option<Arc<Self>>> {
        if config.upstream.command.is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(Self {
            command: Command::read(&config.upstream)?,
            config: config.upstream.clone(),
            // With an upstream server, `--output-dir` is a folder.
            root: files::output_folder(config).unwrap_or_default().join(FOLDER),
            working_folder: config.working_directory.clone(),
            ports: Ports::default(),
            watchdog: GroupWatchdog::default(),
            tools: watch::Sender::new(None),
            start_attempts: watch::Sender::new(StartAttempts::NotRunning),
            attempts: TaskTracker::new(),
            stopping: CancellationToken::new(),
            spare: Mutex::default(),
            spare_id: Mutex::default(),
            failure: Mutex::default(),
            all: Mutex::default(),
        })))
    }

    pub(super) fn config(&self) -> &UpstreamConfig {
        &self.config
    }

    pub(super) fn working_folder(&self) -> &Path {
        &self.working_folder
    }

    /// Returns the folder where the server of a session writes files.
    pub(super) fn folder(&self, id: &str) -> PathBuf {
        self.root.join(id)
    }

    /// Returns the id of the next new session: that of the spare server, if there is one.
    pub fn next_id(&self) -> Arc<str> {
        let spare_id = self.spare_id.lock().take();
        spare_id.unwrap_or_else(new_id)
    }

    /// Creates the server of the session `id`. The first call starts it.
    pub fn add_server(self: &Arc<Self>, id: Arc<str>) -> Arc<Upstream> {
        let upstream = Arc::new(Upstream::new(self.clone(), id));
        let mut all = self.all.lock();
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&upstream));
        upstream
    }

    /// Returns the states of the servers of all sessions.
    pub fn health_states(&self) -> Vec<UpstreamHealth> {
        let all = self.all.lock();
        all.iter().filter_map(Weak::upgrade).map(|upstream| upstream.health()).collect()
    }

    /// Returns why the last start failed; `None` if it succeeded.
    pub fn failure(&self) -> Option<TroupeError> {
        self.failure.lock().clone()
    }

    /// Returns the tools that are known by now.
    pub fn known_tools(&self) -> Arc<Vec<UpstreamTool>> {
        self.tools.borrow().clone().unwrap_or_default()
    }

    /// Returns a receiver that is notified when the list of tools changes.
    pub fn tools_changes(&self) -> watch::Receiver<Option<Arc<Vec<UpstreamTool>>>> {
        self.tools.subscribe()
    }

    /// Returns the server's tools. If no server has listed them yet, starts one, which then serves
    /// a session without a running server, or the next new session. Waits until the start succeeds
    /// or all attempts have failed.
    pub async fn tools(self: &Arc<Self>) -> Result<Arc<Vec<UpstreamTool>>> {
        self.tools_once(|start_attempts| !matches!(start_attempts, StartAttempts::Running { .. }))
            .await
    }

    /// Like `tools`, but waits for the first attempt only. Further attempts continue in the
    /// background.
    pub async fn tools_of_first_attempt(self: &Arc<Self>) -> Result<Arc<Vec<UpstreamTool>>> {
        self.tools_once(has_outcome).await
    }

    async fn tools_once(
        self: &Arc<Self>,
        is_over: impl FnMut(&StartAttempts) -> bool,
    ) -> Result<Arc<Vec<UpstreamTool>>> {
        let known = self.tools.borrow().clone();
        match known {
            Some(known) => Ok(known),
            None => self.try_start(is_over).await.map(|()| self.known_tools()),
        }
    }

    /// Returns whether a new session can be served. If the last start of a server failed, this is
    /// the outcome of the newest attempt to start one.
    pub async fn admit(self: &Arc<Self>) -> Result<()> {
        match self.failure() {
            None => Ok(()),
            Some(_) => self.try_start(has_outcome).await,
        }
    }

    async fn try_start(
        self: &Arc<Self>,
        is_over: impl FnMut(&StartAttempts) -> bool,
    ) -> Result<()> {
        let mut start_attempts = self.start_attempts.subscribe();
        self.begin_start_attempts();
        let outcome =
            start_attempts.wait_for(is_over).await.map(|start_attempts| start_attempts.clone());
        match outcome {
            Ok(StartAttempts::Running { last: Some(error) } | StartAttempts::Degraded(error)) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }

    /// Begins the attempts to start a server, unless they have begun or this process is stopping.
    pub(super) fn begin_start_attempts(self: &Arc<Self>) {
        let begins = self.start_attempts.send_if_modified(|start_attempts| {
            let begins = matches!(start_attempts, StartAttempts::NotRunning);
            if begins {
                *start_attempts = StartAttempts::Running { last: None };
            }
            begins
        });
        if begins {
            let (stopping, attempts) =
                (self.stopping.clone(), Self::run_start_attempts(Arc::downgrade(self)));
            self.attempts.spawn(async move {
                tokio::select! {
                    biased;
                    () = stopping.cancelled() => {}
                    () = attempts => {}
                }
            });
        }
    }

    /// Tries to start a server until that succeeds, with the restart policy of the servers of
    /// sessions.
    async fn run_start_attempts(shared: Weak<Self>) {
        let Some(policy) = shared.upgrade().map(|shared| RestartPolicy::from(&shared.config))
        else {
            return;
        };
        let begun = Instant::now();
        let (mut health, mut state) = (Health::new(policy), HealthState::Starting);
        let mut last = unavailable("no upstream server was started yet");
        loop {
            let event = match state {
                HealthState::Starting => {
                    let Some(shared) = shared.upgrade() else { return };
                    match shared.start_spare().await {
                        Ok(()) => {
                            shared.start_attempts.send_replace(StartAttempts::NotRunning);
                            return;
                        }
                        Err(error) => {
                            tracing::warn!(%error, "the upstream server could not be started");
                            last = error;
                            HealthEvent::Gone
                        }
                    }
                }
                HealthState::Restarting { at } => {
                    let Some(shared) = shared.upgrade() else { return };
                    shared
                        .start_attempts
                        .send_replace(StartAttempts::Running { last: Some(last.clone()) });
                    drop(shared);
                    tokio::time::sleep_until(begun + at).await;
                    HealthEvent::Due
                }
                HealthState::Degraded { until } => {
                    let Some(shared) = shared.upgrade() else { return };
                    let wait = until.saturating_sub(begun.elapsed());
                    tracing::warn!(
                        ?wait,
                        "the upstream server failed to start repeatedly; further attempts are paused"
                    );
                    let error = degraded(&shared.config, &last, wait);
                    shared.start_attempts.send_replace(StartAttempts::Degraded(error));
                    drop(shared);
                    tokio::time::sleep_until(begun + until).await;
                    HealthEvent::Due
                }
                // No server runs during the attempts.
                HealthState::Healthy { .. } | HealthState::Unhealthy => return,
            };
            state = health.on(event, begun.elapsed());
        }
    }

    /// Starts a server that lists its tools, for a session without a running server or the next new
    /// session.
    async fn start_spare(&self) -> Result<()> {
        let session_without_server = self.session_without_server();
        let id = session_without_server.clone().unwrap_or_else(new_id);
        let running = self.launch(&id).await?;
        let spare = SpareServer { id: id.clone(), running };
        let replaced = self.spare.lock().replace(spare);
        if session_without_server.is_none() {
            *self.spare_id.lock() = Some(id);
        }
        if let Some(SpareServer { running, .. }) = replaced {
            self.end(&running).await;
        }
        Ok(())
    }

    /// Returns a session whose server was not called yet.
    fn session_without_server(&self) -> Option<Arc<str>> {
        let all = self.all.lock();
        let mut upstreams = all.iter().filter_map(Weak::upgrade);
        upstreams.find(|upstream| upstream.is_asleep()).map(|upstream| upstream.id().clone())
    }

    /// Takes the spare server of the session `id`, if it still runs.
    pub(super) async fn take_spare(&self, id: &str) -> Option<RunningServer> {
        let spare = {
            let mut spare = self.spare.lock();
            spare.take_if(|spare| *spare.id == *id)?
        };
        if spare.running.client.gone().is_cancelled() {
            spare.running.end(async {}, Duration::ZERO, self.config.term_timeout).await;
            return None;
        }
        Some(spare.running)
    }

    /// Starts a server for the session `id`.
    pub(super) async fn launch(&self, id: &str) -> Result<RunningServer> {
        let started = tokio::time::timeout(self.config.start_timeout, self.start(id)).await;
        let started = started.unwrap_or_else(|_| {
            let timeout = self.config.start_timeout;
            Err(unavailable(format!(
                "`{}` was not ready within {timeout:?}",
                self.command.program()
            ))
            .suggestion("if it is downloaded first, raise --upstream-start-timeout"))
        });
        *self.failure.lock() = started.as_ref().err().cloned();
        started
    }

    async fn start(&self, id: &str) -> Result<RunningServer> {
        let folder = self.folder(id);
        make_private(&folder).map_err(|error| {
            let message = format!("the folder `{}` cannot be created: {error}", folder.display());
            TroupeError::new(ErrorCode::InternalError, message)
                .suggestion("pass another --output-dir")
        })?;
        let (process, client, port) = match self.config.transport {
            UpstreamTransport::Stdio => self.start_stdio(id, &folder)?,
            UpstreamTransport::Http => self.start_http(id, &folder).await?,
        };
        let (exited, gone) = (process.exited().clone(), client.gone().clone());
        // Owned by the process: ends with it, or with the client.
        tokio::spawn(async move {
            tokio::select! {
                () = exited.cancelled() => gone.cancel(),
                () = gone.cancelled() => {}
            }
        });
        let ready = async {
            client.handshake(self.config.start_timeout).await?;
            if self.tools.borrow().is_none() {
                self.take_tools(client.list_tools(self.config.start_timeout).await?);
            }
            Ok::<_, RequestFailure>(())
        };
        if let Err(failure) = ready.await {
            process.end(async { true }, Duration::ZERO, self.config.term_timeout).await;
            let program = self.command.program();
            return Err(unavailable(format!(
                "the handshake with `{program}` failed: {failure}; {}",
                process.last_output().await
            )));
        }
        let port_number = port.as_ref().map(|port| port.number);
        tracing::info!(
            session = id,
            pid = process.pid,
            port = port_number,
            "an upstream server was started"
        );
        Ok(RunningServer { process, client, port })
    }

    fn spawn(
        &self,
        id: &str,
        folder: &Path,
        port: Option<u16>,
    ) -> Result<(Process, Option<process::Pipes>)> {
        let command = self.command.process(&CommandValues { session_id: id, folder, port });
        process::start(command, id, port.is_none(), &self.watchdog).map_err(|error| {
            unavailable(format!("`{}` cannot be started: {error}", self.command.program()))
                .suggestion("check that the program of --upstream is on the PATH")
        })
    }

    fn start_stdio(&self, id: &str, folder: &Path) -> Result<(Process, Arc<Client>, Option<Port>)> {
        let (process, pipes) = self.spawn(id, folder, None)?;
        let (client, queue) = Client::new();
        if let Some(pipes) = pipes {
            stdio::connect(&client, queue, pipes);
        }
        Ok((process, client, None))
    }

    async fn start_http(
        &self,
        id: &str,
        folder: &Path,
    ) -> Result<(Process, Arc<Client>, Option<Port>)> {
        let mut last_output = String::new();
        for _ in 0..PORT_ATTEMPTS {
            let none = || unavailable("no port from 20000 to 39999 is free");
            let port = self.ports.take(id).ok_or_else(none)?;
            let (process, _) = self.spawn(id, folder, Some(port.number))?;
            tokio::select! {
                () = http::wait_for_listener(port.number) => {
                    let (client, queue) = Client::new();
                    http::connect(&client, queue, port.number);
                    return Ok((process, client, Some(port)));
                }
                () = process.exited().cancelled() => {}
            }
            process.end(async { true }, Duration::ZERO, self.config.term_timeout).await;
            last_output = process.last_output().await;
            // If its port is still free, it ended for another reason.
            if port.is_free() {
                break;
            }
        }
        let program = self.command.program();
        Err(unavailable(format!("`{program}` ended before it listened on its port: {last_output}")))
    }

    fn take_tools(&self, listed: Vec<Value>) {
        let tools = listed.into_iter().filter_map(|listed| {
            let name = listed["name"].as_str()?.to_owned();
            let read_only = listed["annotations"]["readOnlyHint"] == true;
            Some(UpstreamTool { name, read_only, listed })
        });
        let tools = Arc::new(tools.collect::<Vec<_>>());
        self.tools.send_if_modified(|known| {
            let other = known.as_ref() != Some(&tools);
            if other {
                *known = Some(tools);
            }
            other
        });
    }

    /// Reads the changed list of tools from a server. Returns false if it did not answer in time.
    pub(super) async fn refresh_tools(&self, client: &Client) -> bool {
        match client.list_tools(self.config.ping_timeout).await {
            Ok(listed) => self.take_tools(listed),
            Err(failure) => {
                tracing::debug!(%failure, "the upstream server could not list its tools");
                return !matches!(failure, RequestFailure::TimedOut(_));
            }
        }
        true
    }

    /// Ends a server that was never called.
    pub(super) async fn end(&self, running: &RunningServer) {
        running.end(async {}, self.config.close_timeout, self.config.term_timeout).await;
    }

    /// Prevents starts without a session, and ends the spare server.
    pub async fn end_spare(&self) {
        // An attempt that is canceled kills its process. One that has just succeeded leaves a spare
        // server.
        self.stopping.cancel();
        self.attempts.close();
        self.attempts.wait().await;
        self.start_attempts
            .send_replace(StartAttempts::Degraded(unavailable("the server is stopping")));
        let spare = self.spare.lock().take();
        if let Some(SpareServer { running, .. }) = spare {
            self.end(&running).await;
        }
    }

    /// Ends the watchdog, after all servers have ended.
    pub async fn shutdown(&self) {
        let watchdog = self.watchdog.clone();
        let _ = tokio::task::spawn_blocking(move || watchdog.close()).await;
    }
}

/// Returns whether an attempt has ended.
fn has_outcome(start_attempts: &StartAttempts) -> bool {
    !matches!(start_attempts, StartAttempts::Running { last: None })
}

fn new_id() -> Arc<str> {
    uuid::Uuid::new_v4().to_string().into()
}

/// Creates a folder that only its owner can read, because the storage of sessions is written there
/// temporarily.
fn make_private(folder: &Path) -> std::io::Result<()> {
    if let Some(root) = folder.parent() {
        if let Some(output) = root.parent() {
            files::make_folder(output)?;
        }
        files::make_folder(root)?;
    }
    private::create_folder(folder)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{io::Read, sync::mpsc};

    use super::*;

    /// Upstream servers that run `script` in the output folder.
    fn of(script: &str, folder: &Path) -> Arc<Upstreams> {
        let script = format!("cd {}; {script}", folder.display());
        let command = shlex::try_join(["/bin/sh", "-c", &script]).unwrap();
        let upstream = UpstreamConfig { command: Some(command), ..UpstreamConfig::default() };
        let config =
            Config { upstream, output_dir: Some(folder.to_owned().into()), ..Config::default() };
        Upstreams::open(&config).unwrap().unwrap()
    }

    #[tokio::test]
    async fn a_server_that_is_starting_when_all_stop_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("alive");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        // It keeps the pipe open while it runs, and never answers.
        let upstreams =
            of("exec 3> alive; echo started >&3; while :; do sleep 60; done", folder.path());
        let (sender, receiver) = mpsc::channel();
        let (started, is_started) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let mut pipe = std::fs::File::open(pipe).unwrap();
            pipe.read_exact(&mut [0; 8]).unwrap();
            started.send(()).unwrap();
            let _ = sender.send(pipe.read_to_end(&mut Vec::new()));
        });
        upstreams.begin_start_attempts();
        tokio::time::timeout(Duration::from_secs(10), is_started).await.unwrap().unwrap();
        upstreams.end_spare().await;
        // Blocks the only thread of the runtime: tasks that have not finished by now cannot run.
        let ended = receiver.recv_timeout(Duration::from_secs(5));
        assert!(ended.is_ok(), "the server is still running");
    }

    #[tokio::test]
    async fn no_server_is_started_after_all_stop() {
        let folder = tempfile::tempdir().unwrap();
        let upstreams = of("touch started", folder.path());
        upstreams.end_spare().await;
        upstreams.begin_start_attempts();
        let failed =
            tokio::time::timeout(Duration::from_secs(10), upstreams.tools()).await.unwrap();
        assert!(failed.unwrap_err().message.contains("stopping"));
        assert!(!folder.path().join("started").exists());
    }
}
