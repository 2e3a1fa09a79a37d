//! Implements the [`Page`] trait over BiDi. `script` evaluates and reads closed shadow roots, `pointing` dispatches
//! input to the right frame.

mod pointing;
mod script;

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::sync::watch;

use pointing::{DRAG, Presses};
pub(super) use script::WORLD;

use super::{
    Bidi, CAPABILITIES,
    events::{Came, Frames, Happening, NAVIGATION_STARTED},
    network::ContextNetwork,
    reasons,
    requests::Step,
    system::{AskedFor, LET_US_IN, System},
    tabs::Tabs,
    value::Outcome,
};
use crate::engine::{
    Area, Capabilities, EngineError, EngineResult, FileChooser, FrameId, ImageFormat, KeyEvent,
    MouseButton, MouseEvent, NavigationStart, Page, PageEvent, PageObserver, Pressing,
    ResourceKind, ScriptCall, Shot, World,
    actions::{self, Typed},
    connection::WireError,
    element_expression,
    network::ResourceType,
    network_policy::{ClientNavigation, InterceptedRequest, RequestInitiator, RequestTarget},
};

/// A picture of a page that is not painted would never be answered.
const SHOT_TIMEOUT: Duration = Duration::from_secs(20);
const PRINT_TIMEOUT: Duration = Duration::from_secs(60);
/// A dialog that opens is drawn within this time.
const DIALOG_TIMEOUT: Duration = Duration::from_secs(2);

/// The parameters of a new page.
pub(super) struct PageSetup {
    pub id: Arc<str>,
    pub user_context: Arc<str>,
    pub bidi: Bidi,
    pub system: System,
    pub network: Arc<ContextNetwork>,
    pub tabs: Arc<Tabs>,
}

pub(super) struct FirefoxPage {
    id: Arc<str>,
    pub user_context: Arc<str>,
    bidi: Bidi,
    system: System,
    observer: OnceLock<Arc<dyn PageObserver>>,
    network: Arc<ContextNetwork>,
    tabs: Arc<Tabs>,
    state: Mutex<State>,
    /// Whether a dialog is about to be reported.
    dialog: watch::Sender<bool>,
    presses: Mutex<Presses>,
    /// The pages that may have opened it, until it is known where it goes.
    openers: Mutex<Vec<Arc<Self>>>,
}

#[derive(Default)]
struct State {
    frames: Frames,
    choosers: Choosers,
    /// Statuses of redirects by request, until the request that follows.
    redirects: HashMap<Arc<str>, u16>,
    closed: bool,
    navigation: ClientNavigation,
    /// Since it last began to go somewhere.
    crashed: bool,
    /// The buttons of the pointer that are held down.
    held: u8,
}

/// Maximum number of file choosers of a page whose inputs are kept.
const MOST_CHOOSERS: usize = 16;

/// The inputs whose file choosers opened last, each with a number that is never reused.
#[derive(Default)]
struct Choosers {
    last: i64,
    inputs: VecDeque<(i64, String)>,
}

impl Choosers {
    /// Keeps the shared id of an input; its number.
    fn opened(&mut self, input: String) -> i64 {
        self.last += 1;
        if self.inputs.len() == MOST_CHOOSERS {
            self.inputs.pop_front();
        }
        self.inputs.push_back((self.last, input));
        self.last
    }

