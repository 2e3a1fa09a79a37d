//! Applies the reported state of a frame's document.

use std::sync::Arc;

use super::{
    frame::{BLANK, ERROR_PAGE, FailedDocument, FrameEntry},
    report::{DocumentReport, ReadyState},
    tree::Frames,
};
use crate::engine::{
    DocumentId, FrameId, PageEvent,
    network::{RequestEvent, ResourceType},
    webkit::{error_pages, now},
};

/// A document that a poll finds for the first time.
enum NewDocument {
    Loaded,
    /// The browser shows its error page.
    Failed(FailedDocument),
    /// The next poll shows whether it is an error page.
    Undecided,
}

impl FrameEntry {
    /// Classifies the frame's new document. `browser_url` is the URL that the browser shows.
    fn classify(&self, report: &DocumentReport, browser_url: Option<&str>) -> NewDocument {
        let url = self.target.as_deref().or(browser_url).unwrap_or_default();
        if report.url != BLANK || url.is_empty() || url == BLANK {
            return NewDocument::Loaded;
        }
        let is_first = self.document.is_none();
        let failed = |reason| NewDocument::Failed(FailedDocument { url: url.to_owned(), reason });
        match report.reason(is_first) {
            Some(reason) => failed(reason),
            // A window begins with a blank document while it loads another one. An error page
            // that is still loading has no text yet.
            None if is_first || report.ready < ReadyState::Complete => NewDocument::Undecided,
            // The browser refused the request itself, so its error page is empty.
            None if self.target.is_some() => failed(error_pages::REFUSED.to_owned()),
            None => NewDocument::Loaded,
        }
    }

    /// Replaces the frame's document, and returns the events of its load.
    fn commit(
        &mut self,
        id: &FrameId,
        report: &DocumentReport,
        failed: Option<FailedDocument>,
    ) -> Vec<PageEvent> {
        let document = &report.document;
        let mut events = Vec::new();
        let mut url = &*report.url;
        if let Some(FailedDocument { url: failed_url, reason }) = &failed {
            url = ERROR_PAGE;
            events.extend(request_failed(id, document, failed_url, reason));
        }
        if report.status > 0 {
            let (document, status) = (document.clone(), report.status);
            events.push(PageEvent::DocumentResponse { document, status });
        }
        events.push(PageEvent::Committed {
            frame: id.clone(),
            document: document.clone(),
            url: url.to_owned(),
        });
        *self = Self {
            parent: self.parent.take(),
            element: self.element.take(),
            document: Some(document.clone()),
            url: report.url.clone(),
            failed,
            ..Self::default()
        };
        events
    }

    /// Updates the state of loading, and returns the event that follows.
    fn update_ready(&mut self, id: &FrameId, report: &DocumentReport) -> Option<PageEvent> {
        let before = self.ready.replace(report.ready);
        if before.is_some_and(|before| before >= report.ready) {
            return None;
        }
        let (frame, document) = (id.clone(), report.document.clone());
        match report.ready {
            ReadyState::Loading => None,
            ReadyState::Interactive => Some(PageEvent::DomContentLoaded { frame, document }),
            ReadyState::Complete => Some(PageEvent::Loaded { frame, document }),
        }
    }
}

impl Frames {
    /// Applies the state of the page's main frame, and the URL that the browser shows or is
    /// loading.
    pub fn apply_main(
        &mut self,
        report: &DocumentReport,
        browser_url: Option<&str>,
    ) -> Vec<PageEvent> {
        let mut events = self.apply_state(&self.main.clone(), report, browser_url);
        events.extend(browser_url.and_then(|url| self.apply_browser_url(url)));
        events
    }

    /// Applies the state of a child frame.
    pub fn apply(&mut self, id: &FrameId, report: &DocumentReport) -> Vec<PageEvent> {
        self.apply_state(id, report, None)
    }

    /// Applies the state of a frame. `browser_url` is the URL that the browser shows or is loading,
    /// if it is the main frame.
    fn apply_state(
        &mut self,
        id: &FrameId,
        report: &DocumentReport,
        browser_url: Option<&str>,
    ) -> Vec<PageEvent> {
        let mut events = Vec::new();
        let Some(frame) = self.known.get_mut(id) else { return events };
        if frame.document.as_ref() != Some(&report.document) {
            let failed = match frame.classify(report, browser_url) {
                NewDocument::Loaded => None,
                NewDocument::Failed(failed) => Some(failed),
                NewDocument::Undecided => return events,
            };
            events = frame.commit(id, report, failed);
            self.remove_children(id);
        } else if frame.url != report.url {
            frame.url.clone_from(&report.url);
            frame.target = None;
            let (frame, url) = (id.clone(), report.url.clone());
            events.push(PageEvent::NavigatedWithinDocument { frame, url });
        }
        events.extend(self.apply_clicked_link(id, report.link.as_ref()));
        if let Some(frame) = self.known.get_mut(id) {
            events.extend(frame.requests.update(id, &report.document, &report.requests));
            events.extend(frame.update_ready(id, report));
        }
        events.extend(self.remove_detached(id, &report.frames));
        events
    }
}

/// Returns the log events of the request for a document that failed to load. The driver does not
/// report this request.
fn request_failed(
    frame: &FrameId,
    document: &DocumentId,
    url: &str,
    reason: &str,
) -> [PageEvent; 2] {
    let id: Arc<str> = format!("{document}/document").into();
    let now = now() * 1000.0;
    let sent = RequestEvent::Sent {
        id: id.clone(),
        url: url.to_owned(),
        method: "GET".to_owned(),
        kind: ResourceType::Document,
        at: now,
        clock: Some(now),
        frame: Some(frame.clone()),
        worker: None,
        redirected: None,
        details: None,
    };
    let failed = RequestEvent::Failed { id, clock: now, reason: reason.to_owned() };
    [sent, failed].map(PageEvent::Request)
}
