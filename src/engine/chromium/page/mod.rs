//! Implements the [`Page`] trait. `listener` handles events, `frames` maps frames to CDP sessions, `script`
//! evaluates, `closed` reads closed shadow roots, `drag` holds the data of an intercepted drag, and `popups` has
//! the sizes of requested windows.

mod closed;
mod drag;
mod frames;
mod listener;
mod popups;
mod script;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use chromiumoxide::cdp::{
    browser_protocol::{
        browser::GetVersionParams,
        dom::{BackendNodeId, DescribeNodeParams, SetFileInputFilesParams},
        input::DispatchDragEventType,
        page::{
            CaptureScreenshotFormat, CaptureScreenshotParams, GetFrameTreeParams,
            GetNavigationHistoryParams, HandleJavaScriptDialogParams, NavigateParams,
            NavigateToHistoryEntryParams, PrintToPdfParams, ReloadParams,
            ResetNavigationHistoryParams, SetLifecycleEventsEnabledParams, StopLoadingParams,
            Viewport as Clip,
        },
        target::CloseTargetParams,
    },
    js_protocol::runtime::{ReleaseObjectParams, TerminateExecutionParams},
};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::watch;

use self::{drag::Drag, frames::Frames, listener::TargetListener, popups::Popups};
use super::{
    CAPABILITIES, Link, emulation, events, input,
    launch::Windows,
    network::{ContextNetwork, Paused},
};
use crate::{
    config::Viewport,
    engine::{
        Area, Capabilities, ContextOptions, EngineError, EngineResult, FileChooser, FrameId,
        ImageFormat, KeyEvent, MouseButton, MouseEvent, NavigationStart, Page, PageEvent,
        PageObserver, Shot, World,
        connection::Sent,
        network_policy::{ClientNavigation, RequestInitiator},
    },
};

/// A page that does not come up in this time never will.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// A picture of a page that is not painted would never be answered.
const SHOT_TIMEOUT: Duration = Duration::from_secs(20);
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);

/// Why files cannot be given to a chooser of the File System Access API.
const FILE_SYSTEM_ACCESS: EngineError = EngineError::Unsupported {
    what: "giving files to a chooser of the File System Access API (`showOpenFilePicker()` and its like)",
    instead: "use a file input of the page, or drop the files on it, if it offers that",
};

/// The parameters of a new page.
pub(super) struct PageSetup {
    pub id: Arc<str>,
    pub link: Link,
    pub options: ContextOptions,
    pub windows: Windows,
    /// The size that its opener asked for.
    pub popup: Option<Viewport>,
    pub network: Arc<ContextNetwork>,
}

pub(super) struct ChromiumPage {
    id: Arc<str>,
    link: Link,
    observer: OnceLock<Arc<dyn PageObserver>>,
    /// The options for its setup and for that of its out-of-process iframes.
    options: ContextOptions,
    windows: Windows,
    frames: Frames,
    /// Mouse buttons that are down, as CDP's bit field.
    held: Mutex<i64>,
    drag: Arc<Drag>,
    popups: Popups,
    reporting: Mutex<()>,
    network: Arc<ContextNetwork>,
    navigation: Mutex<ClientNavigation>,
    /// `None` while the page is being set up.
    state: watch::Sender<Option<Result<(), EngineError>>>,
}

