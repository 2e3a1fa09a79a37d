//! Browsers behind traits. Only the modules below use the protocol of a specific browser.
//!
//! An engine implements primitives: contexts, navigation, trusted input, evaluation, screenshots,
//! dialogs, cookies. The page layer implements targets, waits and snapshots on top of them, the
//! same for every browser. The engine reports [`PageEvent`]s in the order in which they happened,
//! and before it returns from any later call. Uses `error` and `config` only.

mod actions;
pub mod chromium;
pub mod connection;
mod console;
pub mod firefox;
pub mod install;
#[cfg(windows)]
pub mod job;
mod launching;
mod locked_folder;
mod media;
#[cfg(feature = "testing")]
pub mod memory;
pub mod network;
pub mod network_policy;
mod page_registry;
mod process;
#[cfg(unix)]
mod process_watchdog;
mod proxy;
mod remote;
pub mod url_pattern;
#[cfg(target_os = "linux")]
pub mod webkit;

use std::{path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

pub use self::{
    console::{ConsoleKind, ConsoleLevel, ConsoleMessage, ConsoleSource},
    locked_folder::{LockedFolder, with_sweep},
    media::EmulatedMedia,
};
use self::{
    network::{Cookie, NetworkRules, RequestEvent},
    network_policy::NetworkPolicy,
    remote::RemoteBrowsers,
};
use crate::{
    config::{BrowserKind, Config, ContextConfig, Viewport},
    error::{ErrorCode, TroupeError},
};

/// An error of an engine. The layers above add the target and the session to the message.
#[derive(Debug, Clone, thiserror::Error)]
pub enum EngineError {
    #[error("the browser is gone")]
    BrowserGone,
    #[error("the page is gone")]
    PageGone,
    #[error("the page has crashed")]
    PageCrashed,
    /// The document in which a script ran was replaced by a navigation.
    #[error("the document is gone")]
    DocumentGone,
    #[error("the browser could not be started: {reason}")]
    Launch { reason: String, suggestion: Option<String> },
    #[error("{0}")]
    Script(ScriptFailure),
    #[error("{0}")]
    Refused(String),
    /// A setting of the context that the browser does not support.
    #[error("the browser does not know the {name} `{value}`")]
    UnknownSetting { name: &'static str, value: String },
    #[error("{what} is not supported in this browser")]
    Unsupported { what: &'static str, instead: &'static str },
    #[error("the browser did not respond within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// A file was not transferred to the browser's machine.
    #[error("{reason}")]
    FileTransfer { reason: String, suggestion: Option<String> },
    /// The Selenium Grid has no free slot, also after a wait in its queue.
    #[error("no browser could be started in the Selenium Grid {reason}")]
    NoFreeSlot { reason: String },
    /// The user has not decided on the connection to the browser within this time.
    #[error("the connection was not allowed in the browser within {} s", .0.as_secs())]
    AwaitsConsent(Duration),
}

/// A script that threw.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ScriptFailure {
    pub message: String,
    /// The line in the caller's script, from 1.
    pub line: u64,
    pub column: u64,
    /// The class of the exception (`TypeError`), if it was an object.
    pub class: Option<String>,
}

pub type EngineResult<T> = Result<T, EngineError>;

/// The browser's id of a frame.
pub type FrameId = Arc<str>;
/// The browser's id of a document in a frame. Each navigation to another document has a new id.
pub type DocumentId = Arc<str>;

/// The JavaScript world in which a script runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// The page's own globals.
    Main,
    /// The same document, with separate globals that the page cannot access.
    Isolated,
}

/// The category of a request for waits, coarser than [`network::ResourceType`]. `Fetch` includes
/// XHR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResourceKind {
    Document,
    Script,
    Fetch,
    Other,
}

/// A JavaScript dialog that blocks its page.
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

impl Dialog {
    /// Returns whether it asks whether to leave the page.
    pub fn is_before_unload(&self) -> bool {
        self.kind == "beforeunload"
    }
}

/// A download that a page has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadStart {
    pub id: Arc<str>,
    pub url: String,
    pub suggested_filename: String,
}

