//! Exports a recorded session as a report in Markdown, and as a script that repeats its calls.

mod replay;

use serde_json::{Value, json};

pub use self::replay::ENVIRONMENT;
use self::replay::ScriptSteps;
use crate::{
    store::{Message, Record, SessionRow, iso8601},
    tools::{Registry, Tool},
};

/// Returns the parameters of a call without `sessionId`.
pub fn parameters(call: &Record) -> Value {
    let mut parameters: Value = serde_json::from_str(&call.params).unwrap_or_else(|_| json!({}));
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.remove("sessionId");
    }
    parameters
}

/// Formats a time to the second.
pub fn time(millis: u64) -> String {
    iso8601(millis).chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

/// Returns the beginning of the report of a session with `calls` calls.
pub fn report_heading(session: &SessionRow, calls: usize) -> String {
    format!(
        "# Session {}\n\n{calls} calls, {} to {} (UTC); {}.\n",
        session.id,
        time(session.created_at),
        time(session.last_activity),
        session.state.as_str()
    )
}

/// Returns the section of a report for a call. `pictures` are the URLs of its images, and `console`
/// are its console messages.
pub fn report_chapter(
    number: usize,
    call: &Record,
    pictures: &[String],
    console: &[Message],
) -> String {
    let mut text = format!(
        "\n## {number}. {}\n\n{}\n\n{}",
        call.tool,
        time(call.at),
        fenced("json", &call.params)
    );
    let Some(answer) = &call.answer else {
        text.push_str("\nNo answer yet.\n");
        return text;
    };
    if let Some(message) = &answer.error_message {
        text.push_str(&format!("\nFailed: {}\n", message.lines().next().unwrap_or_default()));
    }
    for picture in pictures {
        text.push_str(&format!("\n![{}]({picture})\n", call.tool));
    }
    let result: Value = answer
        .result
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    for part in
        result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str())
    {
        text.push_str(&format!("\n{}", fenced("", part)));
    }
    if let Some(page) = &answer.page_snapshot
        && !Registry::row(&call.tool).is_some_and(|tool| tool.properties.is_snapshot)
    {
        text.push_str(&format!("\nThe page afterwards:\n\n{}", fenced("yaml", page)));
    }
    if !console.is_empty() {
        let lines: Vec<String> = console.iter().map(Message::to_string).collect();
        text.push_str(&format!("\nThe console:\n\n{}", fenced("", &lines.join("\n"))));
    }
    text
}

/// Puts `text` into a code fence that is longer than every fence in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// The here-document delimiter after the steps in the exported script.
const END_OF_STEPS: &str = "END_OF_STEPS";

/// A script that repeats the calls of a session.
pub struct SessionScript<'a> {
    session: &'a SessionRow,
    replay: ScriptSteps,
}

impl<'a> SessionScript<'a> {
    /// Begins a script without calls.
    pub fn new(session: &'a SessionRow) -> Self {
        Self { session, replay: ScriptSteps::default() }
    }

    /// Adds the call to the script, unless it failed or its tool is not replayed.
    pub fn add(&mut self, call: &Record) {
        let tool = Registry::row(&call.tool);
        let Some(answer) = &call.answer else { return };
        let result: Value = answer
            .result
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let parts = result["content"].as_array().into_iter().flatten();
        let texts: Vec<String> =
            parts.filter_map(|part| part["text"].as_str()).map(str::to_owned).collect();
        if answer.success && tool.is_none_or(|tool| tool.properties.is_replayed) {
            let test_ids =
                answer.test_ids.as_deref().and_then(|text| serde_json::from_str(text).ok());
            self.replay.add(&call.tool, parameters(call), &texts, &test_ids.unwrap_or_default());
        }
        let parameters = parameters(call);
        // The refs in snapshots of the Playwright set are not those of the native tools.
        let is_playwright = tool.is_some_and(Tool::is_playwright);
        let is_partial = tool.is_some_and(|tool| tool.properties.is_snapshot)
            && parameters.as_object().is_some_and(|parameters| !parameters.is_empty());
        match answer.page_snapshot.as_deref().filter(|_| !is_partial) {
            Some(page) => self.replay.read_page(page),
            None if is_playwright => {}
            None => {
                texts.iter().chain(&answer.content).for_each(|text| self.replay.read_part(text))
            }
        }
    }

