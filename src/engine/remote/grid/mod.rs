//! Starts browsers in a Selenium Grid. Each browser is a session of the Grid and occupies a slot.
//!
//! A task owns each session. It keeps the session alive, and deletes it when its browser is no
//! longer needed. A request for a session also runs in a task, because its caller can be canceled
//! while the request is in the Grid's queue. The next caller then gets the session.

mod client;
mod files;
mod slot_record;

use std::{path::PathBuf, pin::pin, sync::Arc, time::Duration};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

pub(in crate::engine) use self::files::GridFiles;
use self::{
    client::{DOWNLOADS_CAPABILITY, GridClient, GridProperties, QUEUE_TIMEOUT},
    files::FileAccess,
    slot_record::{SlotNote, SlotRecord},
};
use super::{RemoteProtocol, connect_failure::RemoteConnectFailure};
use crate::{
    config::{self, BrowserKind, Config},
    engine::connection::{AttachFailure, BrowserAddress},
};

/// Timeout for the end of sessions when the server stops.
const END_TIMEOUT: Duration = Duration::from_millis(1500);
/// Interval of the commands that keep a session alive, if the Grid's timeout is unknown.
const DEFAULT_KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(60);
/// Number of consecutive failed commands after which the browser counts as lost.
const MAX_FAILURES: u32 = 3;
/// Time after which a session that no caller has taken is deleted.
const UNCLAIMED_TIMEOUT: Duration = Duration::from_secs(60);
/// The pause between two attempts to delete a session.
const RETRY_PAUSE: Duration = Duration::from_secs(5);
const MAX_DELETE_ATTEMPTS: u32 = 5;
/// Maximum number of files that are transferred at the same time.
const MAX_TRANSFERS: usize = 2;

/// Creates and deletes the sessions of a Selenium Grid.
pub(super) struct GridSessions {
    config: Arc<Config>,
    /// The folder of the slot records.
    folder: Option<PathBuf>,
    pending: Mutex<Option<Arc<PendingSession>>>,
    stopped: CancellationToken,
    tasks: TaskTracker,
    transfers: Arc<Semaphore>,
}

/// A request for a session.
#[derive(Default)]
struct PendingSession {
    outcome: Mutex<Option<Result<GridSession, RemoteConnectFailure>>>,
    is_done: CancellationToken,
}

/// A session of the Grid. Its [`SlotOwner`] deletes it when the lease is dropped.
pub(super) struct GridSession {
    /// The address of the protocol connection.
    pub socket: BrowserAddress,
    pub capabilities: Map<String, Value>,
    pub lease: SlotLease,
    pub files: FileAccess,
}

/// An occupied slot, which is released when the lease is dropped.
pub(super) struct SlotLease {
    _release: DropGuard,
    /// Canceled when the Grid has ended the session.
    pub evicted: CancellationToken,
    /// Canceled when the session is deleted, or when the timeout for its deletion has passed.
    pub ended: CancellationToken,
}

impl GridSessions {
    /// Returns `None` if the configuration names no Grid.
    pub fn of(config: &Arc<Config>) -> Option<Arc<Self>> {
        config.grid()?;
        Some(Arc::new(Self {
            folder: config.grid_folder(),
            config: config.clone(),
            pending: Mutex::default(),
            stopped: CancellationToken::new(),
            tasks: TaskTracker::new(),
            transfers: Arc::new(Semaphore::new(MAX_TRANSFERS)),
        }))
    }

    /// Prevents further sessions.
    pub fn stop(&self) {
        self.stopped.cancel();
    }

    /// Waits until the sessions are deleted, up to `END_TIMEOUT`.
    pub async fn end(&self) {
        self.stopped.cancel();
        self.tasks.close();
        let _ = tokio::time::timeout(END_TIMEOUT, self.tasks.wait()).await;
    }

    /// Returns whether a request is in the queue of the Grid.
    pub fn is_waiting(&self) -> bool {
        self.pending.lock().as_ref().is_some_and(|pending| !pending.is_done.is_cancelled())
    }

    /// Ends the sessions that earlier servers left when they were killed.
    pub fn end_orphaned_browsers(self: &Arc<Self>) {
        let Some(folder) = self.folder.clone() else { return };
        let grid = self.clone();
        self.tasks.spawn(async move {
            let ending = async {
                let client = grid.client()?;
                let shown = client.redacted_url.clone();
                let search = move || SlotRecord::leftovers(&folder, &shown);
                let found = tokio::task::spawn_blocking(search).await.unwrap_or_default();
                let ends = found.into_iter().map(|record| end_leftover(&client, record));
                futures_util::future::join_all(ends).await;
                Ok::<(), AttachFailure>(())
            };
            tokio::select! {
                _ = ending => {}
                () = grid.stopped.cancelled() => {}
            }
        });
    }

