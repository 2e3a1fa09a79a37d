//! The CDP session of each frame of a page, and the execution contexts of its worlds.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::engine::{FrameId, World, network_policy::document_url};

/// The frames of one page, updated from the events of its sessions.
#[derive(Default)]
pub(super) struct CdpFrames(Mutex<CdpFrameTable>);

#[derive(Default)]
struct CdpFrameTable {
    /// Frames in the page's process belong to the page's CDP session. Out-of-process iframes have
    /// their own.
    frames: HashMap<FrameId, ChromiumFrame>,
    contexts: HashMap<ContextKey, i64>,
    /// Frames that were detached before the initial frame tree was read. `None` after that.
    detached: Option<HashSet<FrameId>>,
}

struct ChromiumFrame {
    session: Arc<str>,
    parent: Option<FrameId>,
    /// The URL of its document.
    url: Arc<str>,
}

#[derive(PartialEq, Eq, Hash)]
struct ContextKey {
    session: Arc<str>,
    frame: FrameId,
    isolated: bool,
}

impl CdpFrameTable {
    /// Removes the frames inside `frame`.
    fn remove_descendants(&mut self, frame: &FrameId) {
        let inside = self.frames.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.remove_descendants(&inner);
            self.frames.remove(&inner);
        }
    }
}

