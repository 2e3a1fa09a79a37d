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

/// The document and its text as the client was last shown them: by the changes of an action, or after a navigation.
#[derive(Debug, Clone, Default)]
pub struct Shown(Option<(Option<DocumentId>, Arc<str>)>);

impl Shown {
    fn of(look: &Look) -> Self {
        Self(Some((look.document.clone(), look.text.clone())))
    }
}

#[derive(Debug, Default)]
struct Known {
    look: Option<Look>,
    /// The documents and mutation counts that frames reported in their answers to other calls.
    heard: HashMap<FrameId, Version>,
    /// The frame whose last answer reported the mutation counts of other frames, too.
    reports_inner: Option<FrameId>,
    /// Whether the look is one after the last action.
    after_action: bool,
    shown: Shown,
}

impl Known {
    /// The text that the client was last shown of the document of `look`, if it differs from it.
    fn shown_before(&self, look: &Look) -> Option<Arc<str>> {
        let (document, text) = self.shown.0.as_ref()?;
        (*document == look.document && *text != look.text).then(|| text.clone())
    }
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
        Some(Self {
            document: answer["document"].as_str()?.into(),
            count: answer["mutations"].as_u64()?,
        })
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
        if inner.is_some() || known.reports_inner.take_if(|reporting| reporting == frame).is_some()
        {
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

    /// Marks the last snapshot and the text that the client was shown as outdated: the page has changed since.
    pub fn forget_action(&self) {
        let mut known = self.lock();
        known.after_action = false;
        known.shown = Shown::default();
    }

    /// Notes that the last look was taken after the action.
    pub fn note_after_action(&self) {
        let mut known = self.lock();
        known.after_action = known.look.is_some();
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
    /// The text that the client was last shown, if the page has changed since then.
    shown: Option<Arc<str>>,
    at: Mark,
}

impl Before {
    /// The arguments for the `main` frame to return its text if it has changed since. `None` if it cannot know that.
    pub fn later_look(&self, main: &FrameId) -> Option<Value> {
        Some(look_after(&self.look.frames.get(main)?.version).into())
    }
}

/// Changes of the page's text.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Between the client's last result and the action.
    pub earlier: Option<String>,
    /// By the action.
    pub made: Option<String>,
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
            let reports_inner =
                known.reports_inner.as_ref() == Some(main) && !known.heard.contains_key(main);
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
            last.frame_count == frame_count
                && last.frames.len() == frames.len()
                && frames.iter().all(same)
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
    async fn frame_snapshot(
        &self,
        frame: &FrameId,
        known: Option<&FrameSnapshot>,
    ) -> Result<FrameSnapshot> {
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
        let shown = self.last_look.lock().shown_before(&look);
        Some(Before { look, shown, at: self.state.mark() })
    }

    /// The text that the client was last shown, with its document.
    pub fn shown(&self) -> Shown {
        self.last_look.lock().shown.clone()
    }

    pub fn set_shown(&self, shown: Shown) {
        self.last_look.lock().shown = shown;
    }

    /// Whether the client was shown the present document, so that its changes since then are reported.
    pub fn is_shown(&self) -> bool {
        let document = self.document();
        self.shown().0.is_some_and(|(shown, _)| shown == document)
    }

    /// Records that the client has been shown the present text: the next action reports later changes.
    pub(super) async fn shown_now(&self) {
        self.set_shown(Shown::default());
        if self.config.after_action != crate::config::AfterAction::Changes {
            return;
        }
        if let Some(Ok(look)) =
            self.within(self.config.timeout_settle, Box::pin(self.look(None))).await
        {
            self.set_shown(Shown::of(&look));
        }
    }

    /// Returns the text of the last snapshot if the page has one frame, without asking it whether it has changed.
    pub(super) fn as_last_seen(&self) -> Option<Before> {
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let document = self.document();
        let mut known = self.last_look.lock();
        let look =
            known.look.clone().filter(|look| look.document == document && look.frame_count == 1)?;
        known.after_action = false;
        known.heard.clear();
        let shown = known.shown_before(&look);
        Some(Before { look, shown, at: self.state.mark() })
    }

    /// Returns the changes since `before`; none if there is another document. `seen` is a new snapshot of the page, if
    /// there is one.
    pub(super) async fn changes_since(
        &self,
        before: Option<Before>,
        seen: Option<Value>,
    ) -> Changes {
        let is_there = |before: &Before| !self.state.read(|facts| facts.committed_since(before.at));
        let Some(before) = before.filter(is_there) else { return Changes::default() };
        let after = Box::pin(self.look(seen)).await.ok();
        let Some(after) = after.filter(|after| after.document == before.look.document) else {
            return Changes::default();
        };
        {
            let mut known = self.last_look.lock();
            known.after_action = true;
            known.shown = Shown::of(&after);
        }
        let Before { look: before, shown, .. } = before;
        let (before, after) = (&before.text, &after.text);
        let size = before.len() + after.len() + shown.as_ref().map_or(0, |shown| shown.len());
        let lines = |before: &str, after: &str| {
            Some(difference(before, after)).filter(|lines| !lines.is_empty())
        };
        offload::in_place(size, || Changes {
            earlier: shown.and_then(|shown| lines(&shown, before)),
            made: lines(before, after),
        })
    }
}

impl Page {
    /// Stores the snapshot `seen` that came with a navigation, so that the record and the next action need none.
    pub(super) async fn seen_on_arrival(&self, seen: Value) {
        let look = self.within(self.config.timeout_settle, Box::pin(self.look(Some(seen)))).await;
        let mut known = self.last_look.lock();
        known.after_action = matches!(look, Some(Ok(_)));
        known.shown = known.look.as_ref().map(Shown::of).unwrap_or_default();
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
        let look =
            self.within(self.config.timeout_settle, Box::pin(self.look(None))).await?.ok()?;
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
    let begin =
        before.as_bytes()[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (before, after) = (&before[begin..], &after[begin..]);
    let same = before
        .bytes()
        .rev()
        .zip(after.bytes().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let tail = &before.as_bytes()[before.len() - same..];
    let end = tail.iter().position(|byte| *byte == b'\n').map_or(0, |end| tail.len() - end - 1);
    (&before[..before.len() - end], &after[..after.len() - end])
}

/// A line of a difference.
#[derive(Clone, Copy)]
struct Entry<'a> {
    /// `+` came, `-` went, `~` changed.
    sign: char,
    indent: usize,
    /// Without the dash of the list, which would look like a sign.
    content: &'a str,
    /// The index of a line that went in the text before.
    index: usize,
}

impl<'a> Entry<'a> {
    fn of(sign: char, line: &'a str, index: usize) -> Self {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        Self { sign, indent, content: content.strip_prefix("- ").unwrap_or(content), index }
    }

    fn role(&self) -> &'a str {
        self.content.split([' ', ':']).next().unwrap_or_default()
    }

    /// The element, without the colon before its contents.
    fn element(&self) -> &'a str {
        self.content.strip_suffix(':').unwrap_or(self.content)
    }
}

/// A removed element with more lines than these in it is one line.
const MOST_LINES_BELOW: usize = 2;
/// More removed siblings of one role are one line.
const MOST_REMOVED: usize = 3;
/// So many of the siblings that remain are named.
const MOST_REMAINING: usize = 5;

/// Lines that came (`+`), went (`-`) and changed (`~`, as they are now), within the budget.
fn difference(before: &str, after: &str) -> String {
    let mut text = String::new();
    let mut over = 0;
    let entries = changed_lines(before, after);
    let mut rest = &entries[..];
    while let Some((entry, following)) = rest.split_first() {
        let (content, used) = match entry.sign {
            '-' => removed(rest, before, after),
            _ => (entry.content.to_owned(), 1),
        };
        rest = &following[used - 1..];
        if text.len() + entry.indent + content.len() + 3 > BUDGET {
            over += used;
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push(entry.sign);
        text.push_str(&" ".repeat(entry.indent + 1));
        text.push_str(&content);
    }
    if over > 0 {
        text.push_str(&format!("\n… {over} more lines: snapshot shows them"));
    }
    text
}

/// Describes the removed element that `entries` begin with, and how many of them that takes: the lines in it, and its
/// removed siblings of the same role.
fn removed(entries: &[Entry<'_>], before: &str, after: &str) -> (String, usize) {
    let first = entries[0];
    let size = |entries: &[Entry<'_>]| {
        1 + entries[1..]
            .iter()
            .take_while(|below| below.sign == '-' && below.indent > first.indent)
            .count()
    };
    let (mut count, mut used) = (0, 0);
    while entries.get(used).is_some_and(|entry| {
        entry.sign == '-' && entry.indent == first.indent && entry.role() == first.role()
    }) {
        used += size(&entries[used..]);
        count += 1;
    }
    if count > MOST_REMOVED {
        let role = first.role();
        let remaining = remaining_siblings(&first, before, after);
        let remaining = match remaining.as_deref() {
            None => String::new(),
            Some([]) => "; none remain".to_owned(),
            Some(few) if few.len() <= MOST_REMAINING => {
                format!("; {} remain: {}", few.len(), few.join(", "))
            }
            Some(many) => format!("; {} remain", many.len()),
        };
        return (format!("{count} × {role}{remaining}"), used);
    }
    match size(entries) {
        size if size > 1 + MOST_LINES_BELOW => {
            (format!("{} ({size} lines)", first.element()), size)
        }
        _ => (first.content.to_owned(), 1),
    }
}

/// The elements of the same role that remain beside `removed`; `None` if the element around them is not known.
fn remaining_siblings<'a>(
    removed: &Entry<'_>,
    before: &str,
    after: &'a str,
) -> Option<Vec<&'a str>> {
    let lines: Vec<&str> = before.lines().take(removed.index).collect();
    let around = lines.iter().rev().find(|line| Entry::of(' ', line, 0).indent < removed.indent)?;
    let around = reference(around)?;
    let mut after = after.lines().skip_while(|line| reference(line) != Some(around));
    let around = Entry::of(' ', after.next()?, 0);
    let below =
        after.map(|line| Entry::of(' ', line, 0)).take_while(|line| line.indent > around.indent);
    let same =
        below.filter(|line| line.indent == around.indent + 2 && line.role() == removed.role());
    Some(same.map(|line| line.element()).collect())
}

/// The lines that have changed. Lines that have only moved, or that differ in the focus only, are left out.
fn changed_lines<'a>(before: &'a str, after: &'a str) -> Vec<Entry<'a>> {
    let whole = before;
    let (before, after) = without_common_ends(before, after);
    if before == after {
        return Vec::new();
    }
    let begin = before.as_ptr().addr() - whole.as_ptr().addr();
    let lines_before = whole[..begin].lines().count();
    let diff =
        TextDiff::configure().algorithm(similar::Algorithm::Patience).diff_lines(before, after);
    let mut changed: Vec<(ChangeTag, &str, usize)> = Vec::new();
    for operation in diff.ops() {
        if operation.tag() != similar::DiffTag::Equal {
            changed.extend(diff.iter_changes(operation).map(|change| {
                let index = lines_before + change.old_index().unwrap_or_default();
                (change.tag(), change.value().trim_end(), index)
            }));
        }
    }
    let lines = |tag: ChangeTag| {
        changed.iter().filter(move |(of, ..)| *of == tag).map(|(_, line, _)| *line)
    };
    let by_reference = |tag| -> HashMap<&str, &str> {
        lines(tag).filter_map(|line| Some((reference(line)?, line.trim_start()))).collect()
    };
    let (came, went) = (by_reference(ChangeTag::Insert), by_reference(ChangeTag::Delete));
    let trimmed = |tag| -> HashSet<&str> { lines(tag).map(str::trim_start).collect() };
    // A line that is in both texts has only moved.
    let moved: HashSet<&str> =
        trimmed(ChangeTag::Insert).intersection(&trimmed(ChangeTag::Delete)).copied().collect();
    let sign = |tag: ChangeTag, line: &str| match tag {
        _ if moved.contains(line.trim_start()) => None,
        // The new line reports an element that changed or moved.
        ChangeTag::Delete => {
            let is_there = reference(line).is_some_and(|reference| came.contains_key(reference));
            (!is_there).then_some('-')
        }
        ChangeTag::Insert => match reference(line).and_then(|reference| went.get(reference)) {
            Some(former) if without_focus(former) == without_focus(line.trim_start()) => None,
            Some(_) => Some('~'),
            None => Some('+'),
        },
        ChangeTag::Equal => None,
    };
    changed
        .iter()
        .filter_map(|(tag, line, index)| Some(Entry::of(sign(*tag, line)?, line, *index)))
        .collect()
}

/// A line as if its element did not have the focus.
fn without_focus(line: &str) -> String {
    line.replacen(" [active]", "", 1)
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
    fn a_change_of_the_focus_alone_is_left_out() {
        let before = "- textbox \"A\" [active] [ref=e1]\n- textbox \"B\" [ref=e2]";
        let after = "- textbox \"A\" [ref=e1]\n- textbox \"B\" [active] [ref=e2]: x";
        assert_eq!(difference(before, after), "~ textbox \"B\" [active] [ref=e2]: x");
    }

    #[test]
    fn a_removed_element_is_one_line() {
        let before = "- main [ref=e1]:\n  - dialog \"D\" [ref=e2]:\n    - heading \"H\"\n    - text: a\n    - button \"OK\" [ref=e3]\n  - link \"x\" [ref=e4]";
        let after = "- main [ref=e1]:\n  - link \"x\" [ref=e4]";
        assert_eq!(difference(before, after), "-   dialog \"D\" [ref=e2] (4 lines)");
    }

    #[test]
    fn of_removed_siblings_it_says_what_remains() {
        let list = |numbers: &[usize]| {
            let options: String = numbers
                .iter()
                .map(|number| format!("  - option \"{number}\" [ref=e{number}]\n"))
                .collect();
            format!("- listbox [ref=e100]:\n{options}- button \"Go\" [ref=e101]\n")
        };
        let all: Vec<usize> = (1..30).collect();
        let told = |remaining: &[usize]| difference(&list(&all), &list(remaining));
        assert_eq!(
            told(&[1, 2]),
            "-   27 × option; 2 remain: option \"1\" [ref=e1], option \"2\" [ref=e2]"
        );
        assert_eq!(told(&all[..10]), "-   19 × option; 10 remain");
    }

    #[test]
    fn a_long_difference_is_cut_and_says_so() {
        let after: String =
            (0..500).map(|number| format!("- row \"{number}\" [ref=e{number}]\n")).collect();
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
