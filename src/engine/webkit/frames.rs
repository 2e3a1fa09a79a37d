//! The frames of a page at the last poll, and the events that follow from the differences to the
//! current poll.

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
pub(super) struct Where {
    pub document: DocumentId,
    pub url: String,
    ready: Ready,
    /// The numbers of its iframes.
    frames: Vec<u64>,
    /// 0 where the browser does not tell.
    status: u16,
    /// Its window is about to close: a script has asked for it, and may.
    #[serde(default)]
    pub closing: bool,
    /// The numbers of what its scripts have asked for that is not over.
    #[serde(default)]
    requests: BTreeSet<u64>,
    /// The link that was last clicked.
    #[serde(default)]
    link: Option<Link>,
    /// The text of a blank document.
    #[serde(default)]
    blank: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
struct Link {
    /// Another one for each click.
    number: u64,
    url: String,
    /// Whether the click leads the window to another document, or to a file.
    leads: bool,
}

impl Where {
    /// The reason why the document failed to load, if this is an error page; its text if the reason
    /// is unknown. In a new window, text alone is no error, because another page may have written
    /// it.
    fn reason(&self, is_first: bool) -> Option<String> {
        let told = self.blank.as_deref().filter(|_| self.ready == Ready::Complete)?.trim();
        let words = (!is_first && !told.is_empty()).then(|| told.to_owned());
        reasons::named(told).or(words)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Ready {
    Loading,
    Interactive,
    Complete,
}

/// The URL that browsers give to error pages. WebKit's error page has none.
pub(super) const ERROR_PAGE: &str = "about:neterror";
/// If no navigation has started this long after a click on a link, the link is a download or does
/// nothing. A download may be complete before the next poll.
const SETTING_OUT: Duration = Duration::from_millis(100);
/// What takes longer than this is not looked for so often: a page may wait for news for ever.
const LONGEST: Duration = Duration::from_secs(10);
pub(super) const BLANK: &str = "about:blank";

#[derive(Default)]
struct Frame {
    parent: Option<FrameId>,
    /// The iframe that it is in, by the driver's name, and its number in the document around it.
    element: Option<(Arc<str>, u64)>,
    document: Option<DocumentId>,
    url: String,
    ready: Option<Ready>,
    /// Where it is on its way to.
    target: Option<String>,
    /// The reason of an error page that the browser shows. The browser reports the failed URL as
    /// loaded.
    failed: Option<Failure>,
    /// What its scripts have asked for that is not over, and when they last did.
    requests: BTreeSet<u64>,
    asked: Option<Instant>,
    /// The number of the last click on a link that is known.
    link: u64,
    /// The time of a click on a link whose navigation has not been observed yet.
    setting_out: Option<Instant>,
}

/// A document that could not be had.
struct Failure {
    url: String,
    reason: String,
}

impl Frame {
    /// Takes in which requests are not over.
    fn asked(
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
            self.asked = Some(Instant::now());
        }
        self.requests.clone_from(now);
        events
    }

    /// Whether the end of a request is worth looking for.
    fn is_asking(&self) -> bool {
        !self.requests.is_empty() && self.asked.is_some_and(|asked| asked.elapsed() < LONGEST)
    }
}

/// The frames of one page.
pub(super) struct Frames {
    main: FrameId,
    known: HashMap<FrameId, Frame>,
    /// Where the page was last on its way to, or was shown the way.
    last_target: Option<String>,
}

impl Frames {
    pub fn new(main: FrameId) -> Self {
        Self { known: HashMap::from([(main.clone(), Frame::default())]), main, last_target: None }
    }

    /// The iframes on the way to `frame`; nothing where it is gone.
    pub fn way_to(&self, frame: &FrameId) -> Option<Vec<Arc<str>>> {
        let mut way = Vec::new();
        let mut at = self.known.get(frame)?;
        while let (Some(parent), Some((element, _))) = (&at.parent, &at.element) {
            way.push(element.clone());
            at = self.known.get(parent)?;
        }
        way.reverse();
        Some(way)
    }

    /// Why the document that the page stands for could not be had.
    pub fn failure(&self) -> Option<String> {
        let failed = self.known.get(&self.main)?.failed.as_ref()?;
        Some(failed.reason.clone())
    }

    /// The page's document, as it was last seen, and its URL.
    pub fn document(&self) -> Option<(DocumentId, String)> {
        let main = self.known.get(&self.main)?;
        Some((main.document.clone()?, main.url.clone()))
    }

    /// Whether it has child frames.
    pub fn are_several(&self) -> bool {
        self.known.len() > 1
    }

    /// The frame in the iframe `number` of `parent`, if it is known.
    pub fn child(&self, parent: &FrameId, number: u64) -> Option<FrameId> {
        let child = name(self.known.get(parent)?.document.as_ref()?, number);
        self.known.contains_key(&child).then_some(child)
    }

