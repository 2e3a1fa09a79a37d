//! A frame and its document.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    engine::{DocumentId, FrameId},
    page::state::EventSequence,
};

/// One frame and the document in it.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub parent: Option<FrameId>,
    pub document: Option<DocumentId>,
    /// Clones share the text, because a `data:` URL contains the whole document.
    pub url: Arc<str>,
    pub dom_content_loaded: bool,
    pub loaded: bool,
    /// The number of the frame in Playwright's refs: 0 for the main frame of a new page.
    pub playwright_number: u64,
    /// HTTP status of the document; 0 if there is none.
    pub status: u16,
    /// When the pending navigation away from the document began.
    pub navigation_began_at: Option<EventSequence>,
    /// The documents of pending navigations, the oldest first.
    pub(super) pending_documents: VecDeque<DocumentId>,
    /// When a navigation was scheduled for a later event loop tick.
    pub(super) scheduled: Option<EventSequence>,
    /// When the document was committed.
    pub committed_at: EventSequence,
    /// When the last same-document navigation changed the URL.
    pub url_changed: EventSequence,
}

impl Frame {
    /// Returns the documents of navigations that began after the one to `document`. Its commit does
    /// not end them.
    pub(super) fn pending_after(&self, document: &DocumentId) -> VecDeque<DocumentId> {
        let at = self
            .pending_documents
            .iter()
            .position(|pending_documents| pending_documents == document);
        at.map(|at| self.pending_documents.range(at + 1..).cloned().collect()).unwrap_or_default()
    }

    pub(super) fn is_navigating_since(&self, mark: EventSequence) -> bool {
        self.navigation_began_at.is_some_and(|at| at > mark)
            || self.scheduled.is_some_and(|at| at > mark)
    }
}
