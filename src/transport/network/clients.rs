//! The attached clients. A client is identified by its `Mcp-Session-Id`, which it sends with each
//! HTTP request, or when its WebSocket reconnects.
//!
//! If a client is idle for `--idle-timeout` and no call is running, its browser session is
//! suspended. The client keeps its id, and its next call resumes the session. A client is detached
//! after a day, or when a new client exceeds the limit. The client that is idle longest is detached
//! first.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{http::StatusCode, response::Response};
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::problem;
use crate::{
    config::Config,
    session::{Connection, SessionManager},
};

/// How long an absent client stays attached.
const CLIENT_RETENTION: Duration = Duration::from_secs(24 * 3600);
/// Timeout for the responses to canceled calls.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(300);
/// Timeout for the end of reading from a replaced WebSocket.
const READ_TIMEOUT: Duration = Duration::from_secs(1);

/// A client and its connections.
pub(super) struct AttachedClient {
    pub connection: Arc<Connection>,
    /// Canceled when the client is detached. Its calls then stop.
    pub ended: CancellationToken,
    /// Canceled when these calls have been answered. The client's streams then end.
    pub closed: CancellationToken,
    /// Responses that are being sent.
    pub pending_answers: TaskTracker,
    /// Number of messages that were read from its WebSockets. It is sent to a reconnecting client.
    pub messages_read: AtomicU64,
    /// The number of lost leases of this server when the record last said that this server serves
    /// the client.
    verified: AtomicU64,
    socket: Mutex<Option<ClientSocket>>,
}

/// The current WebSocket of a client.
#[derive(Clone)]
pub(super) struct ClientSocket {
    /// Canceled when another WebSocket replaces this one, or the client is detached.
    pub ended: CancellationToken,
    /// Canceled when the server has stopped reading from it.
    pub read_stopped: CancellationToken,
}

impl AttachedClient {
    /// Creates a client that is not attached yet. `stop` cancels its calls, `end` its streams.
    pub fn new(
        connection: Connection,
        stop: &CancellationToken,
        end: &CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection: Arc::new(connection),
            ended: stop.child_token(),
            closed: end.child_token(),
            pending_answers: TaskTracker::new(),
            messages_read: AtomicU64::new(0),
            verified: AtomicU64::new(0),
            socket: Mutex::default(),
        })
    }

    pub fn set_verified(&self, losses: u64) {
        self.verified.store(losses, Ordering::Release);
    }

    /// Cancels the calls of the client, and waits until they have been answered.
    async fn cancel_calls(&self) {
        self.ended.cancel();
        self.pending_answers.close();
        let _ = tokio::time::timeout(ANSWER_TIMEOUT, self.pending_answers.wait()).await;
    }

    /// Replaces the client's WebSocket. Returns when the former one is no longer read; `None` if
    /// that takes too long.
    pub async fn new_socket(&self) -> Option<ClientSocket> {
        let new = ClientSocket {
            ended: self.ended.child_token(),
            read_stopped: CancellationToken::new(),
        };
        let replaced = self.socket.lock().replace(new.clone());
        if let Some(replaced) = replaced {
            replaced.ended.cancel();
            tokio::time::timeout(READ_TIMEOUT, replaced.read_stopped.cancelled()).await.ok()?;
        }
        Some(new)
    }
}

/// The reason why a client cannot be attached.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum AttachError {
    /// The limit is reached, and all clients are present.
    #[error("the limit of {0} clients is reached; --max-connections sets it")]
    TooManyClients(usize),
    #[error("the server is stopping; try again when it is running again")]
    Draining,
}

