//! The backend of sessions in Troupe's own browsers. Each session has a context in a browser of the
//! `pool`, and gets another when its browser dies. A session with the default options gets a
//! context that was created in advance, if there is one.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::pool::{BrowserLease, BrowserPool};
use crate::{
    config::{BrowserKind, Config, ContextConfig, PoolConfig},
    engine::{Browser, Context, ContextOptions, Engine, EngineError},
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    page::{ChangeCounter, prelude},
    session::{
        clock::{Clock, Millis},
        errors::{browser_died, engine_error},
        lifecycle::{
            AttachedWorker, Backend, BrowserCounts, PageInfo, Readiness, Session, SessionWorker,
        },
        pages::Pages,
        persistence::{SessionOrigin, StorageState},
    },
    upstream::ReplayReport,
};

/// After this many crashes within this time (in milliseconds), sessions are not restored
/// automatically for a while.
const MAX_CRASHES: usize = 3;
const CRASH_WINDOW: Millis = 60_000;
/// How long the end of a session waits for its context to close.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The times of recent browser crashes.
pub(super) struct CrashHistory<B: ?Sized>(Mutex<VecDeque<(Weak<B>, Millis)>>);

impl<B: ?Sized> Default for CrashHistory<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B: ?Sized> CrashHistory<B> {
    /// Records a crash of `browser`. Repeated reports about a shared browser count once; with
    /// `is_dedicated`, each counts. After too many crashes, returns when the next start may be
    /// tried.
    fn record(&self, browser: &Arc<B>, is_dedicated: bool, now: Millis) -> Option<Millis> {
        let mut crashes = self.0.lock();
        if is_dedicated
            || !crashes
                .iter()
                .any(|(known, _)| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(browser)))
        {
            crashes.push_back((Arc::downgrade(browser), now));
        }
        while crashes.front().is_some_and(|(_, at)| at + CRASH_WINDOW <= now) {
            crashes.pop_front();
        }
        let (_, first) = *crashes.get(crashes.len().checked_sub(MAX_CRASHES)?)?;
        Some(first + CRASH_WINDOW)
    }
}

/// The browsers of a server, and the contexts that were created in advance.
pub struct Browsers {
    config: Arc<Config>,
    files: FileStore,
    clock: Arc<dyn Clock>,
    pool: Arc<BrowserPool>,
    crashes: CrashHistory<dyn Browser>,
    warm: Mutex<VecDeque<WarmContext>>,
    /// Held while contexts are created in advance.
    warming: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
}

/// A context with a page that was created in advance, for a session with the default options.
struct WarmContext {
    pages: Arc<Pages>,
    context: Arc<dyn Context>,
    lease: BrowserLease,
}

impl WarmContext {
    fn has_died(&self) -> bool {
        self.lease.browser.gone().is_cancelled()
    }
}

/// Runs one session in a browser.
struct BrowserWorker {
    browsers: Arc<Browsers>,
    /// The lease of its current browser.
    lease: Mutex<Option<BrowserLease>>,
    /// The context that was created in advance, until it is taken.
    warm: Mutex<Option<WarmContext>>,
}

