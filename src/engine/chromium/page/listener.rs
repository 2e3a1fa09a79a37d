//! What is heard from the CDP sessions of a page: its own, and those of frames in other processes.

use std::sync::{Arc, Weak};

use chromiumoxide::cdp::{
    browser_protocol::{
        inspector::EnableParams as InspectorEnable,
        log::EnableParams as LogEnable,
        network::EnableParams as NetworkEnable,
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
use crate::engine::{
    ContextOptions, EngineResult, FrameId, PageEvent, World,
    chromium::{
        Link,
        browser::{only, parse},
        console, emulation, events,
        network::Paused,
        requests, workers,
    },
    wire::{Listener, Sent},
};

/// Writes what every page and out-of-process frame is set up with. `windowed` is told for pages only.
pub(super) fn initialise(
    link: &Link,
    options: &ContextOptions,
    windowed: Option<bool>,
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
    batch.add(NetworkEnable::default())?;
    let mut attach = SetAutoAttachParams::new(true, true);
    attach.flatten = Some(true);
    attach.filter = Some(only(&["iframe", "worker"]));
    batch.add(attach)?;
    if let Some(windowed) = windowed {
        batch.add(InspectorEnable::default())?;
        // No chooser is shown to anybody: the page's wish for files is told instead.
        batch.add(SetInterceptFileChooserDialogParams::new(true))?;
        emulation::apply_to_page(&mut batch, options, windowed)?;
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
                    let link = Link { wire: self.link.wire.clone(), session: Some(session_id.into()) };
                    match workers::kind(&target_info.kind) {
                        Some(kind) => {
                            let target = target_info.into();
                            workers::attach(link, kind, target, Some(self.page.clone()), &page.network);
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
                let whose = |paused: &Paused| page.whose(paused);
                page.network.paused(&self.link, params, whose, |event| page.emit(PageEvent::Request(event)));
            }
            _ => {
                if let Some(event) = requests::translate(method, params, None) {
                    page.network.note(&event);
                    page.emit(PageEvent::Request(event));
                }
                if let Some(message) = console::translate(method, params) {
                    page.emit(PageEvent::Console(message));
                }
                for event in events::translate(method, params) {
                    match &event {
                        PageEvent::FrameAttached { frame, parent } => {
                            page.frames.attached(frame, parent.as_ref(), &session);
                        }
                        PageEvent::Committed { frame, url, .. } => {
                            page.frames.committed(frame, &session, url);
                            page.arrived(frame);
                        }
                        PageEvent::FrameDetached { frame } => page.frames.detached(frame),
                        _ => {}
                    }
                    page.emit(event);
                }
            }
        }
    }
}

impl TargetListener {
    /// `frame` moves to a process of its own.
    fn frame_process(&self, page: &Arc<ChromiumPage>, frame: &FrameId, link: Link) {
        if let Some(session) = &link.session {
            page.frames.moved(frame, session);
        }
        let listener = TargetListener { page: self.page.clone(), link: link.clone() };
        link.wire.listen(link.session.clone(), Arc::new(listener));
        page.network.join(&link, None);
        // Its answers matter to nobody: a frame that cannot be set up is one that cannot be read.
        drop(initialise(&link, &page.options, None));
    }
}
