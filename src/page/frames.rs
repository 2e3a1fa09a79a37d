//! The frames of a page, and which of them a target means.
//!
//! Each document in a child frame has a number of its own in the session, so that its refs (`f2e7`) are
//! never another document's. The main frame's refs (`e12`) share one counter a session.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::{Value, json};

use super::Page;
use crate::{
    engine::{DocumentId, EngineError, FrameId, World},
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
        self.by_frame.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An iframe on the way from the main frame to a target: the frame that it stands in, and its ref there.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub frame: FrameId,
    pub reference: String,
}

/// A target with its frame found.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub frame: FrameId,
    /// From the main frame inwards.
    pub owners: Vec<Owner>,
    /// What is left to find within the frame.
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
        let document =
            self.state.read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let mut numbers = self.frame_numbers.lock();
        let known = numbers.get(frame).filter(|known| known.document == document).cloned();
        let numbered = known.unwrap_or_else(|| {
            let number = self.refs.frames.fetch_add(1, Ordering::AcqRel);
            Numbered { number, document, next: 1 }
        });
        let counter = json!({"prefix": format!("f{}e", numbered.number), "next": numbered.next});
        numbers.insert(frame.clone(), numbered);
        counter
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
        let document =
            self.state.read(|facts| facts.frames.get(frame).and_then(|frame| frame.document.clone()));
        let numbers = self.frame_numbers.lock();
        let known = numbers.get(frame).filter(|known| known.document == document);
        known.map_or((0, 0), |known| (known.number, known.next))
    }

    /// Gives a document in a child frame the number that it had before the page was opened again.
    pub(super) fn number_frame(&self, frame: &FrameId, document: Option<DocumentId>, number: u64, next: u64) {
        if number > 0 {
            self.frame_numbers.lock().insert(frame.clone(), Numbered { number, document, next });
        }
    }

    /// The frame that `target` is in, and what of it is to be found there.
    pub(super) async fn locate(&self, target: &str) -> Result<Place> {
        let main = self.main_frame().clone();
        if let Some(number) = frame_number(target).filter(|number| *number > 0) {
            let frame = self.frame_of_number(number).ok_or_else(|| stale(target))?;
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
                let what = format!("`{part}` is {description}, not a frame: ` >>> ` goes into frames only");
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
        let present =
            self.state.read(|facts| facts.frames.get(&frame).map(|frame| frame.document.clone()))?;
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

    /// The ref of the iframe in `parent` that holds `inner`.
    async fn frame_owner(&self, parent: &FrameId, inner: &FrameId) -> Result<Option<String>> {
        let listed =
            self.inject_in(parent, "list", json!({"target": "css=iframe, frame, object, embed"})).await?;
        for element in listed["elements"].as_array().into_iter().flatten() {
            let reference = element["ref"].as_str().unwrap_or_default();
            if self.content_frame(parent, reference).await?.as_ref() == Some(inner) {
                return Ok(Some(reference.to_owned()));
            }
        }
        Ok(None)
    }

    /// The frame in the iframe `reference` of `frame`; nothing where the iframe has gone.
    pub(super) async fn content_frame(&self, frame: &FrameId, reference: &str) -> Result<Option<FrameId>> {
        let element = format!("__troupe.element({})", json!(reference));
        let inner = async {
            match self.engine.content_frame(frame, &element).await {
                Err(EngineError::Refused(_)) => Ok(None),
                other => other,
            }
        };
        self.alive(inner).await
    }

    /// Adds to a point in the innermost frame where its frames stand, and sees that nothing covers it there.
    pub(super) async fn to_viewport(
        &self,
        owners: &[Owner],
        mut x: f64,
        mut y: f64,
        force: bool,
    ) -> Result<(f64, f64)> {
        for owner in owners.iter().rev() {
            let offset = format!(
                "(() => {{ const frame = __troupe.element({reference}); frame.scrollIntoViewIfNeeded ? \
                 frame.scrollIntoViewIfNeeded() : frame.scrollIntoView({{block: 'nearest', inline: 'nearest'}}); \
                 const box = frame.getBoundingClientRect(), style = getComputedStyle(frame); \
                 return [box.left + frame.clientLeft + parseFloat(style.paddingLeft), \
                 box.top + frame.clientTop + parseFloat(style.paddingTop)]; }})()",
                reference = json!(owner.reference)
            );
            let offset = self.alive(self.engine.evaluate(&owner.frame, World::Isolated, &offset)).await?;
            x += offset[0].as_f64().unwrap_or_default();
            y += offset[1].as_f64().unwrap_or_default();
            if !force {
                let hit = self
                    .inject_in(&owner.frame, "hit", json!({"ref": owner.reference, "x": x, "y": y}))
                    .await?;
                if hit["ok"] == false {
                    let covered = hit["covered"].as_str().unwrap_or("something").to_owned();
                    return Err(TroupeError::new(
                        ErrorCode::ElementNotClickable,
                        format!("the frame of the element is covered by {covered}"),
                    )
                    .detail("reason", "covered")
                    .detail("covering", covered));
                }
            }
        }
        Ok((x, y))
    }
}

fn stale(what: &str) -> TroupeError {
    TroupeError::new(ErrorCode::ElementNotFound, format!("`{what}` is in a frame whose document is gone"))
        .detail("reason", "stale")
        .suggestion("take a new snapshot")
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
}
