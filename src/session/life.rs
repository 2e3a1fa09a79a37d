//! A session between its making and its end: it gets a context, and another one whenever its browser has died.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use tokio_util::sync::CancellationToken;

use super::{
    clock::Millis,
    manager::SessionManager,
    saved::SavedSession,
    session::{Readiness, Session, engine_error},
    storage_state::StorageState,
};
use crate::{
    engine::{Browser, ContextOptions, EngineError},
    error::{ErrorCode, Result, TroupeError},
    page::PRELUDE,
};

/// So many deaths within so long are no accident: sessions are not resumed by themselves any more.
const MOST_DEATHS: usize = 3;
const DEATHS_WITHIN: Millis = 60_000;

/// What a session begins with.
pub(super) enum Birth {
    /// Nothing but what the client or the configuration brings along.
    New(Option<StorageState>),
    /// What was last seen of it.
    Again(Arc<SavedSession>),
}

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

impl SessionManager {
    /// Makes `session`, and again after each death of its browser; returns where it cannot be made at all.
    pub(super) async fn live(self: &Arc<Self>, session: &Arc<Session>, first: Birth) {
        if let Some(upstream) = &session.upstream {
            return session.live_upstream(upstream, first).await;
        }
        let mut birth = first;
        let mut was_made = matches!(birth, Birth::Again(_));
        loop {
            let mut browser = None;
            let lost = match self.bring_up(session, &birth, &mut browser).await {
                Ok(()) => {
                    was_made = true;
                    let gone =
                        own_process(session).or_else(|| browser.as_ref().map(|browser| browser.gone()));
                    let Some(gone) = gone else { return };
                    session.readiness.send_replace(Readiness::Ready(gone.clone()));
                    gone.cancelled_owned().await;
                    None
                }
                Err(error) => Some(error),
            };
            if self.stop.is_cancelled() && lost.is_none() {
                return;
            }
            let was_up = lost.is_none();
            let alone = own_process(session).is_some_and(|gone| gone.is_cancelled());
            let died = browser.as_ref().filter(|browser| alone || browser.gone().is_cancelled());
            let too_many = died.and_then(|browser| self.deaths.note(browser, alone, self.clock.now()));
            match (lost, too_many) {
                (Some(error), _) if !was_made => return self.could_not_be_made(session, error).await,
                (Some(error), None) if died.is_none() => {
                    Self::close_context(session).await;
                    let again = self.clock.now();
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
            if readiness.wait_for(|readiness| matches!(readiness, Readiness::Starting)).await.is_err() {
                return;
            }
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

    async fn could_not_be_made(&self, session: &Session, error: TroupeError) {
        self.forget(session);
        session.readiness.send_replace(Readiness::Failed(error));
        Self::close_context(session).await;
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
