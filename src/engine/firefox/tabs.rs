//! Tabs of a user context that are opening. The browser's window reports a tab at once, BiDi a moment later.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use tokio::sync::watch;

/// An opening tab is reported within this time.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Tabs {
    /// How many have opened that BiDi has not told of.
    opening: watch::Sender<i64>,
    /// How many we have asked for.
    wanted: AtomicUsize,
}

/// Held while a tab is asked for.
pub(super) struct Wanted<'a>(&'a Tabs);

impl Drop for Wanted<'_> {
    fn drop(&mut self) {
        self.0.wanted.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Tabs {
    pub fn want(&self) -> Wanted<'_> {
        self.wanted.fetch_add(1, Ordering::AcqRel);
        Wanted(self)
    }

    pub fn are_wanted(&self) -> bool {
        self.wanted.load(Ordering::Acquire) > 0
    }

    /// The browser has one more.
    pub fn opens(&self) {
        self.opening.send_modify(|opening| *opening += 1);
    }

    /// BiDi has told of one.
    pub fn told(&self) {
        self.opening.send_modify(|opening| *opening -= 1);
    }

    /// The URL of the last one is known: by then all have been reported.
    pub fn all_known(&self) {
        self.opening.send_replace(0);
    }

    /// Waits until all have been reported.
    pub async fn all_told(&self) {
        let mut opening = self.opening.subscribe();
        let _ = tokio::time::timeout(TOLD_WITHIN, opening.wait_for(|opening| *opening <= 0)).await;
    }
}
