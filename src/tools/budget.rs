//! The result budget. Text over it is stored, and `get_content` reads it.

use serde::Serialize;
use serde_json::{Value, json};

use super::{answer::Answer, pass_through};
use crate::{
    error::TroupeError,
    offload::json_size,
    session::{StoredText, StoredTexts},
};

/// Maximum length of the notice at the end of a cut result, in characters.
const MAX_NOTICE_LENGTH: usize = 200;
/// A result is cut at the end of a line if one ends within this last fraction of it (1/8).
const LINE_END_FRACTION: usize = 8;
/// Maximum length of a line that a search shows completely, in characters.
const MAX_LINE_LENGTH: usize = 1000;
/// Characters shown before and after a match in a long line.
const CONTEXT_LENGTH: usize = 80;

/// Returns the JSON of `value` if it has more than `budget` characters.
fn json_over(value: &Value, budget: usize) -> Option<String> {
    // The maximum number of JSON characters per byte of `json_size`: a control character takes six,
    // a number fewer than 32.
    const MAX_GROWTH: usize = 8;
    if (2 + json_size(value)).saturating_mul(MAX_GROWTH) <= budget {
        return None;
    }
    Some(value.to_string()).filter(|text| text.chars().count() > budget)
}

/// Returns the first entries of a list that fit into `budget` characters as JSON, with space for
/// the fields around the list.
pub(super) fn entries_within<T: Serialize>(
    entries: impl IntoIterator<Item = T>,
    budget: usize,
) -> Vec<T> {
    let mut remaining = budget.saturating_sub(MAX_NOTICE_LENGTH);
    let fits = |entry: &T| {
        let length = serde_json::to_string(entry).map_or(0, |text| text.chars().count() + 1);
        let fits = length <= remaining;
        remaining = remaining.saturating_sub(length);
        fits
    };
    entries.into_iter().take_while(fits).collect()
}

/// Cuts the answer to `budget` characters. JSON over the budget becomes text, because a part of an
/// object is not valid.
pub(super) fn fit(answer: Answer, ref_id: &str, budget: usize, results: &StoredTexts) -> Answer {
    let text = match answer {
        Answer::Text(text) if text.chars().count() > budget => text,
        // Pictures do not count.
        Answer::Pictured { facts, pictures } => {
            let text = match &facts {
                Value::String(text) => {
                    Some(text.clone()).filter(|text| text.chars().count() > budget)
                }
                facts => json_over(facts, budget),
            };
            let Some(text) = text else { return Answer::Pictured { facts, pictures } };
            let text = part(&results.keep(ref_id, text), 0, budget);
            return Answer::Pictured { facts: Value::String(text), pictures };
        }
        Answer::PassedThrough(result) => {
            return Answer::PassedThrough(fit_passed(result, ref_id, budget, results));
        }
        Answer::Json(value) => match json_over(&value, budget) {
            Some(text) => text,
            None => return Answer::Json(value),
        },
        other => return other,
    };
    Answer::Text(part(&results.keep(ref_id, text), 0, budget))
}

/// Cuts the text of a result to the budget. A result with the same text as structured content is
/// not cut, because half of it would violate the tool's own schema.
pub(super) fn fit_passed(
    mut result: Value,
    ref_id: &str,
    budget: usize,
    results: &StoredTexts,
) -> Value {
    let text = pass_through::text_of(&result);
    if !result["structuredContent"].is_null() || text.chars().count() <= budget {
        return result;
    }
    let mut cut = Some(part(&results.keep(ref_id, text), 0, budget));
    if let Some(content) = result["content"].as_array_mut() {
        content.retain_mut(|part| {
            if !part["text"].is_string() {
                return true;
            }
            cut.take().is_some_and(|cut| {
                part["text"] = cut.into();
                true
            })
        });
    }
    result
}

/// Cuts an error to `budget` characters: a page can throw a text of any length.
pub(super) fn fit_error(mut error: TroupeError, budget: usize) -> TroupeError {
    let size =
        |error: &TroupeError| serde_json::to_string(error).map_or(0, |text| text.chars().count());
    if size(&error) <= budget {
        return error;
    }
    error.details.retain(|_, value| value.to_string().chars().count() <= budget / 8);
    if let Some((end, _)) = error.message.char_indices().nth(budget / 2) {
        error.message.truncate(end);
        error.message.push('…');
    }
    if size(&error) > budget {
        error.details.clear();
    }
    error
}

