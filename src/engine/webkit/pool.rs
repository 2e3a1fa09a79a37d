//! Starts browsers in advance, because a start takes a second or more.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    display::Display,
    emulation::{self, LaunchOptions},
    launch::{self, DriverProcess, Programs},
};
use crate::{
    config::Config,
    engine::{ContextOptions, EngineResult},
};

/// Pause after a start that failed.
const RETRY_PAUSE: Duration = Duration::from_secs(10);

/// A pool of browsers, some of which are started in advance.
pub(super) struct Pool {
    config: Arc<Config>,
    programs: Programs,
    display: Display,
    ready: Mutex<VecDeque<DriverProcess>>,
    /// Locked while a browser is started in advance.
    starting: tokio::sync::Mutex<()>,
    /// The number of browsers to start in advance.
    size: usize,
    needed: Notify,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Pool {
    pub fn new(config: Arc<Config>, programs: Programs, display: Display) -> Arc<Self> {
        let pool = Arc::new(Self {
            size: config.warm_browsers,
            config,
            programs,
            display,
            ready: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            needed: Notify::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        // On the user's display, no window opens before the first session.
        if pool.display.is_virtual() {
            pool.needed.notify_one();
        }
        let filled = pool.clone();
        pool.tasks.spawn(async move {
            let stop = filled.stop.clone();
            tokio::select! {
                () = filled.fill() => {}
                () = stop.cancelled() => {}
            }
        });
        pool
    }

    pub fn display(&self) -> &Display {
        &self.display
    }

    fn ready(&self) -> MutexGuard<'_, VecDeque<DriverProcess>> {
        self.ready.lock()
    }

    /// Returns a browser with these options: one that was started in advance, or a new one.
    pub async fn browser(&self, options: &LaunchOptions) -> EngineResult<DriverProcess> {
        let mut ready = None;
        if self
            .default_options()
            .is_some_and(|default_options| default_options.can_replace(options))
        {
            ready = self.take();
            if ready.is_none() {
                // A start that is in progress finishes earlier than a new one.
                drop(self.starting.lock().await);
                ready = self.take();
            }
        }
        let process = match ready {
            Some(process) => process,
            None => launch::launch(&self.config, &self.programs, &self.display, options).await?,
        };
        self.needed.notify_one();
        Ok(process)
    }

    /// Returns the options of a session that sets none itself; `None` if the driver does not
    /// support them.
    fn default_options(&self) -> Option<LaunchOptions> {
        let config = self.config.context.clone();
        emulation::read(&ContextOptions { config, ..ContextOptions::default() }).ok()
    }

    fn take(&self) -> Option<DriverProcess> {
        let mut ready = self.ready();
        while let Some(process) = ready.pop_front() {
            if !process.ending.exited().is_cancelled() {
                return Some(process);
            }
        }
        None
    }

    /// Starts browsers one after the other until the requested number is ready.
    async fn fill(&self) {
        let Some(default_options) = self.default_options() else { return };
        loop {
            self.needed.notified().await;
            while self.ready().len() < self.size {
                let starting = self.starting.lock().await;
                let started =
                    launch::launch(&self.config, &self.programs, &self.display, &default_options)
                        .await;
                match started {
                    Ok(process) => self.ready().push_back(process),
                    Err(error) => {
                        tracing::warn!(%error, "could not start a browser in advance");
                        drop(starting);
                        tokio::time::sleep(RETRY_PAUSE).await;
                    }
                }
            }
        }
    }

    /// Ends the browsers that no session uses.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let unused: Vec<DriverProcess> = self.ready().drain(..).collect();
        let ends = unused.iter().map(|process| process.ending.terminate(process.pid));
        futures_util::future::join_all(ends).await;
        self.display.close().await;
    }
}
