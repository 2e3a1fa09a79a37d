//! Converts BiDi's log entries: console calls and uncaught exceptions.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{navigation_events::parse, remote_value::RemoteValue};
use crate::engine::{
    ConsoleKind, ConsoleLevel, ConsoleSource, PageEvent,
    console::{ASSERTION, StackTrace},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BidiLogEntry {
    level: String,
    source: EntrySource,
    text: Option<String>,
    timestamp: u64,
    #[serde(default)]
    stack_trace: StackTrace,
    method: Option<String>,
    #[serde(default)]
    args: Vec<RemoteValue>,
}

#[derive(Deserialize)]
struct EntrySource {
    realm: Option<Arc<str>>,
    context: Option<Arc<str>>,
}

/// Converts a `log.entryAdded` into its frame and the event of its page.
pub(super) fn translate(method: &str, params: &RawValue) -> Option<(Arc<str>, PageEvent)> {
    let entry: BidiLogEntry = parse(method, params)?;
    let kind = entry.method.as_deref().map_or(ConsoleKind::PageError, call_kind);
    let stack = match kind {
        ConsoleKind::PageError => {
            entry.text.as_deref().and_then(|text| entry.stack_trace.of_error(text))
        }
        _ => None,
    };
    let text = match entry.method {
        Some(_) => {
            let words: Option<Vec<String>> = entry.args.iter().map(argument_text).collect();
            let text = words.map(|words| words.join(" ")).or(entry.text).unwrap_or_default();
            if kind == ConsoleKind::Assert { format!("{ASSERTION}{text}") } else { text }
        }
        None => format!("Uncaught {}", entry.text.unwrap_or_default()),
    };
    let level = match entry.level.as_str() {
        "error" => ConsoleLevel::Error,
        "warn" => ConsoleLevel::Warn,
        "debug" => ConsoleLevel::Debug,
        _ => ConsoleLevel::Info,
    };
    let mut message = entry.stack_trace.message(level, kind, text, entry.timestamp);
    message.stack = stack;
    let source = entry.source.realm.map(ConsoleSource::Realm);
    Some((entry.source.context?, PageEvent::Console { message, source }))
}

/// Converts the name of a console method.
fn call_kind(method: &str) -> ConsoleKind {
    match method {
        "warn" => ConsoleKind::Warning,
        "group" => ConsoleKind::StartGroup,
        "groupCollapsed" => ConsoleKind::StartGroupCollapsed,
        "groupEnd" => ConsoleKind::EndGroup,
        other => ConsoleKind::named(other),
    }
}

/// Formats an argument as the console does. Returns `None` for types where the browser's own text
/// is better.
fn argument_text(argument: &RemoteValue) -> Option<String> {
    match argument.kind() {
        "undefined" => Some("undefined".to_owned()),
        "string" | "number" | "boolean" | "bigint" | "null" | "array" | "object" => {
            argument.json().ok().as_ref().map(value_text)
        }
        _ => None,
    }
}

fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(value_text).collect::<Vec<_>>().join(", "))
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{name}: {}", value_text(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::ConsoleMessage;

    fn message(params: &Value) -> Option<(Arc<str>, ConsoleMessage)> {
        let params = serde_json::value::to_raw_value(params).unwrap();
        match translate("log.entryAdded", &params)? {
            (frame, PageEvent::Console { message, .. }) => Some((frame, message)),
            (_, other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_console_call_is_reported_with_its_source_location() {
        let messages = message(&json!({
            "type": "console", "method": "warn", "level": "warn", "timestamp": 1234,
            "source": {"realm": "r", "context": "c"}, "text": "left 3 [object Object]",
            "args": [
                {"type": "string", "value": "left"}, {"type": "number", "value": 3},
                {"type": "object", "value": [["a", {"type": "number", "value": 1}]]}, {"type": "undefined"},
            ],
            "stackTrace": {"callFrames": [{"url": "http://a/x.js", "lineNumber": 4, "columnNumber": 0, "functionName": ""}]},
        }));
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
        assert_eq!(messages, Some(("c".into(), expected)));
    }

    #[test]
    fn an_uncaught_exception_is_an_error() {
        let (_, messages) = message(&json!({
            "type": "javascript", "level": "error", "timestamp": 1, "source": {"context": "c"}, "text": "Error: no",
            "stackTrace": {"callFrames": [{"url": "http://a/", "lineNumber": 1, "columnNumber": 2, "functionName": "f"}]},
        }))
        .unwrap();
        assert_eq!(
            (messages.level, messages.text.as_str()),
            (ConsoleLevel::Error, "Uncaught Error: no")
        );
        assert_eq!(messages.stack.as_deref(), Some("Error: no\n    at f (http://a/:2:3)"));
    }
}