    /// Returns a script that makes the same calls again in a new session.
    pub fn text(&self) -> String {
        let (session, replay) = (self.session, &self.replay);
        let options: String =
            options(session).map(|(name, value)| format!(" {name} {}", quoted(&value))).collect();
        let tools = match replay.playwright_tools.as_slice() {
            [] => String::new(),
            used => format!(" --tools native,{}", used.join(",")),
        };
        let mut notes = String::new();
        // A line break in a name from the record would end the comment.
        let mut note =
            |text: &str| notes.push_str(&format!("# {}\n", crate::config::one_line(text)));
        if replay.has_secrets {
            note("It types secrets by name: ./run.sh --secrets FILE");
        }
        for (name, purpose) in &replay.variables {
            note(&format!("Set {name}: the record has no value for {purpose}."));
        }
        for number in &replay.unnamed {
            note(&format!(
                "Edit step {number}: the record has no unique role and name and no test id for its element."
            ));
        }
        // The steps are on stdin, because Linux limits an argument to 128 KiB. No line of JSON
        // equals the end marker.
        format!(
            "#!/bin/sh\n\
             # Repeats the calls of session {} in a new session. Calls that failed are omitted.\n\
             # Stops at the first step that fails, with exit code 1. Accepts options: ./run.sh --headless\n\
             {notes}\
             run() {{ if command -v troupe >/dev/null 2>&1; then troupe \"$@\"; else npx -y troupe \"$@\"; fi; }}\n\
             run call batch -{options}{tools} \"$@\" <<'{END_OF_STEPS}'\n\
             {{\"steps\": [\n  {}\n]}}\n\
             {END_OF_STEPS}\n",
            session.id,
            replay.steps.join(",\n  ")
        )
    }

    /// Returns the steps that a user must take before running the script, one line each.
    pub fn to_do(&self) -> String {
        let replay = &self.replay;
        let mut lines = String::new();
        if replay.has_secrets {
            lines.push_str("\nrun.sh types secrets by name: pass --secrets FILE");
        }
        if !replay.variables.is_empty() {
            let names: Vec<&str> = replay.variables.iter().map(|(name, _)| &**name).collect();
            lines.push_str(&format!(
                "\nrun.sh needs values that are not recorded: set {}",
                names.join(", ")
            ));
        }
        if !replay.unnamed.is_empty() {
            let numbers: Vec<String> = replay.unnamed.iter().map(ToString::to_string).collect();
            let numbers = numbers.join(", ");
            lines.push_str(&format!("\nrun.sh needs a selector in these steps, whose elements have no unique role and name and no test id: {numbers}"));
        }
        lines
    }
}

/// Returns the command-line options with which the session was created.
fn options(session: &SessionRow) -> impl Iterator<Item = (&'static str, String)> + '_ {
    const OPTIONS: &[(&str, &str)] = &[
        ("device", "--device"),
        ("userAgent", "--user-agent"),
        ("locale", "--locale"),
        ("timezone", "--timezone"),
        ("viewport", "--viewport-size"),
    ];
    let used = &session.metadata["options"];
    OPTIONS.iter().filter_map(move |(field, option)| {
        let value = match &used[*field] {
            Value::String(text) => text.clone(),
            Value::Object(size) => format!("{}x{}", size.get("width")?, size.get("height")?),
            _ => return None,
        };
        Some((*option, value))
    })
}

/// Quotes a text as one shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_names_cannot_end_the_comments_of_a_script() {
        let mut replay = ScriptSteps::default();
        replay.add(
            "odd\ntool",
            serde_json::json!({"a\ntouch /tmp/x\n#": "••••"}),
            &[],
            &std::collections::HashMap::new(),
        );
        let session = SessionRow {
            id: "s".into(),
            created_at: 0,
            last_activity: 0,
            state: crate::store::SessionState::Closed,
            metadata: serde_json::Value::Null,
            saved_at: None,
            requests: 1,
            is_released: false,
            used_by: None,
        };
        let script = SessionScript { session: &session, replay }.text();
        let commands: Vec<&str> =
            script.lines().take_while(|line| !line.starts_with("run call")).collect();
        assert!(
            commands.iter().all(|line| line.starts_with('#') || line.starts_with("run() {")),
            "{script}"
        );
    }

    #[test]
    fn a_fence_is_longer_than_every_fence_inside_it() {
        assert_eq!(fenced("", "a ``` b"), "````\na ``` b\n````\n");
        assert_eq!(fenced("json", "{}"), "```json\n{}\n```\n");
    }
}
