//! Implements the [`EnginePage`] trait over BiDi. `script` runs scripts and reads closed shadow
//! roots, `input` dispatches input to the right frame.

mod input;
mod script;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;

use input::{DRAG, PendingClicks};
pub(super) use script::SANDBOX;

use super::{
    Bidi, CAPABILITIES, emulation,
    navigation_events::{FrameTable, NAVIGATION_STARTED, NavigationEvent, NavigationOutcome},
    network::FirefoxNetwork,
    network_errors,
    network_events::{NetworkEvent, Redirect},
    pending_tabs::PendingTabs,
    privileged::{PrivilegedScript, SYSTEM_ACCESS_HINT, ScriptedRequest},
    remote_value::ScriptResult,
};
use crate::engine::{
    Area, Capabilities, CombinedClick, EmulatedMedia, EngineError, EnginePage, EngineResult,
    FileChooser, FrameId, ImageFormat, KeyEvent, MouseButton, MouseEvent, NavigationStart,
    PageEvent, PageObserver, ResourceKind, ScreenshotOptions, ScriptCall, World,
    actions::{self, KeyboardInput},
    connection::ConnectionError,
    element_expression,
    network::ResourceType,
    network_policy::{ClientNavigation, DocumentUrls, InterceptedRequest, RequestInitiator},
    remote::GridFiles,
};
use crate::offload;

/// Maximum time for a screenshot. Firefox does not respond if the page is not painted.
const SCREENSHOT_TIMEOUT: Duration = Duration::from_secs(20);
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time until a page without a privileged script returns its title.
const TITLE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time until the tab of a page is selected. A blocked page does not respond.
const SELECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time until an opening dialog is reported.
const DIALOG_TIMEOUT: Duration = Duration::from_secs(2);

/// The parameters of a new page.
pub(super) struct FirefoxPageSetup {
    pub id: Arc<str>,
    /// The key of its context in the state of the browser.
    pub context_key: Arc<str>,
    pub bidi: Bidi,
    pub privileged: PrivilegedScript,
    pub network: Arc<FirefoxNetwork>,
    pub tabs: Arc<PendingTabs>,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
}

pub(super) struct FirefoxPage {
    id: Arc<str>,
    /// The key of its context in the state of the browser.
    pub context_key: Arc<str>,
    bidi: Bidi,
    privileged: PrivilegedScript,
    observer: OnceLock<Arc<dyn PageObserver>>,
    network: Arc<FirefoxNetwork>,
    tabs: Arc<PendingTabs>,
    files: Option<Arc<GridFiles>>,
    state: Mutex<FirefoxPageState>,
    /// True while a dialog is opening that BiDi has not reported.
    is_dialog_opening: watch::Sender<bool>,
    /// True while a dialog is open that BiDi has reported.
    is_dialog_open: watch::Sender<bool>,
    clicks: Mutex<PendingClicks>,
    /// The pages that may have opened this page, until its URL is known.
    openers: Mutex<Vec<Arc<Self>>>,
}

#[derive(Default)]
struct FirefoxPageState {
    frames: FrameTable,
    choosers: FileChoosers,
    /// Redirects by request, until the next request of the redirect chain.
    redirects: HashMap<Arc<str>, Redirect>,
    closed: bool,
    navigation: ClientNavigation,
    /// Whether it crashed since the last navigation began.
    crashed: bool,
    /// The held buttons, as in `MouseEvent.buttons`.
    held: u8,
}

/// Maximum number of file choosers of a page to remember.
const MAX_CHOOSERS: usize = 16;

/// The inputs whose file choosers opened last, each with a unique number.
#[derive(Default)]
struct FileChoosers {
    last: i64,
    inputs: VecDeque<(i64, String)>,
}

impl FileChoosers {
    /// Stores the shared id of an input and returns its number.
    fn opened(&mut self, input: String) -> i64 {
        self.last += 1;
        if self.inputs.len() == MAX_CHOOSERS {
            self.inputs.pop_front();
        }
        self.inputs.push_back((self.last, input));
        self.last
    }

