//! Creates, finds, expires and ends sessions. `resume` adds the methods that resume them.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use scopeguard::ScopeGuard;
use tokio::{
    sync::{Notify, Semaphore},
    time::Instant,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    backend::{Backend, BrowserCounts},
    clients::{ConnectionId, SessionClients, SessionOwners, Suspension},
    ended::{EndReason, EndedSessions, expired},
    queue::{SessionLocks, WaitingCalls},
    session::{Readiness, Session, SessionIdentity, SessionServices, SlotUse},
    slots::SessionSlot,
};
use crate::{
    config::{Config, ContextConfig, Transport},
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    page::SessionNetworkPolicy,
    policy::{redaction::Secrets, vault::Vault},
    session::{
        clock::Clock,
        errors::shared_profile_error,
        memory,
        persistence::{SessionOrigin, StateCache, StorageState},
    },
    store::{NewSession, SessionState, Store},
};

/// How often free memory is checked while a new session waits for it.
const MEMORY_POLL: Duration = Duration::from_millis(100);
/// The default of `--max-sessions` over stdio.
const MAX_OVER_STDIO: usize = 10;
/// Bytes of memory for each session, for the default limit over a network: a page of usual size
/// with its share of the browser (`docs/internals/performance.md`). `--min-free-memory` protects
/// against larger pages.
const SESSION_MEMORY: u64 = 64 << 20;
/// The same with `--upstream`, where each session has its own server process and browser.
const UPSTREAM_SESSION_MEMORY: u64 = 300 << 20;
/// How long the end of a session waits for its downloads.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The field of a result with the notice that its session was resumed.
pub(super) const RESUMED_FIELD: &str = "resumed";

/// The options of a new session; the rest is from the configuration.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    pub context: Option<ContextConfig>,
    /// Replaces the storage state file of the configuration.
    pub storage_state: Option<StorageState>,
}

/// The maximum number of open sessions, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimit {
    pub count: usize,
    /// For messages: the option that set the limit, or the default and what it depends on.
    origin: String,
}

impl SessionLimit {
    /// Returns the limit of a server that may use `memory` bytes.
    fn of(config: &Config, memory: Option<u64>) -> Self {
        if let Some(count) = config.max_sessions {
            let origin = config.max_sessions_origin.as_ref();
            let origin = origin.map_or_else(|| "`maxSessions`".to_owned(), ToString::to_string);
            return Self { count, origin: format!("set by {origin}") };
        }
        let transport = config.transport.as_str();
        let each = match config.upstream.command {
            Some(_) => UPSTREAM_SESSION_MEMORY,
            None => SESSION_MEMORY,
        };
        match memory.filter(|_| config.transport != Transport::Stdio) {
            None => Self { count: MAX_OVER_STDIO, origin: format!("the default over {transport}") },
            Some(bytes) => Self {
                count: usize::try_from(bytes / each).unwrap_or(usize::MAX).max(MAX_OVER_STDIO),
                origin: format!(
                    "the default over {transport} with {} MiB of memory, {} MiB for each session",
                    bytes >> 20,
                    each >> 20
                ),
            },
        }
    }
}

