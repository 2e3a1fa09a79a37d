//! The attached clients, by the id that the client sends with each request: an `Mcp-Session-Id`, or the id of a
//! WebSocket that can reconnect.
//!
//! The browser session of a client that is idle for `--idle-timeout` with no running call is suspended. The client
//! keeps its id, and its next call resumes the session. Clients are forgotten only when there are too many, those
//! that are idle longest first.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::AtomicU64},
    time::Duration,
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::Config,
    session::{Connection, SessionManager},
};

/// How long a client that has gone is remembered.
const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// How long the answers to cancelled calls may take on their way.
const LAST_ANSWERS: Duration = Duration::from_millis(300);
/// How long it may take until nothing is read from a WebSocket that another has replaced.
const LAST_READ: Duration = Duration::from_secs(1);

/// A client that is attached.
pub(super) struct Client {
    pub connection: Arc<Connection>,
    /// Cancelled when it is detached: its calls stop.
    pub over: CancellationToken,
    /// Cancelled a little later, when they have been answered: its streams end.
    pub closed: CancellationToken,
    /// Answers that are on their way.
    pub answers: TaskTracker,
    /// Number of messages read from its WebSockets, which a reconnecting client gets.
    pub read: AtomicU64,
    socket: Mutex<Option<Socket>>,
}

/// The WebSocket that a client has now.
#[derive(Clone)]
pub(super) struct Socket {
    /// Cancelled when another takes its place, or it is over.
    pub over: CancellationToken,
    /// Cancelled when nothing is read from it any more.
    pub unread: CancellationToken,
}

impl Client {
    /// A client that is not attached yet; its calls stop with `stop` at the latest, its streams with `end`.
    pub fn new(
        connection: Connection,
        stop: &CancellationToken,
        end: &CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            connection: Arc::new(connection),
            over: stop.child_token(),
            closed: end.child_token(),
            answers: TaskTracker::new(),
            read: AtomicU64::new(0),
            socket: Mutex::default(),
        })
    }

    /// Cancels its calls, and waits until they have been answered.
    async fn cancel_calls(&self) {
        self.over.cancel();
        self.answers.close();
        let _ = tokio::time::timeout(LAST_ANSWERS, self.answers.wait()).await;
    }

    /// A WebSocket in the place of the one before, from which nothing is read any more when this returns; `None` where
    /// that takes too long.
    pub async fn new_socket(&self) -> Option<Socket> {
        let new = Socket { over: self.over.child_token(), unread: CancellationToken::new() };
        let before = self.socket.lock().replace(new.clone());
        if let Some(before) = before {
            before.over.cancel();
            tokio::time::timeout(LAST_READ, before.unread.cancelled()).await.ok()?;
        }
        Some(new)
    }
}

/// No more clients can be attached: all are there.
#[derive(Debug, Clone, thiserror::Error)]
#[error("all {0} places for clients are taken; --max-connections sets how many there are")]
pub(super) struct TooMany(usize);

/// The clients of a server.
pub(super) struct Clients {
    manager: Arc<SessionManager>,
    attached: Mutex<HashMap<Arc<str>, Arc<Client>>>,
    limit: usize,
    idle_timeout: Duration,
    tasks: TaskTracker,
}