/// A file chooser that a page has opened and that the browser does not show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChooser {
    pub frame: FrameId,
    /// The engine's id of the file input. `None`: a script called the File System Access API
    /// (`showOpenFilePicker()`). The browser cancels such a chooser, so it cannot get files.
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
    /// A navigation to another document was requested or has started, and its document is not
    /// committed yet.
    NavigationRequested {
        frame: FrameId,
        /// The id of its document, if the navigation has started and the browser reports it.
        document: Option<DocumentId>,
    },
    /// A navigation will start in the next tick of the page's event loop (a form submission).
    NavigationScheduled {
        frame: FrameId,
    },
    NavigationUnscheduled {
        frame: FrameId,
    },
    /// The page opens a window with this URL. If the URL is known only later, the event is sent
    /// again for the same `window`.
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
    /// The headers of a fetch response have arrived. `length` is its `content-length`.
    ResponseStarted {
        id: Arc<str>,
        length: Option<u64>,
    },
    /// More encoded bytes of a response have arrived.
    ResponseData {
        id: Arc<str>,
        bytes: u64,
    },
    /// The end of a response. It may never be reported for a fetch whose response no script reads.
    RequestEnded {
        id: Arc<str>,
    },
    /// A WebSocket has sent or received something, or has closed.
    Socket {
        id: Arc<str>,
        activity: SocketActivity,
    },
    /// A step of a request for the log; waits use the events above.
    Request(RequestEvent),
    Console {
        message: ConsoleMessage,
        /// `None` if it is never reported before the commit of its document.
        source: Option<ConsoleSource>,
    },
    DialogOpened(Dialog),
    DialogClosed,
    FileChooserOpened(FileChooser),
    DownloadStarted(DownloadStart),
    /// The path of the file, or why the download failed.
    DownloadEnded {
        id: Arc<str>,
        file: Result<PathBuf, String>,
    },
    Crashed,
    Closed,
}

/// An event of a WebSocket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketActivity {
    /// It has sent the request for a connection, or a message.
    Sent,
    /// The connection is open, or a message has arrived.
    Received,
    Closed,
}

/// Handles the events of one page. Called on the engine's reading task: it must not block.
pub trait PageObserver: Send + Sync {
    fn event(&self, event: PageEvent);
}

/// Gets the pages of a context when they open. Called on the engine's reading task: it must not
/// block.
pub trait ContextObserver: Send + Sync {
    /// `opener` is the engine's id of the page that opened this one.
    fn page_opened(&self, page: Arc<dyn EnginePage>, opener: Option<&str>)
    -> Arc<dyn PageObserver>;
}

/// A call of a function of Troupe's script in a page.
#[derive(Debug, Clone, Serialize)]
pub struct ScriptCall {
    pub name: &'static str,
    pub arguments: Value,
}

impl MouseEvent {
    /// Returns its coordinates.
    pub fn position(&self) -> (f64, f64) {
        let (Self::Move { x, y, .. } | Self::Down { x, y, .. } | Self::Up { x, y, .. }) = *self;
        (x, y)
    }

    /// Returns the events that move to a point and click there `times` times.
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

/// The result of [`EnginePage::click_between_calls`].
pub struct CombinedClick<'a> {
    /// The result of the first call, as JSON.
    pub first_answer: String,
    /// `None` if that result has no point to click at.
    pub click: Option<ClickInProgress<'a>>,
}

/// A click in progress.
pub struct ClickInProgress<'a> {
    /// Completes when the browser has handled the click.
    pub done: BoxFuture<'a, EngineResult<()>>,
    /// The result of the second call, as JSON.
    pub second_answer: BoxFuture<'a, EngineResult<String>>,
}

/// The start of a navigation to a URL.
#[derive(Debug, Clone)]
pub enum NavigationStart {
    /// `document` has been committed, or is about to be.
    Document(DocumentId),
    /// Within the current document (`#hash`).
    SameDocument,
    Download,
    /// `net::ERR_…`
    Failed {
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
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

/// A key event, with the values of UI Events.
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
    /// Text that has no key on the keyboard.
    Insert {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    Png,
    Jpeg,
}

/// The format and the area of a screenshot.
#[derive(Debug, Clone, Copy)]
pub struct ScreenshotOptions {
    pub format: ImageFormat,
    pub quality: Option<u8>,
    /// Includes the area outside of the viewport.
    pub full_page: bool,
    /// Only this part of the document.
    pub clip: Option<Area>,
}

/// An image of a screencast.
#[derive(Debug, Clone)]
pub struct ScreencastFrame {
    /// For the acknowledgment.
    pub number: i64,
    pub jpeg: Vec<u8>,
    /// The size of the viewport in CSS pixels.
    pub width: f64,
    pub height: f64,
}

/// A part of a document, in CSS pixels from its top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// The script for `--block-service-workers`. The message is Playwright's.
const BLOCK_SERVICE_WORKERS: &str = "if (navigator.serviceWorker) navigator.serviceWorker.register = async () => { console.warn('Service Worker registration blocked by Playwright') }";

/// The options of a context: the configuration, and the contents of the files that it names.
#[derive(Clone, Default)]
pub struct ContextOptions {
    pub config: ContextConfig,
    pub init_scripts: Vec<String>,
    /// The script that runs in the isolated world of each document before the page's own scripts.
    pub prelude: &'static str,
    /// The policy for its connections. `None`: all connections are allowed.
    pub network_policy: Option<Arc<dyn NetworkPolicy>>,
}

impl ContextOptions {
    /// Reads the files in `config`.
    pub async fn read(config: ContextConfig, prelude: &'static str) -> Result<Self, TroupeError> {
        let mut init_scripts = Vec::with_capacity(config.init_scripts.len());
        if config.block_service_workers {
            init_scripts.push(BLOCK_SERVICE_WORKERS.to_owned());
        }
        for path in &config.init_scripts {
            let source = tokio::fs::read_to_string(path).await.map_err(|error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("the init script `{}` could not be read: {error}", path.display()),
                )
            })?;
            // The name of the script in stack traces and console messages.
            init_scripts.push(format!("{source}\n//# sourceURL={}", path.display()));
        }
        Ok(Self { config, init_scripts, prelude, network_policy: None })
    }
}

