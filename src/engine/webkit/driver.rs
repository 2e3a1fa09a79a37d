//! Sends commands to the driver, one after the other. Each command applies to the driver's current
//! window and frame. The holder of the lock switches them as needed.

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

/// Timeout of a command. The driver does not answer while a script blocks the page's main thread.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Interval for checking that the window of a pending command still exists. The driver never
/// responds if the window has closed.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// A session of the driver.
pub(super) struct Driver {
    session: WebDriver,
    pub version: String,
    target: tokio::sync::Mutex<Option<CommandTarget>>,
    /// Held while the current window or frame changes, also if the caller has been dropped.
    switching: Arc<tokio::sync::Mutex<()>>,
    gone: CancellationToken,
}

/// The window and frame that commands apply to.
struct CommandTarget {
    window: Arc<str>,
    /// The iframe elements on the path to the frame. `None` if the frame is unknown, because a
    /// command was dropped or has failed.
    frames: Option<Vec<Arc<str>>>,
}

/// The reason why a command failed.
#[derive(Debug)]
pub(super) enum DriverError {
    /// A dialog with this text is open.
    Dialog(String),
    /// The script has a syntax error or threw an exception.
    Script(String),
    Failed(EngineError),
}

impl From<EngineError> for DriverError {
    fn from(error: EngineError) -> Self {
        Self::Failed(error)
    }
}

impl DriverError {
    /// Converts it into an [`EngineError`], for callers that expect neither a dialog nor a script's
    /// exception.
    pub fn into_engine_error(self) -> EngineError {
        match self {
            Self::Dialog(text) => EngineError::Refused(format!("a dialog is open: {text}")),
            Self::Script(message) => EngineError::Refused(message),
            Self::Failed(error) => error,
        }
    }
}

pub(super) type DriverResult<T> = Result<T, DriverError>;

impl Driver {
    /// Starts a browser with the driver at `port`.
    pub async fn open(port: u16, capabilities: Map<String, Value>) -> Result<Arc<Self>, String> {
        let address = format!("http://127.0.0.1:{port}");
        let session = WebDriver::builder(address, Capabilities::from(capabilities))
            .client(DriverConnection::new());
        let session = session.connect().await.map_err(|error| error.to_string())?;
        let version = session.handle().capabilities().get("browserVersion").and_then(Value::as_str);
        let version = format!("WebKit/{}", version.unwrap_or("unknown"));
        let (target, switching) = (tokio::sync::Mutex::default(), Arc::default());
        Ok(Arc::new(Self { session, version, target, switching, gone: CancellationToken::new() }))
    }

    /// Returns a token that is canceled when the browser is gone.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Waits for exclusive access to the driver.
    pub async fn commands(self: &Arc<Self>) -> CommandGuard<'_> {
        let target = self.target.lock().await;
        // A switch finishes even if its caller was dropped. Without this wait, it would change the
        // window or frame of the next caller.
        drop(self.switching.lock().await);
        CommandGuard { driver: self, target }
    }

    /// Ends the browser normally, if no command is pending.
    pub async fn quit(&self) {
        let _ =
            tokio::time::timeout(CLOSE_TIMEOUT, self.session.handle().cmd(Command::DeleteSession))
                .await;
        self.gone.cancel();
    }

    async fn send(&self, command: Command) -> DriverResult<Value> {
        if self.gone.is_cancelled() {
            return Err(EngineError::BrowserGone.into());
        }
        let answer = tokio::select! {
            answer = self.session.handle().cmd(command) => answer.and_then(|answer| answer.value_json()),
            () = self.gone.cancelled() => return Err(EngineError::BrowserGone.into()),
            () = tokio::time::sleep(ANSWER_TIMEOUT) => return Err(EngineError::TimedOut(ANSWER_TIMEOUT).into()),
        };
        let Err(error) = answer else { return answer.map_err(convert_error) };
        // When the browser dies, the driver has no specific error for pending commands.
        let unknown = matches!(&*error, WebDriverErrorInner::UnknownError(_));
        let error = if unknown && !self.is_responsive().await {
            EngineError::BrowserGone.into()
        } else {
            convert_error(error)
        };
        if matches!(error, DriverError::Failed(EngineError::BrowserGone)) {
            self.gone.cancel();
        }
        Err(error)
    }

    /// Switches to another window or frame. The command finishes even if the caller is dropped.
    async fn switch(self: &Arc<Self>, command: Command, window: &Arc<str>) -> DriverResult<Value> {
        let (driver, window) = (self.clone(), window.clone());
        let switching = self.switching.clone().lock_owned().await;
        let switched = tokio::spawn(async move {
            let answer = tokio::select! {
                answer = driver.send(command) => answer,
                () = driver.await_window_close(Some(window.clone())) => Err(EngineError::PageGone.into()),
            };
            let answer = driver.distinguish_window(answer, &window).await;
            drop(switching);
            answer
        });
        switched.await.unwrap_or_else(|_| Err(EngineError::BrowserGone.into()))
    }

    /// Returns whether the browser responds to a command that never blocks.
    async fn is_responsive(&self) -> bool {
        self.windows().await.is_some()
    }

    /// Returns the handles of the windows; `None` if the driver does not respond in time.
    async fn windows(&self) -> Option<Vec<String>> {
        let reply = self.session.handle().cmd(Command::GetWindowHandles);
        tokio::time::timeout(CLOSE_TIMEOUT, reply).await.ok()?.ok()?.value().ok()
    }

    /// Converts an error that the driver returns both for a closed window and for a detached frame.
    /// The list of windows shows which of them it is.
    async fn distinguish_window(
        &self,
        answer: DriverResult<Value>,
        window: &Arc<str>,
    ) -> DriverResult<Value> {
        if !matches!(answer, Err(DriverError::Failed(EngineError::PageGone))) {
            return answer;
        }
        let is_open = |windows: Vec<String>| windows.iter().any(|other| **other == **window);
        match self.windows().await.is_some_and(is_open) {
            true => Err(EngineError::DocumentGone.into()),
            false => answer,
        }
    }

    /// Waits until `window` is closed.
    async fn await_window_close(&self, window: Option<Arc<str>>) {
        let Some(window) = window else { return std::future::pending().await };
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
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
        // Otherwise thirtyfour's `Drop` ends the session again, and blocks the current thread.
        let _ = self.session.clone().leak();
    }
}

