//! Converts console calls, uncaught exceptions and the browser's own messages into console
//! messages.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::session::parse_event;
use crate::engine::{ConsoleLevel, ConsoleMessage, console::StackTrace};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConsoleApiCalled {
    #[serde(rename = "type")]
    kind: String,
    args: Vec<RemoteArgument>,
    timestamp: f64,
    #[serde(default)]
    stack_trace: StackTrace,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RemoteArgument {
    #[serde(rename = "type")]
    kind: String,
    value: Option<Value>,
    unserializable_value: Option<String>,
    description: Option<String>,
    preview: Option<ObjectPreview>,
}

#[derive(Deserialize)]
struct ObjectPreview {
    subtype: Option<String>,
    #[serde(default)]
    overflow: bool,
    #[serde(default)]
    properties: Vec<PropertyPreview>,
}

#[derive(Deserialize)]
struct PropertyPreview {
    name: String,
    value: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ExceptionThrown {
    timestamp: f64,
    exception_details: ThrownDetails,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThrownDetails {
    text: String,
    line_number: u64,
    column_number: u64,
    url: Option<String>,
    #[serde(default)]
    stack_trace: StackTrace,
    exception: Option<RemoteArgument>,
}

#[derive(Deserialize)]
struct LogEntryAdded {
    entry: LogEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LogEntry {
    level: String,
    text: String,
    timestamp: f64,
    url: Option<String>,
    line_number: Option<u64>,
}

/// Converts the event `method` into a console message, if it is one.
pub(super) fn translate(method: &str, params: &RawValue) -> Option<ConsoleMessage> {
    match method {
        "Runtime.consoleAPICalled" => console_call(parse_event(method, params)?),
        "Runtime.exceptionThrown" => Some(thrown(parse_event(method, params)?)),
        "Log.entryAdded" => {
            let LogEntryAdded { entry } = parse_event(method, params)?;
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

fn console_call(call: ConsoleApiCalled) -> Option<ConsoleMessage> {
    // Console calls that print nothing.
    if matches!(call.kind.as_str(), "clear" | "endGroup" | "profile" | "profileEnd") {
        return None;
    }
    let text = call.args.iter().map(display_text).collect::<Vec<_>>().join(" ");
    let text = if call.kind == "assert" { format!("Assertion failed: {text}") } else { text };
    Some(call.stack_trace.message(level(&call.kind), text, millis(call.timestamp)))
}

fn thrown(
    ExceptionThrown { timestamp, exception_details: details }: ExceptionThrown,
) -> ConsoleMessage {
    let what = details.exception.as_ref().map(display_text).unwrap_or_default();
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
fn display_text(argument: &RemoteArgument) -> String {
    match (&argument.value, &argument.unserializable_value, &argument.preview) {
        (Some(Value::String(text)), ..) => text.clone(),
        (Some(value), ..) => value.to_string(),
        (None, Some(text), _) => text.clone(),
        (None, None, Some(preview)) if preview.subtype.as_deref() != Some("error") => {
            preview_text(preview)
        }
        _ => argument.description.clone().unwrap_or_else(|| argument.kind.clone()),
    }
}

fn preview_text(preview: &ObjectPreview) -> String {
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

/// Converts CDP's milliseconds, which have a fraction.
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
    fn a_console_call_has_its_text_and_its_location() {
        let converted = message(
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
        assert_eq!(converted, Some(expected));
    }

    #[test]
    fn an_exception_is_an_error_message_without_its_stack() {
        let converted = message(
            "Runtime.exceptionThrown",
            json!({"timestamp": 1.0, "exceptionDetails": {
                "text": "Uncaught", "lineNumber": 1, "columnNumber": 2, "url": "http://a/",
                "exception": {"type": "object", "description": "Error: no\n    at http://a/:2:3"},
            }}),
        )
        .unwrap();
        assert_eq!(
            (converted.level, converted.text.as_str(), converted.line),
            (ConsoleLevel::Error, "Uncaught Error: no", Some(2))
        );
    }

    #[test]
    fn the_end_of_a_group_is_no_message() {
        assert_eq!(
            message(
                "Runtime.consoleAPICalled",
                json!({"type": "endGroup", "args": [], "timestamp": 1})
            ),
            None
        );
    }
}
