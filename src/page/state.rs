//! The state of a page, maintained from its engine's events: documents, requests, dialogs, downloads.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, LazyLock},
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::Notify, time::Instant};

use super::{
    Shared,
    console::ConsoleLog,
    dialogs::Dialogs,
    downloads::Downloads,
    events::{self, Events},
    keep::Visited,
    network_log::NetworkLog,
    network_policy::Gate,
    requests::{Request, Requests},
    revision::Revision,
};
use crate::engine::{
    Dialog, DocumentId, DownloadStart, FileChooser, FrameId, PageEvent, PageObserver,
    network::RequestEvent,
};

/// Statuses of documents that are on their way, or that the user may go back to.
const STATUSES: usize = 64;

/// A position in the sequence of a page's events. Later events have higher numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Mark(u64);

#[cfg(test)]
impl Mark {
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// One frame and the document in it.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub parent: Option<FrameId>,
    pub document: Option<DocumentId>,
    /// A clone shares it: of a `data:` document it holds the whole document.
    pub url: Arc<str>,
    pub dom_content_loaded: bool,
    pub loaded: bool,
    /// HTTP status of the document; 0 where there was none.
    pub status: u16,
    /// When a navigation away from the document was begun that is not over.
    pub navigating: Option<Mark>,
    /// The documents of the navigations that have begun since, the oldest first.
    begun: VecDeque<DocumentId>,
    /// When a navigation was put off to the next turn of the event loop.
    scheduled: Option<Mark>,
    /// When the document was committed.
    pub committed: Mark,
    /// When it last changed its URL without being replaced.
    pub moved_within: Mark,
}

/// A snapshot of everything, under the lock.
#[derive(Debug, Default)]
pub struct Facts {
    now: Mark,
    pub main: FrameIdOrNone,
    pub frames: HashMap<FrameId, Frame>,
    requests: Requests,
    statuses: VecDeque<(DocumentId, u16)>,
    pub dialog: Option<Dialog>,
    dialog_opened: Mark,
    download: Option<(Mark, DownloadStart)>,
    file_chooser: Option<(Mark, FileChooser)>,
    /// When it was asked for, its name, where it has one, and its URL.
    windows: VecDeque<(Mark, Option<Arc<str>>, String)>,
    /// When the page crashed, until it has a document again.
    pub crashed: Option<Mark>,
    /// When a navigation last ended without a document.
    abandoned: Mark,
    /// When it last came to show something else.
    shown: Mark,
    pub closed: bool,
}

type FrameIdOrNone = Option<FrameId>;

/// Windows that a page has asked for that are remembered: more than one action opens.
const MOST_WINDOWS: usize = 16;

/// Documents of navigations that a frame remembers: fewer are on their way at once.
const MOST_BEGUN: usize = 16;

/// The state of one page; its engine writes, everybody else reads and waits.
#[derive(Debug, Default)]
pub struct PageState {
    id: String,
    dialogs: Dialogs,
    facts: Mutex<Facts>,
    changed: Notify,
    log: Mutex<NetworkLog>,
    downloads: Arc<Downloads>,
    visited: Arc<Visited>,
    console: Arc<ConsoleLog>,
    gate: Option<Arc<Gate>>,
    news: Revision,
    events: Events,
}

impl Frame {
    /// The documents of navigations that began after the one to `document`: its commit does not end them.
    fn begun_after(&self, document: &DocumentId) -> VecDeque<DocumentId> {
        let at = self.begun.iter().position(|begun| begun == document);
        at.map(|at| self.begun.range(at + 1..).cloned().collect()).unwrap_or_default()
    }

    fn leaves_since(&self, mark: Mark) -> bool {
        self.navigating.is_some_and(|at| at > mark) || self.scheduled.is_some_and(|at| at > mark)
    }
}

impl Facts {
    /// The frame that the page is; an empty one before its first event.
    pub fn main_frame(&self) -> &Frame {
        static EMPTY: LazyLock<Frame> = LazyLock::new(Frame::default);
        self.main.as_ref().and_then(|id| self.frames.get(id)).unwrap_or_else(|| &EMPTY)
    }

    /// The present moment.
    pub fn now(&self) -> Mark {
        self.now
    }

    /// Whether a navigation of the main frame has begun since `mark` and not committed yet.
    pub fn navigating_since(&self, mark: Mark) -> bool {
        self.main_frame().leaves_since(mark)
    }

    /// Whether the main frame has another document than at `mark`.
    pub fn committed_since(&self, mark: Mark) -> bool {
        self.main_frame().committed > mark
    }

