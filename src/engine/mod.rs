//! Browsers behind traits. Only the modules below use the protocol of a specific browser.
//!
//! An engine implements primitives: contexts, navigation, trusted input, evaluation, pictures, dialogs, cookies.
//! The page layer implements targets, waits and snapshots on top of them, the same for every browser. The engine
//! reports [`PageEvent`]s in the order in which they happened, and before the answer to any later call. Uses
//! `error` and `config` only.

mod actions;
mod arrivals;
pub mod chromium;
pub mod connection;
mod console;
pub mod firefox;
pub mod install;
#[cfg(windows)]
pub mod job;
#[cfg(feature = "testing")]
pub mod memory;
pub mod network;
pub mod network_policy;
mod process;
#[cfg(unix)]
mod process_watchdog;
mod proxy;
pub mod url_pattern;
#[cfg(target_os = "linux")]
pub mod webkit;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

pub use self::console::{ConsoleLevel, ConsoleMessage};
use self::{
    network::{Cookie, NetworkRules, RequestEvent},
    network_policy::NetworkPolicy,
};
use crate::{
    config::{BrowserKind, Config, ContextConfig, Viewport},
    error::{ErrorCode, TroupeError},
};

/// What went wrong below; the layer that knows the target and the session words the message.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    #[error("the browser is gone")]
    BrowserGone,
    #[error("the page is gone")]
    PageGone,
    #[error("the page has crashed")]
    PageCrashed,
    /// The document that a script ran in went away (a navigation).
    #[error("the document is gone")]
    DocumentGone,
    #[error("the browser could not be started: {reason}")]
    Launch { reason: String, suggestion: Option<String> },
    #[error("{0}")]
    Script(ScriptFailure),
    #[error("{0}")]
    Refused(String),
    /// A setting of the context that the browser does not know.
    #[error("the browser does not know the {name} `{value}`")]
    UnknownSetting { name: &'static str, value: String },
    #[error("{what} cannot be done in this browser")]
    Unsupported { what: &'static str, instead: &'static str },
    #[error("no answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
}

/// A script that threw.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ScriptFailure {
    pub message: String,
    /// From 1, in the script as it was given.
    pub line: u64,
    pub column: u64,
    /// The class of the exception (`TypeError`), if it was an object.
    pub class: Option<String>,
}

pub type EngineResult<T> = Result<T, EngineError>;

/// A frame of a page, by the browser's own id.
pub type FrameId = Arc<str>;
/// A document in a frame, by the browser's own id: a new one for each navigation but those within a document.
pub type DocumentId = Arc<str>;

/// Where a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The page's own globals.
    Main,
    /// The same document, with separate globals that the page cannot access.
    Isolated,
}

/// The resource type of a request, as in CDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    Document,
    Script,
    Fetch,
    Other,
}

/// A JavaScript dialog that holds up its page.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(rename = "type")]
    pub kind: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_value: Option<String>,
}

/// A download that a page began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadStart {
    pub id: Arc<str>,
    pub url: String,
    pub suggested_filename: String,
}

/// A file chooser that a page opened; the browser shows none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChooser {
    pub frame: FrameId,
    /// The engine's own id of the file input. `None`: a script called the File System Access API
    /// (`showOpenFilePicker()`), whose choosers the browser cancels: no files can be given to them.
    pub input: Option<i64>,
    pub multiple: bool,
}

