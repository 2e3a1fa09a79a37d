//! The overview of a page after a navigation: a short snapshot, so that an agent need not ask for
//! one.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::page::{Page, read::SnapshotOptions, script::millis};

/// Maximum characters of an overview.
const BUDGET: usize = 2_000;

/// Maximum time to wait for content that the page loads by script.
const CONTENT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The overview of an empty page whose requests are in flight.
const NOTHING_YET: &str =
    "- … the page shows nothing yet, it is still loading: `wait_for` a text, or call `snapshot`";

impl Page {
    /// Waits until the requests of the present document's scripts have finished, their responses
    /// have been rendered, and the page no longer shows that it is loading content. Waits at most
    /// 1,500 ms. Returns false if there was nothing to wait for. `may_load`: whether scripts may
    /// render content without a request in flight.
    pub async fn await_content(&self, may_load: bool) -> bool {
        let start = self.state.read(|facts| facts.main_frame().committed_at);
        let is_busy = || self.state.read(|facts| facts.is_busy_since(start));
        let deadline = Instant::now() + CONTENT_TIMEOUT;
        let mut is_pending = may_load;
        let mut has_waited = false;
        while is_pending || is_busy() {
            if is_busy() {
                has_waited = true;
                let settled = Box::pin(self.settle(start, self.main_frame(), None, None));
                let _ = tokio::time::timeout_at(deadline, settled).await;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || self.dialog().is_some() || !self.is_open() {
                break;
            }
            let content = self.call_injected("awaitContent", json!({"timeout": millis(left)}));
            match tokio::time::timeout_at(deadline, content).await {
                Ok(Ok(content)) => is_pending = content["waited"] == true,
                _ => break,
            }
            has_waited |= is_pending;
        }
        if has_waited {
            // The snapshot for the record was taken before the content was rendered.
            self.snapshot_cache.mark_outdated();
        }
        has_waited
    }

    /// Waits until the page has rendered the responses to requests since `begun` (milliseconds
    /// since the start of the document). Returns whether it had to wait. `is_changed`: whether the
    /// page has changed visibly since then.
    pub(in crate::page) async fn await_rendering(&self, begun: f64, is_changed: bool) -> bool {
        let action = json!({"begun": begun, "isChanged": is_changed});
        let content = self.call_injected(
            "awaitContent",
            json!({"timeout": millis(CONTENT_TIMEOUT), "action": action}),
        );
        let content = tokio::time::timeout(CONTENT_TIMEOUT, content).await;
        matches!(content, Ok(Ok(content)) if content["waited"] == true)
    }

    /// Returns the overview of the page. `None` if the page shows nothing and loads nothing, or
    /// does not respond in time.
    pub async fn overview(&self) -> Option<String> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let options =
            SnapshotOptions { overview: true, budget: Some(BUDGET), ..SnapshotOptions::default() };
        let text =
            self.within(self.config.timeout_settle, self.snapshot_text(&options)).await?.ok()?;
        if !self.is_shown() {
            self.record_shown().await;
            // The record can use the same snapshot.
            self.snapshot_cache.mark_after_action();
        }
        if text.is_empty() {
            let start = self.state.read(|facts| facts.main_frame().committed_at);
            return self
                .state
                .read(|facts| facts.is_busy_since(start))
                .then(|| NOTHING_YET.to_owned());
        }
        Some(text)
    }
}
