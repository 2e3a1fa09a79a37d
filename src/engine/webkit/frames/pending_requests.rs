//! The pending requests of a document's scripts.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::engine::{DocumentId, FrameId, PageEvent, ResourceKind};

/// Requests that are older than this are not polled at the short interval: a page may keep a long
/// poll open forever.
const MAX_TIME: Duration = Duration::from_secs(10);

/// The requests that were pending at the last poll.
#[derive(Default)]
pub(super) struct PendingRequests {
    /// The numbers that `page.js` assigns.
    numbers: BTreeSet<u64>,
    /// The time of the last poll with a new request.
    last_new: Option<Instant>,
}

impl PendingRequests {
    /// Replaces them with `now`, and returns the events that follow.
    pub fn update(
        &mut self,
        frame: &FrameId,
        document: &DocumentId,
        now: &BTreeSet<u64>,
    ) -> Vec<PageEvent> {
        let id = |number: &u64| -> Arc<str> { format!("{document}/{number}").into() };
        let started = now.difference(&self.numbers).map(|number| PageEvent::RequestStarted {
            id: id(number),
            frame: Some(frame.clone()),
            document: Some(document.clone()),
            kind: ResourceKind::Fetch,
        });
        let ended =
            self.numbers.difference(now).map(|number| PageEvent::RequestEnded { id: id(number) });
        let events = started.chain(ended).collect();
        if !now.is_subset(&self.numbers) {
            self.last_new = Some(Instant::now());
        }
        self.numbers.clone_from(now);
        events
    }

    /// Returns whether to poll for the end of a request.
    pub fn are_awaited(&self) -> bool {
        !self.numbers.is_empty()
            && self.last_new.is_some_and(|started| started.elapsed() < MAX_TIME)
    }
}
