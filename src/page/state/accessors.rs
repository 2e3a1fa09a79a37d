//! Reads a page's state without a call into the page.

use std::sync::Arc;

use crate::{
    engine::{ConsoleMessage, Dialog, FileChooser, FrameId, PageObserver, network::ResourceType},
    page::{
        Page,
        state::{Download, LoggedRequest, NetworkLog, PageFacts},
    },
};

/// Beginnings of the URLs of the browsers' error pages.
const ERROR_PAGES: [&str; 3] = ["chrome-error:", "about:neterror", "about:certerror"];

/// A document that failed to load.
pub(in crate::page) struct DocumentFailure {
    pub url: String,
    pub reason: String,
}

impl Page {
    /// Returns the observer that gets this page's events from the engine.
    pub fn observer(&self) -> Arc<dyn PageObserver> {
        self.state.clone()
    }

    /// Returns the page's URL. If the browser shows an error page because a document failed to
    /// load, the URL of that document.
    pub fn url(&self) -> String {
        let shown = self.state.read(|facts| facts.main_frame().url.clone());
        self.document_failure(&shown)
            .map_or_else(|| shown.as_ref().to_owned(), |document_failure| document_failure.url)
    }

    /// Returns the URL of the shown document, which is that of an error page if a document failed
    /// to load.
    pub fn document_url(&self) -> String {
        self.state.read(|facts| facts.main_frame().url.as_ref().to_owned())
    }

    /// Returns the reason why the page's document failed to load, if it did.
    pub fn failure(&self) -> Option<String> {
        let shown = self.state.read(|facts| facts.main_frame().url.clone());
        self.document_failure(&shown).map(|document_failure| document_failure.reason)
    }

    /// Returns whether the page has crashed and has had no document since.
    pub fn has_crashed(&self) -> bool {
        self.state.read(|facts| facts.crashed.is_some())
    }

    /// Returns a number that grows when the page navigates, loads, crashes or closes.
    pub fn revision(&self) -> u64 {
        self.state.read(PageFacts::revision)
    }

    /// Returns whether the page is not closed.
    pub fn is_open(&self) -> bool {
        !self.state.read(|facts| facts.closed)
    }

    /// Returns the HTTP status of the page's document and its text. `None` if it has none.
    pub fn document_status(&self) -> Option<(u16, String)> {
        let status = self.state.read(|facts| facts.main_frame().status);
        if status == 0 {
            return None;
        }
        let text = self.state.read_log(|log| {
            let is_document = |entry: &&LoggedRequest| {
                entry.kind == ResourceType::Document && entry.status == Some(status)
            };
            let details = log.entries().rev().find(is_document)?.response_details.clone();
            details.map(|details| details.status_text.clone())
        });
        Some((status, text.unwrap_or_default()))
    }

    /// Returns the page's open dialog.
    pub fn dialog(&self) -> Option<Dialog> {
        self.state.read(|facts| facts.dialog.clone())
    }

    /// Returns the latest console messages of the page and its frames, the oldest first. With
    /// `since_navigation`, only those since the main frame's last document was committed.
    pub fn console_messages(&self, since_navigation: bool) -> Vec<ConsoleMessage> {
        self.state.console_messages(since_navigation)
    }

    /// Returns the number of console messages so far, including those that are no longer kept.
    pub fn console_count(&self) -> usize {
        self.state.console_count()
    }

    /// Returns how many console messages the current document has, and how many of them are errors
    /// and warnings.
    pub fn console_counts(&self) -> (usize, usize, usize) {
        self.state.console_counts()
    }

    /// Returns the console messages from the number `first` on, and the number of the next one.
    pub fn console_messages_since(&self, first: usize) -> (Vec<ConsoleMessage>, usize) {
        self.state.console_messages_since(first)
    }

    /// Returns the file chooser that the current document has opened and that has no answer yet.
    pub fn open_file_chooser(&self) -> Option<FileChooser> {
        self.state.open_chooser()
    }

    /// Returns whether it is a tab of the user, which the session does not own.
    pub fn is_adopted(&self) -> bool {
        self.engine.is_adopted()
    }

    /// Returns the engine's ID of the page.
    pub fn engine_id(&self) -> &str {
        self.engine.id()
    }

    /// Returns the requests that match `filter`, the oldest first, each with the URL of its frame
    /// if that is not the main frame.
    pub fn requests(&self, filter: Option<&str>) -> Vec<(LoggedRequest, Option<String>)> {
        let fits = |entry: &&LoggedRequest| filter.is_none_or(|filter| entry.fits(filter));
        let logged: Vec<LoggedRequest> =
            self.state.read_log(|log| log.entries().filter(fits).cloned().collect());
        self.state.read(|facts| {
            let frame = |id: &FrameId| {
                let known = facts.frames.get(id).map_or("detached", |frame| &*frame.url);
                (facts.main.as_ref() != Some(id)).then(|| known.to_owned())
            };
            logged
                .into_iter()
                .map(|entry| (entry.clone(), entry.frame.as_ref().and_then(frame)))
                .collect()
        })
    }

    /// Returns the number of requests of the page so far, including those that the log has removed.
    pub fn request_count(&self) -> usize {
        self.state.read_log(NetworkLog::count)
    }

    /// Returns the requests from `number` on that the log has, the oldest first, each with its
    /// number. The first request of the page has the number 0.
    pub fn requests_since(&self, number: usize) -> Vec<(usize, LoggedRequest)> {
        self.state.read_log(|log| {
            log.since(number).map(|(number, entry)| (number, entry.clone())).collect()
        })
    }

    /// Takes the changes of the session's downloads since the last answer that reported them.
    pub async fn download_changes(&self) -> Vec<Download> {
        self.state.downloads().take_changes(self.config.timeout_settle).await
    }

    pub(in crate::page) fn main_frame(&self) -> &FrameId {
        self.main_frame.get_or_init(|| self.engine.main_frame())
    }

    /// Returns the document that failed to load, if `shown` is the URL of the browser's error page.
    pub(in crate::page) fn document_failure(&self, shown: &str) -> Option<DocumentFailure> {
        if !ERROR_PAGES.iter().any(|scheme| shown.starts_with(scheme)) {
            return None;
        }
        let last = self.last_failed_document();
        let (url, reason) =
            last.unwrap_or_else(|| (shown.to_owned(), "net::ERR_FAILED".to_owned()));
        Some(DocumentFailure { url, reason })
    }

    /// Returns the URL of the last document that failed to load, and the reason.
    pub(in crate::page) fn last_failed_document(&self) -> Option<(String, String)> {
        let main = self.main_frame();
        self.state.read_log(|log| {
            let mut documents = log.entries().rev().filter(|logged| {
                logged.kind == ResourceType::Document
                    && logged.frame.as_ref().is_none_or(|frame| frame == main)
            });
            documents.find_map(|logged| Some((logged.url.clone(), logged.failure.clone()?)))
        })
    }
}
