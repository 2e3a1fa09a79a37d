//! Validates arguments, with the messages of @playwright/mcp's validator (zod).

use serde_json::{Map, Value};

use crate::tools::tool::Tool;

/// Former names of parameters, which prompts and skills for earlier versions use.
const FORMER_NAMES: &[(&str, &str)] =
    &[("ref", "target"), ("startRef", "startTarget"), ("endRef", "endTarget")];

/// Returns the arguments with defaults. Unknown arguments are removed, as @playwright/mcp does.
///
/// # Errors
/// The message about all invalid arguments.
pub(in crate::tools) fn check(tool: &Tool, arguments: Value) -> Result<Map<String, Value>, String> {
    let mut problems = Vec::new();
    let mut given = match arguments {
        Value::Null => Map::new(),
        Value::Object(given) => given,
        other => {
            problems.push(InvalidArgument::expected("object", Some(&other), ""));
            Map::new()
        }
    };
    use_present_names(&tool.input, &mut given);
    if problems.is_empty() {
        check_object(&tool.input, &mut given, "", &mut problems);
    }
    if problems.is_empty() {
        return Ok(given);
    }
    // Stable, so that problems of the same depth keep their order.
    problems.sort_by_key(|problem| problem.path.matches(['.', '[']).count());
    let lines: Vec<String> = problems.iter().map(InvalidArgument::line).collect();
    Err(format!("Invalid arguments for tool \"{}\":\n{}", tool.name, lines.join("\n")))
}

/// Replaces former parameter names by the present ones.
fn use_present_names(schema: &Value, given: &mut Map<String, Value>) {
    for (former, present) in FORMER_NAMES {
        let has = |name: &str| !schema["properties"][name].is_null();
        if has(present)
            && !has(former)
            && !given.contains_key(*present)
            && let Some(value) = given.remove(*former)
        {
            given.insert((*present).to_owned(), value);
        }
    }
    if let Some(Value::Array(fields)) = given.get_mut("fields") {
        let schema = &schema["properties"]["fields"]["items"];
        for field in fields.iter_mut().filter_map(Value::as_object_mut) {
            use_present_names(schema, field);
        }
    }
}

/// An invalid argument.
struct InvalidArgument {
    path: String,
    message: String,
}

impl InvalidArgument {
    fn expected(kind: &str, found: Option<&Value>, path: &str) -> Self {
        let message = format!("Invalid input: expected {kind}, received {}", kind_of(found));
        Self { path: path.to_owned(), message }
    }

    fn line(&self) -> String {
        match self.path.as_str() {
            "" => format!("✖ {}", self.message),
            path => format!("✖ {}\n  → at {path}", self.message),
        }
    }
}

fn kind_of(value: Option<&Value>) -> &'static str {
    match value {
        None => "undefined",
        Some(Value::Null) => "null",
        Some(Value::Bool(_)) => "boolean",
        Some(Value::Number(_)) => "number",
        Some(Value::String(_)) => "string",
        Some(Value::Array(_)) => "array",
        Some(Value::Object(_)) => "object",
    }
}

fn check_object(
    schema: &Value,
    given: &mut Map<String, Value>,
    path: &str,
    problems: &mut Vec<InvalidArgument>,
) {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    if schema["additionalProperties"] == false {
        given.retain(|name, _| properties.contains_key(name));
    }
    let required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
    };
    for (name, property) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match given.get_mut(name) {
            Some(value) => check_value(property, value, &path, problems),
            None if !property["default"].is_null() => {
                given.insert(name.clone(), property["default"].clone());
            }
            None if required(name) => problems.push(missing(property, &path)),
            None => {}
        }
    }
    if let Some(values) = schema.get("additionalProperties").filter(|schema| schema.is_object()) {
        for (name, value) in given.iter_mut() {
            check_value(
                values,
                value,
                &format!("{path}[{}]", Value::from(name.as_str())),
                problems,
            );
        }
    }
}

