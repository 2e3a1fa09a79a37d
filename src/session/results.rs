//! Results that were too long for one answer, stored so that the client can read the rest.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use parking_lot::{Mutex, MutexGuard};

use super::clock::Millis;

/// Results kept; the oldest goes first.
const MOST: usize = 20;
/// Bytes of one.
const LARGEST: usize = 4 * 1024 * 1024;

/// The last long results of a session.
#[derive(Debug, Default)]
pub struct Results(Mutex<VecDeque<KeptResult>>);

/// The whole text of a result.
#[derive(Debug, Clone)]
pub struct KeptResult {
    pub ref_id: Arc<str>,
    pub text: Arc<str>,
    pub at: Instant,
}

impl KeptResult {
    /// The text of a call that is kept elsewhere.
    pub fn of(ref_id: &str, text: String) -> Self {
        Self { ref_id: ref_id.into(), text: text.into(), at: Instant::now() }
    }
}

impl Results {
    fn lock(&self) -> MutexGuard<'_, VecDeque<KeptResult>> {
        self.0.lock()
    }

    /// Stores a result. A result over the maximum size is cut, and its end says so.
    pub fn keep(&self, ref_id: &str, mut text: String) -> KeptResult {
        if text.len() > LARGEST {
            let length = text.len();
            text.truncate(text.floor_char_boundary(LARGEST));
            text.push_str(&format!("\n… the rest of {length} bytes was not kept"));
        }
        let kept = KeptResult::of(ref_id, text);
        let mut results = self.lock();
        if results.len() == MOST {
            results.pop_front();
        }
        results.push_back(kept.clone());
        kept
    }

    /// The result `ref_id`, or the last one.
    pub fn get(&self, ref_id: Option<&str>) -> Option<KeptResult> {
        let results = self.lock();
        match ref_id {
            Some(ref_id) => results.iter().find(|kept| *kept.ref_id == *ref_id).cloned(),
            None => results.back().cloned(),
        }
    }
}

/// Pictures kept; the oldest goes first.
const MOST_SCREENSHOTS: usize = 10;
/// Bytes of all of them.
const SCREENSHOT_BYTES: usize = 8 * 1024 * 1024;

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
        while kept.len() > MOST_SCREENSHOTS || (bytes > SCREENSHOT_BYTES && !kept.is_empty()) {
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
    fn the_oldest_result_makes_room() {
        let results = Results::default();
        for number in 0..=MOST {
            results.keep(&number.to_string(), "x".to_owned());
        }
        assert!(results.get(Some("0")).is_none());
        assert!(results.get(Some("1")).is_some());
        assert_eq!(&*results.get(None).unwrap().ref_id, MOST.to_string());
    }

    #[test]
    fn a_result_of_any_size_is_kept_in_bounds() {
        let kept = Results::default().keep("a", "ä".repeat(LARGEST));
        assert!(kept.text.len() < LARGEST + 100);
        assert!(kept.text.ends_with("was not kept"));
    }

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
        for _ in 0..=MOST_SCREENSHOTS {
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
            screenshots.keep(picture(SCREENSHOT_BYTES / 2), 1000);
        }
        assert_eq!(screenshots.all().len(), 2);
        screenshots.keep(picture(SCREENSHOT_BYTES + 1), 1000);
        assert!(screenshots.all().is_empty(), "one that is too large by itself is not kept");
    }
}
