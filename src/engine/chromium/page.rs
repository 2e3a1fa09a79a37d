//! A page: its frames and their execution contexts, and what the [`Page`] trait asks of it.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use async_trait::async_trait;
use chromiumoxide::cdp::{
    browser_protocol::{
        browser::GetVersionParams,
        dom::{BackendNodeId, DescribeNodeParams, SetFileInputFilesParams},
        input::{DispatchDragEventType, SetInterceptDragsParams},
        inspector::EnableParams as InspectorEnable,
        network::EnableParams as NetworkEnable,
        page::{
            AddScriptToEvaluateOnNewDocumentParams, CaptureScreenshotFormat, CaptureScreenshotParams,
            CreateIsolatedWorldParams, EnableParams as PageEnable, GetNavigationHistoryParams,
            HandleJavaScriptDialogParams, NavigateParams, NavigateToHistoryEntryParams, PrintToPdfParams,
            ReloadParams, ResetNavigationHistoryParams, SetInterceptFileChooserDialogParams,
            SetLifecycleEventsEnabledParams, StopLoadingParams, Viewport,
        },
        target::{CloseTargetParams, SetAutoAttachParams},
    },
    js_protocol::runtime::{
        EnableParams as RuntimeEnable, EvaluateParams, ExecutionContextId, ReleaseObjectParams,
        RunIfWaitingForDebuggerParams, TerminateExecutionParams,
    },
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;

use super::{
    Link, RawCommand,
    browser::{only, parse},
    emulation, events, input,
    network::ContextNetwork,
    requests, workers,
};
use crate::engine::{
    Area, ContextOptions, EngineError, EngineResult, FileChooser, FrameId, ImageFormat, KeyEvent, MouseEvent,
    NavigationStart, Page, PageEvent, PageObserver, ScriptFailure, Shot, World,
    wire::{Listener, Sent},
};

/// Name of our world beside the page's own.
const WORLD: &str = "troupe";
/// A page that does not come up in this time never will.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// A drag that the browser has begun is handed over at once, or never.
const DRAG_TIMEOUT: Duration = Duration::from_secs(2);
/// A picture of a page that is not painted would never be answered.
const SHOT_TIMEOUT: Duration = Duration::from_secs(20);
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);

/// What a new page is made of.
pub(super) struct PageSetup {
    pub id: Arc<str>,
    pub link: Link,
    pub options: ContextOptions,
    pub windowed: bool,
    pub network: Arc<ContextNetwork>,
}

pub(super) struct ChromiumPage {
    id: Arc<str>,
    link: Link,
    observer: OnceLock<Arc<dyn PageObserver>>,
    frames: Mutex<Frames>,
    /// Mouse buttons that are down, as CDP's bit field.
    held: Mutex<i64>,
    /// What the last intercepted drag holds, and the news of one.
    drag: Mutex<Option<Value>>,
    drags: watch::Sender<()>,
    network: Arc<ContextNetwork>,
    /// `None` while the page is being set up.
    state: watch::Sender<Option<Result<(), EngineError>>>,
}

