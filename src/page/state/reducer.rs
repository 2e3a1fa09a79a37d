//! Applies the events of a page to its [`PageFacts`].

use crate::{
    engine::{FrameId, PageEvent},
    page::state::{Frame, InFlightRequest, PageFacts},
};

/// Maximum number of remembered HTTP statuses: of pending documents and of those in the history.
const MAX_STATUSES: usize = 64;

/// Maximum number of remembered windows. One action opens fewer.
const MAX_WINDOWS: usize = 16;

/// Maximum number of pending navigations that are remembered for a frame.
const MAX_PENDING_DOCUMENTS: usize = 16;

impl PageFacts {
    /// Returns whether `event` changes the document, its URL or its loading state.
    fn changes_document(&self, event: &PageEvent) -> bool {
        match event {
            PageEvent::Committed { frame, .. }
            | PageEvent::NavigatedWithinDocument { frame, .. }
            | PageEvent::Loaded { frame, .. } => self.main.as_ref() == Some(frame),
            PageEvent::Crashed | PageEvent::Closed => true,
            _ => false,
        }
    }

    fn frame(&mut self, id: &FrameId) -> &mut Frame {
        self.frames.entry(id.clone()).or_default()
    }

    /// Forgets the open file chooser if `frame` has opened it: its document is gone.
    fn remove_chooser_of(&mut self, frame: &FrameId) {
        self.open_chooser.take_if(|chooser| chooser.frame == *frame);
    }

    /// Removes the descendants of a frame.
    fn remove_frames_in(&mut self, frame: &FrameId) {
        let inside = self.frames.iter().filter(|(_, inner)| inner.parent.as_ref() == Some(frame));
        for inner in inside.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            self.remove_frames_in(&inner);
            self.frames.remove(&inner);
            self.remove_chooser_of(&inner);
            self.requests.remove_where(|request| request.frame.as_ref() == Some(&inner));
        }
    }

    /// Numbers the main frame as in a new page, for Playwright's refs. Its child frames have gone.
    pub(in crate::page) fn restart_frame_numbers(&mut self) {
        if let Some(main) = self.main.clone() {
            self.frame(&main).playwright_number = 0;
            self.last_number = 0;
        }
    }

    pub(super) fn apply(&mut self, event: PageEvent) {
        self.now.0 += 1;
        let now = self.now;
        if self.changes_document(&event) {
            self.document_changed = now;
        }
        match event {
            PageEvent::FrameAttached { frame, parent } => {
                if parent.is_none() && self.main.is_none() {
                    self.main = Some(frame.clone());
                    // The browser does not report the commit of a page's initial document.
                    self.frame(&frame).url = "about:blank".into();
                }
                if parent.is_some() && !self.frames.contains_key(&frame) {
                    self.last_number += 1;
                    self.frame(&frame).playwright_number = self.last_number;
                }
                self.frame(&frame).parent = parent;
            }
            PageEvent::FrameDetached { frame } => {
                self.remove_frames_in(&frame);
                self.frames.remove(&frame);
                self.remove_chooser_of(&frame);
                self.requests.remove_where(|request| request.frame.as_ref() == Some(&frame));
            }
            // Events of a detached frame may arrive late. They must not add it again.
            PageEvent::NavigationRequested { frame, document } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.navigation_began_at = Some(now);
                    if frame.pending_documents.len() == MAX_PENDING_DOCUMENTS {
                        frame.pending_documents.pop_front();
                    }
                    frame.pending_documents.extend(document);
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
                    self.windows.truncate(MAX_WINDOWS - 1);
                    self.windows.push_front((now, window, url));
                }
            }
            PageEvent::LoadingStopped { frame } => {
                if let Some(frame) = self.frames.get_mut(&frame)
                    && frame.navigation_began_at.take().is_some()
                {
                    frame.pending_documents.clear();
                    self.abandoned = now;
                }
            }
            PageEvent::Committed { frame, document, url } => {
                // The status stays in the list, because a document in the history returns with the
                // same ID.
                let status = self.statuses.iter().rev().find(|(of, _)| *of == document);
                let status = status.map_or(0, |(_, status)| *status);
                // The browser does not report the end of frames in a document that the frame has
                // left.
                self.remove_frames_in(&frame);
                self.remove_chooser_of(&frame);
                let is_main = self.main.as_ref() == Some(&frame);
                let next_number = self.last_number + 1;
                let former = self.frame(&frame);
                // As in Playwright, the main frame has a number for each document after the first.
                let is_next = is_main && !matches!(&*former.url, "" | "about:blank");
                let playwright_number =
                    if is_next { next_number } else { former.playwright_number };
                let parent = former.parent.clone();
                let pending_documents = former.pending_after(&document);
                let navigation_began_at =
                    former.navigation_began_at.filter(|_| !pending_documents.is_empty());
                self.frames.insert(
                    frame.clone(),
                    Frame {
                        parent,
                        playwright_number,
                        navigation_began_at,
                        pending_documents,
                        document: Some(document.clone()),
                        url: url.into(),
                        status,
                        committed_at: now,
                        ..Frame::default()
                    },
                );
                self.last_number = self.last_number.max(playwright_number);
                if is_main {
                    self.crashed = None;
                    self.requests.clear_sockets();
                }
                // The browser does not report the requests of a process that the frame has left.
                self.requests.remove_where(|request| {
                    request.frame.as_ref() == Some(&frame)
                        && request.document.as_ref() != Some(&document)
                });
            }
            PageEvent::NavigatedWithinDocument { frame, url } => {
                if let Some(frame) = self.frames.get_mut(&frame) {
                    frame.url = url.into();
                    frame.navigation_began_at = None;
                    frame.url_changed = now;
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
                self.requests.started(id, InFlightRequest::new(kind, now, frame, document));
            }
            PageEvent::ResponseStarted { id, length } => self.requests.response_begun(&id, length),
            PageEvent::ResponseData { id, bytes } => self.requests.response_received(&id, bytes),
            PageEvent::RequestEnded { id } => self.requests.ended(&id, now),
            PageEvent::Socket { id, activity } => self.requests.socket_activity(id, activity, now),
            PageEvent::DocumentResponse { document, status } => {
                if self.statuses.len() == MAX_STATUSES {
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
            PageEvent::FileChooserOpened(chooser) => {
                // The browser has canceled a chooser without an input.
                if chooser.input.is_some() {
                    self.open_chooser = Some(chooser.clone());
                }
                self.file_chooser = Some((now, chooser));
            }
            PageEvent::DownloadEnded { .. } | PageEvent::Request(_) | PageEvent::Console { .. } => {
            }
            PageEvent::Crashed => {
                self.crashed = Some(now);
                self.open_chooser = None;
            }
            PageEvent::Closed => self.closed = true,
        }
    }
}
