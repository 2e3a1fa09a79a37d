//! Browsers that are started in advance, because a start takes a second or more.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    display::Display,
    emulation::{self, Wanted},
    launch::{self, Process, Programs},
};
use crate::{
    config::Config,
    engine::{ContextOptions, EngineResult},
};

/// After a start that has failed.
const AGAIN: Duration = Duration::from_secs(10);

/// What browsers are started with.
pub(super) struct Pool {
    config: Arc<Config>,
    programs: Programs,
    display: Display,
    ready: Mutex<VecDeque<Process>>,
    /// Held while one is started ahead.
    starting: tokio::sync::Mutex<()>,
    /// How many are to be ready, once there may be any.
    size: usize,
    wanted: Notify,
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
            wanted: Notify::new(),
            stop: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        // On the user's own display there is no window before the first session.
        if pool.display.is_ours() {
            pool.wanted.notify_one();
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

    fn ready(&self) -> MutexGuard<'_, VecDeque<Process>> {
        self.ready.lock()
    }

    /// A browser that is as `wanted`: one that is ready, or a new one.
    pub async fn browser(&self, wanted: &Wanted) -> EngineResult<Process> {
        let mut ready = None;
        if self.usual().is_some_and(|usual| usual.starts_like(wanted)) {
            ready = self.take();
            if ready.is_none() {
                // One that has begun is there sooner than one that begins now.
                drop(self.starting.lock().await);
                ready = self.take();
            }
        }
        let process = match ready {
            Some(process) => process,
            None => launch::launch(&self.config, &self.programs, &self.display, wanted).await?,
        };
        self.wanted.notify_one();
        Ok(process)
    }

    /// Returns the parameters of a session without own options; `None` if such a session cannot be
    /// started in advance.
    fn usual(&self) -> Option<Wanted> {
        let config = self.config.context.clone();
        emulation::read(&ContextOptions { config, ..ContextOptions::default() }).ok()
    }

    fn take(&self) -> Option<Process> {
        let mut ready = self.ready();
        while let Some(process) = ready.pop_front() {
            if !process.ending.exited().is_cancelled() {
                return Some(process);
            }
        }
        None
    }

    /// Starts one after the other, until as many are ready as there are to be.
    async fn fill(&self) {
        let Some(usual) = self.usual() else { return };
        loop {
            self.wanted.notified().await;
            while self.ready().len() < self.size {
                let starting = self.starting.lock().await;
                let started =
                    launch::launch(&self.config, &self.programs, &self.display, &usual).await;
                match started {
                    Ok(process) => self.ready().push_back(process),
                    Err(error) => {
                        tracing::warn!(%error, "no browser could be started ahead");
                        drop(starting);
                        tokio::time::sleep(AGAIN).await;
                    }
                }
            }
        }
    }

    /// Ends the browsers that no session has taken.
    pub async fn close(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        let left: Vec<Process> = self.ready().drain(..).collect();
        let ends = left.iter().map(|process| launch::close(&process.ending, process.pid));
        futures_util::future::join_all(ends).await;
        self.display.close().await;
    }
}
