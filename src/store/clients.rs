//! The clients of the HTTP servers that share a record, and the addresses of these servers.

use std::{
    future::pending,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

use super::{ServerPresence, Store};
use crate::error::Result;

/// Another server that shares the record, as it registered itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEndpoint {
    /// Its URL, without a path: `http://10.0.0.5:4000`.
    pub url: String,
    /// Proves that a request is from a server with access to the record.
    pub secret: String,
}

/// The server that serves a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientServer {
    /// This server.
    Own,
    Other(ServerEndpoint),
    /// No running server, or one without an address.
    Ended,
}

/// The duration of a server's lease. Equals the interval in `IS_RUNNING` (`postgres/servers.rs`).
const LEASE: Duration = Duration::from_secs(3);
/// The minimum time that a query waits for a database that does not respond.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// Waits for a server that cannot be reached, until its lease has expired.
pub struct UnreachableServerWait {
    deadline: Instant,
}

impl UnreachableServerWait {
    /// The pause between two attempts. No event tells when a lease expires.
    const PAUSE: Duration = Duration::from_millis(200);

    pub fn begin() -> Self {
        Self { deadline: Instant::now() + LEASE * 2 }
    }

    /// Waits before the next attempt. Returns false if the server should have been replaced by now.
    pub async fn pause(&self) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        tokio::time::sleep(Self::PAUSE).await;
        true
    }
}

/// How a server is registered with its heartbeat.
pub(super) struct Registration {
    /// The server can be reached there. `None` if it accepts no requests of others.
    pub own: Mutex<Option<ServerEndpoint>>,
    /// Notified when `own` changes, for a heartbeat at once.
    pub changed: Notify,
    /// How often another server has regarded this one as ended.
    pub losses: watch::Sender<u64>,
    /// When the last heartbeat was written.
    pub last_beat: watch::Sender<Instant>,
    /// When the server's row was inserted, as the last heartbeat returned it.
    row: Mutex<Option<i64>>,
}

impl Registration {
    /// Records when the server's row was inserted. If the row has been inserted again, another
    /// server had removed it.
    pub fn record_row(&self, inserted_at: i64) {
        let former = self.row.lock().replace(inserted_at);
        if former.is_some_and(|former| former != inserted_at) {
            self.losses.send_modify(|losses| *losses += 1);
        }
    }
}

impl Default for Registration {
    fn default() -> Self {
        Self {
            own: Mutex::default(),
            changed: Notify::new(),
            losses: watch::Sender::new(0),
            last_beat: watch::Sender::new(Instant::now()),
            row: Mutex::default(),
        }
    }
}

impl Store {
    fn registration(&self) -> Option<&Arc<Registration>> {
        match &self.0.presence {
            ServerPresence::Heartbeat(server) => Some(server.registration()),
            ServerPresence::None | ServerPresence::Lock(_) => None,
        }
    }

    /// Returns whether servers on several machines can share the record.
    pub fn is_shared(&self) -> bool {
        self.registration().is_some()
    }

    /// Registers the URL where other servers reach this one.
    pub fn register_url(&self, url: String) {
        if let Some(registration) = self.registration() {
            let secret = uuid::Uuid::new_v4().to_string();
            *registration.own.lock() = Some(ServerEndpoint { url, secret });
            registration.changed.notify_one();
        }
    }

    /// Returns the secret that requests of other servers contain; `None` if there are none.
    pub fn own_secret(&self) -> Option<String> {
        self.registration()?.own.lock().as_ref().map(|own| own.secret.clone())
    }

    /// Returns how often another server has regarded this one as ended. Since then it may have
    /// taken over clients and sessions.
    pub fn losses(&self) -> u64 {
        self.registration().map_or(0, |registration| *registration.losses.borrow())
    }

    /// Waits until another server has regarded this one as ended, and uses the session `id`.
    pub async fn wait_taken_over(&self, id: &str) {
        let Some(registration) = self.registration() else { return pending().await };
        let mut losses = registration.losses.subscribe();
        while losses.changed().await.is_ok() {
            let (id, own) = (id.to_owned(), self.0.server.clone());
            // After a failure, the next write to the session finds it.
            if let Ok(true) = self.read(move |tables| tables.is_taken_over(&id, &own)).await {
                return;
            }
        }
        pending().await
    }

    /// Waits until no heartbeat could be written for `limit`, and the lease has expired. Waits at
    /// least a second: this server may have been frozen. Never ends for a record on this machine.
    pub(super) fn wait_lease_expired(
        &self,
        limit: Duration,
    ) -> impl Future<Output = ()> + Send + use<> {
        let registration = self.registration().cloned();
        let started = Instant::now();
        async move {
            let Some(registration) = registration else { return pending().await };
            let mut beats = registration.last_beat.subscribe();
            loop {
                let silence = beats.borrow_and_update().elapsed();
                let left = limit.max(LEASE).saturating_sub(silence);
                let left = left.max(MIN_WAIT.saturating_sub(started.elapsed()));
                if left.is_zero() {
                    return;
                }
                let _ = tokio::time::timeout(left, beats.changed()).await;
            }
        }
    }

    /// Returns the running server that uses the session `id`, if it is another one with a URL.
    pub async fn server_of_session(&self, id: &str) -> Result<Option<ServerEndpoint>> {
        let (id, own) = (id.to_owned(), self.0.server.clone());
        self.read_within(LEASE, move |tables| tables.server_of_session(&id, &own)).await
    }

    /// Returns the server that serves the client `id`; `None` if there is no such client.
    pub async fn server_of_client(&self, id: &str) -> Result<Option<ClientServer>> {
        let (id, own) = (id.to_owned(), self.0.server.clone());
        self.read_within(LEASE, move |tables| tables.server_of_client(&id, &own)).await
    }

    /// Claims the client `id` for this server, unless another running server serves it. Returns
    /// its state.
    pub async fn claim_client(&self, id: &str) -> Result<Option<String>> {
        let (id, own) = (id.to_owned(), self.0.server.clone());
        self.change(move |tables| tables.claim_client(&id, &own)).await
    }

    /// Queues a write of the state of a client of this server. It is committed before the writes
    /// that are queued later.
    pub fn save_client(&self, id: &str, state: String) {
        let (id, own) = (id.to_owned(), self.0.server.clone());
        self.0.writer.queue(state.len(), move |tables| tables.write_client(&id, &state, &own));
    }

    /// Removes a client of this server.
    pub fn remove_client(&self, id: &str) {
        let (id, own) = (id.to_owned(), self.0.server.clone());
        self.0.writer.queue(0, move |tables| tables.remove_client(&id, &own));
    }
}
