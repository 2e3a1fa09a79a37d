//! Schemas of parameters, and the validation of arguments.
//!
//! serde reports only the first error, but an agent that corrects its call needs all of them. So
//! the simple schemas that Troupe generates (objects, arrays, enums, numbers, strings) are checked
//! here first.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::{
    config::nearest,
    error::{ErrorCode, Result, TroupeError},
};

/// Integers below it are exact in a JSON number (f64).
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Returns the schema of `T`, without keywords that an agent does not need.
pub(super) fn schema<T: JsonSchema>() -> Value {
    plain::<T>(SchemaSettings::draft2020_12())
}

/// Returns the schema of an answer: fields that are always present are required, even if they are
/// null.
pub(super) fn answer_schema<T: JsonSchema>() -> Value {
    plain::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn plain<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        })
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    strip(&mut schema, true, false);
    schema
}

/// Removes redundant keywords. `nullable`: null is a distinct value here.
fn strip(schema: &mut Value, top: bool, nullable: bool) {
    match schema {
        Value::Object(map) => {
            map.remove("format");
            map.remove("$schema");
            if top {
                map.remove("title");
                map.remove("description");
            }
            if map.get("minimum") == Some(&json!(0)) || map.get("minimum") == Some(&json!(0.0)) {
                map.remove("minimum");
            }
            // The schema does not mention that an optional parameter may also be null: it can be
            // omitted.
            if !nullable
                && let Some(Value::Array(types)) = map.get("type")
                && let [one, Value::String(null)] = types.as_slice()
                && null == "null"
            {
                let one = one.clone();
                map.insert("type".into(), one);
            }
            if !nullable
                && let Some(Value::Array(options)) = map.get("anyOf")
                && let [one, null] = options.as_slice()
                && null == &json!({"type": "null"})
            {
                let one = one.clone();
                map.remove("anyOf");
                if let Value::Object(one) = one {
                    map.extend(one);
                }
            }
            if map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            // `true` is a schema too, but strict clients want an object.
            if map.get("items") == Some(&Value::Bool(true)) {
                map.insert("items".into(), json!({}));
            }
            if let Some(Value::Object(properties)) = map.get_mut("properties") {
                for property in
                    properties.values_mut().filter(|property| **property == Value::Bool(true))
                {
                    *property = json!({});
                }
            }
            if let Some(Value::Array(values)) = map.get_mut("enum") {
                values.retain(|value| !value.is_null());
            }
            // Required fields of an answer can be null, and the schema says so.
            let required =
                map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            for (key, value) in map.iter_mut() {
                match value {
                    // These keys are the names of properties: one can be called `title`.
                    Value::Object(properties) if key == "properties" => {
                        for (name, property) in properties {
                            strip(
                                property,
                                false,
                                required.iter().any(|required| required == name),
                            );
                        }
                    }
                    value => strip(value, false, nullable),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| strip(value, false, nullable)),
        _ => {}
    }
}

/// Adds the id parameters that all tools of a kind have.
pub(super) fn add_common(schema: &mut Value, names: &[&str]) {
    let Value::Object(map) = schema else { return };
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        for name in names {
            properties.entry(*name).or_insert_with(|| json!({"type": "string"}));
        }
    }
}

/// A problem of a parameter.
struct Violation {
    parameter: String,
    problem: String,
    reason: &'static str,
}

/// Checks `given` against `schema` and returns it under the parameters' camelCase names.
pub(super) fn check(tool: &str, schema: &Value, given: Value) -> Result<Map<String, Value>> {
    let given = match given {
        Value::Null => Map::new(),
        Value::Object(map) => map,
        other => {
            let violation = wrong("", "an object", &other);
            return Err(refusal(tool, vec![violation], schema));
        }
    };
    let mut given: Map<String, Value> =
        given.into_iter().map(|(key, value)| (camel_case(schema, key), value)).collect();
    for (name, value) in &mut given {
        convert_whole_numbers(&schema["properties"][name], value);
    }
    let mut violations = Vec::new();
    check_object(schema, &given, "", &mut violations);
    if violations.is_empty() { Ok(given) } else { Err(refusal(tool, violations, schema)) }
}

/// Converts numbers such as `5000.0`, which some clients send, to integers where the schema
/// requires it.
fn convert_whole_numbers(schema: &Value, value: &mut Value) {
    match value {
        Value::Number(number) if schema["type"] == "integer" => {
            let whole =
                number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < MAX_EXACT);
            if let Some(whole) = whole.filter(|_| number.is_f64()) {
                #[expect(clippy::cast_possible_truncation, reason = "whole, and far from the ends")]
                let whole = whole as i64;
                *value = json!(whole);
            }
        }
        Value::Object(map) => {
            map.iter_mut().for_each(|(name, value)| {
                convert_whole_numbers(&schema["properties"][name], value)
            });
        }
        Value::Array(list) => {
            list.iter_mut().for_each(|value| convert_whole_numbers(&schema["items"], value))
        }
        _ => {}
    }
}

/// Deserializes the checked parameters into the handler's struct.
pub(super) fn read<P: DeserializeOwned>(tool: &str, given: Value) -> Result<P> {
    serde_json::from_value(given).map_err(|error| {
        TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("`{tool}` does not accept these parameters: {error}"),
        )
        .detail("violations", json!([{"problem": error.to_string()}]))
    })
}