fn missing(schema: &Value, path: &str) -> InvalidArgument {
    match option_error(schema) {
        Some(message) => InvalidArgument { path: path.to_owned(), message },
        None => InvalidArgument::expected(schema["type"].as_str().unwrap_or("value"), None, path),
    }
}

/// Returns the error message for a value that the `enum` of `schema` does not contain.
fn option_error(schema: &Value) -> Option<String> {
    let values = schema["enum"].as_array()?;
    let values: Vec<String> = values.iter().map(Value::to_string).collect();
    Some(match values.as_slice() {
        [only] => format!("Invalid input: expected {only}"),
        values => format!("Invalid option: expected one of {}", values.join("|")),
    })
}

fn check_value(schema: &Value, value: &mut Value, path: &str, problems: &mut Vec<InvalidArgument>) {
    if let Some(alternatives) = schema["anyOf"].as_array() {
        let fits = alternatives.iter().any(|schema| {
            let mut found = Vec::new();
            check_value(schema, &mut value.clone(), path, &mut found);
            found.is_empty()
        });
        if !fits {
            let first = alternatives.first().and_then(option_error);
            let message = first.unwrap_or_else(|| "Invalid input".to_owned());
            problems.push(InvalidArgument { path: path.to_owned(), message });
        }
        return;
    }
    if let Some(values) = schema["enum"].as_array() {
        if !values.contains(value) {
            let message = option_error(schema).unwrap_or_default();
            problems.push(InvalidArgument { path: path.to_owned(), message });
        }
        return;
    }
    let kind = schema["type"].as_str().unwrap_or_default();
    match (kind, &mut *value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) | ("null", Value::Null) => {}
        ("number", Value::Number(number)) | ("integer", Value::Number(number)) => {
            if kind == "integer" && number.as_f64().is_none_or(|number| number.fract() != 0.0) {
                problems.push(InvalidArgument::expected("int", Some(value), path));
            } else if let (Some(minimum), Some(given)) =
                (schema["minimum"].as_f64(), number.as_f64())
                && given < minimum
            {
                let message = format!("Too small: expected number to be >={minimum}");
                problems.push(InvalidArgument { path: path.to_owned(), message });
            }
        }
        ("array", Value::Array(items)) => {
            for (index, item) in items.iter_mut().enumerate() {
                check_value(&schema["items"], item, &format!("{path}[{index}]"), problems);
            }
        }
        ("object", Value::Object(map)) => check_object(schema, map, path, problems),
        ("", _) => {}
        ("object", other) if schema["additionalProperties"].is_object() => {
            problems.push(InvalidArgument::expected("record", Some(other), path));
        }
        (kind, other) => problems.push(InvalidArgument::expected(kind, Some(other), path)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::playwright::tools;

    fn checked(name: &str, given: Value) -> Result<Value, String> {
        let tools = tools();
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        check(tool, given).map(Value::Object)
    }

    #[test]
    fn defaults_are_added_and_unknown_arguments_removed() {
        assert_eq!(
            checked("browser_console_messages", json!({"color": "red"})),
            Ok(json!({"level": "info"}))
        );
        assert_eq!(checked("browser_click", json!({"ref": "e2"})), Ok(json!({"target": "e2"})));
    }

    #[test]
    fn problems_have_the_messages_of_zod() {
        assert_eq!(
            checked("browser_navigate", json!({})).unwrap_err(),
            "Invalid arguments for tool \"browser_navigate\":\n✖ Invalid input: expected string, received undefined\n  → at url"
        );
        assert_eq!(
            checked("browser_click", json!({"target": "e1", "button": "up"})).unwrap_err(),
            "Invalid arguments for tool \"browser_click\":\n✖ Invalid option: expected one of \"left\"|\"right\"|\"middle\"\n  → at button"
        );
        assert_eq!(
            checked(
                "browser_fill_form",
                json!({"fields": [{"target": "e1", "name": "a", "type": "textbox", "value": 1}]})
            )
            .unwrap_err(),
            "Invalid arguments for tool \"browser_fill_form\":\n✖ Invalid input: expected string, received number\n  → at fields[0].value"
        );
    }
}
