//! The running browsers. The configuration sets their number. A new session goes to the browser with the fewest
//! sessions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::PoolConfig,
    engine::{Browser, Engine},
    error::{ErrorCode, Result, TroupeError},
    session::{errors::engine_error, lifecycle::BrowserCounts},
};

/// All browsers of a server.
pub(super) struct Pool {
    engine: Arc<dyn Engine>,
    config: PoolConfig,
    /// The lock is held while one starts.
    running: tokio::sync::Mutex<Vec<Member>>,
    /// What tells that each of `running` is gone, for readers that must not wait for a start.
    published: Mutex<Vec<CancellationToken>>,
    /// Why the last start failed, until one succeeds.
    failure: Mutex<Option<TroupeError>>,
    /// Browsers that have died and not been replaced yet.
    dead: AtomicUsize,
    /// Browsers that were started in place of one that died.
    restarts: AtomicU64,
    stop: CancellationToken,
    tasks: TaskTracker,
}

#[derive(Clone)]
struct Member {
    browser: Arc<dyn Browser>,
    /// Held once by us and once by each place.
    held: Arc<()>,
    /// Since when it has had no session, if it has none.
    left: Instant,
}

impl Member {
    fn sessions(&self) -> usize {
        Arc::strong_count(&self.held) - 1
    }
}

/// A place in a browser: as long as it is held, the browser is not idle.
pub(super) struct Place {
    pub browser: Arc<dyn Browser>,
    held: Arc<()>,
}

impl Pool {
    pub fn new(engine: Arc<dyn Engine>, config: PoolConfig) -> Arc<Self> {
        Arc::new(Self {
            engine,
            config,
            running: tokio::sync::Mutex::default(),
            published: Mutex::default(),
            failure: Mutex::default(),
            dead: AtomicUsize::new(0),
            restarts: AtomicU64::new(0),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts as many as should always be there.
    pub async fn start(&self) -> Result<()> {
        let mut running = self.running.lock().await;
        self.remove_dead(&mut running);
        while running.len() < self.config.min_browsers {
            let member = self.launch().await?;
            running.push(member);
            self.publish(&running);
        }
        Ok(())
    }

    /// A place in the browser with the fewest; in a new one where each has a session and there may be more.
    pub async fn take(&self) -> Result<Place> {
        let mut running = self.running.lock().await;
        self.remove_dead(&mut running);
        let counted = running.iter().map(|member| (member.sessions(), member));
        let least = counted
            .min_by_key(|(sessions, _)| *sessions)
            .map(|(count, member)| (count, member.clone()));
        let is_full = running.len() >= self.config.max_browsers;
        let member = match least {
            Some((sessions, member)) if sessions == 0 || is_full => member,
            least => match (self.launch().await, least) {
                (Ok(member), _) => {
                    running.push(member.clone());
                    self.publish(&running);
                    member
                }
                (Err(error), Some((_, least))) => {
                    tracing::warn!(%error, "no further browser is there: sessions share those that run");
                    least
                }
                (Err(error), None) => return Err(error),
            },
        };
        Ok(Place { browser: member.browser, held: member.held })
    }

    async fn launch(&self) -> Result<Member> {
        if self.stop.is_cancelled() {
            return Err(TroupeError::new(ErrorCode::BrowserError, "the server is stopping"));
        }
        let launched = self.engine.launch().await.map_err(engine_error);
        match &launched {
            Ok(_) => {
                let replaces =
                    self.dead.fetch_update(Ordering::AcqRel, Ordering::Acquire, |dead| {
                        dead.checked_sub(1)
                    });
                if replaces.is_ok() {
                    self.restarts.fetch_add(1, Ordering::AcqRel);
                }
            }
            Err(error) => {
                let advice = error.suggestion.as_deref().unwrap_or_default();
                tracing::error!(error = error.message, advice, "no browser could be started");
            }
        }
        *self.failure.lock() = launched.as_ref().err().cloned();
        Ok(Member { browser: launched?, held: Arc::default(), left: Instant::now() })
    }

    /// Forgets the browsers that have died.
    fn remove_dead(&self, running: &mut Vec<Member>) {
        let before = running.len();
        running.retain(|member| !member.browser.gone().is_cancelled());
        self.dead.fetch_add(before - running.len(), Ordering::AcqRel);
        self.publish(running);
    }

    /// Called with the lock held, after each change.
    fn publish(&self, running: &[Member]) {
        let tokens = running.iter().map(|member| member.browser.gone()).collect();
        *self.published.lock() = tokens;
    }

    /// Counts a browser that belonged to one session, died, and was started again.
    pub fn count_restart(&self) {
        self.restarts.fetch_add(1, Ordering::AcqRel);
    }

    /// Does not wait, also while a browser starts.
    pub fn counts(&self) -> BrowserCounts {
        let published = self.published.lock();
        let running = published.iter().filter(|gone| !gone.is_cancelled()).count();
        BrowserCounts { running, restarts: self.restarts.load(Ordering::Acquire) }
    }

    pub fn failure(&self) -> Option<TroupeError> {
        self.failure.lock().clone()
    }

    /// Gives up a place; a browser that has been without sessions for long enough is closed, down to the least.
    pub async fn give_back(self: &Arc<Self>, place: Place) {
        let mut running = self.running.lock().await;
        let member = running.iter_mut().find(|member| Arc::ptr_eq(&member.held, &place.held));
        drop(place.held);
        let Some(member) = member.filter(|member| member.sessions() == 0) else { return };
        member.left = Instant::now();
        let Some(idle) = self.config.idle_timeout else { return };
        let pool = self.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = tokio::time::sleep(idle) => pool.close_idle(idle).await,
                () = pool.stop.cancelled() => {}
            }
        });
    }

    async fn close_idle(&self, idle: Duration) {
        let mut running = self.running.lock().await;
        let mut spare = running.len().saturating_sub(self.config.min_browsers);
        let mut closed = Vec::new();
        running.retain(|member| {
            let stays = spare == 0 || member.sessions() > 0 || member.left.elapsed() < idle;
            if !stays {
                spare -= 1;
                closed.push(member.browser.clone());
            }
            stays
        });
        self.publish(&running);
        drop(running);
        for browser in closed {
            tracing::info!(pid = browser.pid(), "a browser without sessions is closed");
            browser.close().await;
        }
    }

    /// From now on none is started.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns when none is started any more.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Closes all.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let running = {
            let mut running = self.running.lock().await;
            self.publish(&[]);
            std::mem::take(&mut *running)
        };
        futures_util::future::join_all(running.iter().map(|member| member.browser.close())).await;
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use async_trait::async_trait;
    use futures_util::FutureExt;

    use super::*;
    use crate::engine::EngineResult;

    /// An engine whose browser never finishes starting.
    struct Starting;

    #[async_trait]
    impl Engine for Starting {
        async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn browsers_are_counted_while_one_starts() {
        let config = PoolConfig { min_browsers: 1, max_browsers: 1, idle_timeout: None };
        let pool = Pool::new(Arc::new(Starting), config);
        let mut taking = pin!(pool.take());
        assert!(taking.as_mut().now_or_never().is_none());
        assert!(pool.running.try_lock().is_err(), "the lock is held during the start");
        assert_eq!(pool.counts().running, 0);
    }
}