    /// Whether any frame has another document than at `mark`.
    pub fn some_frame_committed_since(&self, mark: Mark) -> bool {
        self.frames.values().any(|frame| frame.committed > mark)
    }

    /// Whether a document, script or fetch that was asked for since `mark` is on its way.
    pub fn busy_since(&self, mark: Mark) -> bool {
        self.requests.busy(mark, Instant::now())
            || self.frames.values().any(|frame| frame.leaves_since(mark))
    }

    /// When the requests since `mark` count as finished if nothing more happens. `None` if they do not finish by
    /// themselves.
    pub fn requests_over_at(&self, mark: Mark) -> Option<Instant> {
        self.requests.over_at(mark)
    }

    /// Whether something that was asked for since `mark` has been answered since `since`.
    pub fn answered_since(&self, mark: Mark, since: Mark) -> bool {
        self.requests.ended_since(mark, since)
    }

    /// Whether the requests since `mark` may have further effects.
    pub fn unfinished_since(&self, mark: Mark) -> bool {
        self.requests.unfinished(mark)
    }

    /// The dialog, if it opened since `mark`.
    pub fn dialog_since(&self, mark: Mark) -> Option<Dialog> {
        self.dialog.clone().filter(|_| self.dialog_opened > mark)
    }

    /// The last download that began since `mark`.
    pub fn download_since(&self, mark: Mark) -> Option<DownloadStart> {
        self.download.clone().filter(|(at, _)| *at > mark).map(|(_, download)| download)
    }

    /// The file chooser that opened since `mark`.
    pub fn file_chooser_since(&self, mark: Mark) -> Option<FileChooser> {
        self.file_chooser.clone().filter(|(at, _)| *at > mark).map(|(_, chooser)| chooser)
    }

    /// The URLs of the windows that the page has asked for since `mark`.
    pub fn windows_since(&self, mark: Mark) -> Vec<String> {
        self.windows
            .iter()
            .rev()
            .filter(|(at, ..)| *at > mark)
            .map(|(.., url)| url.clone())
            .collect()
    }

    /// Whether a navigation has ended without a document since `mark`, as at the start of a download.
    pub fn abandoned_since(&self, mark: Mark) -> bool {
        self.abandoned > mark
    }

    /// Another number whenever the page has come to show something else.
    pub fn revision(&self) -> u64 {
        self.shown.0
    }

    /// Whether `event` lets the page show something else: another document, a loaded one, none.
    fn shows_other(&self, event: &PageEvent) -> bool {
        match event {
            PageEvent::Committed { frame, .. }
            | PageEvent::NavigatedWithinDocument { frame, .. }
            | PageEvent::Loaded { frame, .. } => self.main.as_ref() == Some(frame),
            PageEvent::Crashed | PageEvent::Closed => true,
            _ => false,
        }
    }

    /// Since when no request is under way.
    pub fn quiet_since(&self) -> Option<Instant> {
        self.requests.quiet_since()
    }

    fn frame(&mut self, id: &FrameId) -> &mut Frame {
        self.frames.entry(id.clone()).or_default()
    }

