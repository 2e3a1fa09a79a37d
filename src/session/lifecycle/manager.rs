//! Creates, finds, expires and ends sessions. The backend implements what a session does in between. `former`
//! resumes sessions.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use scopeguard::ScopeGuard;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{
    sync::{CancellationToken, DropGuard},
    task::TaskTracker,
};

use super::{
    backend::{Backend, BrowserCounts},
    clients::{Holders, Owners, Rest},
    ended::{EndReason, Ended},
    queue::SessionLocks,
    session::{Identity, Readiness, Services, Session},
};
use crate::{
    config::{Config, ContextConfig, Transport},
    error::{ErrorCode, Result, TroupeError},
    policy::{redaction::Secrets, vault::Vault},
    session::{
        clock::Clock,
        memory,
        persistence::{SessionOrigin, StateCache, StorageState},
    },
    store::{NewSession, SessionState, Store},
};

/// How often one looks whether there is memory again.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// The default of `--max-sessions` over stdio.
const MOST_OVER_STDIO: usize = 10;
/// Over a network, the default allows one session for this many bytes of memory: a page of usual size with its share
/// of the browser (`docs/internals/performance.md`). `--min-free-memory` protects against larger pages.
const SESSION_MEMORY: u64 = 64 << 20;
/// The same with `--upstream`, where each session has a server process (114–130 MiB under Node) and a browser of its own
/// (187 MiB with one small page).
const UPSTREAM_SESSION_MEMORY: u64 = 300 << 20;
/// What downloads still write must not hold up the server's end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The options of a new session; the rest is from the configuration.
#[derive(Debug, Clone, Default)]
pub struct CreateOptions {
    pub context: Option<ContextConfig>,
    /// Instead of the file that the configuration names.
    pub storage_state: Option<StorageState>,
}

/// How many sessions may be open, and why that many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLimit {
    pub count: usize,
    /// For messages: the option that set the limit, or the default and what it depends on.
    origin: String,
}

