//! Attaches to workers, so that their requests are logged and follow the context's rules.
//!
//! Dedicated workers are children of the CDP session of a page, a frame or another worker. Shared and service
//! workers are children of the browser's session. All of them are paused until Troupe resumes them.

use std::sync::{Arc, Weak};

use chromiumoxide::cdp::{
    browser_protocol::target::SetAutoAttachParams,
    js_protocol::runtime::RunIfWaitingForDebuggerParams,
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Link,
    browser::{only, parse},
    network::{ContextNetwork, Paused, Worker},
    page::ChromiumPage,
    requests,
};
use crate::engine::{
    EngineResult, PageEvent,
    connection::Listener,
    network::{RequestEvent, WorkerKind},
    network_policy::RequestInitiator,
};

/// What kind of worker CDP's target type is.
pub(super) fn kind(target: &str) -> Option<WorkerKind> {
    Some(match target {
        "worker" => WorkerKind::Dedicated,
        "shared_worker" => WorkerKind::Shared,
        "service_worker" => WorkerKind::Service,
        _ => return None,
    })
}

/// Sets up a worker that waits for it, and lets it run. `parent` is the session that reported it, `page` its page;
/// a shared or service worker has neither.
pub(super) fn attach(
    link: Link,
    parent: Option<&Arc<str>>,
    kind: WorkerKind,
    Target { target_id, url }: Target,
    page: Option<Weak<ChromiumPage>>,
    network: &Arc<ContextNetwork>,
) {
    let listener = WorkerListener {
        link: link.clone(),
        kind,
        url: url.clone(),
        page,
        network: network.clone(),
    };
    if let Some(session) = &link.session {
        link.wire.listen_within(parent, session, Arc::new(listener));
    }
    let shared = kind == WorkerKind::Shared;
    if kind != WorkerKind::Dedicated
        && !network.join(&link, Some(Worker { target: target_id, url, shared }))
    {
        return;
    }
    // The answers are not needed: a worker that cannot be set up has ended.
    drop(initialise(&link));
}

fn initialise(link: &Link) -> EngineResult<()> {
    let mut batch = link.batch();
    batch.add(requests::enable())?;
    let mut attach = SetAutoAttachParams::new(true, true);
    attach.flatten = Some(true);
    attach.filter = Some(only(&["worker"]));
    batch.add(attach)?;
    batch.add(RunIfWaitingForDebuggerParams {})?;
    batch.send().map(drop)
}

struct WorkerListener {
    link: Link,
    kind: WorkerKind,
    /// Where its script comes from.
    url: String,
    page: Option<Weak<ChromiumPage>>,
    network: Arc<ContextNetwork>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: Arc<str>,
    target_info: Target,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detached {
    session_id: Arc<str>,
}

/// A worker in CDP's events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Target {
    pub target_id: String,
    #[serde(default)]
    pub url: String,
}

impl WorkerListener {
    fn tell(&self, event: PageEvent) {
        match &self.page {
            Some(page) => {
                if let Some(page) = page.upgrade() {
                    page.emit(event);
                }
            }
            None => self.network.tell_all(&event),
        }
    }
}

impl Listener for WorkerListener {
    fn event(&self, method: &str, params: &RawValue) {
        match method {
            "Fetch.requestPaused" => {
                let initiator = |_: &Paused| RequestInitiator::Document(self.url.clone());
                self.network.paused(&self.link, params, initiator, |event| {
                    self.tell(PageEvent::Request(event))
                });
            }
            "Target.attachedToTarget" => {
                if let Some(Attached { session_id, target_info }) = parse(method, params) {
                    let link = Link { wire: self.link.wire.clone(), session: Some(session_id) };
                    let parent = self.link.session.as_ref();
                    attach(
                        link,
                        parent,
                        WorkerKind::Dedicated,
                        target_info,
                        self.page.clone(),
                        &self.network,
                    );
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(Detached { session_id }) = parse(method, params) {
                    self.link.wire.forget(&session_id);
                }
            }
            _ => {
                let Some(event) = requests::translate(method, params, Some(self.kind)).logged
                else {
                    return;
                };
                self.network.note(&event);
                // The worker's own script was asked for by its page, which waits for the end of it.
                if let RequestEvent::Finished { id, .. } | RequestEvent::Failed { id, .. } = &event
                {
                    self.tell(PageEvent::RequestEnded { id: id.clone() });
                }
                self.tell(PageEvent::Request(event));
            }
        }
    }
}
