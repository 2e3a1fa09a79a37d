//! Applies the network rules of one context in each of its CDP sessions: pages, out-of-process
//! iframes, shared and service workers. Requests of a dedicated worker pass through the session of
//! its page or frame.
//!
//! Requests are intercepted (`Fetch`) only while a rule needs it. Requests of shared workers are
//! always intercepted, because Chromium ignores a `Fetch.enable` that comes after the worker has
//! started. The resource types in `Fetch` are coarser than those in `Network` (`fetch` is `XHR`, a
//! worker's script is `Other`). So while a type is blocked, the types of announced requests are
//! stored.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
#[expect(
    deprecated,
    reason = "its successors take two commands, and older browsers do not support them"
)]
use chromiumoxide::cdp::browser_protocol::network::EmulateNetworkConditionsParams;
use chromiumoxide::cdp::browser_protocol::{
    fetch::{
        ContinueRequestParams, DisableParams, EnableParams, FailRequestParams,
        FulfillRequestParams, HeaderEntry,
    },
    network::{
        EmulateNetworkConditionsByRuleParams, ErrorReason, NetworkConditions,
        SetCacheDisabledParams,
    },
    target::CloseTargetParams,
};
use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::{
    requests::CdpRequest,
    session::{CdpSession, parse_event},
};
use crate::{
    engine::{
        EngineResult, FrameId, PageEvent,
        connection::PendingCall,
        network::{
            HeaderChanges, Mock, NetworkRules, RequestEvent, ResourceType, Route, Throttling,
        },
        network_policy::{
            DocumentUrls, Egress, InterceptedRequest, RequestCheck, RequestInitiator,
            RequestInterceptor,
        },
    },
    offload,
};

/// Maximum time for pages to apply new rules. A page that is blocked by a dialog or a script
/// applies them later.
const APPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time for an intercepted request to be announced by `Network`, possibly in another
/// session.
const KIND_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of requests whose types are stored. Fewer are in flight at once.
const MAX_KINDS: usize = 2048;
/// The URLs of WebSockets, which `Fetch` does not intercept.
const WEBSOCKET_URLS: [&str; 2] = ["ws://*:*/*", "wss://*:*/*"];
/// A latency in milliseconds that no client waits for.
const NEVER_MS: f64 = 86_400_000.0;

/// A page that receives the network events of its context's workers.
pub(super) trait NetworkPage: DocumentUrls {
    fn emit(&self, event: PageEvent);
}

/// The network rules of one context, and the sessions that they apply to.
pub(super) struct CdpContextNetwork {
    state: Mutex<NetworkState>,
    egress: Option<Egress>,
    request_check: RequestCheck<dyn NetworkPage>,
    /// Whether the headers and bodies of requests are kept.
    pub keeps_details: bool,
}

#[derive(Default)]
struct NetworkState {
    rules: NetworkRules,
    /// Whether each request is intercepted and checked by the policy.
    intercepts_all: bool,
    members: HashMap<Arc<str>, NetworkMember>,
    kinds: HashMap<Arc<str>, ResourceType>,
    /// The keys of `kinds`, the oldest first.
    kind_order: VecDeque<Arc<str>>,
    /// The receivers of types that are not announced yet.
    awaited_kinds: HashMap<Arc<str>, oneshot::Sender<ResourceType>>,
}

/// A session that the rules apply to.
struct NetworkMember {
    cdp: CdpSession,
    /// `None` for a page or an out-of-process iframe.
    worker: Option<ContextWorker>,
}

impl NetworkMember {
    /// Returns whether its requests are intercepted whatever the rules are.
    fn always_intercepts(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.shared)
    }
}

/// A shared or service worker.
pub(super) struct ContextWorker {
    pub target: String,
    /// The URL of its script.
    pub url: String,
    /// False for a service worker.
    pub shared: bool,
}

impl ContextWorker {
    fn end(&self, cdp: &CdpSession) -> EngineResult<PendingCall> {
        let browser = cdp.browser();
        browser.post(CloseTargetParams::new(self.target.clone()))
    }
}

/// The parameters of `Fetch.requestPaused`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PausedRequest {
    request_id: String,
    request: CdpRequest,
    resource_type: String,
    network_id: Option<String>,
    pub frame_id: Option<FrameId>,
}

