//! The running browsers. The configuration sets their number. A new session goes to the browser
//! with the fewest sessions.

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
    engine::{Browser, Engine, with_sweep},
    error::{ErrorCode, Result, TroupeError},
    session::{errors::engine_error, lifecycle::BrowserCounts},
};

/// All browsers of a server.
pub(super) struct BrowserPool {
    engine: Arc<dyn Engine>,
    config: PoolConfig,
    running: tokio::sync::Mutex<Vec<PooledBrowser>>,
    /// Locked while a session is assigned to a browser, and while a browser starts. A start can
    /// take minutes (the queue of a Selenium Grid), in which sessions end.
    starting: tokio::sync::Mutex<()>,
    /// The `gone` tokens of `running`, for readers that must not wait for a start.
    published: Mutex<Vec<CancellationToken>>,
    /// Why the last start failed, until one succeeds.
    failure: Mutex<Option<TroupeError>>,
    /// The number of browsers that died and were not replaced yet.
    dead: AtomicUsize,
    /// The number of browsers that were started to replace one that died.
    restarts: AtomicU64,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// A running browser and its sessions.
struct PooledBrowser {
    browser: Arc<dyn Browser>,
    /// Its strong count is the number of leases plus one.
    leases: Arc<()>,
    /// When its last session ended, or when it started. Has no meaning while it has a session.
    idle_since: Instant,
}

impl PooledBrowser {
    fn sessions(&self) -> usize {
        Arc::strong_count(&self.leases) - 1
    }

    fn lease(&self) -> BrowserLease {
        BrowserLease { browser: self.browser.clone(), leases: self.leases.clone() }
    }
}

/// Returns the browser with the fewest sessions.
fn least_used(running: &[PooledBrowser]) -> Option<&PooledBrowser> {
    running.iter().min_by_key(|member| member.sessions())
}

/// A lease of a browser. A leased browser is not idle.
pub(super) struct BrowserLease {
    pub browser: Arc<dyn Browser>,
    leases: Arc<()>,
}

impl BrowserPool {
    pub fn new(engine: Arc<dyn Engine>, config: PoolConfig) -> Arc<Self> {
        Arc::new(Self {
            engine,
            config,
            running: tokio::sync::Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            published: Mutex::default(),
            failure: Mutex::default(),
            dead: AtomicUsize::new(0),
            restarts: AtomicU64::new(0),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        })
    }

    /// Starts the minimum number of browsers. Removes the folders and remote sessions of killed
    /// servers.
    pub async fn start(&self) -> Result<()> {
        self.engine.end_orphaned_browsers();
        with_sweep(self.launch_minimum()).await
    }

    async fn launch_minimum(&self) -> Result<()> {
        let _starting = self.starting.lock().await;
        loop {
            {
                let mut running = self.running.lock().await;
                self.remove_dead(&mut running);
                if running.len() >= self.config.min_browsers {
                    return Ok(());
                }
            }
            let member = self.launch().await?;
            let mut running = self.running.lock().await;
            running.push(member);
            self.publish(&running);
        }
    }

    /// Leases the browser with the fewest sessions. Starts a new one if each has a session and the
    /// maximum is not reached.
    pub async fn lease(&self) -> Result<BrowserLease> {
        // Before the lock, so that each session waits for the user as long as its own timeout.
        self.engine.await_consent().await.map_err(engine_error)?;
        let _starting = self.starting.lock().await;
        let can_share = {
            let mut running = self.running.lock().await;
            self.remove_dead(&mut running);
            let is_full = running.len() >= self.config.max_browsers;
            match least_used(&running) {
                Some(member) if member.sessions() == 0 || is_full => return Ok(member.lease()),
                least => least.is_some(),
            }
        };
        let launched = if can_share { self.launch_in_time().await } else { self.launch().await };
        let mut running = self.running.lock().await;
        match launched {
            Ok(member) => {
                let lease = member.lease();
                running.push(member);
                self.publish(&running);
                Ok(lease)
            }
            Err(error) => {
                self.remove_dead(&mut running);
                let least = least_used(&running).ok_or_else(|| error.clone())?;
                tracing::warn!(%error, "no further browser could be started; the session shares a running one");
                Ok(least.lease())
            }
        }
    }