/// What a browser supports beyond what every browser does.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "any combination is possible")]
pub struct Capabilities {
    /// Requests can be mocked and changed ([`NetworkRules::routes`]).
    pub mocks: bool,
    /// The content of closed shadow roots is available ([`EnginePage::pass_closed_roots`]).
    pub closed_shadow_roots: bool,
    /// A page answers script calls while it handles input.
    pub calls_during_input: bool,
    /// A click and the script calls before and after it take one round trip
    /// ([`EnginePage::click_between_calls`]).
    pub combined_clicks: bool,
}

/// A running browser.
#[async_trait]
pub trait Browser: Send + Sync {
    /// Product and version (`HeadlessChrome/156.0`).
    fn version(&self) -> &str;
    /// Returns the id of the browser's process, if Troupe started it.
    fn pid(&self) -> Option<u32>;
    /// Returns a token that is canceled when the browser has gone.
    fn gone(&self) -> CancellationToken;
    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>>;
    /// Ends the browser normally, or kills it after a timeout.
    async fn close(&self);
}

/// A tab of the user's browser that no session has.
#[derive(Debug, Clone)]
pub struct UserTab {
    pub id: String,
    pub title: String,
    pub url: String,
}

/// An isolated set of cookies, storage and pages. In the user's browser, the pages of one session.
#[async_trait]
pub trait Context: Send + Sync {
    /// Returns the tabs that [`Self::adopt`] accepts.
    async fn user_tabs(&self) -> EngineResult<Vec<UserTab>> {
        Err(EngineError::Unsupported {
            what: "adopting a tab",
            instead: "start the server with --attach to use tabs of your own browser",
        })
    }
    /// Attaches to a tab of the user. It is released, not closed, when the context closes. The
    /// observer gets the page before this returns.
    async fn adopt(&self, id: &str) -> EngineResult<Arc<dyn EnginePage>> {
        let _ = id;
        Err(EngineError::PageGone)
    }
    /// Opens a page. The observer gets the page before this returns.
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>>;
    fn capabilities(&self) -> Capabilities;
    /// Sets the viewport of its present and future pages. In Chromium, present pages need
    /// [`EnginePage::set_viewport`].
    async fn set_viewport(&self, size: Viewport) -> EngineResult<()>;
    /// Replaces the rules for all its present and future pages, frames and workers.
    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()>;
    async fn cookies(&self) -> EngineResult<Vec<Cookie>>;
    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()>;
    /// Canceled when the context's own process has ended, if it has one.
    fn gone(&self) -> Option<CancellationToken> {
        None
    }
    /// Closes its pages and deletes its data.
    async fn close(&self) -> EngineResult<()>;
}

