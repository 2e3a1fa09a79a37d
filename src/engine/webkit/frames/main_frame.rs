//! The main frame's navigations. Only the browser's URL and the clicked links show that one has
//! begun.

use std::time::Duration;

use tokio::time::Instant;

use super::{
    report::{ClickedLink, ReadyState},
    tree::Frames,
};
use crate::engine::{FrameId, PageEvent};

/// Time within which a click on a link starts a navigation. Later, the link counts as a download or
/// as a link without effect. A download may be complete before the next poll.
pub(super) const LINK_TIMEOUT: Duration = Duration::from_millis(100);

impl Frames {
    /// Returns the reason why the page's document failed to load.
    pub fn failure(&self) -> Option<String> {
        let failed = self.known.get(&self.main)?.failed.as_ref()?;
        Some(failed.reason.clone())
    }

    /// Returns the URL that the page is navigating to, or else its current URL.
    pub fn target(&self) -> String {
        let main = self.known.get(&self.main);
        main.map(|main| main.target.clone().unwrap_or_else(|| main.url.clone())).unwrap_or_default()
    }

    /// Returns the URL that a new download most likely comes from.
    pub fn take_download_url(&mut self) -> String {
        self.last_target.take().unwrap_or_else(|| self.target())
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
        loads || self.known.values().any(|frame| frame.requests.are_awaited())
    }

    /// Applies the last click on a link in the frame `id`.
    pub(super) fn apply_clicked_link(
        &mut self,
        id: &FrameId,
        link: Option<&ClickedLink>,
    ) -> Option<PageEvent> {
        let frame = self.known.get_mut(id)?;
        let link = link.filter(|link| link.number > frame.last_click_number)?;
        frame.last_click_number = link.number;
        self.last_target = Some(link.url.clone());
        if !link.navigates || *id != self.main || frame.target.is_some() {
            return None;
        }
        frame.target = Some(link.url.clone());
        frame.link_clicked_at = Some(Instant::now());
        Some(PageEvent::NavigationRequested { frame: id.clone(), document: None })
    }

    /// Applies the URL that the browser shows or is loading.
    pub(super) fn apply_browser_url(&mut self, url: &str) -> Option<PageEvent> {
        let frame = self.known.get_mut(&self.main)?;
        let is_shown = url.is_empty()
            || url == frame.url
            || frame.failed.as_ref().is_some_and(|failed| failed.url == url);
        if !is_shown {
            frame.link_clicked_at = None;
        }
        match (is_shown, frame.target.is_some()) {
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
}
