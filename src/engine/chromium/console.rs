//! CDP's messages about the console: the page's own calls, uncaught exceptions, and messages of the browser.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::browser::parse;
use crate::engine::{ConsoleLevel, ConsoleMessage, console::StackTrace};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Called {
    #[serde(rename = "type")]
    kind: String,
    args: Vec<Argument>,
    timestamp: f64,
    #[serde(default)]
    stack_trace: StackTrace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Argument {
    #[serde(rename = "type")]
    kind: String,
    value: Option<Value>,
    unserializable_value: Option<String>,
    description: Option<String>,
    preview: Option<Preview>,
}

#[derive(Deserialize)]
struct Preview {
    subtype: Option<String>,
    #[serde(default)]
    overflow: bool,
    #[serde(default)]
    properties: Vec<Property>,
}

#[derive(Deserialize)]
struct Property {
    name: String,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown {
    timestamp: f64,
    exception_details: Details,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    text: String,
    line_number: u64,
    column_number: u64,
    url: Option<String>,
    #[serde(default)]
    stack_trace: StackTrace,
    exception: Option<Argument>,
}

#[derive(Deserialize)]
struct Added {
    entry: Entry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    level: String,
    text: String,
    timestamp: f64,
    url: Option<String>,
    line_number: Option<u64>,
}

/// The message of `method`, where it is one.
pub(super) fn translate(method: &str, params: &RawValue) -> Option<ConsoleMessage> {
    match method {
        "Runtime.consoleAPICalled" => called(parse(method, params)?),
        "Runtime.exceptionThrown" => Some(thrown(parse(method, params)?)),
        "Log.entryAdded" => {
            let Added { entry } = parse(method, params)?;
            Some(ConsoleMessage {
                level: level(&entry.level),
                text: entry.text,
                at: millis(entry.timestamp),
                url: entry.url,
                line: entry.line_number.map(|line| line + 1),
                column: None,
            })
        }
        _ => None,
    }
}

fn called(call: Called) -> Option<ConsoleMessage> {
    // Console calls that print nothing.
    if matches!(call.kind.as_str(), "clear" | "endGroup" | "profile" | "profileEnd") {
        return None;
    }
    let text = call.args.iter().map(spoken).collect::<Vec<_>>().join(" ");
    let text = if call.kind == "assert" { format!("Assertion failed: {text}") } else { text };
    Some(call.stack_trace.message(level(&call.kind), text, millis(call.timestamp)))
}

fn thrown(Thrown { timestamp, exception_details: details }: Thrown) -> ConsoleMessage {
    let what = details.exception.as_ref().map(spoken).unwrap_or_default();
    // The stack follows the message line by line; the location is in its own fields.
    let what = what.lines().next().unwrap_or_default();
    let text =
        if what.is_empty() { details.text.clone() } else { format!("{} {what}", details.text) };
    let mut message = details.stack_trace.message(ConsoleLevel::Error, text, millis(timestamp));
    if message.url.is_none() {
        message.url = details.url;
        message.line = Some(details.line_number + 1);
        message.column = Some(details.column_number + 1);
    }
    message
}

fn level(name: &str) -> ConsoleLevel {
    match name {
        "error" | "assert" => ConsoleLevel::Error,
        "warning" => ConsoleLevel::Warn,
        "debug" | "verbose" | "trace" => ConsoleLevel::Debug,
        _ => ConsoleLevel::Info,
    }
}

/// A value as the console shows it.
fn spoken(argument: &Argument) -> String {
    match (&argument.value, &argument.unserializable_value, &argument.preview) {
        (Some(Value::String(text)), ..) => text.clone(),
        (Some(value), ..) => value.to_string(),
        (None, Some(text), _) => text.clone(),
        (None, None, Some(preview)) if preview.subtype.as_deref() != Some("error") => {
            previewed(preview)
        }
        _ => argument.description.clone().unwrap_or_else(|| argument.kind.clone()),
    }
}

fn previewed(preview: &Preview) -> String {
    let array = preview.subtype.as_deref() == Some("array");
    let parts = preview.properties.iter().map(|property| {
        let value = property.value.as_deref().unwrap_or("…");
        if array { value.to_owned() } else { format!("{}: {value}", property.name) }
    });
    let mut parts: Vec<String> = parts.collect();
    if preview.overflow {
        parts.push("…".to_owned());
    }
    let inside = parts.join(", ");
    if array { format!("[{inside}]") } else { format!("{{{inside}}}") }
}

/// CDP's milliseconds have a fraction.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time of day is neither"
)]
fn millis(at: f64) -> u64 {
    at as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(method: &str, params: Value) -> Option<ConsoleMessage> {
        translate(method, &serde_json::value::to_raw_value(&params).unwrap())
    }

    #[test]
    fn a_call_of_the_page_is_told_with_its_place() {
        let told = message(
            "Runtime.consoleAPICalled",
            json!({
                "type": "warning", "timestamp": 1234.5,
                "args": [
                    {"type": "string", "value": "left"}, {"type": "number", "value": 3},
                    {"type": "object", "description": "Object", "preview": {"properties": [{"name": "a", "value": "1"}]}},
                    {"type": "undefined"},
                ],
                "stackTrace": {"callFrames": [{"url": "http://a/x.js", "lineNumber": 4, "columnNumber": 0}]},
            }),
        );
        let expected = ConsoleMessage {
            level: ConsoleLevel::Warn,
            text: "left 3 {a: 1} undefined".into(),
            at: 1234,
            url: Some("http://a/x.js".into()),
            line: Some(5),
            column: Some(1),
        };
        assert_eq!(told, Some(expected));
    }

    #[test]
    fn an_exception_is_an_error_without_its_stack() {
        let told = message(
            "Runtime.exceptionThrown",
            json!({"timestamp": 1.0, "exceptionDetails": {
                "text": "Uncaught", "lineNumber": 1, "columnNumber": 2, "url": "http://a/",
                "exception": {"type": "object", "description": "Error: no\n    at http://a/:2:3"},
            }}),
        )
        .unwrap();
        assert_eq!(
            (told.level, told.text.as_str(), told.line),
            (ConsoleLevel::Error, "Uncaught Error: no", Some(2))
        );
    }

    #[test]
    fn the_end_of_a_group_says_nothing() {
        assert_eq!(
            message(
                "Runtime.consoleAPICalled",
                json!({"type": "endGroup", "args": [], "timestamp": 1})
            ),
            None
        );
    }
}