/// Returns the camelCase name of a parameter: clients may also write `session_id`.
fn camel_case(schema: &Value, key: String) -> String {
    if !key.contains('_') || !schema["properties"][&key].is_null() {
        return key;
    }
    let mut parts = key.split('_');
    let mut camel = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut characters = part.chars();
        camel.extend(characters.next().map(|first| first.to_ascii_uppercase()));
        camel.push_str(characters.as_str());
    }
    if schema["properties"][&camel].is_null() { key } else { camel }
}

fn check_object(
    schema: &Value,
    given: &Map<String, Value>,
    path: &str,
    violations: &mut Vec<Violation>,
) {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if given.get(name).is_none_or(Value::is_null) {
            violations.push(Violation {
                parameter: format!("{path}{name}"),
                problem: format!("`{path}{name}` is missing"),
                reason: "MISSING_PARAMETER",
            });
        }
    }
    let open = schema.get("additionalProperties").is_some_and(|extra| *extra != Value::Bool(false));
    for (name, value) in given {
        match properties.get(name) {
            Some(property) if !value.is_null() => {
                check_value(property, value, &format!("{path}{name}"), violations)
            }
            Some(_) => {}
            None if open => {}
            None => {
                let near = nearest(name, properties.keys().map(String::as_str));
                let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
                violations.push(Violation {
                    parameter: format!("{path}{name}"),
                    problem: format!("`{path}{name}` is unknown{hint}"),
                    reason: "unknown",
                });
            }
        }
    }
}

fn check_value(schema: &Value, value: &Value, path: &str, violations: &mut Vec<Violation>) {
    if let Some(allowed) = schema["enum"].as_array() {
        if !allowed.contains(value) {
            let allowed: Vec<String> = allowed.iter().map(Value::to_string).collect();
            violations.push(wrong(path, &format!("one of {}", allowed.join(", ")), value));
        }
        return;
    }
    let fits = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_u64().is_some() || value.as_i64().is_some(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    let kind = schema["type"].as_str().unwrap_or("something else");
    if !fits {
        let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
        violations.push(wrong(path, &format!("{article} {kind}"), value));
        return;
    }
    if let Some(number) = value.as_f64() {
        // The schema omits `minimum: 0` of unsigned parameters.
        let minimum =
            schema["minimum"].as_f64().unwrap_or(if kind == "integer" { 0.0 } else { f64::MIN });
        let maximum = schema["maximum"].as_f64().unwrap_or(f64::MAX);
        if number < minimum || number > maximum {
            let range = if maximum == f64::MAX {
                format!("at least {minimum}")
            } else {
                format!("between {minimum} and {maximum}")
            };
            violations.push(wrong(path, &range, value));
        }
    }
    match value {
        // Without a type, any value is valid.
        Value::Object(map) if schema["type"] == "object" => {
            check_object(schema, map, &format!("{path}."), violations)
        }
        Value::Array(list) if !schema["items"].is_null() => {
            for (index, item) in list.iter().enumerate() {
                check_value(&schema["items"], item, &format!("{path}[{index}]"), violations);
            }
        }
        _ => {}
    }
}

fn wrong(path: &str, expected: &str, found: &Value) -> Violation {
    let mut found = found.to_string();
    if found.chars().count() > 60 {
        found = found.chars().take(60).chain(['…']).collect();
    }
    let name = if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
    Violation {
        parameter: path.to_owned(),
        problem: format!("{name} must be {expected}, not {found}"),
        reason: "wrong type",
    }
}

fn refusal(tool: &str, violations: Vec<Violation>, schema: &Value) -> TroupeError {
    let problems: Vec<&str> =
        violations.iter().map(|violation| violation.problem.as_str()).collect();
    let mut takes: Vec<&str> = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .map(String::as_str)
        .collect();
    takes.sort_unstable();
    let list: Vec<Value> = violations
        .iter()
        .map(|violation| json!({"parameter": violation.parameter, "problem": violation.problem, "reason": violation.reason}))
        .collect();
    let reason = violations.first().map_or("", |violation| violation.reason);
    TroupeError::new(ErrorCode::InvalidParameters, format!("`{tool}`: {}", problems.join("; ")))
        .detail("reason", reason)
        .detail("violations", list)
        .suggestion(format!("`{tool}` takes {}", takes.join(", ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::session::any_json::any_json;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code)]
    struct Sample {
        selector: String,
        click_count: Option<u32>,
        force: Option<bool>,
    }

    #[test]
    fn a_schema_has_only_what_an_agent_needs() {
        insta::assert_json_snapshot!(schema::<Sample>());
    }

    #[test]
    fn all_violations_are_reported_at_once() {
        let given = json!({"click_count": "two", "forse": true});
        let error = check("click", &schema::<Sample>(), given).unwrap_err();
        insta::assert_json_snapshot!(error);
    }

    #[test]
    fn negative_counts_are_rejected() {
        let error = check("click", &schema::<Sample>(), json!({"selector": "a", "clickCount": -1}))
            .unwrap_err();
        assert!(error.message.contains("at least 0"), "{error}");
    }

    #[test]
    fn an_integer_may_have_a_decimal_point() {
        let given =
            check("click", &schema::<Sample>(), json!({"selector": "a", "clickCount": 2.0}));
        assert_eq!(given.unwrap()["clickCount"], json!(2));
        for wrong in [json!(2.5), json!(1e300), json!(-1.0)] {
            let given = json!({"selector": "a", "clickCount": wrong});
            assert!(check("click", &schema::<Sample>(), given).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn checked_parameters_can_be_deserialized(given in any_json(".*", "[a-zA-Z_]{0,12}")) {
            if let Ok(checked) = check("click", &schema::<Sample>(), given) {
                prop_assert!(read::<Sample>("click", Value::Object(checked)).is_ok());
            }
        }
    }
}
