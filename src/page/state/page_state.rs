//! The state of a page, maintained from its engine's events, and waits for it to change.

use std::{sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use crate::{
    config::Config,
    engine::{
        ConsoleMessage, FileChooser, FrameId, PageEvent, PageObserver, network::RequestEvent,
    },
    files::FileStore,
    page::state::{
        ChangeCounter, ConsoleLog, Dialogs, Downloads, EventSequence, Events, NetworkLog,
        OpenChoosers, PageFacts, RefCounter, SessionNetworkPolicy, VisitedOrigins,
        page_console::PageConsole,
    },
};

/// State that all pages of a session share.
#[derive(Clone)]
pub struct SessionContext {
    pub config: Arc<Config>,
    pub files: FileStore,
    pub refs: Arc<RefCounter>,
    pub downloads: Arc<Downloads>,
    pub dialogs: Dialogs,
    pub choosers: OpenChoosers,
    pub visited: Arc<VisitedOrigins>,
    pub console: Arc<ConsoleLog>,
    /// Decides where the pages may connect. `None`: anywhere.
    pub network_policy: Option<Arc<SessionNetworkPolicy>>,
    /// Incremented when a page navigates, loads, crashes or closes.
    pub change_counter: ChangeCounter,
    pub events: Events,
}

/// The state of one page. The engine writes it; tasks read it and wait for changes.
#[derive(Debug, Default)]
pub struct PageState {
    id: String,
    dialogs: Dialogs,
    choosers: OpenChoosers,
    facts: Mutex<PageFacts>,
    changed: Notify,
    log: Mutex<NetworkLog>,
    downloads: Arc<Downloads>,
    visited: Arc<VisitedOrigins>,
    /// The console of the session.
    console: Arc<ConsoleLog>,
    page_console: Mutex<PageConsole>,
    network_policy: Option<Arc<SessionNetworkPolicy>>,
    change_counter: ChangeCounter,
    events: Events,
}

impl PageState {
    /// Creates the state of the page `id` of a session with the state `shared`.
    pub fn new(id: String, shared: &SessionContext) -> Self {
        let SessionContext {
            downloads,
            dialogs,
            choosers,
            visited,
            console,
            network_policy,
            change_counter,
            events,
            ..
        } = shared.clone();
        Self {
            id,
            downloads,
            dialogs,
            choosers,
            visited,
            console,
            network_policy,
            change_counter,
            events,
            ..Self::default()
        }
    }

    /// Returns the open dialogs of the session.
    pub fn dialogs(&self) -> &Dialogs {
        &self.dialogs
    }

    /// Returns the downloads of the session.
    pub fn downloads(&self) -> &Downloads {
        &self.downloads
    }

    /// Reads the request log.
    pub fn read_log<T>(&self, read: impl FnOnce(&NetworkLog) -> T) -> T {
        read(&self.log.lock())
    }

    /// Returns the number of console messages of the page so far.
    pub fn console_count(&self) -> usize {
        self.page_console.lock().count()
    }

    /// Returns how many console messages the current document has, and how many of them are errors
    /// and warnings.
    pub fn console_counts(&self) -> (usize, usize, usize) {
        self.page_console.lock().counts()
    }

    /// Returns the console messages from the number `first` on, and the number of the next one.
    pub fn console_messages_since(&self, first: usize) -> (Vec<ConsoleMessage>, usize) {
        self.page_console.lock().since(first)
    }

    /// Returns the console messages of the page, or those of its current document.
    pub fn console_messages(&self, since_navigation: bool) -> Vec<ConsoleMessage> {
        self.page_console.lock().messages(since_navigation)
    }

    /// Returns the open file chooser.
    pub fn open_chooser(&self) -> Option<FileChooser> {
        self.read(|facts| facts.open_chooser.clone())
    }

    /// Records that the open file chooser has an answer, and returns it.
    pub fn take_chooser(&self) -> Option<FileChooser> {
        let taken = self.lock().open_chooser.take();
        self.choosers.set(&self.id, None);
        taken
    }

    /// Returns whether `frame` is the main frame.
    fn is_main(&self, frame: &FrameId) -> bool {
        self.read(|facts| facts.main.as_ref() == Some(frame))
    }

    fn lock(&self) -> MutexGuard<'_, PageFacts> {
        self.facts.lock()
    }

    /// Returns the number of the last event.
    pub fn mark(&self) -> EventSequence {
        self.lock().now
    }

    /// Numbers the main frame as in a new page, for Playwright's refs.
    pub(in crate::page) fn restart_frame_numbers(&self) {
        self.lock().restart_frame_numbers();
    }

    /// Reads the facts.
    pub fn read<T>(&self, read: impl FnOnce(&PageFacts) -> T) -> T {
        read(&self.lock())
    }

    /// Waits until `find` returns a value. Calls it again after each event.
    pub async fn await_some<T>(&self, mut find: impl FnMut(&PageFacts) -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            // Registers before the facts are read, so that no event in between is missed.
            changed.as_mut().enable();
            if let Some(found) = find(&self.lock()) {
                return found;
            }
            changed.await;
        }
    }

    /// Waits until no request has been in flight for `quiet`.
    pub async fn await_network_idle(&self, quiet: Duration) {
        loop {
            let since = self.await_some(PageFacts::quiet_since).await;
            let still = self.await_some(|facts| (facts.quiet_since() != Some(since)).then_some(()));
            if tokio::time::timeout_at(since + quiet, still).await.is_err() {
                return;
            }
        }
    }
}

