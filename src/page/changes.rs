//! The changes that an action made: the difference of the page's text before and after it.
//!
//! The text after one action is the text before the next, unless a frame reports a change in between. All frames
//! are queried in parallel, and only those that have changed are walked again. The main frame's snapshot arrives
//! with the event loop tick that an action waits for anyway.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

use super::{Page, snapshot::whole_page, state::Mark};
use crate::{
    engine::{DocumentId, FrameId},
    error::{ErrorCode, Result, TroupeError},
    offload,
};

/// Maximum characters of a difference; the rest is counted.
const BUDGET: usize = 3000;

/// The last snapshot of the page, and the changes that its frames have reported since.
#[derive(Debug, Default)]
pub(super) struct LastLook(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    look: Option<Look>,
    /// The documents and mutation counts that frames reported in their answers to other calls.
    heard: HashMap<FrameId, Version>,
    /// The frame whose last answer reported the mutation counts of other frames, too.
    reports_inner: Option<FrameId>,
    /// Whether the look is one after the last action.
    after_action: bool,
}

/// A document at one of its mutation counts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Version {
    /// The name that the document reports.
    document: Arc<str>,
    count: u64,
}

impl Version {
    /// Reads it from an answer that has both.
    fn of(answer: &Value) -> Option<Self> {
        Some(Self { document: answer["document"].as_str()?.into(), count: answer["mutations"].as_u64()? })
    }
}

/// The last snapshot of one frame, without its child frames.
#[derive(Debug, Clone)]
pub(super) struct FrameSnapshot {
    /// What the frame showed when the snapshot was taken.
    version: Version,
    /// The answer of the page's `snapshot`.
    pub answer: Arc<Value>,
}

impl FrameSnapshot {
    fn of(answer: Value) -> Result<Self> {
        let version = Version::of(&answer).ok_or_else(|| {
            TroupeError::new(ErrorCode::InternalError, "the page's snapshot has no mutation count")
        })?;
        Ok(Self { version, answer: Arc::new(answer) })
    }
}

/// The frames that could be read.
pub(super) type FrameSnapshots = HashMap<FrameId, FrameSnapshot>;

#[derive(Debug, Clone)]
struct Look {
    document: Option<DocumentId>,
    text: Arc<str>,
    frames: Arc<FrameSnapshots>,
    /// The number of frames of the page, readable or not.
    frame_count: usize,
}

impl LastLook {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// Records what `frame` has just reported in its `answer`: its document and mutation count, and those of the documents in
    /// it. They are valid for one question.
    pub fn hear(&self, frame: &FrameId, answer: &Value) {
        let Some(version) = Version::of(answer) else { return };
        let mut known = self.lock();
        let inner = answer["inner"].as_object();
        // A new report replaces the former one: a frame that is not in it has another document, or is gone.
        if inner.is_some() || known.reports_inner.take_if(|reporting| reporting == frame).is_some() {
            known.heard.clear();
        }
        known.heard.insert(frame.clone(), version);
        let Some(inner) = inner else { return };
        let Known { look: Some(look), heard, reports_inner, .. } = &mut *known else { return };
        let versions = look.frames.iter().filter_map(|(frame, snapshot)| {
            let document = snapshot.version.document.clone();
            let count = inner.get(&*document).and_then(Value::as_u64)?;
            Some((frame.clone(), Version { document, count }))
        });
        heard.extend(versions);
        *reports_inner = Some(frame.clone());
    }

    /// Takes the counts that were reported since the last question.
    fn take_heard(&self) -> HashMap<FrameId, Version> {
        std::mem::take(&mut self.lock().heard)
    }

    /// Forgets the reports: they are outdated.
    pub fn forget_heard(&self) {
        self.lock().heard.clear();
    }
}

/// The page's text before an action.
#[derive(Debug, Clone)]
pub(super) struct Before {
    look: Look,
    at: Mark,
}

