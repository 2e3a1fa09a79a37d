//! The document's state that `page.js` returns at each poll.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::engine::{DocumentId, webkit::reasons};

/// The document's state that a script in a frame has returned.
#[derive(Debug, Clone, Deserialize)]
pub(in crate::engine::webkit) struct DocumentReport {
    pub document: DocumentId,
    pub url: String,
    pub(super) ready: ReadyState,
    /// The numbers of its iframes, which `page.js` assigns.
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
    /// Returns the reason why the document failed to load, if this is an error page; its text if
    /// the reason is unknown. In a new window, text alone is no error, because another page may
    /// have written it.
    pub(super) fn reason(&self, is_first: bool) -> Option<String> {
        let found = self.blank.as_deref().filter(|_| self.ready == ReadyState::Complete)?.trim();
        let words = (!is_first && !found.is_empty()).then(|| found.to_owned());
        reasons::named(found).or(words)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ReadyState {
    Loading,
    Interactive,
    Complete,
}