impl PageObserver for PageState {
    fn event(&self, event: PageEvent) {
        self.events.of_page(&self.id, &event, |request| {
            self.read_log(|log| log.url_of(request).map(str::to_owned))
        });
        match event {
            // No task waits for the log.
            PageEvent::Request(mut event) => {
                let mut log = self.log.lock();
                if let (Some(network_policy), RequestEvent::Failed { id, reason, .. }) =
                    (&self.network_policy, &mut event)
                    && let Some(url) = log.url_of(id)
                {
                    *reason = network_policy.explain(url, std::mem::take(reason));
                }
                return log.apply(event);
            }
            PageEvent::Console { message, source } => {
                if message.kind.has_text() {
                    self.console.record(message.clone());
                }
                return self.page_console.lock().record(message, source);
            }
            PageEvent::NavigationRequested { ref frame, .. } if self.is_main(frame) => {
                self.page_console.lock().navigation_requested();
            }
            PageEvent::DownloadStarted(ref start) => self.downloads.record_start(start),
            PageEvent::DialogOpened(ref dialog) => self.dialogs.opened(&self.id, dialog),
            PageEvent::DialogClosed | PageEvent::Crashed | PageEvent::Closed => {
                self.dialogs.closed(&self.id)
            }
            PageEvent::DownloadEnded { ref id, ref file } => {
                self.downloads.record_end(id, file.clone())
            }
            PageEvent::Committed { ref frame, ref url, ref document } => {
                let is_main = self.is_main(frame);
                let top = self.read(|facts| facts.main_frame().url.clone());
                if is_main {
                    self.page_console.lock().committed(document);
                }
                self.visited.record(url, if is_main { url } else { &top });
            }
            _ => {}
        }
        let (document_changed, chooser) = {
            let mut facts = self.lock();
            let before = (facts.document_changed, facts.open_chooser.clone());
            facts.apply(event);
            let chooser = facts.open_chooser.clone().filter(|_| !facts.closed);
            (facts.document_changed != before.0, (chooser != before.1).then_some(chooser))
        };
        if let Some(chooser) = chooser {
            self.choosers.set(&self.id, chooser);
        }
        self.changed.notify_waiters();
        if document_changed {
            self.change_counter.increment();
        }
    }
}