impl CdpFrames {
    fn lock(&self) -> MutexGuard<'_, CdpFrameTable> {
        self.0.lock()
    }

    pub fn session_of(&self, frame: &FrameId) -> Option<Arc<str>> {
        self.lock().frames.get(frame).map(|frame| frame.session.clone())
    }

    /// Returns the sessions of all frames.
    pub fn sessions(&self) -> HashSet<Arc<str>> {
        self.lock().frames.values().map(|frame| frame.session.clone()).collect()
    }

    pub fn has(&self, frame: &FrameId) -> bool {
        self.lock().frames.contains_key(frame)
    }

    /// Records a frame that `session` has reported. The first such session becomes the frame's
    /// session.
    pub fn attached(&self, frame: &FrameId, parent: Option<&FrameId>, session: &Arc<str>) {
        let mut state = self.lock();
        let frame = state.frames.entry(frame.clone()).or_insert_with(|| ChromiumFrame {
            session: session.clone(),
            parent: None,
            url: "".into(),
        });
        // The session of a frame's new process reports it without its parent.
        if let Some(parent) = parent {
            frame.parent = Some(parent.clone());
        }
    }

    /// Records that `frame` is in the process of `session`.
    pub fn moved(&self, frame: &FrameId, session: &Arc<str>) {
        let mut state = self.lock();
        let former = state.frames.get(frame);
        let parent = former.and_then(|frame| frame.parent.clone());
        let url = former.map_or_else(|| "".into(), |frame| frame.url.clone());
        state.frames.insert(frame.clone(), ChromiumFrame { session: session.clone(), parent, url });
    }

    /// Records a commit in `frame`. Removes the frames of the former document, which Chromium does
    /// not report.
    pub fn committed(&self, frame: &FrameId, session: &Arc<str>, url: &str) {
        self.moved(frame, session);
        let mut state = self.lock();
        state.remove_descendants(frame);
        if let Some(frame) = state.frames.get_mut(frame) {
            frame.url = url.into();
        }
    }

    /// Returns whether a document of `frame` was reported. The initial empty document never is.
    pub fn has_document(&self, frame: &FrameId) -> bool {
        self.lock().frames.get(frame).is_some_and(|frame| !frame.url.is_empty())
    }

    /// See [`document_url`].
    pub fn document_url(&self, frame: &FrameId) -> Option<String> {
        let state = self.lock();
        document_url(frame, |frame| {
            state.frames.get(frame).map(|frame| (&*frame.url, frame.parent.as_ref()))
        })
    }

    /// Returns the URLs of all documents of the page.
    pub fn document_urls(&self) -> Vec<String> {
        let state = self.lock();
        let urls = state.frames.values().map(|frame| frame.url.to_string());
        urls.filter(|url| url.starts_with("http")).collect()
    }

    pub fn detached(&self, frame: &FrameId) {
        let mut state = self.lock();
        state.remove_descendants(frame);
        state.frames.remove(frame);
        if let Some(detached) = &mut state.detached {
            detached.insert(frame.clone());
        }
    }

    /// Records detached frames until the initial frame tree has arrived.
    pub fn expect_tree(&self) {
        self.lock().detached = Some(HashSet::new());
    }

    /// Returns the frames that were detached since [`Self::expect_tree`].
    pub fn tree_arrived(&self) -> HashSet<FrameId> {
        self.lock().detached.take().unwrap_or_default()
    }

    pub fn session_gone(&self, session: &Arc<str>) {
        let mut state = self.lock();
        state.contexts.retain(|context, _| context.session != *session);
        state.frames.retain(|_, frame| frame.session != *session);
    }

    pub fn context(&self, session: &Arc<str>, frame: &FrameId, world: World) -> Option<i64> {
        let (session, frame) = (session.clone(), frame.clone());
        let context = ContextKey { session, frame, isolated: world == World::Isolated };
        self.lock().contexts.get(&context).copied()
    }

    pub fn context_created(&self, session: &Arc<str>, frame: FrameId, world: World, id: i64) {
        let context =
            ContextKey { session: session.clone(), frame, isolated: world == World::Isolated };
        self.lock().contexts.insert(context, id);
    }

    pub fn context_destroyed(&self, session: &Arc<str>, id: i64) {
        self.lock()
            .contexts
            .retain(|context, existing| context.session != *session || *existing != id);
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

    fn page() -> CdpFrames {
        let frames = CdpFrames::default();
        frames.attached(&id("main"), None, &id("page"));
        frames.attached(&id("a"), Some(&id("main")), &id("page"));
        frames.attached(&id("b"), Some(&id("a")), &id("page"));
        frames
    }

    #[test]
    fn a_new_document_removes_the_frames_of_the_former_one() {
        let frames = page();
        frames.committed(&id("main"), &id("page"), "http://a/");
        assert!(frames.has(&id("main")));
        assert!(!frames.has(&id("a")));
        assert!(!frames.has(&id("b")));
    }

    #[test]
    fn a_frame_that_moves_to_another_process_keeps_its_parent() {
        let frames = page();
        frames.moved(&id("b"), &id("other"));
        frames.attached(&id("b"), None, &id("page"));
        assert_eq!(frames.session_of(&id("b")), Some(id("other")));
        frames.committed(&id("a"), &id("page"), "http://b/");
        assert!(!frames.has(&id("b")), "it is removed with the document that contained it");
    }

    #[test]
    fn a_document_without_an_origin_has_the_url_of_its_parent() {
        let frames = page();
        assert_eq!(frames.document_url(&id("b")), None);
        frames.committed(&id("main"), &id("page"), "https://public.example/");
        frames.attached(&id("a"), Some(&id("main")), &id("page"));
        frames.committed(&id("a"), &id("page"), "data:text/html,x");
        assert_eq!(frames.document_url(&id("a")).as_deref(), Some("https://public.example/"));
        frames.committed(&id("a"), &id("other"), "http://localhost/");
        assert_eq!(frames.document_url(&id("a")).as_deref(), Some("http://localhost/"));
        assert_eq!(frames.document_urls().len(), 2);
    }

    #[test]
    fn frames_that_are_detached_before_the_tree_arrives_are_recorded() {
        let frames = page();
        frames.detached(&id("b"));
        frames.expect_tree();
        frames.detached(&id("a"));
        assert_eq!(frames.tree_arrived(), HashSet::from([id("a")]));
        assert!(frames.tree_arrived().is_empty());
    }

    #[test]
    fn the_frames_and_contexts_of_a_session_are_removed_with_it() {
        let frames = page();
        frames.moved(&id("b"), &id("other"));
        assert_eq!(frames.sessions(), HashSet::from([id("page"), id("other")]));
        frames.context_created(&id("other"), id("b"), World::Isolated, 1);
        frames.context_created(&id("page"), id("a"), World::Isolated, 1);
        frames.session_gone(&id("other"));
        assert_eq!(frames.context(&id("other"), &id("b"), World::Isolated), None);
        assert_eq!(frames.context(&id("page"), &id("a"), World::Isolated), Some(1));
        assert!(!frames.has(&id("b")));
    }

    #[test]
    fn context_ids_are_unique_only_within_a_session() {
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