    /// Starts a browser. Fails if that takes too long, because the session can share a running one.
    async fn launch_in_time(&self) -> Result<PooledBrowser> {
        let Some(launch_wait_limit) = self.engine.launch_wait_limit() else {
            return self.launch().await;
        };
        tokio::time::timeout(launch_wait_limit, self.launch()).await.unwrap_or_else(|_| {
            let message = format!("it did not start within {} s", launch_wait_limit.as_secs());
            Err(TroupeError::new(ErrorCode::Timeout, message))
        })
    }

    async fn launch(&self) -> Result<PooledBrowser> {
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
        Ok(PooledBrowser { browser: launched?, leases: Arc::default(), idle_since: Instant::now() })
    }

    /// Removes the browsers that died.
    fn remove_dead(&self, running: &mut Vec<PooledBrowser>) {
        let before = running.len();
        running.retain(|member| !member.browser.gone().is_cancelled());
        self.dead.fetch_add(before - running.len(), Ordering::AcqRel);
        self.publish(running);
    }

    /// Updates `published`. Must be called after each change, with the lock held.
    fn publish(&self, running: &[PooledBrowser]) {
        let tokens = running.iter().map(|member| member.browser.gone()).collect();
        *self.published.lock() = tokens;
    }

    /// Counts the restart of a browser process that belongs to one session.
    pub fn count_restart(&self) {
        self.restarts.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the numbers of browsers. Does not wait while a browser starts.
    pub fn counts(&self) -> BrowserCounts {
        let published = self.published.lock();
        let running = published.iter().filter(|gone| !gone.is_cancelled()).count();
        BrowserCounts { running, restarts: self.restarts.load(Ordering::Acquire) }
    }

    /// Returns what new sessions wait for, if it is a decision of the user.
    pub fn wait_reason(&self) -> Option<&'static str> {
        self.engine.wait_reason()
    }

    pub fn failure(&self) -> Option<TroupeError> {
        self.failure.lock().clone()
    }

    /// Ends a lease. A browser without sessions is closed after the idle timeout, down to the
    /// minimum number.
    pub async fn release(self: &Arc<Self>, lease: BrowserLease) {
        let mut running = self.running.lock().await;
        let member = running.iter_mut().find(|member| Arc::ptr_eq(&member.leases, &lease.leases));
        drop(lease.leases);
        let Some(member) = member.filter(|member| member.sessions() == 0) else { return };
        member.idle_since = Instant::now();
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
            let stays = spare == 0 || member.sessions() > 0 || member.idle_since.elapsed() < idle;
            if !stays {
                spare -= 1;
                closed.push(member.browser.clone());
            }
            stays
        });
        self.publish(&running);
        drop(running);
        for browser in closed {
            tracing::info!(pid = browser.pid(), "an idle browser is closed");
            browser.close().await;
        }
    }

    /// Prevents further starts.
    pub fn stop(&self) {
        self.stop.cancel();
        self.engine.stop();
    }

    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Waits until further starts are prevented.
    pub async fn wait_stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Closes all browsers.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        // A browser that starts now is closed too.
        let _starting = self.starting.lock().await;
        let running = {
            let mut running = self.running.lock().await;
            self.publish(&[]);
            std::mem::take(&mut *running)
        };
        let closes =
            futures_util::future::join_all(running.iter().map(|member| member.browser.close()));
        tokio::join!(closes, self.engine.end());
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
    async fn browsers_can_be_counted_while_one_starts() {
        let config = PoolConfig { min_browsers: 1, max_browsers: 1, idle_timeout: None };
        let pool = BrowserPool::new(Arc::new(Starting), config);
        let mut lease = pin!(pool.lease());
        assert!(lease.as_mut().now_or_never().is_none());
        assert!(pool.starting.try_lock().is_err(), "the lock is held during the start");
        assert!(pool.running.try_lock().is_ok(), "sessions can end during the start");
        assert_eq!(pool.counts().running, 0);
    }
}