    /// Where the page is, or is on its way to.
    pub fn target(&self) -> String {
        let main = self.known.get(&self.main);
        main.map(|main| main.target.clone().unwrap_or_else(|| main.url.clone())).unwrap_or_default()
    }

    /// Where a file comes from that has just been downloaded, as far as is known.
    pub fn downloaded_from(&mut self) -> String {
        self.last_target.take().unwrap_or_else(|| self.target())
    }

    /// The child frames that wait for something.
    pub fn asking(&self) -> Vec<FrameId> {
        let asking = self.known.iter().filter(|(id, frame)| **id != self.main && frame.is_asking());
        asking.map(|(id, _)| id.clone()).collect()
    }

    /// Whether the page is on its way elsewhere.
    pub fn is_heading(&self) -> bool {
        self.known.get(&self.main).is_some_and(|main| main.target.is_some())
    }

    /// Whether the page navigates, loads its document, or waits for a response.
    pub fn is_busy(&self) -> bool {
        let loads = self.known.get(&self.main).is_some_and(|main| {
            main.target.is_some() || main.ready.is_none_or(|ready| ready < Ready::Complete)
        });
        loads || self.known.values().any(Frame::is_asking)
    }

    /// Applies the state of the page's main frame, and the URL that the browser shows or is
    /// loading.
    pub fn seen_at_top(&mut self, seen: &Where, heading: Option<&str>) -> Vec<PageEvent> {
        let mut events = self.seen_by(&self.main.clone(), seen, heading);
        events.extend(heading.and_then(|url| self.heading(url)));
        events
    }

    /// Applies the state of a child frame.
    pub fn seen(&mut self, id: &FrameId, seen: &Where) -> Vec<PageEvent> {
        self.seen_by(id, seen, None)
    }

