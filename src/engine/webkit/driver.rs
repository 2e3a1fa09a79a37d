//! Sends commands to the driver, one after the other. The driver has a current window and frame for
//! commands, and the holder of the lock switches it as needed.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::Bytes,
    header::{CONTENT_LENGTH, HOST},
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Map, Value};
use thirtyfour::{
    Capabilities, WebDriver,
    common::{
        command::Command,
        types::{ElementId, WindowHandle},
    },
    error::{WebDriverError, WebDriverErrorInner, WebDriverResult},
    session::http::{Body, HttpClient},
};
use tokio_util::sync::CancellationToken;

use crate::engine::{EngineError, EngineResult};

/// The longest that any command may take: a page whose script runs on and on answers nothing.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval of the checks whether the window of a pending command still exists: the driver never
/// responds if it has closed.
const LOOK: Duration = Duration::from_millis(500);

/// The session with a driver.
pub(super) struct Driver {
    session: WebDriver,
    pub version: String,
    place: tokio::sync::Mutex<Option<Place>>,
    /// Held while the current window or frame changes, also if the caller has been dropped.
    switching: Arc<tokio::sync::Mutex<()>>,
    gone: CancellationToken,
}

/// What commands are for.
struct Place {
    window: Arc<str>,
    /// The iframes on the path to the frame; `None` if unknown, after a command that was dropped or
    /// has failed.
    frames: Option<Vec<Arc<str>>>,
}

/// Why a command has failed.
#[derive(Debug)]
pub(super) enum Trouble {
    /// A dialog with this text is open.
    Dialog(String),
    /// A script that cannot be read, or threw.
    Script(String),
    Failed(EngineError),
}

impl From<EngineError> for Trouble {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl Trouble {
    /// Converts it into an error, for callers that expect neither a dialog nor a script's
    /// exception.
    pub fn error(self) -> EngineError {
        match self {
            Self::Dialog(text) => EngineError::Refused(format!("a dialog is open: {text}")),
            Self::Script(message) => EngineError::Refused(message),
            Self::Failed(error) => error,
        }
    }
}

pub(super) type Outcome<T> = Result<T, Trouble>;

impl Driver {
    /// Asks the driver at `port` for a browser.
    pub async fn open(port: u16, capabilities: Map<String, Value>) -> Result<Arc<Self>, String> {
        let address = format!("http://127.0.0.1:{port}");
        let session =
            WebDriver::builder(address, Capabilities::from(capabilities)).client(Connection::new());
        let session = session.connect().await.map_err(|error| error.to_string())?;
        let version = session.handle().capabilities().get("browserVersion").and_then(Value::as_str);
        let version = format!("WebKit/{}", version.unwrap_or("unknown"));
        let (place, switching) = (tokio::sync::Mutex::default(), Arc::default());
        Ok(Arc::new(Self { session, version, place, switching, gone: CancellationToken::new() }))
    }

    /// Cancelled when the browser is gone.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Waits until no other caller sends commands.
    pub async fn turn(self: &Arc<Self>) -> Turn<'_> {
        let place = self.place.lock().await;
        // Finishes even if the caller was dropped: otherwise it would change the window or frame of
        // the next caller.
        drop(self.switching.lock().await);
        Turn { driver: self, place }
    }

    /// Ends the browser normally, if no command is pending.
    pub async fn quit(&self) {
        let _ =
            tokio::time::timeout(CLOSE_TIMEOUT, self.session.handle().cmd(Command::DeleteSession))
                .await;
        self.gone.cancel();
    }

