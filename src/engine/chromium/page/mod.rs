//! Implements the [`EnginePage`] trait. `listener` handles events, `frames` maps frames to CDP
//! sessions, `script` evaluates, `closed_roots` reads closed shadow roots, `drag` has the data of
//! an intercepted drag, `screencast` receives live images, and `popups` has the sizes of requested
//! windows.

mod closed_roots;
mod drag;
mod frames;
mod listener;
mod popups;
mod screencast;
mod script;

use std::{
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use base64::{DecodeError, Engine as _, engine::general_purpose::STANDARD};
use chromiumoxide::cdp::{
    browser_protocol::{
        browser::GetVersionParams,
        dom::{BackendNodeId, DescribeNodeParams, SetFileInputFilesParams},
        input::DispatchDragEventType,
        network::GetResponseBodyParams,
        page::{
            CaptureScreenshotFormat, CaptureScreenshotParams, GetFrameTreeParams,
            GetNavigationHistoryParams, HandleJavaScriptDialogParams, NavigateParams,
            NavigateToHistoryEntryParams, PrintToPdfParams, ReloadParams,
            ResetNavigationHistoryParams, SetLifecycleEventsEnabledParams, StopLoadingParams,
            Viewport as Clip,
        },
        target::{CloseTargetParams, DetachFromTargetParams},
    },
    js_protocol::runtime::{ReleaseObjectParams, TerminateExecutionParams},
};
use futures_util::{
    FutureExt,
    future::{BoxFuture, join_all},
};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use self::{
    drag::InterceptedDrag, frames::CdpFrames, listener::PageListener, popups::Popups,
    screencast::CdpScreencast,
};
use super::{
    CAPABILITIES,
    emulation::{self, WindowMode},
    events, input,
    network::{CdpContextNetwork, NetworkPage, PausedRequest},
    session::{CdpSession, CommandBatch},
};
use crate::{
    config::{ContextConfig, Viewport},
    engine::{
        Area, Capabilities, ContextOptions, EmulatedMedia, EngineError, EnginePage, EngineResult,
        FileChooser, FrameId, ImageFormat, KeyEvent, MouseButton, MouseEvent, NavigationStart,
        PageEvent, PageObserver, ScreencastFrame, ScreenshotOptions, World,
        connection::PendingCall,
        network_policy::{ClientNavigation, DocumentUrls, RequestInitiator},
        remote::GridFiles,
    },
    offload,
};

/// Maximum time for the set-up of a page.
const SETUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time for a screenshot. Chromium does not respond if the page is not painted.
const SCREENSHOT_TIMEOUT: Duration = Duration::from_secs(20);
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);

/// Why files cannot be given to a chooser of the File System Access API.
const FILE_SYSTEM_ACCESS: EngineError = EngineError::Unsupported {
    what: "selecting files in a chooser of the File System Access API (`showOpenFilePicker()`)",
    instead: "use a file input of the page, or drop the files on the page, if it supports that",
};

/// The parameters of a new page.
pub(super) struct ChromiumPageSetup {
    pub id: Arc<str>,
    pub cdp: CdpSession,
    pub options: ContextOptions,
    pub window_mode: WindowMode,
    /// The size that its opener requested.
    pub popup: Option<Viewport>,
    pub network: Arc<CdpContextNetwork>,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    /// Whether it is a tab of the user, without the emulation of `options`.
    pub is_adopted: bool,
}

pub(super) struct ChromiumPage {
    id: Arc<str>,
    cdp: CdpSession,
    observer: OnceLock<Arc<dyn PageObserver>>,
    /// The options for the page and its out-of-process iframes.
    options: ContextOptions,
    window_mode: WindowMode,
    frames: CdpFrames,
    /// Mouse buttons that are down, as CDP's bit field.
    held: Mutex<i64>,
    drag: Arc<InterceptedDrag>,
    /// The emulated media of the page and its out-of-process iframes.
    media: Mutex<EmulatedMedia>,
    popups: Popups,
    screencast: CdpScreencast,
    /// Held while the events of one CDP message are reported.
    reporting: Mutex<()>,
    network: Arc<CdpContextNetwork>,
    files: Option<Arc<GridFiles>>,
    is_adopted: bool,
    navigation: Mutex<ClientNavigation>,
    /// `None` while the page is being set up.
    state: watch::Sender<Option<Result<(), EngineError>>>,
}

