//! Runs a script in the browser's own window, with the browser's privileges.

use std::{sync::Arc, time::Duration};

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Bidi, value::Outcome};
use crate::engine::{EngineError, EngineResult, ScriptCall, connection::Sent};

const SCRIPT: &str = include_str!("system.js");
/// The script that it loads outside of the documents of each tab.
const INPUT_ACTOR: &str = include_str!("input_actor.js");
/// What to do where a browser that somebody else started does not let us in.
pub(super) const LET_US_IN: &str = "start Firefox with --remote-allow-system-access";
/// The browser's own window answers at once, or hangs.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The event by which the script tells us something.
pub(super) const TOLD: &str = "troupe.told";

/// A message of the script.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Told {
    /// A tab has opened.
    #[serde(rename_all = "camelCase")]
    Tab {
        user_context: Arc<str>,
        context: Arc<str>,
        /// Where it leads that a page has opened, if that is known already.
        leads: Option<String>,
    },
    /// A window opens, with a tab that is not there yet.
    #[serde(rename_all = "camelCase")]
    Window {
        user_context: Arc<str>,
    },
    /// A page's process has died.
    Crashed {
        context: Arc<str>,
    },
    /// A dialog of a page is being drawn.
    Dialog {
        context: Arc<str>,
    },
    /// A document asks for something, of which BiDi will tell, too: until `Asked` it has not heard all of the answer.
    Asks {
        context: Arc<str>,
        channel: u64,
        kind: AskedFor,
    },
    /// All of the answer is in the browser's own process.
    Answered {
        context: Arc<str>,
        channel: u64,
    },
    Asked {
        context: Arc<str>,
        channel: u64,
    },
    /// How far a press between two calls is.
    Step {
        context: Arc<str>,
        press: u64,
        #[serde(flatten)]
        step: Step,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Step {
    Looked { looked: Option<String>, pressing: bool },
    Pressed {},
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum AskedFor {
    Script,
    Fetch,
}

/// `None` in a browser that does not let us in.
#[derive(Clone)]
pub(super) struct System {
    bidi: Bidi,
    window: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Tree {
    contexts: Vec<Window>,
}

#[derive(Deserialize)]
struct Window {
    context: Arc<str>,
    url: String,
}

impl System {
    /// Loads the script into the browser's window, which is invisible if `headless`.
    pub async fn open(bidi: &Bidi, headless: bool) -> EngineResult<Self> {
        let tree = bidi
            .call("browsingContext.getTree", json!({"moz:scope": "chrome", "maxDepth": 0}))
            .await;
        let tree: Tree = match tree {
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
        let system = Self { bidi: bidi.clone(), window: window.last() };
        if let Some(window) = &system.window {
            let outcome: Outcome = bidi
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
        Ok(system)
    }

    /// Calls the script, `name(…)`; `instead` is what to do where the browser does not let us in.
    pub async fn ask(
        &self,
        what: &'static str,
        instead: &'static str,
        call: &str,
    ) -> EngineResult<Value> {
        let sent = self.tell(call)?.ok_or(EngineError::Unsupported { what, instead })?;
        let answer = tokio::time::timeout(TIMEOUT, sent.read::<Outcome>());
        answer.await.map_err(|_| EngineError::TimedOut(TIMEOUT))?.map_err(super::meaning)?.value()
    }

    /// As [`Self::ask`], not awaited; nothing where the browser does not let us in.
    pub fn tell(&self, call: &str) -> EngineResult<Option<Sent>> {
        let Some(window) = &self.window else { return Ok(None) };
        let params = json!({
            "expression": format!("troupe.{call}"),
            "target": {"context": window},
            "awaitPromise": true,
        });
        self.bidi.post("script.evaluate", params).map(Some)
    }

    /// Whether the browser lets us in.
    pub fn is_open(&self) -> bool {
        self.window.is_some()
    }

    /// Begins a press between two calls in a page's main frame; the answer, once it is there, is the second call's.
    pub fn press(
        &self,
        page: &str,
        (number, time): (u64, Duration),
        (look, then): (&ScriptCall, &ScriptCall),
        events: &Value,
    ) -> EngineResult<Option<Sent>> {
        let time = time.as_millis();
        self.tell(&format!(
            "press({}, {number}, {time}, {}, {events}, {})",
            json!(page),
            json!(look),
            json!(then)
        ))
    }

    /// Moves and presses the pointer in a page's main frame, in one round trip. Returns false if the script does not
    /// run there. With `focus`, the page gets the focus before.
    pub async fn point(&self, page: &str, focus: bool, events: &Value) -> EngineResult<bool> {
        let call = format!("point({}, {focus}, {events})", json!(page));
        let Some(sent) = self.tell(&call)? else { return Ok(false) };
        match sent.read::<Outcome>().await.map_err(super::meaning)?.value() {
            Ok(done) => Ok(done == true),
            Err(EngineError::Script(failure)) if super::document_gone("", &failure.message) => {
                Err(EngineError::DocumentGone)
            }
            Err(error) => Err(error),
        }
    }
}