    /// Removes the frames inside a frame.
    fn drop_frames_in(&mut self, frame: &FrameId) {
        let inside = self.frames.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.drop_frames_in(&inner);
            self.frames.remove(&inner);
            self.requests.forget(|request| request.frame.as_ref() == Some(&inner));
        }
    }

    /// Applies an event. Returns whether it has changed something that a task may wait for.
    fn apply(&mut self, event: PageEvent) -> bool {
        self.now.0 += 1;
        let now = self.now;
        if self.shows_other(&event) {
            self.shown = now;
        }
        match event {
            PageEvent::FrameAttached { frame, parent } => {
                if parent.is_none() && self.main.is_none() {
                    self.main = Some(frame.clone());
                    // The document that every page begins with is committed without a word.
                    self.frame(&frame).url = "about:blank".into();
                }
                self.frame(&frame).parent = parent;
            }
            PageEvent::FrameDetached { frame } => {
                self.drop_frames_in(&frame);
                self.frames.remove(&frame);
                self.requests.forget(|request| request.frame.as_ref() == Some(&frame));
            }
            // Of a frame that has gone there may be more to tell, which does not bring it back.
            PageEvent::NavigationRequested { frame, document } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.navigating = Some(now);
                    if frame.begun.len() == MOST_BEGUN {
                        frame.begun.pop_front();
                    }
                    frame.begun.extend(document);
                }
            }
            PageEvent::NavigationScheduled { frame } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.scheduled = Some(now);
                }
            }
            PageEvent::NavigationUnscheduled { frame } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.scheduled = None;
                }
            }
            PageEvent::WindowOpening { window, url } => {
                let known =
                    self.windows.iter_mut().find(|(_, name, _)| name.is_some() && *name == window);
                if let Some((.., former)) = known {
                    *former = url;
                } else {
                    self.windows.truncate(MOST_WINDOWS - 1);
                    self.windows.push_front((now, window, url));
                }
            }
            PageEvent::LoadingStopped { frame } => {
                if let Some(frame) = self.frames.get_mut(&frame)
                    && frame.navigating.take().is_some()
                {
                    frame.begun.clear();
                    self.abandoned = now;
                }
            }
            PageEvent::Committed { frame, document, url } => {
                // Kept: a document comes back under its id when the user goes back to it.
                let status = self.statuses.iter().rev().find(|(of, _)| *of == document);
                let status = status.map_or(0, |(_, status)| *status);
                // The browser does not report the end of frames in a document that the frame has left.
                self.drop_frames_in(&frame);
                let former = self.frame(&frame);
                let parent = former.parent.clone();
                let begun = former.begun_after(&document);
                let navigating = former.navigating.filter(|_| !begun.is_empty());
                self.frames.insert(
                    frame.clone(),
                    Frame {
                        parent,
                        navigating,
                        begun,
                        document: Some(document.clone()),
                        url: url.into(),
                        status,
                        committed: now,
                        ..Frame::default()
                    },
                );
                if self.main.as_ref() == Some(&frame) {
                    self.crashed = None;
                }
                // The browser does not report the requests of a process that the frame has left.
                self.requests.forget(|request| {
                    request.frame.as_ref() == Some(&frame)
                        && request.document.as_ref() != Some(&document)
                });
            }
            PageEvent::NavigatedWithinDocument { frame, url } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.url = url.into();
                    frame.navigating = None;
                    frame.moved_within = now;
                }
            }
            PageEvent::DomContentLoaded { frame, document } => {
                if let Some(frame) = self.frames.get_mut(&frame)
                    && frame.document.as_ref() == Some(&document)
                {
                    frame.dom_content_loaded = true;
                }
            }
            PageEvent::Loaded { frame, document } => {
                if let Some(frame) = self.frames.get_mut(&frame)
                    && frame.document.as_ref() == Some(&document)
                {
                    frame.dom_content_loaded = true;
                    frame.loaded = true;
                }
            }
            PageEvent::RequestStarted { id, frame, document, kind } => {
                self.requests.started(id, Request::new(kind, now, frame, document));
            }
            PageEvent::AnswerBegun { id, length } => self.requests.answer_begun(&id, length),
            // One for each piece of an answer: who waits for its end has a timer for the rest.
            PageEvent::AnswerReceived { id, bytes } => {
                return self.requests.answer_received(&id, bytes);
            }
            PageEvent::RequestEnded { id } => self.requests.ended(&id, now),
            PageEvent::DocumentResponse { document, status } => {
                if self.statuses.len() == STATUSES {
                    self.statuses.pop_front();
                }
                self.statuses.push_back((document, status));
            }
            PageEvent::DialogOpened(dialog) => {
                self.dialog = Some(dialog);
                self.dialog_opened = now;
            }
            PageEvent::DialogClosed => self.dialog = None,
            PageEvent::DownloadStarted(download) => self.download = Some((now, download)),
            PageEvent::FileChooserOpened(chooser) => self.file_chooser = Some((now, chooser)),
            PageEvent::DownloadEnded { .. } | PageEvent::Request(_) | PageEvent::Console(_) => {}
            PageEvent::Crashed => self.crashed = Some(now),
            PageEvent::Closed => self.closed = true,
        }
        true
    }
}

impl PageState {
    /// Of the page `id`, which has `shared` in common with the others of its session.
    pub fn new(id: String, shared: &Shared) -> Self {
        let Shared { downloads, dialogs, visited, console, gate, news, events, .. } =
            shared.clone();
        Self { id, downloads, dialogs, visited, console, gate, news, events, ..Self::default() }
    }

    /// The dialogs of the session.
    pub fn dialogs(&self) -> &Dialogs {
        &self.dialogs
    }

    /// The downloads of the page's session.
    pub fn downloads(&self) -> &Downloads {
        &self.downloads
    }

