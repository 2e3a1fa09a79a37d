//! Results that were too long for one answer, stored so that the client can read the rest.

use std::{collections::VecDeque, sync::Arc, time::Instant};

use parking_lot::{Mutex, MutexGuard};

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
}