impl ChromiumPage {
    /// Sets up a paused target. `introduce` gets the page before its first event and returns its
    /// observer.
    pub fn attach(
        setup: ChromiumPageSetup,
        introduce: impl FnOnce(Arc<dyn EnginePage>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let mut options = setup.options;
        if setup.is_adopted {
            options.config = ContextConfig::default();
        }
        let page = Arc::new(Self {
            id: setup.id,
            cdp: setup.cdp,
            observer: OnceLock::new(),
            options,
            window_mode: setup.window_mode,
            frames: CdpFrames::default(),
            held: Mutex::new(0),
            drag: Arc::default(),
            media: Mutex::default(),
            popups: Popups::default(),
            screencast: CdpScreencast::new(setup.window_mode == WindowMode::UserTab),
            reporting: Mutex::default(),
            network: setup.network,
            files: setup.files,
            is_adopted: setup.is_adopted,
            navigation: Mutex::default(),
            state: watch::Sender::new(None),
        });
        if let Some(session) = &page.cdp.id {
            page.frames.moved(&page.id, session);
        }
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: page.id.clone(), parent: None });
        let _ = page.observer.set(observer);
        let listener =
            Arc::new(PageListener { page: Arc::downgrade(&page), cdp: page.cdp.clone() });
        page.cdp.connection.listen(page.cdp.id.clone(), listener);
        let network_page: Arc<dyn NetworkPage> = page.clone();
        page.network.add_page(Arc::downgrade(&network_page));
        page.network.join(&page.cdp, None);
        let shown = Some((setup.window_mode, setup.popup));
        match listener::initialize(&page.cdp, &page, shown) {
            Ok(responses) => {
                let page = page.clone();
                page.frames.expect_tree();
                let document = page.cdp.post(GetFrameTreeParams::default());
                // Ends with the last response. Each command gets a response or fails with the
                // target.
                tokio::spawn(async move {
                    let mut outcome = Ok(());
                    for response in responses {
                        if let Err(error) = response.raw().await {
                            outcome = outcome
                                .and(Err(emulation::setting_error(error, &page.options.config)));
                        }
                    }
                    // The document of an adopted tab is known before its first call.
                    let (first, later) =
                        if page.is_adopted { (document.ok(), None) } else { (None, document.ok()) };
                    if let Some(document) = first {
                        page.report_first_document(document).await;
                    }
                    page.state.send_replace(Some(outcome));
                    // If a popup opens a dialog at once, the response arrives when the dialog is
                    // closed.
                    if let Some(document) = later {
                        page.report_first_document(document).await;
                    }
                });
            }
            Err(error) => drop(page.state.send_replace(Some(Err(error)))),
        }
        page
    }

    /// Reports the documents of `tree` that events have not replaced: a background tab may commit
    /// its document before `Page.enable` reaches its renderer.
    async fn report_first_document(&self, tree: PendingCall) {
        let tree = tree.read().await;
        let ordered = self.lock_reporting();
        let detached = self.frames.tree_arrived();
        let (Ok(tree), Some(session)) = (tree, &self.cdp.id) else { return };
        if self.frames.has_document(&self.id) {
            return;
        }
        // If a frame has another document now, the tree may contain the children of the former one.
        let is_outdated = |frame: &FrameId| {
            let moved = self.frames.session_of(frame).is_some_and(|of| of != *session);
            moved || detached.contains(frame) || self.frames.has_document(frame)
        };
        for event in events::documents(tree, &is_outdated) {
            self.report(event, session);
        }
        drop(ordered);
        // Repeats the lifecycle events that came before the document was known.
        drop(self.cdp.post(SetLifecycleEventsEnabledParams::new(true)));
    }

    /// Locks reporting, so that the events of one message are reported before those of the next.
    fn lock_reporting(&self) -> MutexGuard<'_, ()> {
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
    pub async fn await_setup(&self) -> EngineResult<()> {
        let mut state = self.state.subscribe();
        let done = tokio::time::timeout(SETUP_TIMEOUT, state.wait_for(Option::is_some))
            .await
            .map_err(|_| EngineError::TimedOut(SETUP_TIMEOUT))?
            .map_err(|_| EngineError::PageGone)?;
        done.clone().unwrap_or(Ok(()))
    }

    pub fn has_frame(&self, frame: &FrameId) -> bool {
        self.frames.has(frame)
    }

    /// Returns the size that the page requested for the popup that is opening.
    pub fn take_popup_size(&self) -> Option<Viewport> {
        self.popups.next()
    }

    pub fn emit(&self, event: PageEvent) {
        let Some(observer) = self.observer.get() else { return };
        match &self.files {
            Some(files) => files.pass_on(event, observer),
            None => observer.event(event),
        }
    }

    /// Returns the initiator of an intercepted request of the frames.
    fn initiator(&self, paused: &PausedRequest) -> RequestInitiator {
        let document_url =
            paused.frame_id.as_ref().and_then(|frame| self.frames.document_url(frame));
        RequestInitiator::of(
            &paused.intercepted(&self.id),
            self.navigation.lock().target(),
            document_url,
        )
    }

    async fn mouse_batch(&self, events: &[MouseEvent]) -> EngineResult<CommandBatch<'_>> {
        self.drag.await_cancellations().await;
        let mut batch = self.cdp.batch();
        input::mouse(&mut batch, events, &mut self.held.lock())?;
        Ok(batch)
    }

    /// Returns the entry of the history at `steps` from the current one.
    async fn history_entry(&self, steps: i64) -> EngineResult<Option<HistoryEntry>> {
        let history: NavigationHistory = self.cdp.execute(GetNavigationHistoryParams {}).await?;
        let index = usize::try_from(history.current_index + steps).ok();
        Ok(index.and_then(|index| history.entries.into_iter().nth(index)))
    }

    /// Reports that the target has been detached.
    pub fn gone(&self) {
        if let Some(session) = &self.cdp.id {
            self.network.leave(session);
        }
        self.emit(PageEvent::Closed);
    }

    /// Returns the session of the process of `frame`. If it is unknown, returns the page's own
    /// session: Chromium does not report the frames of a document that it restores from the
    /// back/forward cache.
    fn session_of_frame(&self, frame: &FrameId) -> CdpSession {
        let id = self.frames.session_of(frame).or_else(|| self.cdp.id.clone());
        CdpSession { connection: self.cdp.connection.clone(), id }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NavigateResponse {
    loader_id: Option<String>,
    error_text: Option<String>,
    #[serde(default)]
    is_download: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NavigationHistory {
    current_index: i64,
    entries: Vec<HistoryEntry>,
}

#[derive(Deserialize)]
struct HistoryEntry {
    id: i64,
    url: String,
    title: String,
}

fn path_strings(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// CDP's description of a node.
#[derive(Deserialize)]
struct DescribedNode {
    node: DomNode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DomNode {
    #[serde(default)]
    backend_node_id: i64,
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
#[serde(rename_all = "camelCase")]
struct ResponseBody {
    body: String,
    base64_encoded: bool,
}

#[derive(Deserialize)]
struct CapturedData {
    data: String,
}

impl NetworkPage for ChromiumPage {
    fn emit(&self, event: PageEvent) {
        Self::emit(self, event);
    }
}

impl DocumentUrls for ChromiumPage {
    fn document_urls(&self) -> Vec<String> {
        self.frames.document_urls()
    }
}

#[async_trait]
impl EnginePage for ChromiumPage {
    fn id(&self) -> &str {
        &self.id
    }

    fn main_frame(&self) -> FrameId {
        self.id.clone()
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn check_each_request(&self) {
        self.network.check_each_request().await;
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        self.navigation.lock().request(url);
        let answer: EngineResult<NavigateResponse> =
            self.cdp.execute(NavigateParams::new(url)).await;
        self.navigation.lock().end();
        Ok(match answer? {
            NavigateResponse { is_download: true, .. } => NavigationStart::Download,
            NavigateResponse { error_text: Some(reason), .. } if !reason.is_empty() => {
                NavigationStart::Failed { reason }
            }
            NavigateResponse { loader_id: Some(document), .. } => {
                NavigationStart::Document(document.into())
            }
            NavigateResponse { .. } => NavigationStart::SameDocument,
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

    async fn call_on_element(
        &self,
        frame: &FrameId,
        reference: &str,
        function: &str,
    ) -> EngineResult<Value> {
        let element = self.element_in_main_world(frame, reference).await?;
        self.call_on(element, function).await
    }

    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        let (cdp, object) = self.element(frame, reference).await?;
        let node: DescribedNode = cdp
            .execute(DescribeNodeParams {
                object_id: Some(object.clone().into()),
                ..DescribeNodeParams::default()
            })
            .await?;
        drop(cdp.post(ReleaseObjectParams::new(object))?);
        Ok(node.node.frame_id.map(Into::into))
    }

    async fn pass_closed_roots(
        &self,
        frame: &FrameId,
        hosts: &str,
        take: &str,
    ) -> EngineResult<()> {
        closed_roots::pass_to_script(self, frame, hosts, take).await
    }

    async fn title(&self) -> EngineResult<String> {
        Ok(self.history_entry(0).await?.map(|entry| entry.title).unwrap_or_default())
    }

    async fn clear_history(&self) -> EngineResult<()> {
        self.cdp.run(ResetNavigationHistoryParams {}).await
    }

    fn stop_loading(&self) {
        let _ = self.cdp.post(StopLoadingParams {});
    }

    fn terminate_script(&self) {
        let _ = self.cdp.post(TerminateExecutionParams {});
    }

    async fn flush_events(&self) {
        // The browser reads its own session and the page's separately: a response in one implies
        // nothing about the other.
        let browser = self.cdp.browser();
        let _ = browser.run(GetVersionParams {}).await;
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        self.mouse_batch(events).await?.run().await
    }

    async fn send_mouse(&self, events: &[MouseEvent]) -> EngineResult<BoxFuture<'static, ()>> {
        let calls = self.mouse_batch(events).await?.send()?;
        // An error means that the page has gone.
        Ok(Box::pin(join_all(calls.into_iter().map(PendingCall::raw)).map(drop)))
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        let mut batch = self.cdp.batch();
        input::wheel(&mut batch, at, by)?;
        batch.run().await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        let mut batch = self.cdp.batch();
        input::keyboard(&mut batch, events)?;
        batch.run().await
    }

    async fn intercept_drags(&self, on: bool) -> EngineResult<()> {
        self.drag.intercept(&self.cdp, on).await
    }

    async fn drag_over(&self, x: f64, y: f64, enters: bool) -> EngineResult<()> {
        if enters {
            self.drag.dispatch(&self.cdp, DispatchDragEventType::DragEnter, x, y).await?;
        }
        self.drag.dispatch(&self.cdp, DispatchDragEventType::DragOver, x, y).await
    }

    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()> {
        self.drag.dispatch(&self.cdp, DispatchDragEventType::Drop, x, y).await
    }

    fn cancel_drag(&self, x: f64, y: f64) {
        let mut held = self.held.lock();
        let mut batch = self.cdp.batch();
        if *held & 1 != 0 {
            let release = [
                MouseEvent::Move { x, y, modifiers: 0 },
                MouseEvent::Up { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 },
            ];
            // Fails only if the page has gone.
            let _ = input::mouse(&mut batch, &release, &mut held);
        }
        self.drag.cancel(&self.cdp, batch.send().unwrap_or_default());
    }

    async fn provide_files(&self, files: &[PathBuf]) -> EngineResult<Vec<PathBuf>> {
        match &self.files {
            Some(node) => node.upload(files).await,
            None => Ok(files.to_vec()),
        }
    }

    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()> {
        let (cdp, object) = self.element(frame, reference).await?;
        let mut params = SetFileInputFilesParams::new(path_strings(files));
        params.object_id = Some(object.clone().into());
        let outcome = cdp.run(params).await;
        drop(cdp.post(ReleaseObjectParams::new(object))?);
        outcome
    }

    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()> {
        let mut params = SetFileInputFilesParams::new(path_strings(files));
        params.backend_node_id = Some(BackendNodeId::new(chooser.input.ok_or(FILE_SYSTEM_ACCESS)?));
        self.session_of_frame(&chooser.frame).run(params).await
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.cdp.run(emulation::metrics(&self.options.config, self.window_mode, size)).await
    }

    async fn emulate_media(&self, media: &EmulatedMedia) -> EngineResult<()> {
        // Frame processes that start from now on read it.
        *self.media.lock() = media.clone();
        let own = self.cdp.post(emulation::media(media))?;
        let mut frames = Vec::new();
        for session in self.frames.sessions() {
            if self.cdp.id.as_ref() != Some(&session) {
                frames.extend(self.cdp.sibling(session).post(emulation::media(media)));
            }
        }
        own.raw().await?;
        // Errors are ignored: they mean that the frame has gone.
        join_all(frames.into_iter().map(PendingCall::raw)).await;
        Ok(())
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        // After a failed navigation, the main frame has the URL of an error page.
        if let Some(current) = self.history_entry(0).await? {
            self.navigation.lock().request(&current.url);
        }
        self.cdp
            .run(ReloadParams { ignore_cache: Some(ignore_cache), ..ReloadParams::default() })
            .await
    }

    async fn traverse_history(&self, entries: i64) -> EngineResult<bool> {
        let Some(entry) = self.history_entry(entries).await? else { return Ok(false) };
        self.navigation.lock().request(&entry.url);
        self.cdp.run(NavigateToHistoryEntryParams::new(entry.id)).await?;
        Ok(true)
    }

    async fn start_screencast(
        &self,
        size: Viewport,
        quality: u8,
        frames: mpsc::Sender<ScreencastFrame>,
    ) -> EngineResult<()> {
        self.screencast.start(&self.cdp, size, quality, frames).await
    }

    fn acknowledge_frame(&self, number: i64) {
        self.screencast.acknowledge(&self.cdp, number);
    }

    fn stop_screencast(&self) {
        self.screencast.stop(&self.cdp);
    }

    async fn screenshot(&self, shot: ScreenshotOptions) -> EngineResult<String> {
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
        let captured: CapturedData =
            tokio::time::timeout(SCREENSHOT_TIMEOUT, self.cdp.execute(params))
                .await
                .map_err(|_| EngineError::TimedOut(SCREENSHOT_TIMEOUT))??;
        Ok(captured.data)
    }

    async fn pdf(&self) -> EngineResult<String> {
        let params = PrintToPdfParams {
            print_background: Some(true),
            prefer_css_page_size: Some(true),
            ..PrintToPdfParams::default()
        };
        let printed =
            tokio::time::timeout(PRINT_TIMEOUT, self.cdp.execute::<CapturedData>(params)).await;
        match printed.map_err(|_| EngineError::TimedOut(PRINT_TIMEOUT))? {
            // A browser with windows can print only with its dialog.
            Err(EngineError::Refused(reason)) if reason.contains("not implemented") => {
                Err(EngineError::Unsupported {
                    what: "saving a page as PDF",
                    instead: "start the server with --headless",
                })
            }
            other => Ok(other?.data),
        }
    }

    async fn response_body(
        &self,
        frame: Option<&FrameId>,
        request: &str,
    ) -> EngineResult<Option<Vec<u8>>> {
        // The document of an out-of-process iframe is requested by the process of its parent.
        let session = frame.and_then(|frame| self.frames.session_of(frame));
        let sessions = [session, self.cdp.id.clone()];
        for id in sessions.into_iter().flatten() {
            let command = GetResponseBodyParams::new(request.to_owned());
            match self.cdp.sibling(id).execute::<ResponseBody>(command).await {
                Ok(ResponseBody { body, base64_encoded: false }) => {
                    return Ok(Some(body.into_bytes()));
                }
                Ok(ResponseBody { body, .. }) => {
                    let decoded = offload::in_place(body.len(), || STANDARD.decode(body));
                    let invalid = |error: DecodeError| EngineError::Refused(error.to_string());
                    return decoded.map(Some).map_err(invalid);
                }
                // It has no body, or the browser has removed it.
                Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()> {
        let mut params = HandleJavaScriptDialogParams::new(accept);
        params.prompt_text = prompt_text.map(str::to_owned);
        self.cdp.run(params).await
    }

    fn is_adopted(&self) -> bool {
        self.is_adopted
    }

    async fn close(&self) -> EngineResult<()> {
        let browser = self.cdp.browser();
        if self.is_adopted {
            let session_id = self.cdp.id.as_ref().map(|id| id.to_string().into());
            return match browser.run(DetachFromTargetParams { session_id }).await {
                // The tab is already closed.
                Err(EngineError::Refused(_) | EngineError::PageGone) | Ok(()) => Ok(()),
                Err(error) => Err(error),
            };
        }
        match browser.run(CloseTargetParams::new(self.id.to_string())).await {
            // The page is already closed.
            Err(EngineError::Refused(_) | EngineError::PageGone) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}