    async fn send(&self, command: Command) -> Outcome<Value> {
        if self.gone.is_cancelled() {
            return Err(EngineError::BrowserGone.into());
        }
        let answer = tokio::select! {
            answer = self.session.handle().cmd(command) => answer.and_then(|answer| answer.value_json()),
            () = self.gone.cancelled() => return Err(EngineError::BrowserGone.into()),
            () = tokio::time::sleep(ANSWER_TIMEOUT) => return Err(EngineError::TimedOut(ANSWER_TIMEOUT).into()),
        };
        let Err(error) = answer else { return answer.map_err(meaning) };
        // When the browser dies, the driver has no specific error for pending commands.
        let unknown = matches!(&*error, WebDriverErrorInner::UnknownError(_));
        let trouble = if unknown && !self.answers().await {
            EngineError::BrowserGone.into()
        } else {
            meaning(error)
        };
        if matches!(trouble, Trouble::Failed(EngineError::BrowserGone)) {
            self.gone.cancel();
        }
        Err(trouble)
    }

    /// Goes to another place in `window`, whether or not anybody waits until it is there.
    async fn switch(self: &Arc<Self>, command: Command, window: &Arc<str>) -> Outcome<Value> {
        let (driver, window) = (self.clone(), window.clone());
        let switching = self.switching.clone().lock_owned().await;
        let switched = tokio::spawn(async move {
            let answer = tokio::select! {
                answer = driver.send(command) => answer,
                () = driver.closed(Some(window.clone())) => Err(EngineError::PageGone.into()),
            };
            let answer = driver.told_apart(answer, &window).await;
            drop(switching);
            answer
        });
        switched.await.unwrap_or_else(|_| Err(EngineError::BrowserGone.into()))
    }

    /// Whether the browser still answers a command that never blocks.
    async fn answers(&self) -> bool {
        self.windows().await.is_some()
    }

    /// The windows, as far as the driver tells at once.
    async fn windows(&self) -> Option<Vec<String>> {
        let asked = self.session.handle().cmd(Command::GetWindowHandles);
        tokio::time::timeout(CLOSE_TIMEOUT, asked).await.ok()?.ok()?.value().ok()
    }

    /// The driver has the same words for a window that is gone and for a frame.
    async fn told_apart(&self, answer: Outcome<Value>, window: &Arc<str>) -> Outcome<Value> {
        if !matches!(answer, Err(Trouble::Failed(EngineError::PageGone))) {
            return answer;
        }
        let is_there = |windows: Vec<String>| windows.iter().any(|other| **other == **window);
        match self.windows().await.is_some_and(is_there) {
            true => Err(EngineError::DocumentGone.into()),
            false => answer,
        }
    }

    /// Waits until `window` is closed.
    async fn closed(&self, window: Option<Arc<str>>) {
        let Some(window) = window else { return std::future::pending().await };
        loop {
            tokio::time::sleep(LOOK).await;
            if self
                .windows()
                .await
                .is_some_and(|windows| !windows.iter().any(|other| **other == *window))
            {
                return;
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Else it would be asked to end once more, and waited for, in the middle of other work.
        let _ = self.session.clone().leak();
    }
}

/// The right to send commands.
pub(super) struct Turn<'a> {
    driver: &'a Arc<Driver>,
    place: tokio::sync::MutexGuard<'a, Option<Place>>,
}

impl Turn<'_> {
    /// Makes the frame that `frames` lead to in `window` what commands are for.
    pub async fn at(&mut self, window: &Arc<str>, frames: &[Arc<str>]) -> Outcome<()> {
        self.window(window).await?;
        let Some(place) = self.place.as_mut() else { return Ok(()) };
        // Unknown until all commands have run, because the caller can be dropped.
        let before = place.frames.take();
        if before.as_deref() != Some(frames) {
            if before.is_none_or(|before| !before.is_empty()) {
                self.driver.switch(Command::SwitchToFrameDefault, window).await?;
            }
            for frame in frames {
                let element = ElementId::from(frame.to_string());
                self.driver.switch(Command::SwitchToFrameElement(element), window).await?;
            }
        }
        place.frames = Some(frames.to_vec());
        Ok(())
    }

    /// Focuses a frame. Switching into a frame moves the focus, switching back to the main frame
    /// does not.
    pub async fn focus(&mut self, window: &Arc<str>, frames: &[Arc<str>]) -> Outcome<()> {
        if frames.is_empty() {
            *self.place = None;
        } else if let Some(place) = self.place.as_mut() {
            place.frames = None;
        }
        self.at(window, frames).await
    }