    /// Returns the next session. If the caller is canceled, the next caller gets the session.
    pub async fn next(
        self: &Arc<Self>,
        protocol: RemoteProtocol,
    ) -> Result<GridSession, RemoteConnectFailure> {
        loop {
            let pending = {
                let mut pending = self.pending.lock();
                pending.get_or_insert_with(|| self.request(protocol)).clone()
            };
            pending.is_done.cancelled().await;
            let mut current = self.pending.lock();
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &pending)) {
                *current = None;
            }
            if let Some(outcome) = pending.outcome.lock().take() {
                return outcome;
            }
        }
    }

    /// Starts a request for a session.
    fn request(self: &Arc<Self>, protocol: RemoteProtocol) -> Arc<PendingSession> {
        let (grid, pending) = (self.clone(), Arc::<PendingSession>::default());
        let answered = pending.clone();
        self.tasks.spawn(async move {
            let stopping = async {
                grid.stopped.cancelled().await;
                tokio::time::sleep(END_TIMEOUT).await;
            };
            tokio::select! {
                outcome = grid.create(protocol) => *answered.outcome.lock() = Some(outcome),
                () = stopping => {}
            }
            answered.is_done.cancel();
            tokio::select! {
                () = tokio::time::sleep(UNCLAIMED_TIMEOUT) => {}
                () = grid.stopped.cancelled() => {}
            }
            let unclaimed = answered.outcome.lock().take();
            drop(unclaimed);
        });
        pending
    }

    fn client(&self) -> Result<GridClient, AttachFailure> {
        GridClient::new(self.config.grid().unwrap_or_default(), &self.config.browser_headers)
    }

    async fn create(
        self: &Arc<Self>,
        protocol: RemoteProtocol,
    ) -> Result<GridSession, RemoteConnectFailure> {
        let client = Arc::new(self.client()?);
        // Fails before a record is written if the Grid cannot be reached.
        let properties = client.properties().await.map_err(|failure| {
            let reason = format!(
                "no Selenium Grid responds at `{}`: {}",
                client.redacted_url, failure.reason
            );
            AttachFailure { reason, ..failure }
        })?;
        let request = uuid::Uuid::new_v4().simple().to_string();
        let mut record =
            self.record(SlotNote::new(client.redacted_url.clone(), request.clone())).await;
        let capabilities = self.capabilities(protocol, &properties);
        let keeps_downloads = capabilities.get(DOWNLOADS_CAPABILITY) == Some(&json!(true));
        let created = match client.create(capabilities, &request).await {
            Ok(created) => created,
            Err(failure) => {
                match record {
                    // Keeps the file: the Grid may have created a session before the connection
                    // failed.
                    Some(record) if !failure.is_permanent() => drop(record),
                    record => remove(record).await,
                }
                return Err(failure);
            }
        };
        if let Some(locked) = record.take() {
            record = write_session(locked, created.id.clone()).await;
        }
        tracing::info!(
            grid = client.redacted_url,
            session = created.id,
            "the Grid has started a browser"
        );
        let released = CancellationToken::new();
        let lease = SlotLease {
            _release: released.clone().drop_guard(),
            evicted: CancellationToken::new(),
            ended: CancellationToken::new(),
        };
        let owner = SlotOwner {
            client: client.clone(),
            id: created.id.clone(),
            stopped: self.stopped.clone(),
            released,
            evicted: lease.evicted.clone(),
            ended: lease.ended.clone(),
        };
        let interval = match properties.session_timeout {
            Some(timeout) => timeout / 3,
            None => DEFAULT_KEEP_ALIVE_INTERVAL,
        };
        self.tasks.spawn(owner.run(interval, record));
        let (name, hint) = match protocol {
            RemoteProtocol::Cdp => ("se:cdp", "the node needs a Chromium browser with CDP"),
            RemoteProtocol::Bidi => {
                ("webSocketUrl", "the node needs a Firefox with WebDriver BiDi")
            }
        };
        let url = created.capabilities.get(name).and_then(Value::as_str).ok_or_else(|| {
            let reason =
                format!("the Selenium Grid `{}` returned no `{name}`", client.redacted_url);
            AttachFailure { suggestion: Some(hint.to_owned()), ..AttachFailure::new(reason) }
        })?;
        Ok(GridSession {
            socket: client.websocket(url)?,
            capabilities: created.capabilities,
            lease,
            files: FileAccess {
                client,
                session: created.id,
                keeps_downloads,
                transfers: self.transfers.clone(),
            },
        })
    }

    /// Creates the record of a request. Without it, the session stays open after `kill -9`.
    async fn record(&self, note: SlotNote) -> Option<SlotRecord> {
        let folder = self.folder.clone()?;
        let create = move || SlotRecord::create(&folder, note);
        match tokio::task::spawn_blocking(create).await.ok()? {
            Ok(record) => Some(record),
            Err(error) => {
                tracing::warn!(%error, "cannot record a session of the Grid; after a crash of this server it stays open until the Grid's timeout");
                None
            }
        }
    }

    fn capabilities(
        &self,
        protocol: RemoteProtocol,
        properties: &GridProperties,
    ) -> Map<String, Value> {
        let name = match self.config.browser {
            BrowserKind::Firefox => "firefox",
            BrowserKind::MsEdge => "MicrosoftEdge",
            BrowserKind::Chromium | BrowserKind::Chrome | BrowserKind::Webkit => "chrome",
        };
        let mut capabilities = Map::new();
        capabilities.insert("browserName".to_owned(), json!(name));
        if protocol == RemoteProtocol::Bidi {
            capabilities.insert("webSocketUrl".to_owned(), json!(true));
            // Troupe itself answers all dialogs.
            capabilities.insert("unhandledPromptBehavior".to_owned(), json!("ignore"));
        }
        if properties.manages_downloads(name) {
            capabilities.insert(DOWNLOADS_CAPABILITY.to_owned(), json!(true));
        }
        let configured = self.config.grid_capabilities.iter();
        for (key, value) in configured.filter_map(|text| config::capability(text)) {
            capabilities.insert(key.to_owned(), value);
        }
        capabilities
    }
}