impl Before {
    /// The arguments for the `main` frame to return its text if it has changed since. `None` if it cannot know that.
    pub fn later_look(&self, main: &FrameId) -> Option<Value> {
        Some(look_after(&self.look.frames.get(main)?.version).into())
    }
}

/// Arguments for the text of a frame that no longer shows the `known` version.
fn look_after(known: &Version) -> Map<String, Value> {
    let mut wanted = whole_page();
    wanted.insert("known".into(), known.count.into());
    wanted.insert("document".into(), (*known.document).into());
    wanted
}

impl Page {
    fn document(&self) -> Option<DocumentId> {
        self.state.read(|facts| facts.main_frame().document.clone())
    }

    /// Takes a snapshot of the page unless nothing has changed since the last one. `seen` is a new snapshot of the
    /// main frame.
    async fn look(&self, seen: Option<Value>) -> Result<Look> {
        let document = self.document();
        let main = self.main_frame();
        let (last, reports_inner) = {
            let known = self.last_look.lock();
            let last = known.look.clone().filter(|last| last.document == document);
            let reports_inner = known.reports_inner.as_ref() == Some(main) && !known.heard.contains_key(main);
            (last, reports_inner)
        };
        let mut main_snapshot = seen.map(FrameSnapshot::of).transpose()?;
        if let (None, true, Some(known)) =
            (&main_snapshot, reports_inner, last.as_ref().and_then(|last| last.frames.get(main)))
        {
            // Its answer reports which frames of its origin have changed: only those are asked.
            main_snapshot = Some(self.frame_snapshot(main, Some(known)).await?);
        }
        let heard = self.last_look.take_heard();
        let frames: Vec<FrameId> = self.state.read(|facts| facts.frames.keys().cloned().collect());
        let frame_count = frames.len();
        let known = last.as_ref().map(|last| &*last.frames);
        let asked = join_all(frames.into_iter().map(async |frame| {
            let known = known.and_then(|known| known.get(&frame));
            let snapshot = match (&main_snapshot, known) {
                (Some(snapshot), _) if frame == *main => Ok(snapshot.clone()),
                (_, Some(known)) if heard.get(&frame) == Some(&known.version) => Ok(known.clone()),
                _ => self.frame_snapshot(&frame, known).await,
            };
            (frame, snapshot)
        }))
        .await;
        let mut frames = FrameSnapshots::new();
        for (frame, snapshot) in asked {
            match snapshot {
                Ok(snapshot) => drop(frames.insert(frame, snapshot)),
                Err(error) if frame == *main => return Err(error),
                // A child frame that cannot be read is shown as an empty one.
                Err(_) => {}
            }
        }
        self.last_look.forget_heard();
        let unchanged = |last: &Look| {
            let same = |(frame, now): (&FrameId, &FrameSnapshot)| {
                last.frames.get(frame).is_some_and(|before| before.version == now.version)
            };
            last.frame_count == frame_count && last.frames.len() == frames.len() && frames.iter().all(same)
        };
        if let Some(last) = last.filter(unchanged) {
            return Ok(last);
        }
        let text = self.text_of(main, &frames, 0).await.into();
        let look = Look { text, document, frames: Arc::new(frames), frame_count };
        self.last_look.lock().look = Some(look.clone());
        Ok(look)
    }

    /// Takes a snapshot of `frame`, unless it has not changed since the `known` one.
    async fn frame_snapshot(&self, frame: &FrameId, known: Option<&FrameSnapshot>) -> Result<FrameSnapshot> {
        let look = known.map_or_else(whole_page, |known| look_after(&known.version));
        let mut answer = self.ask_frame(frame, "snapshotIfChanged", json!({"look": look})).await?;
        match (answer["snapshot"].take(), known) {
            (Value::Null, Some(known)) => Ok(known.clone()),
            (snapshot, _) => FrameSnapshot::of(snapshot),
        }
    }

    /// Forgets what frames reported during earlier calls: they may have changed since.
    pub fn begin_call(&self) {
        self.last_look.forget_heard();
    }

