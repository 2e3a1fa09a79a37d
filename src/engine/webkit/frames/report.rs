//! The document's state that `page.js` returns at each poll.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::engine::{DocumentId, webkit::error_pages};

/// The document's state that a script in a frame has returned.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::engine::webkit) struct DocumentReport {
    pub document: DocumentId,
    pub url: String,
    pub(super) ready: ReadyState,
    /// The numbers that `page.js` has assigned to its iframes.
    pub(super) frames: Vec<u64>,
    /// The HTTP status; 0 if the browser does not report it.
    pub(super) status: u16,
    /// A script has called `window.close()`, and the browser will close the window.
    #[serde(default)]
    pub closing: bool,
    /// The numbers of the pending requests of its scripts.
    #[serde(default)]
    pub(super) requests: BTreeSet<u64>,
    /// The link that was last clicked.
    #[serde(default)]
    pub(super) link: Option<ClickedLink>,
    /// The text of a blank document.
    #[serde(default)]
    pub(super) blank: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct ClickedLink {
    /// Differs for each click.
    pub number: u64,
    pub url: String,
    /// Whether the click navigates the window or starts a download.
    pub navigates: bool,
}

impl DocumentReport {
    /// Returns the reason why the document failed to load, if it is an error page. If the reason
    /// has no name, returns the page's text. In a new window, text alone is not an error, because
    /// the window's opener may have written it.
    pub(super) fn reason(&self, is_first: bool) -> Option<String> {
        let text = self.blank.as_deref().filter(|_| self.ready == ReadyState::Complete)?.trim();
        let text_as_reason = (!is_first && !text.is_empty()).then(|| text.to_owned());
        error_pages::named(text).or(text_as_reason)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReadyState {
    Loading,
    Interactive,
    Complete,
}
