//! CDP's events of a page and its frames as [`PageEvent`]s.

use std::{collections::HashMap, sync::Arc};

use serde::Deserialize;
use serde_json::value::RawValue;

use super::browser::parse;
use crate::engine::{Dialog, FileChooser, PageEvent, ResourceKind};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameAttached {
    frame_id: String,
    parent_frame_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameDetached {
    frame_id: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameOnly {
    frame_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scheduled {
    frame_id: String,
    delay: f64,
}

#[derive(Deserialize)]
struct WindowOpen {
    url: String,
}

#[derive(Deserialize)]
struct FrameNavigated {
    frame: Frame,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Frame {
    id: String,
    parent_id: Option<String>,
    loader_id: String,
    url: String,
    #[serde(default)]
    url_fragment: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WithinDocument {
    frame_id: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lifecycle {
    frame_id: String,
    loader_id: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    request_id: String,
    loader_id: String,
    frame_id: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseReceived {
    request_id: String,
    loader_id: String,
    #[serde(rename = "type")]
    kind: String,
    response: Response,
}

#[derive(Deserialize)]
struct Response {
    status: u16,
    url: String,
    #[serde(default)]
    headers: HashMap<String, String>,
}

impl Response {
    fn length(&self) -> Option<u64> {
        let header = self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        header.and_then(|(_, length)| length.trim().parse().ok())
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataReceived {
    request_id: String,
    encoded_data_length: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestOnly {
    request_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DialogOpening {
    message: String,
    #[serde(rename = "type")]
    kind: String,
    default_prompt: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ChooserOpened {
    frame_id: String,
    mode: String,
    backend_node_id: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedNavigating {
    frame_id: String,
    navigation_type: Option<String>,
}

fn is_fetch(kind: &str) -> bool {
    matches!(kind, "Fetch" | "XHR")
}

/// The events of `method`, in order; empty where it means nothing to us.
pub(super) fn translate(method: &str, params: &RawValue) -> Vec<PageEvent> {
    one(method, params).into_iter().flatten().collect()
}

fn one(method: &str, params: &RawValue) -> Option<Vec<PageEvent>> {
    let event = match method {
        "Page.frameAttached" => {
            let event: FrameAttached = parse(method, params)?;
            PageEvent::FrameAttached {
                frame: event.frame_id.into(),
                parent: Some(event.parent_frame_id.into()),
            }
        }
        "Page.frameDetached" => {
            let event: FrameDetached = parse(method, params)?;
            // A frame that moves to another process comes back there under the same id.
            if event.reason.as_deref() == Some("swap") {
                return None;
            }
            PageEvent::FrameDetached { frame: event.frame_id.into() }
        }
        "Page.frameNavigated" => {
            let FrameNavigated { frame, kind } = parse(method, params)?;
            let Frame { id, parent_id, loader_id, url, url_fragment } = frame;
            let (frame, document): (Arc<str>, Arc<str>) = (id.into(), loader_id.into());
            let mut events = vec![
                // A frame of another process is told by its navigation alone.
                PageEvent::FrameAttached { frame: frame.clone(), parent: parent_id.map(Into::into) },
                PageEvent::Committed {
                    frame: frame.clone(),
                    document: document.clone(),
                    url: url + url_fragment.as_str(),
                },
            ];
            // A document that is taken out of the cache whole is loaded already.
            if kind.as_deref() == Some("BackForwardCacheRestore") {
                events.push(PageEvent::Loaded { frame, document });
            }
            return Some(events);
        }
        "Page.navigatedWithinDocument" => {
            let event: WithinDocument = parse(method, params)?;
            PageEvent::NavigatedWithinDocument { frame: event.frame_id.into(), url: event.url }
        }
        "Page.frameRequestedNavigation" => {
            let event: FrameOnly = parse(method, params)?;
            PageEvent::NavigationRequested { frame: event.frame_id.into() }
        }
        "Page.frameScheduledNavigation" => {
            let event: Scheduled = parse(method, params)?;
            // A refresh in some seconds is nobody's action.
            if event.delay >= 1.0 {
                return None;
            }
            PageEvent::NavigationScheduled { frame: event.frame_id.into() }
        }
        "Page.frameClearedScheduledNavigation" => {
            let event: FrameOnly = parse(method, params)?;
            PageEvent::NavigationUnscheduled { frame: event.frame_id.into() }
        }
        "Page.windowOpen" => {
            let event: WindowOpen = parse(method, params)?;
            PageEvent::WindowOpening { window: None, url: event.url }
        }
        "Page.frameStartedNavigating" => {
            let event: StartedNavigating = parse(method, params)?;
            if matches!(event.navigation_type.as_deref(), Some("sameDocument" | "historySameDocument")) {
                return None;
            }
            PageEvent::NavigationRequested { frame: event.frame_id.into() }
        }
        "Page.frameStoppedLoading" => {
            let event: FrameOnly = parse(method, params)?;
            PageEvent::LoadingStopped { frame: event.frame_id.into() }
        }
        "Page.lifecycleEvent" => {
            let event: Lifecycle = parse(method, params)?;
            let (frame, document) = (event.frame_id.into(), event.loader_id.into());
            match event.name.as_str() {
                "DOMContentLoaded" => PageEvent::DomContentLoaded { frame, document },
                "load" => PageEvent::Loaded { frame, document },
                _ => return None,
            }
        }
        "Network.requestWillBeSent" => {
            let event: WillBeSent = parse(method, params)?;
            let kind = match event.kind.as_deref() {
                Some("Document") => ResourceKind::Document,
                Some("Script") => ResourceKind::Script,
                Some(kind) if is_fetch(kind) => ResourceKind::Fetch,
                _ => ResourceKind::Other,
            };
            PageEvent::RequestStarted {
                id: event.request_id.into(),
                frame: event.frame_id.map(Into::into),
                document: Some(event.loader_id.into()),
                kind,
            }
        }
        "Network.responseReceived" => {
            let event: ResponseReceived = parse(method, params)?;
            if is_fetch(&event.kind) {
                let length = event.response.length();
                return Some(vec![PageEvent::AnswerBegun { id: event.request_id.into(), length }]);
            }
            let of_document = event.kind == "Document" && event.request_id == event.loader_id;
            if !of_document || !event.response.url.starts_with("http") {
                return None;
            }
            PageEvent::DocumentResponse { document: event.loader_id.into(), status: event.response.status }
        }
        "Network.dataReceived" => {
            let event: DataReceived = parse(method, params)?;
            PageEvent::AnswerReceived { id: event.request_id.into(), bytes: event.encoded_data_length }
        }
        "Network.loadingFinished" | "Network.loadingFailed" => {
            let event: RequestOnly = parse(method, params)?;
            PageEvent::RequestEnded { id: event.request_id.into() }
        }
        "Page.javascriptDialogOpening" => {
            let event: DialogOpening = parse(method, params)?;
            let default_value = event.default_prompt.filter(|_| event.kind == "prompt");
            PageEvent::DialogOpened(Dialog { kind: event.kind, message: event.message, default_value })
        }
        "Page.fileChooserOpened" => {
            let event: ChooserOpened = parse(method, params)?;
            PageEvent::FileChooserOpened(FileChooser {
                frame: event.frame_id.into(),
                input: event.backend_node_id?,
                multiple: event.mode == "selectMultiple",
            })
        }
        "Page.javascriptDialogClosed" => PageEvent::DialogClosed,
        "Inspector.targetCrashed" => PageEvent::Crashed,
        _ => return None,
    };
    Some(vec![event])
}
