//! Long results and screenshots of a session, stored so that the client can read them later.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use parking_lot::{Mutex, MutexGuard};

use super::clock::Millis;

/// Maximum number of stored results. The oldest is evicted first.
const MAX_RESULTS: usize = 20;
/// Maximum size of a result in bytes.
const MAX_RESULT_BYTES: usize = 4 * 1024 * 1024;

/// The latest long results of a session.
#[derive(Debug, Default)]
pub struct StoredTexts(Mutex<VecDeque<StoredText>>);

/// The whole text of a result.
#[derive(Debug, Clone)]
pub struct StoredText {
    pub ref_id: Arc<str>,
    pub text: Arc<str>,
    pub at: Instant,
}

impl StoredText {
    /// Creates a result with the text of the call `ref_id`.
    pub fn of(ref_id: &str, text: String) -> Self {
        Self { ref_id: ref_id.into(), text: text.into(), at: Instant::now() }
    }
}

impl StoredTexts {
    fn lock(&self) -> MutexGuard<'_, VecDeque<StoredText>> {
        self.0.lock()
    }

    /// Stores a result. A result over the maximum size is truncated, with a note at the end.
    pub fn keep(&self, ref_id: &str, mut text: String) -> StoredText {
        if text.len() > MAX_RESULT_BYTES {
            let length = text.len();
            text.truncate(text.floor_char_boundary(MAX_RESULT_BYTES));
            text.push_str(&format!("\n… truncated: the whole result has {length} bytes"));
        }
        let kept = StoredText::of(ref_id, text);
        let mut results = self.lock();
        if results.len() == MAX_RESULTS {
            results.pop_front();
        }
        results.push_back(kept.clone());
        kept
    }

    /// Returns the result `ref_id`, or the latest one.
    pub fn get(&self, ref_id: Option<&str>) -> Option<StoredText> {
        let results = self.lock();
        match ref_id {
            Some(ref_id) => results.iter().find(|kept| *kept.ref_id == *ref_id).cloned(),
            None => results.back().cloned(),
        }
    }
}

/// Maximum number of stored screenshots. The oldest is evicted first.
const MAX_SCREENSHOTS: usize = 10;
/// Maximum total size of the stored screenshots in bytes.
const MAX_SCREENSHOT_BYTES: usize = 8 * 1024 * 1024;

/// A screenshot of a page.
#[derive(Debug, Clone)]
pub struct Screenshot {
    pub page_id: String,
    /// The ref id of the call that took it.
    pub ref_id: String,
    /// Milliseconds since 1970. Unique among the screenshots of its session.
    pub captured_at: Millis,
    pub mime_type: &'static str,
    /// Base64.
    pub data: String,
    pub width: u32,
    pub height: u32,
    pub full_page: bool,
}

/// The latest screenshots of a session.
#[derive(Debug, Default)]
pub(super) struct StoredScreenshots(Mutex<VecDeque<Arc<Screenshot>>>);

impl StoredScreenshots {
    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<Screenshot>>> {
        self.0.lock()
    }

    /// Stores a screenshot, with a unique time.
    pub fn keep(&self, mut taken: Screenshot, now: Millis) {
        let mut kept = self.lock();
        taken.captured_at = kept.back().map_or(now, |last| now.max(last.captured_at + 1));
        kept.push_back(Arc::new(taken));
        let mut bytes: usize = kept.iter().map(|screenshot| screenshot.data.len()).sum();
        while kept.len() > MAX_SCREENSHOTS || (bytes > MAX_SCREENSHOT_BYTES && !kept.is_empty()) {
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

    #[test]
    fn the_oldest_result_is_evicted() {
        let results = StoredTexts::default();
        for number in 0..=MAX_RESULTS {
            results.keep(&number.to_string(), "x".to_owned());
        }
        assert!(results.get(Some("0")).is_none());
        assert!(results.get(Some("1")).is_some());
        assert_eq!(&*results.get(None).unwrap().ref_id, MAX_RESULTS.to_string());
    }

    #[test]
    fn a_long_result_is_truncated() {
        let kept = StoredTexts::default().keep("a", "ä".repeat(MAX_RESULT_BYTES));
        assert!(kept.text.len() < MAX_RESULT_BYTES + 100);
        assert!(kept.text.ends_with("bytes"));
    }

    fn screenshot(bytes: usize) -> Screenshot {
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
    fn screenshots_have_unique_times_and_the_oldest_is_evicted() {
        let screenshots = StoredScreenshots::default();
        for _ in 0..=MAX_SCREENSHOTS {
            screenshots.keep(screenshot(1), 1000);
        }
        let times: Vec<Millis> =
            screenshots.all().iter().map(|screenshot| screenshot.captured_at).collect();
        assert_eq!(times, (1001..=1010).collect::<Vec<_>>());
    }

    #[test]
    fn large_screenshots_evict_each_other() {
        let screenshots = StoredScreenshots::default();
        for _ in 0..3 {
            screenshots.keep(screenshot(MAX_SCREENSHOT_BYTES / 2), 1000);
        }
        assert_eq!(screenshots.all().len(), 2);
        screenshots.keep(screenshot(MAX_SCREENSHOT_BYTES + 1), 1000);
        assert!(screenshots.all().is_empty(), "a screenshot over the limit is not stored");
    }
}
