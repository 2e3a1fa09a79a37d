//! Applies the network rules of one context in each of its CDP sessions: pages, out-of-process iframes, shared and
//! service workers. Requests of a dedicated worker pass through the session of its page or frame.
//!
//! Requests are intercepted (`Fetch`) only while a rule needs it. Requests of shared workers are always
//! intercepted, because Chromium ignores a `Fetch.enable` that comes after the worker has started. The resource
//! types in `Fetch` are coarser than those in `Network` (`fetch` is `XHR`, a worker's script is `Other`). So while
//! a type is blocked, the types of announced requests are stored.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
#[expect(
    deprecated,
    reason = "its successors take two commands, and are unknown to browsers of a year ago"
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

use super::{Link, browser::parse, page::ChromiumPage, requests::Request};
use crate::{
    engine::{
        EngineResult, FrameId, PageEvent,
        connection::Sent,
        network::{Mock, NetworkRules, RequestEvent, ResourceType, Throttling},
        network_policy::{
            Egress, InterceptedRequest, Redirects, RequestInitiator, RequestInterceptor,
            RequestTarget,
        },
    },
    offload,
};

/// A page that does not respond (a dialog, a busy script) gets its rules later, and callers do not wait for it.
const APPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a stopped request waits for its announcement, which is on its way on another session.
const KIND_TIMEOUT: Duration = Duration::from_secs(3);
/// Requests whose type is remembered; those in flight at once are fewer.
const KINDS: usize = 2048;
/// What only WebSockets have; `Fetch` does not see them.
const SOCKETS: [&str; 2] = ["ws://*:*/*", "wss://*:*/*"];
/// Milliseconds: longer than anybody waits.
const NEVER: f64 = 86_400_000.0;

pub(super) struct ContextNetwork {
    state: Mutex<State>,
    egress: Option<Egress>,
}

#[derive(Default)]
struct State {
    rules: NetworkRules,
    /// Whether each request is put to the policy.
    intercepts_all: bool,
    members: HashMap<Arc<str>, Member>,
    pages: Vec<Weak<ChromiumPage>>,
    kinds: HashMap<Arc<str>, ResourceType>,
    /// The same, the oldest first.
    kept: VecDeque<Arc<str>>,
    /// Who waits for the type of a request.
    waiting: HashMap<Arc<str>, oneshot::Sender<ResourceType>>,
    redirects: Redirects,
}

/// A session that the rules hold in.
struct Member {
    link: Link,
    /// `None`: a page, or a frame of it.
    worker: Option<Worker>,
}

impl Member {
    /// Whether its requests are stopped whatever the rules are.
    fn always_stops(&self) -> bool {
        self.worker.as_ref().is_some_and(|worker| worker.shared)
    }
}

/// A worker that is no one page's.
pub(super) struct Worker {
    pub target: String,
    /// Where its script comes from.
    pub url: String,
    /// Or else a service worker.
    pub shared: bool,
}

impl Worker {
    fn end(&self, link: &Link) -> EngineResult<Sent> {
        let browser = Link { wire: link.wire.clone(), session: None };
        browser.post(CloseTargetParams::new(self.target.clone()))
    }
}

/// A request that is stopped until it is decided on.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Paused {
    request_id: String,
    request: Request,
    resource_type: String,
    network_id: Option<String>,
    pub frame_id: Option<FrameId>,
}

impl Paused {
    /// As far as it tells whose it is, in the page whose main frame is `main`.
    pub fn stopped(&self, main: &FrameId) -> InterceptedRequest<'_> {
        let target = match self.resource_type.as_str() {
            "Document" if self.frame_id.as_ref() == Some(main) => RequestTarget::MainFrame,
            "Document" => RequestTarget::Subframe,
            _ => RequestTarget::Other,
        };
        InterceptedRequest {
            url: &self.request.url,
            target,
            referrer: self.request.header("referer"),
        }
    }
}

#[async_trait]
impl RequestInterceptor for ContextNetwork {
    async fn intercept_requests(&self) {
        let answers: Vec<Sent> = {
            let mut state = self.state();
            state.intercepts_all = true;
            let asked = state.members.values().filter_map(|member| match &member.worker {
                Some(worker) if !self.may_run(worker) => worker.end(&member.link).ok(),
                Some(Worker { shared: true, .. }) => None,
                _ => member.link.post(EnableParams::default()).ok(),
            });
            asked.collect()
        };
        let _ =
            tokio::time::timeout(APPLY_TIMEOUT, join_all(answers.into_iter().map(Sent::raw))).await;
    }
}

impl ContextNetwork {
    pub fn new(egress: Option<Egress>) -> Arc<Self> {
        let network = Arc::new(Self { state: Mutex::default(), egress });
        if let Some(Egress { gateway, .. }) = &network.egress {
            let interceptor: Weak<Self> = Arc::downgrade(&network);
            gateway.set_interceptor(interceptor);
        }
        network
    }

