//! Implements the [`EnginePage`] trait over WebDriver. `script` runs scripts and applies the state
//! that they report, `navigation` navigates, `screenshot` takes screenshots.

mod navigation;
mod screenshot;
mod script;

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use self::script::{PAUSE, REPORT_AFTER_TICK, REPORT_STATE, ScriptOutcome};
use super::{
    CAPABILITIES,
    driver::{CommandGuard, DriverError, DriverResult, into_engine_result},
    frames::Frames,
    unsupported,
    windows::SessionWindows,
};
use crate::engine::{
    Capabilities, Dialog, DownloadStart, EmulatedMedia, EngineError, EnginePage, EngineResult,
    FileChooser, FrameId, KeyEvent, MouseButton, MouseEvent, NavigationStart, PageEvent,
    PageObserver, ScreenshotOptions, World,
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

/// Time after which a poll is repeated. The driver never answers a poll that arrives while one
/// document replaces another.
const POLL_TIMEOUT: Duration = Duration::from_secs(1);
/// Time within which a window disappears after its script has called `window.close()`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);
/// The key of an element's id in the driver's JSON.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub(super) struct WebkitPage {
    /// The driver's handle of its window.
    handle: Arc<str>,
    windows: Weak<SessionWindows>,
    observer: OnceLock<Arc<dyn PageObserver>>,
    frames: Mutex<Frames>,
    /// The frame that has the focus, or to which the focus is restored after a poll.
    focus: Mutex<FrameId>,
    title: Mutex<String>,
    /// The number of scripts that were run. Each script has a number.
    script_count: AtomicU64,
    /// Whether the next poll calls `window.stop()`.
    stop_requested: AtomicBool,
    /// The point at which the left button must be released after a failed drag.
    pending_release: Mutex<Option<(f64, f64)>>,
    closed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl WebkitPage {
    /// Creates the page of the window `handle`. `introduce` receives the page before its first
    /// event, and returns its observer.
    pub fn attach(
        handle: Arc<str>,
        windows: &Arc<SessionWindows>,
        introduce: impl FnOnce(Arc<dyn EnginePage>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let page = Arc::new(Self {
            frames: Mutex::new(Frames::new(handle.clone())),
            focus: Mutex::new(handle.clone()),
            handle: handle.clone(),
            windows: Arc::downgrade(windows),
            observer: OnceLock::new(),
            title: Mutex::default(),
            script_count: AtomicU64::new(0),
            stop_requested: AtomicBool::new(false),
            pending_release: Mutex::default(),
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

    /// Returns whether an operation is pending whose result only polling shows.
    pub fn needs_poll(&self) -> bool {
        lock(&self.frames).is_busy()
            || self.stop_requested.load(Ordering::Acquire)
            || lock(&self.pending_release).is_some()
    }

    /// Returns the URL that the page is navigating to, or else its current URL.
    pub fn target(&self) -> String {
        lock(&self.frames).target()
    }

    /// Returns the target URL, if it is valid.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&lock(&self.frames).target()).ok()
    }

    /// Reports a download of this page, whose file has appeared in the download folder.
    pub fn report_download(&self, file: PathBuf) {
        let id: Arc<str> = file.display().to_string().into();
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let url = lock(&self.frames).take_download_url();
        let start = DownloadStart { id: id.clone(), url, suggested_filename: name };
        self.emit(PageEvent::DownloadStarted(start));
        self.emit(PageEvent::DownloadEnded { id, file: Ok(file) });
        let stopped = lock(&self.frames).download_arrived();
        self.emit_all(stopped);
    }

    /// Reports that the window has closed.
    pub fn report_closed(&self) {
        if !self.closed.swap(true, Ordering::AcqRel) {
            self.emit(PageEvent::Closed);
        }
    }

    fn windows(&self) -> EngineResult<Arc<SessionWindows>> {
        if self.closed.load(Ordering::Acquire) {
            return Err(EngineError::PageGone);
        }
        self.windows.upgrade().ok_or(EngineError::BrowserGone)
    }

    /// Selects the main frame for commands.
    pub async fn select_main_frame(&self, commands: &mut CommandGuard<'_>) -> DriverResult<()> {
        commands.select_frame(&self.handle, &[]).await
    }

    /// Polls the state of the page.
    pub async fn poll(&self, commands: &mut CommandGuard<'_>) {
        if let Err(error) = self.release(commands).await {
            tracing::debug!(error = %error.into_engine_error(), "could not release the mouse button of a failed drag");
        }
        let body =
            if self.stop_requested.swap(false, Ordering::AcqRel) { "window.stop();" } else { "" };
        let script = format!("{body}{REPORT_STATE}");
        match tokio::time::timeout(POLL_TIMEOUT, self.run_body(commands, &self.handle, &script))
            .await
        {
            Ok(Ok(_) | Err(EngineError::DocumentGone)) => {}
            // The document is being replaced. The next poll follows soon.
            Err(_) => return,
            Ok(Err(error)) => {
                tracing::trace!(%error, page = &*self.handle, "could not poll the page")
            }
        }
        let awaiting_response = lock(&self.frames).awaiting_response();
        for frame in awaiting_response {
            if self.run_body(commands, &frame, REPORT_STATE).await.is_err() {
                tracing::trace!(page = &*self.handle, "could not poll a frame");
            }
        }
    }

    /// Polls the effects of input, which become visible after one or two event loop ticks.
    async fn poll_effects(
        &self,
        windows: &Arc<SessionWindows>,
        commands: &mut CommandGuard<'_>,
    ) -> EngineResult<()> {
        // If its document is gone, the page has closed or has navigated. The list of windows shows
        // which of them it is.
        let mut closing = match self.update_focus(commands).await {
            Ok(()) => false,
            Err(EngineError::DocumentGone | EngineError::PageGone) => true,
            Err(error) => return Err(error),
        };
        for _ in 0..2 {
            match self.run_body(commands, &self.handle, REPORT_AFTER_TICK).await {
                Ok(ScriptOutcome::Returned(answer)) => closing = answer.closing(),
                // A dialog or another document is the effect of the input.
                Ok(_) => break,
                Err(EngineError::DocumentGone | EngineError::PageGone) => {
                    closing = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        windows.update_windows(commands).await?;
        let deadline = Instant::now() + CLOSE_TIMEOUT;
        while closing && !self.closed.load(Ordering::Acquire) && Instant::now() < deadline {
            tokio::time::sleep(PAUSE).await;
            if let Ok(ScriptOutcome::Returned(answer)) =
                self.run_body(commands, &self.handle, REPORT_STATE).await
            {
                closing = answer.closing();
            }
            windows.update_windows(commands).await?;
        }
        Ok(())
    }

    /// Reports a dialog that blocks the page. WebDriver does not report its type.
    fn report_dialog(&self, message: &str) {
        let is_new =
            self.windows.upgrade().is_some_and(|windows| windows.record_dialog(&self.handle));
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
    async fn release(&self, commands: &mut CommandGuard<'_>) -> DriverResult<()> {
        let Some((x, y)) = lock(&self.pending_release).take() else { return Ok(()) };
        let up = MouseEvent::Up { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 };
        let mut actions =
            actions::mouse(&[MouseEvent::Move { x, y, modifiers: 0 }, up], (0.0, 0.0));
        round_to_pixels(&mut actions);
        self.select_main_frame(commands).await?;
        commands.send(Command::PerformActions(Actions::from(actions))).await.map(drop)
    }

    async fn perform(&self, mut actions: Value) -> EngineResult<()> {
        round_to_pixels(&mut actions);
        let windows = self.windows()?;
        windows.record_use(&self.handle);
        let mut commands = windows.commands_without_dialog().await;
        let outcome = async {
            self.release(&mut commands).await?;
            self.select_main_frame(&mut commands).await?;
            commands.send(Command::PerformActions(Actions::from(actions))).await
        };
        match outcome.await {
            // The input may have closed the page.
            Ok(_) | Err(DriverError::Failed(EngineError::PageGone)) => {
                self.poll_effects(&windows, &mut commands).await
            }
            Err(DriverError::Dialog(text)) => {
                self.report_dialog(&text);
                Ok(())
            }
            Err(error) => Err(error.into_engine_error()),
        }
    }

    /// Evaluates `expression` in `frame`. Returns the driver's reference to the resulting element.
    async fn element(
        &self,
        commands: &mut CommandGuard<'_>,
        frame: &FrameId,
        expression: &str,
    ) -> EngineResult<Option<Value>> {
        let path = lock(&self.frames).path_to(frame).ok_or(EngineError::DocumentGone)?;
        let body = format!("return (\n{expression}\n) ?? null;");
        let reply = async {
            commands.select_frame(&self.handle, &path).await?;
            commands.script(body).await
        };
        match reply.await {
            Ok(element) => Ok(Some(element).filter(|element| element[ELEMENT].is_string())),
            Err(DriverError::Dialog(text)) => {
                self.report_dialog(&text);
                Err(EngineError::Refused(format!("a dialog is open: {text}")))
            }
            Err(error) => Err(error.into_engine_error()),
        }
    }
}

/// Rounds coordinates down, because the driver accepts only whole numbers.
fn round_to_pixels(actions: &mut Value) {
    for source in actions.as_array_mut().into_iter().flatten() {
        for action in source["actions"].as_array_mut().into_iter().flatten() {
            for axis in ["x", "y"] {
                if let Some(position) = action.get_mut(axis) {
                    *position = json!(position.as_f64().unwrap_or_default().floor() as i64);
                }
            }
        }
    }
}

#[async_trait]
impl EnginePage for WebkitPage {
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
        self.navigate_to(url, true).await
    }

    async fn navigate_and_replace(&self, url: &str) -> EngineResult<NavigationStart> {
        self.navigate_to(url, false).await
    }

    /// WebDriver has no isolated world, so both worlds are the same.
    async fn evaluate(
        &self,
        frame: &FrameId,
        _world: World,
        expression: &str,
    ) -> EngineResult<Value> {
        self.run(frame, expression).await
    }

    /// WebDriver has no isolated world, so both worlds are the same.
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
        let windows = self.windows()?;
        let mut commands = windows.commands_without_dialog().await;
        let Some(element) = self.element(&mut commands, frame, &expression).await? else {
            return Ok(None);
        };
        self.enter(&mut commands, frame, number, &element).await
    }

    async fn title(&self) -> EngineResult<String> {
        let windows = self.windows()?;
        let mut commands = windows.driver.commands().await;
        if windows.is_blocked_by_dialog() {
            // A dialog is open: returns the last known title.
            return Ok(lock(&self.title).clone());
        }
        let reply = async {
            self.select_main_frame(&mut commands).await?;
            commands.send(Command::GetTitle).await
        };
        match reply.await {
            Ok(title) => {
                let title = title.as_str().unwrap_or_default();
                title.clone_into(&mut lock(&self.title));
                Ok(title.to_owned())
            }
            Err(DriverError::Dialog(_)) => Ok(lock(&self.title).clone()),
            Err(error) => Err(error.into_engine_error()),
        }
    }

    async fn clear_history(&self) -> EngineResult<()> {
        // A page that has shown no other document has no history to clear.
        match self.run(&self.handle, "history.length").await?.as_u64() {
            Some(0 | 1) => Ok(()),
            _ => Err(unsupported("clearing the history of a page")),
        }
    }

    fn stop_loading(&self) {
        self.stop_requested.store(true, Ordering::Release);
        if let Some(windows) = self.windows.upgrade() {
            windows.wake();
        }
    }

    /// WebDriver cannot end a script. The page responds again when the script ends.
    fn terminate_script(&self) {}

    async fn flush_events(&self) {
        if let Ok(windows) = self.windows() {
            let mut commands = windows.driver.commands().await;
            self.poll(&mut commands).await;
            windows.report_downloads();
        }
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        let other = |event: &MouseEvent| matches!(event, MouseEvent::Down { button, .. } if *button != MouseButton::Left);
        if events.iter().any(other) {
            // The driver releases the left button instead of the pressed one. The other button
            // then stays pressed, and capital letters cannot be typed.
            return Err(unsupported("mouse buttons other than the left one"));
        }
        let windows = self.windows()?;
        let events = windows.press_history.separate(events);
        let outcome = self.perform(actions::mouse(&events, (0.0, 0.0))).await;
        windows.press_history.record(&events);
        outcome
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        // The driver subtracts the last distance of the same wheel, so each call uses a new one.
        let id = format!("wheel{}", self.script_count.fetch_add(1, Ordering::Relaxed));
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

    /// Drags that the page implements with pointer events need no interception.
    async fn intercept_drags(&self, _on: bool) -> EngineResult<()> {
        Ok(())
    }

    async fn drag_over(&self, _x: f64, _y: f64, _enters: bool) -> EngineResult<()> {
        Err(unsupported("HTML drag and drop"))
    }

    async fn drop_at(&self, _x: f64, _y: f64) -> EngineResult<()> {
        Err(unsupported("HTML drag and drop"))
    }

    fn cancel_drag(&self, x: f64, y: f64) {
        *lock(&self.pending_release) = Some((x, y));
        if let Some(windows) = self.windows.upgrade() {
            windows.wake();
        }
    }

    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()> {
        let windows = self.windows()?;
        let mut commands = windows.commands_without_dialog().await;
        let element = self.element(&mut commands, frame, &element_expression(reference)).await?;
        let name = element
            .as_ref()
            .and_then(|element| element[ELEMENT].as_str())
            .ok_or(EngineError::DocumentGone)?;
        let paths: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let typed = TypingData::from(paths.join("\n"));
        into_engine_result(
            commands.send(Command::ElementSendKeys(ElementId::from(name.to_owned()), typed)).await,
        )
        .map(drop)
    }

    async fn choose_files(&self, _chooser: &FileChooser, _files: &[PathBuf]) -> EngineResult<()> {
        Err(EngineError::Unsupported {
            what: "file choosers that the page opens",
            instead: "pass the file input to upload_file",
        })
    }

    async fn emulate_media(&self, media: &EmulatedMedia) -> EngineResult<()> {
        if *media == EmulatedMedia::default() {
            return Ok(());
        }
        Err(unsupported("emulation of media types and media features"))
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        if ignore_cache {
            return Err(EngineError::Unsupported {
                what: "a reload that bypasses the cache",
                instead: "reload without ignoreCache",
            });
        }
        self.reload_document().await
    }

    async fn traverse_history(&self, entries: i64) -> EngineResult<bool> {
        self.move_in_history(entries).await
    }

    async fn screenshot(&self, shot: ScreenshotOptions) -> EngineResult<String> {
        self.screenshot_image(shot).await
    }

    async fn pdf(&self) -> EngineResult<String> {
        Err(unsupported("printing a page to PDF"))
    }

    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()> {
        let windows = self.windows()?;
        windows.record_use(&self.handle);
        let mut commands = windows.driver.commands().await;
        into_engine_result(commands.select_window(&self.handle).await)?;
        if let Some(text) = prompt_text.filter(|_| accept) {
            // Fails if the dialog is not a prompt.
            let _ = commands.send(Command::SendAlertText(TypingData::from(text))).await;
        }
        let answer = if accept { Command::AcceptAlert } else { Command::DismissAlert };
        match commands.send(answer).await {
            Ok(_) => {}
            // The dialog was closed already.
            Err(DriverError::Failed(EngineError::Refused(why))) => {
                tracing::debug!(why, "the dialog was already closed")
            }
            Err(error) => return Err(error.into_engine_error()),
        }
        windows.dialog_closed();
        self.emit(PageEvent::DialogClosed);
        self.poll_effects(&windows, &mut commands).await
    }

    async fn close(&self) -> EngineResult<()> {
        match self.windows() {
            Ok(windows) => windows.close_window(&self.handle).await,
            // The window was already closed.
            Err(_) => Ok(()),
        }
    }
}
