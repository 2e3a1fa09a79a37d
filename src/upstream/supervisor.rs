//! Supervises the server of a session: starts it at the first call, monitors it, restarts it by the
//! rules of `health`, restores its state, and ends it.

use std::{
    convert::Infallible,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value};
use tokio::{sync::watch, time::Instant};

use super::{
    client::{Client, OnProgress, RequestFailure, ToolResult},
    content::{self, LinkedFiles, PageObservations, SeenMessages},
    health::{Health, HealthEvent, HealthState, RestartPolicy},
    state::{ReplayReport, ServerTools, UpstreamState},
    upstreams::{RunningServer, Upstreams},
};
use crate::{
    config::UpstreamConfig,
    error::{ErrorCode, Result, TroupeError},
};

/// The unchanged result of a forwarded call, and its data for the record.
pub struct ForwardedResult {
    pub result: Value,
    /// The result as the server sent it, byte for byte.
    pub text: Box<str>,
    pub found: PageObservations,
}

/// The state of a server, for monitoring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamHealth {
    Asleep,
    Starting,
    Healthy,
    Unhealthy,
    Restarting,
    Degraded,
}

impl UpstreamHealth {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asleep => "asleep",
            Self::Starting => "starting",
            Self::Healthy => "healthy",
            Self::Unhealthy => "unhealthy",
            Self::Restarting => "restarting",
            Self::Degraded => "degraded",
        }
    }
}

#[derive(Clone)]
enum ServerStatus {
    /// It was not called yet.
    Asleep,
    Starting,
    Up(Arc<Client>),
    Unhealthy,
    Restarting,
    Degraded(TroupeError),
    Ended,
}

/// The server of a session.
pub struct Upstream {
    shared: Arc<Upstreams>,
    id: Arc<str>,
    /// The folder where it writes files.
    folder: PathBuf,
    status: watch::Sender<ServerStatus>,
    requested: watch::Sender<bool>,
    /// The running server. Stored here so that it can be ended even if the future that started it
    /// was dropped.
    running: tokio::sync::Mutex<Option<RunningServer>>,
    last_known: Mutex<LastKnownState>,
}

/// The last known pages and state of a server.
#[derive(Default)]
struct LastKnownState {
    state: UpstreamState,
    /// Whether the storage may have changed since it was last read.
    changed: bool,
    /// The number of the last console message.
    last_message: u64,
    seen_messages: SeenMessages,
    replayed: Option<ReplayReport>,
}

impl Upstream {
    pub(super) fn new(shared: Arc<Upstreams>, id: Arc<str>) -> Self {
        Self {
            folder: shared.folder(&id),
            shared,
            id,
            status: watch::Sender::new(ServerStatus::Asleep),
            requested: watch::Sender::new(false),
            running: tokio::sync::Mutex::default(),
            last_known: Mutex::default(),
        }
    }

