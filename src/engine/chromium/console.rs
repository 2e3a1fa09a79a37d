//! Converts console calls, uncaught exceptions and the browser's own messages into console
//! messages.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::session::parse_event;
use crate::engine::{
    ConsoleKind, ConsoleLevel, ConsoleMessage, ConsoleSource,
    console::{ASSERTION, StackTrace, stack_in},
};

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
    entry: CdpLogEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CdpLogEntry {
    level: String,
    text: String,
    timestamp: f64,
    url: Option<String>,
    line_number: Option<u64>,
    network_request_id: Option<Arc<str>>,
}

/// Converts the event `method` into a console message and its source, if it is one.
pub(super) fn translate(
    method: &str,
    params: &RawValue,
) -> Option<(ConsoleMessage, Option<ConsoleSource>)> {
    match method {
        "Runtime.consoleAPICalled" => Some((console_call(parse_event(method, params)?), None)),
        "Runtime.exceptionThrown" => Some((thrown(parse_event(method, params)?), None)),
        "Log.entryAdded" => {
            let LogEntryAdded { entry } = parse_event(method, params)?;
            let level = level(&entry.level);
            // A failed response of a document is logged before the document is committed.
            let source = entry.network_request_id.map(ConsoleSource::Request);
            let message = ConsoleMessage {
                level,
                kind: level.into(),
                text: entry.text,
                at: millis(entry.timestamp),
                url: entry.url,
                line: entry.line_number.map(|line| line + 1),
                column: None,
                stack: None,
            };
            Some((message, source))
        }
        _ => None,
    }
}

fn console_call(call: ConsoleApiCalled) -> ConsoleMessage {
    let kind = ConsoleKind::named(&call.kind);
    let text = call.args.iter().map(display_text).collect::<Vec<_>>().join(" ");
    let text = if kind == ConsoleKind::Assert { format!("{ASSERTION}{text}") } else { text };
    call.stack_trace.message(level(&call.kind), kind, text, millis(call.timestamp))
}

fn thrown(
    ExceptionThrown { timestamp, exception_details: details }: ExceptionThrown,
) -> ConsoleMessage {
    let what = details.exception.as_ref().map(display_text).unwrap_or_default();
    let stack = stack_in(&what);
    // The stack follows the message line by line; the location is in its own fields.
    let what = what.lines().next().unwrap_or_default();
    let text =
        if what.is_empty() { details.text.clone() } else { format!("{} {what}", details.text) };
    let (level, kind) = (ConsoleLevel::Error, ConsoleKind::PageError);
    let mut message = details.stack_trace.message(level, kind, text, millis(timestamp));
    message.stack = stack;
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

/// Returns a value as the console shows it.
fn display_text(argument: &RemoteArgument) -> String {
    match (&argument.value, &argument.unserializable_value, &argument.preview) {
        (Some(Value::String(text)), ..) => text.clone(),
        (Some(value), ..) => value.to_string(),
        (None, Some(text), _) => text.clone(),
        (None, None, Some(preview)) if preview.subtype.as_deref() != Some("error") => {
            preview_text(preview)
        }
        // The protocol sends no value for `null`.
        (None, None, None) if argument.kind == "object" && argument.description.is_none() => {
            "null".to_owned()
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
    reason = "the time is positive and fits"
)]
fn millis(at: f64) -> u64 {
    at as u64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message(method: &str, params: Value) -> Option<ConsoleMessage> {
        let params = serde_json::value::to_raw_value(&params).unwrap();
        translate(method, &params).map(|(message, _)| message)
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
            kind: ConsoleKind::Warning,
            text: "left 3 {a: 1} undefined".into(),
            at: 1234,
            url: Some("http://a/x.js".into()),
            line: Some(5),
            column: Some(1),
            stack: None,
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
        assert_eq!(converted.stack.as_deref(), Some("Error: no\n    at http://a/:2:3"));
        let passed = converted.as_passed();
        assert_eq!((passed.kind, passed.text.as_str()), (ConsoleKind::PageError, "Error: no"));
    }

    #[test]
    fn the_end_of_a_group_has_no_text() {
        let end = json!({"type": "endGroup", "args": [], "timestamp": 1});
        let converted = message("Runtime.consoleAPICalled", end).unwrap();
        assert_eq!(converted.kind, ConsoleKind::EndGroup);
        assert!(!converted.kind.has_text());
    }

    #[test]
    fn a_failed_response_is_logged_with_its_request() {
        let params = json!({"entry": {
            "source": "network", "level": "error", "timestamp": 1.0, "url": "http://a/x.png", "lineNumber": 0,
            "text": "Failed to load resource: net::ERR_FAILED", "networkRequestId": "1.2",
        }});
        let params = serde_json::value::to_raw_value(&params).unwrap();
        let (message, source) = translate("Log.entryAdded", &params).unwrap();
        assert_eq!((message.kind, message.line), (ConsoleKind::Error, Some(1)));
        assert_eq!(message.url.as_deref(), Some("http://a/x.png"));
        assert_eq!(source, Some(ConsoleSource::Request("1.2".into())));
    }
}
