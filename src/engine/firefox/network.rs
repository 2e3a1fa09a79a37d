//! Applies the network rules of contexts. Requests are intercepted only while a context has rules
//! that need it, and then in all contexts: an interception for single pages would miss the first
//! request of a popup.

use std::sync::{
    Arc, Weak,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex as AsyncMutex;

use super::{
    Bidi,
    emulation::SettingsScope,
    network_events::NetworkEvent,
    privileged::{PrivilegedScript, SYSTEM_ACCESS_HINT},
};
use crate::{
    engine::{
        EngineResult,
        connection::PendingCall,
        network::{HeaderChanges, Mock, NetworkRules, RequestEvent, Route, Throttling},
        network_policy::{
            DocumentUrls, Egress, Initiator, NetworkPolicy, RequestCheck, RequestInitiator,
            RequestInterceptor,
        },
    },
    offload,
};

/// The interception of requests in the whole browser.
#[derive(Default)]
pub(super) struct RequestInterception {
    /// BiDi's id of the intercept while it is active.
    id: AsyncMutex<Option<String>>,
    contexts: Mutex<Vec<Weak<FirefoxNetwork>>>,
}

/// The rules of one context.
pub(super) struct FirefoxNetwork {
    rules: Mutex<NetworkRules>,
    egress: Option<Egress>,
    /// Whether the headers and bodies of requests are kept.
    pub keeps_details: bool,
    /// Whether the policy decides on each request.
    checks_requests: AtomicBool,
    pub request_check: RequestCheck<dyn DocumentUrls>,
    bidi: Bidi,
    intercept: Arc<RequestInterception>,
    closed: AtomicBool,
}

#[async_trait]
impl RequestInterceptor for FirefoxNetwork {
    async fn intercept_requests(&self) {
        self.checks_requests.store(true, Ordering::Release);
        if let Err(error) = self.intercept.update(&self.bidi).await {
            tracing::warn!(%error, "cannot intercept requests");
        }
    }
}

#[derive(Deserialize)]
struct AddedIntercept {
    intercept: String,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl FirefoxNetwork {
    /// Creates the rules of a context whose requests `intercept` intercepts.
    pub fn new(
        bidi: Bidi,
        intercept: &Arc<RequestInterception>,
        egress: Option<Egress>,
        keeps_details: bool,
    ) -> Arc<Self> {
        let network = Arc::new(Self {
            rules: Mutex::default(),
            egress,
            keeps_details,
            checks_requests: AtomicBool::new(false),
            request_check: RequestCheck::default(),
            bidi,
            intercept: intercept.clone(),
            closed: AtomicBool::new(false),
        });
        if let Some(egress) = &network.egress {
            egress.add_interceptor(&network);
        }
        intercept.add(&network);
        network
    }

    /// Sends the rules that apply to single tabs. `tabs` are all tabs of the context.
    pub fn post_tab_rules(
        &self,
        privileged: &PrivilegedScript,
        tabs: Vec<Arc<str>>,
    ) -> EngineResult<Vec<PendingCall>> {
        let rules = lock(&self.rules).clone();
        let scope = SettingsScope::Tabs(tabs);
        let mut sent = Vec::new();
        if rules.throttling != Throttling::default() {
            // All tabs of the context share the limit.
            sent.extend(privileged.post(&throttle(&scope, &rules.throttling))?);
        }
        if rules.offline {
            let params = network_conditions(true);
            sent.extend(scope.post(&self.bidi, SET_NETWORK_CONDITIONS, params)?);
        }
        Ok(sent)
    }

    /// Lets the policy check each request from now on.
    pub async fn check_each_request(&self) {
        if let Some(egress) = &self.egress {
            egress.check_each_request().await;
        }
    }

    /// Returns whether the policy allows an intercepted request.
    fn is_allowed(
        &self,
        step: &NetworkEvent,
        find_initiator: impl FnOnce() -> RequestInitiator,
    ) -> bool {
        let request = &step.request;
        self.policy().is_none_or(|policy| {
            let id = Some(&request.request);
            self.request_check.allows(policy, id, &request.url, find_initiator)
        })
    }

    /// Returns the policy that checks each request, if there is one.
    fn policy(&self) -> Option<&dyn NetworkPolicy> {
        let checks_requests = self.checks_requests.load(Ordering::Acquire);
        self.egress.as_ref().filter(|_| checks_requests).map(|egress| &*egress.policy)
    }

    /// Returns whether its requests must be intercepted.
    fn needs_interception(&self) -> bool {
        let rules = lock(&self.rules);
        let checks_requests = self.checks_requests.load(Ordering::Acquire);
        let has_rules = checks_requests || !rules.routes.is_empty() || !rules.blocked.is_empty();
        has_rules && !self.closed.load(Ordering::Acquire)
    }

    /// Decides on an intercepted request. `report` receives data for the log. `find_initiator`
    /// returns its initiator.
    pub fn decide(
        &self,
        bidi: &Bidi,
        step: &NetworkEvent,
        find_initiator: impl FnOnce() -> RequestInitiator,
        report: impl Fn(RequestEvent),
    ) {
        let request = &step.request;
        let route = lock(&self.rules).route_for(&request.url).cloned();
        let answer = if let Some(Route::Fulfill(mock)) = &route {
            report(RequestEvent::Mocked { id: request.request.clone() });
            offload::in_place(mock.body.len(), || {
                bidi.post("network.provideResponse", mock_response(step, mock))
            })
        } else if !self.is_allowed(step, find_initiator)
            || lock(&self.rules).blocked.contains(&request.kind())
        {
            bidi.post("network.failRequest", json!({"request": request.request}))
        } else {
            let changes = match &route {
                Some(Route::Continue(changes)) => Some(&**changes),
                _ => None,
            };
            return continue_request(bidi, step, changes);
        };
        // A request of a closed page needs no answer.
        drop(answer);
    }
}

/// Blocks an intercepted request. A request of a closed page needs no answer.
fn refuse(bidi: &Bidi, step: &NetworkEvent) {
    drop(bidi.post("network.failRequest", json!({"request": step.request.request})));
}

/// Continues an intercepted request with `changes` of its headers.
fn continue_request(bidi: &Bidi, step: &NetworkEvent, changes: Option<&HeaderChanges>) {
    let mut params = json!({"request": step.request.request});
    if let Some(changes) = changes {
        let headers = changes.apply(step.request.headers());
        let headers = headers.into_iter().map(|(name, value)| header(name, value));
        params["headers"] = headers.collect();
    }
    drop(bidi.post("network.continueRequest", params));
}

/// Returns BiDi's form of a header.
fn header(name: &str, value: &str) -> Value {
    json!({"name": name, "value": {"type": "string", "value": value}})
}

impl RequestInterception {
    /// Decides on an intercepted request of an unknown context.
    pub fn decide(&self, bidi: &Bidi, step: &NetworkEvent) {
        let contexts: Vec<_> = lock(&self.contexts).iter().filter_map(Weak::upgrade).collect();
        let url = &step.request.url;
        let mut policies = contexts.iter().filter_map(|context| context.policy());
        if policies.all(|policy| policy.allows_request(Initiator::Unknown, url)) {
            continue_request(bidi, step, None);
        } else {
            refuse(bidi, step);
        }
    }

    fn add(&self, network: &Arc<FirefoxNetwork>) {
        let mut contexts = lock(&self.contexts);
        contexts.retain(|context| context.strong_count() > 0);
        contexts.push(Arc::downgrade(network));
    }

    /// Replaces the rules of the context, whose tabs are in `scope`.
    pub async fn set(
        &self,
        (bidi, privileged): (&Bidi, &PrivilegedScript),
        scope: &SettingsScope,
        network: &FirefoxNetwork,
        rules: NetworkRules,
    ) -> EngineResult<()> {
        let former = std::mem::replace(&mut *lock(&network.rules), rules.clone());
        let applied = self.apply((bidi, privileged), scope, &former, &rules).await;
        if applied.is_err() {
            // The next call must send the rules again.
            *lock(&network.rules) = former;
        }
        applied
    }

    /// Sends the rules that differ from the `former` ones. Those that the browser may not support
    /// come first, so that nothing is applied if they fail.
    async fn apply(
        &self,
        (bidi, privileged): (&Bidi, &PrivilegedScript),
        scope: &SettingsScope,
        former: &NetworkRules,
        rules: &NetworkRules,
    ) -> EngineResult<()> {
        if former.throttling != rules.throttling {
            let call = throttle(scope, &rules.throttling);
            privileged.call("network throttling", SYSTEM_ACCESS_HINT, &call).await?;
        }
        if former.offline != rules.offline {
            let params = network_conditions(rules.offline);
            scope.run(bidi, SET_NETWORK_CONDITIONS, params).await?;
        }
        self.update(bidi).await
    }

    /// Removes the rules of a closed context.
    pub async fn remove(&self, bidi: &Bidi, network: &FirefoxNetwork) -> EngineResult<()> {
        network.closed.store(true, Ordering::Release);
        self.update(bidi).await
    }

    /// Adds or removes the intercept, depending on whether any context needs it.
    async fn update(&self, bidi: &Bidi) -> EngineResult<()> {
        let mut id = self.id.lock().await;
        let needed = lock(&self.contexts)
            .iter()
            .filter_map(Weak::upgrade)
            .any(|context| context.needs_interception());
        match (needed, id.take()) {
            (true, None) => {
                let added: AddedIntercept = bidi
                    .call("network.addIntercept", json!({"phases": ["beforeRequestSent"]}))
                    .await?;
                *id = Some(added.intercept);
                // Responses from the cache are not intercepted.
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

const SET_NETWORK_CONDITIONS: &str = "emulation.setNetworkConditions";

fn network_conditions(offline: bool) -> Value {
    let conditions = if offline { json!({"type": "offline"}) } else { Value::Null };
    json!({"networkConditions": conditions})
}

/// Returns the call of the privileged script that limits the speed of the tabs in `scope`.
fn throttle(scope: &SettingsScope, throttling: &Throttling) -> String {
    let Throttling { download, upload, latency } = throttling;
    let (download, upload) = (download.unwrap_or(0.0), upload.unwrap_or(0.0));
    let scope = match scope {
        SettingsScope::UserContext(id) => json!({"userContext": id}),
        SettingsScope::Tabs(tabs) => json!({"tabs": tabs}),
    };
    format!("throttle({scope}, {download}, {upload}, {latency})")
}

fn mock_response(step: &NetworkEvent, mock: &Mock) -> Value {
    let request = &step.request;
    let response = mock.response_to(&request.method, |name| request.header(name));
    let headers: Vec<Value> =
        response.headers.into_iter().map(|(name, value)| header(name, value)).collect();
    let mut params = json!({
        "request": request.request,
        "statusCode": response.status,
        "reasonPhrase": if response.body.is_some() { "Mocked" } else { "No Content" },
        "headers": headers,
    });
    if let Some(body) = response.body {
        params["body"] = json!({"type": "base64", "value": body});
    }
    params
}