/// A tab.
#[async_trait]
pub trait EnginePage: Send + Sync {
    /// Returns the engine's id of the page.
    fn id(&self) -> &str;
    fn main_frame(&self) -> FrameId;
    fn capabilities(&self) -> Capabilities;
    /// Whether it is a tab of the user, which [`Self::close`] releases.
    fn is_adopted(&self) -> bool {
        false
    }
    /// Lets the network policy check each request of its context from now on.
    async fn check_each_request(&self) {}
    /// Navigates to `url`. Returns when the document is committed or the navigation has failed.
    async fn navigate(&self, url: &str) -> EngineResult<NavigationStart>;
    /// Navigates to `url` and replaces the current entry of the history. For browsers that cannot
    /// clear the history.
    async fn navigate_and_replace(&self, url: &str) -> EngineResult<NavigationStart> {
        self.navigate(url).await
    }
    /// Evaluates `expression`, awaits its promise, and returns a copy of the value (`undefined` as
    /// null).
    async fn evaluate(
        &self,
        frame: &FrameId,
        world: World,
        expression: &str,
    ) -> EngineResult<Value>;
    /// Calls the function `name` of Troupe's script with `arguments` (JSON) in the isolated world,
    /// awaits its promise and returns its string. Returns null if the document does not have the
    /// script.
    async fn call_script(
        &self,
        frame: &FrameId,
        name: &str,
        arguments: &str,
    ) -> EngineResult<Value> {
        let call = format!("globalThis.__troupe && __troupe.{name}({arguments})");
        self.evaluate(frame, World::Isolated, &call).await
    }
    /// Calls `function`, the source text of a function, with the element that has this ref, in the
    /// page's own world. Returns the same as [`Self::evaluate`].
    async fn call_on_element(
        &self,
        frame: &FrameId,
        reference: &str,
        function: &str,
    ) -> EngineResult<Value>;
    /// Returns the frame inside the element with this ref.
    async fn content_frame(
        &self,
        frame: &FrameId,
        reference: &str,
    ) -> EngineResult<Option<FrameId>>;
    /// Finds the closed shadow roots of elements, and calls a function with `(host, root, host,
    /// root, …)`. `hosts` is an expression for the array of elements, and `take` one for the
    /// function, both in the isolated world. If no element has a closed root, calls the function
    /// without arguments.
    async fn pass_closed_roots(
        &self,
        _frame: &FrameId,
        _hosts: &str,
        _take: &str,
    ) -> EngineResult<()> {
        Err(EngineError::Unsupported {
            what: "access to closed shadow roots",
            instead: "use another --browser",
        })
    }
    /// Returns the title. Works also while the page is blocked.
    async fn title(&self) -> EngineResult<String>;
    /// Removes all entries of the history except the current one.
    async fn clear_history(&self) -> EngineResult<()>;
    /// Stops loading. Sent at once and not awaited. Later calls run after it.
    fn stop_loading(&self);
    /// Terminates the running script. Sent at once and not awaited.
    fn terminate_script(&self);
    /// Returns when all events that the browser has sent so far are handled.
    async fn flush_events(&self);
    /// Dispatches trusted pointer events as one batch. Coordinates are CSS pixels in the page's
    /// viewport.
    async fn mouse(&self, events: &[MouseEvent]) -> EngineResult<()>;
    /// Sends pointer events. Later input comes after them. Returns a future that ends when the
    /// browser has processed them.
    async fn send_mouse(&self, events: &[MouseEvent]) -> EngineResult<BoxFuture<'static, ()>> {
        self.mouse(events).await?;
        Ok(Box::pin(std::future::ready(())))
    }
    /// Turns the mouse wheel at a point of the page's viewport. `by` is in CSS pixels, to the right
    /// and down.
    async fn wheel(&self, at: (f64, f64), by: (f64, f64)) -> EngineResult<()>;
    /// Calls Troupe's script in the main frame (`check`), clicks at the point in its result
    /// (`press: {x, y}`), and calls the script again (`then`), all in one round trip. `clicks` is
    /// the number of clicks, and the time after which the engine no longer clicks. Returns `None`
    /// if the engine does not support this.
    async fn click_between_calls(
        &self,
        _check: &ScriptCall,
        _clicks: (u32, Duration),
        _then: &ScriptCall,
    ) -> EngineResult<Option<CombinedClick<'_>>> {
        Ok(None)
    }
    /// Dispatches trusted key events as one batch.
    async fn keyboard(&self, events: &[KeyEvent]) -> EngineResult<()>;
    /// Turns drag interception on or off: the browser reports native drags to Troupe instead of the
    /// desktop.
    async fn intercept_drags(&self, on: bool) -> EngineResult<()>;
    /// Dispatches `dragover` of an intercepted drag at a point, after `dragenter` if `enters`.
    async fn drag_over(&self, x: f64, y: f64, enters: bool) -> EngineResult<()>;
    /// Drops the intercepted drag at a point.
    async fn drop_at(&self, x: f64, y: f64) -> EngineResult<()>;
    /// Ends an abandoned drag: stops intercepting drags, and releases the left button at a point if
    /// it is down. The command is sent at once and not awaited, because later input comes after it.
    fn cancel_drag(&self, x: f64, y: f64);
    /// Copies files to the browser's machine, if it is another one. Returns their paths there.
    async fn provide_files(&self, files: &[PathBuf]) -> EngineResult<Vec<PathBuf>> {
        Ok(files.to_vec())
    }
    /// Selects files in the input with this ref.
    async fn set_files(
        &self,
        frame: &FrameId,
        reference: &str,
        files: &[PathBuf],
    ) -> EngineResult<()>;
    /// Selects files in a file chooser.
    async fn choose_files(&self, chooser: &FileChooser, files: &[PathBuf]) -> EngineResult<()>;
    /// Sets the viewport, if [`Context::set_viewport`] does not apply to present pages.
    async fn set_viewport(&self, _size: Viewport) -> EngineResult<()> {
        Ok(())
    }
    /// Overrides the media type and the media features in its present and future documents.
    async fn emulate_media(&self, media: &EmulatedMedia) -> EngineResult<()>;
    async fn reload(&self, ignore_cache: bool) -> EngineResult<()>;
    /// Moves by the given number of entries in the page's history. Returns false if there is no
    /// such entry.
    async fn traverse_history(&self, entries: i64) -> EngineResult<bool>;
    /// Starts to send images of the page to `frames` whenever it is painted, at most `size` large.
    /// The browser sends a further one when one is acknowledged.
    async fn start_screencast(
        &self,
        _size: Viewport,
        _quality: u8,
        _frames: mpsc::Sender<ScreencastFrame>,
    ) -> EngineResult<()> {
        Err(EngineError::Unsupported { what: "a screencast", instead: "take screenshots" })
    }
    /// Acknowledges an image of the screencast.
    fn acknowledge_frame(&self, _number: i64) {}
    /// Stops the screencast, if there is one.
    fn stop_screencast(&self) {}
    /// Takes a screenshot. Returns the image in base64.
    async fn screenshot(&self, shot: ScreenshotOptions) -> EngineResult<String>;
    /// Prints the page. Returns a PDF in base64.
    async fn pdf(&self) -> EngineResult<String>;
    /// Returns the body of a request, if [`RequestEvent::Sent`] does not contain it. `None` if it
    /// has none.
    async fn request_data(&self, _request: &str) -> EngineResult<Option<Vec<u8>>> {
        Ok(None)
    }
    /// Returns the body of the response to a request that `frame` has sent. `None` if the browser
    /// has no body of it, or has removed it. `request` is the id in [`RequestEvent::Sent`].
    async fn response_body(
        &self,
        _frame: Option<&FrameId>,
        _request: &str,
    ) -> EngineResult<Option<Vec<u8>>> {
        Err(EngineError::Unsupported {
            what: "reading the body of a response",
            instead: "use --browser chromium or firefox",
        })
    }
    async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> EngineResult<()>;
    async fn close(&self) -> EngineResult<()>;
}

