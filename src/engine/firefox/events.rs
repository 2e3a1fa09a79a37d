//! Converts BiDi's events of a page and its frames into [`PageEvent`]s.
//!
//! A document is identified by the navigation that created it. Firefox reports some events late or not at all. The
//! load of a document can come before its commit, or with the id of the navigation after it. A navigation that
//! fails is reported only when the next one begins.

use std::{collections::HashMap, sync::Arc};

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::engine::{Dialog, DocumentId, DownloadStart, FrameId, PageEvent, connection::read_json};

/// Documents that fail to load are replaced by these, which never finish loading.
const ERROR_PAGES: [&str; 2] = ["about:neterror", "about:certerror"];

pub(super) const NAVIGATION_STARTED: &str = "browsingContext.navigationStarted";

/// Parses `params`. If they do not match, logs that and ignores the event.
pub(super) fn parse<T: DeserializeOwned>(method: &str, params: &RawValue) -> Option<T> {
    read_json(params.get())
        .inspect_err(
            |error| tracing::warn!(method, %error, "an event of the browser could not be read"),
        )
        .ok()
}

/// What `browsingContext` events have in common.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Happening {
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

/// The frames of a page, as far as its events are understood by them.
#[derive(Default)]
pub(super) struct Frames {
    known: HashMap<FrameId, Frame>,
    /// Downloads under way: navigation, URL and our id.
    downloads: Vec<(Option<Arc<str>>, String, Arc<str>)>,
    begun: u64,
}

#[derive(Default)]
struct Frame {
    parent: Option<FrameId>,
    document: Option<DocumentId>,
    url: String,
    /// The navigation that has begun and not come to anything.
    pending: Option<Arc<str>>,
    /// The last navigation that has begun, whatever it has come to.
    begun: Option<Arc<str>>,
    /// The document of the pending navigation, if it was reported before its commit: its id, URL, and whether it has
    /// loaded.
    early: Option<(Arc<str>, String, bool)>,
    /// The last navigation that stayed within its document.
    within: Option<Arc<str>>,
    /// The last navigation that became a download.
    downloaded: Option<Arc<str>>,
}

/// The result of a navigation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Came {
    Document,
    Within,
    Download,
}

impl Frames {
    pub fn attach(&mut self, frame: &FrameId, parent: Option<FrameId>) {
        self.known.entry(frame.clone()).or_default().parent = parent;
    }

    /// The URL of the document in `frame`. For a document without an origin in its URL (`about:blank`, `data:`), that
    /// of the parent.
    pub fn place_of(&self, frame: &FrameId) -> Option<String> {
        let mut frame = self.known.get(frame);
        while let Some(inner) = frame {
            if inner.url.starts_with("http") {
                return Some(inner.url.clone());
            }
            frame = inner.parent.as_ref().and_then(|parent| self.known.get(parent));
        }
        None
    }

    /// Where all documents of the page come from.
    pub fn places(&self) -> Vec<String> {
        self.known
            .values()
            .map(|frame| frame.url.clone())
            .filter(|url| url.starts_with("http"))
            .collect()
    }

    pub fn detach(&mut self, frame: &FrameId) {
        self.known.remove(frame);
    }

    pub fn is_known(&self, frame: &FrameId) -> bool {
        self.known.contains_key(frame)
    }

    pub fn all(&self) -> Vec<FrameId> {
        self.known.keys().cloned().collect()
    }

    /// Whether there are frames within the page.
    pub fn are_several(&self) -> bool {
        self.known.len() > 1
    }

    pub fn document(&self, frame: &str) -> Option<DocumentId> {
        self.known.get(frame).and_then(|frame| frame.document.clone())
    }

    /// The document of `frame` and the last navigation that has begun in it: where both stay, nothing has led away.
    pub fn standing(&self, frame: &str) -> Option<(Option<DocumentId>, Option<Arc<str>>)> {
        self.known.get(frame).map(|frame| (frame.document.clone(), frame.begun.clone()))
    }