#[derive(Default)]
struct Frames {
    /// The CDP session of each frame that is not in the page's own process; frames of the page's own process
    /// are there with the page's session.
    sessions: HashMap<FrameId, Arc<str>>,
    /// Context ids by session, frame and world.
    contexts: HashMap<(Arc<str>, FrameId, bool), i64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
            frames: Mutex::default(),
            held: Mutex::new(0),
            drag: Mutex::new(None),
            drags: watch::Sender::new(()),
            network: setup.network,
            state: watch::Sender::new(None),
        });
        if let Some(session) = &page.link.session {
            lock(&page.frames).sessions.insert(page.id.clone(), session.clone());
        }
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: page.id.clone(), parent: None });
        let _ = page.observer.set(observer);
        let listener = Arc::new(TargetListener { page: Arc::downgrade(&page), link: page.link.clone() });
        page.link.wire.listen(page.link.session.clone(), listener);
        page.network.add_page(&page);
        page.network.join(&page.link, false);
        match initialise(&page.link, &setup.options, Some(setup.windowed)) {
            Ok(answers) => {
                let page = page.clone();
                let config = setup.options.config;
                // Ends with the last answer; each is answered or fails with the target.
                tokio::spawn(async move {
                    let mut outcome = Ok(());
                    for answer in answers {
                        if let Err(error) = answer.raw().await {
                            outcome = outcome.and(Err(emulation::refused(error, &config)));
                        }
                    }
                    page.state.send_replace(Some(outcome));
                });
            }
            Err(error) => drop(page.state.send_replace(Some(Err(error)))),
        }
        page
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
        lock(&self.frames).sessions.contains_key(frame)
    }

    pub fn emit(&self, event: PageEvent) {
        if let Some(observer) = self.observer.get() {
            observer.event(event);
        }
    }

    /// The target has been detached.
    pub fn gone(&self) {
        if let Some(session) = &self.link.session {
            self.network.leave(session);
        }
        self.emit(PageEvent::Closed);
    }

    /// The link to the process that `frame` lives in.
    fn link_of(&self, frame: &FrameId) -> EngineResult<Link> {
        let session = lock(&self.frames).sessions.get(frame).cloned();
        let session = session.ok_or(EngineError::DocumentGone)?;
        Ok(Link { wire: self.link.wire.clone(), session: Some(session) })
    }

    async fn drag(&self, kind: DispatchDragEventType, x: f64, y: f64) -> EngineResult<()> {
        let data = self.dragged().await?;
        let params = json!({"type": kind.as_ref(), "x": x, "y": y, "data": data});
        self.link.run(RawCommand { method: "Input.dispatchDragEvent", params }).await
    }

    /// What the intercepted drag holds, once the browser has handed it over.
    async fn dragged(&self) -> EngineResult<Value> {
        let mut drags = self.drags.subscribe();
        let handed = tokio::time::timeout(DRAG_TIMEOUT, async {
            loop {
                if let Some(data) = lock(&self.drag).clone() {
                    return data;
                }
                // The sender lives as long as the page.
                let _ = drags.changed().await;
            }
        });
        handed.await.map_err(|_| EngineError::TimedOut(DRAG_TIMEOUT))
    }

    /// A handle on what `expression` gives in our world, to be released.
    async fn object(&self, frame: &FrameId, expression: &str) -> EngineResult<(Link, String)> {
        let link = self.link_of(frame)?;
        let mut params = EvaluateParams::new(expression);
        params.context_id =
            self.context_of(&link, frame, World::Isolated).await?.map(ExecutionContextId::new);
        let answer: Evaluated = link.execute(params).await?;
        match (answer.exception_details, answer.result.object_id) {
            (Some(details), _) => Err(EngineError::Script(details.into())),
            (None, Some(object)) => Ok((link, object)),
            (None, None) => Err(EngineError::Refused(format!("`{expression}` is no object"))),
        }
    }

    async fn context_of(&self, link: &Link, frame: &FrameId, world: World) -> EngineResult<Option<i64>> {
        let session = link.session.clone().unwrap_or_default();
        let isolated = world == World::Isolated;
        let known = lock(&self.frames).contexts.get(&(session, frame.clone(), isolated)).copied();
        match (known, world) {
            (Some(id), _) => Ok(Some(id)),
            // The default context of a session is its topmost frame's.
            (None, World::Main) => Ok(None),
            (None, World::Isolated) => {
                let mut create = CreateIsolatedWorldParams::new(frame.to_string());
                create.world_name = Some(WORLD.to_owned());
                let created: CreatedWorld = link.execute(create).await?;
                Ok(Some(created.execution_context_id))
            }
        }
    }
}