impl SessionLimit {
    /// `memory`: bytes that the server may use.
    fn of(config: &Config, memory: Option<u64>) -> Self {
        if config.user_data_dir.is_some() {
            return Self { count: 1, origin: "`--user-data-dir` allows one session".to_owned() };
        }
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
            None => {
                Self { count: MOST_OVER_STDIO, origin: format!("the default over {transport}") }
            }
            Some(bytes) => Self {
                count: usize::try_from(bytes / each).unwrap_or(usize::MAX).max(MOST_OVER_STDIO),
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
    /// What clients type by name, or why it cannot be read.
    vault: Result<Arc<Vault>>,
    state: Mutex<State>,
    pub(super) owners: Owners,
    pub(super) holders: Holders,
    /// Held while a client begins to use a session, and while clients leave sessions and those begin to end: a client
    /// that returns finds its session either open, to stay open, or at rest.
    pub(super) holding: Mutex<()>,
    limit: SessionLimit,
    pub(super) places: Arc<Semaphore>,
    /// How many calls wait for a place.
    waiting: AtomicUsize,
    /// Each is held while its session is resumed, so that no session is resumed twice.
    pub(super) resuming: SessionLocks,
    /// Held while a call enters the queues of its sessions: all calls that use several enter them in the same order.
    pub(super) admission: Mutex<()>,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

/// Counts a call that waits, until it is dropped.
struct Waits<'a>(&'a AtomicUsize);

impl<'a> Waits<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A session that has begun to end. Whoever waits for its end goes on when this is dropped.
pub(super) struct Ending {
    session: Arc<Session>,
    reason: EndReason,
    _gone: DropGuard,
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
        let limit = SessionLimit::of(&config, memory::total());
        Arc::new(Self {
            places: Arc::new(Semaphore::new(limit.count.min(Semaphore::MAX_PERMITS))),
            limit,
            waiting: AtomicUsize::new(0),
            vault: Vault::open(&config).map(Arc::new),
            config,
            backend,
            clock,
            store,
            state: Mutex::default(),
            owners: Owners::default(),
            holders: Holders::default(),
            holding: Mutex::default(),
            resuming: SessionLocks::default(),
            admission: Mutex::default(),
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

    /// The values that a new session must not write. If the vault cannot be read, the server does not start.
    pub(super) fn secrets(&self) -> Secrets {
        Secrets::new(self.vault.clone().unwrap_or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Starts the browser if none runs; upstream servers are started when they are called.
    pub async fn initialize(&self) -> Result<()> {
        self.backend.clone().start().await
    }

    /// Starts the browser in the background. A failure is reported by the first call that needs the browser.
    pub fn prepare(self: &Arc<Self>) {
        let manager = self.clone();
        self.tasks.spawn(async move {
            let stop = manager.stop.clone();
            tokio::select! {
                started = manager.initialize() => {
                    if let Err(error) = started {
                        tracing::debug!(%error, "the browser is not there yet; calls will try again");
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

    /// How many sessions may be open.
    pub fn limit(&self) -> &SessionLimit {
        &self.limit
    }

    /// How many calls wait until another session ends.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Acquire)
    }

    pub fn browser_counts(&self) -> BrowserCounts {
        self.backend.browser_counts()
    }

    /// Makes a session that any client may use who knows its id, until it expires.
    pub async fn create(self: &Arc<Self>, options: CreateOptions) -> Result<Arc<Session>> {
        self.backend.clone().admit().await?;
        let place = self.place().await?;
        let session = self.new_session(place, true, options);
        // Nobody learns the id of a session whose creation is canceled: it gives its place back.
        let unused = scopeguard::guard((), |()| self.release_unused(&session));
        session.created().await?;
        ScopeGuard::into_inner(unused);
        Ok(session)
    }

    /// Ends `session` in the background, unless a client or a call uses it. Idle clients may return to it.
    pub(super) fn release_unused(self: &Arc<Self>, session: &Arc<Session>) {
        let ending = {
            let _holding = self.holding.lock();
            if self.tasks.is_closed() || session.is_running() || self.holders.is_used(&session.id) {
                return;
            }
            self.holders.rest(&session.id, Rest { expires_at: session.expires_at() });
            self.begin_end(session, EndReason::Released)
        };
        if let Some(ending) = ending {
            let manager = self.clone();
            self.tasks.spawn(async move { manager.complete_end(ending).await });
        }
    }

    /// Creates the implicit session of a connection in a slot from `place`. Calls to it wait for the browser.
    pub(super) fn create_own(self: &Arc<Self>, place: OwnedSemaphorePermit) -> Arc<Session> {
        self.new_session(place, false, CreateOptions::default())
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
        self.register(
            place,
            identity,
            StateCache::default(),
            SessionOrigin::New(options.storage_state),
        )
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
        let _waits = Waits::new(&self.waiting);
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
            let Some(left) = memory::available().filter(|left| *left < wanted) else {
                return Ok(());
            };
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
            // The system does not notify when more memory is free.
            tokio::time::sleep_until((Instant::now() + LOOK_AGAIN).min(until)).await;
        }
    }

    pub(super) fn full(&self) -> TroupeError {
        let SessionLimit { count, origin } = &self.limit;
        let error = TroupeError::new(
            ErrorCode::MaxSessionsReached,
            format!("all {count} sessions are in use: the limit is {count} ({origin})"),
        )
        .detail("maxSessions", *count);
        if self.config.user_data_dir.is_some() {
            return error
                .suggestion("--user-data-dir allows one session; without it there can be more");
        }
        error.suggestion("close a session with close_session, or raise --max-sessions")
    }

    /// Enters a session and begins to make it.
    pub(super) fn register(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
        identity: Identity,
        keeper: StateCache,
        birth: SessionOrigin,
    ) -> Arc<Session> {
        self.store.session_begun(NewSession {
            id: identity.id.clone(),
            created_at: identity.created_at,
            metadata: self.metadata(&identity),
        });
        let backend = self.backend.clone();
        let attached = backend.attend(&identity.id, &identity.options, &birth);
        let services = Services {
            config: self.config.clone(),
            clock: self.clock.clone(),
            store: self.store.clone(),
            secrets: self.secrets(),
        };
        let session = Arc::new(Session::new(services, identity, keeper, attached, place));
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

    /// Removes a session that could not be created. Callers that wait for it get the error, and no other caller finds
    /// it.
    async fn could_not_be_made(&self, session: &Session, error: TroupeError) {
        self.state().sessions.remove(&session.id);
        // It can be resumed if it has a saved state from before.
        self.store.session_ended(&session.id, SessionState::Recoverable);
        session.news().advance();
        drop(session.place.lock().take());
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

    /// Begins to end the sessions that nobody uses when `leave` has removed a client from their holders; `leave` returns
    /// their ids. Clients that are away may come back to them.
    pub(super) fn release(&self, leave: impl FnOnce(&Holders) -> Vec<Arc<str>>) -> Vec<Ending> {
        for id in self.holders.take_expired(self.clock.now()) {
            self.expire_at_rest(&id);
        }
        let _holding = self.holding.lock();
        let left = leave(&self.holders);
        // A program that is no attached client may use one now: it ends at its expiry.
        let sessions =
            left.iter().filter_map(|id| self.find(id)).filter(|session| !session.is_running());
        let released = sessions.filter_map(|session| {
            self.holders.rest(&session.id, Rest { expires_at: session.expires_at() });
            self.begin_end(&session, EndReason::Released)
        });
        released.collect()
    }

    /// Brings back the session `id`, which is at rest, unless it has expired there. `hold` is as for `resume`.
    pub(super) async fn wake(
        self: &Arc<Self>,
        id: &str,
        rest: Rest,
        hold: impl Fn(&Arc<Session>) -> bool,
    ) -> Result<Arc<Session>> {
        if rest.expires_at.is_some_and(|at| at <= self.clock.now()) {
            self.holders.forget(id);
            return Err(self.expire_at_rest(id));
        }
        let resumed = self.resume(id, |session| {
            let is_held = hold(session);
            if is_held && self.holders.wake(id) {
                session.keep_expiry(rest.expires_at);
                session.notify(self.notice_of_rest());
            }
            is_held
        });
        let resumed = resumed.await;
        match &resumed {
            Err(error) if !error.retryable => self.holders.forget(id),
            // It may be there later, when there is a place again.
            Err(_) if self.find(id).is_none() => self.holders.rest(id, rest),
            _ => {}
        }
        resumed
    }

    /// Notes that the session `id` has expired while it was suspended. Returns the error for its calls.
    fn expire_at_rest(&self, id: &str) -> TroupeError {
        let gone = CancellationToken::new();
        gone.cancel();
        self.state().ended.note(id.into(), self.clock.now(), EndReason::Expired, gone);
        self.store.session_ended(id, SessionState::Expired);
        EndReason::Expired.during_call(id)
    }

    /// The notice in the first result after a suspended session was resumed.
    pub(super) fn notice_of_rest(&self) -> String {
        const RESTED: &str =
            "The session was put to rest while its client was away, and was resumed for this call.";
        if self.config.upstream.command.is_some() {
            return format!(
                "{RESTED} Its server was started again, with as much of the state as its tools can restore."
            );
        }
        format!(
            "{RESTED} Cookies, storage and pages are back. Lost: JavaScript state (variables, timers, connections), \
             mocks, blocked resource types, throttling and offline mode, open dialogs, and the history of pages."
        )
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

    /// If the session `id` has expired or is ending, waits until it has ended. Its state is saved by then.
    pub(super) async fn at_end(&self, id: &str) {
        if let Some(gone) = self.ending(id) {
            gone.cancelled().await;
        }
    }

    /// The token that is canceled when the session `id` has ended, if it has expired or is ending.
    pub(super) fn ending(&self, id: &str) -> Option<CancellationToken> {
        let state = self.state();
        let due = state.sessions.get(id).filter(|session| session.is_due());
        let gone = due.map(|session| session.gone.clone()).or_else(|| state.ended.gone(id));
        gone.filter(|gone| !gone.is_cancelled())
    }

    /// Closes the session `id`; a call that runs in it is aborted.
    pub(super) async fn close(self: &Arc<Self>, id: &str) -> Result<()> {
        let session = match self.get(id) {
            Ok(session) => session,
            Err(error) => {
                self.at_end(id).await;
                self.holders.forget(id);
                return if self.forget_former(id).await { Ok(()) } else { Err(error) };
            }
        };
        if self.end(&session, EndReason::Closed).await {
            Ok(())
        } else {
            Err(session.ended_during_call())
        }
    }

    /// Ends `session`, closes its context and frees its place; false where it was over already. An end that has begun
    /// completes, also where this future is dropped.
    pub(super) async fn end(self: &Arc<Self>, session: &Arc<Session>, reason: EndReason) -> bool {
        let Some(ending) = self.begin_end(session, reason) else { return false };
        let manager = self.clone();
        let completed = self.tasks.spawn(async move { manager.complete_end(ending).await });
        completed.await.is_ok()
    }

    /// Ends the sessions that `release` returned.
    pub(super) async fn end_released(self: &Arc<Self>, released: Vec<Ending>) {
        let ends = released.into_iter().map(|ending| {
            let manager = self.clone();
            self.tasks.spawn(async move { manager.complete_end(ending).await })
        });
        // All begin before the first is awaited.
        futures_util::future::join_all(ends.collect::<Vec<_>>()).await;
    }

    /// Stops the calls of `session`. From now on it is in no list, and a call to it waits for its end to resume it.
    /// `None` where it was over already.
    pub(super) fn begin_end(&self, session: &Arc<Session>, reason: EndReason) -> Option<Ending> {
        {
            let mut state = self.state();
            if !session.finish(reason) {
                return None;
            }
            state.sessions.remove(&session.id);
            state.ended.note(session.id.clone(), self.clock.now(), reason, session.gone.clone());
        }
        if reason != EndReason::Released {
            self.holders.forget(&session.id);
        }
        session.news().advance();
        tracing::debug!(session = &*session.id, ?reason, "the session is over");
        Some(Ending { session: session.clone(), reason, _gone: session.gone.clone().drop_guard() })
    }

    /// Saves what the session is resumed from, closes its context and frees its place.
    async fn complete_end(&self, ending: Ending) {
        let Ending { session, reason, _gone } = ending;
        let session = &session;
        match reason {
            EndReason::Expired => {
                session.keep_at_end().await;
                self.store.session_ended(&session.id, SessionState::Expired);
            }
            EndReason::Released if self.config.persistent_sessions => {
                session.keep_at_end().await;
                // A session that ends with its server stays as it is: the next server finds out that this one is gone.
                // Over stdio the client is gone, too, and one that has nothing to resume is not kept.
                if !self.stop.is_cancelled() {
                    self.store.session_ended(&session.id, SessionState::Recoverable);
                } else if self.config.transport == Transport::Stdio
                    && session.last_known().is_none_or(|last| last.is_blank())
                {
                    self.store.session_ended(&session.id, SessionState::Closed);
                }
            }
            EndReason::Released | EndReason::Closed => {
                self.store.session_ended(&session.id, SessionState::Closed);
            }
        }
        session.worker.close(session).await;
        // The browser's folder may go next.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, session.pages.downloads().finish()).await;
        drop(session.place.lock().take());
    }

    /// The record, which also has the saved sessions.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Ends every session, as its client would by going.
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