impl ChromiumPage {
    /// Takes over a target that waits for us; `introduce` gets the page before anything happens in it.
    pub fn attach(
        setup: PageSetup,
        introduce: impl FnOnce(Arc<dyn Page>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let page = Arc::new(Self {
            id: setup.id,
            link: setup.link,
            observer: OnceLock::new(),
            options: setup.options,
            windows: setup.windows,
            frames: Frames::default(),
            held: Mutex::new(0),
            drag: Arc::default(),
            popups: Popups::default(),
            reporting: Mutex::default(),
            network: setup.network,
            navigation: Mutex::default(),
            state: watch::Sender::new(None),
        });
        if let Some(session) = &page.link.session {
            page.frames.moved(&page.id, session);
        }
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: page.id.clone(), parent: None });
        let _ = page.observer.set(observer);
        let listener =
            Arc::new(TargetListener { page: Arc::downgrade(&page), link: page.link.clone() });
        page.link.wire.listen(page.link.session.clone(), listener);
        page.network.add_page(&page);
        page.network.join(&page.link, None);
        match listener::initialise(&page.link, &page.options, Some((setup.windows, setup.popup))) {
            Ok(answers) => {
                let page = page.clone();
                page.frames.expect_tree();
                let document = page.link.post(GetFrameTreeParams::default());
                // Ends with the last answer; each is answered or fails with the target.
                tokio::spawn(async move {
                    let mut outcome = Ok(());
                    for answer in answers {
                        if let Err(error) = answer.raw().await {
                            outcome =
                                outcome.and(Err(emulation::refused(error, &page.options.config)));
                        }
                    }
                    page.state.send_replace(Some(outcome));
                    // A popup that opens a dialog at once answers this only when the dialog is closed.
                    if let Ok(document) = document {
                        page.report_first_document(document).await;
                    }
                });
            }
            Err(error) => drop(page.state.send_replace(Some(Err(error)))),
        }
        page
    }

    /// Reports the documents of `tree`, as far as events have not replaced them: a tab that a link opens in the background
    /// may commit before `Page.enable` reaches its renderer.
    async fn report_first_document(&self, tree: Sent) {
        let tree = tree.read().await;
        let ordered = self.order();
        let detached = self.frames.tree_arrived();
        let (Ok(tree), Some(session)) = (tree, &self.link.session) else { return };
        if self.frames.has_document(&self.id) {
            return;
        }
        // Of a frame with a document, the tree may have children of the former one.
        let is_outdated = |frame: &FrameId| {
            let moved = self.frames.session_of(frame).is_some_and(|of| of != *session);
            moved || detached.contains(frame) || self.frames.has_document(frame)
        };
        for event in events::documents(tree, &is_outdated) {
            self.report(event, session);
        }
        drop(ordered);
        // Sends the lifecycle events again that came before the document was known.
        drop(self.link.post(SetLifecycleEventsEnabledParams::new(true)));
    }

    /// Held while the events of one message are reported: a late report never follows a newer one.
    fn order(&self) -> MutexGuard<'_, ()> {
        self.reporting.lock()
    }

    /// Reports `event`, which `session` sent.
    fn report(&self, event: PageEvent, session: &Arc<str>) {
        match &event {
            PageEvent::FrameAttached { frame, parent } => {
                self.frames.attached(frame, parent.as_ref(), session);
            }
            PageEvent::NavigationRequested { frame, document: Some(document) }
                if *frame == self.id =>
            {
                self.navigation.lock().start(document.clone());
            }
            PageEvent::Committed { frame, url, document } => {
                self.frames.committed(frame, session, url);
                if *frame == self.id {
                    self.navigation.lock().commit(document);
                }
            }
            PageEvent::FrameDetached { frame } => self.frames.detached(frame),
            _ => {}
        }
        self.emit(event);
    }

    /// Waits until the page is set up.
    pub async fn ready(&self) -> EngineResult<()> {
        let mut state = self.state.subscribe();
        let done = tokio::time::timeout(READY_TIMEOUT, state.wait_for(Option::is_some))
            .await
            .map_err(|_| EngineError::TimedOut(READY_TIMEOUT))?
            .map_err(|_| EngineError::PageGone)?;
        done.clone().unwrap_or(Ok(()))
    }

    pub fn has_frame(&self, frame: &FrameId) -> bool {
        self.frames.has(frame)
    }

    /// The size that the page asked for the popup that arrives now.
    pub fn popup_size(&self) -> Option<Viewport> {
        self.popups.next()
    }

    pub fn emit(&self, event: PageEvent) {
        if let Some(observer) = self.observer.get() {
            observer.event(event);
        }
    }

    /// Where its documents come from.
    pub fn places(&self) -> Vec<String> {
        self.frames.places()
    }

    /// The initiator of an intercepted request of the frames.
    fn initiator(&self, paused: &Paused) -> RequestInitiator {
        let place = paused.frame_id.as_ref().and_then(|frame| self.frames.place_of(frame));
        RequestInitiator::of(&paused.stopped(&self.id), self.navigation.lock().target(), place)
    }

    /// The entry of the history that is `steps` from the current one.
    async fn history_entry(&self, steps: i64) -> EngineResult<Option<HistoryEntry>> {
        let history: History = self.link.execute(GetNavigationHistoryParams {}).await?;
        let index = usize::try_from(history.current_index + steps).ok();
        Ok(index.and_then(|index| history.entries.into_iter().nth(index)))
    }

    /// The target has been detached.
    pub fn gone(&self) {
        if let Some(session) = &self.link.session {
            self.network.leave(session);
        }
        self.emit(PageEvent::Closed);
    }

    /// The link to the process that `frame` lives in; where that is not known, the page's own knows best
    /// (a document that is gone back to comes with its frames, and without a word about them).
    fn link_of(&self, frame: &FrameId) -> Link {
        let session = self.frames.session_of(frame).or_else(|| self.link.session.clone());
        Link { wire: self.link.wire.clone(), session }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Navigated {
    loader_id: Option<String>,
    error_text: Option<String>,
    #[serde(default)]
    is_download: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    current_index: i64,
    entries: Vec<HistoryEntry>,
}

#[derive(Deserialize)]
struct HistoryEntry {
    id: i64,
    url: String,
    title: String,
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// CDP's description of a node.
#[derive(Deserialize)]
struct Described {
    node: Node,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    frame_id: Option<String>,
    #[serde(default)]
    shadow_roots: Vec<ShadowRoot>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ShadowRoot {
    backend_node_id: i64,
    shadow_root_type: Option<String>,
}

#[derive(Deserialize)]
struct Captured {
    data: String,
}

#[async_trait]
impl Page for ChromiumPage {
    fn id(&self) -> &str {
        &self.id
    }

    fn main_frame(&self) -> FrameId {
        self.id.clone()
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn intercept_requests(&self) {
        self.network.intercept_requests().await;
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        self.navigation.lock().request(url);
        let answer: EngineResult<Navigated> = self.link.execute(NavigateParams::new(url)).await;
        self.navigation.lock().end();
        Ok(match answer? {
            Navigated { is_download: true, .. } => NavigationStart::Download,
            Navigated { error_text: Some(reason), .. } if !reason.is_empty() => {
                NavigationStart::Failed { reason }
            }
            Navigated { loader_id: Some(document), .. } => {
                NavigationStart::Document(document.into())
            }
            Navigated { .. } => NavigationStart::SameDocument,
        })
    }

    async fn evaluate(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<Value> {
        self.value(frame, world, expression).await
    }

    async fn call_script(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: &str,
    ) -> EngineResult<Value> {
        self.call(frame, name, arguments).await
    }

    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        let (link, object) = self.element(frame, reference).await?;
        let node: Described = link
            .execute(DescribeNodeParams {
                object_id: Some(object.clone().into()),
                ..DescribeNodeParams::default()
            })
            .await?;
        drop(link.post(ReleaseObjectParams::new(object))?);
        Ok(node.node.frame_id.map(Into::into))
    }

    async fn hand_over_roots(
        &self,
        frame: &FrameId,
        hosts: &str,
        take: &str,
    ) -> EngineResult<bool> {
        closed::hand_over(self, frame, hosts, take).await
    }

    async fn title(&self) -> EngineResult<String> {
        Ok(self.history_entry(0).await?.map(|entry| entry.title).unwrap_or_default())
    }

    async fn forget_history(&self) -> EngineResult<()> {
        self.link.run(ResetNavigationHistoryParams {}).await
    }

    fn stop_loading(&self) {
        let _ = self.link.post(StopLoadingParams {});
    }

    fn stop_script(&self) {
        let _ = self.link.post(TerminateExecutionParams {});
    }

    async fn catch_up(&self) {
        // The browser's own session and the page's are read apart there: one answer tells nothing of the other.
        let browser = Link { wire: self.link.wire.clone(), session: None };
        let _ = browser.run(GetVersionParams {}).await;
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        self.drag.canceled().await;
        let batch = {
            let mut batch = self.link.batch();
            input::mouse(&mut batch, events, &mut self.held.lock())?;
            batch
        };
        batch.run().await
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        let mut batch = self.link.batch();
        input::wheel(&mut batch, at, by)?;
        batch.run().await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        let mut batch = self.link.batch();
        input::keyboard(&mut batch, events)?;
        batch.run().await
    }

    async fn intercept_drags(&self, on: bool) -> EngineResult<()> {
        self.drag.intercept(&self.link, on).await
    }

    async fn drag_over(&self, x: f64, y: f64, enters: bool) -> EngineResult<()> {
        if enters {
            self.drag.dispatch(&self.link, DispatchDragEventType::DragEnter, x, y).await?;
        }
        self.drag.dispatch(&self.link, DispatchDragEventType::DragOver, x, y).await
    }

    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()> {
        self.drag.dispatch(&self.link, DispatchDragEventType::Drop, x, y).await
    }

    fn give_up_drag(&self, x: f64, y: f64) {
        let mut held = self.held.lock();
        let mut batch = self.link.batch();
        if *held & 1 != 0 {
            let release = [
                MouseEvent::Move { x, y, modifiers: 0 },
                MouseEvent::Up { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 },
            ];
            // A page that is gone holds no button.
            let _ = input::mouse(&mut batch, &release, &mut held);
        }
        self.drag.cancel(&self.link, batch.send().unwrap_or_default());
    }

    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()> {
        let (link, object) = self.element(frame, reference).await?;
        let mut params = SetFileInputFilesParams::new(names(files));
        params.object_id = Some(object.clone().into());
        let outcome = link.run(params).await;
        drop(link.post(ReleaseObjectParams::new(object))?);
        outcome
    }

    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()> {
        let mut params = SetFileInputFilesParams::new(names(files));
        params.backend_node_id = Some(BackendNodeId::new(chooser.input.ok_or(FILE_SYSTEM_ACCESS)?));
        self.link_of(&chooser.frame).run(params).await
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.link.run(emulation::metrics(&self.options.config, self.windows, size)).await
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        // After a failed navigation the main frame has another URL.
        if let Some(current) = self.history_entry(0).await? {
            self.navigation.lock().request(&current.url);
        }
        self.link
            .run(ReloadParams { ignore_cache: Some(ignore_cache), ..ReloadParams::default() })
            .await
    }

    async fn travel(&self, entries: i64) -> EngineResult<bool> {
        let Some(entry) = self.history_entry(entries).await? else { return Ok(false) };
        self.navigation.lock().request(&entry.url);
        self.link.run(NavigateToHistoryEntryParams::new(entry.id)).await?;
        Ok(true)
    }

    async fn screenshot(&self, shot: Shot) -> EngineResult<String> {
        let params = CaptureScreenshotParams {
            format: Some(match shot.format {
                ImageFormat::Png => CaptureScreenshotFormat::Png,
                ImageFormat::Jpeg => CaptureScreenshotFormat::Jpeg,
            }),
            quality: shot.quality.map(Into::into),
            clip: shot.clip.map(|Area { x, y, width, height }| Clip {
                x,
                y,
                width,
                height,
                scale: 1.0,
            }),
            capture_beyond_viewport: Some(shot.full_page),
            optimize_for_speed: Some(true),
            ..CaptureScreenshotParams::default()
        };
        let captured: Captured = tokio::time::timeout(SHOT_TIMEOUT, self.link.execute(params))
            .await
            .map_err(|_| EngineError::TimedOut(SHOT_TIMEOUT))??;
        Ok(captured.data)
    }

    async fn pdf(&self) -> EngineResult<String> {
        let params = PrintToPdfParams {
            print_background: Some(true),
            prefer_css_page_size: Some(true),
            ..PrintToPdfParams::default()
        };
        let printed =
            tokio::time::timeout(PRINT_TIMEOUT, self.link.execute::<Captured>(params)).await;
        match printed.map_err(|_| EngineError::TimedOut(PRINT_TIMEOUT))? {
            // A browser with windows prints through its dialog only.
            Err(EngineError::Refused(reason)) if reason.contains("not implemented") => {
                Err(EngineError::Unsupported {
                    what: "saving a page as PDF",
                    instead: "start the server with --headless",
                })
            }
            other => Ok(other?.data),
        }
    }

    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()> {
        let mut params = HandleJavaScriptDialogParams::new(accept);
        params.prompt_text = prompt_text.map(str::to_owned);
        self.link.run(params).await
    }

    async fn close(&self) -> EngineResult<()> {
        let browser = Link { wire: self.link.wire.clone(), session: None };
        match browser.run(CloseTargetParams::new(self.id.to_string())).await {
            // It was gone already.
            Err(EngineError::Refused(_) | EngineError::PageGone) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
