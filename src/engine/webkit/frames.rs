//! The frames of a page at the last poll. Compares them with the current poll and derives events
//! from the differences.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use serde::Deserialize;
use tokio::time::Instant;

use super::{now, reasons};
use crate::engine::{
    DocumentId, FrameId, PageEvent, ResourceKind,
    network::{RequestEvent, ResourceType},
};

/// The document's state that a script in a frame has returned.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct DocumentReport {
    pub document: DocumentId,
    pub url: String,
    ready: ReadyState,
    /// The numbers of its iframes, which `page.js` assigns.
    frames: Vec<u64>,
    /// The HTTP status; 0 if the browser does not report it.
    status: u16,
    /// A script has called `window.close()`, and the browser will close the window.
    #[serde(default)]
    pub closing: bool,
    /// The numbers of the pending requests of its scripts.
    #[serde(default)]
    requests: BTreeSet<u64>,
    /// The link that was last clicked.
    #[serde(default)]
    link: Option<ClickedLink>,
    /// The text of a blank document.
    #[serde(default)]
    blank: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct ClickedLink {
    /// Differs for each click.
    number: u64,
    url: String,
    /// Whether the click navigates the window or starts a download.
    navigates: bool,
}

impl DocumentReport {
    /// Returns the reason why the document failed to load, if this is an error page; its text if
    /// the reason is unknown. In a new window, text alone is no error, because another page may
    /// have written it.
    fn reason(&self, is_first: bool) -> Option<String> {
        let found = self.blank.as_deref().filter(|_| self.ready == ReadyState::Complete)?.trim();
        let words = (!is_first && !found.is_empty()).then(|| found.to_owned());
        reasons::named(found).or(words)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ReadyState {
    Loading,
    Interactive,
    Complete,
}

/// The URL that browsers give to error pages. WebKit's error page has none.
pub(super) const ERROR_PAGE: &str = "about:neterror";
/// If no navigation has started this long after a click on a link, the link is a download or does
/// nothing. A download may be complete before the next poll.
const LINK_TIMEOUT: Duration = Duration::from_millis(100);
/// Requests that are older than this are not polled at the short interval: a page may keep a long
/// poll open forever.
const MAX_TIME: Duration = Duration::from_secs(10);
pub(super) const BLANK: &str = "about:blank";

#[derive(Default)]
struct FrameEntry {
    parent: Option<FrameId>,
    /// The iframe element, as the driver names it, and its number in the parent document.
    element: Option<(Arc<str>, u64)>,
    document: Option<DocumentId>,
    url: String,
    ready: Option<ReadyState>,
    /// The URL of the pending navigation.
    target: Option<String>,
    /// The reason of an error page that the browser shows. The browser reports the failed URL as
    /// loaded.
    failed: Option<FailedDocument>,
    /// The pending requests of its scripts, and the time of the last new one.
    requests: BTreeSet<u64>,
    last_request: Option<Instant>,
    /// The number of the last click that was processed.
    link: u64,
    /// The time of a click on a link whose navigation has not been observed yet.
    link_clicked_at: Option<Instant>,
}

/// A document that failed to load.
struct FailedDocument {
    url: String,
    reason: String,
}

impl FrameEntry {
    /// Updates the pending requests, and returns the events that follow.
    fn update_requests(
        &mut self,
        id: &FrameId,
        document: &DocumentId,
        now: &BTreeSet<u64>,
    ) -> Vec<PageEvent> {
        let name = |number: &u64| -> Arc<str> { format!("{document}/{number}").into() };
        let (kind, document) = (ResourceKind::Fetch, Some(document.clone()));
        let begun = now.difference(&self.requests).map(|number| PageEvent::RequestStarted {
            id: name(number),
            frame: Some(id.clone()),
            document: document.clone(),
            kind,
        });
        let over = self
            .requests
            .difference(now)
            .map(|number| PageEvent::RequestEnded { id: name(number) });
        let events: Vec<PageEvent> = begun.chain(over).collect();
        if now.difference(&self.requests).next().is_some() {
            self.last_request = Some(Instant::now());
        }
        self.requests.clone_from(now);
        events
    }

    /// Returns whether to poll for the end of a request.
    fn awaits_response(&self) -> bool {
        !self.requests.is_empty()
            && self.last_request.is_some_and(|asked| asked.elapsed() < MAX_TIME)
    }
}

/// The frames of one page.
pub(super) struct Frames {
    main: FrameId,
    known: HashMap<FrameId, FrameEntry>,
    /// The URL of the last navigation or link click of the page.
    last_target: Option<String>,
}

impl Frames {
    pub fn new(main: FrameId) -> Self {
        Self {
            known: HashMap::from([(main.clone(), FrameEntry::default())]),
            main,
            last_target: None,
        }
    }

    /// Returns the iframes on the path to `frame`; `None` if the frame is detached.
    pub fn path_to(&self, frame: &FrameId) -> Option<Vec<Arc<str>>> {
        let mut path = Vec::new();
        let mut at = self.known.get(frame)?;
        while let (Some(parent), Some((element, _))) = (&at.parent, &at.element) {
            path.push(element.clone());
            at = self.known.get(parent)?;
        }
        path.reverse();
        Some(path)
    }

    /// Returns the reason why the page's document failed to load.
    pub fn failure(&self) -> Option<String> {
        let failed = self.known.get(&self.main)?.failed.as_ref()?;
        Some(failed.reason.clone())
    }

    /// Returns the page's document at the last poll, and its URL.
    pub fn document(&self) -> Option<(DocumentId, String)> {
        let main = self.known.get(&self.main)?;
        Some((main.document.clone()?, main.url.clone()))
    }

    /// Returns whether the page has child frames.
    pub fn has_child_frames(&self) -> bool {
        self.known.len() > 1
    }

    /// Returns the frame in the iframe `number` of `parent`, if it is known.
    pub fn child(&self, parent: &FrameId, number: u64) -> Option<FrameId> {
        let child = frame_id(self.known.get(parent)?.document.as_ref()?, number);
        self.known.contains_key(&child).then_some(child)
    }

    /// Returns the URL that the page is navigating to, or else its current URL.
    pub fn target(&self) -> String {
        let main = self.known.get(&self.main);
        main.map(|main| main.target.clone().unwrap_or_else(|| main.url.clone())).unwrap_or_default()
    }

    /// Returns the URL that a new download most likely comes from.
    pub fn downloaded_from(&mut self) -> String {
        self.last_target.take().unwrap_or_else(|| self.target())
    }

    /// Returns the child frames that have pending requests.
    pub fn awaiting_response(&self) -> Vec<FrameId> {
        let awaiting_response =
            self.known.iter().filter(|(id, frame)| **id != self.main && frame.awaits_response());
        awaiting_response.map(|(id, _)| id.clone()).collect()
    }

    /// Returns whether a navigation is pending.
    pub fn is_navigating(&self) -> bool {
        self.known.get(&self.main).is_some_and(|main| main.target.is_some())
    }

    /// Returns whether the page navigates, loads its document, or waits for a response.
    pub fn is_busy(&self) -> bool {
        let loads = self.known.get(&self.main).is_some_and(|main| {
            main.target.is_some() || main.ready.is_none_or(|ready| ready < ReadyState::Complete)
        });
        loads || self.known.values().any(FrameEntry::awaits_response)
    }

    /// Applies the state of the page's main frame, and the URL that the browser shows or is
    /// loading.
    pub fn apply_main(&mut self, seen: &DocumentReport, heading: Option<&str>) -> Vec<PageEvent> {
        let mut events = self.apply_state(&self.main.clone(), seen, heading);
        events.extend(heading.and_then(|url| self.apply_browser_url(url)));
        events
    }

    /// Applies the state of a child frame.
    pub fn apply(&mut self, id: &FrameId, seen: &DocumentReport) -> Vec<PageEvent> {
        self.apply_state(id, seen, None)
    }

    fn apply_state(
        &mut self,
        id: &FrameId,
        seen: &DocumentReport,
        heading: Option<&str>,
    ) -> Vec<PageEvent> {
        let mut events = Vec::new();
        let Some(frame) = self.known.get_mut(id) else { return events };
        let document = seen.document.clone();
        if frame.document.as_ref() != Some(&document) {
            let failed_url = frame.target.as_deref().or(heading);
            let failed_url =
                failed_url.filter(|url| seen.url == BLANK && !url.is_empty() && *url != BLANK);
            let failed =
                failed_url.map(|url| (url.to_owned(), seen.reason(frame.document.is_none())));
            let (known, sent) = (frame.document.is_some(), frame.target.is_some());
            frame.failed = match failed {
                None => None,
                Some((url, Some(reason))) => Some(FailedDocument { url, reason }),
                // A window begins with a blank document while it loads another one. An error page
                // that is still loading has no text yet.
                Some(_) if !known || seen.ready < ReadyState::Complete => return events,
                // The browser refused the request itself, so its error page is empty.
                Some((url, None)) => {
                    sent.then(|| FailedDocument { url, reason: reasons::REFUSED.to_owned() })
                }
            };
            frame.document = Some(document.clone());
            frame.target = None;
            frame.url.clone_from(&seen.url);
            frame.ready = None;
            frame.requests.clear();
            frame.link = 0;
            frame.link_clicked_at = None;
            let mut url = &*seen.url;
            if let Some(FailedDocument { url: failed_url, reason }) = &frame.failed {
                url = ERROR_PAGE;
                events.extend(request_failed(id, &document, failed_url, reason));
            }
            if seen.status > 0 {
                events.push(PageEvent::DocumentResponse {
                    document: document.clone(),
                    status: seen.status,
                });
            }
            events.push(PageEvent::Committed {
                frame: id.clone(),
                document: document.clone(),
                url: url.to_owned(),
            });
            self.remove_children(id);
        } else if frame.url != seen.url {
            frame.url.clone_from(&seen.url);
            frame.target = None;
            events.push(PageEvent::NavigatedWithinDocument {
                frame: id.clone(),
                url: seen.url.clone(),
            });
        }
        let Some(frame) = self.known.get_mut(id) else { return events };
        if let Some(link) = seen.link.as_ref().filter(|link| link.number > frame.link) {
            frame.link = link.number;
            self.last_target = Some(link.url.clone());
            if link.navigates && *id == self.main && frame.target.is_none() {
                frame.target = Some(link.url.clone());
                frame.link_clicked_at = Some(Instant::now());
                events.push(PageEvent::NavigationRequested { frame: id.clone(), document: None });
            }
        }
        events.extend(frame.update_requests(id, &document, &seen.requests));
        let before = frame.ready.replace(seen.ready);
        let (frame, document) = (id.clone(), document);
        if before != Some(ReadyState::Complete) && seen.ready == ReadyState::Complete {
            events.push(PageEvent::Loaded { frame, document });
        } else if before.is_none_or(|before| before == ReadyState::Loading)
            && seen.ready == ReadyState::Interactive
        {
            events.push(PageEvent::DomContentLoaded { frame, document });
        }
        events.extend(self.remove_detached(id, &seen.frames));
        events
    }

    /// Applies the URL that the browser shows or is loading.
    fn apply_browser_url(&mut self, url: &str) -> Option<PageEvent> {
        let frame = self.known.get_mut(&self.main)?;
        let there = url.is_empty()
            || url == frame.url
            || frame.failed.as_ref().is_some_and(|failed| failed.url == url);
        if !there {
            frame.link_clicked_at = None;
        }
        match (there, frame.target.is_some()) {
            (true, true) if frame.link_clicked_at.is_some_and(|at| at.elapsed() < LINK_TIMEOUT) => {
                None
            }
            (true, true) => {
                frame.target = None;
                frame.link_clicked_at = None;
                Some(PageEvent::LoadingStopped { frame: self.main.clone() })
            }
            (false, false) => {
                frame.target = Some(url.to_owned());
                self.last_target = Some(url.to_owned());
                Some(PageEvent::NavigationRequested { frame: self.main.clone(), document: None })
            }
            _ => None,
        }
    }

    /// Records that a command has navigated the page to `url`.
    pub fn navigation_sent(&mut self, url: &str) {
        if let Some(frame) = self.known.get_mut(&self.main) {
            frame.target = Some(url.to_owned());
            frame.link_clicked_at = None;
        }
        self.last_target = Some(url.to_owned());
    }

    /// Ends the pending navigation of a clicked link, because it became a download.
    pub fn download_arrived(&mut self) -> Option<PageEvent> {
        let frame = self.known.get_mut(&self.main)?;
        frame.link_clicked_at.take()?;
        frame.target = None;
        Some(PageEvent::LoadingStopped { frame: self.main.clone() })
    }

    /// Returns whether `seen` has iframes that are new.
    pub fn has_unknown(&self, id: &FrameId, seen: &DocumentReport) -> bool {
        seen.frames
            .iter()
            .any(|number| !self.known.contains_key(&frame_id(&seen.document, *number)))
            && self.known.contains_key(id)
    }

    /// Adds the frame in the iframe `number` of `parent`. The driver names its element `element`.
    pub fn attach_child(
        &mut self,
        parent: &FrameId,
        number: u64,
        element: &str,
    ) -> Option<(FrameId, Option<PageEvent>)> {
        let document = self.known.get(parent)?.document.as_ref()?;
        let id = frame_id(document, number);
        let is_new = !self.known.contains_key(&id);
        let frame = self.known.entry(id.clone()).or_default();
        frame.parent = Some(parent.clone());
        frame.element = Some((element.into(), number));
        let event = PageEvent::FrameAttached { frame: id.clone(), parent: Some(parent.clone()) };
        Some((id, is_new.then_some(event)))
    }

    /// Removes the frames of `parent` whose numbers are not in `numbers`.
    fn remove_detached(&mut self, parent: &FrameId, numbers: &[u64]) -> Vec<PageEvent> {
        let gone = self.known.iter().filter(|(_, frame)| {
            frame.parent.as_ref() == Some(parent)
                && frame.element.as_ref().is_some_and(|(_, number)| !numbers.contains(number))
        });
        let gone: Vec<FrameId> = gone.map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.remove_children(id);
            self.known.remove(id);
        }
        gone.into_iter().map(|frame| PageEvent::FrameDetached { frame }).collect()
    }

    fn remove_children(&mut self, frame: &FrameId) {
        let inside = self.known.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.remove_children(&inner);
            self.known.remove(&inner);
        }
    }
}

