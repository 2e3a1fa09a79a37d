//! Sessions in browsers of ours: one shared browser, started when it is first wanted, and for each session a context in
//! it, another one whenever its browser has died.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{
    backend::{Backend, Birth, Worker},
    clock::Millis,
    session::{PageInfo, Readiness, Session, engine_error},
    storage_state::StorageState,
};
use crate::{
    engine::{Browser, ContextOptions, Engine, EngineError},
    error::{ErrorCode, Result, TroupeError},
    page::PRELUDE,
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
        let mut deaths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if alone || !deaths.iter().any(|(known, _)| std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(browser))) {
            deaths.push_back((Arc::downgrade(browser), now));
        }
        while deaths.front().is_some_and(|(_, at)| at + DEATHS_WITHIN <= now) {
            deaths.pop_front();
        }
        let (_, first) = *deaths.get(deaths.len().checked_sub(MOST_DEATHS)?)?;
        Some(first + DEATHS_WITHIN)
    }
}

/// The engine, and the browser of it that runs.
pub struct Browsers {
    engine: Arc<dyn Engine>,
    /// The lock is held while one starts.
    running: tokio::sync::Mutex<Option<Arc<dyn Browser>>>,
    /// Why the last start failed, until one succeeds.
    failure: Mutex<Option<TroupeError>>,
    deaths: Deaths<dyn Browser>,
    stop: CancellationToken,
}

impl Browsers {
    pub fn new(engine: Arc<dyn Engine>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            running: tokio::sync::Mutex::default(),
            failure: Mutex::default(),
            deaths: Deaths::default(),
            stop: CancellationToken::new(),
        })
    }

    /// The shared browser, started or started again where none runs.
    async fn browser(&self) -> Result<Arc<dyn Browser>> {
        let mut running = self.running.lock().await;
        if let Some(browser) = running.as_ref().filter(|browser| !browser.gone().is_cancelled()) {
            return Ok(browser.clone());
        }
        if self.stop.is_cancelled() {
            return Err(TroupeError::new(ErrorCode::BrowserError, "the server is stopping"));
        }
        let launched = self.engine.launch().await.map_err(engine_error);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = launched.as_ref().err().cloned();
        let browser = launched?;
        *running = Some(browser.clone());
        Ok(browser)
    }

    /// Gives `session` a context and pages; `browser` is set to the one that they are in.
    async fn bring_up(
        &self,
        session: &Session,
        birth: &Birth,
        browser: &mut Option<Arc<dyn Browser>>,
    ) -> Result<()> {
        let config = session.options.clone();
        let state = match (birth, &config.storage_state) {
            (Birth::New(Some(state)), _) => Some(state.clone()),
            (Birth::New(None), Some(path)) => Some(StorageState::read(path).await?),
            (Birth::New(None), None) | (Birth::Again(_), _) => None,
        };
        let mut options = ContextOptions::read(config, PRELUDE).await?;
        options.gate = session.pages.shared.gate.clone().map(|gate| gate as _);
        let mut running = self.browser().await?;
        let mut context = running.new_context(&options, session.pages.clone()).await;
        if matches!(context, Err(EngineError::BrowserGone)) {
            // It died before anybody noticed: nothing is lost by asking a new one.
            running = self.browser().await?;
            context = running.new_context(&options, session.pages.clone()).await;
        }
        *browser = Some(running);
        let context = context.map_err(engine_error)?;
        *session.context.lock().unwrap_or_else(PoisonError::into_inner) = Some(context);
        session.renew_network().await?;
        match birth {
            Birth::New(_) => {
                session.pages.begin_again([], 0);
                session.new_page().await?;
                if let Some(state) = state {
                    session.bring_in(state).await?;
                }
                Ok(())
            }
            Birth::Again(saved) => session.bring_back(saved).await,
        }
    }
}

#[async_trait]
impl Backend for Browsers {
    fn attend(self: Arc<Self>, _: &Arc<str>) -> Arc<dyn Worker> {
        self
    }

    async fn start(&self) -> Result<()> {
        self.browser().await.map(drop)
    }

    fn failure(&self) -> Option<TroupeError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn stop(&self) {
        self.stop.cancel();
    }

    async fn end(&self) {
        if let Some(browser) = self.running.lock().await.take() {
            browser.close().await;
        }
    }
}

#[async_trait]
impl Worker for Browsers {
    async fn live(&self, session: &Arc<Session>, first: Birth) -> TroupeError {
        let mut birth = first;
        let mut was_made = matches!(birth, Birth::Again(_));
        loop {
            let mut browser = None;
            let lost = match self.bring_up(session, &birth, &mut browser).await {
                Ok(()) => {
                    was_made = true;
                    let gone =
                        own_process(session).or_else(|| browser.as_ref().map(|browser| browser.gone()));
                    let gone = gone.unwrap_or_default();
                    session.readiness.send_replace(Readiness::Ready(gone.clone()));
                    gone.cancelled_owned().await;
                    None
                }
                Err(error) => Some(error),
            };
            if self.stop.is_cancelled() && lost.is_none() {
                // All sessions end now.
                std::future::pending::<()>().await;
            }
            let was_up = lost.is_none();
            let alone = own_process(session).is_some_and(|gone| gone.is_cancelled());
            let died = browser.as_ref().filter(|browser| alone || browser.gone().is_cancelled());
            let too_many = died.and_then(|browser| self.deaths.note(browser, alone, session.clock.now()));
            match (lost, too_many) {
                (Some(error), _) if !was_made => return error,
                (Some(error), None) if died.is_none() => {
                    self.close(session).await;
                    let again = session.clock.now();
                    session.readiness.send_replace(Readiness::Lost { error, again });
                }
                (_, Some(again)) => {
                    tracing::warn!(session = &*session.id, "the browser dies again and again");
                    session.readiness.send_replace(Readiness::Lost { error: dies_again(again), again });
                }
                (_, None) => {
                    tracing::warn!(session = &*session.id, "the browser has died; the session is resumed");
                    session.readiness.send_replace(Readiness::Starting);
                }
            }
            let mut readiness = session.readiness.subscribe();
            // A call asks for another attempt.
            let _ = readiness.wait_for(|readiness| matches!(readiness, Readiness::Starting)).await;
            // Where it was never up, its pages are not yet where they were.
            let known = if was_up { session.last_known() } else { session.keeper.last() };
            birth = match known {
                Some(last) => Birth::Again(last),
                // Nothing was seen of it yet: it begins as it began.
                None => match birth {
                    Birth::New(state) => Birth::New(state),
                    again @ Birth::Again(_) => again,
                },
            };
        }
    }

    /// Nothing waits for a call.
    async fn wake(&self) -> Result<Option<Replayed>> {
        Ok(None)
    }

    async fn look(&self, session: &Session, thorough: bool) {
        session.look_around(thorough).await;
    }

    fn pages(&self, session: &Session) -> Vec<PageInfo> {
        session.open_pages().iter().map(|page| PageInfo::of(page)).collect()
    }

    async fn close(&self, session: &Session) {
        let context = session.context.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(context) = context else { return };
        match tokio::time::timeout(CLOSE_TIMEOUT, context.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "the context did not close"),
            Err(_) => tracing::warn!(session = &*session.id, "the context did not close in time"),
        }
    }
}

/// Cancelled when the process that is this session's alone is gone; nothing where it shares one.
fn own_process(session: &Session) -> Option<CancellationToken> {
    session.context.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(|context| context.gone())
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