impl Browsers {
    pub fn new(config: Arc<Config>, engine: Arc<dyn Engine>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            files: FileStore::open(&config),
            pool: BrowserPool::new(engine, pool_of(&config)),
            config,
            clock,
            crashes: CrashHistory::default(),
            warm: Mutex::default(),
            warming: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
        })
    }

    fn warm(&self) -> MutexGuard<'_, VecDeque<WarmContext>> {
        let mut warm = self.warm.lock();
        warm.retain(|warm| !warm.has_died());
        warm
    }

    /// Creates missing contexts in advance, in the background.
    fn warm_up(self: &Arc<Self>) {
        if self.warm().len() >= self.config.warm_contexts || self.pool.is_stopping() {
            return;
        }
        let browsers = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                created = browsers.create_missing() => {
                    if let Err(error) = created {
                        tracing::debug!(%error, "no context was created in advance");
                    }
                }
                () = browsers.pool.wait_stopped() => {}
            }
        });
    }

    async fn create_missing(&self) -> Result<()> {
        // One task creates all missing contexts.
        let Ok(_turn) = self.warming.try_lock() else { return Ok(()) };
        while self.warm().len() < self.config.warm_contexts {
            let warm = self.create_warm().await?;
            self.warm().push_back(warm);
        }
        Ok(())
    }

    async fn create_warm(&self) -> Result<WarmContext> {
        let (config, files, clock) = (self.config.clone(), self.files.clone(), self.clock.clone());
        let pages = Arc::new(Pages::new(config, files, clock, ChangeCounter::default(), None));
        let options = context_options(&self.config.context, &pages).await?;
        let lease = self.pool.lease().await?;
        let context =
            lease.browser.new_context(&options, pages.clone()).await.map_err(engine_error)?;
        match pages.open_in(&*context).await {
            Ok(_) => Ok(WarmContext { pages, context, lease }),
            Err(error) => {
                close_context(&*context).await;
                Err(error)
            }
        }
    }
}

/// Returns the configuration of the pool. WebKit has no pool: each session has its own browser
/// process. The first call attaches to the user's browser, because that asks for consent, and the
/// connection is kept.
fn pool_of(config: &Config) -> PoolConfig {
    match config.browser {
        _ if config.attach.is_some() => {
            PoolConfig { min_browsers: 0, max_browsers: 1, idle_timeout: None }
        }
        BrowserKind::Webkit => PoolConfig { min_browsers: 1, max_browsers: 1, idle_timeout: None },
        _ => config.pool.clone(),
    }
}

/// Returns the options of a context with the pages `pages`.
async fn context_options(config: &ContextConfig, pages: &Pages) -> Result<ContextOptions> {
    let mut options = ContextOptions::read(config.clone(), prelude(&pages.shared.config)).await?;
    options.network_policy =
        pages.shared.network_policy.clone().map(|network_policy| network_policy as _);
    Ok(options)
}

impl BrowserWorker {
    /// Returns its browser, which may have died.
    fn browser(&self) -> Option<Arc<dyn Browser>> {
        let lease = self.lease.lock();
        lease.as_ref().map(|lease| lease.browser.clone())
    }

    fn set_lease(&self, lease: BrowserLease) {
        *self.lease.lock() = Some(lease);
    }

    /// Creates a context for the pages of `session`.
    async fn new_context(&self, session: &Session) -> Result<Arc<dyn Context>> {
        let options = context_options(&session.options(), &session.pages).await?;
        let attempt = async || {
            let lease = self.browsers.pool.lease().await?;
            let browser = lease.browser.clone();
            self.set_lease(lease);
            Ok::<_, TroupeError>(browser.new_context(&options, session.pages.clone()).await)
        };
        let mut context = attempt().await?;
        if matches!(context, Err(EngineError::BrowserGone)) {
            // The browser died without being noticed: try once more in a new one.
            context = attempt().await?;
        }
        context.map_err(engine_error)
    }

    /// Creates the context and the pages of `session`.
    async fn create(&self, session: &Session, origin: &SessionOrigin) -> Result<()> {
        let state = match (origin, &session.options().storage_state) {
            (SessionOrigin::New(Some(state)), _) => Some(state.clone()),
            (SessionOrigin::New(None), Some(path)) => Some(StorageState::read(path).await?),
            (SessionOrigin::New(None), None) | (SessionOrigin::Resumed(_), _) => None,
        };
        let state = state.map(|state| state.unmasked(session.secrets.vault()));
        let warm = self.warm.lock().take();
        // Its browser may have died without being noticed: check that it answers.
        let answers = match &warm {
            Some(warm) => warm.context.cookies().await.is_ok(),
            None => false,
        };
        let (context, is_open) = match warm.filter(|_| answers) {
            Some(warm) => {
                tracing::debug!(
                    session = &*session.id,
                    "the session uses a context that was created in advance"
                );
                self.set_lease(warm.lease);
                (warm.context, true)
            }
            None => (self.new_context(session).await?, false),
        };
        *session.context.lock() = Some(context);
        session.apply_network().await?;
        match origin {
            SessionOrigin::New(_) => {
                if !is_open {
                    session.pages.reset([], 0);
                    session.new_page().await?;
                }
                if let Some(state) = state.clone() {
                    session.load_state(state).await?;
                }
                session.record_initial_state(state.unwrap_or_default());
                Ok(())
            }
            SessionOrigin::Resumed(saved) => session.restore(saved).await,
        }
    }
}