impl PausedRequest {
    /// Returns the properties that show its initiator, in the page whose main frame is `main`.
    pub fn intercepted(&self, main: &FrameId) -> InterceptedRequest<'_> {
        let is_document = self.resource_type == "Document";
        let is_main_frame = self.frame_id.as_ref() == Some(main);
        let referrer = self.request.header("referer");
        InterceptedRequest::new(&self.request.url, is_document, is_main_frame, referrer)
    }
}

#[async_trait]
impl RequestInterceptor for CdpContextNetwork {
    async fn intercept_requests(&self) {
        let responses: Vec<PendingCall> = {
            let mut state = self.state();
            state.intercepts_all = true;
            let commands = state.members.values().filter_map(|member| match &member.worker {
                Some(worker) if !self.is_allowed_to_run(worker) => worker.end(&member.cdp).ok(),
                Some(ContextWorker { shared: true, .. }) => None,
                _ => member.cdp.post(EnableParams::default()).ok(),
            });
            commands.collect()
        };
        let _ = tokio::time::timeout(
            APPLY_TIMEOUT,
            join_all(responses.into_iter().map(PendingCall::raw)),
        )
        .await;
    }
}

impl CdpContextNetwork {
    pub fn new(egress: Option<Egress>, keeps_details: bool) -> Arc<Self> {
        let network = Arc::new(Self {
            state: Mutex::default(),
            egress,
            request_check: RequestCheck::default(),
            keeps_details,
        });
        if let Some(egress) = &network.egress {
            egress.add_interceptor(&network);
        }
        network
    }

