//! Converts BiDi's events of a page and its frames into [`PageEvent`]s.
//!
//! A document is identified by the navigation that created it. Firefox reports some events late or
//! not at all. The load of a document can be reported before its commit, or with the id of the next
//! navigation. A navigation that fails is reported only when the next one begins.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::engine::{
    Dialog, DocumentId, DownloadStart, FrameId, PageEvent, connection::read_json,
    network_policy::document_url,
};

/// Error pages, which never report that they have loaded.
const ERROR_PAGES: [&str; 2] = ["about:neterror", "about:certerror"];

pub(super) const NAVIGATION_STARTED: &str = "browsingContext.navigationStarted";

/// Parses `params`. If they do not match, logs that and ignores the event.
pub(super) fn parse<T: DeserializeOwned>(method: &str, params: &RawValue) -> Option<T> {
    read_json(params.get())
        .inspect_err(|error| tracing::warn!(method, %error, "an event of the browser is malformed"))
        .ok()
}

/// The parameters of `browsingContext` events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NavigationEvent {
    pub context: Arc<str>,
    pub navigation: Option<Arc<str>>,
    #[serde(default)]
    pub url: String,
    #[serde(default)]
    suggested_filename: String,
    status: Option<String>,
    filepath: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    message: Option<String>,
    default_value: Option<String>,
}

/// The frames of a page, and the state that gives its events their meaning.
#[derive(Default)]
pub(super) struct FrameTable {
    frames: HashMap<FrameId, FirefoxFrame>,
    /// Running downloads: navigation, URL and Troupe's id.
    downloads: Vec<(Option<Arc<str>>, String, Arc<str>)>,
    download_count: u64,
}

#[derive(Default)]
struct FirefoxFrame {
    parent: Option<FrameId>,
    document: Option<DocumentId>,
    url: String,
    /// The navigation that has begun and neither committed nor failed.
    pending: Option<Arc<str>>,
    /// The last navigation that has begun, whatever its outcome.
    last_started: Option<Arc<str>>,
    /// The document of the pending navigation, if it was reported before its commit: its id, URL,
    /// and whether it has loaded.
    early: Option<(Arc<str>, String, bool)>,
    /// The last same-document navigation.
    within: Option<Arc<str>>,
    /// The last navigation that became a download.
    downloaded: Option<Arc<str>>,
}

/// The outcome of a navigation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NavigationOutcome {
    Document,
    SameDocument,
    Download,
}

impl FrameTable {
    pub fn attach(&mut self, frame: &FrameId, parent: Option<FrameId>) {
        self.frames.entry(frame.clone()).or_default().parent = parent;
    }

    /// See [`document_url`].
    pub fn document_url(&self, frame: &FrameId) -> Option<String> {
        document_url(frame, |frame| {
            self.frames.get(frame).map(|frame| (&*frame.url, frame.parent.as_ref()))
        })
    }

    /// Returns the URLs of all documents of the page.
    pub fn document_urls(&self) -> Vec<String> {
        self.frames
            .values()
            .map(|frame| frame.url.clone())
            .filter(|url| url.starts_with("http"))
            .collect()
    }

    /// Removes `frame` and the frames in it, for which Firefox sends no event. Returns their ids.
    pub fn detach(&mut self, frame: &FrameId) -> Vec<FrameId> {
        let inner = self.frames.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        let inner: Vec<FrameId> = inner.map(|(id, _)| id.clone()).collect();
        let mut removed: Vec<FrameId> = inner.iter().flat_map(|id| self.detach(id)).collect();
        self.frames.remove(frame);
        removed.push(frame.clone());
        removed
    }

    pub fn is_known(&self, frame: &FrameId) -> bool {
        self.frames.contains_key(frame)
    }

    pub fn all(&self) -> Vec<FrameId> {
        self.frames.keys().cloned().collect()
    }

    /// Returns whether the page has child frames.
    pub fn has_children(&self) -> bool {
        self.frames.len() > 1
    }

    pub fn document(&self, frame: &str) -> Option<DocumentId> {
        self.frames.get(frame).and_then(|frame| frame.document.clone())
    }

    /// Returns the document of `frame` and the last navigation that has begun in it. If both are
    /// unchanged, the frame has not navigated.
    pub fn navigation_state(&self, frame: &str) -> Option<(Option<DocumentId>, Option<Arc<str>>)> {
        self.frames.get(frame).map(|frame| (frame.document.clone(), frame.last_started.clone()))
    }

    /// Returns the outcome of `navigation` in `frame`, as far as BiDi has reported it.
    pub fn outcome_of(&self, frame: &str, navigation: &Arc<str>) -> NavigationOutcome {
        match self.frames.get(frame) {
            Some(FirefoxFrame { downloaded, .. }) if downloaded.as_ref() == Some(navigation) => {
                NavigationOutcome::Download
            }
            Some(FirefoxFrame { within, .. }) if within.as_ref() == Some(navigation) => {
                NavigationOutcome::SameDocument
            }
            _ => NavigationOutcome::Document,
        }
    }

