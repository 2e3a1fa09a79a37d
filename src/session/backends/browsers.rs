//! The backend of sessions in Troupe's own browsers. Each session has a context in one browser of the `pool`, and
//! gets another when its browser has died. A session without options of its own gets a context that was created in
//! advance, if there is one.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::pool::{Place, Pool};
use crate::{
    config::{BrowserKind, Config, ContextConfig, PoolConfig},
    engine::{Browser, Context, ContextOptions, Engine, EngineError},
    error::{ErrorCode, Result, TroupeError},
    page::{PRELUDE, Revision},
    session::{
        clock::{Clock, Millis},
        errors::engine_error,
        lifecycle::{AttachedWorker, Backend, BrowserCounts, PageInfo, Readiness, Session, Worker},
        pages::Pages,
        persistence::{SessionOrigin, StorageState},
    },
    upstream::Replayed,
};

/// So many deaths within so long are no accident: sessions are not resumed by themselves any more.
const MOST_DEATHS: usize = 3;
const DEATHS_WITHIN: Millis = 60_000;
/// Closing a context must not hold up the server's end.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// When browsers have died.
pub(super) struct Deaths<B: ?Sized>(Mutex<VecDeque<(Weak<B>, Millis)>>);

impl<B: ?Sized> Default for Deaths<B> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<B: ?Sized> Deaths<B> {
    /// Notes that `browser` has died; told several times it counts once, but one that was a session's alone each
    /// time. Where too many have, this tells from when on another may be tried.
    fn note(&self, browser: &Arc<B>, alone: bool, now: Millis) -> Option<Millis> {
        let mut deaths = self.0.lock();
        if alone
            || !deaths
                .iter()
                .any(|(known, _)| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(browser)))
        {
            deaths.push_back((Arc::downgrade(browser), now));
        }
        while deaths.front().is_some_and(|(_, at)| at + DEATHS_WITHIN <= now) {
            deaths.pop_front();
        }
        let (_, first) = *deaths.get(deaths.len().checked_sub(MOST_DEATHS)?)?;
        Some(first + DEATHS_WITHIN)
    }
}

/// The browsers of a server, and the contexts that were created in advance.
pub struct Browsers {
    config: Arc<Config>,
    clock: Arc<dyn Clock>,
    pool: Arc<Pool>,
    deaths: Deaths<dyn Browser>,
    warm: Mutex<VecDeque<Warm>>,
    /// Held while one is made ahead.
    warming: tokio::sync::Mutex<()>,
    tasks: TaskTracker,
}

/// A context with a page, as a session that is made without options of its own begins.
struct Warm {
    pages: Arc<Pages>,
    context: Arc<dyn Context>,
    place: Place,
}

impl Warm {
    fn is_cold(&self) -> bool {
        self.place.browser.gone().is_cancelled()
    }
}

/// What does the work of one session.
struct InBrowser {
    browsers: Arc<Browsers>,
    /// In the browser that it is in now.
    place: Mutex<Option<Place>>,
    /// The context that was created in advance, until it is taken.
    warm: Mutex<Option<Warm>>,
}

impl Browsers {
    pub fn new(config: Arc<Config>, engine: Arc<dyn Engine>, clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self {
            pool: Pool::new(engine, pool_of(&config)),
            config,
            clock,
            deaths: Deaths::default(),
            warm: Mutex::default(),
            warming: tokio::sync::Mutex::default(),
            tasks: TaskTracker::new(),
        })
    }

    fn warm(&self) -> MutexGuard<'_, VecDeque<Warm>> {
        let mut warm = self.warm.lock();
        warm.retain(|warm| !warm.is_cold());
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
                made = browsers.make_missing() => {
                    if let Err(error) = made {
                        tracing::debug!(%error, "no context was made ahead");
                    }
                }
                () = browsers.pool.stopping() => {}
            }
        });
    }

    async fn make_missing(&self) -> Result<()> {
        // Whoever makes one ahead makes all.
        let Ok(_turn) = self.warming.try_lock() else { return Ok(()) };
        while self.warm().len() < self.config.warm_contexts {
            let warm = self.make_warm().await?;
            self.warm().push_back(warm);
        }
        Ok(())
    }

    async fn make_warm(&self) -> Result<Warm> {
        let pages =
            Arc::new(Pages::new(self.config.clone(), self.clock.clone(), Revision::default()));
        let options = context_options(&self.config.context, &pages).await?;
        let place = self.pool.take().await?;
        let context =
            place.browser.new_context(&options, pages.clone()).await.map_err(engine_error)?;
        match pages.open_in(&*context).await {
            Ok(_) => Ok(Warm { pages, context, place }),
            Err(error) => {
                close_context(&*context).await;
                Err(error)
            }
        }
    }
}