/// What happens in a page, in order.
#[derive(Debug, Clone)]
pub enum PageEvent {
    FrameAttached {
        frame: FrameId,
        parent: Option<FrameId>,
    },
    FrameDetached {
        frame: FrameId,
    },
    /// A navigation to another document was asked for or has begun; no document yet.
    NavigationRequested {
        frame: FrameId,
        /// The document that it leads to, if it has begun and the browser reports that.
        document: Option<DocumentId>,
    },
    /// One will begin in the next turn of the page's event loop (a form that is sent).
    NavigationScheduled {
        frame: FrameId,
    },
    NavigationUnscheduled {
        frame: FrameId,
    },
    /// The page opens a window with this URL. If the URL is known only later, the event is sent again for the same
    /// `window`.
    WindowOpening {
        window: Option<Arc<str>>,
        url: String,
    },
    /// The frame has finished or stopped loading.
    LoadingStopped {
        frame: FrameId,
    },
    Committed {
        frame: FrameId,
        document: DocumentId,
        url: String,
    },
    NavigatedWithinDocument {
        frame: FrameId,
        url: String,
    },
    DomContentLoaded {
        frame: FrameId,
        document: DocumentId,
    },
    Loaded {
        frame: FrameId,
        document: DocumentId,
    },
    RequestStarted {
        id: Arc<str>,
        frame: Option<FrameId>,
        document: Option<DocumentId>,
        kind: ResourceKind,
    },
    /// The status of a document's (last) response.
    DocumentResponse {
        document: DocumentId,
        status: u16,
    },
    /// The head of a fetch's answer is there; `length` is how long its body says it is, as it is sent.
    AnswerBegun {
        id: Arc<str>,
        length: Option<u64>,
    },
    /// So many bytes more of a request's answer, as they were sent.
    AnswerReceived {
        id: Arc<str>,
        bytes: u64,
    },
    /// The end of a response. For a fetch whose response nobody reads, it may never be reported.
    RequestEnded {
        id: Arc<str>,
    },
    /// A step of a request for the log; waits use the events above.
    Request(RequestEvent),
    Console(ConsoleMessage),
    DialogOpened(Dialog),
    DialogClosed,
    FileChooserOpened(FileChooser),
    DownloadStarted(DownloadStart),
    /// Where the browser has put it, or why it has not.
    DownloadEnded {
        id: Arc<str>,
        file: Result<PathBuf, String>,
    },
    Crashed,
    Closed,
}

/// Takes the events of one page. Called on the engine's reading task: it must not block.
pub trait PageObserver: Send + Sync {
    fn event(&self, event: PageEvent);
}

/// Learns of the pages of a context as they open. Called on the engine's reading task: it must not block.
pub trait ContextObserver: Send + Sync {
    /// `opener` is the engine's id of the page that opened this one.
    fn page_opened(&self, page: Arc<dyn Page>, opener: Option<&str>) -> Arc<dyn PageObserver>;
}

/// A call of our script in a page.
#[derive(Debug, Clone, Serialize)]
pub struct ScriptCall {
    pub name: &'static str,
    pub arguments: Value,
}

impl MouseEvent {
    /// Moves to a point and clicks there `times` times.
    pub fn clicks(
        (x, y): (f64, f64),
        button: MouseButton,
        times: u32,
        modifiers: Modifiers,
    ) -> Vec<Self> {
        let mut events = vec![Self::Move { x, y, modifiers }];
        for clicks in 1..=times {
            events.push(Self::Down { x, y, button, clicks, modifiers });
            events.push(Self::Up { x, y, button, clicks, modifiers });
        }
        events
    }
}

/// What [`Page::press_between`] has begun.
pub struct Pressing<'a> {
    /// The first call's answer, as JSON.
    pub looked: String,
    /// Where it has said to press.
    pub press: Option<Press<'a>>,
}

/// A press that is under way.
pub struct Press<'a> {
    pub over: BoxFuture<'a, EngineResult<()>>,
    /// The second call's answer, as JSON.
    pub then: BoxFuture<'a, EngineResult<String>>,
}

