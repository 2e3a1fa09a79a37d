//! Suggestions of errors name only tools that the server offers. The layers that write them do not
//! know which those are.

use super::registry::Registry;

/// Separates the alternatives of a suggestion.
const OR: &str = ", or ";

/// Removes the alternatives of `suggestion` that name a tool for which `is_offered` is false. If
/// none is left, returns the fallback for the first of these tools.
pub(super) fn with_offered_tools<'a>(
    suggestion: &'a str,
    is_offered: impl Fn(&str) -> bool,
    fallback: impl FnOnce(&str) -> String,
) -> String {
    let missing = |alternative: &'a str| tools_in(alternative).find(|name| !is_offered(name));
    let Some(first) = missing(suggestion) else { return suggestion.to_owned() };
    let usable: Vec<_> =
        suggestion.split(OR).filter(|alternative| missing(alternative).is_none()).collect();
    if usable.is_empty() { fallback(first) } else { usable.join(OR) }
}

/// Returns the native tools that `text` names. A name without an underscore, such as `find`, must
/// follow a backtick: it is also an ordinary word.
fn tools_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text
        .split_inclusive(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    let mut follows_backtick = false;
    words.filter_map(move |piece| {
        let word = piece.trim_end_matches(|character: char| {
            !character.is_ascii_alphanumeric() && character != '_'
        });
        let is_name =
            std::mem::replace(&mut follows_backtick, piece.ends_with('`')) || word.contains('_');
        (is_name && Registry::row(word).is_some()).then_some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(removed: &[&str], suggestion: &str) -> String {
        with_offered_tools(
            suggestion,
            |name| !removed.contains(&name),
            |name| format!("{name} is off"),
        )
    }

    #[test]
    fn only_alternatives_with_tools_that_are_not_offered_are_removed() {
        let full = "close a session with close_session, or raise --max-sessions";
        assert_eq!(without(&[], full), full);
        assert_eq!(without(&["close_session"], full), "raise --max-sessions");
        let either = "look at the page with `snapshot`, or with `find`";
        assert_eq!(without(&["find"], either), "look at the page with `snapshot`");
        assert_eq!(without(&["find", "snapshot"], either), "snapshot is off");
        let dialog = "answer it with handle_dialog {pageId: \"page-2\"}, then go on";
        assert_eq!(without(&["handle_dialog"], dialog), "handle_dialog is off");
    }

    #[test]
    fn a_tool_name_that_is_an_ordinary_word_needs_backticks() {
        let words = "type the text again and find out why; `timeout` says how long";
        assert_eq!(tools_in(words).count(), 0);
        let names = "`evaluate` or `pages {action: \"list\"}`, `find`";
        assert_eq!(tools_in(names).collect::<Vec<_>>(), ["evaluate", "pages", "find"]);
    }
}