/// The task that owns a session of the Grid.
struct SlotOwner {
    client: Arc<GridClient>,
    id: String,
    stopped: CancellationToken,
    released: CancellationToken,
    evicted: CancellationToken,
    ended: CancellationToken,
}

impl SlotOwner {
    /// Keeps the session alive until it is released, and deletes it.
    async fn run(self, interval: Duration, record: Option<SlotRecord>) {
        tokio::select! {
            () = self.released.cancelled() => {}
            () = self.keep_alive(interval) => {
                self.evicted.cancel();
                self.released.cancelled().await;
            }
        }
        let mut deleting = pin!(self.delete());
        let is_deleted = match tokio::time::timeout(END_TIMEOUT, &mut deleting).await {
            Ok(is_deleted) => is_deleted,
            Err(_) => {
                self.ended.cancel();
                deleting.await
            }
        };
        if is_deleted {
            remove(record).await;
        }
        self.ended.cancel();
    }

    /// Sends keep-alive commands. Returns when the session no longer exists, or when the Grid
    /// cannot be reached.
    async fn keep_alive(&self, interval: Duration) {
        let mut failures = 0;
        while failures < MAX_FAILURES {
            tokio::time::sleep(interval).await;
            match self.client.keep_alive(&self.id).await {
                Ok(true) => failures = 0,
                Ok(false) => break,
                Err(failure) => {
                    failures += 1;
                    tracing::warn!(
                        reason = failure.reason,
                        "cannot keep a session of the Grid alive"
                    );
                }
            }
        }
        tracing::warn!(
            session = self.id,
            "lost a session of the Grid: it was deleted, or the Grid cannot be reached"
        );
    }

    /// Deletes the session. Returns whether it no longer exists.
    async fn delete(&self) -> bool {
        for attempt in 1..=MAX_DELETE_ATTEMPTS {
            match self.client.delete(&self.id).await {
                Ok(()) => return true,
                Err(failure) => tracing::warn!(
                    reason = failure.reason,
                    session = self.id,
                    "cannot delete a session of the Grid"
                ),
            }
            if attempt == MAX_DELETE_ATTEMPTS || self.stopped.is_cancelled() {
                break;
            }
            tokio::select! {
                () = tokio::time::sleep(RETRY_PAUSE) => {}
                () = self.stopped.cancelled() => {}
            }
        }
        false
    }
}

/// Deletes the session of a server that was killed. If the server was killed during the request,
/// searches for the session until the request can no longer be in the queue of the Grid.
async fn end_leftover(client: &GridClient, record: SlotRecord) {
    let id = match &record.note.session {
        Some(id) => Some(id.clone()),
        None => loop {
            match client.find_session(&record.note.request).await {
                Ok(Some(id)) => break Some(id),
                Ok(None) if record.note.age() >= QUEUE_TIMEOUT => break None,
                Ok(None) => {}
                Err(_) => return,
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        },
    };
    if let Some(id) = id {
        if let Err(failure) = client.delete(&id).await {
            tracing::warn!(
                reason = failure.reason,
                session = id,
                "cannot delete a leftover session of the Grid"
            );
            return;
        }
        tracing::info!(
            grid = client.redacted_url,
            session = id,
            "ended a leftover session of the Grid"
        );
    }
    remove(Some(record)).await;
}

async fn write_session(mut record: SlotRecord, id: String) -> Option<SlotRecord> {
    let write = move || {
        if let Err(error) = record.set_session(id) {
            tracing::warn!(%error, "cannot record the id of a session of the Grid");
        }
        record
    };
    tokio::task::spawn_blocking(write).await.ok()
}

async fn remove(record: Option<SlotRecord>) {
    let Some(record) = record else { return };
    if let Ok(Err(error)) = tokio::task::spawn_blocking(move || record.remove()).await {
        tracing::warn!(%error, "cannot remove the record of a session of the Grid");
    }
}
