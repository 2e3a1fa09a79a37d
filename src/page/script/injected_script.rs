//! Calls into the script that Troupe injects into pages (`injected/`, bundled at build time).
//!
//! The script is registered for each new document and runs at its first call. Chromium caches the
//! compiled script, so that only the call is sent. If the script is missing (a document from before
//! Troupe attached, WebKit), the first call sends it.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::time::Instant;

use crate::{
    config::Config,
    engine::{FrameId, ScriptCall, World, connection::read_json},
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::{
        Page,
        script::{ANSWER_TIMEOUT, DOCUMENT_GONE, GRACE, millis},
    },
};

/// Maximum nesting depth of closed shadow roots.
const MAX_ROUNDS: usize = 16;

macro_rules! bundled {
    ($name:literal) => {
        include_str!(concat!(env!("OUT_DIR"), "/injected/", $name, ".js"))
    };
}

/// The script without and with the functions of the Playwright tool set.
const BUNDLES: [&str; 2] = [bundled!("index"), bundled!("playwright")];
const PRELUDES: [&str; 2] = [bundled!("prelude"), bundled!("playwright-prelude")];

/// Returns the script that runs in the isolated world of each document before the page's own
/// scripts.
pub fn prelude(config: &Config) -> &'static str {
    PRELUDES[usize::from(config.offers_playwright_tools())]
}

impl Page {
    /// Calls `name` of the injected script in the main frame.
    pub(in crate::page) async fn call_injected(
        &self,
        name: &str,
        arguments: Value,
    ) -> Result<Value> {
        self.call_injected_in(&self.main_frame().clone(), name, arguments).await
    }

    /// Calls `name` of the injected script in `frame`. Returns its JSON result, or the error that
    /// the script reports.
    pub(in crate::page) async fn call_injected_in(
        &self,
        frame: &FrameId,
        name: &str,
        mut arguments: Value,
    ) -> Result<Value> {
        self.add_common_arguments(frame, &mut arguments);
        let answer = self.call_with_roots(frame, name, arguments).await?;
        self.record_answer(frame, answer)
    }

    /// Creates a call of `name` of the injected script in `frame`, which the engine sends itself.
    pub(in crate::page) fn script_call(
        &self,
        frame: &FrameId,
        name: &'static str,
        mut arguments: Value,
    ) -> ScriptCall {
        self.add_common_arguments(frame, &mut arguments);
        ScriptCall { name, arguments }
    }

    /// Parses the answer to a [`Self::script_call`]. Returns the same as
    /// [`Self::call_injected_in`].
    pub(in crate::page) fn answer_of(
        &self,
        frame: &FrameId,
        call: &ScriptCall,
        answer: &str,
    ) -> Result<Value> {
        self.record_answer(frame, parse_script_answer(call.name, answer)?)
    }

    /// Adds the arguments that every call has.
    fn add_common_arguments(&self, frame: &FrameId, arguments: &mut Value) {
        if let Value::Object(map) = arguments {
            map.insert("refs".into(), self.ref_counter(frame));
            map.insert("hosts".into(), self.engine.capabilities().closed_shadow_roots.into());
        }
    }

    /// Records the refs, versions and test IDs in an answer. Returns the error that the script
    /// reports, if any.
    fn record_answer(&self, frame: &FrameId, answer: Value) -> Result<Value> {
        if let Some(next) = answer["next"].as_u64() {
            self.refs_used(frame, next);
        }
        self.snapshot_cache.record_versions(frame, &answer);
        self.test_ids.record(&answer);
        match answer.get("error") {
            Some(error) if error.is_object() => Err(self.script_refusal(error)),
            _ => Ok(answer),
        }
    }

    /// Calls a function. If the page has possible hosts of closed shadow roots that were not
    /// checked yet, lets the engine check them first, in rounds, because roots can contain hosts.
    async fn call_with_roots(
        &self,
        frame: &FrameId,
        name: &str,
        mut arguments: Value,
    ) -> Result<Value> {
        let (begun, waited) = (Instant::now(), arguments["waited"].as_u64().unwrap_or(0));
        for _ in 0..MAX_ROUNDS {
            let answer = self.call_script(frame, name, &arguments).await?;
            if answer["hosts"] != true {
                return Ok(answer);
            }
            Box::pin(self.pass_closed_roots(frame)).await?;
            if arguments["timeout"].is_u64() {
                arguments["waited"] = (waited + millis(begun.elapsed())).into();
            }
        }
        // A page that keeps adding hosts is queried without the new ones.
        arguments["hosts"] = false.into();
        self.call_script(frame, name, &arguments).await
    }

