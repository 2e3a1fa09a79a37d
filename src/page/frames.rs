//! The frames of a page, and the frame that a target refers to.
//!
//! Each document in a child frame has a number that is unique in the session, so that its refs (`f2e7`) never refer
//! to another document. The main frame's refs (`e12`) share one counter in the session.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use super::{
    Page,
    action::{Sought, place_in},
    frame_transform::FrameTransform,
};
use crate::{
    engine::{DocumentId, FrameId},
    error::{ErrorCode, Result, TroupeError},
};

/// Frames within frames deeper than this are left out.
pub(super) const MAX_DEPTH: usize = 6;

/// Numbers for refs; one a session, so that a ref never means two elements.
#[derive(Debug)]
pub struct RefCounter {
    elements: AtomicU64,
    frames: AtomicU64,
}

impl Default for RefCounter {
    fn default() -> Self {
        Self { elements: AtomicU64::new(1), frames: AtomicU64::new(1) }
    }
}

impl RefCounter {
    /// The next number of an element in a main frame, and of a child frame.
    pub fn next(&self) -> (u64, u64) {
        (self.elements.load(Ordering::Acquire), self.frames.load(Ordering::Acquire))
    }

    /// Goes on from these numbers, if it is not further already.
    pub fn go_on_from(&self, (elements, frames): (u64, u64)) {
        self.elements.fetch_max(elements, Ordering::AcqRel);
        self.frames.fetch_max(frames, Ordering::AcqRel);
    }
}

/// The numbers that a page has given to the documents of its child frames.
#[derive(Debug, Default)]
pub(super) struct FrameNumbers {
    by_frame: Mutex<HashMap<FrameId, Numbered>>,
}

#[derive(Debug, Clone)]
struct Numbered {
    number: u64,
    document: Option<DocumentId>,
    next: u64,
}

impl FrameNumbers {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, Numbered>> {
        self.by_frame.lock()
    }
}

/// Keeps the number of a frame. Where more numbers are kept than the page has `present` frames, drops those of frames that no
/// longer exist.
fn keep_number<T>(
    numbers: &mut HashMap<FrameId, Numbered>,
    frame: &FrameId,
    numbered: Numbered,
    present: &HashMap<FrameId, T>,
) {
    numbers.insert(frame.clone(), numbered);
    if numbers.len() > present.len() {
        numbers.retain(|known, _| known == frame || present.contains_key(known));
    }
}

/// An iframe on the path from the main frame to a target: its parent frame, and its ref there.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub frame: FrameId,
    pub reference: String,
}

/// A point of a frame that can be acted on.
pub(super) struct Reached {
    /// In the page's viewport.
    pub point: (f64, f64),
    /// Maps the frame's viewport to the page's.
    pub transform: FrameTransform,
    /// A frame on the way could not be reached at first.
    pub retried: bool,
}

/// A target with its frame found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub frame: FrameId,
    /// From the main frame inwards.
    pub owners: Vec<Owner>,
    /// The rest of the target, to be found within the frame.
    pub target: String,
}

/// The number of the frame that a ref names (`f2e7` → 2), or 0 for one of the main frame; `None`: no ref.
fn frame_number(target: &str) -> Option<u64> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some(rest) = target.strip_prefix('e') {
        return digits(rest).then_some(0);
    }
    let (frame, element) = target.strip_prefix('f')?.split_once('e')?;
    if digits(frame) && digits(element) { frame.parse().ok() } else { None }
}

impl Page {
    /// Prefix and next number for refs in `frame`.
    pub(super) fn ref_counter(&self, frame: &FrameId) -> Value {
        if frame == self.main_frame() {
            return json!({"prefix": "e", "next": self.refs.elements.load(Ordering::Acquire)});
        }
        let document = self
            .state
            .read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let mut numbers = self.frame_numbers.lock();
        let known = numbers.get(frame).filter(|known| known.document == document).cloned();
        let numbered = known.unwrap_or_else(|| {
            let number = self.refs.frames.fetch_add(1, Ordering::AcqRel);
            let numbered = Numbered { number, document, next: 1 };
            self.state
                .read(|facts| keep_number(&mut numbers, frame, numbered.clone(), &facts.frames));
            numbered
        });
        json!({"prefix": format!("f{}e", numbered.number), "next": numbered.next})
    }

    /// Notes how far the numbers of `frame` are used.
    pub(super) fn refs_used(&self, frame: &FrameId, next: u64) {
        if frame == self.main_frame() {
            self.refs.elements.fetch_max(next, Ordering::AcqRel);
        } else if let Some(numbered) = self.frame_numbers.lock().get_mut(frame) {
            numbered.next = numbered.next.max(next);
        }
    }

    /// The number of a child frame in refs and the next of its refs; zeros where it has none yet.
    pub(super) fn frame_number_of(&self, frame: &FrameId) -> (u64, u64) {
        let document = self
            .state
            .read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let numbers = self.frame_numbers.lock();
        let known = numbers.get(frame).filter(|known| known.document == document);
        known.map_or((0, 0), |known| (known.number, known.next))
    }

    /// Gives a document in a child frame the number that it had before the page was opened again.
    pub(super) fn number_frame(
        &self,
        frame: &FrameId,
        document: Option<DocumentId>,
        number: u64,
        next: u64,
    ) {
        if number > 0 {
            let mut numbers = self.frame_numbers.lock();
            let numbered = Numbered { number, document, next };
            self.state.read(|facts| keep_number(&mut numbers, frame, numbered, &facts.frames));
        }
    }