impl Clients {
    /// `tasks` owns what watches over the clients.
    pub fn new(manager: Arc<SessionManager>, config: &Config, tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            manager,
            attached: Mutex::default(),
            limit: config.max_connections,
            idle_timeout: config.idle_timeout,
            tasks,
        })
    }

    fn attached(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Client>>> {
        self.attached.lock()
    }

    pub fn get(&self, id: &str) -> Option<Arc<Client>> {
        self.attached().get(id).cloned()
    }

    pub fn count(&self) -> usize {
        self.attached().len()
    }

    /// Gives `client` the name `id`; where there is no place, the client goes that is away longest.
    pub fn attach(self: &Arc<Self>, id: &Arc<str>, client: Arc<Client>) -> Result<(), TooMany> {
        let mut attached = self.attached();
        if attached.len() >= self.limit {
            let away = attached
                .iter()
                .filter_map(|(id, client)| Some((client.connection.absent_since()?, id)));
            let longest = away.min_by_key(|(since, _)| *since).map(|(_, id)| id.clone());
            let gone = longest.and_then(|id| attached.remove(&id)).ok_or(TooMany(self.limit))?;
            let clients = self.clone();
            self.tasks.spawn(async move { clients.end(&gone).await });
        }
        client.connection.attach();
        attached.insert(id.clone(), client.clone());
        drop(attached);
        let (clients, id) = (self.clone(), id.clone());
        self.tasks.spawn(async move {
            tokio::select! {
                () = clients.watch(&id, &client) => {}
                () = client.over.cancelled() => {}
            }
        });
        Ok(())
    }

    /// Puts the client's session to rest when the client is away, and forgets it at last.
    async fn watch(self: &Arc<Self>, id: &str, client: &Arc<Client>) {
        loop {
            client.connection.absent_for(self.idle_timeout).await;
            tracing::debug!(id, "the client is idle");
            // To its end, also where the client is detached meanwhile.
            let (connection, manager) = (client.connection.clone(), self.manager.clone());
            let _ = self.tasks.spawn(async move { connection.suspend(&manager).await }).await;
            if tokio::time::timeout(REMEMBERED, client.connection.present()).await.is_err() {
                // Not by this task, which ends with the client.
                let (clients, id) = (self.clone(), id.to_owned());
                self.tasks.spawn(async move { clients.detach(&id).await });
                return;
            }
        }
    }

    /// Ends the client `id` with all that is its own; false where there is none.
    pub async fn detach(&self, id: &str) -> bool {
        let client = self.attached().remove(id);
        match client {
            Some(client) => {
                self.end(&client).await;
                true
            }
            None => false,
        }
    }

    /// Cancels all calls, and waits until they have been answered.
    pub async fn cancel_calls(&self) {
        let all: Vec<_> = self.attached().values().cloned().collect();
        join_all(all.iter().map(|client| client.cancel_calls())).await;
    }

    /// Ends every client.
    pub async fn detach_all(&self) {
        let all: Vec<_> = self.attached().drain().map(|(_, client)| client).collect();
        join_all(all.iter().map(|client| self.end(client))).await;
    }

    async fn end(&self, client: &Client) {
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

    struct World {
        registry: Registry,
        clients: Arc<Clients>,
    }

    fn world(limit: usize) -> World {
        let config = Arc::new(Config { max_connections: limit, ..Config::default() });
        let registry = Registry::in_memory(config.clone(), Arc::new(SystemClock)).unwrap();
        let clients = Clients::new(registry.manager().clone(), &config, TaskTracker::new());
        World { registry, clients }
    }

    impl World {
        fn attach(&self, id: &str) -> Result<Arc<Client>, TooMany> {
            let client = Client::new(
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

        async fn call(&self, client: &Client) {
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
    async fn turn() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_away_loses_its_session_and_keeps_its_id() {
        let world = world(10);
        let client = world.attach("one").unwrap();
        for _ in 0..3 {
            world.call(&client).await;
            assert_eq!(world.sessions(), 1);
            tokio::time::sleep(Duration::from_secs(59)).await;
            turn().await;
            assert_eq!(world.sessions(), 1, "a minute is not over");
            world.call(&client).await;
            tokio::time::sleep(Duration::from_secs(61)).await;
            turn().await;
            assert_eq!(world.sessions(), 0);
            assert!(world.clients.get("one").is_some());
        }
        tokio::time::sleep(REMEMBERED * 2).await;
        turn().await;
        assert!(world.clients.get("one").is_none());
        assert!(client.closed.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_with_a_call_that_runs_is_never_cut_off() {
        let world = world(10);
        let client = world.attach("one").unwrap();
        world.call(&client).await;
        let call = client.connection.mark_present();
        tokio::time::sleep(Duration::from_secs(3600)).await;
        turn().await;
        assert_eq!(world.sessions(), 1);
        drop(call);
        tokio::time::sleep(Duration::from_secs(61)).await;
        turn().await;
        assert_eq!(world.sessions(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_one_that_is_away_longest_makes_room() {
        let world = world(2);
        let first = world.attach("first").unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let second = world.attach("second").unwrap();
        let there = first.connection.mark_present();
        tokio::time::sleep(Duration::from_secs(1)).await;
        let third = world.attach("third").unwrap();
        assert!(world.clients.get("first").is_some() && world.clients.get("second").is_none());
        turn().await;
        assert!(second.over.is_cancelled());
        let _held = third.connection.mark_present();
        assert!(world.attach("fourth").is_err());
        drop(there);
        assert!(world.attach("fourth").is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_detached_takes_the_session_along() {
        let world = world(2);
        let client = world.attach("one").unwrap();
        world.call(&client).await;
        assert!(world.clients.detach("one").await);
        assert_eq!(world.sessions(), 0);
        assert!(client.over.is_cancelled() && client.closed.is_cancelled());
        assert!(!world.clients.detach("one").await);
        // Nor does a call that was on its way bring another.
        let late = Invocation::new(
            client.connection.clone(),
            "pages",
            serde_json::json!({"action": "list"}),
        );
        assert!(world.registry.call(late).await.unwrap().result.is_err());
        assert_eq!(world.sessions(), 0);
    }
}