    /// Returns the text before an action. `None` if it cannot be read or is not needed.
    pub(super) async fn before_action(&self) -> Option<Before> {
        self.last_look.lock().after_action = false;
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let look = Box::pin(self.look(None)).await.ok()?;
        Some(Before { look, at: self.state.mark() })
    }

    /// Returns the text of the last snapshot if the page has one frame, without asking it whether it has changed.
    pub(super) fn as_last_seen(&self) -> Option<Before> {
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let document = self.document();
        let mut known = self.last_look.lock();
        let look = known.look.clone().filter(|look| look.document == document && look.frame_count == 1)?;
        known.after_action = false;
        known.heard.clear();
        Some(Before { look, at: self.state.mark() })
    }

    /// Returns the changes since `before`. `None` if there is another document or nothing has changed. `seen` is a
    /// new snapshot of the page, if there is one.
    pub(super) async fn changes_since(&self, before: Option<Before>, seen: Option<Value>) -> Option<String> {
        let before = before?;
        if self.state.read(|facts| facts.committed_since(before.at)) {
            return None;
        }
        let after =
            Box::pin(self.look(seen)).await.ok().filter(|after| after.document == before.look.document)?;
        self.last_look.lock().after_action = true;
        let (before, after) = (&before.look.text, &after.text);
        let changes = offload::in_place(before.len() + after.len(), || difference(before, after));
        Some(changes).filter(|changes| !changes.is_empty())
    }
}

impl Page {
    /// Stores the snapshot `seen` that came with a navigation, so that the record and the next action need none.
    pub(super) async fn seen_on_arrival(&self, seen: Value) {
        let look = self.within(self.config.timeout_settle, Box::pin(self.look(Some(seen)))).await;
        self.last_look.lock().after_action = matches!(look, Some(Ok(_)));
    }

    /// Returns the page's text after a call, for the record: the snapshot that was made for the answer, else a new
    /// one.
    pub async fn text_after(&self) -> Option<Arc<str>> {
        if self.dialog().is_some() || !self.is_open() {
            return None;
        }
        let document = self.document();
        let known = {
            let mut known = self.last_look.lock();
            let seen = std::mem::take(&mut known.after_action);
            known.look.clone().filter(|look| seen && look.document == document)
        };
        if let Some(look) = known {
            return Some(look.text);
        }
        // The call is done: a look that is not answered must not make it last.
        let look = self.within(self.config.timeout_settle, Box::pin(self.look(None))).await?.ok()?;
        Some(look.text)
    }
}

/// The ref in a line.
fn reference(line: &str) -> Option<&str> {
    let at = line.find("[ref=")?;
    line[at + 5..].split(']').next()
}

/// Removes the lines that both texts begin and end with: on a long page most of them.
fn without_common_ends<'a>(before: &'a str, after: &'a str) -> (&'a str, &'a str) {
    let same = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    let begin = before.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (before, after) = (&before[begin..], &after[begin..]);
    let same = before.bytes().rev().zip(after.bytes().rev()).take_while(|(one, other)| one == other).count();
    let tail = &before.as_bytes()[before.len() - same..];
    let end = tail.iter().position(|byte| *byte == b'\n').map_or(0, |end| tail.len() - end - 1);
    (&before[..before.len() - end], &after[..after.len() - end])
}

