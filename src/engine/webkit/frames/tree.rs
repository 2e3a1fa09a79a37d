//! The tree of a page's frames.

use std::{collections::HashMap, sync::Arc};

use super::{frame::FrameEntry, report::DocumentReport};
use crate::engine::{DocumentId, FrameId, PageEvent};

/// The frames of one page.
pub(in crate::engine::webkit) struct Frames {
    pub(super) main: FrameId,
    pub(super) known: HashMap<FrameId, FrameEntry>,
    /// The URL of the last navigation or link click of the page.
    pub(super) last_target: Option<String>,
}

impl Frames {
    pub fn new(main: FrameId) -> Self {
        Self {
            known: HashMap::from([(main.clone(), FrameEntry::default())]),
            main,
            last_target: None,
        }
    }

    /// Returns the iframe elements on the path to `frame`; `None` if the frame is detached.
    pub fn path_to(&self, frame: &FrameId) -> Option<Vec<Arc<str>>> {
        let mut path = Vec::new();
        let mut frame_entry = self.known.get(frame)?;
        while let (Some(parent), Some((element, _))) = (&frame_entry.parent, &frame_entry.element) {
            path.push(element.clone());
            frame_entry = self.known.get(parent)?;
        }
        path.reverse();
        Some(path)
    }

    /// Returns the page's document at the last poll, and its URL.
    pub fn document(&self) -> Option<(DocumentId, String)> {
        let main = self.known.get(&self.main)?;
        Some((main.document.clone()?, main.url.clone()))
    }

    /// Returns whether the page has child frames.
    pub fn has_child_frames(&self) -> bool {
        self.known.len() > 1
    }

    /// Returns the frame in the iframe `number` of `parent`, if it is known.
    pub fn child(&self, parent: &FrameId, number: u64) -> Option<FrameId> {
        let child = frame_id(self.known.get(parent)?.document.as_ref()?, number);
        self.known.contains_key(&child).then_some(child)
    }

    /// Returns the child frames that have pending requests.
    pub fn awaiting_response(&self) -> Vec<FrameId> {
        let awaiting_response = self
            .known
            .iter()
            .filter(|(id, frame)| **id != self.main && frame.requests.are_awaited());
        awaiting_response.map(|(id, _)| id.clone()).collect()
    }

    /// Returns whether `report` of the frame `id` has iframes that are new.
    pub fn has_unknown(&self, id: &FrameId, report: &DocumentReport) -> bool {
        report
            .frames
            .iter()
            .any(|number| !self.known.contains_key(&frame_id(&report.document, *number)))
            && self.known.contains_key(id)
    }

    /// Adds the frame in the iframe `number` of `parent`. The driver names its element `element`.
    pub fn attach_child(
        &mut self,
        parent: &FrameId,
        number: u64,
        element: &str,
    ) -> Option<(FrameId, Option<PageEvent>)> {
        let document = self.known.get(parent)?.document.as_ref()?;
        let id = frame_id(document, number);
        let is_new = !self.known.contains_key(&id);
        let frame = self.known.entry(id.clone()).or_default();
        frame.parent = Some(parent.clone());
        frame.element = Some((element.into(), number));
        let event = PageEvent::FrameAttached { frame: id.clone(), parent: Some(parent.clone()) };
        Some((id, is_new.then_some(event)))
    }

    /// Removes the frames of `parent` whose numbers are not in `numbers`.
    pub(super) fn remove_detached(&mut self, parent: &FrameId, numbers: &[u64]) -> Vec<PageEvent> {
        let gone = self.known.iter().filter(|(_, frame)| {
            frame.parent.as_ref() == Some(parent)
                && frame.element.as_ref().is_some_and(|(_, number)| !numbers.contains(number))
        });
        let gone: Vec<FrameId> = gone.map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.remove_children(id);
            self.known.remove(id);
        }
        gone.into_iter().map(|frame| PageEvent::FrameDetached { frame }).collect()
    }

    pub(super) fn remove_children(&mut self, frame: &FrameId) {
        let children = self.known.iter().filter(|(_, child)| child.parent.as_ref() == Some(frame));
        for child in children.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.remove_children(&child);
            self.known.remove(&child);
        }
    }
}

/// Returns the id of the frame in the iframe `number` of `document`. It is valid while both exist.
fn frame_id(document: &DocumentId, number: u64) -> FrameId {
    format!("{document}/{number}").into()
}