#[cfg(test)]
mod tests {
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
    fn a_navigation_that_replaces_another_begins_at_its_own_start() {
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
    fn only_the_commit_of_its_own_document_ends_a_navigation() {
        let begins = |document: &str| PageEvent::NavigationRequested {
            frame: "f".into(),
            document: Some(document.into()),
        };
        let state = page();
        let mark = state.mark();
        state.event(begins("first"));
        state.event(begins("second"));
        state.event(committed("f", "first"));
        assert!(state.read(|facts| facts.navigating_since(mark)), "the second is pending");
        state.event(committed("f", "second"));
        assert!(!state.read(|facts| facts.navigating_since(mark)));
        // A document in the history returns with its own ID.
        state.event(begins("third"));
        state.event(committed("f", "first"));
        assert!(!state.read(|facts| facts.navigating_since(mark)));
    }

    #[test]
    fn a_document_has_the_status_that_was_reported_before_its_commit() {
        let state = page();
        state.event(PageEvent::DocumentResponse { document: "e".into(), status: 404 });
        state.event(committed("f", "e"));
        assert_eq!(state.read(|facts| facts.main_frame().status), 404);
    }

    #[test]
    fn a_window_whose_url_is_reported_later_counts_once() {
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

    #[test]
    fn a_file_chooser_is_open_until_it_has_an_answer_or_its_document_is_gone() {
        let opens = |frame: &str, input| {
            PageEvent::FileChooserOpened(FileChooser { frame: frame.into(), input, multiple: true })
        };
        let state = page();
        state.event(opens("f", None));
        assert_eq!(state.open_chooser(), None, "the browser has canceled it");
        state.event(opens("f", Some(1)));
        assert_eq!(state.open_chooser().unwrap().input, Some(1));
        assert!(state.take_chooser().is_some());
        assert_eq!(state.open_chooser(), None);
        state.event(PageEvent::FrameAttached { frame: "inner".into(), parent: Some("f".into()) });
        for gone in [
            PageEvent::FrameDetached { frame: "inner".into() },
            committed("inner", "d2"),
            committed("f", "d2"),
        ] {
            state.event(opens("inner", Some(1)));
            state.event(gone.clone());
            assert_eq!(state.open_chooser(), None, "{gone:?}");
            let parent = Some("f".into());
            state.event(PageEvent::FrameAttached { frame: "inner".into(), parent });
        }
    }

    #[test]
    fn only_requests_after_the_mark_count_as_busy() {
        let state = page();
        state.event(started("1", ResourceKind::Fetch));
        let mark = state.mark();
        assert!(!state.read(|facts| facts.is_busy_since(mark)));
        state.event(started("2", ResourceKind::Other));
        assert!(!state.read(|facts| facts.is_busy_since(mark)));
        state.event(started("3", ResourceKind::Fetch));
        assert!(state.read(|facts| facts.is_busy_since(mark)));
        state.event(PageEvent::RequestEnded { id: "3".into() });
        assert!(!state.read(|facts| facts.is_busy_since(mark)));
    }

    #[test]
    fn the_commit_of_a_document_removes_the_requests_of_the_previous_one() {
        let state = page();
        let mark = state.mark();
        state.event(started("1", ResourceKind::Script));
        state.event(committed("f", "e"));
        assert!(!state.read(|facts| facts.is_busy_since(mark)));
        assert!(state.read(|facts| facts.committed_since(mark)));
    }

    #[test]
    fn the_commit_of_a_document_removes_the_frames_of_the_previous_one() {
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
    fn late_events_of_a_detached_frame_do_not_add_it_again() {
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
    fn the_load_event_of_a_previous_document_is_ignored() {
        let state = page();
        state.event(committed("f", "e"));
        state.event(PageEvent::Loaded { frame: "f".into(), document: "d".into() });
        assert!(!state.read(|facts| facts.main_frame().loaded));
    }

    #[tokio::test(start_paused = true)]
    async fn the_network_is_idle_after_a_time_without_requests() {
        let state = Arc::new(page());
        state.event(started("1", ResourceKind::Other));
        let waiting = tokio::spawn({
            let state = state.clone();
            async move { state.await_network_idle(Duration::from_millis(500)).await }
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