    /// Reads the log of requests.
    pub fn read_log<T>(&self, look: impl FnOnce(&NetworkLog) -> T) -> T {
        look(&self.log.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock()
    }

    /// Now.
    pub fn mark(&self) -> Mark {
        self.lock().now
    }

    /// Reads the facts.
    pub fn read<T>(&self, look: impl FnOnce(&Facts) -> T) -> T {
        look(&self.lock())
    }

    /// Waits until `look` finds something, looking again at each event.
    pub async fn until<T>(&self, mut look: impl FnMut(&Facts) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // From here on no event is missed between the look and the wait.
            changed.as_mut().enable();
            if let Some(found) = look(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until no request has been under way for `quiet`.
    pub async fn network_idle(&self, quiet: Duration) {
        loop {
            let since = self.until(Facts::quiet_since).await;
            let still = self.until(|facts| (facts.quiet_since() != Some(since)).then_some(()));
            if tokio::time::timeout_at(since + quiet, still).await.is_err() {
                return;
            }
        }
    }
}

impl PageObserver for PageState {
    fn event(&self, event: PageEvent) {
        self.events
            .of_page(&self.id, &event, |request| self.read_log(|log| events::url_in(log, request)));
        match event {
            // Nobody waits for the log.
            PageEvent::Request(mut event) => {
                let mut log = self.log.lock();
                if let (Some(gate), RequestEvent::Failed { id, reason, .. }) =
                    (&self.gate, &mut event)
                    && let Some(url) = log.url_of(id)
                {
                    *reason = gate.explain(url, std::mem::take(reason));
                }
                return log.apply(event);
            }
            PageEvent::Console(message) => return self.console.note(message),
            PageEvent::DownloadStarted(ref start) => self.downloads.started(start),
            PageEvent::DialogOpened(ref dialog) => self.dialogs.opened(&self.id, dialog),
            PageEvent::DialogClosed | PageEvent::Crashed | PageEvent::Closed => {
                self.dialogs.closed(&self.id)
            }
            PageEvent::DownloadEnded { ref id, ref file } => self.downloads.ended(id, file.clone()),
            PageEvent::Committed { ref frame, ref url, .. } => {
                let (top, is_main) = self.read(|facts| {
                    (facts.main_frame().url.clone(), facts.main.as_ref() == Some(frame))
                });
                self.visited.note(url, if is_main { url } else { &top });
            }
            _ => {}
        }
        let (wakes, shows_other) = {
            let mut facts = self.lock();
            let before = facts.shown;
            (facts.apply(event), facts.shown != before)
        };
        if wakes {
            self.changed.notify_waiters();
        }
        if shows_other {
            self.news.advance();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::FutureExt;

    use super::*;
    use crate::engine::ResourceKind;

    fn committed(frame: &str, document: &str) -> PageEvent {
        PageEvent::Committed {
            frame: frame.into(),
            document: document.into(),
            url: "http://a/".into(),
        }
    }

    fn started(id: &str, kind: ResourceKind) -> PageEvent {
        PageEvent::RequestStarted {
            id: id.into(),
            frame: Some("f".into()),
            document: Some("d".into()),
            kind,
        }
    }

    fn page() -> PageState {
        let state = PageState::default();
        state.event(PageEvent::FrameAttached { frame: "f".into(), parent: None });
        state.event(committed("f", "d"));
        state
    }

    #[test]
    fn a_navigation_that_replaces_another_counts_from_its_own_start() {
        for event in [
            PageEvent::NavigationRequested { frame: "f".into(), document: None },
            PageEvent::NavigationScheduled { frame: "f".into() },
        ] {
            let state = page();
            state.event(event.clone());
            let mark = state.mark();
            assert!(!state.read(|facts| facts.navigating_since(mark)), "{event:?}");
            state.event(event.clone());
            assert!(state.read(|facts| facts.navigating_since(mark)), "{event:?}");
        }
    }

    #[test]
    fn a_navigation_ends_with_its_own_document_and_not_with_an_earlier_one() {
        let begins = |document: &str| PageEvent::NavigationRequested {
            frame: "f".into(),
            document: Some(document.into()),
        };
        let state = page();
        let mark = state.mark();
        state.event(begins("first"));
        state.event(begins("second"));
        state.event(committed("f", "first"));
        assert!(state.read(|facts| facts.navigating_since(mark)), "the second is on its way");
        state.event(committed("f", "second"));
        assert!(!state.read(|facts| facts.navigating_since(mark)));
        // One of the history comes back under its own id.
        state.event(begins("third"));
        state.event(committed("f", "first"));
        assert!(!state.read(|facts| facts.navigating_since(mark)));
    }

    #[test]
    fn a_document_has_the_status_that_came_before_it() {
        let state = page();
        state.event(PageEvent::DocumentResponse { document: "e".into(), status: 404 });
        state.event(committed("f", "e"));
        assert_eq!(state.read(|facts| facts.main_frame().status), 404);
    }

    #[test]
    fn a_window_whose_url_is_told_later_is_one_window() {
        let state = page();
        let mark = state.mark();
        let opening = |window: Option<&str>, url: &str| PageEvent::WindowOpening {
            window: window.map(Into::into),
            url: url.into(),
        };
        state.event(opening(Some("w"), "about:blank"));
        state.event(opening(Some("w"), "http://a/"));
        state.event(opening(None, "http://b/"));
        state.event(opening(None, "http://b/"));
        let windows = state.read(|facts| facts.windows_since(mark));
        assert_eq!(windows, ["http://a/", "http://b/", "http://b/"]);
    }

    #[tokio::test]
    async fn only_the_last_piece_of_an_answer_wakes_who_waits() {
        let state = page();
        state.event(started("1", ResourceKind::Fetch));
        state.event(PageEvent::AnswerBegun { id: "1".into(), length: Some(30) });
        let looks = AtomicUsize::new(0);
        let waiting = state.until(|facts| {
            looks.fetch_add(1, Ordering::Relaxed);
            facts.quiet_since()
        });
        tokio::pin!(waiting);
        assert!(waiting.as_mut().now_or_never().is_none());
        for received in 1..=3 {
            state.event(PageEvent::AnswerReceived { id: "1".into(), bytes: 10 });
            assert_eq!(waiting.as_mut().now_or_never().is_some(), received == 3);
        }
        assert_eq!(looks.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn only_requests_after_the_mark_count_as_busy() {
        let state = page();
        state.event(started("1", ResourceKind::Fetch));
        let mark = state.mark();
        assert!(!state.read(|facts| facts.busy_since(mark)));
        state.event(started("2", ResourceKind::Other));
        assert!(!state.read(|facts| facts.busy_since(mark)));
        state.event(started("3", ResourceKind::Fetch));
        assert!(state.read(|facts| facts.busy_since(mark)));
        state.event(PageEvent::RequestEnded { id: "3".into() });
        assert!(!state.read(|facts| facts.busy_since(mark)));
    }

    #[test]
    fn a_new_document_forgets_the_requests_of_the_old_one() {
        let state = page();
        let mark = state.mark();
        state.event(started("1", ResourceKind::Script));
        state.event(committed("f", "e"));
        assert!(!state.read(|facts| facts.busy_since(mark)));
        assert!(state.read(|facts| facts.committed_since(mark)));
    }

    #[test]
    fn a_new_document_forgets_the_frames_of_the_old_one() {
        let state = page();
        for (frame, parent) in [("g", "f"), ("h", "g")] {
            state.event(PageEvent::FrameAttached {
                frame: frame.into(),
                parent: Some(parent.into()),
            });
            state.event(committed(frame, frame));
        }
        assert_eq!(state.read(|facts| facts.frames.len()), 3);
        state.event(committed("f", "e"));
        assert_eq!(
            state.read(|facts| facts.frames.keys().cloned().collect::<Vec<_>>()),
            ["f".into()]
        );
    }

    #[test]
    fn what_is_told_of_a_frame_that_has_gone_does_not_bring_it_back() {
        let state = page();
        state.event(PageEvent::FrameAttached { frame: "g".into(), parent: Some("f".into()) });
        state.event(PageEvent::FrameDetached { frame: "g".into() });
        state.event(PageEvent::NavigationRequested { frame: "g".into(), document: None });
        state.event(PageEvent::NavigatedWithinDocument {
            frame: "g".into(),
            url: "about:blank#a".into(),
        });
        state.event(PageEvent::LoadingStopped { frame: "g".into() });
        assert_eq!(
            state.read(|facts| facts.frames.keys().cloned().collect::<Vec<_>>()),
            ["f".into()]
        );
    }

    #[test]
    fn the_load_of_a_former_document_is_not_the_present_ones() {
        let state = page();
        state.event(committed("f", "e"));
        state.event(PageEvent::Loaded { frame: "f".into(), document: "d".into() });
        assert!(!state.read(|facts| facts.main_frame().loaded));
    }

    #[tokio::test(start_paused = true)]
    async fn the_network_is_idle_when_it_was_quiet_long_enough() {
        let state = Arc::new(page());
        state.event(started("1", ResourceKind::Other));
        let waiting = tokio::spawn({
            let state = state.clone();
            async move { state.network_idle(Duration::from_millis(500)).await }
        });
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(!waiting.is_finished());
        state.event(PageEvent::RequestEnded { id: "1".into() });
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(!waiting.is_finished());
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(waiting.is_finished());
    }
}