#[async_trait]
impl Backend for Browsers {
    fn attach(
        self: Arc<Self>,
        _: &Arc<str>,
        options: &ContextConfig,
        origin: &SessionOrigin,
    ) -> AttachedWorker {
        let has_defaults =
            matches!(origin, SessionOrigin::New(_)) && *options == self.config.context;
        let warm = self.warm().pop_front_if(|_| has_defaults);
        self.warm_up();
        let pages = warm.as_ref().map(|warm| warm.pages.clone());
        let worker =
            BrowserWorker { browsers: self, lease: Mutex::default(), warm: Mutex::new(warm) };
        AttachedWorker { worker: Arc::new(worker), pages }
    }

    async fn start(self: Arc<Self>) -> Result<()> {
        self.pool.start().await?;
        self.warm_up();
        Ok(())
    }

    fn failure(&self) -> Option<TroupeError> {
        self.pool.failure()
    }

    fn wait_reason(&self) -> Option<&'static str> {
        self.pool.wait_reason()
    }

    fn browser_counts(&self) -> BrowserCounts {
        self.pool.counts()
    }

    async fn stop(&self) {
        self.pool.stop();
    }

    async fn end(&self) {
        self.pool.stop();
        self.tasks.close();
        self.tasks.wait().await;
        self.warm().clear();
        self.pool.end().await;
    }
}

#[async_trait]
impl SessionWorker for BrowserWorker {
    async fn run_session(&self, session: &Arc<Session>, first: SessionOrigin) -> TroupeError {
        let mut origin = first;
        let mut was_created = matches!(origin, SessionOrigin::Resumed(_));
        let mut replaces_own_process = false;
        loop {
            // Release the lease of a browser that has died.
            drop(self.lease.lock().take());
            let failure = match self.create(session, &origin).await {
                Ok(()) => {
                    was_created = true;
                    if std::mem::take(&mut replaces_own_process) {
                        self.browsers.pool.count_restart();
                    }
                    let gone = own_process(session)
                        .or_else(|| self.browser().map(|browser| browser.gone()));
                    let gone = gone.unwrap_or_default();
                    session.readiness.send_replace(Readiness::Ready(gone.clone()));
                    gone.cancelled_owned().await;
                    None
                }
                Err(error) => Some(error),
            };
            if self.browsers.pool.is_stopping() && failure.is_none() {
                // The server is stopping, and all sessions end.
                std::future::pending::<()>().await;
            }
            let was_ready = failure.is_none();
            let is_dedicated = own_process(session).is_some_and(|gone| gone.is_cancelled());
            replaces_own_process |= is_dedicated;
            let died =
                self.browser().filter(|browser| is_dedicated || browser.gone().is_cancelled());
            let too_many = died.as_ref().and_then(|browser| {
                self.browsers.crashes.record(browser, is_dedicated, session.clock.now())
            });
            match (failure, too_many) {
                (Some(error), _) if !was_created => return error,
                (Some(error), None) if died.is_none() => {
                    self.close(session).await;
                    let retry_at = session.clock.now();
                    session.readiness.send_replace(Readiness::Lost { error, retry_at });
                }
                (_, Some(retry_at)) => {
                    tracing::warn!(
                        session = &*session.id,
                        "the browser crashes repeatedly; restarts are paused"
                    );
                    session.readiness.send_replace(Readiness::Lost {
                        error: crash_loop_error(retry_at),
                        retry_at,
                    });
                }
                // Another connection asks the user for consent again, so it waits for a call.
                (_, None) if self.browsers.config.attach.is_some() => {
                    tracing::warn!(
                        session = &*session.id,
                        "the connection to the browser is closed"
                    );
                    let (error, retry_at) = (browser_died(), session.clock.now());
                    session.readiness.send_replace(Readiness::Lost { error, retry_at });
                }
                (_, None) => {
                    tracing::warn!(
                        session = &*session.id,
                        "the browser died; the session is restored"
                    );
                    session.readiness.send_replace(Readiness::Starting);
                }
            }
            let mut readiness = session.readiness.subscribe();
            // A call triggers the next attempt.
            let _ = readiness.wait_for(|readiness| matches!(readiness, Readiness::Starting)).await;
            // If the restore failed, the current URLs of the pages are not those of the session.
            let known = if was_ready { session.last_known() } else { session.cache.last() };
            origin = match known {
                Some(last) => SessionOrigin::Resumed(last),
                // Nothing was saved yet: start from the initial state.
                None => match origin {
                    SessionOrigin::New(state) => SessionOrigin::New(state),
                    resumed @ SessionOrigin::Resumed(_) => resumed,
                },
            };
        }
    }

