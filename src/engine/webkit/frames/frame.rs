//! The state of one frame.

use std::sync::Arc;

use tokio::time::Instant;

use super::{pending_requests::PendingRequests, report::ReadyState};
use crate::engine::{DocumentId, FrameId};

/// The URL that other browsers give to their error pages. WebKit's error pages have no URL.
pub(super) const ERROR_PAGE: &str = "about:neterror";
pub(super) const BLANK: &str = "about:blank";

#[derive(Default)]
pub(super) struct FrameEntry {
    pub parent: Option<FrameId>,
    /// The iframe element, as the driver names it, and its number in the parent document.
    pub element: Option<(Arc<str>, u64)>,
    pub document: Option<DocumentId>,
    pub url: String,
    pub ready: Option<ReadyState>,
    /// The URL of the pending navigation.
    pub target: Option<String>,
    /// Set while the browser shows an error page. The browser reports the failed URL as loaded.
    pub failed: Option<FailedDocument>,
    pub requests: PendingRequests,
    /// The number of the last click that was processed.
    pub last_click_number: u64,
    /// The time of a click on a link whose navigation has not been observed yet.
    pub link_clicked_at: Option<Instant>,
}

/// A document that failed to load.
pub(super) struct FailedDocument {
    pub url: String,
    pub reason: String,
}