/// A guard for exclusive access to the driver.
pub(super) struct CommandGuard<'a> {
    driver: &'a Arc<Driver>,
    target: tokio::sync::MutexGuard<'a, Option<CommandTarget>>,
}

impl CommandGuard<'_> {
    /// Switches to `window`, and in it to the frame at the end of the path `frames`.
    pub async fn select_frame(
        &mut self,
        window: &Arc<str>,
        frames: &[Arc<str>],
    ) -> DriverResult<()> {
        self.select_window(window).await?;
        let Some(target) = self.target.as_mut() else { return Ok(()) };
        // Unknown until all commands have run, because the caller can be dropped.
        let before = target.frames.take();
        if before.as_deref() != Some(frames) {
            if before.is_none_or(|before| !before.is_empty()) {
                self.driver.switch(Command::SwitchToFrameDefault, window).await?;
            }
            for frame in frames {
                let element = ElementId::from(frame.to_string());
                self.driver.switch(Command::SwitchToFrameElement(element), window).await?;
            }
        }
        target.frames = Some(frames.to_vec());
        Ok(())
    }

    /// Focuses a frame. Switching to a child frame moves the focus. Switching back to the main
    /// frame does not, so the window is selected again.
    pub async fn focus(&mut self, window: &Arc<str>, frames: &[Arc<str>]) -> DriverResult<()> {
        if frames.is_empty() {
            *self.target = None;
        } else if let Some(target) = self.target.as_mut() {
            target.frames = None;
        }
        self.select_frame(window, frames).await
    }

    /// Switches to `window`. Must not be called while a dialog is open: the driver would not
    /// respond.
    pub async fn select_window(&mut self, window: &Arc<str>) -> DriverResult<()> {
        if self.target.as_ref().is_none_or(|target| target.window != *window) {
            *self.target = None;
            let handle = WindowHandle::from(window.to_string());
            self.driver.switch(Command::SwitchToWindow(handle), window).await?;
            *self.target = Some(CommandTarget { window: window.clone(), frames: None });
        }
        Ok(())
    }

    pub async fn send(&mut self, command: Command) -> DriverResult<Value> {
        let window = self.target.as_ref().map(|target| target.window.clone());
        let mut answer = tokio::select! {
            answer = self.driver.send(command) => answer,
            () = self.driver.await_window_close(window.clone()) => Err(EngineError::PageGone.into()),
        };
        if let Some(window) = &window {
            answer = self.driver.distinguish_window(answer, window).await;
        }
        match &answer {
            Err(DriverError::Failed(EngineError::PageGone)) => *self.target = None,
            // The frame is detached, so commands have no current frame.
            Err(DriverError::Failed(EngineError::DocumentGone)) => {
                if let Some(target) = self.target.as_mut() {
                    target.frames = None;
                }
            }
            _ => {}
        }
        answer
    }

    /// Runs the body of a script function.
    pub async fn script(&mut self, body: String) -> DriverResult<Value> {
        self.send(Command::ExecuteScript(body.into(), Arc::from([]))).await
    }
}

/// Converts a WebDriver error into a [`DriverError`].
fn convert_error(error: WebDriverError) -> DriverError {
    use WebDriverErrorInner as Inner;
    let failed = match error.into_inner() {
        Inner::UnexpectedAlertOpen(info) => {
            let text = info.value.data.as_ref().and_then(|data| data["text"].as_str());
            return DriverError::Dialog(text.unwrap_or_default().to_owned());
        }
        Inner::JavascriptError(info) => return DriverError::Script(info.value.message),
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
    DriverError::Failed(failed)
}

/// An HTTP client for thirtyfour. Its default client also has TLS and proxies, which a local driver
/// does not need.
struct DriverConnection(Client<HttpConnector, Full<Bytes>>);

impl DriverConnection {
    fn new() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }
}

#[async_trait]
impl HttpClient for DriverConnection {
    async fn send(&self, request: Request<Body<'_>>) -> WebDriverResult<Response<Bytes>> {
        let failed =
            |error: &dyn std::fmt::Display| WebDriverError::RequestFailed(error.to_string());
        let (mut parts, body) = request.into_parts();
        let body = match body {
            Body::Empty => Bytes::new(),
            Body::Json(json) => serde_json::to_vec(json).map_err(|error| failed(&error))?.into(),
        };
        // The HTTP client sets these headers.
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

/// Converts a driver error for callers that expect neither a dialog nor a script's exception.
pub(super) fn into_engine_result<T>(outcome: DriverResult<T>) -> EngineResult<T> {
    outcome.map_err(DriverError::into_engine_error)
}
