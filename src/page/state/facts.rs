//! The state of a page: its documents, requests, dialog and downloads.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, LazyLock},
};

use tokio::time::Instant;

use crate::{
    engine::{Dialog, DocumentId, DownloadStart, FileChooser, FrameId},
    page::state::{EventSequence, Frame, InFlightRequests},
};

/// The facts about a page, behind one lock.
#[derive(Debug, Default)]
pub struct PageFacts {
    pub(super) now: EventSequence,
    /// The main frame; `None` before the page's first event.
    pub main: Option<FrameId>,
    pub frames: HashMap<FrameId, Frame>,
    /// The last number of a frame. Numbers are never used again.
    pub(super) last_number: u64,
    pub(super) requests: InFlightRequests,
    pub(super) statuses: VecDeque<(DocumentId, u16)>,
    pub dialog: Option<Dialog>,
    pub(super) dialog_opened: EventSequence,
    pub(super) download: Option<(EventSequence, DownloadStart)>,
    pub(super) file_chooser: Option<(EventSequence, FileChooser)>,
    /// The file chooser that the current document has opened and that has no answer.
    pub(super) open_chooser: Option<FileChooser>,
    /// The windows that the page has requested: when, the window's name, if it has one, and its
    /// URL.
    pub(super) windows: VecDeque<(EventSequence, Option<Arc<str>>, String)>,
    /// When the page crashed. `None` once it has a document again.
    pub crashed: Option<EventSequence>,
    /// When a navigation last ended without a document.
    pub(super) abandoned: EventSequence,
    /// When the document or its URL last changed, or the page loaded, crashed or closed.
    pub(super) document_changed: EventSequence,
    pub closed: bool,
}

impl PageFacts {
    /// Returns the main frame; an empty one before the page's first event.
    pub fn main_frame(&self) -> &Frame {
        static EMPTY: LazyLock<Frame> = LazyLock::new(Frame::default);
        self.main.as_ref().and_then(|id| self.frames.get(id)).unwrap_or_else(|| &EMPTY)
    }

    /// Returns the number of the last event.
    pub fn now(&self) -> EventSequence {
        self.now
    }

    /// Returns whether a navigation of the main frame has begun since `mark` and has not committed
    /// yet.
    pub fn navigating_since(&self, mark: EventSequence) -> bool {
        self.main_frame().is_navigating_since(mark)
    }

    /// Returns whether the main frame's document is loading. The initial `about:blank`, which no
    /// event announces, never is.
    pub fn is_loading(&self) -> bool {
        self.committed_since(EventSequence::default()) && !self.main_frame().loaded
    }

    /// Returns whether the main frame has committed a document since `mark`.
    pub fn committed_since(&self, mark: EventSequence) -> bool {
        self.main_frame().committed_at > mark
    }

    /// Returns whether any frame has committed a document since `mark`.
    pub fn some_frame_committed_since(&self, mark: EventSequence) -> bool {
        self.frames.values().any(|frame| frame.committed_at > mark)
    }

    /// Returns whether a document, script or fetch that was requested since `mark` is in flight.
    pub fn is_busy_since(&self, mark: EventSequence) -> bool {
        self.requests.busy(mark, Instant::now())
            || self.frames.values().any(|frame| frame.is_navigating_since(mark))
    }

    /// Returns the time at which the requests since `mark` count as finished without another event.
    /// `None` if only an event finishes them.
    pub fn requests_end_at(&self, mark: EventSequence) -> Option<Instant> {
        self.requests.ends_at(mark)
    }

    /// Returns whether a request that was sent since `mark` has ended since `since`.
    pub fn answered_since(&self, mark: EventSequence, since: EventSequence) -> bool {
        self.requests.ended_since(mark, since)
    }

    /// Returns whether the requests since `mark` may have further effects.
    pub fn unfinished_since(&self, mark: EventSequence) -> bool {
        self.requests.unfinished(mark)
    }

    /// Returns the open dialog, if it opened since `mark`.
    pub fn dialog_since(&self, mark: EventSequence) -> Option<Dialog> {
        self.dialog.clone().filter(|_| self.dialog_opened > mark)
    }

    /// Returns the last download that started since `mark`.
    pub fn download_since(&self, mark: EventSequence) -> Option<DownloadStart> {
        self.download.clone().filter(|(at, _)| *at > mark).map(|(_, download)| download)
    }

    /// Returns the file chooser that opened since `mark`.
    pub fn file_chooser_since(&self, mark: EventSequence) -> Option<FileChooser> {
        self.file_chooser.clone().filter(|(at, _)| *at > mark).map(|(_, chooser)| chooser)
    }

    /// Returns the URLs of the windows that the page has requested since `mark`.
    pub fn windows_since(&self, mark: EventSequence) -> Vec<String> {
        self.windows
            .iter()
            .rev()
            .filter(|(at, ..)| *at > mark)
            .map(|(.., url)| url.clone())
            .collect()
    }

    /// Returns whether a navigation has ended without a document since `mark`, for example because
    /// it became a download.
    pub fn abandoned_since(&self, mark: EventSequence) -> bool {
        self.abandoned > mark
    }

    /// Returns a number that grows when the page navigates, loads, crashes or closes.
    pub fn revision(&self) -> u64 {
        self.document_changed.0
    }

    /// Returns since when no request has been in flight; `None` while one is.
    pub fn quiet_since(&self) -> Option<Instant> {
        self.requests.quiet_since()
    }
}