    /// Lets the policy check each request from now on.
    pub async fn check_each_request(&self) {
        if let Some(egress) = &self.egress {
            egress.check_each_request().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, NetworkState> {
        self.state.lock()
    }

    /// Replaces the rules in all present and future sessions.
    pub async fn set(&self, rules: NetworkRules) {
        let responses: Vec<PendingCall> = {
            let mut state = self.state();
            let former = std::mem::replace(&mut state.rules, rules);
            let NetworkState { rules, intercepts_all, members, .. } = &*state;
            // Closed targets need no rules.
            members
                .values()
                .filter_map(|member| apply_rules(member, *intercepts_all, &former, rules).ok())
                .flatten()
                .collect()
        };
        let _ = tokio::time::timeout(
            APPLY_TIMEOUT,
            join_all(responses.into_iter().map(PendingCall::raw)),
        )
        .await;
    }

    /// Returns whether a shared or service worker may run while requests are checked. Its own
    /// requests are not reliably intercepted, so only workers of private hosts that the client has
    /// requested may run.
    fn is_allowed_to_run(&self, worker: &ContextWorker) -> bool {
        self.egress.as_ref().is_none_or(|egress| egress.policy.is_requested_by_client(&worker.url))
    }

    /// Adds a paused session. Sends the rules before its target runs. Returns false if the target
    /// must not run.
    pub fn join(&self, cdp: &CdpSession, worker: Option<ContextWorker>) -> bool {
        let Some(session) = cdp.id.clone() else { return false };
        let always_intercepts = worker.as_ref().is_some_and(|worker| worker.shared);
        let member = NetworkMember { cdp: cdp.clone(), worker };
        let mut state = self.state();
        if let Some(worker) = member
            .worker
            .as_ref()
            .filter(|worker| state.intercepts_all && !self.is_allowed_to_run(worker))
        {
            tracing::warn!(
                script = worker.url,
                "stopped a shared or service worker of a public host, because the context has private hosts"
            );
            drop(worker.end(cdp));
            return false;
        }
        // Fails only if the target has gone.
        if always_intercepts || state.intercepts_all {
            drop(cdp.post(EnableParams::default()));
        }
        drop(apply_rules(&member, state.intercepts_all, &NetworkRules::default(), &state.rules));
        state.members.insert(session, member);
        true
    }

    pub fn leave(&self, session: &Arc<str>) {
        self.state().members.remove(session);
    }

    pub fn add_page(&self, page: Weak<dyn NetworkPage>) {
        self.request_check.add_page(page);
    }

    /// Emits `event` to every page of the context.
    pub fn emit_to_pages(&self, event: &PageEvent) {
        for page in self.request_check.pages() {
            page.emit(event.clone());
        }
    }

    /// Stores the type of a request while types are blocked.
    pub fn record_kind(&self, event: &RequestEvent) {
        let mut state = self.state();
        if state.rules.blocked.is_empty() {
            return;
        }
        if let RequestEvent::Sent { id, kind, .. } = event {
            if let Some(awaited_kinds) = state.awaited_kinds.remove(id) {
                let _ = awaited_kinds.send(*kind);
            }
            if state.kinds.insert(id.clone(), *kind).is_none() {
                state.kind_order.push_back(id.clone());
            }
            if state.kind_order.len() > MAX_KINDS
                && let Some(oldest) = state.kind_order.pop_front()
            {
                state.kinds.remove(&oldest);
            }
        }
    }

    /// Continues, changes, mocks or blocks the intercepted request in `params`. `initiator` finds
    /// its initiator, and `log` receives events for the request log.
    pub fn paused(
        self: &Arc<Self>,
        cdp: &CdpSession,
        params: &RawValue,
        initiator: impl FnOnce(&PausedRequest) -> RequestInitiator,
        log: impl Fn(RequestEvent),
    ) {
        let Some(paused) = parse_event::<PausedRequest>("Fetch.requestPaused", params) else {
            return;
        };
        let id: Option<Arc<str>> = paused.network_id.as_deref().map(Into::into);
        let mut state = self.state();
        let changes = match state.rules.route_for(&paused.request.url).cloned() {
            Some(Route::Fulfill(mock)) => {
                drop(state);
                if let Some(id) = id {
                    log(RequestEvent::Mocked { id });
                }
                let fulfill = || cdp.post(mock_response(&paused, &mock));
                drop(offload::in_place(mock.body.len(), fulfill));
                return;
            }
            _ if state.rules.origins.blocks(&paused.request.url) => {
                drop(state);
                return block(cdp, paused);
            }
            Some(Route::Continue(changes)) => Some(changes),
            None => None,
        };
        let decide = move |cdp: &CdpSession, paused: PausedRequest, blocked: bool| {
            if blocked { block(cdp, paused) } else { resume(cdp, paused, changes.as_deref()) }
        };
        if state.intercepts_all
            && let Some(Egress { policy, .. }) = &self.egress
        {
            drop(state);
            let url = &paused.request.url;
            let find_initiator = || initiator(&paused);
            if !self.request_check.allows(&**policy, id.as_ref(), url, find_initiator) {
                return block(cdp, paused);
            }
            state = self.state();
        }
        if state.rules.blocked.is_empty() {
            drop(state);
            return decide(cdp, paused, false);
        }
        let intercepted_kind = paused.request.kind(&paused.resource_type);
        let announced = id.as_ref().and_then(|id| state.kinds.get(id).copied());
        let certain = possible_kinds(intercepted_kind) == [intercepted_kind]
            && intercepted_kind != ResourceType::Other;
        match (announced, id) {
            (None, Some(id)) if !certain => {
                let (sender, receiver) = oneshot::channel();
                state.awaited_kinds.insert(id.clone(), sender);
                drop(state);
                let (network, cdp) = (self.clone(), cdp.clone());
                // Ends within `KIND_TIMEOUT`.
                tokio::spawn(async move {
                    let announced = tokio::time::timeout(KIND_TIMEOUT, receiver).await;
                    let mut state = network.state();
                    state.awaited_kinds.remove(&id);
                    let is_blocked = |kind: &ResourceType| state.rules.blocked.contains(kind);
                    let blocked = match announced {
                        Ok(Ok(kind)) => is_blocked(&kind),
                        // If the type is unknown, block the request rather than let a blocked type
                        // through.
                        _ => possible_kinds(intercepted_kind).iter().any(is_blocked),
                    };
                    drop(state);
                    decide(&cdp, paused, blocked);
                });
            }
            (announced, _) => {
                let blocked = state.rules.blocked.contains(&announced.unwrap_or(intercepted_kind));
                drop(state);
                decide(cdp, paused, blocked);
            }
        }
    }
}

/// Returns the possible types of an intercepted request: `Fetch` has fewer types than `Network`,
/// which announces it.
fn possible_kinds(kind: ResourceType) -> Vec<ResourceType> {
    match kind {
        ResourceType::Xhr => {
            vec![ResourceType::Xhr, ResourceType::Fetch, ResourceType::EventSource]
        }
        ResourceType::Media => vec![ResourceType::Media, ResourceType::TextTrack],
        kind => vec![kind],
    }
}

/// Blocks an intercepted request. Errors are ignored: they mean that the page has gone.
fn block(cdp: &CdpSession, paused: PausedRequest) {
    drop(cdp.post(FailRequestParams::new(paused.request_id, ErrorReason::BlockedByClient)));
}

/// Continues an intercepted request with `changes` of its headers. Errors are ignored: they mean
/// that the page has gone.
fn resume(cdp: &CdpSession, paused: PausedRequest, changes: Option<&HeaderChanges>) {
    let PausedRequest { request_id, request, .. } = paused;
    let mut params = ContinueRequestParams::new(request_id);
    params.headers = changes.map(|changes| {
        let headers = changes.apply(request.headers()).into_iter();
        headers.map(|(name, value)| HeaderEntry::new(name, value)).collect()
    });
    drop(cdp.post(params));
}

/// Sends the commands that replace `former` rules with `rules` in one session.
#[expect(deprecated, reason = "see its import")]
fn apply_rules(
    member: &NetworkMember,
    intercepts_all: bool,
    former: &NetworkRules,
    rules: &NetworkRules,
) -> EngineResult<Vec<PendingCall>> {
    let mut batch = member.cdp.batch();
    let intercepts = |rules: &NetworkRules| {
        !rules.routes.is_empty()
            || !rules.origins.is_empty()
            || rules.blocked.iter().any(|kind| *kind != ResourceType::WebSocket)
    };
    if intercepts(rules) != intercepts(former) {
        if member.always_intercepts() || intercepts_all {
            // Interception stays on.
        } else if intercepts(rules) {
            batch.add(EnableParams::default())?;
        } else {
            batch.add(DisableParams {})?;
        }
        // Responses from the cache are not intercepted.
        batch.add(SetCacheDisabledParams::new(intercepts(rules)))?;
    }
    let conditions = |rules: &NetworkRules| {
        (rules.offline, rules.throttling, rules.blocked.contains(&ResourceType::WebSocket))
    };
    if conditions(rules) != conditions(former) {
        let Throttling { download, upload, latency } = rules.throttling;
        let (download, upload) = (download.unwrap_or(-1.0), upload.unwrap_or(-1.0));
        // Also removes the conditions of former rules.
        batch.add(EmulateNetworkConditionsParams::new(rules.offline, latency, download, upload))?;
        if rules.blocked.contains(&ResourceType::WebSocket) && !rules.offline {
            batch.add(block_websockets(rules.throttling, latency, download, upload))?;
        }
    }
    batch.send()
}

/// Returns the command that keeps WebSockets from connecting. `offline` applies to all rules of the
/// command, and rules replace the throttling. So with throttling, WebSockets are not refused but
/// never finish connecting.
fn block_websockets(
    throttling: Throttling,
    latency: f64,
    download: f64,
    upload: f64,
) -> EmulateNetworkConditionsByRuleParams {
    if throttling == Throttling::default() {
        let rules =
            WEBSOCKET_URLS.iter().map(|urls| NetworkConditions::new(*urls, 0.0, -1.0, -1.0));
        return EmulateNetworkConditionsByRuleParams::new(true, rules.collect());
    }
    let rules = WEBSOCKET_URLS.iter().map(|urls| NetworkConditions::new(*urls, NEVER_MS, 1.0, 1.0));
    let others = NetworkConditions::new("", latency, download, upload);
    EmulateNetworkConditionsByRuleParams::new(false, rules.chain([others]).collect())
}

fn mock_response(paused: &PausedRequest, mock: &Mock) -> FulfillRequestParams {
    let request = &paused.request;
    let response = mock.response_to(&request.method, |name| request.header(name));
    let headers =
        response.headers.into_iter().map(|(name, value)| HeaderEntry::new(name, value)).collect();
    let mut answer =
        FulfillRequestParams::new(paused.request_id.clone(), i64::from(response.status));
    answer.response_headers = Some(headers);
    answer.body = response.body.map(|body| body.to_owned().into());
    answer
}
