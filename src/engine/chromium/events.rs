//! Converts CDP's events of a page and its frames into [`PageEvent`]s.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::session::parse_event;
use crate::engine::{Dialog, FileChooser, FrameId, PageEvent};

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
struct FrameReference {
    frame_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScheduledNavigation {
    frame_id: String,
    delay: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestedNavigation {
    frame_id: String,
    url: String,
    disposition: String,
}

#[derive(Deserialize)]
struct WindowOpen {
    url: String,
}

#[derive(Deserialize)]
struct FrameNavigated {
    frame: CdpFrame,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CdpFrame {
    id: String,
    parent_id: Option<String>,
    loader_id: String,
    url: String,
    #[serde(default)]
    url_fragment: String,
}

/// The result of `Page.getFrameTree`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTree {
    frame_tree: FrameNode,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameNode {
    frame: CdpFrame,
    #[serde(default)]
    child_frames: Vec<FrameNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NavigatedWithin {
    frame_id: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LifecycleEvent {
    frame_id: String,
    loader_id: String,
    name: String,
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
struct FileChooserOpening {
    frame_id: String,
    mode: String,
    backend_node_id: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StartedNavigating {
    frame_id: String,
    loader_id: Option<String>,
    navigation_type: Option<String>,
}

impl CdpFrame {
    /// Returns the events of its document's commit.
    fn committed(self) -> Vec<PageEvent> {
        let frame: Arc<str> = self.id.into();
        vec![
            // An out-of-process iframe is reported only by its navigation.
            PageEvent::FrameAttached {
                frame: frame.clone(),
                parent: self.parent_id.map(Into::into),
            },
            PageEvent::Committed {
                frame,
                document: self.loader_id.into(),
                url: self.url + self.url_fragment.as_str(),
            },
        ]
    }
}

/// Returns the commits of all documents of a page, parents before children, without outdated
/// frames. Empty for the initial document of a tab.
pub(super) fn documents(tree: FrameTree, is_outdated: &dyn Fn(&FrameId) -> bool) -> Vec<PageEvent> {
    let FrameTree { frame_tree: FrameNode { frame, child_frames } } = tree;
    let is_empty = frame.parent_id.is_none() && matches!(frame.url.as_str(), "" | "about:blank");
    if is_empty || is_outdated(&frame.id.as_str().into()) {
        return Vec::new();
    }
    let inner = child_frames
        .into_iter()
        .flat_map(|frame_tree| documents(FrameTree { frame_tree }, is_outdated));
    frame.committed().into_iter().chain(inner).collect()
}

/// Converts the event `method`. The result is empty if the event is not used.
pub(super) fn translate(method: &str, params: &RawValue) -> Vec<PageEvent> {
    convert(method, params).into_iter().flatten().collect()
}

fn convert(method: &str, params: &RawValue) -> Option<Vec<PageEvent>> {
    let event = match method {
        "Page.frameAttached" => {
            let event: FrameAttached = parse_event(method, params)?;
            PageEvent::FrameAttached {
                frame: event.frame_id.into(),
                parent: Some(event.parent_frame_id.into()),
            }
        }
        "Page.frameDetached" => {
            let event: FrameDetached = parse_event(method, params)?;
            // A frame that moves to another process is attached there with the same id.
            if event.reason.as_deref() == Some("swap") {
                return None;
            }
            PageEvent::FrameDetached { frame: event.frame_id.into() }
        }
        "Page.frameNavigated" => {
            let FrameNavigated { frame, kind } = parse_event(method, params)?;
            // A document that is restored from the back/forward cache has already loaded.
            let loaded =
                (kind.as_deref() == Some("BackForwardCacheRestore")).then(|| PageEvent::Loaded {
                    frame: frame.id.as_str().into(),
                    document: frame.loader_id.as_str().into(),
                });
            let mut events = frame.committed();
            events.extend(loaded);
            return Some(events);
        }
        "Page.navigatedWithinDocument" => {
            let event: NavigatedWithin = parse_event(method, params)?;
            PageEvent::NavigatedWithinDocument { frame: event.frame_id.into(), url: event.url }
        }
        "Page.frameRequestedNavigation" => {
            let RequestedNavigation { frame_id, url, disposition } = parse_event(method, params)?;
            match disposition.as_str() {
                // A modifier key or the middle button opens the link in another tab: this frame
                // does not navigate.
                "newTab" | "newWindow" => PageEvent::WindowOpening { window: None, url },
                _ => PageEvent::NavigationRequested { frame: frame_id.into(), document: None },
            }
        }
        "Page.frameScheduledNavigation" => {
            let event: ScheduledNavigation = parse_event(method, params)?;
            // A refresh after some seconds is not an effect of an action.
            if event.delay >= 1.0 {
                return None;
            }
            PageEvent::NavigationScheduled { frame: event.frame_id.into() }
        }
        "Page.frameClearedScheduledNavigation" => {
            let event: FrameReference = parse_event(method, params)?;
            PageEvent::NavigationUnscheduled { frame: event.frame_id.into() }
        }
        "Page.windowOpen" => {
            let event: WindowOpen = parse_event(method, params)?;
            PageEvent::WindowOpening { window: None, url: event.url }
        }
        "Page.frameStartedNavigating" => {
            let event: StartedNavigating = parse_event(method, params)?;
            if matches!(
                event.navigation_type.as_deref(),
                Some("sameDocument" | "historySameDocument")
            ) {
                return None;
            }
            let document = event.loader_id.map(Into::into);
            PageEvent::NavigationRequested { frame: event.frame_id.into(), document }
        }
        "Page.frameStoppedLoading" => {
            let event: FrameReference = parse_event(method, params)?;
            PageEvent::LoadingStopped { frame: event.frame_id.into() }
        }
        "Page.lifecycleEvent" => {
            let event: LifecycleEvent = parse_event(method, params)?;
            let (frame, document) = (event.frame_id.into(), event.loader_id.into());
            match event.name.as_str() {
                "DOMContentLoaded" => PageEvent::DomContentLoaded { frame, document },
                "load" => PageEvent::Loaded { frame, document },
                _ => return None,
            }
        }
        "Page.javascriptDialogOpening" => {
            let event: DialogOpening = parse_event(method, params)?;
            let default_value = event.default_prompt.filter(|_| event.kind == "prompt");
            PageEvent::DialogOpened(Dialog {
                kind: event.kind,
                message: event.message,
                default_value,
            })
        }
        "Page.fileChooserOpened" => {
            let event: FileChooserOpening = parse_event(method, params)?;
            PageEvent::FileChooserOpened(FileChooser {
                frame: event.frame_id.into(),
                input: event.backend_node_id,
                multiple: event.mode == "selectMultiple",
            })
        }
        "Page.javascriptDialogClosed" => PageEvent::DialogClosed,
        "Inspector.targetCrashed" => PageEvent::Crashed,
        _ => return None,
    };
    Some(vec![event])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outdated_frames_of_a_tree_and_their_children_are_left_out() {
        let frame = |id: &str, parent: Option<&str>| json!({"id": id, "parentId": parent, "loaderId": "l", "url": "http://a/"});
        let child = |id: &str, inner: &str| json!({"frame": frame(id, Some("main")), "childFrames": [{"frame": frame(inner, Some(id))}]});
        let tree = json!({"frameTree": {
            "frame": frame("main", None), "childFrames": [child("gone", "in gone"), child("here", "in here")],
        }});
        let events = documents(serde_json::from_value(tree).unwrap(), &|frame| &**frame == "gone");
        let committed: Vec<_> = events
            .into_iter()
            .filter_map(|event| match event {
                PageEvent::Committed { frame, .. } => Some(frame),
                _ => None,
            })
            .collect();
        assert_eq!(committed, ["main", "here", "in here"].map(Arc::from));
    }
}