    /// Handles a same-document navigation that BiDi does not report.
    pub fn url_changed(&mut self, frame: &FrameId, url: String) -> Option<PageEvent> {
        let known = self.frames.get_mut(frame)?;
        if known.url == url || known.document.is_none() {
            return None;
        }
        known.url.clone_from(&url);
        Some(PageEvent::NavigatedWithinDocument { frame: frame.clone(), url })
    }

    /// Handles the end of a navigation that did not commit.
    pub fn navigation_ended(
        &mut self,
        frame: &FrameId,
        navigation: &Arc<str>,
    ) -> Option<PageEvent> {
        let known = self.frames.get_mut(frame)?;
        known.pending.take_if(|pending| pending == navigation)?;
        Some(PageEvent::LoadingStopped { frame: frame.clone() })
    }

    /// Applies a BiDi event and returns the page events that follow from it.
    pub fn apply(&mut self, method: &str, event: NavigationEvent) -> Vec<PageEvent> {
        let NavigationEvent { context: frame, navigation, url, .. } = &event;
        let frame = frame.clone();
        match method {
            NAVIGATION_STARTED => {
                let Some(known) = self.frames.get_mut(&frame) else { return Vec::new() };
                known.pending.clone_from(navigation);
                known.last_started.clone_from(navigation);
                vec![PageEvent::NavigationRequested { frame, document: navigation.clone() }]
            }
            "browsingContext.navigationCommitted" => self.committed(frame, &event),
            "browsingContext.domContentLoaded" => self.loaded(frame, &event, false),
            "browsingContext.load" => self.loaded(frame, &event, true),
            "browsingContext.navigationFailed" | "browsingContext.navigationAborted" => navigation
                .as_ref()
                .and_then(|gone| self.navigation_ended(&frame, gone))
                .into_iter()
                .collect(),
            "browsingContext.fragmentNavigated" | "browsingContext.historyUpdated" => {
                let Some(known) = self.frames.get_mut(&frame) else { return Vec::new() };
                known.url.clone_from(url);
                if navigation.is_some() {
                    known.within.clone_from(navigation);
                }
                vec![PageEvent::NavigatedWithinDocument { frame, url: event.url }]
            }
            "browsingContext.downloadWillBegin" => self.download_begins(&frame, event),
            "browsingContext.downloadEnd" => self.download_ends(&event),
            "browsingContext.userPromptOpened" => {
                let kind = event.kind.unwrap_or_default();
                let default_value = event.default_value.filter(|_| kind == "prompt");
                // The message of a `beforeunload` dialog is the browser's own text.
                let message = event.message.filter(|_| kind != "beforeunload").unwrap_or_default();
                vec![PageEvent::DialogOpened(Dialog { kind, message, default_value })]
            }
            "browsingContext.userPromptClosed" => vec![PageEvent::DialogClosed],
            _ => Vec::new(),
        }
    }

    fn committed(&mut self, frame: FrameId, event: &NavigationEvent) -> Vec<PageEvent> {
        let (Some(known), Some(document)) = (self.frames.get_mut(&frame), event.navigation.clone())
        else {
            return Vec::new();
        };
        known.pending.take_if(|pending| *pending == document);
        let early = known.early.take().filter(|(of, url, _)| *of == document && *url == event.url);
        *known = FirefoxFrame {
            parent: known.parent.take(),
            document: Some(document.clone()),
            url: event.url.clone(),
            pending: known.pending.take(),
            ..FirefoxFrame::default()
        };
        let mut events = vec![PageEvent::Committed {
            frame: frame.clone(),
            document: document.clone(),
            url: event.url.clone(),
        }];
        if let Some((.., loaded)) = early {
            events.push(PageEvent::DomContentLoaded {
                frame: frame.clone(),
                document: document.clone(),
            });
            if loaded {
                events.push(PageEvent::Loaded { frame, document });
            }
        }
        events
    }

    fn loaded(&mut self, frame: FrameId, event: &NavigationEvent, whole: bool) -> Vec<PageEvent> {
        let Some(known) = self.frames.get_mut(&frame) else { return Vec::new() };
        if let Some(navigation) = event.navigation.clone()
            && known.pending.as_ref() == Some(&navigation)
        {
            known.early = Some((navigation, event.url.clone(), whole));
            // With the same URL, the event can belong to the current document or to the next one.
            if event.url != known.url {
                return Vec::new();
            }
        }
        let Some(document) = known.document.clone() else { return Vec::new() };
        let whole = whole || ERROR_PAGES.iter().any(|start| known.url.starts_with(start));
        vec![if whole {
            PageEvent::Loaded { frame, document }
        } else {
            PageEvent::DomContentLoaded { frame, document }
        }]
    }

