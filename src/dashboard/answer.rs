//! Checks the answer of a person against the schema of the question. A schema is flat, as MCP's
//! elicitation requires.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Dashboard;
use crate::session::PersonQuestion;

impl Dashboard {
    /// Returns the first violation of the question's schema in `answer`. `None` if the answer is
    /// valid, or if this question of the session `id` is not pending.
    pub fn answer_problem(
        &self,
        id: &str,
        question: &str,
        answer: &Map<String, Value>,
    ) -> Option<String> {
        let asked: Arc<PersonQuestion> = self.manager.find(id)?.pending_question()?;
        if *asked.id != *question {
            return None;
        }
        match &asked.schema {
            Some(schema) => problem(schema, answer),
            None => problem(&json!({"properties": {"answer": {"type": "string"}}}), answer),
        }
    }
}

/// Returns the first violation of `schema` in `answer`, if there is one.
fn problem(schema: &Value, answer: &Map<String, Value>) -> Option<String> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.into_iter().find(|name| answer.get(*name).is_none_or(Value::is_null));
    if let Some(name) = missing {
        return Some(format!("`{name}` is missing"));
    }
    answer.iter().find_map(|(name, value)| match schema["properties"].get(name) {
        Some(property) => {
            expected(property, value).map(|expected| format!("`{name}` must be {expected}"))
        }
        None => Some(format!("the question has no field `{name}`")),
    })
}

/// Describes the values that the schema of a property allows. `None` if it allows `value`.
fn expected(schema: &Value, value: &Value) -> Option<String> {
    let is_choice = |value: &Value| choices(schema).is_none_or(|choices| choices.contains(&value));
    let within = |number: f64, least: &str, most: &str| {
        schema[least].as_f64().is_none_or(|least| number >= least)
            && schema[most].as_f64().is_none_or(|most| number <= most)
    };
    #[expect(clippy::cast_precision_loss, reason = "the lengths are far below the limit")]
    let length = |length: usize| length as f64;
    let (fits, kind) = match schema["type"].as_str() {
        Some("boolean") => (value.is_boolean(), "yes or no"),
        Some("integer") => {
            let is_whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
            (is_whole, "a whole number")
        }
        Some("number") => (value.is_number(), "a number"),
        Some("array") => (value.is_array(), "a list"),
        Some("string") => (value.is_string(), "a text"),
        _ => (true, ""),
    };
    if !fits {
        return Some(kind.to_owned());
    }
    match value {
        _ if !is_choice(value) => Some("one of the choices".to_owned()),
        Value::Number(number) if !within(number.as_f64()?, "minimum", "maximum") => {
            Some(range(schema, "minimum", "maximum", ""))
        }
        Value::String(text) if !within(length(text.chars().count()), "minLength", "maxLength") => {
            Some(range(schema, "minLength", "maxLength", " characters"))
        }
        Value::Array(list) if !within(length(list.len()), "minItems", "maxItems") => {
            Some(range(schema, "minItems", "maxItems", " choices"))
        }
        Value::Array(list) => list.iter().find_map(|item| expected(&schema["items"], item)),
        _ => None,
    }
}

/// Returns the values that a schema allows; `None` if it allows all.
fn choices(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.iter().collect());
    }
    let titled = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?;
    Some(titled.iter().map(|choice| &choice["const"]).collect())
}

fn range(schema: &Value, least: &str, most: &str, unit: &str) -> String {
    match (&schema[least], &schema[most]) {
        (Value::Null, most) => format!("at most {most}{unit}"),
        (least, Value::Null) => format!("at least {least}{unit}"),
        (least, most) => format!("between {least} and {most}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_must_fit_the_schema_of_the_question() {
        let schema = json!({"type": "object", "required": ["size"], "properties": {
            "size": {"type": "string", "enum": ["S", "L"]},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
            "note": {"type": "string", "maxLength": 4},
            "gift": {"type": "boolean"},
            "extras": {"type": "array", "maxItems": 1, "items": {"anyOf": [{"const": "bag"}]}},
        }});
        let check = |answer: Value| problem(&schema, answer.as_object().unwrap());
        for fitting in [
            json!({"size": "L"}),
            json!({"size": "S", "color": "r", "count": 3, "note": "ab", "gift": false, "extras": ["bag"]}),
            json!({"size": "S", "count": 2.0, "extras": []}),
        ] {
            assert_eq!(check(fitting.clone()), None, "{fitting}");
        }
        for (answer, why) in [
            (json!({}), "`size` is missing"),
            (json!({"size": null}), "`size` is missing"),
            (json!({"size": "M"}), "`size` must be one of the choices"),
            (json!({"size": 1}), "`size` must be a text"),
            (json!({"size": "S", "color": "Red"}), "`color` must be one of the choices"),
            (json!({"size": "S", "count": 4}), "`count` must be between 1 and 3"),
            (json!({"size": "S", "count": 1.5}), "`count` must be a whole number"),
            (json!({"size": "S", "note": "abcde"}), "`note` must be at most 4 characters"),
            (json!({"size": "S", "gift": "yes"}), "`gift` must be yes or no"),
            (json!({"size": "S", "extras": ["box"]}), "`extras` must be one of the choices"),
            (json!({"size": "S", "extras": ["bag", "bag"]}), "`extras` must be at most 1 choices"),
            (json!({"size": "S", "other": 1}), "the question has no field `other`"),
        ] {
            assert_eq!(check(answer.clone()).as_deref(), Some(why), "{answer}");
        }
    }
}
