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
    windows::{SessionWindows, poll_windows},
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
    windows: Arc<SessionWindows>,
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
        let windows =
            SessionWindows::new(driver, DownloadFolder::of(downloads), viewport, observer);
        let context = Arc::new(Self {
            windows: windows.clone(),
            pid,
            ending,
            closed: AtomicBool::new(false),
            lost: CancellationToken::new(),
            stop: CancellationToken::new(),
        });
        windows.find_initial_window().await?;
        tokio::spawn(poll_windows(
            Arc::downgrade(&windows),
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
        Ok(self.windows.open_page().await?)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.windows.set_viewport(size).await
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        if rules == NetworkRules::default() {
            return Ok(());
        }
        Err(unsupported("blocking or mocking requests, throttling, and offline mode"))
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        self.windows.cookies().await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        self.windows.set_cookies(cookies).await
    }

    fn gone(&self) -> Option<CancellationToken> {
        Some(self.lost.clone())
    }

    async fn close(&self) -> EngineResult<()> {
        self.stop.cancel();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let pages = self.windows.take_pages();
        self.windows.driver.quit().await;
        for page in pages {
            page.report_closed();
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