    /// The result of `navigation` in `frame`, as far as it was reported.
    pub fn came_to(&self, frame: &str, navigation: &Arc<str>) -> Came {
        match self.known.get(frame) {
            Some(Frame { downloaded, .. }) if downloaded.as_ref() == Some(navigation) => {
                Came::Download
            }
            Some(Frame { within, .. }) if within.as_ref() == Some(navigation) => Came::Within,
            _ => Came::Document,
        }
    }

    /// The page has moved within a document without a word of BiDi.
    pub fn moved(&mut self, frame: &FrameId, url: String) -> Option<PageEvent> {
        let known = self.known.get_mut(frame)?;
        if known.url == url || known.document.is_none() {
            return None;
        }
        known.url.clone_from(&url);
        Some(PageEvent::NavigatedWithinDocument { frame: frame.clone(), url })
    }

    /// `navigation` has ended without a document.
    pub fn given_up(&mut self, frame: &FrameId, navigation: &Arc<str>) -> Option<PageEvent> {
        let known = self.known.get_mut(frame)?;
        known.pending.take_if(|pending| pending == navigation)?;
        Some(PageEvent::LoadingStopped { frame: frame.clone() })
    }

    /// The events that `method` means, in order.
    pub fn apply(&mut self, method: &str, happening: Happening) -> Vec<PageEvent> {
        let Happening { context: frame, navigation, url, .. } = &happening;
        let frame = frame.clone();
        match method {
            NAVIGATION_STARTED => {
                let Some(known) = self.known.get_mut(&frame) else { return Vec::new() };
                known.pending.clone_from(navigation);
                known.begun.clone_from(navigation);
                vec![PageEvent::NavigationRequested { frame, document: navigation.clone() }]
            }
            "browsingContext.navigationCommitted" => self.committed(frame, &happening),
            "browsingContext.domContentLoaded" => self.loaded(frame, &happening, false),
            "browsingContext.load" => self.loaded(frame, &happening, true),
            "browsingContext.navigationFailed" | "browsingContext.navigationAborted" => navigation
                .as_ref()
                .and_then(|gone| self.given_up(&frame, gone))
                .into_iter()
                .collect(),
            "browsingContext.fragmentNavigated" | "browsingContext.historyUpdated" => {
                let Some(known) = self.known.get_mut(&frame) else { return Vec::new() };
                known.url.clone_from(url);
                if navigation.is_some() {
                    known.within.clone_from(navigation);
                }
                vec![PageEvent::NavigatedWithinDocument { frame, url: happening.url }]
            }
            "browsingContext.downloadWillBegin" => self.download_begins(&frame, happening),
            "browsingContext.downloadEnd" => self.download_ends(&happening),
            "browsingContext.userPromptOpened" => {
                let kind = happening.kind.unwrap_or_default();
                let default_value = happening.default_value.filter(|_| kind == "prompt");
                // Of a page that is left the words are the browser's own, the same for every page.
                let message =
                    happening.message.filter(|_| kind != "beforeunload").unwrap_or_default();
                vec![PageEvent::DialogOpened(Dialog { kind, message, default_value })]
            }
            "browsingContext.userPromptClosed" => vec![PageEvent::DialogClosed],
            _ => Vec::new(),
        }
    }