/// Returns the log events of the request for a document that failed to load, which the driver does
/// not report.
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

/// Returns the id of the frame in an iframe. It is valid while both the document and the iframe
/// exist.
fn frame_id(document: &DocumentId, number: u64) -> FrameId {
    format!("{document}/{number}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(document: &str, url: &str, ready: ReadyState, frames: &[u64]) -> DocumentReport {
        DocumentReport {
            document: document.into(),
            url: url.into(),
            ready,
            frames: frames.to_vec(),
            status: 0,
            closing: false,
            requests: BTreeSet::new(),
            link: None,
            blank: None,
        }
    }

    fn names(events: &[PageEvent]) -> Vec<&'static str> {
        let word = |event: &PageEvent| match event {
            PageEvent::Committed { .. } => "committed",
            PageEvent::DomContentLoaded { .. } => "dom",
            PageEvent::Loaded { .. } => "loaded",
            PageEvent::NavigatedWithinDocument { .. } => "within",
            PageEvent::FrameDetached { .. } => "detached",
            _ => "other",
        };
        events.iter().map(word).collect()
    }

    #[test]
    fn each_event_is_reported_once() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        assert_eq!(
            names(&frames.apply(&main, &seen("a", "http://a/", ReadyState::Loading, &[]))),
            ["committed"]
        );
        assert_eq!(
            names(&frames.apply(&main, &seen("a", "http://a/", ReadyState::Interactive, &[]))),
            ["dom"]
        );
        assert_eq!(
            names(&frames.apply(&main, &seen("a", "http://a/#x", ReadyState::Complete, &[]))),
            ["within", "loaded"]
        );
        assert!(
            frames.apply(&main, &seen("a", "http://a/#x", ReadyState::Complete, &[])).is_empty()
        );
        assert_eq!(
            names(&frames.apply(&main, &seen("b", "http://b/", ReadyState::Complete, &[]))),
            ["committed", "loaded"]
        );
    }

    #[test]
    fn a_blank_page_in_place_of_another_is_an_error_page() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        frames.apply(&main, &seen("a", BLANK, ReadyState::Complete, &[]));
        assert!(matches!(
            frames.apply_browser_url("http://no/"),
            Some(PageEvent::NavigationRequested { .. })
        ));
        assert!(frames.is_busy());
        assert!(
            frames.apply(&main, &seen("b", BLANK, ReadyState::Loading, &[])).is_empty(),
            "the error page has no text yet"
        );
        let events = frames.apply(&main, &seen("b", BLANK, ReadyState::Complete, &[]));
        assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
        assert_eq!(
            frames.failure().as_deref(),
            Some("net::ERR_BLOCKED_BY_CLIENT"),
            "an empty error page"
        );
        assert!(
            frames.apply_browser_url("http://no/").is_none(),
            "the browser still reports the failed URL"
        );
        assert!(!frames.is_busy());
    }

    #[test]
    fn the_url_of_an_error_page_is_that_of_the_failed_navigation() {
        let main: FrameId = "m".into();
        let said = |document: &str, text: &str| DocumentReport {
            blank: Some(text.into()),
            ..seen(document, BLANK, ReadyState::Complete, &[])
        };
        let mut frames = Frames::new(main.clone());
        frames.apply(&main, &seen("a", "http://a/", ReadyState::Complete, &[]));
        // No poll while the navigation was pending.
        let events = frames
            .apply_main(&said("b", "Could not connect: Connection refused"), Some("http://no/"));
        assert!(
            matches!(&events[0], PageEvent::Request(RequestEvent::Sent { url, .. }) if url == "http://no/")
        );
        assert_eq!(frames.failure().as_deref(), Some("net::ERR_CONNECTION_REFUSED"));
        frames.apply_main(&said("c", ""), Some("http://slow/"));
        assert_eq!(frames.failure(), None, "an empty page that navigates at once");
        assert!(frames.is_navigating());

        let mut popup = Frames::new(main.clone());
        let events = popup.apply_main(&said("a", "Please wait"), Some("http://slow/"));
        assert!(
            matches!(events[..], [PageEvent::NavigationRequested { .. }]),
            "its opener may have written the text"
        );
        let events = popup.apply_main(&said("b", "Connection refused"), Some("http://slow/"));
        assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
    }

    #[test]
    fn a_navigation_without_a_document_ends() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        frames.apply(&main, &seen("a", "http://a/", ReadyState::Complete, &[]));
        assert!(frames.apply_browser_url("http://a/download").is_some());
        assert!(matches!(
            frames.apply_browser_url("http://a/"),
            Some(PageEvent::LoadingStopped { .. })
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn a_click_on_a_link_is_a_pending_navigation_until_it_ends_or_times_out() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let idle = seen("a", "http://a/", ReadyState::Complete, &[]);
        let clicked = |number, navigates| DocumentReport {
            link: Some(ClickedLink { number, url: "http://a/file".into(), navigates }),
            ..idle.clone()
        };
        frames.apply(&main, &idle);
        assert!(
            frames.apply(&main, &clicked(1, false)).is_empty(),
            "the page prevented the default action"
        );
        for number in [2, 3] {
            let events = frames.apply(&main, &clicked(number, true));
            assert!(matches!(events[..], [PageEvent::NavigationRequested { .. }]), "{events:?}");
            assert!(frames.apply_browser_url("http://a/").is_none());
            assert!(frames.is_navigating(), "the navigation may still begin");
            assert!(matches!(frames.download_arrived(), Some(PageEvent::LoadingStopped { .. })));
            assert!(frames.apply(&main, &clicked(number, true)).is_empty(), "it is the same click");
            assert!(!frames.is_navigating());
        }
        frames.apply(&main, &clicked(4, true));
        tokio::time::advance(LINK_TIMEOUT).await;
        assert!(matches!(
            frames.apply_browser_url("http://a/"),
            Some(PageEvent::LoadingStopped { .. })
        ));
        frames.apply(&main, &clicked(5, true));
        assert!(
            frames.apply_browser_url("http://a/file").is_none(),
            "the navigation is already known"
        );
        assert!(frames.download_arrived().is_none(), "no click on a link is pending");
        assert!(matches!(
            frames.apply_browser_url("http://a/"),
            Some(PageEvent::LoadingStopped { .. })
        ));
    }

    #[test]
    fn requests_of_scripts_begin_and_end() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let idle = seen("a", "http://a/", ReadyState::Complete, &[]);
        let awaiting_response = DocumentReport { requests: BTreeSet::from([3]), ..idle.clone() };
        frames.apply(&main, &idle);
        assert!(matches!(
            frames.apply(&main, &awaiting_response)[..],
            [PageEvent::RequestStarted { .. }]
        ));
        assert!(frames.is_busy());
        assert!(frames.apply(&main, &awaiting_response).is_empty());
        assert!(matches!(frames.apply(&main, &idle)[..], [PageEvent::RequestEnded { .. }]));
        assert!(!frames.is_busy());
    }

    #[test]
    fn frames_are_removed_with_their_iframe_or_its_document() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let parent = seen("a", "http://a/", ReadyState::Complete, &[1, 2]);
        frames.apply(&main, &parent);
        assert!(frames.has_unknown(&main, &parent));
        let (one, _) = frames.attach_child(&main, 1, "node-1").unwrap();
        let (two, _) = frames.attach_child(&main, 2, "node-2").unwrap();
        assert_eq!(frames.path_to(&two), Some(vec!["node-2".into()]));
        assert_eq!(
            names(&frames.apply(&main, &seen("a", "http://a/", ReadyState::Complete, &[2]))),
            ["detached"]
        );
        assert_eq!(frames.path_to(&one), None);
        frames.apply(&main, &seen("b", "http://b/", ReadyState::Complete, &[]));
        assert_eq!(frames.path_to(&two), None);
    }
}