    fn seen_by(&mut self, id: &FrameId, seen: &Where, heading: Option<&str>) -> Vec<PageEvent> {
        let mut events = Vec::new();
        let Some(frame) = self.known.get_mut(id) else { return events };
        let document = seen.document.clone();
        if frame.document.as_ref() != Some(&document) {
            let wanted = frame.target.as_deref().or(heading);
            let wanted = wanted.filter(|url| seen.url == BLANK && !url.is_empty() && *url != BLANK);
            let failed = wanted.map(|url| (url.to_owned(), seen.reason(frame.document.is_none())));
            let (known, sent) = (frame.document.is_some(), frame.target.is_some());
            frame.failed = match failed {
                None => None,
                Some((url, Some(reason))) => Some(Failure { url, reason }),
                // A window begins with a blank document while it loads another one. An error page
                // that is still loading has no text yet.
                Some(_) if !known || seen.ready < Ready::Complete => return events,
                // It says nothing where the browser itself has refused it.
                Some((url, None)) => {
                    sent.then(|| Failure { url, reason: reasons::REFUSED.to_owned() })
                }
            };
            frame.document = Some(document.clone());
            frame.target = None;
            frame.url.clone_from(&seen.url);
            frame.ready = None;
            frame.requests.clear();
            frame.link = 0;
            frame.setting_out = None;
            let mut url = &*seen.url;
            if let Some(Failure { url: wanted, reason }) = &frame.failed {
                url = ERROR_PAGE;
                events.extend(request_failed(id, &document, wanted, reason));
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
            self.forget_inside(id);
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
            if link.leads && *id == self.main && frame.target.is_none() {
                frame.target = Some(link.url.clone());
                frame.setting_out = Some(Instant::now());
                events.push(PageEvent::NavigationRequested { frame: id.clone(), document: None });
            }
        }
        events.extend(frame.asked(id, &document, &seen.requests));
        let before = frame.ready.replace(seen.ready);
        let (frame, document) = (id.clone(), document);
        if before != Some(Ready::Complete) && seen.ready == Ready::Complete {
            events.push(PageEvent::Loaded { frame, document });
        } else if before.is_none_or(|before| before == Ready::Loading)
            && seen.ready == Ready::Interactive
        {
            events.push(PageEvent::DomContentLoaded { frame, document });
        }
        events.extend(self.detached(id, &seen.frames));
        events
    }

    /// Takes in where the browser says that the page is, or is on its way to.
    fn heading(&mut self, url: &str) -> Option<PageEvent> {
        let frame = self.known.get_mut(&self.main)?;
        let there = url.is_empty()
            || url == frame.url
            || frame.failed.as_ref().is_some_and(|failed| failed.url == url);
        if !there {
            frame.setting_out = None;
        }
        match (there, frame.target.is_some()) {
            (true, true) if frame.setting_out.is_some_and(|at| at.elapsed() < SETTING_OUT) => None,
            (true, true) => {
                frame.target = None;
                frame.setting_out = None;
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

    /// A command has navigated the page to `url`.
    pub fn sent_to(&mut self, url: &str) {
        if let Some(frame) = self.known.get_mut(&self.main) {
            frame.target = Some(url.to_owned());
            frame.setting_out = None;
        }
        self.last_target = Some(url.to_owned());
    }

    /// A file has come: a link that was clicked has led there.
    pub fn file_came(&mut self) -> Option<PageEvent> {
        let frame = self.known.get_mut(&self.main)?;
        frame.setting_out.take()?;
        frame.target = None;
        Some(PageEvent::LoadingStopped { frame: self.main.clone() })
    }

    /// Whether `seen` has iframes that are not known.
    pub fn has_unknown(&self, id: &FrameId, seen: &Where) -> bool {
        seen.frames.iter().any(|number| !self.known.contains_key(&name(&seen.document, *number)))
            && self.known.contains_key(id)
    }

    /// The frame in the iframe `number` of `parent`, which the driver calls `element`.
    pub fn inside(
        &mut self,
        parent: &FrameId,
        number: u64,
        element: &str,
    ) -> Option<(FrameId, Option<PageEvent>)> {
        let document = self.known.get(parent)?.document.as_ref()?;
        let id = name(document, number);
        let is_new = !self.known.contains_key(&id);
        let frame = self.known.entry(id.clone()).or_default();
        frame.parent = Some(parent.clone());
        frame.element = Some((element.into(), number));
        let event = PageEvent::FrameAttached { frame: id.clone(), parent: Some(parent.clone()) };
        Some((id, is_new.then_some(event)))
    }

    /// The frames in `parent` that are not among `numbers` any more.
    fn detached(&mut self, parent: &FrameId, numbers: &[u64]) -> Vec<PageEvent> {
        let gone = self.known.iter().filter(|(_, frame)| {
            frame.parent.as_ref() == Some(parent)
                && frame.element.as_ref().is_some_and(|(_, number)| !numbers.contains(number))
        });
        let gone: Vec<FrameId> = gone.map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.forget_inside(id);
            self.known.remove(id);
        }
        gone.into_iter().map(|frame| PageEvent::FrameDetached { frame }).collect()
    }

    fn forget_inside(&mut self, frame: &FrameId) {
        let inside = self.known.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.forget_inside(&inner);
            self.known.remove(&inner);
        }
    }
}

/// The request for a document that failed to load, which the driver does not report.
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

/// The frame in an iframe of a document, for as long as both are there.
fn name(document: &DocumentId, number: u64) -> FrameId {
    format!("{document}/{number}").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(document: &str, url: &str, ready: Ready, frames: &[u64]) -> Where {
        Where {
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

    fn told(events: &[PageEvent]) -> Vec<&'static str> {
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
    fn what_happened_is_told_once() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        assert_eq!(
            told(&frames.seen(&main, &seen("a", "http://a/", Ready::Loading, &[]))),
            ["committed"]
        );
        assert_eq!(
            told(&frames.seen(&main, &seen("a", "http://a/", Ready::Interactive, &[]))),
            ["dom"]
        );
        assert_eq!(
            told(&frames.seen(&main, &seen("a", "http://a/#x", Ready::Complete, &[]))),
            ["within", "loaded"]
        );
        assert!(frames.seen(&main, &seen("a", "http://a/#x", Ready::Complete, &[])).is_empty());
        assert_eq!(
            told(&frames.seen(&main, &seen("b", "http://b/", Ready::Complete, &[]))),
            ["committed", "loaded"]
        );
    }

    #[test]
    fn a_blank_page_in_place_of_another_is_an_error_page() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        frames.seen(&main, &seen("a", BLANK, Ready::Complete, &[]));
        assert!(matches!(
            frames.heading("http://no/"),
            Some(PageEvent::NavigationRequested { .. })
        ));
        assert!(frames.is_busy());
        assert!(
            frames.seen(&main, &seen("b", BLANK, Ready::Loading, &[])).is_empty(),
            "it has yet to say why"
        );
        let events = frames.seen(&main, &seen("b", BLANK, Ready::Complete, &[]));
        assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
        assert_eq!(
            frames.failure().as_deref(),
            Some("net::ERR_BLOCKED_BY_CLIENT"),
            "without a word"
        );
        assert!(
            frames.heading("http://no/").is_none(),
            "the browser still names what it could not have"
        );
        assert!(!frames.is_busy());
    }

    #[test]
    fn what_could_not_be_had_is_known_by_where_the_browser_was_going() {
        let main: FrameId = "m".into();
        let said = |document: &str, text: &str| Where {
            blank: Some(text.into()),
            ..seen(document, BLANK, Ready::Complete, &[])
        };
        let mut frames = Frames::new(main.clone());
        frames.seen(&main, &seen("a", "http://a/", Ready::Complete, &[]));
        // Nobody has looked while it was on its way.
        let events = frames
            .seen_at_top(&said("b", "Could not connect: Connection refused"), Some("http://no/"));
        assert!(
            matches!(&events[0], PageEvent::Request(RequestEvent::Sent { url, .. }) if url == "http://no/")
        );
        assert_eq!(frames.failure().as_deref(), Some("net::ERR_CONNECTION_REFUSED"));
        frames.seen_at_top(&said("c", ""), Some("http://slow/"));
        assert_eq!(frames.failure(), None, "an empty page that is left again at once");
        assert!(frames.is_heading());

        let mut popup = Frames::new(main.clone());
        let events = popup.seen_at_top(&said("a", "Please wait"), Some("http://slow/"));
        assert!(
            matches!(events[..], [PageEvent::NavigationRequested { .. }]),
            "its opener has written that"
        );
        let events = popup.seen_at_top(&said("b", "Connection refused"), Some("http://slow/"));
        assert!(matches!(&events[2], PageEvent::Committed { url, .. } if url == ERROR_PAGE));
    }

    #[test]
    fn a_navigation_that_comes_to_nothing_is_over() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        frames.seen(&main, &seen("a", "http://a/", Ready::Complete, &[]));
        assert!(frames.heading("http://a/download").is_some());
        assert!(matches!(frames.heading("http://a/"), Some(PageEvent::LoadingStopped { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_click_on_a_link_is_on_its_way_until_it_has_led_somewhere_or_nowhere() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let at_rest = seen("a", "http://a/", Ready::Complete, &[]);
        let clicked = |number, leads| Where {
            link: Some(Link { number, url: "http://a/file".into(), leads }),
            ..at_rest.clone()
        };
        frames.seen(&main, &at_rest);
        assert!(
            frames.seen(&main, &clicked(1, false)).is_empty(),
            "the page has kept it for itself"
        );
        for number in [2, 3] {
            let events = frames.seen(&main, &clicked(number, true));
            assert!(matches!(events[..], [PageEvent::NavigationRequested { .. }]), "{events:?}");
            assert!(frames.heading("http://a/").is_none());
            assert!(frames.is_heading(), "the browser may set out yet");
            assert!(matches!(frames.file_came(), Some(PageEvent::LoadingStopped { .. })));
            assert!(frames.seen(&main, &clicked(number, true)).is_empty(), "it is the same click");
            assert!(!frames.is_heading());
        }
        frames.seen(&main, &clicked(4, true));
        tokio::time::advance(SETTING_OUT).await;
        assert!(matches!(frames.heading("http://a/"), Some(PageEvent::LoadingStopped { .. })));
        frames.seen(&main, &clicked(5, true));
        assert!(frames.heading("http://a/file").is_none(), "that is known");
        assert!(frames.file_came().is_none(), "it is another way's");
        assert!(matches!(frames.heading("http://a/"), Some(PageEvent::LoadingStopped { .. })));
    }

    #[test]
    fn what_scripts_ask_for_begins_and_ends() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let at_rest = seen("a", "http://a/", Ready::Complete, &[]);
        let asking = Where { requests: BTreeSet::from([3]), ..at_rest.clone() };
        frames.seen(&main, &at_rest);
        assert!(matches!(frames.seen(&main, &asking)[..], [PageEvent::RequestStarted { .. }]));
        assert!(frames.is_busy());
        assert!(frames.seen(&main, &asking).is_empty());
        assert!(matches!(frames.seen(&main, &at_rest)[..], [PageEvent::RequestEnded { .. }]));
        assert!(!frames.is_busy());
    }

    #[test]
    fn frames_go_with_their_iframe_and_with_the_document_around_them() {
        let main: FrameId = "m".into();
        let mut frames = Frames::new(main.clone());
        let parent = seen("a", "http://a/", Ready::Complete, &[1, 2]);
        frames.seen(&main, &parent);
        assert!(frames.has_unknown(&main, &parent));
        let (one, _) = frames.inside(&main, 1, "node-1").unwrap();
        let (two, _) = frames.inside(&main, 2, "node-2").unwrap();
        assert_eq!(frames.way_to(&two), Some(vec!["node-2".into()]));
        assert_eq!(
            told(&frames.seen(&main, &seen("a", "http://a/", Ready::Complete, &[2]))),
            ["detached"]
        );
        assert_eq!(frames.way_to(&one), None);
        frames.seen(&main, &seen("b", "http://b/", Ready::Complete, &[]));
        assert_eq!(frames.way_to(&two), None);
    }
}
