//! Tracks and polls the windows of a session, because the driver has no events. A page is polled
//! often while an operation is pending, and at longer intervals while the session is in use.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use thirtyfour::common::{command::Command, types::OptionRect};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    downloads::DownloadFolder,
    driver::{CommandGuard, Driver, DriverError, into_engine_result},
    jar::CookieJar,
    page::WebkitPage,
    press_history::PressHistory,
};
use crate::{
    config::Viewport,
    engine::{ContextObserver, EngineError, EnginePage, EngineResult, PageEvent},
};

/// Polling interval for a page that loads or navigates.
const LOADING_INTERVAL: Duration = Duration::from_millis(10);
/// Polling interval for a page that was used recently, so that a caller may wait for it.
const IN_USE_INTERVAL: Duration = Duration::from_millis(100);
/// A page that was not used for this long is polled at `IDLE_INTERVAL`.
const IDLE_AFTER: Duration = Duration::from_secs(30);
const IDLE_INTERVAL: Duration = Duration::from_secs(1);
/// Time within which a window gets its requested size.
const SIZE_TIMEOUT: Duration = Duration::from_secs(2);

/// State that the windows of a session share.
pub(super) struct SessionWindows {
    pub driver: Arc<Driver>,
    pub jar: CookieJar,
    /// Records the presses in all windows of the session.
    pub press_history: PressHistory,
    downloads: DownloadFolder,
    observer: Arc<dyn ContextObserver>,
    viewport: Mutex<Viewport>,
    windows: Mutex<WindowTable>,
    wake: Notify,
    /// The page with an open dialog. The dialog blocks all other pages too, because the driver
    /// cannot switch windows while it is open.
    dialog: watch::Sender<Option<Arc<str>>>,
}

#[derive(Default)]
struct WindowTable {
    pages: Vec<Arc<WebkitPage>>,
    /// A window without a page. It keeps the browser running, which ends with its last window.
    spare: Option<Arc<str>>,
    /// A separate window for setting cookies. It visits the hosts of the cookies.
    cookie_window: Option<Arc<str>>,
    /// The page that was last used, and the time.
    used: Option<(Arc<WebkitPage>, Instant)>,
}

/// Polls the session's windows until the session ends. Cancels `lost` when the browser is gone.
pub(super) async fn poll_windows(
    session: Weak<SessionWindows>,
    exited: CancellationToken,
    lost: CancellationToken,
    stop: CancellationToken,
) {
    let Some(gone) = session.upgrade().map(|session| session.driver.gone()) else { return };
    loop {
        let Some(session_windows) = session.upgrade() else { return };
        let poll_interval = session_windows.poll_interval();
        tokio::select! {
            () = stop.cancelled() => return,
            () = exited.cancelled() => break,
            () = gone.cancelled() => break,
            () = session_windows.wake.notified() => {}
            () = tokio::time::sleep(poll_interval) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = session_windows.poll() => {}
        }
    }
    gone.cancel();
    lost.cancel();
}

impl SessionWindows {
    pub fn new(
        driver: Arc<Driver>,
        downloads: DownloadFolder,
        viewport: Viewport,
        observer: Arc<dyn ContextObserver>,
    ) -> Arc<Self> {
        Arc::new(Self {
            driver,
            jar: CookieJar::default(),
            press_history: PressHistory::default(),
            downloads,
            observer,
            viewport: Mutex::new(viewport),
            windows: Mutex::default(),
            wake: Notify::new(),
            dialog: watch::Sender::default(),
        })
    }

    /// Records the window that the browser opens at its start.
    pub async fn find_initial_window(&self) -> EngineResult<()> {
        let handles =
            into_engine_result(self.driver.commands().await.send(Command::GetWindowHandles).await)?;
        self.windows().spare = handles[0].as_str().map(Into::into);
        Ok(())
    }

    pub fn pages(&self) -> Vec<Arc<WebkitPage>> {
        self.windows().pages.clone()
    }

    /// Removes all pages and returns them.
    pub fn take_pages(&self) -> Vec<Arc<WebkitPage>> {
        std::mem::take(&mut *self.windows()).pages
    }