    /// The shared id of the input with this number.
    fn input(&self, number: i64) -> Option<String> {
        self.inputs.iter().find(|(known, _)| *known == number).map(|(_, input)| input.clone())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

#[derive(Deserialize)]
struct Navigated {
    navigation: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Captured {
    data: String,
}

#[derive(Deserialize)]
struct ChooserOpened {
    context: FrameId,
    element: Option<Node>,
    #[serde(default)]
    multiple: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Node {
    shared_id: Option<String>,
}

impl FirefoxPage {
    /// A page that has just opened; `introduce` gets it before anything happens in it.
    pub fn attach(
        setup: PageSetup,
        introduce: impl FnOnce(Arc<dyn Page>) -> Arc<dyn PageObserver>,
    ) -> Arc<Self> {
        let PageSetup { id, user_context, bidi, system, network, tabs } = setup;
        let page = Arc::new(Self {
            id: id.clone(),
            user_context,
            bidi,
            system,
            observer: OnceLock::new(),
            network,
            tabs,
            state: Mutex::default(),
            dialog: watch::Sender::new(false),
            presses: Mutex::default(),
            openers: Mutex::default(),
        });
        lock(&page.state).frames.attach(&id, None);
        page.network.add_page(&page);
        let observer = introduce(page.clone());
        observer.event(PageEvent::FrameAttached { frame: id, parent: None });
        let _ = page.observer.set(observer);
        page
    }

    pub fn emit(&self, event: PageEvent) {
        if let Some(observer) = self.observer.get() {
            observer.event(event);
        }
    }

    pub fn frame_attached(&self, frame: FrameId, parent: FrameId) {
        lock(&self.state).frames.attach(&frame, Some(parent.clone()));
        self.emit(PageEvent::FrameAttached { frame, parent: Some(parent) });
    }

    pub fn frame_detached(&self, frame: FrameId) {
        lock(&self.state).frames.detach(&frame);
        self.emit(PageEvent::FrameDetached { frame });
    }

    /// It has closed.
    pub fn gone(&self) {
        lock(&self.state).closed = true;
        self.emit(PageEvent::Closed);
    }

    /// Its process has died.
    pub fn crashed(&self) {
        lock(&self.state).crashed = true;
        self.emit(PageEvent::Crashed);
    }

    /// It is a window that one of `pages` has asked for.
    pub fn opened_by(&self, pages: Vec<Arc<Self>>) {
        *lock(&self.openers) = pages;
    }

    /// It is known where the window leads that it is.
    pub fn leads_to(&self, url: &str) {
        for opener in lock(&self.openers).clone() {
            opener.emit(PageEvent::WindowOpening {
                window: Some(self.id.clone()),
                url: url.to_owned(),
            });
        }
    }

    /// Something has happened in it.
    pub fn happened(&self, method: &str, happening: Happening) {
        if method == NAVIGATION_STARTED && happening.context == self.id {
            self.leads_to(&happening.url);
            if !std::mem::take(&mut *lock(&self.openers)).is_empty() {
                self.tabs.all_known();
            }
        }
        let events = {
            let mut state = lock(&self.state);
            if let Some(document) =
                happening.navigation.as_ref().filter(|_| happening.context == self.id)
            {
                match method {
                    NAVIGATION_STARTED => state.navigation.start(document.clone()),
                    "browsingContext.navigationCommitted" => state.navigation.commit(document),
                    _ => {}
                }
            }
            state.crashed &= method != NAVIGATION_STARTED || happening.context != self.id;
            if state.crashed {
                // An empty document replaces the crashed one.
                return;
            }
            state.frames.apply(method, happening)
        };
        for event in events {
            let drawn = matches!(event, PageEvent::DialogOpened(_));
            self.emit(event);
            if drawn {
                self.dialog.send_replace(false);
            }
        }
    }

    /// A dialog is being drawn.
    pub fn dialog_opens(&self) {
        self.dialog.send_replace(true);
    }

    /// Waits until an opening dialog was reported, because the command that opened it is answered earlier.
    async fn dialog_drawn(&self) {
        let mut drawn = self.dialog.subscribe();
        let _ = tokio::time::timeout(DIALOG_TIMEOUT, drawn.wait_for(|opens| !opens)).await;
    }

    /// A document sends a request. BiDi reports it later, and reports its end before the document gets the response.
    pub fn asks(&self, frame: &Arc<str>, channel: u64, kind: AskedFor) {
        let document = lock(&self.state).frames.document(frame);
        self.emit(PageEvent::RequestStarted {
            id: asked_for(channel),
            frame: Some(frame.clone()),
            document,
            kind: match kind {
                AskedFor::Script => ResourceKind::Script,
                AskedFor::Fetch => ResourceKind::Fetch,
            },
        });
    }

    /// The answer is there, and with the document in a moment.
    pub fn answered(&self, channel: u64) {
        self.emit(PageEvent::AnswerBegun { id: asked_for(channel), length: Some(0) });
    }

    /// The document has all of the answer.
    pub fn asked(&self, channel: u64) {
        self.emit(PageEvent::RequestEnded { id: asked_for(channel) });
    }

    /// A step in the life of one of its requests.
    pub fn requested(&self, method: &str, step: &Step) {
        let (document, redirected, aborted) = {
            let mut state = lock(&self.state);
            let document = step.context.as_ref().and_then(|frame| state.frames.document(frame));
            let id = &step.request.request;
            let redirected = match step.redirect(method) {
                Some(status) => {
                    state.redirects.insert(id.clone(), status);
                    None
                }
                None => state.redirects.remove(id),
            };
            let aborted = match (&step.context, &step.navigation) {
                (Some(frame), Some(navigation)) if step.is_aborted() => {
                    state.frames.given_up(frame, navigation)
                }
                _ => None,
            };
            (document, redirected, aborted)
        };
        if let Some(event) = step.waited_for(method, document) {
            self.emit(event);
        }
        if let Some(event) = step.logged(method, redirected) {
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

    /// Where its documents come from.
    pub fn places(&self) -> Vec<String> {
        lock(&self.state).frames.places()
    }

    /// The initiator of an intercepted request of the frames.
    fn initiator(&self, step: &Step) -> RequestInitiator {
        let state = lock(&self.state);
        let frame = step.context.as_ref();
        let target = match step.request.kind() {
            ResourceType::Document if frame == Some(&self.id) => RequestTarget::MainFrame,
            ResourceType::Document => RequestTarget::Subframe,
            _ => RequestTarget::Other,
        };
        let stopped = InterceptedRequest {
            url: &step.request.url,
            target,
            referrer: step.request.header("referer"),
        };
        let place = frame.and_then(|frame| state.frames.place_of(frame));
        RequestInitiator::of(&stopped, state.navigation.target(), place)
    }

    /// The page wishes for files.
    pub fn chooser_opened(&self, params: &RawValue) {
        let Some(opened) = super::events::parse::<ChooserOpened>("input.fileDialogOpened", params)
        else {
            return;
        };
        let Some(node) = opened.element.and_then(|node| node.shared_id) else { return };
        let input = lock(&self.state).choosers.opened(node);
        let ChooserOpened { context: frame, multiple, .. } = opened;
        self.emit(PageEvent::FileChooserOpened(FileChooser {
            frame,
            input: Some(input),
            multiple,
        }));
    }

    /// A frame tells where it is after it has moved within its document.
    pub fn moved(&self, frame: &FrameId, url: String) {
        let event = lock(&self.state).frames.moved(frame, url);
        if let Some(event) = event {
            self.emit(event);
        }
    }

    /// Converts an error: if the frame is gone, the page may be gone, too.
    fn meaning(&self, error: EngineError) -> EngineError {
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

    /// Converts an error of a script: a crash is reported shortly after the failed script.
    async fn end_of(&self, error: EngineError) -> EngineError {
        if matches!(error, EngineError::DocumentGone) {
            let _ = self.system.ask("catching up", LET_US_IN, "caughtUp()").await;
        }
        self.meaning(error)
    }

    async fn run(&self, method: &'static str, params: Value) -> EngineResult<()> {
        match self.bidi.run(method, params).await {
            Err(error) => Err(self.end_of(error).await),
            Ok(()) => Ok(()),
        }
    }

    /// Asks the browser's own window: `name` of its script.
    async fn ask(
        &self,
        what: &'static str,
        instead: &'static str,
        name: &str,
    ) -> EngineResult<Value> {
        let answer = self.system.ask(what, instead, &self.system_call(name)).await;
        answer.map_err(|error| self.meaning(error))
    }

    /// Expects a navigation of the client to the entry of the history that is `steps` from the current one. A browser that
    /// does not let us in was not started by us, and its pages may go anywhere.
    async fn expect_history_entry(&self, steps: i64) -> EngineResult<()> {
        let call = format!("historyEntry({}, {steps})", json!(self.id));
        let Some(sent) = self.system.tell(&call)? else { return Ok(()) };
        if let Value::String(url) = sent.read::<Outcome>().await.map_err(super::meaning)?.value()? {
            lock(&self.state).navigation.request(&url);
        }
        Ok(())
    }

    fn system_call(&self, name: &str) -> String {
        format!("{name}({})", json!(self.id))
    }
}

/// The id of a document's request, in addition to BiDi's.
fn asked_for(channel: u64) -> Arc<str> {
    format!("asked for {channel}").into()
}

fn names(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|file| file.display().to_string()).collect()
}

/// The reason in a refused navigation, if it is one.
fn failed(error: WireError) -> EngineResult<NavigationStart> {
    match &error {
        WireError::Refused { message, .. } => match reasons::named_in(message) {
            Some(name) => Ok(NavigationStart::Failed { reason: reasons::known(name) }),
            None => Err(super::meaning(error)),
        },
        _ => Err(super::meaning(error)),
    }
}

#[async_trait]
impl Page for FirefoxPage {
    fn id(&self) -> &str {
        &self.id
    }

    fn main_frame(&self) -> FrameId {
        self.id.clone()
    }

    async fn intercept_requests(&self) {
        self.network.intercept_requests().await;
    }

    fn capabilities(&self) -> Capabilities {
        // A combined click is a script of the privileged session.
        Capabilities { combined_clicks: self.system.is_open(), ..CAPABILITIES }
    }

    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart> {
        lock(&self.state).navigation.request(url);
        let params = json!({"context": self.id, "url": url, "wait": "none"});
        let navigated: Navigated =
            match self.bidi.post("browsingContext.navigate", params)?.read().await {
                Ok(navigated) => navigated,
                Err(error) => return failed(error).map_err(|error| self.meaning(error)),
            };
        let Some(navigation) = navigated.navigation else {
            return Ok(NavigationStart::SameDocument);
        };
        Ok(match lock(&self.state).frames.came_to(&self.id, &navigation) {
            Came::Download => NavigationStart::Download,
            Came::Within => NavigationStart::SameDocument,
            Came::Document => NavigationStart::Document(navigation),
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

    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>> {
        let look = format!("{}?.contentWindow ?? null", element_expression(reference));
        let remote = self.script(frame, World::Isolated, &look).await?;
        Ok(remote.window().map(Into::into))
    }

    async fn hand_over_roots(
        &self,
        frame: &FrameId,
        hosts: &str,
        take: &str,
    ) -> EngineResult<bool> {
        self.look_into_roots(frame, hosts, take).await
    }

    async fn title(&self) -> EngineResult<String> {
        let told = self
            .ask("telling the title", "start Firefox with --remote-allow-system-access", "title")
            .await?;
        Ok(told.as_str().unwrap_or_default().to_owned())
    }

    async fn forget_history(&self) -> EngineResult<()> {
        self.ask("forgetting the history", LET_US_IN, "forgetHistory").await.map(drop)
    }

    fn stop_loading(&self) {
        let _ = self.system.tell(&self.system_call("stop"));
    }

    fn stop_script(&self) {
        let _ = self.system.tell(&self.system_call("stopScript"));
    }

    async fn catch_up(&self) {
        let _ = self.run("browsingContext.getTree", json!({"root": self.id, "maxDepth": 0})).await;
    }

    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        let focused = self.focused_frame().await?;
        let mut rest = events;
        while let Some(first) = rest.first() {
            let place = actions::place(first);
            let (frame, (x, y)) = self.input_frame_at(place).await?;
            let here = if frame == self.id && !lock(&self.state).frames.are_several() {
                rest.len()
            } else {
                // Events at the same point are for the same frame.
                rest.iter().take_while(|event| actions::place(event) == place).count()
            };
            let (now, later) = rest.split_at(here);
            if frame == self.id {
                self.point(now, &focused).await?;
            } else {
                self.focus(&focused);
                let corner = (place.0 - x, place.1 - y);
                self.perform(&frame, actions::mouse(now, corner)).await?;
            }
            rest = later;
        }
        Ok(())
    }

    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()> {
        let (frame, inside) = self.input_frame_at(at).await?;
        self.perform(&frame, actions::wheel("wheel", inside, by)).await
    }

    async fn press_between(
        &self,
        look: &ScriptCall,
        clicks: (u32, Duration),
        then: &ScriptCall,
    ) -> EngineResult<Option<Pressing<'_>>> {
        self.press_there(look, clicks, then).await
    }

    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()> {
        for part in actions::keyboard(events) {
            let frame = self.focused_frame().await?;
            self.focus(&frame);
            match part {
                Typed::Keys(actions) => self.perform(&frame, actions).await?,
                Typed::Text(text) => {
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
                // A frame that goes away meanwhile has no drags.
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

    fn give_up_drag(&self, x: f64, y: f64) {
        let (frames, held) = {
            let state = lock(&self.state);
            (state.frames.all(), state.held)
        };
        // A frame that is gone has no drag, and a page that is gone holds no button.
        for frame in &frames {
            let _ =
                self.post_script(frame, World::Isolated, "void globalThis.__troupeDrags?.cancel()");
        }
        if held & 1 != 0 {
            let button = MouseButton::Left;
            self.release_at_once(&[
                MouseEvent::Move { x, y, modifiers: 0 },
                MouseEvent::Up { x, y, button, clicks: 1, modifiers: 0 },
            ]);
        }
        // Buttons that BiDi holds: it knows whether it does.
        for frame in &frames {
            let _ = self.bidi.post("input.releaseActions", json!({"context": frame}));
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

    async fn reload(&self, ignore_cache: bool) -> EngineResult<()> {
        self.expect_history_entry(0).await?;
        if ignore_cache {
            let instead =
                "reload without ignoreCache, or start Firefox with --remote-allow-system-access";
            return self.ask("reloading past the cache", instead, "reloadFresh").await.map(drop);
        }
        if let Some(sent) = self.system.tell(&self.system_call("reload"))? {
            return sent.read::<Outcome>().await.map_err(super::meaning)?.value().map(drop);
        }
        let params = json!({"context": self.id, "wait": "none"});
        match self.bidi.post("browsingContext.reload", params)?.raw().await {
            // Events report the document that it navigates to.
            Err(error) => failed(error).map(drop).map_err(|error| self.meaning(error)),
            Ok(_) => Ok(()),
        }
    }

    async fn travel(&self, entries: i64) -> EngineResult<bool> {
        self.expect_history_entry(entries).await?;
        let before = lock(&self.state).frames.standing(&self.id);
        let params = json!({"context": self.id, "delta": entries});
        match self.bidi.post("browsingContext.traverseHistory", params)?.raw().await {
            Err(WireError::Refused { code, .. }) if code == "no such history entry" => {
                return Ok(false);
            }
            Err(error) => drop(failed(error).map_err(|error| self.meaning(error))?),
            Ok(_) => {}
        }
        // Navigations within a document are not always reported. Firefox's error page has the URL of the failed
        // document, and exists before it is reported.
        if lock(&self.state).frames.standing(&self.id) == before
            && let Ok(Value::String(url)) =
                self.evaluate(&self.id, World::Isolated, "location.href").await
        {
            self.moved(&self.id, url);
        }
        Ok(true)
    }

    async fn screenshot(&self, shot: Shot) -> EngineResult<String> {
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
            SHOT_TIMEOUT,
            self.bidi.call("browsingContext.captureScreenshot", params),
        );
        let captured: Captured = captured
            .await
            .map_err(|_| EngineError::TimedOut(SHOT_TIMEOUT))?
            .map_err(|error| self.meaning(error))?;
        Ok(captured.data)
    }

    async fn pdf(&self) -> EngineResult<String> {
        let params = json!({"context": self.id, "background": true});
        let printed =
            tokio::time::timeout(PRINT_TIMEOUT, self.bidi.call("browsingContext.print", params));
        let printed: Captured = printed
            .await
            .map_err(|_| EngineError::TimedOut(PRINT_TIMEOUT))?
            .map_err(|error| self.meaning(error))?;
        Ok(printed.data)
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
            // It was gone already.
            Err(EngineError::PageGone | EngineError::DocumentGone) | Ok(()) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_inputs_of_the_last_file_choosers_are_kept() {
        let mut choosers = Choosers::default();
        let numbers: Vec<i64> =
            (0..1000).map(|number| choosers.opened(format!("input {number}"))).collect();
        assert_eq!(choosers.inputs.len(), MOST_CHOOSERS);
        assert_eq!(choosers.input(numbers[999]).as_deref(), Some("input 999"));
        assert_eq!(choosers.input(numbers[0]), None);
    }
}
