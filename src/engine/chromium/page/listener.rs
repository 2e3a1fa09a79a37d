//! Handles events from the CDP sessions of a page: its own, and those of out-of-process iframes.

use std::sync::{Arc, Weak};

use chromiumoxide::cdp::{
    browser_protocol::{
        inspector::EnableParams as InspectorEnable,
        log::EnableParams as LogEnable,
        page::{
            AddScriptToEvaluateOnNewDocumentParams, EnableParams as PageEnable,
            SetInterceptFileChooserDialogParams, SetLifecycleEventsEnabledParams,
        },
    },
    js_protocol::runtime::{EnableParams as RuntimeEnable, RunIfWaitingForDebuggerParams},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChromiumPage, script::WORLD};
use crate::{
    config::Viewport,
    engine::{
        EngineResult, FrameId, PageEvent, World,
        chromium::{
            console,
            emulation::{self, WindowMode},
            events,
            network::{NetworkPage, PausedRequest},
            requests,
            session::{CdpSession, parse_event},
            targets::{AttachedToTarget, DetachedFromTarget, auto_attach},
            workers,
        },
        connection::{Listener, PendingCall},
    },
};

/// Sends the commands that set up `page` (`shown` is its window mode and its requested size) or one
/// of its out-of-process iframes.
pub(super) fn initialize(
    cdp: &CdpSession,
    page: &ChromiumPage,
    shown: Option<(WindowMode, Option<Viewport>)>,
) -> EngineResult<Vec<PendingCall>> {
    let options = &page.options;
    let mut batch = cdp.batch();
    batch.add(PageEnable::default())?;
    batch.add(SetLifecycleEventsEnabledParams::new(true))?;
    let mut prelude = AddScriptToEvaluateOnNewDocumentParams::new(options.prelude);
    prelude.world_name = Some(WORLD.to_owned());
    batch.add(prelude)?;
    for source in &options.init_scripts {
        batch.add(AddScriptToEvaluateOnNewDocumentParams::new(source))?;
    }
    batch.add(RuntimeEnable::default())?;
    batch.add(LogEnable::default())?;
    batch.add(requests::enable(page.network.keeps_details))?;
    batch.add(auto_attach(&["iframe", "worker"]))?;
    // Each renderer process needs this: the session of a page does not cover its out-of-process
    // iframes.
    batch.add(SetInterceptFileChooserDialogParams::new(true))?;
    if let Some((window_mode, popup)) = shown {
        batch.add(InspectorEnable::default())?;
        emulation::apply_to_page(&mut batch, options, window_mode, popup)?;
    }
    emulation::apply_to_frames(&mut batch, options, &page.media.lock())?;
    batch.add(RunIfWaitingForDebuggerParams {})?;
    batch.send()
}

/// Handles the events of one CDP session of a page.
pub(super) struct PageListener {
    pub page: Weak<ChromiumPage>,
    pub cdp: CdpSession,
}

#[derive(Deserialize)]
struct ContextCreated {
    context: ContextDescription,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextDescription {
    id: i64,
    name: String,
    aux_data: Option<AuxData>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AuxData {
    is_default: bool,
    frame_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextDestroyed {
    execution_context_id: i64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WindowFeatures {
    #[serde(default)]
    window_features: Vec<String>,
}

impl Listener for PageListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(page) = self.page.upgrade() else { return };
        let session = self.cdp.id.clone().unwrap_or_default();
        match method {
            "Input.dragIntercepted" => {
                if let Some(drag) = parse_event(method, params) {
                    page.drag.intercepted(drag);
                }
            }
            "Page.screencastFrame" => page.screencast.received(&page.cdp, method, params),
            "Runtime.executionContextCreated" => {
                if let Some(ContextCreated { context }) = parse_event(method, params)
                    && let Some(AuxData { is_default, frame_id: Some(frame) }) = context.aux_data
                    && (is_default || context.name == WORLD)
                {
                    let world = if is_default { World::Main } else { World::Isolated };
                    page.frames.context_created(&session, frame.into(), world, context.id);
                }
            }
            "Runtime.executionContextDestroyed" => {
                if let Some(ContextDestroyed { execution_context_id }) = parse_event(method, params)
                {
                    page.frames.context_destroyed(&session, execution_context_id);
                }
            }
            "Runtime.executionContextsCleared" => page.frames.contexts_cleared(&session),
            "Target.attachedToTarget" => {
                if let Some(AttachedToTarget { session_id, target_info, .. }) =
                    parse_event(method, params)
                {
                    let cdp = self.cdp.sibling(session_id);
                    match workers::kind(&target_info.kind) {
                        Some(kind) => {
                            let of_page: Weak<dyn NetworkPage> = self.page.clone();
                            let (parent, network) = (self.cdp.id.as_ref(), &page.network);
                            workers::attach(cdp, parent, kind, target_info, Some(of_page), network);
                        }
                        None => self.frame_process(&page, &target_info.target_id.into(), cdp),
                    }
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(DetachedFromTarget { session_id }) = parse_event(method, params) {
                    self.cdp.connection.forget(&session_id);
                    page.network.leave(&session_id);
                    page.frames.session_gone(&session_id);
                }
            }
            "Fetch.requestPaused" => {
                let initiator = |paused: &PausedRequest| page.initiator(paused);
                page.network.paused(&self.cdp, params, initiator, |event| {
                    page.emit(PageEvent::Request(event))
                });
            }
            _ if method.starts_with("Network.") => {
                let update = requests::translate(method, params, None, page.network.keeps_details);
                if let Some(event) = update.logged {
                    page.network.record_kind(&event);
                    page.emit(PageEvent::Request(event));
                }
                if let Some(event) = update.page {
                    page.emit(event);
                }
            }
            _ if method.starts_with("Page.") || method.starts_with("Inspector.") => {
                if method == "Page.windowOpen"
                    && let Some(WindowFeatures { window_features }) = parse_event(method, params)
                {
                    page.popups.requested(&window_features);
                }
                let _ordered = page.lock_reporting();
                for event in events::translate(method, params) {
                    page.report(event, &session);
                }
            }
            _ => {
                if let Some((message, source)) = console::translate(method, params) {
                    page.emit(PageEvent::Console { message, source });
                }
            }
        }
    }
}

impl PageListener {
    /// Sets up the session of `frame`, which moves to its own process.
    fn frame_process(&self, page: &Arc<ChromiumPage>, frame: &FrameId, cdp: CdpSession) {
        let listener = Arc::new(PageListener { page: self.page.clone(), cdp: cdp.clone() });
        if let Some(session) = &cdp.id {
            page.frames.moved(frame, session);
            cdp.connection.listen_within(self.cdp.id.as_ref(), session, listener);
        }
        page.network.join(&cdp, None);
        // Errors are ignored: they mean that the frame has gone.
        drop(initialize(&cdp, page, None));
    }
}