    fn committed(&mut self, frame: FrameId, happening: &Happening) -> Vec<PageEvent> {
        let (Some(known), Some(document)) =
            (self.known.get_mut(&frame), happening.navigation.clone())
        else {
            return Vec::new();
        };
        known.pending.take_if(|pending| *pending == document);
        let early =
            known.early.take().filter(|(of, url, _)| *of == document && *url == happening.url);
        *known = Frame {
            parent: known.parent.take(),
            document: Some(document.clone()),
            url: happening.url.clone(),
            pending: known.pending.take(),
            ..Frame::default()
        };
        let mut events = vec![PageEvent::Committed {
            frame: frame.clone(),
            document: document.clone(),
            url: happening.url.clone(),
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

    fn loaded(&mut self, frame: FrameId, happening: &Happening, whole: bool) -> Vec<PageEvent> {
        let Some(known) = self.known.get_mut(&frame) else { return Vec::new() };
        if let Some(navigation) = happening.navigation.clone()
            && known.pending.as_ref() == Some(&navigation)
        {
            known.early = Some((navigation, happening.url.clone(), whole));
            // The present document, or the next one of the same URL: both can be meant.
            if happening.url != known.url {
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

    fn download_begins(&mut self, frame: &FrameId, happening: Happening) -> Vec<PageEvent> {
        let Happening { navigation, url, suggested_filename, .. } = happening;
        self.begun += 1;
        let id: Arc<str> = format!("{frame}-{}", self.begun).into();
        self.downloads.push((navigation.clone(), url.clone(), id.clone()));
        let mut events =
            vec![PageEvent::DownloadStarted(DownloadStart { id, url, suggested_filename })];
        if let Some(navigation) = navigation {
            events.extend(self.given_up(frame, &navigation));
            if let Some(known) = self.known.get_mut(frame) {
                known.downloaded = Some(navigation);
            }
        }
        events
    }

    fn download_ends(&mut self, happening: &Happening) -> Vec<PageEvent> {
        let at = self.downloads.iter().position(|(navigation, url, _)| {
            *navigation == happening.navigation && *url == happening.url
        });
        let Some(at) = at else { return Vec::new() };
        let (.., id) = self.downloads.remove(at);
        let complete = happening.status.as_deref() == Some("complete");
        let path = happening.filepath.clone().filter(|_| complete).map(Into::into);
        vec![PageEvent::DownloadEnded {
            id,
            file: path.ok_or_else(|| "it was broken off".to_owned()),
        }]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(frames: &mut Frames, method: &str, params: Value) -> Vec<String> {
        let happening: Happening = serde_json::from_value(params).unwrap();
        let events = frames.apply(&format!("browsingContext.{method}"), happening);
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

    fn frames() -> Frames {
        let mut frames = Frames::default();
        frames.attach(&"f".into(), None);
        frames
    }

    fn of(navigation: &str, url: &str) -> Value {
        json!({"context": "f", "navigation": navigation, "url": url})
    }

    #[test]
    fn a_load_before_its_commit_is_told_after_it() {
        let mut frames = frames();
        assert_eq!(told(&mut frames, "navigationStarted", of("1", "http://a/")), ["requested"]);
        assert_eq!(told(&mut frames, "load", of("1", "http://a/")), [""; 0]);
        assert_eq!(
            told(&mut frames, "navigationCommitted", of("1", "http://a/")),
            ["committed 1 http://a/", "content 1", "loaded 1"]
        );
    }

    #[test]
    fn a_load_under_the_next_navigations_name_is_the_present_documents() {
        let mut frames = frames();
        told(&mut frames, "navigationStarted", of("1", "http://a/"));
        told(&mut frames, "navigationCommitted", of("1", "http://a/"));
        told(&mut frames, "navigationStarted", of("2", "http://b/"));
        assert_eq!(told(&mut frames, "load", of("2", "http://a/")), ["loaded 1"]);
        assert_eq!(
            told(&mut frames, "navigationCommitted", of("2", "http://b/")),
            ["committed 2 http://b/"]
        );
    }

    #[test]
    fn an_error_page_has_loaded_with_its_content() {
        let mut frames = frames();
        told(&mut frames, "navigationStarted", of("1", "http://a/"));
        told(&mut frames, "navigationCommitted", of("1", "about:neterror?e=x"));
        assert_eq!(
            told(&mut frames, "domContentLoaded", of("1", "about:neterror?e=x")),
            ["loaded 1"]
        );
    }

    #[test]
    fn a_navigation_that_becomes_a_download_leads_nowhere() {
        let mut frames = frames();
        told(&mut frames, "navigationStarted", of("1", "http://a/x"));
        assert_eq!(
            told(&mut frames, "downloadWillBegin", of("1", "http://a/x")),
            ["download f-1", "stopped"]
        );
        assert_eq!(frames.came_to("f", &"1".into()), Came::Download);
        let ended = json!({"context": "f", "navigation": "1", "url": "http://a/x", "status": "complete", "filepath": "/d/x"});
        assert_eq!(told(&mut frames, "downloadEnd", ended), [r#"downloaded f-1 Ok("/d/x")"#]);
    }
}