/// Lines that came (`+`), went (`-`) and changed (`~`, as they are now), within the budget.
fn difference(before: &str, after: &str) -> String {
    let (before, after) = without_common_ends(before, after);
    if before == after {
        return String::new();
    }
    let diff = TextDiff::configure().algorithm(similar::Algorithm::Patience).diff_lines(before, after);
    let mut changed: Vec<(ChangeTag, &str)> = Vec::new();
    for operation in diff.ops() {
        if operation.tag() != similar::DiffTag::Equal {
            changed
                .extend(diff.iter_changes(operation).map(|change| (change.tag(), change.value().trim_end())));
        }
    }
    let came: HashSet<&str> = changed
        .iter()
        .filter(|(tag, _)| *tag == ChangeTag::Insert)
        .filter_map(|(_, line)| reference(line))
        .collect();
    let went: HashSet<&str> = changed
        .iter()
        .filter(|(tag, _)| *tag == ChangeTag::Delete)
        .filter_map(|(_, line)| reference(line))
        .collect();
    let lines = |tag: ChangeTag| -> HashSet<&str> {
        changed.iter().filter(|(of, _)| *of == tag).map(|(_, line)| line.trim_start()).collect()
    };
    // A line that is in both texts has only moved.
    let moved: HashSet<&str> =
        lines(ChangeTag::Insert).intersection(&lines(ChangeTag::Delete)).copied().collect();
    let mut text = String::new();
    let mut over = 0;
    for (tag, line) in changed {
        let known = |set: &HashSet<&str>| reference(line).is_some_and(|reference| set.contains(reference));
        let sign = match tag {
            _ if moved.contains(line.trim_start()) => continue,
            // The new line reports an element that changed or moved.
            ChangeTag::Delete if known(&came) => continue,
            ChangeTag::Delete => '-',
            ChangeTag::Insert if known(&went) => '~',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => continue,
        };
        // The list's own dash would look like a sign.
        let content = line.trim_start();
        let indent = line.len() - content.len();
        let content = content.strip_prefix("- ").unwrap_or(content);
        if text.len() + indent + content.len() + 3 > BUDGET {
            over += 1;
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push(sign);
        text.push_str(&" ".repeat(indent + 1));
        text.push_str(content);
    }
    if over > 0 {
        text.push_str(&format!("\n… {over} more lines: snapshot shows them"));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_changed_element_is_told_once_as_it_is_now() {
        let before = "- heading \"A\" [ref=e1]\n- button \"Go\" [ref=e2]\n- link \"x\" [ref=e3]";
        let after = "- heading \"A\" [ref=e1]\n- button \"Gone\" [disabled] [ref=e2]\n- dialog \"D\" [ref=e4]:\n  - button \"OK\" [ref=e5]";
        insta::assert_snapshot!(difference(before, after), @r#"
        - link "x" [ref=e3]
        ~ button "Gone" [disabled] [ref=e2]
        + dialog "D" [ref=e4]:
        +   button "OK" [ref=e5]
        "#);
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let after: String = (0..500).map(|number| format!("- row \"{number}\" [ref=e{number}]\n")).collect();
        let told = difference("", &after);
        assert!(told.len() < BUDGET + 60);
        assert!(told.ends_with("more lines: snapshot shows them"), "{told}");
    }

    proptest! {
        #[test]
        fn the_same_text_has_no_difference(text in "(- [a-c]{1,3}\n){0,8}") {
            prop_assert!(difference(&text, &text).is_empty());
        }

        #[test]
        fn what_both_texts_begin_and_end_with_is_left_out_by_whole_lines(
            before in "([a-cä]{0,2}\n){0,6}[a-cä]{0,2}",
            after in "([a-cä]{0,2}\n){0,6}[a-cä]{0,2}",
        ) {
            let (left, right) = without_common_ends(&before, &after);
            let begin = left.as_ptr().addr() - before.as_ptr().addr();
            let end = begin + left.len();
            prop_assert_eq!(format!("{}{right}{}", &before[..begin], &before[end..]), after.as_str());
            for cut in [begin, end] {
                prop_assert!(cut == 0 || cut == before.len() || before[..cut].ends_with('\n'));
            }
        }

        #[test]
        fn a_line_that_is_new_is_always_told(text in "(- [a-c]{1,3}\n){0,8}") {
            let more = format!("{text}- new [ref=e1]\n");
            prop_assert_eq!(difference(&text, &more), "+ new [ref=e1]");
        }
    }
}
