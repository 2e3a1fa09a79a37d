//! Parameters that hold text for fields of a page, of type [`TypedText`] or [`TypedKey`]. Only
//! these types can be typed into a page, and the recorder masks every parameter of these types
//! until the kind of the field is known.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    error::Result,
    policy::{redaction::Secrets, vault::ResolvedText},
};

/// Keyword of the schema that marks the parameter; removed when the tool's row is made.
const MARK: &str = "x-typed";

/// Text that is typed, or the name of a secret.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct TypedText(String);

impl TypedText {
    /// Returns the text to type, with the secrets that it names.
    pub fn resolve<'a>(&'a self, secrets: &'a Secrets) -> Result<ResolvedText<'a>> {
        secrets.vault().resolve(&self.0)
    }
}

/// A key or chord to press, such as `Enter`, `Control+A` or `x`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct TypedKey(pub String);

/// JavaScript of the client. It can contain passwords, and is not typed as a whole.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct ScriptText(pub String);

macro_rules! marked_schema {
    ($type:ty, $kind:literal) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string", "x-typed": $kind})
            }
        }
    };
}

marked_schema!(TypedText, "text");
marked_schema!(TypedKey, "key");
marked_schema!(ScriptText, "text");

/// The paths of parameters that contain typed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TypedPath {
    /// Names of fields, from the parameters down; `*` is every item of a list.
    steps: Vec<String>,
    /// The value names one key.
    pub is_key: bool,
}

impl TypedPath {
    /// `/fields/*/value`
    pub fn text(path: &str) -> Self {
        Self { steps: path.split('/').skip(1).map(str::to_owned).collect(), is_key: false }
    }
}

/// Removes the marks from the schema of a tool's parameters and returns the paths of the marked
/// ones.
pub(super) fn take_paths(schema: &mut Value) -> Vec<TypedPath> {
    let mut found = Vec::new();
    take(schema, &mut Vec::new(), &mut found);
    found
}

fn take(schema: &mut Value, steps: &mut Vec<String>, found: &mut Vec<TypedPath>) {
    let Value::Object(map) = schema else { return };
    if let Some(kind) = map.remove(MARK) {
        found.push(TypedPath { steps: steps.clone(), is_key: kind == "key" });
    }
    for (keyword, inner) in map {
        match (keyword.as_str(), inner) {
            ("properties", Value::Object(properties)) => {
                for (name, property) in properties {
                    steps.push(name.clone());
                    take(property, steps, found);
                    steps.pop();
                }
            }
            ("items", item) => {
                steps.push("*".to_owned());
                take(item, steps, found);
                steps.pop();
            }
            ("anyOf" | "oneOf", Value::Array(choices)) => {
                choices.iter_mut().for_each(|choice| take(choice, steps, found));
            }
            _ => {}
        }
    }
}

/// A value in the parameters of a call that is typed.
pub(super) struct TypedValue<'a> {
    pub value: &'a mut Value,
    pub is_key: bool,
}

/// Returns the values in `params` that are typed. Keys that make no character, such as `Enter`, are
/// left out.
pub(super) fn values<'a>(paths: &[TypedPath], params: &'a mut Value) -> Vec<TypedValue<'a>> {
    // Tools of different upstream servers may have the same name; the first path that exists is
    // used.
    let Some(path) = paths.iter().find(|path| params.get(&path.steps[0]).is_some()) else {
        return Vec::new();
    };
    let mut values = vec![params];
    for step in &path.steps {
        values = match step.as_str() {
            "*" => values.into_iter().filter_map(Value::as_array_mut).flatten().collect(),
            name => values.into_iter().filter_map(|value| value.get_mut(name)).collect(),
        };
    }
    values.retain(|value| !path.is_key || value.as_str().is_some_and(makes_character));
    values.into_iter().map(|value| TypedValue { value, is_key: path.is_key }).collect()
}

fn makes_character(key: &str) -> bool {
    key.strip_prefix("Shift+").unwrap_or(key).chars().count() == 1
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::Registry;

    fn masked(tool: &str, mut params: Value) -> Value {
        let tool = Registry::all().iter().find(|row| row.name == tool).unwrap();
        values(&tool.typed, &mut params).into_iter().for_each(|typed| *typed.value = json!("*"));
        params
    }

    #[test]
    fn every_typed_parameter_is_found_in_the_arguments() {
        assert_eq!(
            masked("type", json!({"selector": "a", "text": "b"})),
            json!({"selector": "a", "text": "*"})
        );
        let fields =
            json!({"fields": [{"selector": "a", "value": "b"}, {"selector": "c", "value": true}]});
        let expected =
            json!({"fields": [{"selector": "a", "value": "*"}, {"selector": "c", "value": "*"}]});
        assert_eq!(masked("fill_form", fields), expected);
        assert_eq!(masked("press", json!({"key": "Shift+A"})), json!({"key": "*"}));
        assert_eq!(masked("press", json!({"key": "Enter"})), json!({"key": "Enter"}));
    }

    #[test]
    fn no_mark_is_left_in_the_schemas() {
        let schemas: Vec<&Value> = Registry::all().iter().map(|tool| &tool.input).collect();
        assert!(!json!(schemas).to_string().contains(MARK));
    }
}
