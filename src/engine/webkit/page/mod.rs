//! Implements the [`Page`] trait over WebDriver. `script` runs scripts and processes their results,
//! `going` navigates, `picture` takes screenshots.

mod going;
mod picture;
mod script;

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use self::script::{Asked, LOOK, PAUSE, TURN};
use super::{
    CAPABILITIES,
    driver::{Outcome, Trouble, Turn, plain},
    frames::Frames,
    unsupported,
    windows::Shared,
};
use crate::engine::{
    Capabilities, Dialog, DownloadStart, EmulatedMedia, EngineError, EngineResult, FileChooser,
    FrameId, KeyEvent, MouseButton, MouseEvent, NavigationStart, Page, PageEvent, PageObserver,
    ScreenshotOptions, World,
    actions::{self, KeyboardInput},
    element_expression,
};
use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use thirtyfour::{
    TypingData,
    common::{
        command::{Actions, Command},
        types::ElementId,
    },
};
use tokio::time::Instant;
use url::Url;

/// The driver never answers a poll that arrives while one document replaces another. After this
/// time, the poll is repeated.
const LOST: Duration = Duration::from_secs(1);
/// A window that says that it is closed, and whose document has gone, is gone within this time.
const CLOSING: Duration = Duration::from_secs(5);
/// The key of an element's id in the driver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(super) struct WebkitPage {
    /// Its window, by the driver's name.
    handle: Arc<str>,
    shared: Weak<Shared>,
    observer: OnceLock<Arc<dyn PageObserver>>,
    frames: Mutex<Frames>,
    /// The frame that has the focus, or is to have it.
    focus: Mutex<FrameId>,
    title: Mutex<String>,
    /// Counts the scripts that were run.
    slots: AtomicU64,
    /// Whether it has to stop loading.
    stops: AtomicBool,
    /// The point at which the left button must be released after a failed drag.
    released: Mutex<Option<(f64, f64)>>,
    closed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl WebkitPage {
    /// A page in the window `handle`; `introduce` gets it before anything happens in it.
    pub fn attach(
        handle: Arc<str>,
        shared: &Arc<Shared>,
        introduce: impl FnOnce(Arc<dyn Page>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let page = Arc::new(Self {
            frames: Mutex::new(Frames::new(handle.clone())),
            focus: Mutex::new(handle.clone()),
            handle: handle.clone(),
            shared: Arc::downgrade(shared),
            observer: OnceLock::new(),
            title: Mutex::default(),
            slots: AtomicU64::new(0),
            stops: AtomicBool::new(false),
            released: Mutex::default(),
            closed: AtomicBool::new(false),
        });
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: handle, parent: None });
        let _ = page.observer.set(observer);
        page
    }

    pub fn emit(&self, event: PageEvent) {
        if let Some(observer) = self.observer.get() {
            observer.event(event);
        }
    }

    /// Whether an operation is pending whose result only polling shows.
    pub fn wants_a_look(&self) -> bool {
        lock(&self.frames).is_busy()
            || self.stops.load(Ordering::Acquire)
            || lock(&self.released).is_some()
    }

    /// Where it is, or is on its way to.
    pub fn target(&self) -> String {
        lock(&self.frames).target()
    }

    /// The URL of the page, if known.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&lock(&self.frames).target()).ok()
    }

    /// A download of this page has appeared as a file. The driver does not report it.
    pub fn downloaded(&self, file: PathBuf) {
        let id: Arc<str> = file.display().to_string().into();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let url = lock(&self.frames).downloaded_from();
        let start = DownloadStart { id: id.clone(), url, suggested_filename: name };
        self.emit(PageEvent::DownloadStarted(start));
        self.emit(PageEvent::DownloadEnded { id, file: Ok(file) });
        let stopped = lock(&self.frames).file_came();
        self.emit_all(stopped);
    }

    /// Its window has closed.
    pub fn gone(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.emit(PageEvent::Closed);
        }
    }

    fn shared(&self) -> EngineResult<Arc<Shared>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(EngineError::PageGone);
        }
        self.shared.upgrade().ok_or(EngineError::BrowserGone)
    }

    /// Makes its main frame what commands are for.
    pub async fn at_top(&self, turn: &mut Turn<'_>) -> Outcome<()> {
        turn.at(&self.handle, &[]).await
    }

    /// Polls the state of the page.
    pub async fn look(&self, turn: &mut Turn<'_>) {
        if let Err(trouble) = self.release(turn).await {
            tracing::debug!(error = %trouble.error(), "the button of a drag that was given up is still down");
        }
        let body = if self.stops.swap(false, Ordering::AcqRel) { "window.stop();" } else { "" };
        let look = format!("{body}{LOOK}");
        match tokio::time::timeout(LOST, self.ask(turn, &self.handle, &look)).await {
            Ok(Ok(_) | Err(EngineError::DocumentGone)) => {}
            // The next look is soon: the page is on its way elsewhere.
            Err(_) => return,
            Ok(Err(error)) => {
                tracing::trace!(%error, page = &*self.handle, "the page cannot be looked at")
            }
        }
        let asking = lock(&self.frames).asking();
        for frame in asking {
            if self.ask(turn, &frame, LOOK).await.is_err() {
                tracing::trace!(page = &*self.handle, "a frame cannot be looked at");
            }
        }
    }

    /// Polls the effects of input, which show after one or two event loop ticks.
    async fn look_after(&self, shared: &Arc<Shared>, turn: &mut Turn<'_>) -> EngineResult<()> {
        // Without a document, the page has closed or has another document. The list of windows
        // shows which.
        let mut closing = match self.note_focus(turn).await {
            Ok(()) => false,
            Err(EngineError::DocumentGone | EngineError::PageGone) => true,
            Err(error) => return Err(error),
        };
        for _ in 0..2 {
            match self.ask(turn, &self.handle, TURN).await {
                Ok(Asked::Told(answer)) => closing = answer.closing(),
                // What holds it up, or takes its place, is the outcome.
                Ok(_) => break,
                Err(EngineError::DocumentGone | EngineError::PageGone) => {
                    closing = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        shared.look_for_windows(turn).await?;
        let patience = Instant::now() + CLOSING;
        while closing && !self.closed.load(Ordering::Acquire) && Instant::now() < patience {
            tokio::time::sleep(PAUSE).await;
            if let Ok(Asked::Told(answer)) = self.ask(turn, &self.handle, LOOK).await {
                closing = answer.closing();
            }
            shared.look_for_windows(turn).await?;
        }
        Ok(())
    }

    /// A dialog blocks the page. WebDriver does not report its type.
    fn dialog_opened(&self, message: &str) {
        let is_new = self.shared.upgrade().is_some_and(|shared| shared.dialog_opened(&self.handle));
        if is_new {
            let kind = "unknown".to_owned();
            self.emit(PageEvent::DialogOpened(Dialog {
                kind,
                message: message.to_owned(),
                default_value: None,
            }));
        }
    }

    /// Releases the button of a drag that failed.
    async fn release(&self, turn: &mut Turn<'_>) -> Outcome<()> {
        let Some((x, y)) = lock(&self.released).take() else { return Ok(()) };
        let up = MouseEvent::Up { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 };
        let mut actions =
            actions::mouse(&[MouseEvent::Move { x, y, modifiers: 0 }, up], (0.0, 0.0));
        in_whole_pixels(&mut actions);
        self.at_top(turn).await?;
        turn.send(Command::PerformActions(Actions::from(actions))).await.map(drop)
    }

    async fn perform(&self, mut actions: Value) -> EngineResult<()> {
        in_whole_pixels(&mut actions);
        let shared = self.shared()?;
        shared.used(&self.handle);
        let mut turn = shared.free_turn().await;
        let done = async {
            self.release(&mut turn).await?;
            self.at_top(&mut turn).await?;
            turn.send(Command::PerformActions(Actions::from(actions))).await
        };
        match done.await {
            // A script of the page may have closed it.
            Ok(_) | Err(Trouble::Failed(EngineError::PageGone)) => {
                self.look_after(&shared, &mut turn).await
            }
            Err(Trouble::Dialog(text)) => {
                self.dialog_opened(&text);
                Ok(())
            }
            Err(trouble) => Err(trouble.error()),
        }
    }

    /// The element that `expression` gives in `frame`, by the driver's name.
    async fn element(
        &self,
        turn: &mut Turn<'_>,
        frame: &FrameId,
        expression: &str,
    ) -> EngineResult<Option<Value>> {
        let way = lock(&self.frames).way_to(frame).ok_or(EngineError::DocumentGone)?;
        let body = format!("return (\n{expression}\n) ?? null;");
        let asked = async {
            turn.at(&self.handle, &way).await?;
            turn.script(body).await
        };
        match asked.await {
            Ok(element) => Ok(Some(element).filter(|element| element[ELEMENT].is_string())),
            Err(Trouble::Dialog(text)) => {
                self.dialog_opened(&text);
                Err(EngineError::Refused(format!("a dialog is open: {text}")))
            }
            Err(trouble) => Err(trouble.error()),
        }
    }
}

/// The driver takes whole numbers only.
fn in_whole_pixels(actions: &mut Value) {
    for source in actions.as_array_mut().into_iter().flatten() {
        for action in source["actions"].as_array_mut().into_iter().flatten() {
            for axis in ["x", "y"] {
                if let Some(place) = action.get_mut(axis) {
                    *place = json!(place.as_f64().unwrap_or_default().floor() as i64);
                }
            }
        }
    }
}

#[async_trait]
impl Page for WebkitPage {
    fn id(&self) -> &str {
        &self.handle
    }

    fn main_frame(&self) -> FrameId {
        self.handle.clone()
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        self.go(url, true).await
    }

    async fn replace(&self, url: &str) -> EngineResult<NavigationStart> {
        self.go(url, false).await
    }

    /// Both worlds are one here.
    async fn evaluate(
        &self,
        frame: &FrameId,
        _world: World,
        expression: &str,
    ) -> EngineResult<Value> {
        self.run(frame, expression).await
    }

    /// Both worlds are one here.
    async fn call_on_element(
        &self,
        frame: &FrameId,
        reference: &str,
        function: &str,
    ) -> EngineResult<Value> {
        let call = format!("({function})({})", element_expression(reference));
        self.run(frame, &call).await
    }

    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        let expression = element_expression(reference);
        let number = self.frame_number(frame, &expression).await?;
        if number == 0 {
            return Ok(None);
        }
        let shared = self.shared()?;
        let mut turn = shared.free_turn().await;
        let Some(element) = self.element(&mut turn, frame, &expression).await? else {
            return Ok(None);
        };
        self.enter(&mut turn, frame, number, &element).await
    }

    async fn title(&self) -> EngineResult<String> {
        let shared = self.shared()?;
        let mut turn = shared.driver.turn().await;
        if shared.is_held_up() {
            // As it was before the dialog.
            return Ok(lock(&self.title).clone());
        }
        let asked = async {
            self.at_top(&mut turn).await?;
            turn.send(Command::GetTitle).await
        };
        match asked.await {
            Ok(title) => {
                let title = title.as_str().unwrap_or_default();
                title.clone_into(&mut lock(&self.title));
                Ok(title.to_owned())
            }
            Err(Trouble::Dialog(_)) => Ok(lock(&self.title).clone()),
            Err(trouble) => Err(trouble.error()),
        }
    }

    async fn clear_history(&self) -> EngineResult<()> {
        // Where it has been nowhere else there is nothing to forget.
        match self.run(&self.handle, "history.length").await?.as_u64() {
            Some(0 | 1) => Ok(()),
            _ => Err(unsupported("forgetting the history of a page")),
        }
    }

    fn stop_loading(&self) {
        self.stops.store(true, Ordering::Release);
        if let Some(shared) = self.shared.upgrade() {
            shared.wake();
        }
    }

    /// WebDriver has no way to: the page answers again when the script is over.
    fn terminate_script(&self) {}

    async fn flush_events(&self) {
        if let Ok(shared) = self.shared() {
            let mut turn = shared.driver.turn().await;
            self.look(&mut turn).await;
            shared.tell_downloads();
        }
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        let other = |event: &MouseEvent| matches!(event, MouseEvent::Down { button, .. } if *button != MouseButton::Left);
        if events.iter().any(other) {
            // The driver releases the left button instead. From then on, the other one stays
            // pressed, and capital letters cannot be typed.
            return Err(unsupported("pressing another button than the left one"));
        }
        let shared = self.shared()?;
        let events = shared.presses.apart(events);
        let done = self.perform(actions::mouse(&events, (0.0, 0.0))).await;
        shared.presses.made(&events);
        done
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        // The driver subtracts the last distance of the same wheel.
        let id = format!("wheel{}", self.slots.fetch_add(1, Ordering::Relaxed));
        self.perform(actions::wheel(&id, at, by)).await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        for part in actions::keyboard(events) {
            match part {
                KeyboardInput::Keys(actions) => self.perform(actions).await?,
                KeyboardInput::Text(text) => {
                    let focus = lock(&self.focus).clone();
                    let insert =
                        format!("document.execCommand('insertText', false, {})", json!(text));
                    self.run(&focus, &insert).await?;
                }
            }
        }
        Ok(())
    }

    /// What pages do by the pointer's own events needs nothing.
    async fn intercept_drags(&self, _on: bool) -> EngineResult<()> {
        Ok(())
    }

    async fn drag_over(&self, _x: f64, _y: f64, _enters: bool) -> EngineResult<()> {
        Err(unsupported("dragging with HTML's drag events"))
    }

    async fn drop_at(&self, _x: f64, _y: f64) -> EngineResult<()> {
        Err(unsupported("dropping with HTML's drag events"))
    }

    fn cancel_drag(&self, x: f64, y: f64) {
        *lock(&self.released) = Some((x, y));
        if let Some(shared) = self.shared.upgrade() {
            shared.wake();
        }
    }

    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()> {
        let shared = self.shared()?;
        let mut turn = shared.free_turn().await;
        let element = self.element(&mut turn, frame, &element_expression(reference)).await?;
        let name = element
            .as_ref()
            .and_then(|element| element[ELEMENT].as_str())
            .ok_or(EngineError::DocumentGone)?;
        let paths: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let typed = TypingData::from(paths.join("\n"));
        plain(turn.send(Command::ElementSendKeys(ElementId::from(name.to_owned()), typed)).await)
            .map(drop)
    }

    async fn choose_files(&self, _chooser: &FileChooser, _files: &[PathBuf]) -> EngineResult<()> {
        Err(EngineError::Unsupported {
            what: "answering a file chooser that the page opened",
            instead: "give upload_file the file input itself",
        })
    }

    async fn emulate_media(&self, media: &EmulatedMedia) -> EngineResult<()> {
        if *media == EmulatedMedia::default() {
            return Ok(());
        }
        Err(unsupported("emulating media types and media features"))
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        if ignore_cache {
            return Err(EngineError::Unsupported {
                what: "reloading past the cache",
                instead: "reload without ignoreCache",
            });
        }
        self.load_again().await
    }

    async fn traverse_history(&self, entries: i64) -> EngineResult<bool> {
        self.go_through_history(entries).await
    }

    async fn screenshot(&self, shot: ScreenshotOptions) -> EngineResult<String> {
        self.picture(shot).await
    }

    async fn pdf(&self) -> EngineResult<String> {
        Err(unsupported("printing a page to PDF"))
    }

    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()> {
        let shared = self.shared()?;
        shared.used(&self.handle);
        let mut turn = shared.driver.turn().await;
        plain(turn.window(&self.handle).await)?;
        if let Some(text) = prompt_text.filter(|_| accept) {
            // Only prompts take one.
            let _ = turn.send(Command::SendAlertText(TypingData::from(text))).await;
        }
        let answer = if accept { Command::AcceptAlert } else { Command::DismissAlert };
        match turn.send(answer).await {
            Ok(_) => {}
            // It has closed by itself.
            Err(Trouble::Failed(EngineError::Refused(why))) => {
                tracing::debug!(why, "the dialog was gone")
            }
            Err(trouble) => return Err(trouble.error()),
        }
        shared.dialog_closed();
        self.emit(PageEvent::DialogClosed);
        self.look_after(&shared, &mut turn).await
    }

    async fn close(&self) -> EngineResult<()> {
        match self.shared() {
            Ok(shared) => shared.close_window(&self.handle).await,
            // It was gone already.
            Err(_) => Ok(()),
        }
    }
}
