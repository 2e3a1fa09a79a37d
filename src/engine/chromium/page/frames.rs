//! The CDP session of each frame of a page, and the execution contexts of its worlds.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::engine::{FrameId, World};

/// The frames of one page, kept from its sessions' events.
#[derive(Default)]
pub(super) struct Frames(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// Frames in the page's process belong to the page's CDP session, out-of-process iframes have their own.
    frames: HashMap<FrameId, Frame>,
    contexts: HashMap<Context, i64>,
    /// Frames that were detached before the frame tree of the page's beginning was read; `None` from then on.
    detached: Option<HashSet<FrameId>>,
}

struct Frame {
    session: Arc<str>,
    parent: Option<FrameId>,
    /// Where its document comes from.
    url: Arc<str>,
}

#[derive(PartialEq, Eq, Hash)]
struct Context {
    session: Arc<str>,
    frame: FrameId,
    isolated: bool,
}

impl Known {
    /// Removes the frames inside `frame`.
    fn forget_inside(&mut self, frame: &FrameId) {
        let inside = self.frames.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.forget_inside(&inner);
            self.frames.remove(&inner);
        }
    }
}

impl Frames {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    pub fn session_of(&self, frame: &FrameId) -> Option<Arc<str>> {
        self.lock().frames.get(frame).map(|frame| frame.session.clone())
    }

    pub fn has(&self, frame: &FrameId) -> bool {
        self.lock().frames.contains_key(frame)
    }

    /// `session` has reported a frame. The first session that does so becomes the frame's session, unless it has one
    /// already.
    pub fn attached(&self, frame: &FrameId, parent: Option<&FrameId>, session: &Arc<str>) {
        let mut known = self.lock();
        let frame = known.frames.entry(frame.clone()).or_insert_with(|| Frame {
            session: session.clone(),
            parent: None,
            url: "".into(),
        });
        // In its new process, a frame is reported without its parent.
        if let Some(parent) = parent {
            frame.parent = Some(parent.clone());
        }
    }

    /// `frame` is in the process of `session` from now on.
    pub fn moved(&self, frame: &FrameId, session: &Arc<str>) {
        let mut known = self.lock();
        let former = known.frames.get(frame);
        let parent = former.and_then(|frame| frame.parent.clone());
        let url = former.map_or_else(|| "".into(), |frame| frame.url.clone());
        known.frames.insert(frame.clone(), Frame { session: session.clone(), parent, url });
    }

    /// A new document was committed in `frame`. The child frames of the former document are not reported as removed.
    pub fn committed(&self, frame: &FrameId, session: &Arc<str>, url: &str) {
        self.moved(frame, session);
        let mut known = self.lock();
        known.forget_inside(frame);
        if let Some(frame) = known.frames.get_mut(frame) {
            frame.url = url.into();
        }
    }

    /// Whether a document of `frame` was reported: the empty one that it begins with never is.
    pub fn has_document(&self, frame: &FrameId) -> bool {
        self.lock().frames.get(frame).is_some_and(|frame| !frame.url.is_empty())
    }

    /// The URL of the document in `frame`. For a document without an origin in its URL (`about:blank`, `data:`), that
    /// of the parent.
    pub fn place_of(&self, frame: &FrameId) -> Option<String> {
        let known = self.lock();
        let mut frame = known.frames.get(frame);
        while let Some(inner) = frame {
            if inner.url.starts_with("http") {
                return Some(inner.url.to_string());
            }
            frame = inner.parent.as_ref().and_then(|parent| known.frames.get(parent));
        }
        None
    }

    /// Where all documents of the page come from.
    pub fn places(&self) -> Vec<String> {
        let known = self.lock();
        let urls = known.frames.values().map(|frame| frame.url.to_string());
        urls.filter(|url| url.starts_with("http")).collect()
    }

    pub fn detached(&self, frame: &FrameId) {
        let mut known = self.lock();
        known.forget_inside(frame);
        known.frames.remove(frame);
        if let Some(detached) = &mut known.detached {
            detached.insert(frame.clone());
        }
    }

    /// Notes from now on which frames are detached: a frame tree is on its way.
    pub fn expect_tree(&self) {
        self.lock().detached = Some(HashSet::new());
    }

    /// The frames that were detached while the tree was on its way.
    pub fn tree_arrived(&self) -> HashSet<FrameId> {
        self.lock().detached.take().unwrap_or_default()
    }