/// How a navigation that was asked for by URL began.
#[derive(Debug, Clone)]
pub enum NavigationStart {
    /// `document` has been committed, or is about to be.
    Document(DocumentId),
    /// Within the present document (`#hash`).
    SameDocument,
    Download,
    /// `net::ERR_…`
    Failed {
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MouseButton {
    #[default]
    Left,
    Middle,
    Right,
}

/// Keys held down, as a CDP bit field: Alt 1, Control 2, Meta 4, Shift 8.
pub type Modifiers = u8;

#[derive(Debug, Clone, Copy)]
pub enum MouseEvent {
    Move { x: f64, y: f64, modifiers: Modifiers },
    Down { x: f64, y: f64, button: MouseButton, clicks: u32, modifiers: Modifiers },
    Up { x: f64, y: f64, button: MouseButton, clicks: u32, modifiers: Modifiers },
}

/// One key stroke's half, in the words of UI Events.
#[derive(Debug, Clone)]
pub enum KeyEvent {
    Down {
        key: String,
        code: &'static str,
        key_code: u32,
        text: Option<String>,
        location: u32,
        modifiers: Modifiers,
    },
    Up {
        key: String,
        code: &'static str,
        key_code: u32,
        location: u32,
        modifiers: Modifiers,
    },
    /// Text that no key of the keyboard makes.
    Insert {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    Jpeg,
}

/// The area of a screenshot. Lengths are CSS pixels.
#[derive(Debug, Clone, Copy)]
pub struct Shot {
    pub format: ImageFormat,
    pub quality: Option<u8>,
    /// Includes the area outside of the viewport.
    pub full_page: bool,
    /// Only this part of the document.
    pub clip: Option<Area>,
}

/// A part of a document, in CSS pixels from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The options of a context: the configuration, and the contents of the files that it names.
#[derive(Clone, Default)]
pub struct ContextOptions {
    pub config: ContextConfig,
    pub init_scripts: Vec<String>,
    /// Runs in the isolated world of each document before the page's own scripts.
    pub prelude: &'static str,
    /// Asked where its pages may go; `None`: wherever they like.
    pub network_policy: Option<Arc<dyn NetworkPolicy>>,
}

impl ContextOptions {
    /// Reads the files that `config` names.
    pub async fn read(config: ContextConfig, prelude: &'static str) -> Result<Self, TroupeError> {
        let mut init_scripts = Vec::with_capacity(config.init_scripts.len());
        for path in &config.init_scripts {
            init_scripts.push(tokio::fs::read_to_string(path).await.map_err(|error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("the init script `{}` could not be read: {error}", path.display()),
                )
            })?);
        }
        Ok(Self { config, init_scripts, prelude, network_policy: None })
    }
}

/// What a browser supports beyond what every browser does.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any combination is possible")]
pub struct Capabilities {
    /// Requests can be mocked ([`NetworkRules::mocks`]).
    pub mocks: bool,
    /// The content of closed shadow roots is available ([`Page::hand_over_roots`]).
    pub closed_shadow_roots: bool,
    /// A page answers script calls while it handles input.
    pub calls_during_input: bool,
    /// A click and the script calls before and after it take one round trip ([`Page::press_between`]).
    pub combined_clicks: bool,
}

/// A running browser.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Product and version (`HeadlessChrome/156.0`).
    fn version(&self) -> &str;
    /// The browser's process, where it is ours.
    fn pid(&self) -> Option<u32>;
    /// Cancelled when the browser is gone.
    fn gone(&self) -> CancellationToken;
    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>>;
    /// Ends the browser normally, or kills it after a timeout.
    async fn close(&self);
}

/// An isolated set of cookies, storage and pages.
#[async_trait]
pub trait Context: Send + Sync {
    /// Opens a page; the observer has heard of it by then.
    async fn new_page(&self) -> EngineResult<Arc<dyn Page>>;
    fn capabilities(&self) -> Capabilities;
    /// Gives its pages this viewport, also future ones. Present pages in Chromium: see [`Page::set_viewport`].
    async fn set_viewport(&self, size: Viewport) -> EngineResult<()>;
    /// Puts `rules` in place of the former ones, for all its pages, frames and workers, present and future.
    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()>;
    async fn cookies(&self) -> EngineResult<Vec<Cookie>>;
    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()>;
    /// Canceled when the context's own process has ended, if it has one.
    fn gone(&self) -> Option<CancellationToken> {
        None
    }
    /// Closes its pages and forgets its data.
    async fn close(&self) -> EngineResult<()>;
}

