//! The overview of a page after a navigation: a short snapshot, so that an agent need not ask for
//! one.

use std::time::Duration;

use crate::page::{Page, read::SnapshotOptions};

/// Maximum characters of an overview.
const BUDGET: usize = 2_000;

/// Maximum time to wait for content that the page loads by script.
const CONTENT: Duration = Duration::from_millis(1_500);

impl Page {
    /// Waits until the requests of the present document's scripts have finished and their responses
    /// have been handled, for at most 1,500 ms. Returns false if there was nothing to wait for.
    pub async fn content_loaded(&self) -> bool {
        let start = self.state.read(|facts| facts.main_frame().committed);
        if !self.state.read(|facts| facts.busy_since(start)) {
            return false;
        }
        let _ =
            self.within(CONTENT, Box::pin(self.settle(start, self.main_frame(), None, None))).await;
        // The record took its snapshot before that.
        self.snapshot_cache.forget_action();
        true
    }

    /// Returns the overview of the page. `None` if the page shows nothing, or does not respond in
    /// time.
    pub async fn overview(&self) -> Option<String> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let options =
            SnapshotOptions { overview: true, budget: Some(BUDGET), ..SnapshotOptions::default() };
        let text =
            self.within(self.config.timeout_settle, self.snapshot_text(&options)).await?.ok()?;
        if !self.is_shown() {
            self.shown_now().await;
            // The record needs no snapshot of its own.
            self.snapshot_cache.note_after_action();
        }
        Some(text).filter(|text| !text.is_empty())
    }
}