    /// Has each request put to the policy.
    pub async fn intercept_requests(&self) {
        if let Some(Egress { gateway, .. }) = &self.egress {
            gateway.intercept_requests().await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Puts `rules` in place of the former ones, in all that runs now and all that comes.
    pub async fn set(&self, rules: NetworkRules) {
        let answers: Vec<Sent> = {
            let mut state = self.state();
            let former = std::mem::replace(&mut state.rules, rules);
            let State { rules, intercepts_all, members, .. } = &*state;
            // Closed targets need no rules.
            members
                .values()
                .filter_map(|member| apply(member, *intercepts_all, &former, rules).ok())
                .flatten()
                .collect()
        };
        let _ =
            tokio::time::timeout(APPLY_TIMEOUT, join_all(answers.into_iter().map(Sent::raw))).await;
    }

    /// Whether a worker may run once requests are put to the gate: those of a worker that many pages share do not
    /// reliably come by, so only private places have some then.
    fn may_run(&self, worker: &Worker) -> bool {
        self.egress.as_ref().is_none_or(|egress| egress.policy.is_requested_by_client(&worker.url))
    }

    /// Takes in a session that waits to be let run: the rules are written before anything else happens in it. False
    /// where it must not run.
    pub fn join(&self, link: &Link, worker: Option<Worker>) -> bool {
        let Some(session) = link.session.clone() else { return false };
        let always_stops = worker.as_ref().is_some_and(|worker| worker.shared);
        let member = Member { link: link.clone(), worker };
        let mut state = self.state();
        if let Some(worker) =
            member.worker.as_ref().filter(|worker| state.intercepts_all && !self.may_run(worker))
        {
            tracing::warn!(
                script = worker.url,
                "a worker of a public page does not run beside private ones"
            );
            drop(worker.end(link));
            return false;
        }
        // It is gone again where this fails.
        if always_stops || state.intercepts_all {
            drop(link.post(EnableParams::default()));
        }
        drop(apply(&member, state.intercepts_all, &NetworkRules::default(), &state.rules));
        state.members.insert(session, member);
        true
    }

    /// Where the documents of the context come from.
    fn places(&self) -> Vec<String> {
        let pages: Vec<_> = self.state().pages.iter().filter_map(Weak::upgrade).collect();
        pages.iter().flat_map(|page| page.places()).collect()
    }

    pub fn leave(&self, session: &Arc<str>) {
        self.state().members.remove(session);
    }

    pub fn add_page(&self, page: &Arc<ChromiumPage>) {
        let mut state = self.state();
        state.pages.retain(|page| page.strong_count() > 0);
        state.pages.push(Arc::downgrade(page));
    }

    /// Tells every page of the context.
    pub fn tell_all(&self, event: &PageEvent) {
        let pages: Vec<_> = self.state().pages.iter().filter_map(Weak::upgrade).collect();
        for page in pages {
            page.emit(event.clone());
        }
    }

    /// Remembers what requests are for, as far as a rule may ask.
    pub fn note(&self, event: &RequestEvent) {
        let mut state = self.state();
        if state.rules.blocked.is_empty() {
            return;
        }
        if let RequestEvent::Sent { id, kind, .. } = event {
            if let Some(waiting) = state.waiting.remove(id) {
                let _ = waiting.send(*kind);
            }
            if state.kinds.insert(id.clone(), *kind).is_none() {
                state.kept.push_back(id.clone());
            }
            if state.kept.len() > KINDS
                && let Some(oldest) = state.kept.pop_front()
            {
                state.kinds.remove(&oldest);
            }
        }
    }

    /// Decides on the intercepted request in `params`. `whose` returns its initiator; `tell` receives data for the
    /// log.
    pub fn paused(
        self: &Arc<Self>,
        link: &Link,
        params: &RawValue,
        initiator: impl FnOnce(&Paused) -> RequestInitiator,
        tell: impl Fn(RequestEvent),
    ) {
        let Some(paused) = parse::<Paused>("Fetch.requestPaused", params) else { return };
        let id: Option<Arc<str>> = paused.network_id.as_deref().map(Into::into);
        let mut state = self.state();
        if let Some(mock) = state.rules.mock_for(&paused.request.url).cloned() {
            drop(state);
            if let Some(id) = id {
                tell(RequestEvent::Mocked { id });
            }
            drop(offload::in_place(mock.body.len(), || link.post(fulfil(&paused, &mock))));
            return;
        }
        if state.intercepts_all
            && let Some(Egress { policy, .. }) = &self.egress
        {
            let former = id.as_ref().and_then(|id| state.redirects.record(id, &paused.request.url));
            drop(state);
            // The initiator of a redirect is the server that redirects, not the initiator of the first request.
            let initiator = former.map_or_else(|| initiator(&paused), RequestInitiator::Document);
            if !initiator.is_allowed(&**policy, &paused.request.url, || self.places()) {
                return finish(link, paused, true);
            }
            state = self.state();
        }
        if state.rules.blocked.is_empty() {
            drop(state);
            finish(link, paused, false);
            return;
        }
        let told = paused.request.kind(&paused.resource_type);
        let announced = id.as_ref().and_then(|id| state.kinds.get(id).copied());
        let certain = possible(told) == [told] && told != ResourceType::Other;
        match (announced, id) {
            (None, Some(id)) if !certain => {
                let (sender, receiver) = oneshot::channel();
                state.waiting.insert(id.clone(), sender);
                drop(state);
                let (network, link) = (self.clone(), link.clone());
                // Ends by itself within seconds.
                tokio::spawn(async move {
                    let announced = tokio::time::timeout(KIND_TIMEOUT, receiver).await;
                    let mut state = network.state();
                    state.waiting.remove(&id);
                    let is_blocked = |kind: &ResourceType| state.rules.blocked.contains(kind);
                    let blocked = match announced {
                        Ok(Ok(kind)) => is_blocked(&kind),
                        // Rather too much is blocked than too little.
                        _ => possible(told).iter().any(is_blocked),
                    };
                    drop(state);
                    finish(&link, paused, blocked);
                });
            }
            (announced, _) => {
                let blocked = state.rules.blocked.contains(&announced.unwrap_or(told));
                drop(state);
                finish(link, paused, blocked);
            }
        }
    }
}

/// The possible types of an intercepted request: `Fetch` has fewer types than `Network`, which announces it.
fn possible(told: ResourceType) -> Vec<ResourceType> {
    match told {
        ResourceType::Xhr => {
            vec![ResourceType::Xhr, ResourceType::Fetch, ResourceType::EventSource]
        }
        ResourceType::Media => vec![ResourceType::Media, ResourceType::TextTrack],
        told => vec![told],
    }
}

/// Lets a stopped request go on, or refuses it. One whose page has gone needs no answer.
fn finish(link: &Link, paused: Paused, blocked: bool) {
    if blocked {
        drop(link.post(FailRequestParams::new(paused.request_id, ErrorReason::BlockedByClient)));
    } else {
        drop(link.post(ContinueRequestParams::new(paused.request_id)));
    }
}

/// Writes what turns `former` rules into `rules` in one session.
#[expect(deprecated, reason = "see its import")]
fn apply(
    member: &Member,
    intercepts_all: bool,
    former: &NetworkRules,
    rules: &NetworkRules,
) -> EngineResult<Vec<Sent>> {
    let mut batch = member.link.batch();
    let stops = |rules: &NetworkRules| {
        !rules.mocks.is_empty() || rules.blocked.iter().any(|kind| *kind != ResourceType::WebSocket)
    };
    if stops(rules) != stops(former) {
        if member.always_stops() || intercepts_all {
            // As it is.
        } else if stops(rules) {
            batch.add(EnableParams::default())?;
        } else {
            batch.add(DisableParams {})?;
        }
        // Responses from the cache are not intercepted.
        batch.add(SetCacheDisabledParams::new(stops(rules)))?;
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
            batch.add(without_sockets(rules.throttling, latency, download, upload))?;
        }
    }
    batch.send()
}

/// WebSockets that cannot connect. `offline` holds for all of its rules alike, and rules replace throttling:
/// beside it a socket is not refused but never comes up.
fn without_sockets(
    throttling: Throttling,
    latency: f64,
    download: f64,
    upload: f64,
) -> EmulateNetworkConditionsByRuleParams {
    if throttling == Throttling::default() {
        let rules = SOCKETS.iter().map(|urls| NetworkConditions::new(*urls, 0.0, -1.0, -1.0));
        return EmulateNetworkConditionsByRuleParams::new(true, rules.collect());
    }
    let rules = SOCKETS.iter().map(|urls| NetworkConditions::new(*urls, NEVER, 1.0, 1.0));
    let others = NetworkConditions::new("", latency, download, upload);
    EmulateNetworkConditionsByRuleParams::new(false, rules.chain([others]).collect())
}

fn fulfil(paused: &Paused, mock: &Mock) -> FulfillRequestParams {
    let request = &paused.request;
    let mut headers: Vec<HeaderEntry> = Vec::new();
    let given = |name: &str| mock.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
    // Who mocks an answer wants the page to be able to read it, also where it is of another origin.
    if let Some(origin) = request.header("origin")
        && !given("access-control-allow-origin")
    {
        headers.push(HeaderEntry::new("access-control-allow-origin", origin));
        headers.push(HeaderEntry::new("access-control-allow-credentials", "true"));
    }
    let asked = request.header("access-control-request-method");
    if request.method == "OPTIONS"
        && let Some(method) = asked
    {
        headers.push(HeaderEntry::new("access-control-allow-methods", method));
        if let Some(names) = request.header("access-control-request-headers") {
            headers.push(HeaderEntry::new("access-control-allow-headers", names));
        }
        let mut answer = FulfillRequestParams::new(paused.request_id.clone(), 204);
        answer.response_headers = Some(headers);
        return answer;
    }
    headers.extend(mock.headers.iter().map(|(name, value)| HeaderEntry::new(name, value)));
    let mut answer = FulfillRequestParams::new(paused.request_id.clone(), mock.status);
    answer.response_headers = Some(headers);
    answer.body = Some(mock.body.clone().into());
    answer
}