/// A tab.
#[async_trait]
pub trait Page: Send + Sync {
    /// The engine's own id.
    fn id(&self) -> &str;
    fn main_frame(&self) -> FrameId;
    fn capabilities(&self) -> Capabilities;
    /// Has each request of its context put to the gate, where there is one, from now on.
    async fn intercept_requests(&self) {}
    /// Answers when the new document is committed, or the attempt is over.
    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart>;
    /// As [`Self::navigate`], in place of the present entry of its history: where a browser cannot forget entries.
    async fn replace(&self, url: &str) -> EngineResult<NavigationStart> {
        self.navigate(url).await
    }
    /// Evaluates `expression`, awaits a promise, gives a copy of the value (`undefined` as null).
    async fn evaluate(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<Value>;
    /// Calls the function `name` of our script with `arguments` (JSON) in the isolated world, awaits its promise and
    /// returns its string; null if the document does not have our script.
    async fn call_script(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: &str,
    ) -> EngineResult<Value> {
        let call = format!("globalThis.__troupe && __troupe.{name}({arguments})");
        self.evaluate(frame, World::Isolated, &call).await
    }
    /// The frame inside the element with this ref.
    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>>;
    /// Looks for closed shadow roots of the elements in the array that `hosts` gives in the isolated world, and
    /// calls the function that `take` gives there with each host and its root. Returns whether it found any.
    async fn hand_over_roots(
        &self,
        _frame: &FrameId,
        _hosts: &str,
        _take: &str,
    ) -> EngineResult<bool> {
        Err(EngineError::Unsupported {
            what: "looking into closed shadow roots",
            instead: "use another --browser",
        })
    }
    /// The title, known to the browser itself: also while the page is held up.
    async fn title(&self) -> EngineResult<String>;
    /// Forgets the entries of its history but the present one.
    async fn forget_history(&self) -> EngineResult<()>;
    /// Gives up what loads; told at once, not awaited: later calls come after it.
    fn stop_loading(&self);
    /// Ends the script that runs; told at once, not awaited.
    fn stop_script(&self);
    /// Returns when everything that the browser itself has told so far is taken in.
    async fn catch_up(&self);
    /// Real pointer input, written together, awaited together. The pages's viewport, CSS pixels.
    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()>;
    /// Turns the mouse wheel at a point of the page's viewport, by CSS pixels to the right and down.
    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()>;
    /// Calls Troupe's script in the main frame, presses the left button at the point in its answer (`press: {x, y}`),
    /// and calls the script again, all in one round trip. Returns `None` if the engine does not support this. Clicks
    /// the given number of times, and not at all after the deadline.
    async fn press_between(
        &self,
        _look: &ScriptCall,
        _clicks: (u32, Duration),
        _then: &ScriptCall,
    ) -> EngineResult<Option<Pressing<'_>>> {
        Ok(None)
    }
    /// Real key input, written together, awaited together.
    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()>;
    /// Whether drags of the browser's own are handed to us instead of the desktop.
    async fn intercept_drags(&self, on: bool) -> EngineResult<()>;
    /// Moves the data of an intercepted drag over a point; `enters` at the first.
    async fn drag_over(&self, x: f64, y: f64, enters: bool) -> EngineResult<()>;
    /// Drops it there.
    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()>;
    /// Ends an abandoned drag: stops intercepting drags, and releases the left button at a point if it is down. The
    /// command is sent at once and not awaited, because later input comes after it.
    fn give_up_drag(&self, x: f64, y: f64);
    /// Puts files into the input with this ref.
    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()>;
    /// Puts files into the input whose chooser opened.
    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()>;
    /// Gives the page this viewport, unless [`Context::set_viewport`] has done it.
    async fn set_viewport(&self, _size: Viewport) -> EngineResult<()> {
        Ok(())
    }
    async fn reload(&self, ignore_cache: bool) -> EngineResult<()>;
    /// Moves by the given number of entries in the page's history. Returns false if there is no such entry.
    async fn travel(&self, entries: i64) -> EngineResult<bool>;
    /// A picture, base64.
    async fn screenshot(&self, shot: Shot) -> EngineResult<String>;
    /// The page as it would be printed, a PDF in base64.
    async fn pdf(&self) -> EngineResult<String>;
    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()>;
    async fn close(&self) -> EngineResult<()>;
}

/// An expression for the element with a ref in the isolated world. Null if the ref is stale.
fn element_expression(reference: &str) -> String {
    format!("__troupe.element({})", Value::from(reference))
}

/// The logs of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    Requests,
    Console,
}

/// Fails if `browser` does not report this kind of log.
pub fn check_log(browser: BrowserKind, log: Log) -> EngineResult<()> {
    match (browser, log) {
        // Its driver reports neither.
        (BrowserKind::Webkit, Log::Requests) => Err(EngineError::Unsupported {
            what: "keeping a log of requests",
            instead: "use --browser chromium or firefox; `evaluate` with performance.getEntriesByType('resource') tells what was loaded",
        }),
        (BrowserKind::Webkit, Log::Console) => Err(EngineError::Unsupported {
            what: "keeping what pages write to their console",
            instead: "use --browser chromium or firefox",
        }),
        _ => Ok(()),
    }
}

/// The engine for the browser that the configuration names.
pub fn for_config(config: Arc<Config>) -> Result<Arc<dyn Engine>, TroupeError> {
    match config.browser {
        BrowserKind::Chromium | BrowserKind::Chrome | BrowserKind::MsEdge => {
            Ok(Arc::new(chromium::Chromium::new(config)))
        }
        BrowserKind::Firefox => Ok(Arc::new(firefox::Firefox::new(config))),
        #[cfg(target_os = "linux")]
        BrowserKind::Webkit => Ok(Arc::new(webkit::Webkit::new(config))),
        #[cfg(not(target_os = "linux"))]
        kind @ BrowserKind::Webkit => {
            Err(install::InstallError::UnsupportedPlatform { kind }.into())
        }
    }
}

/// Starts browsers of one kind.
#[async_trait]
pub trait Engine: Send + Sync {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>>;
}