    fn windows(&self) -> MutexGuard<'_, WindowTable> {
        self.windows.lock()
    }

    fn poll_interval(&self) -> Duration {
        let windows = self.windows();
        if !self.is_blocked_by_dialog() && windows.pages.iter().any(|page| page.needs_poll()) {
            return LOADING_INTERVAL;
        }
        let used = windows.used.as_ref();
        if used.is_some_and(|(_, at)| at.elapsed() < IDLE_AFTER) {
            IN_USE_INTERVAL
        } else {
            IDLE_INTERVAL
        }
    }

    /// Records that a dialog blocks the page `id`. Returns false if that is already known.
    pub fn record_dialog(&self, id: &Arc<str>) -> bool {
        self.dialog.send_replace(Some(id.clone())).is_none()
    }

    pub fn dialog_closed(&self) {
        self.dialog.send_replace(None);
    }

    /// Returns whether a dialog is open.
    pub fn is_blocked_by_dialog(&self) -> bool {
        self.dialog.borrow().is_some()
    }

    /// Waits until no dialog is open.
    pub async fn wait_until_dialog_closes(&self) {
        // The channel cannot be closed, because `self` owns its sender.
        let _ = self.dialog.subscribe().wait_for(Option::is_none).await;
    }

    /// Waits for exclusive access to the driver while no dialog is open.
    pub async fn commands_without_dialog(&self) -> CommandGuard<'_> {
        loop {
            self.wait_until_dialog_closes().await;
            let commands = self.driver.commands().await;
            if !self.is_blocked_by_dialog() {
                return commands;
            }
        }
    }

    /// Polls immediately. Called when an operation starts.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Records that the page `id` is in use.
    pub fn record_use(&self, id: &str) {
        let mut windows = self.windows();
        let page = windows.pages.iter().find(|page| page.id() == id).cloned();
        windows.used = page.map(|page| (page, Instant::now()));
    }

    async fn poll(self: &Arc<Self>) {
        if self.is_blocked_by_dialog() {
            return;
        }
        let pages: Vec<Arc<WebkitPage>> = {
            let windows = self.windows();
            let is_used = |page: &Arc<WebkitPage>| {
                windows.used.as_ref().is_some_and(|(used, _)| Arc::ptr_eq(used, page))
            };
            windows
                .pages
                .iter()
                .filter(|page| page.needs_poll() || is_used(page))
                .cloned()
                .collect()
        };
        let mut commands = self.driver.commands().await;
        for page in pages {
            page.poll(&mut commands).await;
        }
        self.report_downloads();
        if let Err(error) = self.update_windows(&mut commands).await {
            tracing::trace!(%error, "could not list the windows");
        }
    }

    /// Reports new files in the download folder to the current page. Returns the number of all
    /// files so far.
    pub fn report_downloads(&self) -> u64 {
        let page = {
            let windows = self.windows();
            windows
                .used
                .as_ref()
                .map(|(page, _)| page.clone())
                .or_else(|| windows.pages.last().cloned())
        };
        // Without a page, a later call reports the files.
        if let Some(page) = page {
            for file in self.downloads.take_new() {
                page.report_download(file);
            }
        }
        self.downloads.count()
    }

    /// Returns the separate window, which is not polled.
    pub async fn cookie_window(&self, commands: &mut CommandGuard<'_>) -> EngineResult<Arc<str>> {
        let known = self.windows().cookie_window.clone();
        if let Some(cookie_window) = known {
            return Ok(cookie_window);
        }
        let cookie_window = new_window(commands).await?;
        self.windows().cookie_window = Some(cookie_window.clone());
        Ok(cookie_window)
    }

    /// Returns any open window.
    pub async fn any_window(&self, commands: &mut CommandGuard<'_>) -> EngineResult<Arc<str>> {
        let page = self.pages().first().map(|page| page.main_frame());
        match page {
            Some(page) => Ok(page),
            None => self.cookie_window(commands).await,
        }
    }

    /// Opens a window with a page in it.
    pub async fn open_page(self: &Arc<Self>) -> EngineResult<Arc<WebkitPage>> {
        let mut commands = self.commands_without_dialog().await;
        let spare = self.windows().spare.take();
        let handle = match spare {
            Some(spare) => spare,
            None => new_window(&mut commands).await?,
        };
        into_engine_result(commands.select_frame(&handle, &[]).await)?;
        self.resize(&mut commands, self.viewport()).await?;
        let page = self.attach(handle, None);
        page.poll(&mut commands).await;
        drop(commands);
        self.record_use(page.id());
        Ok(page)
    }

    /// Lists the windows, and adds and removes pages accordingly.
    pub async fn update_windows(
        self: &Arc<Self>,
        commands: &mut CommandGuard<'_>,
    ) -> EngineResult<()> {
        let handles = into_engine_result(commands.send(Command::GetWindowHandles).await)?;
        let handles: Vec<Arc<str>> = handles
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect();
        let (gone, new, opener) = {
            let mut windows = self.windows();
            let (session_windows, gone): (Vec<_>, Vec<_>) = windows
                .pages
                .drain(..)
                .partition(|page| handles.iter().any(|handle| **handle == *page.id()));
            windows.pages = session_windows;
            let is_known = |handle: &&Arc<str>| {
                windows.spare.as_ref() == Some(*handle)
                    || windows.cookie_window.as_ref() == Some(*handle)
                    || windows.pages.iter().any(|page| *page.id() == ***handle)
            };
            let new: Vec<Arc<str>> =
                handles.iter().filter(|handle| !is_known(handle)).cloned().collect();
            (gone, new, windows.used.as_ref().map(|(page, _)| page.clone()))
        };
        for page in gone {
            page.report_closed();
        }
        for handle in sort_by_creation(commands, new).await {
            let page = self.attach(handle, opener.as_ref().map(|opener| opener.id()));
            page.poll(commands).await;
            if let Some(opener) = &opener {
                opener.emit(PageEvent::WindowOpening { window: None, url: page.target() });
            }
        }
        Ok(())
    }

    fn attach(self: &Arc<Self>, handle: Arc<str>, opener: Option<&str>) -> Arc<WebkitPage> {
        let page = WebkitPage::attach(handle, self, |page| self.observer.page_opened(page, opener));
        self.windows().pages.push(page.clone());
        page
    }

    /// Closes a page's window. Keeps another window open, because the browser ends with its last
    /// one.
    pub async fn close_window(&self, handle: &Arc<str>) -> EngineResult<()> {
        let mut commands = self.driver.commands().await;
        let has_dialog = self.dialog.borrow().as_ref() == Some(handle);
        if has_dialog {
            let _ = commands.send(Command::DismissAlert).await;
            self.dialog_closed();
        }
        let is_last = {
            let windows = self.windows();
            windows.spare.is_none()
                && windows.cookie_window.is_none()
                && windows.pages.iter().all(|page| *page.id() == **handle)
        };
        if is_last {
            let spare = new_window(&mut commands).await?;
            self.windows().spare = Some(spare);
        }
        let closing = async {
            commands.select_frame(handle, &[]).await?;
            commands.send(Command::CloseWindow).await
        };
        match closing.await {
            Ok(_) | Err(DriverError::Failed(EngineError::PageGone)) => {}
            Err(error) => return Err(error.into_engine_error()),
        }
        let gone = {
            let mut windows = self.windows();
            windows.used.take_if(|(page, _)| *page.id() == **handle);
            let at = windows.pages.iter().position(|page| *page.id() == **handle);
            at.map(|at| windows.pages.remove(at))
        };
        if let Some(page) = gone {
            page.report_closed();
        }
        Ok(())
    }

    /// Resizes the current window so that its viewport has `size`. Adds the size of the window's
    /// frame.
    pub async fn resize(
        &self,
        commands: &mut CommandGuard<'_>,
        size: (i64, i64),
    ) -> EngineResult<()> {
        let deadline = Instant::now() + SIZE_TIMEOUT;
        let mut requested = size;
        loop {
            let rect = OptionRect::new().with_size(requested.0, requested.1);
            into_engine_result(commands.send(Command::SetWindowRect(rect)).await)?;
            let body = "return new Promise((resolve) => { const measure = () => resolve([innerWidth, innerHeight]); \
                        requestAnimationFrame(measure); setTimeout(measure, 50); });";
            let shown = into_engine_result(commands.script(body.to_owned()).await)?;
            let (Some(width), Some(height)) = (shown[0].as_i64(), shown[1].as_i64()) else {
                return Ok(());
            };
            if (width, height) == size {
                return Ok(());
            }
            if Instant::now() > deadline {
                tracing::warn!(width, height, "the window does not take the requested size");
                return Ok(());
            }
            // The window may not have its new size yet.
            let rect = into_engine_result(commands.send(Command::GetWindowRect).await)?;
            if let (Some(outer_width), Some(outer_height)) =
                (rect["width"].as_i64(), rect["height"].as_i64())
            {
                requested = (
                    size.0 + (outer_width - width).max(0),
                    size.1 + (outer_height - height).max(0),
                );
            }
        }
    }

    /// Returns the viewport of pages, in CSS pixels.
    pub fn viewport(&self) -> (i64, i64) {
        let size = *self.viewport.lock();
        (i64::from(size.width), i64::from(size.height))
    }

    /// Resizes all windows of pages.
    pub async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        *self.viewport.lock() = size;
        let mut commands = self.commands_without_dialog().await;
        let pages = self.windows().pages.clone();
        for page in pages {
            into_engine_result(commands.select_frame(&page.id().into(), &[]).await)?;
            self.resize(&mut commands, self.viewport()).await?;
        }
        Ok(())
    }
}

/// Sorts the windows by the time at which they were opened. The driver's list is not sorted.
async fn sort_by_creation(
    commands: &mut CommandGuard<'_>,
    handles: Vec<Arc<str>>,
) -> Vec<Arc<str>> {
    if handles.len() < 2 {
        return handles;
    }
    let mut creation_times = Vec::with_capacity(handles.len());
    for handle in handles {
        let since = match commands.select_frame(&handle, &[]).await {
            Ok(()) => commands.script("return performance.timeOrigin;".to_owned()).await.ok(),
            Err(_) => None,
        };
        creation_times.push((since.and_then(|since| since.as_f64()).unwrap_or(f64::MAX), handle));
    }
    creation_times.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    creation_times.into_iter().map(|(_, handle)| handle).collect()
}

async fn new_window(commands: &mut CommandGuard<'_>) -> EngineResult<Arc<str>> {
    // Opens a window, because a background tab would not be painted.
    let opened = into_engine_result(commands.send(Command::NewWindow).await)?;
    opened["handle"]
        .as_str()
        .map(Into::into)
        .ok_or_else(|| EngineError::Refused("the driver opened no window".to_owned()))
}