/// How many browsers there are; WebKit's are no pool, since each session has one of its own.
fn pool_of(config: &Config) -> PoolConfig {
    match config.browser {
        BrowserKind::Webkit => PoolConfig { min_browsers: 1, max_browsers: 1, idle_timeout: None },
        _ => config.pool.clone(),
    }
}

/// The options of a context with the pages `pages`.
async fn context_options(config: &ContextConfig, pages: &Pages) -> Result<ContextOptions> {
    let mut options = ContextOptions::read(config.clone(), PRELUDE).await?;
    options.network_policy =
        pages.shared.network_policy.clone().map(|network_policy| network_policy as _);
    Ok(options)
}

impl InBrowser {
    /// The browser that it is in, or was when that died.
    fn browser(&self) -> Option<Arc<dyn Browser>> {
        let place = self.place.lock();
        place.as_ref().map(|place| place.browser.clone())
    }

    fn sit(&self, place: Place) {
        *self.place.lock() = Some(place);
    }

    /// A new context for the pages of `session`.
    async fn new_context(&self, session: &Session) -> Result<Arc<dyn Context>> {
        let options = context_options(&session.options(), &session.pages).await?;
        let attempt = async || {
            let place = self.browsers.pool.take().await?;
            let browser = place.browser.clone();
            self.sit(place);
            Ok::<_, TroupeError>(browser.new_context(&options, session.pages.clone()).await)
        };
        let mut context = attempt().await?;
        if matches!(context, Err(EngineError::BrowserGone)) {
            // It died before anybody noticed: nothing is lost by asking a new one.
            context = attempt().await?;
        }
        context.map_err(engine_error)
    }

    /// Gives `session` a context and pages.
    async fn bring_up(&self, session: &Session, birth: &SessionOrigin) -> Result<()> {
        let state = match (birth, &session.options().storage_state) {
            (SessionOrigin::New(Some(state)), _) => Some(state.clone()),
            (SessionOrigin::New(None), Some(path)) => Some(StorageState::read(path).await?),
            (SessionOrigin::New(None), None) | (SessionOrigin::Again(_), _) => None,
        };
        let state = state.map(|state| state.unmasked(session.secrets.vault()));
        let warm = self.warm.lock().take();
        // Its browser may have died before anybody noticed: one that answers lives.
        let answers = match &warm {
            Some(warm) => warm.context.cookies().await.is_ok(),
            None => false,
        };
        let (context, is_open) = match warm.filter(|_| answers) {
            Some(warm) => {
                tracing::debug!(session = &*session.id, "a context that was made ahead is taken");
                self.sit(warm.place);
                (warm.context, true)
            }
            None => (self.new_context(session).await?, false),
        };
        *session.context.lock() = Some(context);
        session.renew_network().await?;
        match birth {
            SessionOrigin::New(_) => {
                if !is_open {
                    session.pages.begin_again([], 0);
                    session.new_page().await?;
                }
                if let Some(state) = state.clone() {
                    session.bring_in(state).await?;
                }
                session.remember_start(state.unwrap_or_default());
                Ok(())
            }
            SessionOrigin::Again(saved) => session.bring_back(saved).await,
        }
    }
}

