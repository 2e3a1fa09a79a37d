//! Counts the tabs of a user context that BiDi has not reported yet. `privileged.js` reports a tab
//! as soon as it opens. Without that script, also knows which tab is selected.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::sync::watch;

/// Maximum time until BiDi reports an opening tab.
const REPORT_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct PendingTabs {
    /// The number of open tabs that BiDi has not reported.
    opening: watch::Sender<i64>,
    /// The number of tabs that Troupe is opening.
    requests: AtomicUsize,
    selected: Mutex<SelectedTab>,
}

#[derive(Default)]
struct SelectedTab {
    /// The page that got input last, or that stayed selected when it opened another one.
    page: Option<Arc<str>>,
    /// Whether another tab may be selected in its window.
    is_shared: bool,
}

/// A guard that exists while Troupe opens a tab.
pub(super) struct TabRequest<'a>(&'a PendingTabs);

impl Drop for TabRequest<'_> {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

impl PendingTabs {
    pub fn request(&self) -> TabRequest<'_> {
        self.requests.fetch_add(1, Ordering::AcqRel);
        TabRequest(self)
    }

    pub fn has_requests(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0
    }

    /// Notes that tabs share a window, and that the tab of `page` is selected.
    pub fn share_window(&self, page: &Arc<str>) {
        *self.selected.lock() = SelectedTab { page: Some(page.clone()), is_shared: true };
    }

    /// Notes that the tab of `page` is selected. Returns whether it must be activated for that.
    pub fn select(&self, page: &Arc<str>) -> bool {
        let mut selected = self.selected.lock();
        let last = selected.page.replace(page.clone());
        selected.is_shared && last.as_ref() != Some(page)
    }

    /// Returns whether `page` got input last.
    pub fn is_selected(&self, page: &str) -> bool {
        self.selected.lock().page.as_deref() == Some(page)
    }

    /// Handles a new tab.
    pub fn opened(&self) {
        self.opening.send_modify(|opening| *opening += 1);
    }

    /// Handles BiDi's report of a tab.
    pub fn reported(&self) {
        self.opening.send_modify(|opening| *opening -= 1);
    }

    /// Resets the count. Call it when the URL of a new page is known: BiDi has reported all tabs by
    /// then.
    pub fn clear(&self) {
        self.opening.send_replace(0);
    }

    /// Waits until BiDi has reported all tabs.
    pub async fn wait_until_reported(&self) {
        let mut opening = self.opening.subscribe();
        let _ =
            tokio::time::timeout(REPORT_TIMEOUT, opening.wait_for(|opening| *opening <= 0)).await;
    }
}
