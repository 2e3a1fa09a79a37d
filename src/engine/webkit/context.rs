//! Implements the [`Context`] trait for a session.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::{
    CAPABILITIES,
    downloads::DownloadFolder,
    launch::DriverProcess,
    unsupported,
    windows::{SessionWindows, watch},
};
use crate::{
    config::Viewport,
    engine::{
        Capabilities, Context, ContextObserver, EnginePage, EngineResult,
        network::{Cookie, NetworkRules},
        process::BrowserShutdown,
    },
};

pub(super) struct WebkitContext {
    shared: Arc<SessionWindows>,
    pid: Option<u32>,
    ending: BrowserShutdown,
    closed: AtomicBool,
    lost: CancellationToken,
    stop: CancellationToken,
}

impl WebkitContext {
    pub async fn open(
        process: DriverProcess,
        viewport: Viewport,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<Self>> {
        let DriverProcess { driver, pid, ending, downloads } = process;
        let exited = ending.exited().clone();
        tracing::info!(version = driver.version, pid, "started the browser");
        let shared = SessionWindows::new(driver, DownloadFolder::of(downloads), viewport, observer);
        let context = Arc::new(Self {
            shared: shared.clone(),
            pid,
            ending,
            closed: AtomicBool::new(false),
            lost: CancellationToken::new(),
            stop: CancellationToken::new(),
        });
        shared.find_initial_window().await?;
        tokio::spawn(watch(
            Arc::downgrade(&shared),
            exited,
            context.lost.clone(),
            context.stop.clone(),
        ));
        Ok(context)
    }
}

#[async_trait]
impl Context for WebkitContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        Ok(self.shared.open_page().await?)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.shared.set_viewport(size).await
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        if rules == NetworkRules::default() {
            return Ok(());
        }
        Err(unsupported("blocking, mocking, slowing down or cutting off the network"))
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        self.shared.cookies().await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        self.shared.set_cookies(cookies).await
    }

    fn gone(&self) -> Option<CancellationToken> {
        Some(self.lost.clone())
    }

    async fn close(&self) -> EngineResult<()> {
        self.stop.cancel();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let pages = self.shared.take_pages();
        self.shared.driver.quit().await;
        for page in pages {
            page.gone();
        }
        self.ending.terminate(self.pid).await;
        Ok(())
    }
}

impl Drop for WebkitContext {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