/// Returns a stored result from character `offset` on, and the call that reads the rest if it is
/// cut.
pub(super) fn part(kept: &StoredText, offset: usize, budget: usize) -> String {
    let total = kept.text.chars().count();
    let rest = from(&kept.text, offset);
    if rest.chars().count() <= budget {
        return rest.to_owned();
    }
    let max_length = budget.saturating_sub(MAX_NOTICE_LENGTH).max(budget / 2).max(1);
    let mut end = rest.char_indices().nth(max_length).map_or(rest.len(), |(end, _)| end);
    if let Some(line) = rest[..end].rfind('\n').map(|line| line + 1)
        && line > end - end / LINE_END_FRACTION
    {
        end = line;
    }
    let next = offset + rest[..end].chars().count();
    let call = json!({"refId": &*kept.ref_id, "offset": next});
    format!(
        "{}\n… cut: characters {offset} to {next} of {total}. Read on with get_content {call}",
        &rest[..end]
    )
}

/// Returns the lines of a stored result from `offset` on that contain `searched`, ignoring case. Of
/// a long line, only the text around the first match.
pub(super) fn lines_with(
    kept: &StoredText,
    searched: &str,
    offset: usize,
    budget: usize,
) -> String {
    let mut found = String::new();
    let (mut used, mut left_out) = (0, 0);
    for line in from(&kept.text, offset).lines() {
        let ranges = matches(line, searched);
        let Some((begin, end)) = ranges.first().copied() else { continue };
        let shown = if line.chars().count() <= MAX_LINE_LENGTH {
            line.to_owned()
        } else {
            let more = ranges.len() - 1;
            let more =
                if more > 0 { format!(" ({more} more in this line)") } else { String::new() };
            excerpt(line, begin, end) + more.as_str()
        };
        let length = shown.chars().count() + 1;
        if left_out > 0 || used + length + MAX_NOTICE_LENGTH > budget.max(2 * MAX_NOTICE_LENGTH) {
            left_out += 1;
            continue;
        }
        used += length;
        if !found.is_empty() {
            found.push('\n');
        }
        found.push_str(&shown);
    }
    if left_out > 0 {
        found.push_str(&format!("\n… {left_out} more lines: use a longer search text"));
    }
    found
}

fn from(text: &str, offset: usize) -> &str {
    text.char_indices().nth(offset).map_or("", |(begin, _)| &text[begin..])
}

/// Returns the byte ranges of `text` that match `pattern`, ignoring case. Compares the characters
/// one by one, because a lowercase text can have other offsets.
fn matches(text: &str, pattern: &str) -> Vec<(usize, usize)> {
    let lower = |character: char| character.to_lowercase().next().unwrap_or(character);
    let pattern: Vec<char> = pattern.chars().map(lower).collect();
    let characters: Vec<(usize, char)> = text.char_indices().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while !pattern.is_empty() && at + pattern.len() <= characters.len() {
        if characters[at..].iter().zip(&pattern).all(|((_, one), other)| lower(*one) == *other) {
            let end = characters.get(at + pattern.len()).map_or(text.len(), |(end, _)| *end);
            found.push((characters[at].0, end));
            at += pattern.len();
        } else {
            at += 1;
        }
    }
    found
}

