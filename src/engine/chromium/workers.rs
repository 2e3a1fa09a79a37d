//! Attaches to workers, so that their requests are logged and follow the context's rules.
//!
//! Dedicated workers are children of the CDP session of a page, a frame or another worker. Shared
//! and service workers are children of the browser's session. All of them are paused until Troupe
//! resumes them.

use std::sync::{Arc, Weak};

use chromiumoxide::cdp::js_protocol::runtime::RunIfWaitingForDebuggerParams;
use serde_json::value::RawValue;

use super::{
    network::{CdpContextNetwork, ContextWorker, NetworkPage, PausedRequest},
    requests,
    session::{CdpSession, parse_event},
    targets::{AttachedToTarget, DetachedFromTarget, TargetInfo, auto_attach},
};
use crate::engine::{
    EngineResult, PageEvent,
    connection::Listener,
    network::{RequestEvent, WorkerKind},
    network_policy::RequestInitiator,
};

/// Returns the kind of worker of CDP's target type.
pub(super) fn kind(target: &str) -> Option<WorkerKind> {
    Some(match target {
        "worker" => WorkerKind::Dedicated,
        "shared_worker" => WorkerKind::Shared,
        "service_worker" => WorkerKind::Service,
        _ => return None,
    })
}

/// Sets up a paused worker and resumes it. `parent` is the session that reported it, and `page` its
/// page. Shared and service workers have neither.
pub(super) fn attach(
    cdp: CdpSession,
    parent: Option<&Arc<str>>,
    kind: WorkerKind,
    TargetInfo { target_id, url, .. }: TargetInfo,
    page: Option<Weak<dyn NetworkPage>>,
    network: &Arc<CdpContextNetwork>,
) {
    let listener =
        WorkerListener { cdp: cdp.clone(), kind, url: url.clone(), page, network: network.clone() };
    if let Some(session) = &cdp.id {
        cdp.connection.listen_within(parent, session, Arc::new(listener));
    }
    let shared = kind == WorkerKind::Shared;
    if kind != WorkerKind::Dedicated
        && !network.join(&cdp, Some(ContextWorker { target: target_id, url, shared }))
    {
        return;
    }
    // Errors are ignored: they mean that the worker has ended.
    drop(initialize(&cdp, network.keeps_details));
}

fn initialize(cdp: &CdpSession, keeps_details: bool) -> EngineResult<()> {
    let mut batch = cdp.batch();
    batch.add(requests::enable(keeps_details))?;
    batch.add(auto_attach(&["worker"]))?;
    batch.add(RunIfWaitingForDebuggerParams {})?;
    batch.send().map(drop)
}

struct WorkerListener {
    cdp: CdpSession,
    kind: WorkerKind,
    /// The URL of its script.
    url: String,
    page: Option<Weak<dyn NetworkPage>>,
    network: Arc<CdpContextNetwork>,
}

impl WorkerListener {
    fn emit(&self, event: PageEvent) {
        match &self.page {
            Some(page) => {
                if let Some(page) = page.upgrade() {
                    page.emit(event);
                }
            }
            None => self.network.emit_to_pages(&event),
        }
    }
}

impl Listener for WorkerListener {
    fn event(&self, method: &str, params: &RawValue) {
        match method {
            "Fetch.requestPaused" => {
                let initiator = |_: &PausedRequest| RequestInitiator::Document(self.url.clone());
                self.network.paused(&self.cdp, params, initiator, |event| {
                    self.emit(PageEvent::Request(event))
                });
            }
            "Target.attachedToTarget" => {
                if let Some(AttachedToTarget { session_id, target_info, .. }) =
                    parse_event(method, params)
                {
                    let cdp = self.cdp.sibling(session_id);
                    let parent = self.cdp.id.as_ref();
                    attach(
                        cdp,
                        parent,
                        WorkerKind::Dedicated,
                        target_info,
                        self.page.clone(),
                        &self.network,
                    );
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(DetachedFromTarget { session_id }) = parse_event(method, params) {
                    self.cdp.connection.forget(&session_id);
                }
            }
            _ => {
                let keeps_details = self.network.keeps_details;
                let update = requests::translate(method, params, Some(self.kind), keeps_details);
                let Some(event) = update.logged else { return };
                self.network.record_kind(&event);
                // The page requested the worker's script and waits for the end of that request.
                if let RequestEvent::Finished { id, .. } | RequestEvent::Failed { id, .. } = &event
                {
                    self.emit(PageEvent::RequestEnded { id: id.clone() });
                }
                self.emit(PageEvent::Request(event));
            }
        }
    }
}