    fn download_begins(&mut self, frame: &FrameId, event: NavigationEvent) -> Vec<PageEvent> {
        let NavigationEvent { navigation, url, suggested_filename, .. } = event;
        self.download_count += 1;
        let id: Arc<str> = format!("{frame}-{}", self.download_count).into();
        self.downloads.push((navigation.clone(), url.clone(), id.clone()));
        let mut events =
            vec![PageEvent::DownloadStarted(DownloadStart { id, url, suggested_filename })];
        if let Some(navigation) = navigation {
            events.extend(self.navigation_ended(frame, &navigation));
            if let Some(known) = self.frames.get_mut(frame) {
                known.downloaded = Some(navigation);
            }
        }
        events
    }

    fn download_ends(&mut self, event: &NavigationEvent) -> Vec<PageEvent> {
        let at = self
            .downloads
            .iter()
            .position(|(navigation, url, _)| *navigation == event.navigation && *url == event.url);
        let Some(at) = at else { return Vec::new() };
        let (.., id) = self.downloads.remove(at);
        let complete = event.status.as_deref() == Some("complete");
        let path = event.filepath.clone().filter(|_| complete).map(Into::into);
        vec![PageEvent::DownloadEnded {
            id,
            file: path.ok_or_else(|| "the download was interrupted".to_owned()),
        }]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn apply(frames: &mut FrameTable, method: &str, params: Value) -> Vec<String> {
        let event: NavigationEvent = serde_json::from_value(params).unwrap();
        let events = frames.apply(&format!("browsingContext.{method}"), event);
        events
            .into_iter()
            .map(|event| match event {
                PageEvent::Committed { document, url, .. } => format!("committed {document} {url}"),
                PageEvent::DomContentLoaded { document, .. } => format!("content {document}"),
                PageEvent::Loaded { document, .. } => format!("loaded {document}"),
                PageEvent::NavigationRequested { .. } => "requested".to_owned(),
                PageEvent::LoadingStopped { .. } => "stopped".to_owned(),
                PageEvent::DownloadStarted(start) => format!("download {}", start.id),
                PageEvent::DownloadEnded { id, file } => format!("downloaded {id} {file:?}"),
                other => format!("{other:?}"),
            })
            .collect()
    }

    fn frames() -> FrameTable {
        let mut frames = FrameTable::default();
        frames.attach(&"f".into(), None);
        frames
    }

    fn of(navigation: &str, url: &str) -> Value {
        json!({"context": "f", "navigation": navigation, "url": url})
    }

    #[test]
    fn a_load_that_precedes_its_commit_is_reported_after_it() {
        let mut frames = frames();
        assert_eq!(apply(&mut frames, "navigationStarted", of("1", "http://a/")), ["requested"]);
        assert_eq!(apply(&mut frames, "load", of("1", "http://a/")), [""; 0]);
        assert_eq!(
            apply(&mut frames, "navigationCommitted", of("1", "http://a/")),
            ["committed 1 http://a/", "content 1", "loaded 1"]
        );
    }

    #[test]
    fn a_load_with_the_id_of_the_next_navigation_belongs_to_the_current_document() {
        let mut frames = frames();
        apply(&mut frames, "navigationStarted", of("1", "http://a/"));
        apply(&mut frames, "navigationCommitted", of("1", "http://a/"));
        apply(&mut frames, "navigationStarted", of("2", "http://b/"));
        assert_eq!(apply(&mut frames, "load", of("2", "http://a/")), ["loaded 1"]);
        assert_eq!(
            apply(&mut frames, "navigationCommitted", of("2", "http://b/")),
            ["committed 2 http://b/"]
        );
    }

    #[test]
    fn an_error_page_has_loaded_when_its_content_has() {
        let mut frames = frames();
        apply(&mut frames, "navigationStarted", of("1", "http://a/"));
        apply(&mut frames, "navigationCommitted", of("1", "about:neterror?e=x"));
        assert_eq!(
            apply(&mut frames, "domContentLoaded", of("1", "about:neterror?e=x")),
            ["loaded 1"]
        );
    }

    #[test]
    fn a_navigation_that_becomes_a_download_commits_no_document() {
        let mut frames = frames();
        apply(&mut frames, "navigationStarted", of("1", "http://a/x"));
        assert_eq!(
            apply(&mut frames, "downloadWillBegin", of("1", "http://a/x")),
            ["download f-1", "stopped"]
        );
        assert_eq!(frames.outcome_of("f", &"1".into()), NavigationOutcome::Download);
        let ended = json!({"context": "f", "navigation": "1", "url": "http://a/x", "status": "complete", "filepath": "/d/x"});
        assert_eq!(apply(&mut frames, "downloadEnd", ended), [r#"downloaded f-1 Ok("/d/x")"#]);
    }
}
