//! The difference between two snapshots, as text.

use std::collections::{HashMap, HashSet};

use similar::{ChangeTag, TextDiff};

use crate::page::state::{HiddenLines, without_focus};

/// Maximum characters of a difference. Further lines are only counted.
const BUDGET: usize = 3000;

/// Returns the ref in a line.
fn reference(line: &str) -> Option<&str> {
    let at = line.find("[ref=")?;
    line[at + 5..].split(']').next()
}

/// Removes the common lines at the beginning and the end of both texts, which are most lines of a
/// long page.
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
struct DiffLine<'a> {
    /// `+`: added, `-`: removed, `~`: changed.
    sign: char,
    indent: usize,
    /// The text without the dash of the list, which looks like a sign.
    content: &'a str,
    /// The index of a removed line in the earlier text.
    index: usize,
}

impl<'a> DiffLine<'a> {
    fn of(sign: char, line: &'a str, index: usize) -> Self {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        Self { sign, indent, content: content.strip_prefix("- ").unwrap_or(content), index }
    }

    fn role(&self) -> &'a str {
        self.content.split([' ', ':']).next().unwrap_or_default()
    }

    /// Returns the element without the colon before its contents.
    fn element(&self) -> &'a str {
        self.content.strip_suffix(':').unwrap_or(self.content)
    }
}

/// A removed element with more lines in it than this is reported as one line.
const MAX_LINES_BELOW: usize = 2;

/// More removed siblings of one role than this are reported as one line.
const MAX_REMOVED: usize = 3;

/// More removed elements in a row than this are reported in part.
const MAX_RUN: usize = 5;

/// Number of elements of a longer run that the result names.
const NAMED_IN_RUN: usize = 2;

/// Up to this many lines in a row that are shown again are reported in full.
const MAX_RETURNED: usize = 3;

/// Roles of fields, whose values are reported in part.
const FIELDS: [&str; 3] = ["textbox", "searchbox", "combobox"];

/// Maximum characters of the line of a field.
const MAX_FIELD_LENGTH: usize = 200;

/// Maximum number of remaining siblings that are named.
const MAX_REMAINING: usize = 5;

/// One line of the result.
struct ReportedLine {
    sign: char,
    indent: usize,
    content: String,
    /// The number of changed lines that it describes.
    covers: usize,
}

/// The difference between two texts.
pub(in crate::page) struct TextDifference<'a> {
    /// The added (`+`), removed (`-`) and changed lines (`~`, as they are now), within the budget.
    pub text: String,
    /// All removed lines, without indentation.
    pub removed: Vec<&'a str>,
}

/// Compares two texts. `hidden`: lines that the client was shown earlier.
pub(in crate::page) fn difference<'a>(
    before: &'a str,
    after: &'a str,
    hidden: &HiddenLines,
) -> TextDifference<'a> {
    let entries = changed_lines(before, after);
    let removed = entries.iter().filter(|entry| entry.sign == '-');
    TextDifference {
        text: written(reported_lines(&entries, before, after, hidden)),
        removed: removed.map(|entry| entry.content).collect(),
    }
}

