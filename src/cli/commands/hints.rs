//! Replaces calls of tools in messages by commands: `pages {action: "list"}` by `troupe tab list`.

use heck::ToKebabCase;

use crate::{
    config::option_of_flag,
    tools::{CommandRow, Registry},
};

/// What can stand between two calls of the same tool: "handle_dialog {accept: true} or {…}".
const BETWEEN: [&str; 3] = [" or ", " and ", ", "];

/// Replaces the calls of tools in a message by their commands.
pub(in crate::cli) fn as_commands(text: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_lowercase()) {
        let is_of_word = |c: char| c.is_ascii_lowercase() || c == '_';
        let end = rest[start..].find(|c| !is_of_word(c)).map_or(rest.len(), |end| start + end);
        let (before, word) = (&rest[..start], &rest[start..end]);
        replaced.push_str(before);
        rest = &rest[end..];
        let is_part = replaced.ends_with(|c: char| c.is_alphanumeric() || "_-./".contains(c));
        match row(word).filter(|_| !is_part) {
            Some(row) => rest = replace(row, word, rest, &mut replaced),
            None => replaced.push_str(word),
        }
    }
    replaced + rest
}

/// Explains how to set the first option of the server that a message names: commands do not take
/// it.
pub(super) fn daemon_option(text: &str) -> Option<String> {
    let flag = text.split_whitespace().find_map(|word| {
        let flag = word.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        flag.strip_prefix("--").filter(|name| option_of_flag(name).is_some())
    })?;
    Some(format!(
        "options belong to the daemon: `troupe daemon stop`, then `troupe daemon start --{flag}`"
    ))
}

fn row(tool: &str) -> Option<CommandRow> {
    Registry::all().iter().find(|row| row.name == tool)?.properties.command
}

/// Writes the command for the call that begins with the name of a tool, and returns what follows. A
/// name without parameters that is an ordinary word, such as `find`, is a call only in backticks.
fn replace<'a>(row: CommandRow, word: &str, after: &'a str, replaced: &mut String) -> &'a str {
    let is_quoted = replaced.ends_with('`');
    let closed = after.strip_prefix('`').filter(|_| is_quoted);
    let (parameters, mut rest) = match object(closed.unwrap_or(after)) {
        Some((parameters, rest)) => (Some(parameters), rest),
        None => (None, closed.unwrap_or(after)),
    };
    if parameters.is_none() && closed.is_none() && !word.contains('_') {
        replaced.push_str(word);
        return after;
    }
    if is_quoted {
        replaced.pop();
        if closed.is_none() {
            rest = rest.strip_prefix('`').unwrap_or(rest);
        }
    }
    replaced.push_str(&command(row, parameters.unwrap_or_default()));
    while let Some((between, parameters, next)) = BETWEEN.iter().find_map(|between| {
        let (parameters, next) = object(rest.strip_prefix(between)?)?;
        Some((between, parameters, next))
    }) {
        replaced.push_str(between);
        replaced.push_str(&command(row, parameters));
        rest = next;
    }
    rest
}

/// Splits `{parameters}` from what follows it.
fn object(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(' ').unwrap_or(text).strip_prefix('{')?.split_once('}')
}

/// Returns the command with parameters, such as `action: "list", pageId`. One without a value stays
/// a placeholder.
fn command(row: CommandRow, parameters: &str) -> String {
    let parameters = parameters.split(", ").filter(|parameter| !parameter.is_empty());
    let parameters: Vec<(&str, Option<&str>)> = parameters
        .map(|parameter| match parameter.split_once(": ") {
            Some((name, value)) => (name, Some(value.trim_matches('"'))),
            None => (parameter, None),
        })
        .filter(|(name, _)| *name != "sessionId")
        .collect();
    let placeholder = |name: &str| name.to_kebab_case().to_uppercase();
    let mut words = vec!["troupe".to_owned(), row.name.to_owned()];
    for name in row.positional {
        if let Some((_, value)) = parameters.iter().find(|(given, _)| given == name) {
            words.push(value.map_or_else(|| placeholder(name), str::to_owned));
        }
    }
    for (name, value) in parameters.iter().filter(|(name, _)| !row.positional.contains(name)) {
        words.push(format!("--{}", name.to_kebab_case()));
        match value {
            Some("true") => {}
            Some(value) => words.push((*value).to_owned()),
            None => words.push(placeholder(name)),
        }
    }
    format!("`{}`", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_in_a_message_is_one_of_the_daemon() {
        let option = |text| daemon_option(text).unwrap_or_default();
        assert!(
            option("pass --no-sandbox, or run as another user").ends_with("start --no-sandbox`")
        );
        assert!(option("lower `--min-free-memory`").ends_with("start --min-free-memory`"));
        assert_eq!(option("pass --full-page, or `--`"), "");
    }

    #[test]
    fn calls_in_messages_become_commands() {
        for (text, expected) in [
            ("look with `snapshot`, or `find`", "look with `troupe snapshot`, or `troupe find`"),
            ("list them with `pages` {action: \"list\"}", "list them with `troupe tab list`"),
            ("`pages {action: \"list\"}` lists them", "`troupe tab list` lists them"),
            (
                "answer it with handle_dialog {accept: true} or {accept: false}, then go on",
                "answer it with `troupe dialog true` or `troupe dialog false`, then go on",
            ),
            ("snapshot {selector} reads the rest", "`troupe snapshot SELECTOR` reads the rest"),
            ("click {clickCount: 2, selector}", "`troupe click SELECTOR --click-count 2`"),
            ("close a session with close_session", "close a session with `troupe close`"),
            ("find out why, and type again", "find out why, and type again"),
            ("see docs/network.md and re-check it", "see docs/network.md and re-check it"),
        ] {
            assert_eq!(as_commands(text), expected);
        }
    }
}