    /// Does nothing: the session starts without a call.
    async fn activate(&self) -> Result<Option<ReplayReport>> {
        Ok(None)
    }

    async fn save_state(&self, session: &Session, thorough: bool) -> bool {
        session.save_current_state(thorough).await
    }

    fn pages(&self, session: &Session) -> Vec<PageInfo> {
        session.open_pages().iter().map(|page| PageInfo::of(page)).collect()
    }

    async fn close(&self, session: &Session) {
        let context = session.context.lock().take();
        // The context that was created in advance and not used yet.
        let warm = self.warm.lock().take();
        for context in context.into_iter().chain(warm.map(|warm| warm.context)) {
            close_context(&*context).await;
        }
        let lease = self.lease.lock().take();
        if let Some(lease) = lease {
            self.browsers.pool.release(lease).await;
        }
    }
}

async fn close_context(context: &dyn Context) {
    match tokio::time::timeout(CLOSE_TIMEOUT, context.close()).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "the context did not close"),
        Err(_) => tracing::warn!("a context did not close in time"),
    }
}

/// Returns the token that is canceled when the browser process of this session is gone. `None` if
/// sessions share it.
fn own_process(session: &Session) -> Option<CancellationToken> {
    session.context.lock().as_ref().and_then(|context| context.gone())
}

fn crash_loop_error(retry_at: Millis) -> TroupeError {
    TroupeError::new(
        ErrorCode::BrowserCrashed,
        format!("the browser died {MAX_CRASHES} times within a minute; restarts are paused"),
    )
    .detail("reason", "crash loop")
    .detail("retryAt", retry_at)
    .suggestion("a page may crash it: continue in a new session, or call again in a minute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_third_crash_within_a_minute_pauses_restarts() {
        let crashes = CrashHistory::default();
        let browsers: Vec<Arc<u8>> = (0..5).map(Arc::new).collect();
        assert_eq!(crashes.record(&browsers[0], false, 0), None);
        assert_eq!(crashes.record(&browsers[0], false, 1), None, "each session reports it");
        assert_eq!(crashes.record(&browsers[1], false, 30_000), None);
        assert_eq!(crashes.record(&browsers[2], false, 59_999), Some(60_000));
        assert_eq!(crashes.record(&browsers[3], false, 60_001), Some(90_000));
        assert_eq!(crashes.record(&browsers[4], false, 200_000), None);
    }
}