/// Writes the lines within the budget.
fn written(lines: Vec<ReportedLine>) -> String {
    let mut text = String::new();
    let mut left_out = 0;
    for line in lines {
        if text.len() + line.indent + line.content.len() + 3 > BUDGET {
            left_out += line.covers;
            continue;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push(line.sign);
        text.push_str(&" ".repeat(line.indent + 1));
        text.push_str(&line.content);
    }
    if left_out > 0 {
        text.push_str(&format!("\n… {left_out} more lines: snapshot shows them"));
    }
    text
}

/// Truncates the line of a field with a long value, which the client has entered itself.
fn without_end(line: &str) -> String {
    match line.char_indices().nth(MAX_FIELD_LENGTH) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Returns the number of entries at the start that are shown again, if one line can report them.
fn returned(entries: &[DiffLine<'_>], back: &[bool]) -> Option<usize> {
    let count = back.iter().take_while(|back| **back).count();
    // Without a ref, another element may have the same text.
    let is_same = entries[..count].iter().any(|entry| reference(entry.content).is_some());
    (count > MAX_RETURNED && is_same).then_some(count)
}

/// Returns the lines of the difference. Of a long run of removed elements, such as the contents of
/// a closed panel, only the first are named. Elements that are shown again as they were before are
/// one line.
fn reported_lines(
    entries: &[DiffLine<'_>],
    before: &str,
    after: &str,
    hidden: &HiddenLines,
) -> Vec<ReportedLine> {
    let is_back = |entry: &DiffLine<'_>| entry.sign == '+' && hidden.contains(entry.content);
    let back: Vec<bool> = entries.iter().map(is_back).collect();
    let mut lines: Vec<ReportedLine> = Vec::new();
    let mut rest = entries;
    while let Some((entry, following)) = rest.split_first() {
        let back = &back[entries.len() - rest.len()..];
        let (content, covers) = match (entry.sign, returned(rest, back)) {
            ('-', _) => removed(rest, before, after),
            (_, Some(count)) => (
                format!(
                    "{} … {} ({count} lines, the same as before)",
                    entry.element(),
                    rest[count - 1].element()
                ),
                count,
            ),
            _ if FIELDS.contains(&entry.role()) => (without_end(entry.content), 1),
            _ => (entry.content.to_owned(), 1),
        };
        rest = &following[covers - 1..];
        lines.push(ReportedLine { sign: entry.sign, indent: entry.indent, content, covers });
    }
    let runs = lines.chunk_by(|one, next| one.sign == '-' && next.sign == '-');
    let mut from = 0;
    let long: Vec<_> = runs
        .filter_map(|run| {
            let range = from..from + run.len();
            from = range.end;
            (run.len() > MAX_RUN).then_some(range)
        })
        .collect();
    for run in long.into_iter().rev() {
        let rest = run.start + NAMED_IN_RUN..run.end;
        let indent = lines[run.start].indent;
        let covers = lines[rest.clone()].iter().map(|line| line.covers).sum();
        let content = format!("… {covers} more lines");
        lines.splice(rest, [ReportedLine { sign: '-', indent, content, covers }]);
    }
    lines
}

/// Describes the removed element at the start of `entries`. Also returns how many entries the
/// description covers: the lines in the element, and its removed siblings of the same role.
fn removed(entries: &[DiffLine<'_>], before: &str, after: &str) -> (String, usize) {
    let first = entries[0];
    let size = |entries: &[DiffLine<'_>]| {
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
    if count > MAX_REMOVED {
        let role = first.role();
        let remaining = remaining_siblings(&first, before, after);
        let remaining = match remaining.as_deref() {
            None => String::new(),
            Some([]) => "; none remain".to_owned(),
            Some(few) if few.len() <= MAX_REMAINING => {
                format!("; {} remain: {}", few.len(), few.join(", "))
            }
            Some(many) => format!("; {} remain", many.len()),
        };
        return (format!("{count} × {role}{remaining}"), used);
    }
    match size(entries) {
        size if size > 1 + MAX_LINES_BELOW => (format!("{} ({size} lines)", first.element()), size),
        _ => (first.content.to_owned(), 1),
    }
}

/// Returns the remaining siblings of `removed` with the same role; `None` if their parent is not
/// known.
fn remaining_siblings<'a>(
    removed: &DiffLine<'_>,
    before: &str,
    after: &'a str,
) -> Option<Vec<&'a str>> {
    let lines: Vec<&str> = before.lines().take(removed.index).collect();
    let around =
        lines.iter().rev().find(|line| DiffLine::of(' ', line, 0).indent < removed.indent)?;
    let around = reference(around)?;
    let mut after = after.lines().skip_while(|line| reference(line) != Some(around));
    let around = DiffLine::of(' ', after.next()?, 0);
    let below =
        after.map(|line| DiffLine::of(' ', line, 0)).take_while(|line| line.indent > around.indent);
    let same =
        below.filter(|line| line.indent == around.indent + 2 && line.role() == removed.role());
    Some(same.map(|line| line.element()).collect())
}

/// Returns the changed lines, without lines that only moved or differ only in the focus.
fn changed_lines<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
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
    let (added, removed) = (by_reference(ChangeTag::Insert), by_reference(ChangeTag::Delete));
    let trimmed = |tag| -> HashSet<&str> { lines(tag).map(str::trim_start).collect() };
    // A line that is in both texts has only moved.
    let moved: HashSet<&str> =
        trimmed(ChangeTag::Insert).intersection(&trimmed(ChangeTag::Delete)).copied().collect();
    let sign = |tag: ChangeTag, line: &str| match tag {
        _ if moved.contains(line.trim_start()) => None,
        // The new line reports an element that changed or moved.
        ChangeTag::Delete => {
            let is_there = reference(line).is_some_and(|reference| added.contains_key(reference));
            (!is_there).then_some('-')
        }
        ChangeTag::Insert => match reference(line).and_then(|reference| removed.get(reference)) {
            Some(earlier) if without_focus(earlier) == without_focus(line.trim_start()) => None,
            Some(_) => Some('~'),
            None => Some('+'),
        },
        ChangeTag::Equal => None,
    };
    changed
        .iter()
        .filter_map(|(tag, line, index)| Some(DiffLine::of(sign(*tag, line)?, line, *index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn changes(before: &str, after: &str) -> String {
        difference(before, after, &HiddenLines::default()).text
    }

    #[test]
    fn elements_that_a_dialog_has_hidden_are_one_line_when_they_are_shown_again() {
        let page = |total| {
            format!(
                "- link \"Home\" [ref=e1]\n- heading \"Shop\"\n- main [ref=e2]:\n  - button \"Buy\" [ref=e3]\n- paragraph: {total} EUR\n- button \"Help\" [ref=e4]"
            )
        };
        let dialog = "- dialog \"Buy\" [ref=e5]:\n  - button \"OK\" [ref=e6]";
        let mut hidden = HiddenLines::default();
        for line in difference(&page(1), dialog, &hidden).removed {
            hidden.add(line);
        }
        insta::assert_snapshot!(difference(dialog, &page(2), &hidden).text, @r#"
        - dialog "Buy" [ref=e5]:
        -   button "OK" [ref=e6]
        + link "Home" [ref=e1] … button "Buy" [ref=e3] (4 lines, the same as before)
        + paragraph: 2 EUR
        + button "Help" [ref=e4]
        "#);
    }

    #[test]
    fn a_changed_element_is_reported_once_as_it_is_now() {
        let before = "- heading \"A\" [ref=e1]\n- button \"Go\" [ref=e2]\n- link \"x\" [ref=e3]";
        let after = "- heading \"A\" [ref=e1]\n- button \"Gone\" [disabled] [ref=e2]\n- dialog \"D\" [ref=e4]:\n  - button \"OK\" [ref=e5]";
        insta::assert_snapshot!(changes(before, after), @r#"
        - link "x" [ref=e3]
        ~ button "Gone" [disabled] [ref=e2]
        + dialog "D" [ref=e4]:
        +   button "OK" [ref=e5]
        "#);
    }

    #[test]
    fn a_change_of_only_the_focus_is_not_reported() {
        let before = "- textbox \"A\" [active] [ref=e1]\n- textbox \"B\" [ref=e2]";
        let after = "- textbox \"A\" [ref=e1]\n- textbox \"B\" [active] [ref=e2]: x";
        assert_eq!(changes(before, after), "~ textbox \"B\" [active] [ref=e2]: x");
    }

    #[test]
    fn a_removed_element_is_one_line() {
        let before = "- main [ref=e1]:\n  - dialog \"D\" [ref=e2]:\n    - heading \"H\"\n    - text: a\n    - button \"OK\" [ref=e3]\n  - link \"x\" [ref=e4]";
        let after = "- main [ref=e1]:\n  - link \"x\" [ref=e4]";
        assert_eq!(changes(before, after), "-   dialog \"D\" [ref=e2] (4 lines)");
    }

    #[test]
    fn of_a_long_run_of_removed_elements_the_first_are_named() {
        let before = "- link \"x\" [ref=e1]\n- heading \"Edit\"\n- list:\n  - listitem: a\n  - listitem: b\n  - listitem: c\n- button \"Cancel\" [ref=e3]\n- button \"Done\" [ref=e4]\n- textbox \"Name\" [ref=e5]\n- text: seconds\n- link \"y\" [ref=e6]";
        let after =
            "- link \"x\" [ref=e1]\n- link \"y\" [ref=e6]\n- paragraph: Successfully deployed";
        insta::assert_snapshot!(changes(before, after), @r#"
        - heading "Edit"
        - list (4 lines)
        - … 4 more lines
        + paragraph: Successfully deployed
        "#);
    }

    #[test]
    fn for_removed_siblings_the_remaining_ones_are_reported() {
        let list = |numbers: &[usize]| {
            let options: String = numbers
                .iter()
                .map(|number| format!("  - option \"{number}\" [ref=e{number}]\n"))
                .collect();
            format!("- listbox [ref=e100]:\n{options}- button \"Go\" [ref=e101]\n")
        };
        let all: Vec<usize> = (1..30).collect();
        let changed = |remaining: &[usize]| changes(&list(&all), &list(remaining));
        assert_eq!(
            changed(&[1, 2]),
            "-   27 × option; 2 remain: option \"1\" [ref=e1], option \"2\" [ref=e2]"
        );
        assert_eq!(changed(&all[..10]), "-   19 × option; 10 remain");
    }

    #[test]
    fn a_long_difference_is_truncated_with_a_note() {
        let after: String =
            (0..500).map(|number| format!("- row \"{number}\" [ref=e{number}]\n")).collect();
        let text = changes("", &after);
        assert!(text.len() < BUDGET + 60);
        assert!(text.ends_with("more lines: snapshot shows them"), "{text}");
    }

    proptest! {
        #[test]
        fn the_same_text_has_no_difference(text in "(- [a-c]{1,3}\n){0,8}") {
            prop_assert!(changes(&text, &text).is_empty());
        }

        #[test]
        fn common_lines_at_both_ends_are_removed_as_whole_lines(
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
        fn a_new_line_is_always_reported(text in "(- [a-c]{1,3}\n){0,8}") {
            let more = format!("{text}- new [ref=e1]\n");
            prop_assert_eq!(changes(&text, &more), "+ new [ref=e1]");
        }
    }
}
