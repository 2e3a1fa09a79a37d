//! The latest screenshots of a session's pages.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use super::clock::Millis;

/// Pictures kept; the oldest goes first.
const MOST: usize = 10;
/// Bytes of all of them.
const BYTES: usize = 8 * 1024 * 1024;

/// A picture of a page.
#[derive(Debug, Clone)]
pub struct Screenshot {
    pub page_id: String,
    /// Of the call that took it.
    pub ref_id: String,
    /// Milliseconds since 1970: its name among the pictures of its session.
    pub captured_at: Millis,
    pub mime_type: &'static str,
    /// Base64.
    pub data: String,
    pub width: u32,
    pub height: u32,
    pub full_page: bool,
}

#[derive(Debug, Default)]
pub(super) struct Screenshots(Mutex<VecDeque<Arc<Screenshot>>>);

impl Screenshots {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Screenshot>>> {
        self.0.lock()
    }

    /// Keeps a picture, under a time of its own.
    pub fn keep(&self, mut taken: Screenshot, now: Millis) {
        let mut kept = self.lock();
        taken.captured_at = kept.back().map_or(now, |last| now.max(last.captured_at + 1));
        kept.push_back(Arc::new(taken));
        let mut bytes: usize = kept.iter().map(|picture| picture.data.len()).sum();
        while kept.len() > MOST || (bytes > BYTES && !kept.is_empty()) {
            bytes -= kept.pop_front().map_or(0, |oldest| oldest.data.len());
        }
    }

    pub fn all(&self) -> Vec<Arc<Screenshot>> {
        self.lock().iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(bytes: usize) -> Screenshot {
        Screenshot {
            page_id: "page-1".into(),
            ref_id: "r".into(),
            captured_at: 0,
            mime_type: "image/png",
            data: "A".repeat(bytes),
            width: 1,
            height: 1,
            full_page: false,
        }
    }

    #[test]
    fn each_has_a_time_of_its_own_and_the_oldest_makes_room() {
        let screenshots = Screenshots::default();
        for _ in 0..=MOST {
            screenshots.keep(picture(1), 1000);
        }
        let times: Vec<Millis> =
            screenshots.all().iter().map(|picture| picture.captured_at).collect();
        assert_eq!(times, (1001..=1010).collect::<Vec<_>>());
    }

    #[test]
    fn large_ones_make_room_for_each_other() {
        let screenshots = Screenshots::default();
        for _ in 0..3 {
            screenshots.keep(picture(BYTES / 2), 1000);
        }
        assert_eq!(screenshots.all().len(), 2);
        screenshots.keep(picture(BYTES + 1), 1000);
        assert!(screenshots.all().is_empty(), "one that is too large by itself is not kept");
    }
}
