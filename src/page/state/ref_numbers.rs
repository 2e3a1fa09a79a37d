//! The numbers of refs.
//!
//! Each document in a child frame has a number that is unique in the session, so that its refs
//! (`f2e7`) never refer to another document. The main frame's refs (`e12`) share one counter in the
//! session.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicU64, Ordering},
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::{
    engine::{DocumentId, FrameId},
    page::Page,
};

/// The counters of a session's refs, so that a ref never refers to two elements.
#[derive(Debug)]
pub struct RefCounter {
    elements: AtomicU64,
    pub(in crate::page) frames: AtomicU64,
}

impl Default for RefCounter {
    fn default() -> Self {
        Self { elements: AtomicU64::new(1), frames: AtomicU64::new(1) }
    }
}

impl RefCounter {
    /// Returns the next numbers of an element in a main frame and of a child frame.
    pub fn next(&self) -> (u64, u64) {
        (self.elements.load(Ordering::Acquire), self.frames.load(Ordering::Acquire))
    }

    /// Advances the counters to these numbers, unless they are further already.
    pub fn continue_from(&self, (elements, frames): (u64, u64)) {
        self.elements.fetch_max(elements, Ordering::AcqRel);
        self.frames.fetch_max(frames, Ordering::AcqRel);
    }
}

/// The numbers of the documents in a page's child frames.
#[derive(Debug, Default)]
pub(in crate::page) struct FrameNumbers {
    by_frame: Mutex<HashMap<FrameId, FrameNumber>>,
}

#[derive(Debug, Clone)]
struct FrameNumber {
    number: u64,
    document: Option<DocumentId>,
    next: u64,
}

impl FrameNumber {
    /// Returns whether the number is that of `document`. The initial empty document of a frame has
    /// no id, and shares its number with the next document: scripts can run in that one before it
    /// is reported.
    fn is_of(&self, document: Option<&DocumentId>) -> bool {
        self.document.is_none() || self.document.as_ref() == document
    }
}

impl FrameNumbers {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, FrameNumber>> {
        self.by_frame.lock()
    }
}

/// Stores the number of a frame. If there are more numbers than `present` frames, removes those of
/// frames that no longer exist.
fn keep_number<T>(
    numbers: &mut HashMap<FrameId, FrameNumber>,
    frame: &FrameId,
    numbered: FrameNumber,
    present: &HashMap<FrameId, T>,
) {
    numbers.insert(frame.clone(), numbered);
    if numbers.len() > present.len() {
        numbers.retain(|known, _| known == frame || present.contains_key(known));
    }
}

impl Page {
    /// Returns the prefix and the next number of refs in `frame`.
    pub(in crate::page) fn ref_counter(&self, frame: &FrameId) -> Value {
        if frame == self.main_frame() {
            return json!({"prefix": "e", "next": self.refs.elements.load(Ordering::Acquire)});
        }
        let document = self
            .state
            .read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let mut numbers = self.frame_numbers.lock();
        let known = numbers.get_mut(frame).filter(|known| known.is_of(document.as_ref()));
        let numbered = match known {
            Some(known) => {
                known.document = document;
                known.clone()
            }
            None => {
                let number = self.refs.frames.fetch_add(1, Ordering::AcqRel);
                let numbered = FrameNumber { number, document, next: 1 };
                self.state.read(|facts| {
                    keep_number(&mut numbers, frame, numbered.clone(), &facts.frames);
                });
                numbered
            }
        };
        json!({"prefix": format!("f{}e", numbered.number), "next": numbered.next})
    }

    /// Records the next free number of refs in `frame`.
    pub(in crate::page) fn refs_used(&self, frame: &FrameId, next: u64) {
        if frame == self.main_frame() {
            self.refs.elements.fetch_max(next, Ordering::AcqRel);
        } else if let Some(numbered) = self.frame_numbers.lock().get_mut(frame) {
            numbered.next = numbered.next.max(next);
        }
    }

    /// Returns the number of a child frame in refs and the next number of its refs; zeros if it has
    /// none yet.
    pub(in crate::page) fn frame_number_of(&self, frame: &FrameId) -> (u64, u64) {
        let document = self
            .state
            .read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let numbers = self.frame_numbers.lock();
        let known = numbers.get(frame).filter(|known| known.is_of(document.as_ref()));
        known.map_or((0, 0), |known| (known.number, known.next))
    }

    /// Gives a document in a child frame the number that it had before the page was reopened.
    pub(in crate::page) fn number_frame(
        &self,
        frame: &FrameId,
        document: Option<DocumentId>,
        number: u64,
        next: u64,
    ) {
        if number > 0 {
            let mut numbers = self.frame_numbers.lock();
            let numbered = FrameNumber { number, document, next };
            self.state.read(|facts| keep_number(&mut numbers, frame, numbered, &facts.frames));
        }
    }

    pub(in crate::page) fn frame_of_number(&self, number: u64) -> Option<FrameId> {
        let (frame, numbered) = self
            .frame_numbers
            .lock()
            .iter()
            .find(|(_, numbered)| numbered.number == number)
            .map(|(frame, numbered)| (frame.clone(), numbered.clone()))?;
        let present = self
            .state
            .read(|facts| facts.frames.get(&frame).map(|frame| frame.document.clone()))?;
        numbered.is_of(present.as_ref()).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_empty_document_shares_its_number_with_the_next_document() {
        let (first, second) = (DocumentId::from("first"), DocumentId::from("second"));
        let initial = FrameNumber { number: 2, document: None, next: 1 };
        assert!(initial.is_of(None) && initial.is_of(Some(&first)));
        let numbered = FrameNumber { document: Some(first.clone()), ..initial };
        assert!(numbered.is_of(Some(&first)));
        assert!(!numbered.is_of(Some(&second)) && !numbered.is_of(None));
    }

    #[test]
    fn numbers_of_frames_that_no_longer_exist_are_dropped() {
        let mut numbers = HashMap::new();
        for number in 1..=1000 {
            let frame: FrameId = format!("frame {number}").into();
            // The page replaces its only iframe each time.
            let present = HashMap::from([("main".into(), ()), (frame.clone(), ())]);
            keep_number(
                &mut numbers,
                &frame,
                FrameNumber { number, document: None, next: 1 },
                &present,
            );
            assert!(numbers.len() <= present.len());
            assert_eq!(numbers[&frame].number, number);
        }
    }
}