    /// The frame that `target` is in, and what of it is to be found there.
    pub(super) async fn locate(&self, target: &str) -> Result<Place> {
        let main = self.main_frame().clone();
        if let Some(number) = frame_number(target).filter(|number| *number > 0) {
            let frame = self.frame_of_number(number).ok_or_else(|| {
                if number < self.refs.frames.load(Ordering::Acquire) {
                    stale(target)
                } else {
                    unknown(target)
                }
            })?;
            let owners = self.owners_of(&frame).await?;
            return Ok(Place { frame, owners, target: target.to_owned() });
        }
        let mut place = Place { frame: main, owners: Vec::new(), target: target.to_owned() };
        let mut parts: Vec<&str> = target.split(" >>> ").map(str::trim).collect();
        place.target = parts.pop().unwrap_or_default().to_owned();
        for part in parts {
            let arguments = json!({"target": part, "strict": true});
            let found = self.inject_in(&place.frame, "resolve", arguments).await?;
            let reference = found["ref"].as_str().unwrap_or_default().to_owned();
            let inner = self.content_frame(&place.frame, &reference).await?.ok_or_else(|| {
                let description = found["description"].as_str().unwrap_or("something else");
                // One that has no frame any more was taken out of the page meanwhile.
                if description.starts_with("iframe ") {
                    return stale(&reference);
                }
                let what = format!(
                    "`{part}` is {description}, not a frame: ` >>> ` goes into frames only"
                );
                TroupeError::new(ErrorCode::InvalidSelector, what).detail("selector", target)
            })?;
            place.owners.push(Owner { frame: place.frame, reference });
            place.frame = inner;
        }
        Ok(place)
    }

    fn frame_of_number(&self, number: u64) -> Option<FrameId> {
        let (frame, document) = self
            .frame_numbers
            .lock()
            .iter()
            .find(|(_, numbered)| numbered.number == number)
            .map(|(frame, numbered)| (frame.clone(), numbered.document.clone()))?;
        let present = self
            .state
            .read(|facts| facts.frames.get(&frame).map(|frame| frame.document.clone()))?;
        (present == document).then_some(frame)
    }

    /// The iframes around `frame`, from the main frame inwards.
    async fn owners_of(&self, frame: &FrameId) -> Result<Vec<Owner>> {
        let mut owners = Vec::new();
        let mut inner = frame.clone();
        while inner != *self.main_frame() && owners.len() <= MAX_DEPTH {
            let parent = self
                .state
                .read(|facts| facts.frames.get(&inner).and_then(|frame| frame.parent.clone()))
                .ok_or_else(|| stale(frame))?;
            let reference = self.frame_owner(&parent, &inner).await?.ok_or_else(|| stale(frame))?;
            owners.push(Owner { frame: parent.clone(), reference });
            inner = parent;
        }
        owners.reverse();
        Ok(owners)
    }

    /// Waits until `point` of the innermost frame is actionable through its parent frames: they are scrolled into
    /// view, stable and not covered. `retried` says that this took time.
    pub(super) async fn reach_through(
        &self,
        owners: &[Owner],
        sought: &Sought,
        point: (f64, f64),
    ) -> Result<Reached> {
        let mut reached = Reached { point, transform: FrameTransform::default(), retried: false };
        for owner in owners.iter().rev() {
            let (x, y) = reached.point;
            let mut arguments = sought.through_frame();
            arguments["target"] = owner.reference.as_str().into();
            arguments["inside"] = json!({"x": x, "y": y});
            // Only the main frame can detect an element that moves over the point; the frames between cannot.
            if arguments["guard"] == true && owner.frame != *self.main_frame() {
                arguments["guard"] = false.into();
            }
            let answer = self.inject_in(&owner.frame, "waitActionable", arguments).await?;
            reached.point = place_in(&answer);
            reached.transform = reached.transform.then(FrameTransform::read(&answer["matrix"]));
            reached.retried |= answer["retried"] == true;
        }
        Ok(reached)
    }

    /// Maps the innermost frame's viewport to the page's, as the frames stand now.
    pub(super) async fn transform_of(&self, owners: &[Owner]) -> Result<FrameTransform> {
        let mut transform = FrameTransform::default();
        for owner in owners.iter().rev() {
            let answer = self
                .inject_in(&owner.frame, "frameMatrix", json!({"ref": owner.reference}))
                .await?;
            transform = transform.then(FrameTransform::read(&answer["matrix"]));
        }
        Ok(transform)
    }
}

fn stale(what: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::ElementNotFound,
        format!("`{what}` is in a frame whose document is gone"),
    )
    .detail("reason", "stale")
    .suggestion("take a new snapshot")
}

fn unknown(reference: &str) -> TroupeError {
    TroupeError::new(
        ErrorCode::ElementNotFound,
        format!("no element has had the ref `{reference}`"),
    )
    .detail("reason", "unknown")
    .suggestion("call `snapshot`: it shows the refs of the page's elements")
}

/// Shared by the pages of a session.
pub(super) type SharedRefs = Arc<RefCounter>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_told_from_other_targets() {
        for (target, number) in [
            ("e1", Some(0)),
            ("e", None),
            ("f2e7", Some(2)),
            ("f2e", None),
            ("fe7", None),
            ("em", None),
            ("fieldset", None),
            ("f99999999999999999999e1", None),
        ] {
            assert_eq!(frame_number(target), number, "{target}");
        }
    }

    #[test]
    fn numbers_of_frames_that_no_longer_exist_are_dropped() {
        let mut numbers = HashMap::new();
        for number in 1..=1000 {
            let frame: FrameId = format!("frame {number}").into();
            // The page replaces its only iframe again and again.
            let present = HashMap::from([("main".into(), ()), (frame.clone(), ())]);
            keep_number(
                &mut numbers,
                &frame,
                Numbered { number, document: None, next: 1 },
                &present,
            );
            assert!(numbers.len() <= present.len());
            assert_eq!(numbers[&frame].number, number);
        }
    }
}
