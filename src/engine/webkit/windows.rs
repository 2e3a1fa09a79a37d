//! The windows of a session, and how they are polled. The driver has no events, so the current page
//! is polled while an operation is pending, and at intervals while a caller may wait for it.

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
    downloads::Downloads,
    driver::{Driver, Trouble, Turn, plain},
    jar::Jar,
    page::WebkitPage,
    presses::Presses,
};
use crate::{
    config::Viewport,
    engine::{ContextObserver, EngineError, EngineResult, Page, PageEvent},
};

/// Polling interval for a page that loads or navigates…
const BUSY: Duration = Duration::from_millis(10);
/// …for one that was used recently, so that a caller may wait for it…
const IN_USE: Duration = Duration::from_millis(100);
/// …and for one that was not used for this long.
const LONG: Duration = Duration::from_secs(30);
const AT_REST: Duration = Duration::from_secs(1);
/// A window gets its new size shortly after the request.
const SIZE_TIMEOUT: Duration = Duration::from_secs(2);

/// State that the windows of a session share.
pub(super) struct Shared {
    pub driver: Arc<Driver>,
    pub jar: Jar,
    /// Counted together in all windows.
    pub presses: Presses,
    downloads: Downloads,
    observer: Arc<dyn ContextObserver>,
    viewport: Mutex<Viewport>,
    windows: Mutex<Windows>,
    wake: Notify,
    /// The page that an open dialog blocks. It blocks all other pages too, because the driver
    /// cannot switch windows then.
    dialog: watch::Sender<Option<Arc<str>>>,
}

#[derive(Default)]
struct Windows {
    pages: Vec<Arc<WebkitPage>>,
    /// A window that is no page's: the browser would end with its last one.
    spare: Option<Arc<str>>,
    /// A separate window that visits hosts of cookies that no page shows.
    probe: Option<Arc<str>>,
    /// The page that was last used, and when.
    used: Option<(Arc<WebkitPage>, Instant)>,
}

/// Looks at the session's windows until it ends, and tells when its browser is gone.
pub(super) async fn watch(
    shared: Weak<Shared>,
    exited: CancellationToken,
    lost: CancellationToken,
    stop: CancellationToken,
) {
    let Some(gone) = shared.upgrade().map(|shared| shared.driver.gone()) else { return };
    loop {
        let Some(here) = shared.upgrade() else { return };
        let pause = here.pause();
        tokio::select! {
            () = stop.cancelled() => return,
            () = exited.cancelled() => break,
            () = gone.cancelled() => break,
            () = here.wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = here.look() => {}
        }
    }
    gone.cancel();
    lost.cancel();
}

impl Shared {
    pub fn new(
        driver: Arc<Driver>,
        downloads: Downloads,
        viewport: Viewport,
        observer: Arc<dyn ContextObserver>,
    ) -> Arc<Self> {
        Arc::new(Self {
            driver,
            jar: Jar::default(),
            presses: Presses::default(),
            downloads,
            observer,
            viewport: Mutex::new(viewport),
            windows: Mutex::default(),
            wake: Notify::new(),
            dialog: watch::Sender::default(),
        })
    }

    /// Gets to know the window that the browser begins with.
    pub async fn find_first(&self) -> EngineResult<()> {
        let handles = plain(self.driver.turn().await.send(Command::GetWindowHandles).await)?;
        self.windows().spare = handles[0].as_str().map(Into::into);
        Ok(())
    }

    pub fn pages(&self) -> Vec<Arc<WebkitPage>> {
        self.windows().pages.clone()
    }

    /// Its pages, which it forgets.
    pub fn take_pages(&self) -> Vec<Arc<WebkitPage>> {
        std::mem::take(&mut *self.windows()).pages
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock()
    }

    fn pause(&self) -> Duration {
        let windows = self.windows();
        if !self.is_held_up() && windows.pages.iter().any(|page| page.wants_a_look()) {
            return BUSY;
        }
        let used = windows.used.as_ref();
        if used.is_some_and(|(_, at)| at.elapsed() < LONG) { IN_USE } else { AT_REST }
    }

    /// Notes that a dialog holds up the page `id`; false where that is known.
    pub fn dialog_opened(&self, id: &Arc<str>) -> bool {
        self.dialog.send_replace(Some(id.clone())).is_none()
    }

    pub fn dialog_closed(&self) {
        self.dialog.send_replace(None);
    }

