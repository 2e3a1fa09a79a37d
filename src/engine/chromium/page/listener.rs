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
        target::SetAutoAttachParams,
    },
    js_protocol::runtime::{EnableParams as RuntimeEnable, RunIfWaitingForDebuggerParams},
};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{ChromiumPage, script::WORLD};
use crate::{
    config::Viewport,
    engine::{
        ContextOptions, EngineResult, FrameId, PageEvent, World,
        chromium::{
            Link,
            browser::{only, parse},
            console, emulation, events,
            launch::Windows,
            network::Paused,
            requests, workers,
        },
        connection::{Listener, Sent},
    },
};

/// Writes the commands that set up a page (`shown`: how) or an out-of-process frame.
pub(super) fn initialise(
    link: &Link,
    options: &ContextOptions,
    shown: Option<(Windows, Option<Viewport>)>,
) -> EngineResult<Vec<Sent>> {
    let mut batch = link.batch();
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
    batch.add(requests::enable())?;
    let mut attach = SetAutoAttachParams::new(true, true);
    attach.flatten = Some(true);
    attach.filter = Some(only(&["iframe", "worker"]));
    batch.add(attach)?;
    // Each renderer process intercepts its own choosers: a page's session does not cover its out-of-process iframes.
    batch.add(SetInterceptFileChooserDialogParams::new(true))?;
    if let Some((windows, popup)) = shown {
        batch.add(InspectorEnable::default())?;
        emulation::apply_to_page(&mut batch, options, windows, popup)?;
    }
    emulation::apply_to_frames(&mut batch, options)?;
    batch.add(RunIfWaitingForDebuggerParams {})?;
    batch.send()
}

/// Listens to one CDP session.
pub(super) struct TargetListener {
    pub page: Weak<ChromiumPage>,
    pub link: Link,
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
struct Attached {
    session_id: String,
    target_info: Target,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    target_id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detached {
    session_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WindowOpen {
    #[serde(default)]
    window_features: Vec<String>,
}

impl From<Target> for workers::Target {
    fn from(Target { target_id, url, .. }: Target) -> Self {
        Self { target_id, url }
    }
}

impl Listener for TargetListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(page) = self.page.upgrade() else { return };
        let session = self.link.session.clone().unwrap_or_default();
        match method {
            "Input.dragIntercepted" => {
                if let Some(drag) = parse(method, params) {
                    page.drag.intercepted(drag);
                }
            }
            "Runtime.executionContextCreated" => {
                if let Some(ContextCreated { context }) = parse(method, params)
                    && let Some(AuxData { is_default, frame_id: Some(frame) }) = context.aux_data
                    && (is_default || context.name == WORLD)
                {
                    let world = if is_default { World::Main } else { World::Isolated };
                    page.frames.context_created(&session, frame.into(), world, context.id);
                }
            }
            "Runtime.executionContextDestroyed" => {
                if let Some(ContextDestroyed { execution_context_id }) = parse(method, params) {
                    page.frames.context_destroyed(&session, execution_context_id);
                }
            }
            "Runtime.executionContextsCleared" => page.frames.contexts_cleared(&session),
            "Target.attachedToTarget" => {
                if let Some(Attached { session_id, target_info }) = parse(method, params) {
                    let link =
                        Link { wire: self.link.wire.clone(), session: Some(session_id.into()) };
                    match workers::kind(&target_info.kind) {
                        Some(kind) => {
                            let target = target_info.into();
                            let (parent, page_of) =
                                (self.link.session.as_ref(), Some(self.page.clone()));
                            workers::attach(link, parent, kind, target, page_of, &page.network);
                        }
                        None => self.frame_process(&page, &target_info.target_id.into(), link),
                    }
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(Detached { session_id }) = parse(method, params) {
                    let gone: Arc<str> = session_id.into();
                    self.link.wire.forget(&gone);
                    page.network.leave(&gone);
                    page.frames.session_gone(&gone);
                }
            }
            "Fetch.requestPaused" => {
                let initiator = |paused: &Paused| page.initiator(paused);
                page.network.paused(&self.link, params, initiator, |event| {
                    page.emit(PageEvent::Request(event))
                });
            }
            _ if method.starts_with("Network.") => {
                let step = requests::translate(method, params, None);
                if let Some(event) = step.logged {
                    page.network.note(&event);
                    page.emit(PageEvent::Request(event));
                }
                if let Some(event) = step.page {
                    page.emit(event);
                }
            }
            _ if method.starts_with("Page.") || method.starts_with("Inspector.") => {
                if method == "Page.windowOpen"
                    && let Some(WindowOpen { window_features }) = parse(method, params)
                {
                    page.popups.requested(&window_features);
                }
                let _ordered = page.order();
                for event in events::translate(method, params) {
                    page.report(event, &session);
                }
            }
            _ => {
                if let Some(message) = console::translate(method, params) {
                    page.emit(PageEvent::Console(message));
                }
            }
        }
    }
}

impl TargetListener {
    /// `frame` moves to a process of its own.
    fn frame_process(&self, page: &Arc<ChromiumPage>, frame: &FrameId, link: Link) {
        let listener = Arc::new(TargetListener { page: self.page.clone(), link: link.clone() });
        if let Some(session) = &link.session {
            page.frames.moved(frame, session);
            link.wire.listen_within(self.link.session.as_ref(), session, listener);
        }
        page.network.join(&link, None);
        // The answers are not needed: a frame that cannot be set up cannot be read either.
        drop(initialise(&link, &page.options, None));
    }
}