    /// Switches to `window`. Must not be called while a dialog is open: the driver would not
    /// respond.
    pub async fn window(&mut self, window: &Arc<str>) -> Outcome<()> {
        if self.place.as_ref().is_none_or(|place| place.window != *window) {
            *self.place = None;
            let handle = WindowHandle::from(window.to_string());
            self.driver.switch(Command::SwitchToWindow(handle), window).await?;
            *self.place = Some(Place { window: window.clone(), frames: None });
        }
        Ok(())
    }

    pub async fn send(&mut self, command: Command) -> Outcome<Value> {
        let window = self.place.as_ref().map(|place| place.window.clone());
        let mut answer = tokio::select! {
            answer = self.driver.send(command) => answer,
            () = self.driver.closed(window.clone()) => Err(EngineError::PageGone.into()),
        };
        if let Some(window) = &window {
            answer = self.driver.told_apart(answer, window).await;
        }
        match &answer {
            Err(Trouble::Failed(EngineError::PageGone)) => *self.place = None,
            // A frame that is gone is no place to be.
            Err(Trouble::Failed(EngineError::DocumentGone)) => {
                if let Some(place) = self.place.as_mut() {
                    place.frames = None;
                }
            }
            _ => {}
        }
        answer
    }

    /// Runs the body of a function.
    pub async fn script(&mut self, body: String) -> Outcome<Value> {
        self.send(Command::ExecuteScript(body.into(), Arc::from([]))).await
    }
}

/// Converts an error for the layers above.
fn meaning(error: WebDriverError) -> Trouble {
    use WebDriverErrorInner as Inner;
    let failed = match error.into_inner() {
        Inner::UnexpectedAlertOpen(info) => {
            let text = info.value.data.as_ref().and_then(|data| data["text"].as_str());
            return Trouble::Dialog(text.unwrap_or_default().to_owned());
        }
        Inner::JavascriptError(info) => return Trouble::Script(info.value.message),
        Inner::NoSuchWindow(_) => EngineError::PageGone,
        Inner::NoSuchFrame(_) | Inner::StaleElementReference(_) | Inner::NoSuchElement(_) => {
            EngineError::DocumentGone
        }
        Inner::InvalidSessionId(_)
        | Inner::RequestFailed(_)
        | Inner::HttpError(_)
        | Inner::IoError(_) => EngineError::BrowserGone,
        Inner::ScriptTimeout(_) | Inner::WebDriverTimeout(_) => {
            EngineError::TimedOut(ANSWER_TIMEOUT)
        }
        other => EngineError::Refused(other.to_string()),
    };
    Trouble::Failed(failed)
}

/// thirtyfour's way to the driver: without what its own would bring along for the web.
struct Connection(Client<HttpConnector, Full<Bytes>>);

impl Connection {
    fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }
}

#[async_trait]
impl HttpClient for Connection {
    async fn send(&self, request: Request<Body<'_>>) -> WebDriverResult<Response<Bytes>> {
        let failed =
            |error: &dyn std::fmt::Display| WebDriverError::RequestFailed(error.to_string());
        let (mut parts, body) = request.into_parts();
        let body = match body {
            Body::Empty => Bytes::new(),
            Body::Json(json) => serde_json::to_vec(json).map_err(|error| failed(&error))?.into(),
        };
        // The client sets its own.
        for name in [HOST, CONTENT_LENGTH] {
            parts.headers.remove(name);
        }
        let answer = self.0.request(Request::from_parts(parts, Full::new(body))).await;
        let (parts, body) = answer.map_err(|error| failed(&error))?.into_parts();
        let body = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
        Ok(Response::from_parts(parts, body))
    }

    async fn new(&self) -> Arc<dyn HttpClient> {
        Arc::new(Self::new())
    }
}

/// Converts the error of a page's command whose window is closed.
pub(super) fn plain<T>(outcome: Outcome<T>) -> EngineResult<T> {
    outcome.map_err(Trouble::error)
}
