//! The browsers that run: as many as the configuration wants, each session in the one that has the fewest.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::session::engine_error;
use crate::{
    config::PoolConfig,
    engine::{Browser, Engine},
    error::{ErrorCode, Result, TroupeError},
};

/// All browsers of a server.
pub(super) struct Pool {
    engine: Arc<dyn Engine>,
    config: PoolConfig,
    /// The lock is held while one starts.
    running: tokio::sync::Mutex<Vec<Member>>,
    /// Why the last start failed, until one succeeds.
    failure: Mutex<Option<TroupeError>>,
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
            failure: Mutex::default(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts as many as should always be there.
    pub async fn start(&self) -> Result<()> {
        let mut running = self.running.lock().await;
        running.retain(|member| !member.browser.gone().is_cancelled());
        while running.len() < self.config.min_browsers {
            let member = self.launch().await?;
            running.push(member);
        }
        Ok(())
    }

    /// A place in the browser with the fewest; in a new one where each has a session and there may be more.
    pub async fn take(&self) -> Result<Place> {
        let mut running = self.running.lock().await;
        running.retain(|member| !member.browser.gone().is_cancelled());
        let counted = running.iter().map(|member| (member.sessions(), member));
        let least =
            counted.min_by_key(|(sessions, _)| *sessions).map(|(count, member)| (count, member.clone()));
        let is_full = running.len() >= self.config.max_browsers;
        let member = match least {
            Some((sessions, member)) if sessions == 0 || is_full => member,
            least => match (self.launch().await, least) {
                (Ok(member), _) => {
                    running.push(member.clone());
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
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = launched.as_ref().err().cloned();
        Ok(Member { browser: launched?, held: Arc::default(), left: Instant::now() })
    }

    pub fn failure(&self) -> Option<TroupeError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let running = std::mem::take(&mut *self.running.lock().await);
        futures_util::future::join_all(running.iter().map(|member| member.browser.close())).await;
    }
}
