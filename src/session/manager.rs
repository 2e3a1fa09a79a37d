//! Makes, finds, expires and ends sessions. How a session lives between its making and its end is its backend's; how one
//! comes back is told in `former`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    backend::{Backend, Birth},
    clock::Clock,
    connection::Connection,
    ended::{EndReason, Ended},
    keeper::Keeper,
    memory,
    owners::Owners,
    session::{Identity, Readiness, Session},
    storage_state::StorageState,
};
use crate::{
    config::{Config, ContextConfig},
    error::{ErrorCode, Result, TroupeError},
    policy::{redaction::Secrets, vault::Vault},
    store::{NewSession, SessionState, Store},
};

/// How often one looks whether there is memory again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// What downloads still write must not hold up the server's end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// What a new session has of its own; the rest is the configuration's.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    pub context: Option<ContextConfig>,
    /// Instead of the file that the configuration names.
    pub storage_state: Option<StorageState>,
}

/// The sessions of a server.
pub struct SessionManager {
    pub(super) config: Arc<Config>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: Store,
    /// What clients type by name, or why it cannot be read.
    vault: Result<Arc<Vault>>,
    state: Mutex<State>,
    pub(super) owners: Owners,
    pub(super) places: Arc<Semaphore>,
    /// Held while a session is brought back: it is there once.
    pub(super) resuming: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

#[derive(Default)]
struct State {
    sessions: HashMap<Arc<str>, Arc<Session>>,
    ended: Ended,
}

impl SessionManager {
    pub fn new(
        config: Arc<Config>,
        backend: Arc<dyn Backend>,
        clock: Arc<dyn Clock>,
        store: Store,
    ) -> Arc<Self> {
        // A profile that stays can be one session's only.
        let places = if config.user_data_dir.is_some() { 1 } else { config.max_sessions };
        Arc::new(Self {
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            vault: Vault::open(&config).map(Arc::new),
            config,
            backend,
            clock,
            store,
            state: Mutex::default(),
            owners: Owners::default(),
            resuming: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// The secrets that clients type by name.
    pub fn vault(&self) -> Result<Arc<Vault>> {
        self.vault.clone()
    }

    /// What a new session must not write. A vault that cannot be read has stopped the start.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.vault.clone().unwrap_or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the browser if none runs; upstream servers are started when they are called.
    pub async fn initialize(&self) -> Result<()> {
        self.backend.clone().start().await
    }

    /// Starts the browser in the background; a failure is told by the first call that needs it.
    pub fn prepare(self: &Arc<Self>) {
        let manager = self.clone();
        self.tasks.spawn(async move {
            let stop = manager.stop.clone();
            tokio::select! {
                started = manager.initialize() => {
                    if let Err(error) = started {
                        tracing::warn!(%error, "the browser is not there yet; calls will try again");
                    }
                }
                () = stop.cancelled() => {}
            }
        });
    }

    /// Why no browser, or no upstream server, could be started when one was last wanted.
    pub fn browser_failure(&self) -> Option<TroupeError> {
        self.backend.failure()
    }

    /// Makes a session that any client may use who knows its id, until it expires.
    pub async fn create(self: &Arc<Self>, options: CreateOptions) -> Result<Arc<Session>> {
        let place = self.place().await?;
        let session = self.new_session(place, true, options);
        session.run(async { Ok(()) }).await?;
        Ok(session)
    }

    /// As `create`, without waiting for a place or for the browser: calls to it wait.
    pub(super) fn create_own(self: &Arc<Self>) -> Result<Arc<Session>> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| self.full())?;
        Ok(self.new_session(place, false, CreateOptions::default()))
    }

    fn new_session(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        expires: bool,
        options: CreateOptions,
    ) -> Arc<Session> {
        let now = self.clock.now();
        let identity = Identity {
            id: self.backend.next_id(),
            created_at: now,
            lives_from: expires.then_some(now),
            options: options.context.unwrap_or_else(|| self.config.context.clone()),
        };
        self.register(place, identity, Keeper::default(), Birth::New(options.storage_state))
    }

    /// A place for one more session, and memory for it.
    pub(super) async fn place(&self) -> Result<OwnedSemaphorePermit> {
        self.room().await?;
        let places = self.places.clone();
        if let Ok(place) = places.clone().try_acquire_owned() {
            return Ok(place);
        }
        if self.config.queue_timeout.is_zero() {
            return Err(self.full());
        }
        match tokio::time::timeout(self.config.queue_timeout, places.acquire_owned()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(self.full()),
        }
    }

    /// Waits until the machine has memory for one more session, as long as one may wait for a place.
    pub(super) async fn room(&self) -> Result<()> {
        let wanted = self.config.min_free_memory;
        let until = Instant::now() + self.config.queue_timeout;
        loop {
            let Some(left) = memory::available().filter(|left| *left < wanted) else { return Ok(()) };
            if Instant::now() >= until {
                return Err(TroupeError::new(
                    ErrorCode::ResourceExhausted,
                    format!(
                        "{} MiB of memory are free; a new session wants {} MiB",
                        left >> 20,
                        wanted >> 20
                    ),
                )
                .detail("availableMemory", left)
                .detail("minFreeMemory", wanted)
                .suggestion(
                    "close a session with close_session and call again, or lower --min-free-memory",
                ));
            }
            // The system tells nobody when there is more.
            tokio::time::sleep_until((Instant::now() + LOOK_AGAIN).min(until)).await;
        }
    }

    pub(super) fn full(&self) -> TroupeError {
        let limit = if self.config.user_data_dir.is_some() { 1 } else { self.config.max_sessions };
        let error = TroupeError::new(
            ErrorCode::MaxSessionsReached,
            format!("all {limit} sessions are in use; that is the limit"),
        )
        .detail("maxSessions", limit);
        if self.config.user_data_dir.is_some() {
            return error.suggestion("--user-data-dir allows one session; without it there can be more");
        }
        error.suggestion("close a session with close_session, or raise --max-sessions")
    }

    /// Enters a session and begins to make it.
    pub(super) fn register(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        identity: Identity,
        keeper: Keeper,
        birth: Birth,
    ) -> Arc<Session> {
        self.store.session_begun(NewSession {
            id: identity.id.clone(),
            created_at: identity.created_at,
            metadata: self.metadata(&identity),
        });
        let session = Arc::new(Session::new(self, identity, keeper, &birth, place));
        self.state().sessions.insert(session.id.clone(), session.clone());
        let manager = self.clone();
        let living = session.clone();
        // Owned by the session: ends with it.
        self.tasks.spawn(async move {
            tokio::select! {
                error = living.worker.live(&living, birth) => manager.could_not_be_made(&living, error).await,
                () = living.over.cancelled() => {}
            }
        });
        let tended = session.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = tended.tend() => {}
                () = tended.over.cancelled() => {}
                () = tended.failure() => {}
            }
        });
        if session.expires_at().is_some() {
            let manager = self.clone();
            let expiring = session.clone();
            self.tasks.spawn(async move {
                let due = tokio::select! {
                    () = manager.due(&expiring) => true,
                    () = expiring.over.cancelled() => false,
                    () = expiring.failure() => false,
                };
                // Not where it could be cut short: its end is the end of `over` too.
                if due {
                    manager.end(&expiring, EndReason::Expired).await;
                }
            });
        }
        session
    }

    /// Takes a session that could not be made out of the list: whoever waits for it gets the error, nobody else
    /// may find it.
    async fn could_not_be_made(&self, session: &Session, error: TroupeError) {
        self.state().sessions.remove(&session.id);
        session.news().advance();
        drop(session.place.lock().unwrap_or_else(PoisonError::into_inner).take());
        session.readiness.send_replace(Readiness::Failed(error));
        session.worker.close(session).await;
    }

    /// Returns when the time of `session` is up.
    async fn due(&self, session: &Session) {
        while let Some(at) = session.expires_at() {
            self.clock.sleep_until(at).await;
            if session.is_due() {
                return;
            }
            // Renewed, or a call runs: it renews when it ends; look again no later than a second from now.
            if session.expires_at().is_some_and(|at| at <= self.clock.now()) {
                self.clock.sleep_until(self.clock.now() + 1000).await;
            }
        }
    }

    /// The session `id`, as far as it lives.
    pub fn get(&self, id: &str) -> Result<Arc<Session>> {
        let mut state = self.state();
        let now = self.clock.now();
        match state.sessions.get(id).cloned() {
            Some(session) if session.is_due() => {
                // The timer has not fired yet; it will close the context.
                Err(EndReason::Expired.during_call(&session.id))
            }
            Some(session) => Ok(session),
            None => Err(state.ended.error(id, now)),
        }
    }

    /// The session `id`, if it lives.
    pub fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.state().sessions.get(id).filter(|session| !session.is_due()).cloned()
    }

    /// The session that a call of `connection` means.
    pub(super) async fn resolve(
        self: &Arc<Self>,
        connection: &Connection,
        requested: Option<&str>,
    ) -> Result<Arc<Session>> {
        if let Some(id) = requested {
            return connection.session(self, id).await;
        }
        match &*connection.created() {
            [only] => self.get(only),
            [] => connection.own(self).await,
            several => Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!(
                    "this connection has created {} sessions: `sessionId` must say which is meant",
                    several.len()
                ),
            )
            .detail("reason", "MISSING_PARAMETER")
            .detail("sessions", several.iter().map(|id| id.to_string()).collect::<Vec<_>>())),
        }
    }

    /// Forgets that the session `id` was over.
    pub(super) fn again(&self, id: &str) {
        self.state().ended.forget(id);
    }

    /// All sessions, the oldest first.
    pub fn list(&self) -> Vec<Arc<Session>> {
        let mut sessions: Vec<_> = self.state().sessions.values().cloned().collect();
        sessions.sort_by_key(|session| (session.created_at, session.id.clone()));
        sessions
    }

    /// Where the time of the session `id` is up, or it is ending, waits until that is done: what it is resumed from is
    /// written by then.
    pub(super) async fn at_end(&self, id: &str) {
        let gone = {
            let state = self.state();
            let due = state.sessions.get(id).filter(|session| session.is_due());
            due.map(|session| session.gone.clone()).or_else(|| state.ended.gone(id))
        };
        if let Some(gone) = gone {
            gone.cancelled().await;
        }
    }

    /// Closes the session `id`; a call that runs in it is aborted.
    pub(super) async fn close(&self, id: &str) -> Result<()> {
        let session = match self.get(id) {
            Ok(session) => session,
            Err(error) => {
                self.at_end(id).await;
                return if self.forget_former(id).await { Ok(()) } else { Err(error) };
            }
        };
        if self.end(&session, EndReason::Closed).await { Ok(()) } else { Err(session.ended_during_call()) }
    }

    /// Ends `session`, closes its context and frees its place; false where it was over already.
    pub(super) async fn end(&self, session: &Arc<Session>, reason: EndReason) -> bool {
        if !session.finish(reason) {
            return false;
        }
        let _gone = session.gone.clone().drop_guard();
        {
            let mut state = self.state();
            state.sessions.remove(&session.id);
            state.ended.note(session.id.clone(), self.clock.now(), reason, session.gone.clone());
        }
        session.news().advance();
        tracing::debug!(session = &*session.id, ?reason, "the session is over");
        match reason {
            EndReason::Expired => {
                session.keep_at_end().await;
                self.store.session_ended(&session.id, SessionState::Expired);
            }
            // It stays as it is, and can be resumed.
            EndReason::Released if self.config.persistent_sessions => session.keep_at_end().await,
            EndReason::Released | EndReason::Closed => {
                self.store.session_ended(&session.id, SessionState::Closed);
            }
        }
        session.worker.close(session).await;
        // The browser's folder may go next.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, session.pages.downloads().finish()).await;
        drop(session.place.lock().unwrap_or_else(PoisonError::into_inner).take());
        true
    }

    /// What is kept of the sessions, and of what was said in them.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends every session, as its client would by going.
    pub async fn end_sessions(&self) {
        self.stop.cancel();
        let sessions = self.list();
        let ends = futures_util::future::join_all(
            sessions.iter().map(|session| self.end(session, EndReason::Released)),
        );
        tokio::join!(self.backend.stop(), ends);
    }

    /// Ends every session and what they share, and waits for what it has started.
    pub async fn shutdown(&self) {
        self.end_sessions().await;
        self.backend.end().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}