#[async_trait]
impl Backend for Browsers {
    fn attend(
        self: Arc<Self>,
        _: &Arc<str>,
        options: &ContextConfig,
        birth: &SessionOrigin,
    ) -> AttachedWorker {
        let fits = matches!(birth, SessionOrigin::New(_)) && *options == self.config.context;
        let warm = self.warm().pop_front_if(|_| fits);
        self.warm_up();
        let pages = warm.as_ref().map(|warm| warm.pages.clone());
        let worker = InBrowser { browsers: self, place: Mutex::default(), warm: Mutex::new(warm) };
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
impl Worker for InBrowser {
    async fn live(&self, session: &Arc<Session>, first: SessionOrigin) -> TroupeError {
        let mut birth = first;
        let mut was_made = matches!(birth, SessionOrigin::Again(_));
        let mut replaces_own_process = false;
        loop {
            // One that has died has no places.
            drop(self.place.lock().take());
            let lost = match self.bring_up(session, &birth).await {
                Ok(()) => {
                    was_made = true;
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
            if self.browsers.pool.is_stopping() && lost.is_none() {
                // All sessions end now.
                std::future::pending::<()>().await;
            }
            let was_up = lost.is_none();
            let alone = own_process(session).is_some_and(|gone| gone.is_cancelled());
            replaces_own_process |= alone;
            let died = self.browser().filter(|browser| alone || browser.gone().is_cancelled());
            let too_many = died
                .as_ref()
                .and_then(|browser| self.browsers.deaths.note(browser, alone, session.clock.now()));
            match (lost, too_many) {
                (Some(error), _) if !was_made => return error,
                (Some(error), None) if died.is_none() => {
                    self.close(session).await;
                    let again = session.clock.now();
                    session.readiness.send_replace(Readiness::Lost { error, again });
                }
                (_, Some(again)) => {
                    tracing::warn!(session = &*session.id, "the browser dies again and again");
                    session
                        .readiness
                        .send_replace(Readiness::Lost { error: dies_again(again), again });
                }
                (_, None) => {
                    tracing::warn!(
                        session = &*session.id,
                        "the browser has died; the session is resumed"
                    );
                    session.readiness.send_replace(Readiness::Starting);
                }
            }
            let mut readiness = session.readiness.subscribe();
            // A call asks for another attempt.
            let _ = readiness.wait_for(|readiness| matches!(readiness, Readiness::Starting)).await;
            // Where it was never up, its pages are not yet where they were.
            let known = if was_up { session.last_known() } else { session.keeper.last() };
            birth = match known {
                Some(last) => SessionOrigin::Again(last),
                // Nothing was seen of it yet: it begins as it began.
                None => match birth {
                    SessionOrigin::New(state) => SessionOrigin::New(state),
                    again @ SessionOrigin::Again(_) => again,
                },
            };
        }
    }

    /// Nothing waits for a call.
    async fn wake(&self) -> Result<Option<Replayed>> {
        Ok(None)
    }

    async fn look(&self, session: &Session, thorough: bool) -> bool {
        session.look_around(thorough).await
    }

    fn pages(&self, session: &Session) -> Vec<PageInfo> {
        session.open_pages().iter().map(|page| PageInfo::of(page)).collect()
    }

    async fn close(&self, session: &Session) {
        let context = session.context.lock().take();
        // One that was made ahead for it and not taken yet.
        let warm = self.warm.lock().take();
        for context in context.into_iter().chain(warm.map(|warm| warm.context)) {
            close_context(&*context).await;
        }
        let place = self.place.lock().take();
        if let Some(place) = place {
            self.browsers.pool.give_back(place).await;
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

/// Cancelled when the process that is this session's alone is gone; nothing where it shares one.
fn own_process(session: &Session) -> Option<CancellationToken> {
    session.context.lock().as_ref().and_then(|context| context.gone())
}

fn dies_again(again: Millis) -> TroupeError {
    TroupeError::new(
        ErrorCode::BrowserCrashed,
        format!("the browser has died {MOST_DEATHS} times within a minute; it is not started again for now"),
    )
    .detail("reason", "crash loop")
    .detail("retryAt", again)
    .suggestion("a page may be what ends it: go on in a new session, or call again in a minute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_deaths_within_a_minute_are_too_many() {
        let deaths = Deaths::default();
        let browsers: Vec<Arc<u8>> = (0..5).map(Arc::new).collect();
        assert_eq!(deaths.note(&browsers[0], false, 0), None);
        assert_eq!(deaths.note(&browsers[0], false, 1), None, "each session tells of it");
        assert_eq!(deaths.note(&browsers[1], false, 30_000), None);
        assert_eq!(deaths.note(&browsers[2], false, 59_999), Some(60_000));
        assert_eq!(deaths.note(&browsers[3], false, 60_001), Some(90_000));
        assert_eq!(deaths.note(&browsers[4], false, 200_000), None);
    }
}
