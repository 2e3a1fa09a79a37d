//! A session: its browser, its windows, and the eye that is kept on them. The driver tells nothing by itself, so the
//! page that is in use is looked at while something is under way, and now and then while it may be waited for.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use thirtyfour::common::{command::Command, types::OptionRect};
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::{
    cookies,
    driver::{Driver, Trouble, Turn, plain},
    launch::{self, Process},
    page::WebkitPage,
    unsupported,
};
use crate::{
    config::Viewport,
    engine::{
        Context, ContextObserver, EngineError, EngineResult, Page, PageEvent,
        network::{Cookie, NetworkRules},
        process::Ending,
    },
};

/// Between two looks at a page that loads or goes elsewhere…
const BUSY: Duration = Duration::from_millis(10);
/// …at one that was used a moment ago, and may be waited for…
const IN_USE: Duration = Duration::from_millis(100);
/// …and at one that nobody has used for this long.
const LONG: Duration = Duration::from_secs(30);
const AT_REST: Duration = Duration::from_secs(1);
/// A window has its size a moment after it was asked for it.
const SIZE_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) struct WebkitContext {
    shared: Arc<Shared>,
    pid: Option<u32>,
    ending: Ending,
    closed: AtomicBool,
    lost: CancellationToken,
    stop: CancellationToken,
}

/// What the windows of a session have in common.
pub(super) struct Shared {
    pub driver: Arc<Driver>,
    observer: Arc<dyn ContextObserver>,
    viewport: Viewport,
    windows: Mutex<Windows>,
    wake: Notify,
    /// The page that a dialog holds up, and every other with it: the driver does not go to another window then.
    dialog: watch::Sender<Option<Arc<str>>>,
}

#[derive(Default)]
struct Windows {
    pages: Vec<Arc<WebkitPage>>,
    /// A window that is no page's: the browser would end with its last one.
    spare: Option<Arc<str>>,
    /// The page that was last used, and when.
    used: Option<(Arc<WebkitPage>, Instant)>,
}

impl WebkitContext {
    pub async fn open(
        process: Process,
        viewport: Viewport,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<Self>> {
        let Process { driver, pid, ending } = process;
        let exited = ending.exited().clone();
        let shared = Arc::new(Shared {
            driver: driver.clone(),
            observer,
            viewport,
            windows: Mutex::default(),
            wake: Notify::new(),
            dialog: watch::Sender::default(),
        });
        let context = Arc::new(Self {
            shared: shared.clone(),
            pid,
            ending,
            closed: AtomicBool::new(false),
            lost: CancellationToken::new(),
            stop: CancellationToken::new(),
        });
        let handles = plain(driver.turn().await.send(Command::GetWindowHandles).await)?;
        shared.windows().spare = handles[0].as_str().map(Into::into);
        tracing::info!(version = driver.version, pid, "a browser is ready");
        tokio::spawn(watch(Arc::downgrade(&shared), exited, context.lost.clone(), context.stop.clone()));
        Ok(context)
    }
}

/// Looks at the session's windows until it ends, and tells when its browser is gone.
async fn watch(
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
    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
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
        let mut pages: Vec<Arc<WebkitPage>> = {
            let windows = self.windows();
            let used = windows.used.iter().map(|(page, _)| page.clone());
            windows.pages.iter().filter(|page| page.wants_a_look()).cloned().chain(used).collect()
        };
        pages.dedup_by(|one, other| Arc::ptr_eq(one, other));
        let mut turn = self.driver.turn().await;
        for page in pages {
            page.look(&mut turn).await;
        }
        if let Err(error) = self.look_for_windows(&mut turn).await {
            tracing::trace!(%error, "the windows cannot be looked for");
        }
    }

