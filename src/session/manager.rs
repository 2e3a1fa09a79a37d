//! Makes, finds, expires and ends sessions, on one shared browser that is started when it is first wanted.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    clock::Clock,
    connection::Connection,
    ended::{EndReason, Ended},
    session::{Readiness, Session, engine_error},
    storage_state::StorageState,
};
use crate::{
    config::{Config, ContextConfig},
    engine::{Browser, ContextOptions, Engine, EngineError},
    error::{ErrorCode, Result, TroupeError},
    store::{NewSession, SessionState, Store},
};

/// Closing a context must not hold up the server's end.
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
    config: Arc<Config>,
    engine: Arc<dyn Engine>,
    clock: Arc<dyn Clock>,
    store: Store,
    state: Mutex<State>,
    places: Arc<Semaphore>,
    /// The running browser; the lock is held while one starts.
    browser: tokio::sync::Mutex<Option<Arc<dyn Browser>>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    sessions: HashMap<Arc<str>, Arc<Session>>,
    ended: Ended,
}

impl SessionManager {
    pub fn new(
        config: Arc<Config>,
        engine: Arc<dyn Engine>,
        clock: Arc<dyn Clock>,
        store: Store,
    ) -> Arc<Self> {
        // A profile that stays can be one session's only.
        let places = if config.user_data_dir.is_some() { 1 } else { config.max_sessions };
        Arc::new(Self {
            places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
            config,
            engine,
            clock,
            store,
            state: Mutex::default(),
            browser: tokio::sync::Mutex::new(None),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Where calls and sessions are recorded.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn config(&self) -> &Arc<Config> {
        &self.config
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the browser if none runs.
    pub async fn initialize(&self) -> Result<()> {
        self.browser().await.map(drop)
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

    /// The shared browser, started or started again where none runs.
    pub async fn browser(&self) -> Result<Arc<dyn Browser>> {
        let mut slot = self.browser.lock().await;
        if let Some(browser) = slot.as_ref().filter(|browser| !browser.gone().is_cancelled()) {
            return Ok(browser.clone());
        }
        if self.stop.is_cancelled() {
            return Err(TroupeError::new(ErrorCode::BrowserError, "the server is stopping"));
        }
        let browser = self.engine.launch().await.map_err(engine_error)?;
        *slot = Some(browser.clone());
        Ok(browser)
    }

    /// Makes a session that any client may use who knows its id, until it expires.
    pub async fn create(self: &Arc<Self>, options: CreateOptions) -> Result<Arc<Session>> {
        let place = self.place().await?;
        let session = self.register(place, true, options);
        session.run(async { Ok(()) }).await?;
        Ok(session)
    }

    /// As `create`, without waiting for a place or for the browser: calls to it wait.
    pub(super) fn create_own(self: &Arc<Self>) -> Result<Arc<Session>> {
        let place = self.places.clone().try_acquire_owned().map_err(|_| self.full())?;
        Ok(self.register(place, false, CreateOptions::default()))
    }

    async fn place(&self) -> Result<tokio::sync::OwnedSemaphorePermit> {
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

    fn full(&self) -> TroupeError {
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
    fn register(
        self: &Arc<Self>,
        place: tokio::sync::OwnedSemaphorePermit,
        expires: bool,
        options: CreateOptions,
    ) -> Arc<Session> {
        let session = Arc::new(Session::new(expires, self.config.clone(), self.clock.clone(), place));
        self.store.session_begun(NewSession {
            id: session.id.clone(),
            created_at: session.created_at,
            metadata: serde_json::json!({"expiresAt": session.expires_at()}),
        });
        self.state().sessions.insert(session.id.clone(), session.clone());
        let manager = self.clone();
        let made = session.clone();
        // Owned by the session: ends with it.
        self.tasks.spawn(async move {
            tokio::select! {
                () = manager.make(&made, options) => {}
                () = made.over.cancelled() => {}
            }
        });
        if expires {
            let manager = self.clone();
            let expiring = session.clone();
            self.tasks.spawn(async move {
                tokio::select! {
                    () = manager.expire(&expiring) => {}
                    () = expiring.over.cancelled() => {}
                    () = expiring.failure() => {}
                }
            });
        }
        session
    }

    async fn make(self: &Arc<Self>, session: &Arc<Session>, options: CreateOptions) {
        match self.open_context(session, options).await {
            Ok(browser) => {
                session.readiness.send_replace(Readiness::Ready);
                let manager = self.clone();
                let session = session.clone();
                self.tasks.spawn(async move {
                    tokio::select! {
                        () = browser.gone().cancelled_owned() => {
                            manager.end(&session, EndReason::BrowserDied).await;
                        }
                        () = session.over.cancelled() => {}
                    }
                });
            }
            Err(error) => {
                // Whoever waits for it gets the error; nobody else may find it.
                self.state().sessions.remove(&session.id);
                session.news().advance();
                session.readiness.send_replace(Readiness::Failed(error));
                Self::close_context(session).await;
                drop(session.place.lock().unwrap_or_else(PoisonError::into_inner).take());
            }
        }
    }

    async fn open_context(&self, session: &Session, options: CreateOptions) -> Result<Arc<dyn Browser>> {
        let config = options.context.unwrap_or_else(|| self.config.context.clone());
        let state = match (options.storage_state, &config.storage_state) {
            (Some(state), _) => Some(state),
            (None, Some(path)) => Some(StorageState::read(path).await?),
            (None, None) => None,
        };
        let options = ContextOptions::read(config).await?;
        let mut browser = self.browser().await?;
        let mut context = browser.new_context(&options, session.pages.clone()).await;
        if matches!(context, Err(EngineError::BrowserGone)) {
            // It died before anybody noticed: nothing is lost by asking a new one.
            browser = self.browser().await?;
            context = browser.new_context(&options, session.pages.clone()).await;
        }
        let context = context.map_err(engine_error)?;
        let _ = session.context.set(context);
        session.new_page().await?;
        if let Some(state) = state {
            session.restore(&state).await?;
        }
        Ok(browser)
    }

    async fn expire(self: &Arc<Self>, session: &Arc<Session>) {
        while let Some(at) = session.expires_at() {
            self.clock.sleep_until(at).await;
            if session.is_due() {
                self.end(session, EndReason::Expired).await;
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
    pub(super) fn resolve(
        self: &Arc<Self>,
        connection: &Connection,
        requested: Option<&str>,
    ) -> Result<Arc<Session>> {
        if let Some(id) = requested {
            return connection.session(self, id);
        }
        match &*connection.created() {
            [only] => self.get(only),
            [] => connection.own(self),
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

    /// All sessions, the oldest first.
    pub fn list(&self) -> Vec<Arc<Session>> {
        let mut sessions: Vec<_> = self.state().sessions.values().cloned().collect();
        sessions.sort_by_key(|session| (session.created_at, session.id.clone()));
        sessions
    }

    /// Closes the session `id`; a call that runs in it is aborted.
    pub async fn close(&self, id: &str) -> Result<()> {
        let session = self.get(id)?;
        if self.end(&session, EndReason::Closed).await { Ok(()) } else { Err(session.ended_during_call()) }
    }

    /// Ends `session`, closes its context and frees its place; false where it was over already.
    pub(super) async fn end(&self, session: &Arc<Session>, reason: EndReason) -> bool {
        if !session.finish(reason) {
            return false;
        }
        {
            let mut state = self.state();
            state.sessions.remove(&session.id);
            state.ended.note(session.id.clone(), self.clock.now(), reason);
        }
        session.news().advance();
        tracing::debug!(session = &*session.id, ?reason, "the session is over");
        let state = match reason {
            EndReason::Closed => Some(SessionState::Closed),
            EndReason::Expired => Some(SessionState::Expired),
            EndReason::BrowserDied => Some(SessionState::Error),
            EndReason::Released => None,
        };
        if let Some(state) = state {
            self.store.session_ended(&session.id, state);
        }
        if reason != EndReason::BrowserDied {
            Self::close_context(session).await;
        }
        // The browser's folder may go next.
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, session.pages.downloads().finish()).await;
        drop(session.place.lock().unwrap_or_else(PoisonError::into_inner).take());
        true
    }

    async fn close_context(session: &Session) {
        let Some(context) = session.context.get() else { return };
        match tokio::time::timeout(CLOSE_TIMEOUT, context.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the context did not close"),
            Err(_) => tracing::warn!(session = &*session.id, "the context did not close in time"),
        }
    }

    /// Closes every session and the browser, and waits for what it has started.
    pub async fn shutdown(&self) {
        self.stop.cancel();
        let sessions = self.list();
        futures_util::future::join_all(sessions.iter().map(|session| self.end(session, EndReason::Released)))
            .await;
        if let Some(browser) = self.browser.lock().await.take() {
            browser.close().await;
        }
        self.tasks.close();
        self.tasks.wait().await;
        self.store.close().await;
    }
}
