//! Converts times. The JSON API uses ISO 8601, while tools use milliseconds since 1970.

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Map, Value, json};

use crate::{
    error::ErrorDetails,
    tools::{Group, Registry},
};

/// The beginning of the description of every time in the schema of a tool's result or of an error.
const MILLIS: &str = "Milliseconds since 1970";

/// Formats a time for the API.
pub(super) fn iso8601(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// Rewrites the times in `value`, whose schema is `schema`. Other numbers do not change, for
/// example numbers that a page has returned.
pub(super) fn rewrite(schema: &Value, value: &mut Value) {
    match value {
        Value::Number(number) if is_time(schema) => {
            #[expect(clippy::cast_possible_truncation, reason = "whole milliseconds")]
            let at =
                number.as_f64().and_then(|millis| DateTime::from_timestamp_millis(millis as i64));
            if let Some(at) = at {
                *value = iso8601(at).into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|item| rewrite(&schema["items"], item)),
        Value::Object(map) => map.iter_mut().for_each(|(name, field)| {
            rewrite(&schema["properties"][name], field);
        }),
        _ => {}
    }
}

/// Rewrites the times in a result of the tool `tool`, and in the results and errors of the steps of
/// a batch.
pub(super) fn rewrite_result(tool: &str, value: &mut Value) {
    let row = Registry::row(tool);
    rewrite(row.and_then(|row| row.output.as_ref()).unwrap_or(&Value::Null), value);
    // The schema of a batch does not describe the results of its steps.
    if row.is_some_and(|row| row.group == Group::Batch) {
        let steps = value.get_mut("results").and_then(Value::as_array_mut);
        steps.into_iter().flatten().for_each(rewrite_step);
    }
}

/// Rewrites the times in the result or the error of one step of a batch.
fn rewrite_step(step: &mut Value) {
    let tool = step["tool"].as_str().unwrap_or_default().to_owned();
    if let Some(result) = step.get_mut("result") {
        rewrite_result(&tool, result);
    }
    let error = step.get_mut("error");
    if let Some(details) =
        error.and_then(|error| error.get_mut("details")).and_then(Value::as_object_mut)
    {
        rewrite_details(details);
    }
}

/// Rewrites the times in the details of an error.
pub(super) fn rewrite_details(details: &mut Map<String, Value>) {
    let schema = schemars::schema_for!(ErrorDetails).to_value();
    details.iter_mut().for_each(|(name, detail)| rewrite(&schema["properties"][name], detail));
}

/// Rewrites the schemas of times in `schema`.
pub(super) fn describe(schema: &mut Value) {
    if is_time(schema) {
        let description =
            schema["description"].as_str().unwrap_or_default().replacen(MILLIS, "ISO 8601", 1);
        *schema = json!({"type": "string", "format": "date-time", "description": description});
        return;
    }
    match schema {
        Value::Object(map) => map.values_mut().for_each(describe),
        Value::Array(list) => list.iter_mut().for_each(describe),
        _ => {}
    }
}

fn is_time(schema: &Value) -> bool {
    schema["description"].as_str().is_some_and(|description| description.starts_with(MILLIS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_are_rewritten() {
        let list = Registry::row("list_sessions").and_then(|tool| tool.output.as_ref()).unwrap();
        let mut value = json!({"sessions": [{"sessionId": "a", "createdAt": 1_000, "expiresAt": 1_763_899_867_250_u64}]});
        rewrite(list, &mut value);
        let expected = json!({"sessions": [{
            "sessionId": "a", "createdAt": "1970-01-01T00:00:01.000Z", "expiresAt": "2025-11-23T12:11:07.250Z",
        }]});
        assert_eq!(value, expected);
        let evaluate = Registry::row("evaluate").and_then(|tool| tool.output.as_ref()).unwrap();
        let mut value = json!({"success": true, "value": {"createdAt": 5}});
        rewrite(evaluate, &mut value);
        assert_eq!(value["value"]["createdAt"], 5);
    }

    #[test]
    fn times_are_rewritten_in_the_steps_of_a_batch() {
        let mut value = json!({"success": false, "results": [
            {"tool": "list_sessions", "result": {"sessions": [{"sessionId": "a", "createdAt": 1_000}]}},
            {"tool": "evaluate", "result": {"success": true, "value": {"createdAt": 5}}},
            {"tool": "unknown", "result": {"createdAt": 5}},
            {"tool": "navigate", "error": {"message": "no", "details": {"retryAt": 2_000, "timeout": 5}}},
            {"tool": "click", "error": {"message": "no"}},
        ]});
        rewrite_result("batch", &mut value);
        let expected = json!({"success": false, "results": [
            {"tool": "list_sessions", "result": {"sessions": [{"sessionId": "a", "createdAt": "1970-01-01T00:00:01.000Z"}]}},
            {"tool": "evaluate", "result": {"success": true, "value": {"createdAt": 5}}},
            {"tool": "unknown", "result": {"createdAt": 5}},
            {"tool": "navigate", "error": {"message": "no", "details": {"retryAt": "1970-01-01T00:00:02.000Z", "timeout": 5}}},
            {"tool": "click", "error": {"message": "no"}},
        ]});
        assert_eq!(value, expected);
    }

    #[test]
    fn every_time_of_a_result_is_described_as_one() {
        fn check(tool: &str, name: &str, schema: &Value) {
            let is_number = ["integer", "number"].iter().any(|kind| schema["type"] == *kind);
            let is_named =
                name == "at" || name.ends_with("At") || ["startTime", "timestamp"].contains(&name);
            assert!(!is_number || !is_named || is_time(schema), "{tool}: {name}");
            check_inside(tool, schema);
        }
        fn check_inside(tool: &str, schema: &Value) {
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                check(tool, name, inner);
            }
            if schema["items"].is_object() {
                check_inside(tool, &schema["items"]);
            }
        }
        for tool in Registry::all() {
            check_inside(&tool.name, tool.output.as_ref().unwrap_or(&Value::Null));
        }
        check_inside("an error", &schemars::schema_for!(ErrorDetails).to_value());
    }

    #[test]
    fn the_schema_of_a_time_is_a_string() {
        let mut schema = json!({"properties": {
            "at": {"type": "integer", "description": "Milliseconds since 1970; absent at first."}, "n": {"type": "integer"},
        }});
        describe(&mut schema);
        let expected = json!({"properties": {
            "at": {"type": "string", "format": "date-time", "description": "ISO 8601; absent at first."}, "n": {"type": "integer"},
        }});
        assert_eq!(schema, expected);
    }
}