    /// Takes in which windows there are.
    pub async fn look_for_windows(self: &Arc<Self>, turn: &mut Turn<'_>) -> EngineResult<()> {
        let handles = plain(turn.send(Command::GetWindowHandles).await)?;
        let handles: Vec<Arc<str>> =
            handles.as_array().into_iter().flatten().filter_map(Value::as_str).map(Into::into).collect();
        let (gone, new, opener) = {
            let mut windows = self.windows();
            let (here, gone): (Vec<_>, Vec<_>) =
                windows.pages.drain(..).partition(|page| handles.iter().any(|handle| **handle == *page.id()));
            windows.pages = here;
            let is_known = |handle: &&Arc<str>| {
                windows.spare.as_ref() == Some(*handle)
                    || windows.pages.iter().any(|page| *page.id() == ***handle)
            };
            let new: Vec<Arc<str>> = handles.iter().filter(|handle| !is_known(handle)).cloned().collect();
            (gone, new, windows.used.as_ref().map(|(page, _)| page.clone()))
        };
        for page in gone {
            page.gone();
        }
        for handle in new {
            let page = self.attach(handle, opener.as_ref().map(|opener| opener.id()));
            page.look(turn).await;
            if let Some(opener) = &opener {
                opener.emit(PageEvent::WindowOpening { url: page.target() });
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
            windows.spare.is_none() && windows.pages.iter().all(|page| *page.id() == **handle)
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
            let (Some(width), Some(height)) = (shown[0].as_i64(), shown[1].as_i64()) else { return Ok(()) };
            if (width, height) == size {
                return Ok(());
            }
            if Instant::now() > deadline {
                tracing::warn!(width, height, "the window does not take the size that it is asked for");
                return Ok(());
            }
            // What was measured may be the size before.
            let rect = plain(turn.send(Command::GetWindowRect).await)?;
            if let (Some(outer_width), Some(outer_height)) = (rect["width"].as_i64(), rect["height"].as_i64())
            {
                asked = (size.0 + (outer_width - width).max(0), size.1 + (outer_height - height).max(0));
            }
        }
    }

    /// The viewport that pages have.
    pub fn viewport(&self) -> (i64, i64) {
        (i64::from(self.viewport.width), i64::from(self.viewport.height))
    }
}

async fn new_window(turn: &mut Turn<'_>) -> EngineResult<Arc<str>> {
    // A tab behind another would not be painted.
    let made = plain(turn.send(Command::NewWindow).await)?;
    made["handle"]
        .as_str()
        .map(Into::into)
        .ok_or_else(|| EngineError::Refused("no window was made".to_owned()))
}

#[async_trait]
impl Context for WebkitContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn Page>> {
        let shared = &self.shared;
        let mut turn = shared.free_turn().await;
        let spare = shared.windows().spare.take();
        let handle = match spare {
            Some(spare) => spare,
            None => new_window(&mut turn).await?,
        };
        plain(turn.at(&handle, &[]).await)?;
        shared.resize(&mut turn, shared.viewport()).await?;
        let page = shared.attach(handle, None);
        page.look(&mut turn).await;
        drop(turn);
        shared.used(page.id());
        Ok(page)
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        if rules == NetworkRules::default() {
            return Ok(());
        }
        Err(unsupported("blocking, mocking, slowing down or cutting off the network"))
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        let pages = self.shared.windows().pages.clone();
        let mut turn = self.shared.free_turn().await;
        let mut all: Vec<Cookie> = Vec::new();
        for page in pages {
            if page.at_top(&mut turn).await.is_err() {
                continue;
            }
            // A page that waits for its dialog is not asked.
            if let Ok(answer) = turn.send(Command::GetAllCookies).await {
                for cookie in cookies::read(answer) {
                    let same = |other: &Cookie| {
                        (&other.name, &other.domain, &other.path)
                            == (&cookie.name, &cookie.domain, &cookie.path)
                    };
                    if !all.iter().any(same) {
                        all.push(cookie);
                    }
                }
            }
        }
        Ok(all)
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        let page = self.shared.windows().pages.first().cloned().ok_or(EngineError::PageGone)?;
        let mut turn = self.shared.free_turn().await;
        plain(page.at_top(&mut turn).await)?;
        for cookie in cookies {
            plain(turn.send(Command::AddCookie(cookies::write(cookie))).await)?;
        }
        Ok(())
    }

    fn gone(&self) -> Option<CancellationToken> {
        Some(self.lost.clone())
    }

    async fn close(&self) -> EngineResult<()> {
        self.stop.cancel();
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let pages = std::mem::take(&mut *self.shared.windows()).pages;
        self.shared.driver.quit().await;
        for page in pages {
            page.gone();
        }
        launch::close(&self.ending, self.pid).await;
        Ok(())
    }
}

impl Drop for WebkitContext {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}