    /// Whether a dialog is open.
    pub fn is_held_up(&self) -> bool {
        self.dialog.borrow().is_some()
    }

    /// Returns when no dialog is open.
    pub async fn no_dialog(&self) {
        // The sender is ours.
        let _ = self.dialog.subscribe().wait_for(Option::is_none).await;
    }

    /// The right to send commands, while no dialog is open.
    pub async fn free_turn(&self) -> Turn<'_> {
        loop {
            self.no_dialog().await;
            let turn = self.driver.turn().await;
            if !self.is_held_up() {
                return turn;
            }
        }
    }

    /// Something was begun that is to be followed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// `page` is the one that is used.
    pub fn used(&self, id: &str) {
        let mut windows = self.windows();
        let page = windows.pages.iter().find(|page| page.id() == id).cloned();
        windows.used = page.map(|page| (page, Instant::now()));
    }

    async fn look(self: &Arc<Self>) {
        if self.is_held_up() {
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
                .filter(|page| page.wants_a_look() || is_used(page))
                .cloned()
                .collect()
        };
        let mut turn = self.driver.turn().await;
        for page in pages {
            page.look(&mut turn).await;
        }
        self.tell_downloads();
        if let Err(error) = self.look_for_windows(&mut turn).await {
            tracing::trace!(%error, "the windows cannot be looked for");
        }
    }

    /// Reports new files in the download folder to the current page. Returns the number of all
    /// files so far.
    pub fn tell_downloads(&self) -> u64 {
        let page = {
            let windows = self.windows();
            windows
                .used
                .as_ref()
                .map(|(page, _)| page.clone())
                .or_else(|| windows.pages.last().cloned())
        };
        // Without a page they wait.
        if let Some(page) = page {
            for file in self.downloads.fresh() {
                page.downloaded(file);
            }
        }
        self.downloads.count()
    }

    /// Returns the separate window, which is not polled.
    pub async fn probe(&self, turn: &mut Turn<'_>) -> EngineResult<Arc<str>> {
        let known = self.windows().probe.clone();
        if let Some(probe) = known {
            return Ok(probe);
        }
        let probe = new_window(turn).await?;
        self.windows().probe = Some(probe.clone());
        Ok(probe)
    }

    /// A window that is there.
    pub async fn any_window(&self, turn: &mut Turn<'_>) -> EngineResult<Arc<str>> {
        let page = self.pages().first().map(|page| page.main_frame());
        match page {
            Some(page) => Ok(page),
            None => self.probe(turn).await,
        }
    }

    /// Opens a window with a page in it.
    pub async fn open_page(self: &Arc<Self>) -> EngineResult<Arc<WebkitPage>> {
        let mut turn = self.free_turn().await;
        let spare = self.windows().spare.take();
        let handle = match spare {
            Some(spare) => spare,
            None => new_window(&mut turn).await?,
        };
        plain(turn.at(&handle, &[]).await)?;
        self.resize(&mut turn, self.viewport()).await?;
        let page = self.attach(handle, None);
        page.look(&mut turn).await;
        drop(turn);
        self.used(page.id());
        Ok(page)
    }

    /// Takes in which windows there are.
    pub async fn look_for_windows(self: &Arc<Self>, turn: &mut Turn<'_>) -> EngineResult<()> {
        let handles = plain(turn.send(Command::GetWindowHandles).await)?;
        let handles: Vec<Arc<str>> = handles
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect();
        let (gone, new, opener) = {
            let mut windows = self.windows();
            let (here, gone): (Vec<_>, Vec<_>) = windows
                .pages
                .drain(..)
                .partition(|page| handles.iter().any(|handle| **handle == *page.id()));
            windows.pages = here;
            let is_known = |handle: &&Arc<str>| {
                windows.spare.as_ref() == Some(*handle)
                    || windows.probe.as_ref() == Some(*handle)
                    || windows.pages.iter().any(|page| *page.id() == ***handle)
            };
            let new: Vec<Arc<str>> =
                handles.iter().filter(|handle| !is_known(handle)).cloned().collect();
            (gone, new, windows.used.as_ref().map(|(page, _)| page.clone()))
        };
        for page in gone {
            page.gone();
        }
        for handle in in_order(turn, new).await {
            let page = self.attach(handle, opener.as_ref().map(|opener| opener.id()));
            page.look(turn).await;
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

    /// Closes a page's window, but keeps the browser, which would end with its last one.
    pub async fn close_window(&self, handle: &Arc<str>) -> EngineResult<()> {
        let mut turn = self.driver.turn().await;
        let holds_up = self.dialog.borrow().as_ref() == Some(handle);
        if holds_up {
            let _ = turn.send(Command::DismissAlert).await;
            self.dialog_closed();
        }
        let is_last = {
            let windows = self.windows();
            windows.spare.is_none()
                && windows.probe.is_none()
                && windows.pages.iter().all(|page| *page.id() == **handle)
        };
        if is_last {
            let spare = new_window(&mut turn).await?;
            self.windows().spare = Some(spare);
        }
        let closing = async {
            turn.at(handle, &[]).await?;
            turn.send(Command::CloseWindow).await
        };
        match closing.await {
            Ok(_) | Err(Trouble::Failed(EngineError::PageGone)) => {}
            Err(trouble) => return Err(trouble.error()),
        }
        let gone = {
            let mut windows = self.windows();
            windows.used.take_if(|(page, _)| *page.id() == **handle);
            let at = windows.pages.iter().position(|page| *page.id() == **handle);
            at.map(|at| windows.pages.remove(at))
        };
        if let Some(page) = gone {
            page.gone();
        }
        Ok(())
    }

    /// Gives the window where commands go to a viewport of `size`: as much larger as its frame is.
    pub async fn resize(&self, turn: &mut Turn<'_>, size: (i64, i64)) -> EngineResult<()> {
        let deadline = Instant::now() + SIZE_TIMEOUT;
        let mut asked = size;
        loop {
            let rect = OptionRect::new().with_size(asked.0, asked.1);
            plain(turn.send(Command::SetWindowRect(rect)).await)?;
            let body = "return new Promise((resolve) => { const tell = () => resolve([innerWidth, innerHeight]); \
                        requestAnimationFrame(tell); setTimeout(tell, 50); });";
            let shown = plain(turn.script(body.to_owned()).await)?;
            let (Some(width), Some(height)) = (shown[0].as_i64(), shown[1].as_i64()) else {
                return Ok(());
            };
            if (width, height) == size {
                return Ok(());
            }
            if Instant::now() > deadline {
                tracing::warn!(
                    width,
                    height,
                    "the window does not take the size that it is asked for"
                );
                return Ok(());
            }
            // The measured size may be the former one.
            let rect = plain(turn.send(Command::GetWindowRect).await)?;
            if let (Some(outer_width), Some(outer_height)) =
                (rect["width"].as_i64(), rect["height"].as_i64())
            {
                asked = (
                    size.0 + (outer_width - width).max(0),
                    size.1 + (outer_height - height).max(0),
                );
            }
        }
    }

    /// The viewport that pages have.
    pub fn viewport(&self) -> (i64, i64) {
        let size = *self.viewport.lock();
        (i64::from(size.width), i64::from(size.height))
    }

    /// Resizes all windows of pages.
    pub async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        *self.viewport.lock() = size;
        let mut turn = self.free_turn().await;
        let pages = self.windows().pages.clone();
        for page in pages {
            plain(turn.at(&page.id().into(), &[]).await)?;
            self.resize(&mut turn, self.viewport()).await?;
        }
        Ok(())
    }
}

/// The windows in the order in which they were opened; the driver lists them in no order.
async fn in_order(turn: &mut Turn<'_>, handles: Vec<Arc<str>>) -> Vec<Arc<str>> {
    if handles.len() < 2 {
        return handles;
    }
    let mut begun = Vec::with_capacity(handles.len());
    for handle in handles {
        let since = match turn.at(&handle, &[]).await {
            Ok(()) => turn.script("return performance.timeOrigin;".to_owned()).await.ok(),
            Err(_) => None,
        };
        begun.push((since.and_then(|since| since.as_f64()).unwrap_or(f64::MAX), handle));
    }
    begun.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    begun.into_iter().map(|(_, handle)| handle).collect()
}

async fn new_window(turn: &mut Turn<'_>) -> EngineResult<Arc<str>> {
    // A tab behind another would not be painted.
    let made = plain(turn.send(Command::NewWindow).await)?;
    made["handle"]
        .as_str()
        .map(Into::into)
        .ok_or_else(|| EngineError::Refused("no window was made".to_owned()))
}