impl AttachError {
    /// Returns the response to the client.
    pub fn response(&self) -> Response {
        let (status, code) = match self {
            Self::TooManyClients(_) => (StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_CLIENTS"),
            Self::Draining => (StatusCode::SERVICE_UNAVAILABLE, "STOPPING"),
        };
        problem(status, code, self.to_string())
    }
}

type ClientsById = HashMap<Arc<str>, Arc<AttachedClient>>;

/// The clients of a server.
pub(super) struct Clients {
    manager: Arc<SessionManager>,
    attached: Mutex<ClientsById>,
    limit: usize,
    idle_timeout: Duration,
    tasks: TaskTracker,
}

impl Clients {
    /// `tasks` owns the tasks that watch the clients.
    pub fn new(manager: Arc<SessionManager>, config: &Config, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            manager,
            attached: Mutex::default(),
            limit: config.max_connections,
            idle_timeout: config.idle_timeout,
            tasks,
        })
    }

    fn attached(&self) -> MutexGuard<'_, ClientsById> {
        self.attached.lock()
    }

    pub fn get(&self, id: &str) -> Option<Arc<AttachedClient>> {
        self.attached().get(id).cloned()
    }

    /// Returns the client `id`, unless another server may have taken it over.
    pub fn get_verified(&self, id: &str) -> Option<Arc<AttachedClient>> {
        let losses = self.manager.store().losses();
        self.get(id).filter(|client| client.verified.load(Ordering::Acquire) == losses)
    }

    /// Waits until the saved states of the clients are written.
    pub async fn flush(&self) {
        self.manager.store().flush().await;
    }

    pub fn count(&self) -> usize {
        self.attached().len()
    }

    /// Fails if no other client can be attached.
    pub fn check_capacity(&self) -> Result<(), AttachError> {
        self.select_evicted(&self.attached()).map(drop)
    }

    /// Returns the client that must be detached before another one is attached, if any.
    fn select_evicted(&self, attached: &ClientsById) -> Result<Option<Arc<str>>, AttachError> {
        if self.manager.is_draining() {
            return Err(AttachError::Draining);
        }
        if attached.len() < self.limit {
            return Ok(None);
        }
        let absent = attached
            .iter()
            .filter_map(|(id, client)| Some((client.connection.absent_since()?, id)));
        let longest = absent.min_by_key(|(since, _)| *since).map(|(_, id)| id.clone());
        longest.map(Some).ok_or(AttachError::TooManyClients(self.limit))
    }

    /// Removes the saved state of the client `id`. Called while the client is attached: a
    /// concurrent request would otherwise restore it from that state.
    fn forget(&self, id: &str, attached: &ClientsById) {
        if let Some(client) = attached.get(id) {
            client.connection.stop_saving();
            self.manager.store().remove_client(id);
        }
    }

    /// Attaches `client` under `id`. If the limit is reached, detaches the client that has been
    /// absent for longest. Attaches no client while the server stops.
    pub fn attach(
        self: &Arc<Self>,
        id: &Arc<str>,
        client: Arc<AttachedClient>,
    ) -> Result<(), AttachError> {
        let mut attached = self.attached();
        if let Some(evicted) = self.select_evicted(&attached)? {
            self.forget(&evicted, &attached);
            if let Some(evicted) = attached.remove(&evicted) {
                let clients = self.clone();
                self.tasks.spawn(async move { clients.end(&evicted).await });
            }
        }
        client.connection.attach();
        attached.insert(id.clone(), client.clone());
        drop(attached);
        let store = self.manager.store().clone();
        if store.is_shared() {
            let id = id.clone();
            client.connection.set_saver(Box::new(move |saved| {
                match serde_json::to_string(&saved) {
                    Ok(saved) => store.save_client(&id, saved),
                    Err(error) => tracing::warn!(%error, "the state of a client cannot be saved"),
                }
            }));
        }
        let (clients, id) = (self.clone(), id.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = clients.watch(&id, &client) => {}
                () = client.ended.cancelled() => {}
            }
        });
        Ok(())
    }

    /// Suspends the client's session when the client is idle, and detaches the client after
    /// `CLIENT_RETENTION`.
    async fn watch(self: &Arc<Self>, id: &str, client: &Arc<AttachedClient>) {
        loop {
            client.connection.wait_absent(self.idle_timeout).await;
            tracing::debug!(id, "the client is idle");
            // A task, so that it completes even if the client is detached meanwhile.
            let (connection, manager) = (client.connection.clone(), self.manager.clone());
            let _ = self.tasks.spawn(async move { connection.suspend(&manager).await }).await;
            if tokio::time::timeout(CLIENT_RETENTION, client.connection.wait_present())
                .await
                .is_err()
            {
                // In another task, because this one ends with the client.
                let (clients, id) = (self.clone(), id.to_owned());
                self.tasks.spawn(async move { clients.detach(&id).await });
                return;
            }
        }
    }

    /// Detaches the client `id` and ends its sessions. Returns false if there is no such client.
    pub async fn detach(&self, id: &str) -> bool {
        self.forget(id, &self.attached());
        self.give_up(id).await
    }

    /// Like `detach`, for a client that another server serves.
    pub async fn give_up(&self, id: &str) -> bool {
        let client = self.attached().remove(id);
        match client {
            Some(client) => {
                self.end(&client).await;
                true
            }
            None => false,
        }
    }

    /// Cancels the calls of all clients, and waits until they have been answered.
    pub async fn cancel_calls(&self) {
        let all: Vec<_> = self.attached().values().cloned().collect();
        join_all(all.iter().map(|client| client.cancel_calls())).await;
    }

    /// Detaches every client.
    pub async fn detach_all(&self) {
        let all: Vec<_> = self.attached().drain().map(|(_, client)| client).collect();
        join_all(all.iter().map(|client| self.end(client))).await;
    }

    async fn end(&self, client: &AttachedClient) {
        client.cancel_calls().await;
        client.connection.end(&self.manager).await;
        client.closed.cancel();
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use super::*;
    use crate::{
        session::SystemClock,
        tools::{Invocation, Registry},
    };

    struct TestClients {
        registry: Registry,
        clients: Arc<Clients>,
    }

    fn test(limit: usize) -> TestClients {
        let config = Arc::new(Config { max_connections: limit, ..Config::default() });
        let registry = Registry::in_memory(config.clone(), Arc::new(SystemClock)).unwrap();
        let clients = Clients::new(registry.manager().clone(), &config, TaskTracker::new());
        TestClients { registry, clients }
    }

    impl TestClients {
        fn attach(&self, id: &str) -> Result<Arc<AttachedClient>, AttachError> {
            let client = AttachedClient::new(
                Connection::default(),
                &CancellationToken::new(),
                &CancellationToken::new(),
            );
            self.clients.attach(&id.into(), client.clone())?;
            Ok(client)
        }

        fn sessions(&self) -> usize {
            self.registry.manager().list().len()
        }

        async fn call(&self, client: &AttachedClient) {
            let _present = client.connection.mark_present();
            let call = Invocation::new(
                client.connection.clone(),
                "pages",
                serde_json::json!({"action": "list"}),
            );
            self.registry.call(call).await.unwrap().result.unwrap();
        }
    }

    /// Lets other ready tasks run.
    async fn run_ready_tasks() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_absent_client_loses_its_session_and_keeps_its_id() {
        let test = test(10);
        let client = test.attach("one").unwrap();
        for _ in 0..3 {
            test.call(&client).await;
            assert_eq!(test.sessions(), 1);
            tokio::time::sleep(Duration::from_secs(59)).await;
            run_ready_tasks().await;
            assert_eq!(test.sessions(), 1, "the retention time has not passed");
            test.call(&client).await;
            tokio::time::sleep(Duration::from_secs(61)).await;
            run_ready_tasks().await;
            assert_eq!(test.sessions(), 0);
            assert!(test.clients.get("one").is_some());
        }
        tokio::time::sleep(CLIENT_RETENTION * 2).await;
        run_ready_tasks().await;
        assert!(test.clients.get("one").is_none());
        assert!(client.closed.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_with_a_running_call_is_never_suspended() {
        let test = test(10);
        let client = test.attach("one").unwrap();
        test.call(&client).await;
        let call = client.connection.mark_present();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        run_ready_tasks().await;
        assert_eq!(test.sessions(), 1);
        drop(call);
        tokio::time::sleep(Duration::from_secs(61)).await;
        run_ready_tasks().await;
        assert_eq!(test.sessions(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_client_that_is_absent_longest_is_detached_at_the_limit() {
        let test = test(2);
        let first = test.attach("first").unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let second = test.attach("second").unwrap();
        let presence = first.connection.mark_present();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let third = test.attach("third").unwrap();
        assert!(test.clients.get("first").is_some() && test.clients.get("second").is_none());
        run_ready_tasks().await;
        assert!(second.ended.is_cancelled());
        let _presence = third.connection.mark_present();
        assert!(test.attach("fourth").is_err());
        drop(presence);
        assert!(test.attach("fourth").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn detaching_a_client_ends_its_session() {
        let test = test(2);
        let client = test.attach("one").unwrap();
        test.call(&client).await;
        assert!(test.clients.detach("one").await);
        assert_eq!(test.sessions(), 0);
        assert!(client.ended.is_cancelled() && client.closed.is_cancelled());
        assert!(!test.clients.detach("one").await);
        // A late call of the client creates no other session.
        let late = Invocation::new(
            client.connection.clone(),
            "pages",
            serde_json::json!({"action": "list"}),
        );
        assert!(test.registry.call(late).await.unwrap().result.is_err());
        assert_eq!(test.sessions(), 0);
    }
}