/// Writes what every page and out-of-process frame is set up with. `windowed` is told for pages only.
fn initialise(link: &Link, options: &ContextOptions, windowed: Option<bool>) -> EngineResult<Vec<Sent>> {
    let mut batch = link.batch();
    batch.add(PageEnable::default())?;
    batch.add(SetLifecycleEventsEnabledParams::new(true))?;
    let mut world = AddScriptToEvaluateOnNewDocumentParams::new("");
    world.world_name = Some(WORLD.to_owned());
    batch.add(world)?;
    batch.add(RuntimeEnable::default())?;
    batch.add(NetworkEnable::default())?;
    let mut attach = SetAutoAttachParams::new(true, true);
    attach.flatten = Some(true);
    attach.filter = Some(only(&["iframe", "worker"]));
    batch.add(attach)?;
    if let Some(windowed) = windowed {
        batch.add(InspectorEnable::default())?;
        // No chooser is shown to anybody: the page's wish for files is told instead.
        batch.add(SetInterceptFileChooserDialogParams::new(true))?;
        emulation::apply(&mut batch, options, windowed)?;
    }
    batch.add(RunIfWaitingForDebuggerParams {})?;
    batch.send()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedWorld {
    execution_context_id: i64,
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
struct Evaluated {
    result: RemoteObject,
    exception_details: Option<ExceptionDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteObject {
    #[serde(default)]
    value: Value,
    unserializable_value: Option<String>,
    description: Option<String>,
    class_name: Option<String>,
    object_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExceptionDetails {
    text: String,
    line_number: u64,
    column_number: u64,
    exception: Option<RemoteObject>,
}

impl From<ExceptionDetails> for ScriptFailure {
    fn from(details: ExceptionDetails) -> Self {
        let class = details.exception.as_ref().and_then(|thrown| thrown.class_name.clone());
        let message = match details.exception {
            // The first line of an error's description is its name and message, the rest its stack.
            Some(RemoteObject { description: Some(text), .. }) => {
                let end = text.find("\n    at ").unwrap_or(text.len());
                text[..end].to_owned()
            }
            Some(RemoteObject { value: Value::String(text), .. }) => text,
            Some(RemoteObject { value, .. }) if !value.is_null() => value.to_string(),
            _ => details.text,
        };
        Self { message, line: details.line_number + 1, column: details.column_number + 1, class }
    }
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
    title: String,
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

#[derive(Deserialize)]
struct Described {
    node: Node,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    frame_id: Option<String>,
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

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        let answer: Navigated = self.link.execute(NavigateParams::new(url)).await?;
        Ok(match answer {
            Navigated { is_download: true, .. } => NavigationStart::Download,
            Navigated { error_text: Some(reason), .. } if !reason.is_empty() => {
                NavigationStart::Failed { reason }
            }
            Navigated { loader_id: Some(document), .. } => NavigationStart::Document(document.into()),
            Navigated { .. } => NavigationStart::SameDocument,
        })
    }

    async fn evaluate(&self, frame: &FrameId, world: World, expression: &str) -> EngineResult<Value> {
        let link = self.link_of(frame)?;
        let mut params = EvaluateParams::new(expression);
        params.context_id = self.context_of(&link, frame, world).await?.map(ExecutionContextId::new);
        params.return_by_value = Some(true);
        params.await_promise = Some(true);
        params.user_gesture = Some(world == World::Main);
        let answer: Evaluated = link.execute(params).await?;
        if let Some(details) = answer.exception_details {
            return Err(EngineError::Script(details.into()));
        }
        Ok(match answer.result.unserializable_value {
            // NaN, Infinity, -0 and BigInts have no JSON; their source text is the best that can be told.
            Some(text) => Value::String(text),
            None => answer.result.value,
        })
    }

    async fn content_frame(&self, frame: &FrameId, expression: &str) -> EngineResult<Option<FrameId>> {
        let (link, object) = self.object(frame, expression).await?;
        let node: Described = link
            .execute(DescribeNodeParams {
                object_id: Some(object.clone().into()),
                ..DescribeNodeParams::default()
            })
            .await?;
        drop(link.post(ReleaseObjectParams::new(object))?);
        Ok(node.node.frame_id.map(Into::into))
    }

    async fn title(&self) -> EngineResult<String> {
        let history: History = self.link.execute(GetNavigationHistoryParams {}).await?;
        let current = usize::try_from(history.current_index).ok();
        let entry = current.and_then(|index| history.entries.into_iter().nth(index));
        Ok(entry.map(|entry| entry.title).unwrap_or_default())
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
        let batch = {
            let mut batch = self.link.batch();
            input::mouse(&mut batch, events, &mut lock(&self.held))?;
            batch
        };
        batch.run().await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        let mut batch = self.link.batch();
        input::keyboard(&mut batch, events)?;
        batch.run().await
    }

    async fn intercept_drags(&self, on: bool) -> EngineResult<()> {
        *lock(&self.drag) = None;
        self.link.run(SetInterceptDragsParams::new(on)).await
    }

    async fn drag_over(&self, x: f64, y: f64, enters: bool) -> EngineResult<()> {
        if enters {
            self.drag(DispatchDragEventType::DragEnter, x, y).await?;
        }
        self.drag(DispatchDragEventType::DragOver, x, y).await
    }

    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()> {
        self.drag(DispatchDragEventType::Drop, x, y).await
    }

    async fn set_files(&self, frame: &FrameId, expression: &str, files: &[PathBuf]) -> EngineResult<()> {
        let (link, object) = self.object(frame, expression).await?;
        let mut params = SetFileInputFilesParams::new(names(files));
        params.object_id = Some(object.clone().into());
        let outcome = link.run(params).await;
        drop(link.post(ReleaseObjectParams::new(object))?);
        outcome
    }

    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()> {
        let mut params = SetFileInputFilesParams::new(names(files));
        params.backend_node_id = Some(BackendNodeId::new(chooser.input));
        self.link_of(&chooser.frame)?.run(params).await
    }

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        self.link.run(ReloadParams { ignore_cache: Some(ignore_cache), ..ReloadParams::default() }).await
    }

    async fn travel(&self, entries: i64) -> EngineResult<bool> {
        let history: History = self.link.execute(GetNavigationHistoryParams {}).await?;
        let index = usize::try_from(history.current_index + entries).ok();
        let Some(entry) = index.and_then(|index| history.entries.into_iter().nth(index)) else {
            return Ok(false);
        };
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
            clip: shot.clip.map(|Area { x, y, width, height }| Viewport { x, y, width, height, scale: 1.0 }),
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
        let printed = tokio::time::timeout(PRINT_TIMEOUT, self.link.execute::<Captured>(params)).await;
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

/// Listens to one CDP session: the page's, or that of a frame in another process.
struct TargetListener {
    page: Weak<ChromiumPage>,
    link: Link,
}

#[derive(Deserialize)]
struct Intercepted {
    data: Value,
}

#[derive(Deserialize)]
struct ContextCreated {
    context: ContextDescription,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextDescription {
    id: i64,
    name: String,
    aux_data: Option<AuxData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuxData {
    is_default: bool,
    frame_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextDestroyed {
    execution_context_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AttachedFrame {
    session_id: String,
    target_info: FrameTarget,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameTarget {
    target_id: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DetachedFrame {
    session_id: String,
}

impl Listener for TargetListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(page) = self.page.upgrade() else { return };
        let session = self.link.session.clone().unwrap_or_default();
        match method {
            "Input.dragIntercepted" => {
                if let Some(Intercepted { data }) = parse(method, params) {
                    *lock(&page.drag) = Some(data);
                    page.drags.send_replace(());
                }
            }
            "Runtime.executionContextCreated" => {
                if let Some(ContextCreated { context }) = parse(method, params)
                    && let Some(AuxData { is_default, frame_id: Some(frame) }) = context.aux_data
                    && (is_default || context.name == WORLD)
                {
                    lock(&page.frames).contexts.insert((session, frame.into(), !is_default), context.id);
                }
            }
            "Runtime.executionContextDestroyed" => {
                if let Some(ContextDestroyed { execution_context_id }) = parse(method, params) {
                    lock(&page.frames)
                        .contexts
                        .retain(|(of, _, _), id| *of != session || *id != execution_context_id);
                }
            }
            "Runtime.executionContextsCleared" => {
                lock(&page.frames).contexts.retain(|(of, _, _), _| *of != session);
            }
            "Target.attachedToTarget" => {
                if let Some(event) = parse::<AttachedFrame>(method, params) {
                    let session: Arc<str> = event.session_id.into();
                    match workers::kind(&event.target_info.kind) {
                        Some(kind) => {
                            let link = Link { wire: self.link.wire.clone(), session: Some(session) };
                            workers::attach(link, kind, Some(self.page.clone()), &page.network);
                        }
                        None => self.frame_process(&page, event.target_info.target_id.into(), session),
                    }
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(DetachedFrame { session_id }) = parse(method, params) {
                    let gone: Arc<str> = session_id.into();
                    self.link.wire.forget(&gone);
                    page.network.leave(&gone);
                    let mut frames = lock(&page.frames);
                    frames.contexts.retain(|(of, _, _), _| *of != gone);
                    frames.sessions.retain(|_, of| *of != gone);
                }
            }
            "Fetch.requestPaused" => {
                page.network.paused(&self.link, params, |event| page.emit(PageEvent::Request(event)));
            }
            _ => {
                if let Some(event) = requests::translate(method, params, None) {
                    page.network.note(&event);
                    page.emit(PageEvent::Request(event));
                }
                for event in events::translate(method, params) {
                    match &event {
                        // The first session to tell of a frame is its own, unless it has one already.
                        PageEvent::FrameAttached { frame, .. } => {
                            lock(&page.frames)
                                .sessions
                                .entry(frame.clone())
                                .or_insert_with(|| session.clone());
                        }
                        PageEvent::Committed { frame, .. } => {
                            lock(&page.frames).sessions.insert(frame.clone(), session.clone());
                        }
                        PageEvent::FrameDetached { frame } => {
                            lock(&page.frames).sessions.remove(frame);
                        }
                        _ => {}
                    }
                    page.emit(event);
                }
            }
        }
    }
}

impl TargetListener {
    /// `frame` moves to a process of its own.
    fn frame_process(&self, page: &Arc<ChromiumPage>, frame: FrameId, session: Arc<str>) {
        lock(&page.frames).sessions.insert(frame, session.clone());
        let link = Link { wire: self.link.wire.clone(), session: Some(session.clone()) };
        let listener = TargetListener { page: self.page.clone(), link: link.clone() };
        link.wire.listen(Some(session), Arc::new(listener));
        page.network.join(&link, false);
        // Its answers matter to nobody: a frame that cannot be set up is one that cannot be read.
        drop(initialise(&link, &ContextOptions::default(), None));
    }
}
