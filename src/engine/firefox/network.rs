//! The network rules of contexts. Requests are stopped only while a context has rules that need it, and then
//! those of all contexts: a popup's first request would slip past a rule that names pages.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError, Weak,
    atomic::{AtomicBool, Ordering},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    Bidi,
    requests::Step,
    system::{LET_US_IN, System},
};
use crate::engine::{
    EngineResult,
    network::{Mock, NetworkRules, RequestEvent, Throttling},
};

/// The stopping of requests in a whole browser.
#[derive(Default)]
pub(super) struct Intercept {
    /// Its id while requests are stopped.
    id: AsyncMutex<Option<String>>,
    contexts: Mutex<Vec<Weak<ContextNetwork>>>,
}

/// The rules of one context.
#[derive(Default)]
pub(super) struct ContextNetwork {
    rules: Mutex<NetworkRules>,
    closed: AtomicBool,
}

#[derive(Deserialize)]
struct Added {
    intercept: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ContextNetwork {
    fn stops(&self) -> bool {
        let rules = lock(&self.rules);
        let has_rules = !rules.mocks.is_empty() || !rules.blocked.is_empty();
        has_rules && !self.closed.load(Ordering::Acquire)
    }

    /// Decides on a stopped request; `tell` takes what the log should know.
    pub fn decide(&self, bidi: &Bidi, step: &Step, tell: impl Fn(RequestEvent)) {
        let request = &step.request;
        let mock = lock(&self.rules).mock_for(&request.url).cloned();
        let answer = if let Some(mock) = mock {
            tell(RequestEvent::Mocked { id: request.request.clone() });
            bidi.post("network.provideResponse", answer(step, &mock))
        } else if lock(&self.rules).blocked.contains(&request.kind()) {
            bidi.post("network.failRequest", json!({"request": request.request}))
        } else {
            return go_on(bidi, step);
        };
        // One whose page has gone needs no answer.
        drop(answer);
    }
}

/// Lets a stopped request go on.
pub(super) fn go_on(bidi: &Bidi, step: &Step) {
    drop(bidi.post("network.continueRequest", json!({"request": step.request.request})));
}

impl Intercept {
    pub fn add(&self, network: &Arc<ContextNetwork>) {
        let mut contexts = lock(&self.contexts);
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(network));
    }

    /// Puts `rules` in place of the context's former ones.
    pub async fn set(
        &self,
        (bidi, system): (&Bidi, &System),
        user_context: &str,
        network: &ContextNetwork,
        rules: NetworkRules,
    ) -> EngineResult<()> {
        let former = std::mem::replace(&mut *lock(&network.rules), rules.clone());
        if former.offline != rules.offline {
            let conditions = if rules.offline { json!({"type": "offline"}) } else { Value::Null };
            let params = json!({"networkConditions": conditions, "userContexts": [user_context]});
            bidi.run("emulation.setNetworkConditions", params).await?;
        }
        if former.throttling != rules.throttling {
            let Throttling { download, upload, latency } = rules.throttling;
            let (download, upload) = (download.unwrap_or(0.0), upload.unwrap_or(0.0));
            let call = format!("throttle({}, {download}, {upload}, {latency})", json!(user_context));
            system.ask("slowing the network down", LET_US_IN, &call).await?;
        }
        self.update(bidi).await
    }

    /// The rules of a context that has closed hold no more.
    pub async fn remove(&self, bidi: &Bidi, network: &ContextNetwork) -> EngineResult<()> {
        network.closed.store(true, Ordering::Release);
        self.update(bidi).await
    }

    /// Begins or ends to stop requests, as the contexts need it.
    async fn update(&self, bidi: &Bidi) -> EngineResult<()> {
        let mut id = self.id.lock().await;
        let needed = lock(&self.contexts).iter().filter_map(Weak::upgrade).any(|context| context.stops());
        match (needed, id.take()) {
            (true, None) => {
                let added: Added =
                    bidi.call("network.addIntercept", json!({"phases": ["beforeRequestSent"]})).await?;
                *id = Some(added.intercept);
                // What comes from the cache is not stopped.
                bidi.run("network.setCacheBehavior", json!({"cacheBehavior": "bypass"})).await
            }
            (false, Some(intercept)) => {
                bidi.run("network.removeIntercept", json!({"intercept": intercept})).await?;
                bidi.run("network.setCacheBehavior", json!({"cacheBehavior": "default"})).await
            }
            (_, present) => {
                *id = present;
                Ok(())
            }
        }
    }
}

fn answer(step: &Step, mock: &Mock) -> Value {
    let request = &step.request;
    let header = |name: &str, value: &str| json!({"name": name, "value": {"type": "string", "value": value}});
    let mut headers: Vec<Value> = Vec::new();
    let given = |name: &str| mock.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    // Who mocks an answer wants the page to be able to read it, also where it is of another origin.
    if let Some(origin) = request.header("origin")
        && !given("access-control-allow-origin")
    {
        headers.push(header("access-control-allow-origin", origin));
        headers.push(header("access-control-allow-credentials", "true"));
    }
    let asked = request.header("access-control-request-method");
    if request.method == "OPTIONS"
        && let Some(method) = asked
    {
        headers.push(header("access-control-allow-methods", method));
        if let Some(names) = request.header("access-control-request-headers") {
            headers.push(header("access-control-allow-headers", names));
        }
        return json!({
            "request": request.request, "statusCode": 204, "reasonPhrase": "No Content", "headers": headers,
        });
    }
    headers.extend(mock.headers.iter().map(|(name, value)| header(name, value)));
    json!({
        "request": request.request,
        "statusCode": mock.status,
        "reasonPhrase": "Mocked",
        "headers": headers,
        "body": {"type": "base64", "value": STANDARD.encode(&mock.body)},
    })
}