    fn last_known(&self) -> MutexGuard<'_, LastKnownState> {
        self.last_known.lock()
    }

    pub(super) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns whether no call has started it yet.
    pub(super) fn is_asleep(&self) -> bool {
        !*self.requested.borrow() && matches!(*self.status.borrow(), ServerStatus::Asleep)
    }

    /// Sets the state to restore when it starts.
    pub fn restore(&self, state: UpstreamState) {
        self.last_known().state = state;
    }

    /// Calls a tool. Starts the server if it is not running.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        on_progress: OnProgress,
    ) -> Result<ForwardedResult> {
        let client = self.wait_callable().await?;
        let timeout = self.shared.config().call_timeout;
        let result = client.call_tool(tool, arguments, timeout, Some(on_progress)).await;
        let ToolResult { value: result, text } =
            result.map_err(|failure| self.failed(tool, failure))?;
        let files = LinkedFiles {
            folder: self.folder.clone(),
            base: self.shared.working_folder().to_owned(),
        };
        let mut last_message = self.last_known().last_message;
        let mut found = content::find(&result, &files, &mut last_message).await;
        let is_read_only =
            self.shared.known_tools().iter().any(|known| known.name == tool && known.read_only);
        let mut last_known = self.last_known();
        last_known.last_message = last_message;
        last_known.seen_messages.remove_seen(&mut found);
        last_known.state.update(std::mem::take(&mut found.urls));
        last_known.changed |= !is_read_only;
        drop(last_known);
        Ok(ForwardedResult { result, text, found })
    }

    /// Waits until the server can be called.
    async fn wait_callable(&self) -> Result<Arc<Client>> {
        self.requested.send_replace(true);
        let mut status = self.status.subscribe();
        let ready_state = status
            .wait_for(|status| {
                matches!(
                    status,
                    ServerStatus::Up(_) | ServerStatus::Degraded(_) | ServerStatus::Ended
                )
            })
            .await
            .map(|status| status.clone());
        match ready_state {
            Ok(ServerStatus::Up(client)) => Ok(client),
            Ok(ServerStatus::Degraded(error)) => Err(error),
            _ => Err(unavailable("the upstream server of this session has been ended")),
        }
    }

    /// Starts the server if it is not running, and returns what was restored of the saved state.
    pub async fn wake(&self) -> Result<ReplayReport> {
        self.wait_callable().await?;
        Ok(self.last_known().replayed.clone().unwrap_or_default())
    }

    /// Returns the last known state of the pages, without a query.
    pub fn last_known_state(&self) -> UpstreamState {
        self.last_known().state.clone()
    }

    /// Returns the state of the pages. Reads the storage if it may have changed.
    pub async fn read_state(&self) -> UpstreamState {
        let client_if_up = match &*self.status.borrow() {
            ServerStatus::Up(client) => Some(client.clone()),
            _ => None,
        };
        let storage_is_due = {
            let mut last_known = self.last_known();
            // A server without a page would open one to read the storage.
            let storage_is_due =
                last_known.changed && client_if_up.is_some() && !last_known.state.urls.is_empty();
            last_known.changed &= !storage_is_due;
            storage_is_due
        };
        if let Some(client) = client_if_up.filter(|_| storage_is_due)
            && let Some(storage) =
                self.server_tools(&client, &self.shared.known_tools()).read_storage().await
        {
            self.last_known().state.storage = Some(storage);
        }
        self.last_known_state()
    }

    fn server_tools<'a, T>(&'a self, client: &'a Client, tools: &'a [T]) -> ServerTools<'a, T> {
        ServerTools { client, tools, folder: &self.folder }
    }

    pub fn health(&self) -> UpstreamHealth {
        match &*self.status.borrow() {
            ServerStatus::Asleep | ServerStatus::Ended => UpstreamHealth::Asleep,
            ServerStatus::Starting => UpstreamHealth::Starting,
            ServerStatus::Up(_) => UpstreamHealth::Healthy,
            ServerStatus::Unhealthy => UpstreamHealth::Unhealthy,
            ServerStatus::Restarting => UpstreamHealth::Restarting,
            ServerStatus::Degraded(_) => UpstreamHealth::Degraded,
        }
    }

    /// Supervises the server from its first call on, until the session drops the future.
    pub async fn supervise(&self) -> Infallible {
        let _ = self.requested.subscribe().wait_for(|requested| *requested).await;
        let begun = Instant::now();
        let config = self.shared.config();
        let mut health = Health::new(RestartPolicy::from(config));
        let mut state = HealthState::Starting;
        let mut last_error = unavailable("the upstream server was not started");
        loop {
            let event = match state {
                HealthState::Starting => {
                    self.status.send_replace(ServerStatus::Starting);
                    match self.start().await {
                        Ok(client) => {
                            self.status.send_replace(ServerStatus::Up(client));
                            HealthEvent::Started
                        }
                        Err(error) => {
                            tracing::warn!(session = &*self.id, %error, "the upstream server could not be started");
                            last_error = error;
                            HealthEvent::Gone
                        }
                    }
                }
                HealthState::Healthy { .. } => match self.await_event().await {
                    HealthEvent::Gone => {
                        last_error = self.clean_up().await;
                        tracing::warn!(session = &*self.id, error = %last_error, "the upstream server has exited");
                        HealthEvent::Gone
                    }
                    event => event,
                },
                HealthState::Unhealthy => {
                    tracing::warn!(
                        session = &*self.id,
                        "the upstream server does not answer pings and is being ended"
                    );
                    self.status.send_replace(ServerStatus::Unhealthy);
                    last_error = unavailable(format!(
                        "the upstream server did not answer {} pings and was ended",
                        config.ping_misses
                    ));
                    self.end_running(Duration::ZERO).await;
                    HealthEvent::Gone
                }
                HealthState::Restarting { at } => {
                    let pause = at.saturating_sub(begun.elapsed());
                    tracing::warn!(session = &*self.id, ?pause, "the upstream server is restarted");
                    self.status.send_replace(ServerStatus::Restarting);
                    tokio::time::sleep_until(begun + at).await;
                    HealthEvent::Due
                }
                HealthState::Degraded { until } => {
                    let wait = until.saturating_sub(begun.elapsed());
                    tracing::warn!(
                        session = &*self.id,
                        ?wait,
                        "the upstream server fails repeatedly; restarts are paused"
                    );
                    self.status.send_replace(ServerStatus::Degraded(degraded(
                        config,
                        &last_error,
                        wait,
                    )));
                    tokio::time::sleep_until(begun + until).await;
                    HealthEvent::Due
                }
            };
            state = health.on(event, begun.elapsed());
        }
    }

    /// Starts the server, and restores its state.
    async fn start(&self) -> Result<Arc<Client>> {
        let running = match self.shared.take_spare(&self.id).await {
            Some(spare) => spare,
            None => self.shared.launch(&self.id).await?,
        };
        let client = running.client.clone();
        *self.running.lock().await = Some(running);
        let state = self.last_known_state();
        let replayed = self.server_tools(&client, &self.shared.known_tools()).replay(&state).await;
        let mut last_known = self.last_known();
        last_known.last_message = 0;
        last_known.seen_messages = SeenMessages::default();
        last_known.replayed = Some(replayed);
        Ok(client)
    }

    /// Waits for the next event of the running server.
    async fn await_event(&self) -> HealthEvent {
        let client = match &*self.status.borrow() {
            ServerStatus::Up(client) => client.clone(),
            _ => return HealthEvent::Gone,
        };
        let config = self.shared.config();
        let ping_due = tokio::time::sleep(config.ping_interval);
        tokio::pin!(ping_due);
        let mut listed = true;
        loop {
            tokio::select! {
                biased;
                () = client.gone().cancelled() => return HealthEvent::Gone,
                () = client.list_changed.notified() => listed = self.shared.refresh_tools(&client).await,
                () = &mut ping_due => {
                    let answered = client.ping(config.ping_timeout).await;
                    if client.gone().is_cancelled() {
                        return HealthEvent::Gone;
                    }
                    if !answered {
                        tracing::warn!(session = &*self.id, "the upstream server did not answer a ping");
                    }
                    if !listed {
                        // The server was busy: list again. A server that hangs is detected by its
                        // pings.
                        client.list_changed.notify_one();
                    }
                    return if answered { HealthEvent::Answered } else { HealthEvent::Missed };
                }
            }
        }
    }

    /// Ends the remaining processes of a server that died, and returns the error for its calls.
    async fn clean_up(&self) -> TroupeError {
        self.status.send_replace(ServerStatus::Restarting);
        let Some(running) = self.running.lock().await.take() else {
            return unavailable("the upstream server has ended");
        };
        running.end(async {}, Duration::ZERO, self.shared.config().term_timeout).await;
        unavailable(running.last_output().await)
    }

    async fn end_running(&self, timeout: Duration) {
        let Some(running) = self.running.lock().await.take() else { return };
        let client = running.client.clone();
        let tools = self.shared.known_tools();
        let asked = async {
            if let Err(failure) = self.server_tools(&client, &tools).close_browser().await {
                tracing::debug!(%failure, "the browser of the upstream server was not closed");
            }
        };
        running.end(asked, timeout, self.shared.config().term_timeout).await;
    }

    /// Ends the server normally: its browser, the server itself, and its child processes.
    pub async fn close(&self) {
        let before = self.status.send_replace(ServerStatus::Ended);
        if matches!(before, ServerStatus::Restarting | ServerStatus::Degraded(_))
            && self.shared.failure().is_some()
        {
            // Without this session, nothing else would detect when a server can be started again.
            self.shared.begin_start_attempts();
        }
        let spare = async {
            if let Some(spare) = self.shared.take_spare(&self.id).await {
                self.shared.end(&spare).await;
            }
        };
        tokio::join!(spare, self.end_running(self.shared.config().close_timeout));
        // Succeeds only if the folder is empty.
        let _ = tokio::fs::remove_dir(&self.folder).await;
    }

    fn failed(&self, tool: &str, failure: RequestFailure) -> TroupeError {
        match failure {
            RequestFailure::Refused { code, message, data } => {
                let kind =
                    if code == -32602 { ErrorCode::InvalidParameters } else { ErrorCode::InternalError };
                let mut upstream = serde_json::json!({"code": code});
                if let Some(data) = data {
                    upstream["data"] = data;
                }
                TroupeError::new(kind, format!("the upstream server refused `{tool}`: {message}"))
                    .detail("upstream", upstream)
            }
            RequestFailure::TimedOut(timeout) => TroupeError::new(
                ErrorCode::Timeout,
                format!(
                    "`{tool}` sent no result and no progress for {} ms; the call was canceled",
                    timeout.as_millis()
                ),
            )
            .detail("timeout", u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
            .suggestion("check what the call has done before you repeat it; --upstream-call-timeout sets the timeout"),
            gone @ RequestFailure::Gone => unavailable(format!("the upstream server did not answer: {gone}"))
                .detail("reason", "died")
                .suggestion("check whether the call took effect, then repeat it: the server is restarted and its state is restored"),
        }
    }
}

/// Returns the error of calls while restarts are paused, because too many starts have failed.
pub(super) fn degraded(config: &UpstreamConfig, last: &TroupeError, wait: Duration) -> TroupeError {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let retry_at = u64::try_from((now + wait).as_millis()).unwrap_or(u64::MAX);
    let failed = config.restarts + 1;
    unavailable(format!(
        "the upstream server has failed {failed} times; the last time: {}",
        last.message
    ))
    .detail("reason", "degraded")
    .detail("retryAt", retry_at)
    .suggestion("it is restarted automatically at `retryAt`; the log has its output")
}

pub(super) fn unavailable(message: impl Into<String>) -> TroupeError {
    TroupeError::new(ErrorCode::UpstreamUnavailable, message)
}