    pub fn session_gone(&self, session: &Arc<str>) {
        let mut known = self.lock();
        known.contexts.retain(|context, _| context.session != *session);
        known.frames.retain(|_, frame| frame.session != *session);
    }

    pub fn context(&self, session: &Arc<str>, frame: &FrameId, world: World) -> Option<i64> {
        let (session, frame) = (session.clone(), frame.clone());
        let context = Context { session, frame, isolated: world == World::Isolated };
        self.lock().contexts.get(&context).copied()
    }

    pub fn context_created(&self, session: &Arc<str>, frame: FrameId, world: World, id: i64) {
        let context =
            Context { session: session.clone(), frame, isolated: world == World::Isolated };
        self.lock().contexts.insert(context, id);
    }

    pub fn context_destroyed(&self, session: &Arc<str>, id: i64) {
        self.lock().contexts.retain(|context, known| context.session != *session || *known != id);
    }

    pub fn contexts_cleared(&self, session: &Arc<str>) {
        self.lock().contexts.retain(|context, _| context.session != *session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> Arc<str> {
        text.into()
    }

    fn page() -> Frames {
        let frames = Frames::default();
        frames.attached(&id("main"), None, &id("page"));
        frames.attached(&id("a"), Some(&id("main")), &id("page"));
        frames.attached(&id("b"), Some(&id("a")), &id("page"));
        frames
    }

    #[test]
    fn a_new_document_forgets_the_frames_of_the_old_one() {
        let frames = page();
        frames.committed(&id("main"), &id("page"), "http://a/");
        assert!(frames.has(&id("main")));
        assert!(!frames.has(&id("a")));
        assert!(!frames.has(&id("b")));
    }

    #[test]
    fn a_frame_that_moves_to_another_process_keeps_its_place() {
        let frames = page();
        frames.moved(&id("b"), &id("other"));
        frames.attached(&id("b"), None, &id("page"));
        assert_eq!(frames.session_of(&id("b")), Some(id("other")));
        frames.committed(&id("a"), &id("page"), "http://b/");
        assert!(
            !frames.has(&id("b")),
            "it was still inside of the frame that has another document"
        );
    }

    #[test]
    fn a_document_without_a_place_has_that_of_the_one_around_it() {
        let frames = page();
        assert_eq!(frames.place_of(&id("b")), None);
        frames.committed(&id("main"), &id("page"), "https://public.example/");
        frames.attached(&id("a"), Some(&id("main")), &id("page"));
        frames.committed(&id("a"), &id("page"), "data:text/html,x");
        assert_eq!(frames.place_of(&id("a")).as_deref(), Some("https://public.example/"));
        frames.committed(&id("a"), &id("other"), "http://localhost/");
        assert_eq!(frames.place_of(&id("a")).as_deref(), Some("http://localhost/"));
        assert_eq!(frames.places().len(), 2);
    }

    #[test]
    fn frames_that_are_detached_while_a_tree_is_on_its_way_are_noted() {
        let frames = page();
        frames.detached(&id("b"));
        frames.expect_tree();
        frames.detached(&id("a"));
        assert_eq!(frames.tree_arrived(), HashSet::from([id("a")]));
        assert!(frames.tree_arrived().is_empty());
    }

    #[test]
    fn what_a_session_told_goes_with_it() {
        let frames = page();
        frames.moved(&id("b"), &id("other"));
        frames.context_created(&id("other"), id("b"), World::Isolated, 1);
        frames.context_created(&id("page"), id("a"), World::Isolated, 1);
        frames.session_gone(&id("other"));
        assert_eq!(frames.context(&id("other"), &id("b"), World::Isolated), None);
        assert_eq!(frames.context(&id("page"), &id("a"), World::Isolated), Some(1));
        assert!(!frames.has(&id("b")));
    }

    #[test]
    fn context_ids_are_a_sessions_own() {
        let frames = page();
        frames.context_created(&id("page"), id("main"), World::Main, 7);
        frames.context_created(&id("page"), id("main"), World::Isolated, 8);
        frames.context_destroyed(&id("other"), 7);
        assert_eq!(frames.context(&id("page"), &id("main"), World::Main), Some(7));
        frames.context_destroyed(&id("page"), 7);
        assert_eq!(frames.context(&id("page"), &id("main"), World::Main), None);
        assert_eq!(frames.context(&id("page"), &id("main"), World::Isolated), Some(8));
    }
}