/// The sessions of a server.
pub struct SessionManager {
    pub(super) config: Arc<Config>,
    pub(super) backend: Arc<dyn Backend>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: Store,
    /// The policy that all sessions share if they are in one profile.
    network_policy: Option<Arc<SessionNetworkPolicy>>,
    files: FileStore,
    /// The secrets that clients type by name, or why they cannot be read.
    vault: Result<Arc<Vault>>,
    state: Mutex<SessionTable>,
    pub(super) owners: SessionOwners,
    pub(super) clients: SessionClients,
    /// Held while a client begins to use a session, and while a session that was abandoned begins
    /// to end. So a returning client finds its session either open (and it stays open) or
    /// suspended.
    pub(super) clients_lock: Mutex<()>,
    limit: SessionLimit,
    pub(super) slots: Arc<Semaphore>,
    /// Notified when a session of this server has ended.
    pub(super) freed: Arc<Notify>,
    /// The calls that wait for a slot.
    pub(super) waiting: WaitingCalls,
    /// Canceled when the server begins to stop. No session begins or is resumed then.
    pub(super) draining: CancellationToken,
    /// Locked while a session is resumed, so that no session is resumed twice.
    pub(super) resuming: SessionLocks,
    /// Held while a call enters the queues of its sessions, so that all calls enter several queues
    /// in the same order.
    pub(super) admission: Mutex<()>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// A session that has begun to end. Dropping it wakes the tasks that wait for the end.
pub(super) struct EndingSession {
    session: Arc<Session>,
    reason: EndReason,
    _gone: DropGuard,
}

#[derive(Default)]
struct SessionTable {
    sessions: HashMap<Arc<str>, Arc<Session>>,
    ended: EndedSessions,
}

impl SessionManager {
    pub fn new(
        config: Arc<Config>,
        backend: Arc<dyn Backend>,
        clock: Arc<dyn Clock>,
        store: Store,
    ) -> Arc<Self> {
        let limit = SessionLimit::of(&config, memory::total());
        Arc::new(Self {
            slots: Arc::new(Semaphore::new(limit.count.min(Semaphore::MAX_PERMITS))),
            limit,
            freed: Arc::default(),
            waiting: WaitingCalls::default(),
            draining: CancellationToken::new(),
            files: FileStore::open(&config),
            vault: Vault::open(&config).map(Arc::new),
            network_policy: config
                .user_data_dir
                .is_some()
                .then(|| SessionNetworkPolicy::new(&config))
                .flatten()
                .map(Arc::new),
            config,
            backend,
            clock,
            store,
            state: Mutex::default(),
            owners: SessionOwners::default(),
            clients: SessionClients::default(),
            clients_lock: Mutex::default(),
            resuming: SessionLocks::default(),
            admission: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// Returns the files that tools write and read.
    pub fn files(&self) -> &FileStore {
        &self.files
    }

    /// Returns the secrets that clients type by name.
    pub fn vault(&self) -> Result<Arc<Vault>> {
        self.vault.clone()
    }

    /// Returns the secrets of a new session. A server whose vault cannot be read does not start.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.vault.clone().unwrap_or_default())
    }

    fn state(&self) -> MutexGuard<'_, SessionTable> {
        self.state.lock()
    }

    /// Starts the browser if none is running. Upstream servers start at their first call.
    pub async fn initialize(&self) -> Result<()> {
        self.backend.clone().start().await
    }

    /// Starts the browser in the background. A failure is reported by the first call that needs the
    /// browser.
    pub fn prepare(self: &Arc<Self>) {
        let manager = self.clone();
        self.tasks.spawn(async move {
            let stop = manager.stop.clone();
            tokio::select! {
                started = manager.initialize() => {
                    if let Err(error) = started {
                        tracing::debug!(%error, "the browser did not start; the next call tries again");
                    }
                }
                () = stop.cancelled() => {}
            }
        });
    }

    /// Returns why the last start of a browser or upstream server failed; `None` if it succeeded.
    pub fn browser_failure(&self) -> Option<TroupeError> {
        self.backend.failure()
    }

    /// Returns the maximum number of open sessions.
    pub fn limit(&self) -> &SessionLimit {
        &self.limit
    }

    /// Returns how many calls wait until another session ends.
    pub fn waiting(&self) -> usize {
        self.waiting.count()
    }

    /// Returns how long the first call has waited until another session ends. Zero if none waits.
    pub fn longest_wait(&self) -> Duration {
        self.waiting.longest_wait()
    }

    pub fn browser_counts(&self) -> BrowserCounts {
        self.backend.browser_counts()
    }

    /// Creates a session that every client with its id can use, until it expires.
    /// The call of `client` waits in turn with those of other clients.
    pub async fn create(
        self: &Arc<Self>,
        client: &ConnectionId,
        options: CreateOptions,
    ) -> Result<Arc<Session>> {
        if options.storage_state.is_some() && self.config.shares_profile() {
            return Err(shared_profile_error());
        }
        self.backend.clone().admit().await?;
        let mut identity = self.new_identity(true, options.context);
        let slot = self.acquire_slot(client, SlotUse::New(&mut identity)).await?;
        let origin = SessionOrigin::New(options.storage_state);
        let session = self.register(slot, identity, StateCache::default(), origin);
        // If the creation is canceled, no client has the id, so the session is ended.
        let unused = scopeguard::guard((), |()| self.release_unused(&session));
        session.wait_created().await?;
        ScopeGuard::into_inner(unused);
        Ok(session)
    }

    /// Ends `session` in the background, unless a client or a call uses it. Idle clients may return
    /// to it.
    pub(super) fn release_unused(self: &Arc<Self>, session: &Arc<Session>) {
        let ending = {
            let _holding = self.clients_lock.lock();
            if self.tasks.is_closed() || session.is_running() || self.clients.is_used(&session.id) {
                return;
            }
            self.clients.suspend(&session.id, Suspension { expires_at: session.expires_at() });
            self.begin_end(session, EndReason::Released)
        };
        if let Some(ending) = ending {
            let manager = self.clone();
            self.tasks.spawn(async move { manager.complete_end(ending).await });
        }
    }

    /// Ends a session that another server has taken over, in the background. The record does not
    /// change, because it rejects what this server writes to the session.
    pub fn give_up(self: &Arc<Self>, id: &str) {
        let Ok(session) = self.get(id) else { return };
        if !self.tasks.is_closed() {
            let manager = self.clone();
            self.tasks.spawn(async move {
                manager.end(&session, EndReason::Released).await;
            });
        }
    }

    /// Waits for a slot for the implicit session of `client`.
    pub(super) async fn reserve_implicit(
        &self,
        client: &ConnectionId,
    ) -> Result<(SessionSlot, SessionIdentity)> {
        let mut identity = self.new_identity(false, None);
        let slot = self.acquire_slot(client, SlotUse::New(&mut identity)).await?;
        Ok((slot, identity))
    }

    /// Creates the implicit session of a connection. Calls to it wait for the browser.
    pub(super) fn create_implicit(
        self: &Arc<Self>,
        (slot, identity): (SessionSlot, SessionIdentity),
    ) -> Arc<Session> {
        self.register(slot, identity, StateCache::default(), SessionOrigin::New(None))
    }

    fn new_identity(&self, expires: bool, context: Option<ContextConfig>) -> SessionIdentity {
        let now = self.clock.now();
        SessionIdentity {
            id: self.backend.next_id(),
            created_at: now,
            lives_from: expires.then_some(now),
            options: context.unwrap_or_else(|| self.config.context.clone()),
        }
    }

    /// Returns the row of a session that begins or is resumed.
    pub(super) fn row_of(&self, identity: &SessionIdentity) -> NewSession {
        NewSession {
            id: identity.id.clone(),
            created_at: identity.created_at,
            metadata: self.metadata(identity),
        }
    }

    /// Rejects new sessions from now on, because the server stops.
    pub fn begin_drain(&self) {
        self.draining.cancel();
    }

    /// Returns whether the server has begun to stop.
    pub fn is_draining(&self) -> bool {
        self.draining.is_cancelled()
    }

    /// Waits until enough memory for one more session is free, at most for the queue timeout.
    pub(super) async fn wait_for_memory(&self) -> Result<()> {
        let required = self.config.min_free_memory;
        let until = Instant::now() + self.config.queue_timeout;
        loop {
            let Some(free) = memory::available().filter(|free| *free < required) else {
                return Ok(());
            };
            if Instant::now() >= until {
                return Err(TroupeError::new(
                    ErrorCode::ResourceExhausted,
                    format!(
                        "only {} MiB of memory are free; a new session needs {} MiB",
                        free >> 20,
                        required >> 20
                    ),
                )
                .detail("availableMemory", free)
                .detail("minFreeMemory", required)
                .suggestion(
                    "close a session with close_session and call again, or lower --min-free-memory",
                ));
            }
            // The system does not notify when more memory is free.
            tokio::time::sleep_until((Instant::now() + MEMORY_POLL).min(until)).await;
        }
    }

    pub(super) fn limit_error(&self) -> TroupeError {
        let SessionLimit { count, origin } = &self.limit;
        TroupeError::new(
            ErrorCode::MaxSessionsReached,
            format!("all {count} sessions are in use: the limit is {count} ({origin})"),
        )
        .detail("maxSessions", *count)
        .suggestion("close a session with close_session, or raise --max-sessions")
    }

    /// Adds a session, and starts its tasks.
    pub(super) fn register(
        self: &Arc<Self>,
        mut slot: SessionSlot,
        identity: SessionIdentity,
        cache: StateCache,
        origin: SessionOrigin,
    ) -> Arc<Session> {
        self.store.record_session_begin(self.row_of(&identity));
        slot.clear_unopened();
        let backend = self.backend.clone();
        let attached = backend.attach(&identity.id, &identity.options, &origin);
        let services = SessionServices {
            config: self.config.clone(),
            files: self.files.clone(),
            clock: self.clock.clone(),
            store: self.store.clone(),
            secrets: self.secrets(),
            network_policy: self.network_policy.clone(),
        };
        let session = Arc::new(Session::new(services, identity, cache, attached, slot));
        self.state().sessions.insert(session.id.clone(), session.clone());
        let manager = self.clone();
        let monitored = session.clone();
        // Owned by the session: ends with it.
        self.tasks.spawn(async move {
            tokio::select! {
                error = monitored.worker.run_session(&monitored, origin) => manager.remove_failed(&monitored, error).await,
                () = monitored.ended.cancelled() => {}
            }
        });
        if self.store.is_shared() {
            let (manager, shared) = (self.clone(), session.clone());
            self.tasks.spawn(async move {
                tokio::select! {
                    () = manager.store.wait_taken_over(&shared.id) => manager.give_up(&shared.id),
                    () = shared.ended.cancelled() => {}
                    () = shared.wait_failed() => {}
                }
            });
        }
        let supervised = session.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = supervised.save_after_calls() => {}
                () = supervised.ended.cancelled() => {}
                () = supervised.wait_failed() => {}
            }
        });
        if session.expires_at().is_some() {
            let manager = self.clone();
            let expiring = session.clone();
            self.tasks.spawn(async move {
                let due = tokio::select! {
                    () = manager.wait_expired(&expiring) => true,
                    () = expiring.ended.cancelled() => false,
                    () = expiring.wait_failed() => false,
                };
                // Outside of the `select!`: the end cancels `ended`, which would cancel this.
                if due {
                    manager.end(&expiring, EndReason::Expired).await;
                }
            });
        }
        session
    }

    /// Removes a session that could not be created. Callers that wait for it get the error, and no
    /// other caller finds it.
    async fn remove_failed(&self, session: &Session, error: TroupeError) {
        self.state().sessions.remove(&session.id);
        // It can be resumed if it has a saved state from before.
        self.store.record_session_end(&session.id, SessionState::Recoverable);
        session.change_counter().increment();
        drop(session.slot.lock().take());
        session.readiness.send_replace(Readiness::Failed(error));
        session.worker.close(session).await;
    }

    /// Waits until `session` has expired.
    async fn wait_expired(&self, session: &Session) {
        while let Some(at) = session.expires_at() {
            self.clock.sleep_until(at).await;
            if session.has_expired() {
                return;
            }
            // A call runs, and renews the expiry when it ends. Check again in a second.
            if session.expires_at().is_some_and(|at| at <= self.clock.now()) {
                self.clock.sleep_until(self.clock.now() + 1000).await;
            }
        }
    }

    /// Returns the session `id` if it is open. Otherwise the error says why not.
    pub fn get(&self, id: &str) -> Result<Arc<Session>> {
        let mut state = self.state();
        let now = self.clock.now();
        match state.sessions.get(id).cloned() {
            Some(session) if session.has_expired() => {
                // The timer has not fired yet. It will end the session.
                Err(expired(&session.id))
            }
            Some(session) => Ok(session),
            None => Err(state.ended.error(id, now)),
        }
    }

    /// Returns the session `id` if it is open.
    pub fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.state().sessions.get(id).filter(|session| !session.has_expired()).cloned()
    }

    /// Begins to end the sessions that no client uses after `leave` has removed a client. `leave`
    /// returns their ids. Idle clients may return to them.
    pub(super) fn release(
        &self,
        leave: impl FnOnce(&SessionClients) -> Vec<Arc<str>>,
    ) -> Vec<EndingSession> {
        for id in self.clients.take_expired(self.clock.now()) {
            self.expire_suspended(&id);
        }
        let _holding = self.clients_lock.lock();
        let abandoned = leave(&self.clients);
        // A call without an attached client may be running in one: that session ends at its expiry.
        let sessions =
            abandoned.iter().filter_map(|id| self.find(id)).filter(|session| !session.is_running());
        let released = sessions.filter_map(|session| {
            self.clients.suspend(&session.id, Suspension { expires_at: session.expires_at() });
            self.begin_end(&session, EndReason::Released)
        });
        released.collect()
    }

    /// Resumes the suspended session `id`, unless it has expired. `add_client` is as for `resume`.
    pub(super) async fn resume_suspended(
        self: &Arc<Self>,
        id: &str,
        client: &ConnectionId,
        suspension: Suspension,
        add_client: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        if suspension.expires_at.is_some_and(|at| at <= self.clock.now()) {
            self.clients.remove(id);
            return Err(self.expire_suspended(id));
        }
        let resumed = self.resume(id, client, |session| {
            let is_added = add_client(session);
            if is_added && self.clients.reopen(id) {
                session.restore_expiry(suspension.expires_at);
                session.notify(RESUMED_FIELD, self.suspension_notice());
            }
            is_added
        });
        let resumed = resumed.await;
        match &resumed {
            Err(error) if !error.retryable => self.clients.remove(id),
            // It can be resumed later, when a slot is free.
            Err(_) if self.find(id).is_none() => self.clients.suspend(id, suspension),
            _ => {}
        }
        resumed
    }

    /// Records that the session `id` expired while it was suspended. Returns the error for its
    /// calls.
    fn expire_suspended(&self, id: &str) -> TroupeError {
        let gone = CancellationToken::new();
        gone.cancel();
        self.state().ended.add(id.into(), self.clock.now(), EndReason::Expired, gone);
        self.store.record_session_end(id, SessionState::Expired);
        expired(id)
    }

    /// Returns the notice in the first result after a suspended session was resumed.
    pub(super) fn suspension_notice(&self) -> String {
        let resumed = match self.store.is_shared() {
            true => {
                "The session was resumed for this call: its client was idle, or its former server has ended."
            }
            false => {
                "The session was suspended while its client was idle, and was resumed for this call."
            }
        };
        if self.config.upstream.command.is_some() {
            return format!(
                "{resumed} Its server was restarted, with as much of the state as its tools can restore."
            );
        }
        format!(
            "{resumed} Cookies, storage and pages were restored. Lost: JavaScript state (variables, timers, connections), \
             mocks, blocked resource types, throttling and offline mode, open dialogs, and the history of the pages."
        )
    }

    /// Removes the session `id` from the ended ones, because it is resumed.
    pub(super) fn remove_end(&self, id: &str) {
        self.state().ended.remove(id);
    }

    /// Returns all open sessions, oldest first.
    pub fn list(&self) -> Vec<Arc<Session>> {
        let mut sessions: Vec<_> = self.state().sessions.values().cloned().collect();
        sessions.sort_by_key(|session| (session.created_at, session.id.clone()));
        sessions
    }

    /// If the session `id` has expired or is ending, waits until it has ended. Its state is saved
    /// by then.
    pub(super) async fn wait_for_end(&self, id: &str) {
        if let Some(gone) = self.end_token(id) {
            gone.cancelled().await;
        }
    }

    /// Returns the token that is canceled when the end of the session `id` is complete, if it has
    /// expired or is ending.
    pub(super) fn end_token(&self, id: &str) -> Option<CancellationToken> {
        let state = self.state();
        let due = state.sessions.get(id).filter(|session| session.has_expired());
        let gone = due.map(|session| session.end_complete.clone()).or_else(|| state.ended.gone(id));
        gone.filter(|gone| !gone.is_cancelled())
    }

    /// Closes the session `id`, and aborts its running call.
    pub(super) async fn close(self: &Arc<Self>, id: &str) -> Result<()> {
        let session = match self.get(id) {
            Ok(session) => session,
            Err(error) => {
                self.wait_for_end(id).await;
                self.clients.remove(id);
                return if self.delete_saved(id).await { Ok(()) } else { Err(error) };
            }
        };
        if self.end(&session, EndReason::Closed).await {
            Ok(())
        } else {
            Err(session.ended_during_call_error())
        }
    }

    /// Ends `session`, closes its context and frees its slot. Returns false if it had ended before.
    /// An end that has begun completes even if this future is dropped.
    pub(super) async fn end(self: &Arc<Self>, session: &Arc<Session>, reason: EndReason) -> bool {
        let Some(ending) = self.begin_end(session, reason) else { return false };
        let manager = self.clone();
        let completed = self.tasks.spawn(async move { manager.complete_end(ending).await });
        completed.await.is_ok()
    }

    /// Ends the sessions that `release` returned.
    pub(super) async fn end_released(self: &Arc<Self>, released: Vec<EndingSession>) {
        let ends = released.into_iter().map(|ending| {
            let manager = self.clone();
            self.tasks.spawn(async move { manager.complete_end(ending).await })
        });
        // All begin before the first is awaited.
        futures_util::future::join_all(ends.collect::<Vec<_>>()).await;
    }

    /// Aborts the calls of `session`, and removes it from the lists. Returns `None` if it had ended
    /// before.
    pub(super) fn begin_end(
        &self,
        session: &Arc<Session>,
        reason: EndReason,
    ) -> Option<EndingSession> {
        {
            let mut state = self.state();
            if !session.mark_ended(reason) {
                return None;
            }
            state.sessions.remove(&session.id);
            state.ended.add(
                session.id.clone(),
                self.clock.now(),
                reason,
                session.end_complete.clone(),
            );
        }
        if reason != EndReason::Released {
            self.clients.remove(&session.id);
        }
        session.change_counter().increment();
        tracing::debug!(session = &*session.id, ?reason, "the session ends");
        Some(EndingSession {
            session: session.clone(),
            reason,
            _gone: session.end_complete.clone().drop_guard(),
        })
    }

    /// Saves the state of the session, closes its context and frees its slot.
    async fn complete_end(&self, ending: EndingSession) {
        let EndingSession { session, reason, _gone } = ending;
        let session = &session;
        match reason {
            EndReason::Expired => {
                session.save_at_end().await;
                self.store.record_session_end(&session.id, SessionState::Expired);
            }
            EndReason::Released if self.config.persistent_sessions => {
                session.save_at_end().await;
                // A session that ends with its server stays `active` in the store: the next server
                // detects that this one is gone. Over stdio, a session with nothing to resume is
                // not kept.
                if !self.stop.is_cancelled() {
                    self.store.record_session_end(&session.id, SessionState::Recoverable);
                } else if self.config.transport == Transport::Stdio
                    && session.last_known().is_none_or(|last| last.is_blank())
                {
                    self.store.record_session_end(&session.id, SessionState::Closed);
                }
            }
            EndReason::Released | EndReason::Closed => {
                self.store.record_session_end(&session.id, SessionState::Closed);
            }
        }
        session.worker.close(session).await;
        // The browser may be closed next, and its download folder deleted.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, session.pages.downloads().finish()).await;
        let owner = session.clone();
        // Fails only if the removal panics.
        let _ = tokio::task::spawn_blocking(move || owner.uploads.remove()).await;
        drop(session.slot.lock().take());
    }

    /// Returns what new sessions wait for, if it is a decision of the user.
    pub fn wait_reason(&self) -> Option<&'static str> {
        self.backend.wait_reason()
    }

    /// Returns the store of calls and saved sessions.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends every session, as if its client had disconnected.
    pub async fn end_sessions(self: &Arc<Self>) {
        self.stop.cancel();
        let sessions = self.list();
        let ends = futures_util::future::join_all(
            sessions.iter().map(|session| self.end(session, EndReason::Released)),
        );
        tokio::join!(self.backend.stop(), ends);
    }

    /// Ends every session and the shared backend, and waits for the processes to end.
    pub async fn shutdown(self: &Arc<Self>) {
        self.end_sessions().await;
        self.backend.end().await;
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Origin;

    #[test]
    fn the_default_limit_depends_on_the_transport_and_on_memory() {
        const GIB: u64 = 1 << 30;
        let limit = |transport, memory| {
            let limit = SessionLimit::of(&Config { transport, ..Config::default() }, memory);
            (limit.count, limit.origin)
        };
        assert_eq!(
            limit(Transport::Stdio, Some(64 * GIB)),
            (10, "the default over stdio".to_owned())
        );
        assert_eq!(
            limit(Transport::Http, Some(8 * GIB)),
            (
                128,
                "the default over http with 8192 MiB of memory, 64 MiB for each session".to_owned()
            )
        );
        assert_eq!(limit(Transport::Websocket, Some(GIB / 2)).0, 10);
        assert_eq!(limit(Transport::Http, None), (10, "the default over http".to_owned()));
        let mut upstream = Config { transport: Transport::Http, ..Config::default() };
        upstream.upstream.command = Some("peer".to_owned());
        let with_upstream = SessionLimit::of(&upstream, Some(8 * GIB));
        let origin = "the default over http with 8192 MiB of memory, 300 MiB for each session";
        assert_eq!((with_upstream.count, &*with_upstream.origin), (27, origin));
        let set = Config {
            transport: Transport::Http,
            max_sessions: Some(3),
            max_sessions_origin: Some(Origin::Variable("TROUPE_MAX_SESSIONS".to_owned())),
            ..Config::default()
        };
        let limit = SessionLimit::of(&set, Some(GIB));
        let origin = "set by environment variable `TROUPE_MAX_SESSIONS`";
        assert_eq!((limit.count, &*limit.origin), (3, origin));
    }
}
