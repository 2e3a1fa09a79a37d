//! What an action changed: the difference of the page's text before and after it.
//!
//! The text after one action is the text before the next, unless the page says that it has changed since: an
//! action costs one look at the page, and none where nothing changed. That look comes with the turn of the event
//! loop that an action waits for anyway: it costs no call of its own.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::{Page, snapshot::whole_page, state::Mark};
use crate::{
    engine::{DocumentId, FrameId},
    error::Result,
};

/// Characters of a difference; what is over is counted.
const BUDGET: usize = 3000;

/// The page as it was last looked at, and what its frames have said since.
#[derive(Debug, Default)]
pub(super) struct LastLook(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    look: Option<Look>,
    /// How many changes a frame has counted, as it told in the answer to something else.
    heard: Counts,
    /// Whether the look is one after the last action.
    after_action: bool,
}

/// Changes that each frame has counted; `None` where it could not be asked.
type Counts = HashMap<FrameId, Option<u64>>;

#[derive(Debug, Clone)]
struct Look {
    document: Option<DocumentId>,
    text: Arc<str>,
    counts: Counts,
}

impl LastLook {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a frame has just told; it is good for one question.
    pub fn hear(&self, frame: &FrameId, count: u64) {
        self.lock().heard.insert(frame.clone(), Some(count));
    }

    /// Forgets what was told: time has passed since.
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
    /// What to ask the `main` frame for: its text, if it has changed since. `None` where it cannot tell that.
    pub fn later_look(&self, main: &FrameId) -> Option<Value> {
        let known = self.look.counts.get(main).copied().flatten()?;
        let mut wanted = whole_page();
        wanted.insert("known".into(), known.into());
        Some(wanted.into())
    }
}

impl Page {
    fn document(&self) -> Option<DocumentId> {
        self.state.read(|facts| facts.main_frame().document)
    }

    /// Looks at the page, unless it is as it was last looked at; `seen` is what the main frame has just shown.
    async fn look(&self, seen: Option<Value>) -> Result<Look> {
        let document = self.document();
        if seen.is_none() {
            let last = self.last_look.lock().look.clone().filter(|last| last.document == document);
            if let Some(last) = last
                && self.counts().await == last.counts
            {
                return Ok(last);
            }
            self.last_look.forget_heard();
        }
        let text = Box::pin(self.whole_text(seen)).await?.into();
        let look = Look { text, document, counts: self.counts().await };
        self.last_look.lock().look = Some(look.clone());
        Ok(look)
    }

    /// How many changes each frame has counted; those are asked that have not just told.
    async fn counts(&self) -> Counts {
        let heard = std::mem::take(&mut self.last_look.lock().heard);
        let frames: Vec<FrameId> = self.state.read(|facts| facts.frames.keys().cloned().collect());
        let mut counts = Counts::new();
        for frame in frames {
            let count = match heard.get(&frame) {
                Some(count) => *count,
                None => {
                    let answer = self.inject_in(&frame, "mutations", json!({})).await.ok();
                    answer.and_then(|answer| answer["count"].as_u64())
                }
            };
            counts.insert(frame, count);
        }
        self.last_look.forget_heard();
        counts
    }

    /// The text before an action; `None` where it cannot be had, or nobody wants to know.
    pub(super) async fn before_action(&self) -> Option<Before> {
        self.last_look.lock().after_action = false;
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let look = self.look(None).await.ok()?;
        Some(Before { look, at: self.state.mark() })
    }

    /// The text as it was last looked at, where the page has one frame and nobody has asked it yet whether it is the same.
    pub(super) fn as_last_seen(&self) -> Option<Before> {
        if self.config.after_action != crate::config::AfterAction::Changes {
            return None;
        }
        let document = self.document();
        let mut known = self.last_look.lock();
        let look = known.look.clone().filter(|look| look.document == document && look.counts.len() == 1)?;
        known.after_action = false;
        known.heard.clear();
        Some(Before { look, at: self.state.mark() })
    }

    /// What has changed since `before`; `None` where another document is there, or nothing changed. `seen` is
    /// what the page has shown just now, if it was asked.
    pub(super) async fn changes_since(&self, before: Option<Before>, seen: Option<Value>) -> Option<String> {
        let before = before?;
        if self.state.read(|facts| facts.committed_since(before.at)) {
            return None;
        }
        let after = self.look(seen).await.ok().filter(|after| after.document == before.look.document)?;
        self.last_look.lock().after_action = true;
        Some(difference(&before.look.text, &after.text)).filter(|changes| !changes.is_empty())
    }
}

impl Page {
    /// Keeps what the page has `seen` fit to show on its arrival: the record and the next action look no more.
    pub(super) async fn seen_on_arrival(&self, seen: Value) {
        let look = self.within(self.config.timeout_settle, Box::pin(self.look(Some(seen)))).await;
        self.last_look.lock().after_action = matches!(look, Some(Ok(_)));
    }

    /// The page's text after a call, for the record: as it was looked at for the answer, else as it is now.
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
        let look = self.within(self.config.timeout_settle, self.look(None)).await?.ok()?;
        Some(look.text)
    }
}

/// The ref in a line.
fn reference(line: &str) -> Option<&str> {
    let at = line.find("[ref=")?;
    line[at + 5..].split(']').next()
}

/// What is left of two texts without the lines that both begin and end with: on a long page most of it.
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
    // What stands in both has only another place in the order of lines.
    let moved: HashSet<&str> =
        lines(ChangeTag::Insert).intersection(&lines(ChangeTag::Delete)).copied().collect();
    let mut text = String::new();
    let mut over = 0;
    for (tag, line) in changed {
        let known = |set: &HashSet<&str>| reference(line).is_some_and(|reference| set.contains(reference));
        let sign = match tag {
            _ if moved.contains(line.trim_start()) => continue,
            // The line as it is now tells of an element that changed or moved.
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
