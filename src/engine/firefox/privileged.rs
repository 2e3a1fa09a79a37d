//! Runs a privileged script in the browser's chrome window.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Bidi, remote_value::ScriptResult};
use crate::engine::{EngineError, EngineResult, ScriptCall, connection::PendingCall};

const SCRIPT: &str = include_str!("privileged.js");
/// The frame script that it loads into the content process of each tab.
const INPUT_ACTOR: &str = include_str!("input_actor.js");
/// The suggestion for an attached browser that does not allow privileged scripts.
pub(super) const SYSTEM_ACCESS_HINT: &str = "start Firefox with --remote-allow-system-access";
/// The parent process answers immediately unless it hangs.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The name of the event that carries the script's messages.
pub(super) const MESSAGE_EVENT: &str = "troupe.message";

/// A message from the script.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum PrivilegedMessage {
    /// A tab has opened.
    #[serde(rename_all = "camelCase")]
    Tab {
        user_context: Arc<str>,
        context: Arc<str>,
        /// The URL that a page opened in it, if already known.
        url: Option<String>,
        /// The page that opened it, if known.
        opener: Option<Arc<str>>,
    },
    /// The content process of a page crashed.
    Crashed { context: Arc<str> },
    /// A page is opening a dialog.
    Dialog { context: Arc<str> },
    /// A document sent a request. BiDi reports it, too, but later.
    RequestSent { context: Arc<str>, channel: u64, kind: ScriptedRequest },
    /// The parent process has the whole response.
    ResponseReceived { context: Arc<str>, channel: u64 },
    /// The document has the whole response, or the request failed.
    RequestFinished { context: Arc<str>, channel: u64 },
    /// The progress of a checked click.
    Click {
        context: Arc<str>,
        click: u64,
        #[serde(flatten)]
        progress: ClickProgress,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ClickProgress {
    /// The check's result, and whether the button is pressed next.
    Checked {
        result: Option<String>,
        pressing: bool,
    },
    Pressed {},
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ScriptedRequest {
    Script,
    Fetch,
}

/// A handle to the script. `window` is `None` if the browser does not allow privileged scripts.
#[derive(Clone)]
pub(super) struct PrivilegedScript {
    bidi: Bidi,
    window: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct ContextTree {
    contexts: Vec<TopLevelContext>,
}

#[derive(Deserialize)]
struct TopLevelContext {
    context: Arc<str>,
    url: String,
}

impl PrivilegedScript {
    /// Loads the script into the chrome window, which is invisible if `headless`.
    pub async fn open(bidi: &Bidi, headless: bool) -> EngineResult<Self> {
        let tree = bidi
            .call("browsingContext.getTree", json!({"moz:scope": "chrome", "maxDepth": 0}))
            .await;
        let tree: ContextTree = match tree {
            Err(EngineError::Refused(reason)) => {
                tracing::warn!(
                    reason,
                    "this Firefox was started without --remote-allow-system-access"
                );
                return Ok(Self { bidi: bidi.clone(), window: None });
            }
            other => other?,
        };
        let windows = tree.contexts.into_iter();
        let window = windows
            .filter(|window| window.url.ends_with("/browser.xhtml"))
            .map(|window| window.context);
        let privileged = Self { bidi: bidi.clone(), window: window.last() };
        if let Some(window) = &privileged.window {
            let outcome: ScriptResult = bidi
                .call(
                    "script.callFunction",
                    json!({
                        "functionDeclaration": SCRIPT,
                        "arguments": [
                            {"type": "string", "value": INPUT_ACTOR},
                            {"type": "boolean", "value": headless},
                        ],
                        "target": {"context": window},
                        "awaitPromise": false,
                    }),
                )
                .await?;
            outcome.value()?;
        }
        Ok(privileged)
    }

    /// Calls a function of the script and waits for the result. `instead` is the suggestion if the
    /// browser does not allow privileged scripts.
    pub async fn call(
        &self,
        what: &'static str,
        instead: &'static str,
        call: &str,
    ) -> EngineResult<Value> {
        let sent = self.post(call)?.ok_or(EngineError::Unsupported { what, instead })?;
        let answer = tokio::time::timeout(TIMEOUT, sent.read::<ScriptResult>());
        answer
            .await
            .map_err(|_| EngineError::TimedOut(TIMEOUT))?
            .map_err(super::convert_error)?
            .value()
    }

    /// Like [`Self::call`], but does not wait. Returns `None` if the browser does not allow
    /// privileged scripts.
    pub fn post(&self, call: &str) -> EngineResult<Option<PendingCall>> {
        let Some(window) = &self.window else { return Ok(None) };
        let params = json!({
            "expression": format!("troupe.{call}"),
            "target": {"context": window},
            "awaitPromise": true,
        });
        self.bidi.post("script.evaluate", params).map(Some)
    }

    /// Returns whether the browser allows privileged scripts.
    pub fn is_open(&self) -> bool {
        self.window.is_some()
    }

    /// Starts a checked click in a page's main frame: a check, a click at the point in its result,
    /// and a second call. The response is the result of the second call.
    pub fn start_checked_click(
        &self,
        page: &str,
        (number, time): (u64, Duration),
        (check, then): (&ScriptCall, &ScriptCall),
        events: &Value,
    ) -> EngineResult<Option<PendingCall>> {
        let time = time.as_millis();
        self.post(&format!(
            "click({}, {number}, {time}, {}, {events}, {})",
            json!(page),
            json!(check),
            json!(then)
        ))
    }

    /// Like [`Self::dispatch_mouse`], but does not wait.
    pub fn post_mouse(
        &self,
        page: &str,
        focus: bool,
        events: &Value,
    ) -> EngineResult<Option<PendingCall>> {
        self.post(&format!("dispatchMouse({}, {focus}, {events})", json!(page)))
    }

    /// Dispatches mouse events in a page's main frame, in one round trip. Returns false if the
    /// frame script is not loaded there. With `focus`, focuses the page before.
    pub async fn dispatch_mouse(
        &self,
        page: &str,
        focus: bool,
        events: &Value,
    ) -> EngineResult<bool> {
        let Some(sent) = self.post_mouse(page, focus, events)? else { return Ok(false) };
        match sent.read::<ScriptResult>().await.map_err(super::convert_error)?.value() {
            Ok(done) => Ok(done == true),
            Err(EngineError::Script(failure)) if super::document_gone("", &failure.message) => {
                Err(EngineError::DocumentGone)
            }
            Err(error) => Err(error),
        }
    }
}