/// Returns the line around a match, cut to the characters near it.
fn excerpt(text: &str, begin: usize, end: usize) -> String {
    let before = text[..begin].rsplit('\n').next().unwrap_or_default();
    let after = text[end..].split('\n').next().unwrap_or_default();
    let skipped = before.chars().count().saturating_sub(CONTEXT_LENGTH);
    let left: String = before.chars().skip(skipped).collect();
    let right: String = after.chars().take(CONTEXT_LENGTH).collect();
    let dots = |cut: bool| if cut { "…" } else { "" };
    let more = after.chars().count() > CONTEXT_LENGTH;
    format!("{}{left}{}{right}{}", dots(skipped > 0), &text[begin..end], dots(more))
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::error::ErrorCode;

    fn kept(text: &str) -> StoredText {
        StoredTexts::default().keep("r", text.to_owned())
    }

    /// Returns the offset of the next part from the notice.
    fn next(part: &str) -> Option<(String, usize)> {
        let (body, notice) = part.rsplit_once("\n… cut: ")?;
        let call = notice.split_once("get_content ").unwrap().1;
        let call: serde_json::Value = serde_json::from_str(call).unwrap();
        assert_eq!(call["refId"], "r");
        Some((body.to_owned(), usize::try_from(call["offset"].as_u64().unwrap()).unwrap()))
    }

    #[test]
    fn a_result_within_the_budget_is_unchanged() {
        let results = StoredTexts::default();
        assert_eq!(
            fit(Answer::Text("short".into()), "r", 5, &results),
            Answer::Text("short".into())
        );
        let json = json!({"a": 1});
        assert_eq!(fit(Answer::Json(json.clone()), "r", 7, &results), Answer::Json(json));
        let text = "\"1\"\n";
        let pictured = Answer::Pictured { facts: text.into(), pictures: Vec::new() };
        assert_eq!(
            fit(pictured.clone(), "r", text.len(), &results),
            pictured,
            "its length is not that of JSON"
        );
        assert!(results.get(None).is_none());
    }

    #[test]
    fn json_over_the_budget_becomes_text_that_names_the_call_for_the_rest() {
        let results = StoredTexts::default();
        let answer = fit(Answer::Json(json!({"texts": ["x".repeat(2000)]})), "r", 400, &results);
        let Answer::Text(text) = answer else { panic!("{answer:?}") };
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_result_is_cut_at_the_end_of_a_near_line() {
        let text = "a line of text\n".repeat(100);
        let (body, at) = next(&part(&kept(&text), 0, 600)).unwrap();
        assert!(body.ends_with("text\n") && at == body.chars().count() && at % 15 == 0, "{at}");
    }

    #[test]
    fn a_search_returns_matching_lines_ignoring_case() {
        let text = format!("first Line\n{}\nthe LINE that is wanted\n", "filler ".repeat(50));
        assert_eq!(
            lines_with(&kept(&text), "line", 0, 1000),
            "first Line\nthe LINE that is wanted"
        );
        assert_eq!(lines_with(&kept(&text), "line", 3, 1000), "st Line\nthe LINE that is wanted");
        assert_eq!(lines_with(&kept("x"), "nothing", 0, 1000), "");
    }

    #[test]
    fn a_search_returns_the_text_around_a_match_in_a_long_line() {
        let text = format!("{}wanted{}wanted", "a".repeat(2000), "b".repeat(2000));
        let found = lines_with(&kept(&text), "WANTED", 0, 1000);
        let expected =
            format!("…{}wanted{}… (1 more in this line)", "a".repeat(80), "b".repeat(80));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_search_with_many_lines_says_how_many_are_left_out() {
        let found = lines_with(&kept(&"ab\n".repeat(500)), "ab", 0, 500);
        assert!(
            found.chars().count() <= 500
                && found.ends_with("… 400 more lines: use a longer search text"),
            "{found}"
        );
    }

    #[test]
    fn a_very_long_error_is_cut() {
        let error = TroupeError::new(ErrorCode::ScriptError, "x".repeat(100_000))
            .detail("message", "x".repeat(100_000))
            .detail("line", 1);
        let error = fit_error(error, 1000);
        assert!(serde_json::to_string(&error).unwrap().chars().count() <= 1000);
        assert_eq!(error.details["line"], 1);
    }

    proptest! {
        #[test]
        fn the_parts_of_a_result_add_up_to_the_result(text in "[a-zäö€\n😀]{0,3000}", budget in 300_usize..900) {
            let kept = kept(&text);
            let (mut read, mut offset) = (String::new(), 0);
            loop {
                let part = part(&kept, offset, budget);
                prop_assert!(part.chars().count() <= budget);
                match next(&part) {
                    Some((body, next)) => {
                        prop_assert!(next > offset);
                        read.push_str(&body);
                        offset = next;
                    }
                    None => {
                        read.push_str(&part);
                        break;
                    }
                }
            }
            prop_assert_eq!(read, text);
        }
    }
}