    /// Returns the shared id of the input with this number.
    fn input(&self, number: i64) -> Option<String> {
        self.inputs.iter().find(|(known, _)| *known == number).map(|(_, input)| input.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[derive(Deserialize)]
struct NavigateResult {
    navigation: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct CaptureResult {
    data: String,
}

#[derive(Deserialize)]
struct CollectedData {
    bytes: BytesValue,
}

/// BiDi's `network.BytesValue`.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum BytesValue {
    String { value: String },
    Base64 { value: String },
}

#[derive(Deserialize)]
struct FileDialogOpened {
    context: FrameId,
    element: Option<SharedReference>,
    #[serde(default)]
    multiple: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SharedReference {
    shared_id: Option<String>,
}

impl DocumentUrls for FirefoxPage {
    fn document_urls(&self) -> Vec<String> {
        lock(&self.state).frames.document_urls()
    }
}

impl FirefoxPage {
    /// Creates a page that has just opened. `introduce` gets it before its first event.
    pub fn attach(
        setup: FirefoxPageSetup,
        introduce: impl FnOnce(Arc<dyn EnginePage>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let FirefoxPageSetup { id, context_key, bidi, privileged, network, tabs, files } = setup;
        let page = Arc::new(Self {
            id: id.clone(),
            context_key,
            bidi,
            privileged,
            observer: OnceLock::new(),
            network,
            tabs,
            files,
            state: Mutex::default(),
            is_dialog_opening: watch::Sender::new(false),
            is_dialog_open: watch::Sender::new(false),
            clicks: Mutex::default(),
            openers: Mutex::default(),
        });
        lock(&page.state).frames.attach(&id, None);
        let documents = Arc::downgrade(&(page.clone() as Arc<dyn DocumentUrls>));
        page.network.request_check.add_page(documents);
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: id, parent: None });
        let _ = page.observer.set(observer);
        page
    }

    pub fn emit(&self, event: PageEvent) {
        let Some(observer) = self.observer.get() else { return };
        match &self.files {
            Some(files) => files.pass_on(event, observer),
            None => observer.event(event),
        }
    }

    pub fn frame_attached(&self, frame: FrameId, parent: FrameId) {
        lock(&self.state).frames.attach(&frame, Some(parent.clone()));
        self.emit(PageEvent::FrameAttached { frame, parent: Some(parent) });
    }

    /// Handles the end of `frame` and of the frames in it. Returns their ids.
    pub fn frame_detached(&self, frame: FrameId) -> Vec<FrameId> {
        let detached = lock(&self.state).frames.detach(&frame);
        self.emit(PageEvent::FrameDetached { frame });
        detached
    }

    /// Handles the close of the page.
    pub fn closed(&self) {
        lock(&self.state).closed = true;
        self.emit(PageEvent::Closed);
    }

    /// Handles the crash of the page's content process.
    pub fn crashed(&self) {
        lock(&self.state).crashed = true;
        self.emit(PageEvent::Crashed);
    }

    /// Sets the pages that may have opened this page.
    pub fn set_openers(&self, pages: Vec<Arc<Self>>) {
        *lock(&self.openers) = pages;
    }

    /// Reports the URL of this page to the pages that may have opened it.
    pub fn window_url_known(&self, url: &str) {
        for opener in lock(&self.openers).clone() {
            opener.emit(PageEvent::WindowOpening {
                window: Some(self.id.clone()),
                url: url.to_owned(),
            });
        }
    }

    /// Handles a `browsingContext` event.
    pub fn navigation_event(&self, method: &str, event: NavigationEvent) {
        if method == NAVIGATION_STARTED && event.context == self.id {
            self.window_url_known(&event.url);
            if !std::mem::take(&mut *lock(&self.openers)).is_empty() {
                self.tabs.clear();
            }
        }
        let events = {
            let mut state = lock(&self.state);
            if let Some(document) = event.navigation.as_ref().filter(|_| event.context == self.id) {
                match method {
                    NAVIGATION_STARTED => state.navigation.start(document.clone()),
                    "browsingContext.navigationCommitted" => state.navigation.commit(document),
                    _ => {}
                }
            }
            state.crashed &= method != NAVIGATION_STARTED || event.context != self.id;
            if state.crashed {
                // Events of the empty document that replaces the crashed one.
                return;
            }
            state.frames.apply(method, event)
        };
        for event in events {
            let prompt = match event {
                PageEvent::DialogOpened(_) => Some(true),
                PageEvent::DialogClosed => Some(false),
                _ => None,
            };
            self.emit(event);
            if let Some(open) = prompt {
                self.is_dialog_open.send_replace(open);
            }
            if prompt == Some(true) {
                self.is_dialog_opening.send_replace(false);
            }
        }
    }

    /// Handles a dialog that is opening.
    pub fn dialog_opening(&self) {
        self.is_dialog_opening.send_replace(true);
    }

    /// Waits until an opening dialog is reported: the command that opened it is answered earlier.
    async fn wait_for_dialog(&self) {
        let mut opening = self.is_dialog_opening.subscribe();
        let _ = tokio::time::timeout(DIALOG_TIMEOUT, opening.wait_for(|opening| !opening)).await;
    }

    /// Waits until a dialog is open.
    async fn await_open_dialog(&self) {
        let mut prompt = self.is_dialog_open.subscribe();
        if prompt.wait_for(|open| *open).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Selects the tab of the page if it shares a window with the selected tab. Firefox delays the
    /// timers of other tabs, and does not paint them. The privileged script activates all tabs.
    async fn select_tab(&self) {
        if !self.privileged.is_open() && self.tabs.select(&self.id) {
            let activate = self.bidi.run("browsingContext.activate", json!({"context": self.id}));
            let _ = tokio::time::timeout(SELECT_TIMEOUT, activate).await;
        }
    }

    /// Keeps the tab of the page selected when it opens another one. Does not wait.
    pub fn stay_selected(&self) {
        if !self.privileged.is_open() {
            self.tabs.share_window(&self.id);
            let _ = self.bidi.post("browsingContext.activate", json!({"context": self.id}));
        }
    }

    /// Handles a request of a document. BiDi reports it later, and reports its end before the
    /// document has the response.
    pub fn request_sent(&self, frame: &Arc<str>, channel: u64, kind: ScriptedRequest) {
        let document = lock(&self.state).frames.document(frame);
        self.emit(PageEvent::RequestStarted {
            id: request_id(channel),
            frame: Some(frame.clone()),
            document,
            kind: match kind {
                ScriptedRequest::Script => ResourceKind::Script,
                ScriptedRequest::Fetch => ResourceKind::Fetch,
            },
        });
    }

    /// Handles the end of a response in the parent process. The document gets it next.
    pub fn response_received(&self, channel: u64) {
        self.emit(PageEvent::ResponseStarted { id: request_id(channel), length: Some(0) });
    }

    /// Handles the end of a response in the document.
    pub fn request_finished(&self, channel: u64) {
        self.emit(PageEvent::RequestEnded { id: request_id(channel) });
    }

    /// Handles a network event.
    pub fn network_event(&self, method: &str, step: &NetworkEvent) {
        let (document, redirected, aborted) = {
            let mut state = lock(&self.state);
            let document = step.context.as_ref().and_then(|frame| state.frames.document(frame));
            let id = &step.request.request;
            let redirected = match step.redirect(method) {
                Some(redirect) => {
                    state.redirects.insert(id.clone(), redirect);
                    None
                }
                None => state.redirects.remove(id),
            };
            let aborted = match (&step.context, &step.navigation) {
                (Some(frame), Some(navigation)) if step.is_aborted() => {
                    state.frames.navigation_ended(frame, navigation)
                }
                _ => None,
            };
            (document, redirected, aborted)
        };
        if let Some(event) = step.page_event(method, document) {
            self.emit(event);
        }
        if let Some(event) = step.log_event(method, redirected, self.network.keeps_details) {
            self.emit(PageEvent::Request(event));
        }
        if let Some(event) = aborted {
            self.emit(event);
        }
        if step.is_blocked && method == "network.beforeRequestSent" {
            let initiator = || self.initiator(step);
            self.network
                .decide(&self.bidi, step, initiator, |event| self.emit(PageEvent::Request(event)));
        }
    }

    /// Returns the initiator of an intercepted request of its frames.
    fn initiator(&self, step: &NetworkEvent) -> RequestInitiator {
        let state = lock(&self.state);
        let frame = step.context.as_ref();
        let is_document = step.request.kind() == ResourceType::Document;
        let is_main_frame = frame == Some(&self.id);
        let referrer = step.request.header("referer");
        let stopped =
            InterceptedRequest::new(&step.request.url, is_document, is_main_frame, referrer);
        let place = frame.and_then(|frame| state.frames.document_url(frame));
        RequestInitiator::of(&stopped, state.navigation.target(), place)
    }

    /// Handles a file chooser that the page opens.
    pub fn chooser_opened(&self, params: &RawValue) {
        let Some(opened) =
            super::navigation_events::parse::<FileDialogOpened>("input.fileDialogOpened", params)
        else {
            return;
        };
        let Some(node) = opened.element.and_then(|node| node.shared_id) else { return };
        let input = lock(&self.state).choosers.opened(node);
        let FileDialogOpened { context: frame, multiple, .. } = opened;
        self.emit(PageEvent::FileChooserOpened(FileChooser {
            frame,
            input: Some(input),
            multiple,
        }));
    }

    /// Handles the URL that a frame reports after a same-document navigation.
    pub fn url_changed(&self, frame: &FrameId, url: String) {
        let event = lock(&self.state).frames.url_changed(frame, url);
        if let Some(event) = event {
            self.emit(event);
        }
    }

    /// Replaces `DocumentGone` if the page was closed or crashed.
    fn convert_error(&self, error: EngineError) -> EngineError {
        match error {
            EngineError::DocumentGone => {
                let state = lock(&self.state);
                match (state.closed, state.crashed) {
                    (true, _) => EngineError::PageGone,
                    (_, true) => EngineError::PageCrashed,
                    _ => EngineError::DocumentGone,
                }
            }
            other => other,
        }
    }

    /// Like [`Self::convert_error`], but waits for pending reports: a crash is reported shortly
    /// after the failed script.
    async fn classify_error(&self, error: EngineError) -> EngineError {
        if matches!(error, EngineError::DocumentGone) {
            let flushed = self.privileged.call("catching up", SYSTEM_ACCESS_HINT, "flush()");
            if let Err(EngineError::Unsupported { .. }) = flushed.await {
                let tree = json!({"root": self.id, "maxDepth": 0});
                let _ = self.bidi.run("browsingContext.getTree", tree).await;
            }
        }
        self.convert_error(error)
    }

    async fn run(&self, method: &'static str, params: Value) -> EngineResult<()> {
        match self.bidi.run(method, params).await {
            Err(error) => Err(self.classify_error(error).await),
            Ok(()) => Ok(()),
        }
    }

    /// Calls the function `name` of the privileged script.
    async fn call_privileged(
        &self,
        what: &'static str,
        instead: &'static str,
        name: &str,
    ) -> EngineResult<Value> {
        let answer = self.privileged.call(what, instead, &self.privileged_call(name)).await;
        answer.map_err(|error| self.convert_error(error))
    }

    /// Allows a navigation of the client to the history entry that is `steps` from the current one.
    /// An attached browser that does not allow privileged scripts has no network policy.
    async fn expect_history_entry(&self, steps: i64) -> EngineResult<()> {
        let call = format!("historyEntry({}, {steps})", json!(self.id));
        let Some(sent) = self.privileged.post(&call)? else { return Ok(()) };
        if let Value::String(url) =
            sent.read::<ScriptResult>().await.map_err(super::convert_error)?.value()?
        {
            lock(&self.state).navigation.request(&url);
        }
        Ok(())
    }

    /// Returns the data of a request or a response (`kind`) that the browser has collected.
    async fn collected(&self, kind: &str, request: &str) -> EngineResult<Option<Vec<u8>>> {
        let params = json!({"dataType": kind, "request": request});
        match self.bidi.call::<CollectedData>("network.getData", params).await {
            Ok(CollectedData { bytes: BytesValue::String { value } }) => {
                Ok(Some(value.into_bytes()))
            }
            Ok(CollectedData { bytes: BytesValue::Base64 { value } }) => {
                let decoded = offload::in_place(value.len(), || STANDARD.decode(value));
                decoded.map(Some).map_err(|error| EngineError::Refused(error.to_string()))
            }
            // It has no body, or the browser has removed it.
            Err(EngineError::Refused(_)) => Ok(None),
            Err(error) => Err(self.convert_error(error)),
        }
    }

    fn privileged_call(&self, name: &str) -> String {
        format!("{name}({})", json!(self.id))
    }
}

/// Returns the id of a request that the frame script reports. It differs from BiDi's id.
fn request_id(channel: u64) -> Arc<str> {
    format!("channel {channel}").into()
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// Converts a rejected navigation command into a failed navigation if it names a network error.
fn failed_navigation(error: ConnectionError) -> EngineResult<NavigationStart> {
    match &error {
        ConnectionError::Refused { message, .. } => match network_errors::error_name(message) {
            Some(name) => {
                Ok(NavigationStart::Failed { reason: network_errors::chromium_name(name) })
            }
            None => Err(super::convert_error(error)),
        },
        _ => Err(super::convert_error(error)),
    }
}

#[async_trait]
impl EnginePage for FirefoxPage {
    fn id(&self) -> &str {
        &self.id
    }

    fn main_frame(&self) -> FrameId {
        self.id.clone()
    }

    async fn check_each_request(&self) {
        self.network.check_each_request().await;
    }

    fn capabilities(&self) -> Capabilities {
        // A combined click needs the privileged script.
        Capabilities { combined_clicks: self.privileged.is_open(), ..CAPABILITIES }
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        lock(&self.state).navigation.request(url);
        let params = json!({"context": self.id, "url": url, "wait": "none"});
        let navigated: NavigateResult =
            match self.bidi.post("browsingContext.navigate", params)?.read().await {
                Ok(navigated) => navigated,
                Err(error) => {
                    return failed_navigation(error).map_err(|error| self.convert_error(error));
                }
            };
        let Some(navigation) = navigated.navigation else {
            return Ok(NavigationStart::SameDocument);
        };
        Ok(match lock(&self.state).frames.outcome_of(&self.id, &navigation) {
            NavigationOutcome::Download => NavigationStart::Download,
            NavigationOutcome::SameDocument => NavigationStart::SameDocument,
            NavigationOutcome::Document => NavigationStart::Document(navigation),
        })
    }

    async fn evaluate(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<Value> {
        self.script(frame, world, expression).await?.json()
    }

    async fn call_on_element(
        &self,
        frame: &FrameId,
        reference: &str,
        function: &str,
    ) -> EngineResult<Value> {
        let node = self.node(frame, &element_expression(reference)).await?;
        self.call_on_node(frame, &node, function).await
    }

    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        let window = format!("{}?.contentWindow ?? null", element_expression(reference));
        let remote = self.script(frame, World::Isolated, &window).await?;
        Ok(remote.window().map(Into::into))
    }

    async fn pass_closed_roots(
        &self,
        frame: &FrameId,
        hosts: &str,
        take: &str,
    ) -> EngineResult<()> {
        self.collect_closed_roots(frame, hosts, take).await
    }

    async fn title(&self) -> EngineResult<String> {
        const READING: &str = "reading the title of a page that a dialog blocks";
        let title = if self.privileged.is_open() {
            self.call_privileged(READING, SYSTEM_ACCESS_HINT, "title").await?
        } else {
            let title = self.evaluate(&self.id, World::Isolated, "document.title");
            tokio::select! {
                biased;
                () = self.await_open_dialog() => {
                    let instead = SYSTEM_ACCESS_HINT;
                    return Err(EngineError::Unsupported { what: READING, instead });
                }
                title = tokio::time::timeout(TITLE_TIMEOUT, title) => {
                    title.map_err(|_| EngineError::TimedOut(TITLE_TIMEOUT))??
                }
            }
        };
        Ok(title.as_str().unwrap_or_default().to_owned())
    }

    async fn clear_history(&self) -> EngineResult<()> {
        self.call_privileged("clearing the history", SYSTEM_ACCESS_HINT, "forgetHistory")
            .await
            .map(drop)
    }

    fn stop_loading(&self) {
        let _ = self.privileged.post(&self.privileged_call("stop"));
    }

    fn terminate_script(&self) {
        let _ = self.privileged.post(&self.privileged_call("stopScript"));
    }

    async fn flush_events(&self) {
        let _ = self.run("browsingContext.getTree", json!({"root": self.id, "maxDepth": 0})).await;
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        self.select_tab().await;
        let focused = self.focused_frame().await?;
        let mut rest = events;
        while let Some(first) = rest.first() {
            let point = first.position();
            let (frame, (x, y)) = self.input_frame_at(point).await?;
            let here = if frame == self.id && !lock(&self.state).frames.has_children() {
                rest.len()
            } else {
                // Events at the same point go to the same frame.
                rest.iter().take_while(|event| event.position() == point).count()
            };
            let (now, later) = rest.split_at(here);
            if frame == self.id {
                self.dispatch_mouse(now, &focused).await?;
            } else {
                self.focus(&focused);
                let corner = (point.0 - x, point.1 - y);
                self.perform(&frame, actions::mouse(now, corner)).await?;
            }
            rest = later;
        }
        Ok(())
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        self.select_tab().await;
        let (frame, inside) = self.input_frame_at(at).await?;
        self.perform(&frame, actions::wheel("wheel", inside, by)).await
    }

    async fn click_between_calls(
        &self,
        check: &ScriptCall,
        clicks: (u32, Duration),
        then: &ScriptCall,
    ) -> EngineResult<Option<CombinedClick<'_>>> {
        self.dispatch_checked_click(check, clicks, then).await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        self.select_tab().await;
        for part in actions::keyboard(events) {
            let frame = self.focused_frame().await?;
            self.focus(&frame);
            match part {
                KeyboardInput::Keys(actions) => self.perform(&frame, actions).await?,
                KeyboardInput::Text(text) => {
                    let insert =
                        format!("document.execCommand('insertText', false, {})", json!(text));
                    self.script(&frame, World::Isolated, &insert).await?;
                }
            }
        }
        Ok(())
    }

    async fn intercept_drags(&self, on: bool) -> EngineResult<()> {
        let call = if on {
            format!("{DRAG}; __troupeDrags.watch()")
        } else {
            "__troupeDrags?.end()".to_owned()
        };
        let frames = lock(&self.state).frames.all();
        for frame in frames {
            match self.script(&frame, World::Isolated, &call).await {
                // A detached frame has no drags.
                Ok(_) | Err(EngineError::DocumentGone) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn drag_over(&self, x: f64, y: f64, _enters: bool) -> EngineResult<()> {
        self.drag("over", x, y).await
    }

    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()> {
        self.drag("drop", x, y).await
    }

    fn cancel_drag(&self, x: f64, y: f64) {
        let (frames, held) = {
            let state = lock(&self.state);
            (state.frames.all(), state.held)
        };
        // Errors do not matter: a detached frame has no drag, and a closed page holds no button.
        for frame in &frames {
            let _ =
                self.post_script(frame, World::Isolated, "void globalThis.__troupeDrags?.cancel()");
        }
        if held & 1 != 0 {
            let button = MouseButton::Left;
            self.post_release(&[
                MouseEvent::Move { x, y, modifiers: 0 },
                MouseEvent::Up { x, y, button, clicks: 1, modifiers: 0 },
            ]);
        }
        // Releases the buttons that BiDi pressed, if any.
        for frame in &frames {
            let _ = self.bidi.post("input.releaseActions", json!({"context": frame}));
        }
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
        let node = self.node(frame, &element_expression(reference)).await?;
        let params =
            json!({"context": frame, "element": {"sharedId": node}, "files": names(files)});
        self.run("input.setFiles", params).await
    }

    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()> {
        let node = chooser.input.and_then(|number| lock(&self.state).choosers.input(number));
        let node = node.ok_or(EngineError::DocumentGone)?;
        let params =
            json!({"context": chooser.frame, "element": {"sharedId": node}, "files": names(files)});
        self.run("input.setFiles", params).await
    }

    async fn emulate_media(&self, media: &EmulatedMedia) -> EngineResult<()> {
        let call = format!("media({}, {})", json!(self.id), emulation::media(media));
        let refused = self
            .privileged
            .call("emulating media features", SYSTEM_ACCESS_HINT, &call)
            .await
            .map_err(|error| self.convert_error(error))?;
        match refused.as_str() {
            Some(name) => Err(emulation::unsupported_media(name)),
            None => Ok(()),
        }
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        self.expect_history_entry(0).await?;
        if ignore_cache {
            let instead =
                "reload without ignoreCache, or start Firefox with --remote-allow-system-access";
            return self
                .call_privileged("reloading without the cache", instead, "reloadFresh")
                .await
                .map(drop);
        }
        if let Some(sent) = self.privileged.post(&self.privileged_call("reload"))? {
            return sent
                .read::<ScriptResult>()
                .await
                .map_err(super::convert_error)?
                .value()
                .map(drop);
        }
        let params = json!({"context": self.id, "wait": "none"});
        let sent = self.bidi.post("browsingContext.reload", params)?;
        let answer = tokio::select! {
            biased;
            answer = sent.raw() => answer,
            // The command returns only after a `beforeunload` dialog is answered.
            () = self.await_open_dialog() => return Ok(()),
        };
        match answer {
            // Events report the document that it navigates to.
            Err(error) => {
                failed_navigation(error).map(drop).map_err(|error| self.convert_error(error))
            }
            Ok(_) => Ok(()),
        }
    }

    async fn traverse_history(&self, entries: i64) -> EngineResult<bool> {
        self.expect_history_entry(entries).await?;
        let before = lock(&self.state).frames.navigation_state(&self.id);
        let params = json!({"context": self.id, "delta": entries});
        match self.bidi.post("browsingContext.traverseHistory", params)?.raw().await {
            Err(ConnectionError::Refused { code, .. }) if code == "no such history entry" => {
                return Ok(false);
            }
            Err(error) => {
                drop(failed_navigation(error).map_err(|error| self.convert_error(error))?)
            }
            Ok(_) => {}
        }
        // Navigations within a document are not always reported. Firefox's error page has the URL
        // of the failed document, and exists before it is reported.
        if lock(&self.state).frames.navigation_state(&self.id) == before
            && let Ok(Value::String(url)) =
                self.evaluate(&self.id, World::Isolated, "location.href").await
        {
            self.url_changed(&self.id, url);
        }
        Ok(true)
    }

    async fn screenshot(&self, shot: ScreenshotOptions) -> EngineResult<String> {
        self.select_tab().await;
        let format = match shot.format {
            ImageFormat::Png => json!({"type": "image/png"}),
            ImageFormat::Jpeg => {
                json!({"type": "image/jpeg", "quality": f64::from(shot.quality.unwrap_or(80)) / 100.0})
            }
        };
        let whole = shot.full_page || shot.clip.is_some();
        let mut params = json!({
            "context": self.id, "origin": if whole { "document" } else { "viewport" }, "format": format,
        });
        if let Some(Area { x, y, width, height }) = shot.clip {
            params["clip"] =
                json!({"type": "box", "x": x, "y": y, "width": width, "height": height});
        }
        let captured = tokio::time::timeout(
            SCREENSHOT_TIMEOUT,
            self.bidi.call("browsingContext.captureScreenshot", params),
        );
        let captured: CaptureResult = captured
            .await
            .map_err(|_| EngineError::TimedOut(SCREENSHOT_TIMEOUT))?
            .map_err(|error| self.convert_error(error))?;
        Ok(captured.data)
    }

    async fn pdf(&self) -> EngineResult<String> {
        let params = json!({"context": self.id, "background": true});
        let printed =
            tokio::time::timeout(PRINT_TIMEOUT, self.bidi.call("browsingContext.print", params));
        let printed: CaptureResult = printed
            .await
            .map_err(|_| EngineError::TimedOut(PRINT_TIMEOUT))?
            .map_err(|error| self.convert_error(error))?;
        Ok(printed.data)
    }

    async fn response_body(
        &self,
        _frame: Option<&FrameId>,
        request: &str,
    ) -> EngineResult<Option<Vec<u8>>> {
        self.collected("response", request).await
    }

    async fn request_data(&self, request: &str) -> EngineResult<Option<Vec<u8>>> {
        self.collected("request", request).await
    }

    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()> {
        let mut params = json!({"context": self.id, "accept": accept});
        if let Some(text) = prompt_text {
            params["userText"] = text.into();
        }
        self.run("browsingContext.handleUserPrompt", params).await
    }

    async fn close(&self) -> EngineResult<()> {
        match self
            .run("browsingContext.close", json!({"context": self.id, "promptUnload": false}))
            .await
        {
            // It was already closed.
            Err(EngineError::PageGone | EngineError::DocumentGone) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_file_choosers_are_remembered() {
        let mut choosers = FileChoosers::default();
        let numbers: Vec<i64> =
            (0..1000).map(|number| choosers.opened(format!("input {number}"))).collect();
        assert_eq!(choosers.inputs.len(), MAX_CHOOSERS);
        assert_eq!(choosers.input(numbers[999]).as_deref(), Some("input 999"));
        assert_eq!(choosers.input(numbers[0]), None);
    }
}