    /// Passes the closed shadow roots of unchecked hosts to the page.
    pub(in crate::page) async fn pass_closed_roots(&self, frame: &FrameId) -> Result<()> {
        let hosts = "globalThis.__troupe?.takeUncheckedHosts()";
        let passed = self.engine.pass_closed_roots(frame, hosts, "__troupe.adoptShadowRoots");
        let passed = self.guarded(passed).await;
        if passed.is_err() {
            // `readNavigation` awaits the end of the search. This call fails, too, if the document
            // is gone.
            let end = "globalThis.__troupe?.adoptShadowRoots()";
            let _ = self.guarded(self.engine.evaluate(frame, World::Isolated, end)).await;
        }
        passed
    }

    async fn call_script(&self, frame: &FrameId, name: &str, arguments: &Value) -> Result<Value> {
        // A wait has its own timeout in the page. This limit is for a page whose event loop is
        // blocked.
        let limit = arguments["timeout"].as_u64().map_or(ANSWER_TIMEOUT, |timeout| {
            let waited = arguments["waited"].as_u64().unwrap_or(0);
            Duration::from_millis(timeout.saturating_sub(waited)) + GRACE
        });
        let arguments = offload::in_place(offload::json_size(arguments), || arguments.to_string());
        let called =
            self.guarded_for(limit, self.engine.call_script(frame, name, &arguments)).await?;
        let answer = match called {
            Value::String(answer) => answer,
            // The document does not have the script yet.
            _ => {
                let bundle = BUNDLES[usize::from(self.config.offers_playwright_tools())];
                let call = format!("{bundle};\n__troupe.{name}({arguments})");
                match self
                    .guarded_for(limit, self.engine.evaluate(frame, World::Isolated, &call))
                    .await?
                {
                    Value::String(answer) => answer,
                    other => return Err(unreadable(name, &other.to_string())),
                }
            }
        };
        parse_script_answer(name, &answer)
    }

    /// Runs `work`. Repeats it in the next document if a navigation replaces the document
    /// meanwhile.
    pub(in crate::page) async fn in_one_document<'a, T>(
        &self,
        work: impl Fn() -> BoxFuture<'a, Result<T>>,
    ) -> Result<T> {
        loop {
            let mark = self.state.mark();
            match work().await {
                Err(error) if self.document_was_replaced(&error) => {
                    // Waits for the commit of the next document.
                    let committed =
                        self.state.await_some(|facts| facts.committed_since(mark).then_some(()));
                    if self.within(self.config.timeout_navigation, committed).await.is_none() {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
    }

    /// Returns whether a call failed because its document was replaced by a navigation.
    pub(in crate::page) fn document_was_replaced(&self, error: &TroupeError) -> bool {
        error.code == ErrorCode::BrowserError
            && error.details.get("reason").is_some_and(|reason| reason == DOCUMENT_GONE)
    }

    fn script_refusal(&self, error: &Value) -> TroupeError {
        let code =
            serde_json::from_value(error["code"].clone()).unwrap_or(ErrorCode::InternalError);
        let message = error["message"].as_str().unwrap_or("the injected script failed");
        let mut refusal = TroupeError::new(code, message);
        if let Some(details) = error["details"].as_object() {
            refusal.details.clone_from(details);
        }
        if let Some(suggestion) = error["suggestion"].as_str() {
            refusal = refusal.suggestion(suggestion);
        }
        refusal.detail("page", self.url())
    }
}

fn parse_script_answer(name: &str, answer: &str) -> Result<Value> {
    offload::in_place(answer.len(), || read_json(answer))
        .map_err(|error| unreadable(name, &error.to_string()))
}

fn unreadable(name: &str, what: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::InternalError,
        format!("the injected script's `{name}` returned an invalid result: {what}"),
    )
}