/// Returns an expression for the element with a ref in the isolated world. Its value is null if the
/// ref is stale.
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
        // The driver reports neither.
        (BrowserKind::Webkit, Log::Requests) => Err(EngineError::Unsupported {
            what: "the request log",
            instead: "use --browser chromium or firefox, or `evaluate` performance.getEntriesByType('resource')",
        }),
        (BrowserKind::Webkit, Log::Console) => Err(EngineError::Unsupported {
            what: "the console log",
            instead: "use --browser chromium or firefox",
        }),
        _ => Ok(()),
    }
}

/// Returns the engine for the configured browser.
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
    /// Returns the remote browsers to which `launch` connects, if it does not start browsers.
    fn remote(&self) -> Option<&RemoteBrowsers> {
        None
    }
    /// Ends the remote browsers that earlier servers left when they were killed. Does not wait.
    fn end_orphaned_browsers(&self) {
        if let Some(remote) = self.remote() {
            remote.end_orphaned_browsers();
        }
    }
    /// Returns how long a session that can share a running browser waits for the launch of another
    /// one. `None`: until the launch ends.
    fn launch_wait_limit(&self) -> Option<Duration> {
        self.remote()?.launch_wait_limit()
    }
    /// Waits until remote browsers that no session uses have ended, within a limit.
    async fn end(&self) {
        if let Some(remote) = self.remote() {
            remote.end().await;
        }
    }
    /// Ends attempts to connect to a remote browser, because the server stops.
    fn stop(&self) {
        if let Some(remote) = self.remote() {
            remote.stop();
        }
    }
    /// Waits until the user has allowed the connection to the browser, if that is needed.
    async fn await_consent(&self) -> EngineResult<()> {
        Ok(())
    }
    /// Returns what a launch waits for, for progress messages: a decision of the user.
    fn wait_reason(&self) -> Option<&'static str> {
        self.remote()?.wait_reason()
    }
}
