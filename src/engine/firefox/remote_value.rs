//! Converts BiDi's serialized JavaScript values into JSON, and exceptions into a [`ScriptFailure`].

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    engine::{EngineError, EngineResult, ScriptFailure},
    offload::{self, json_size},
};

/// The result of a script.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(super) enum ScriptResult {
    Success {
        result: RemoteValue,
    },
    Exception {
        #[serde(rename = "exceptionDetails")]
        details: BidiException,
    },
}

/// A serialized JavaScript value (`script.RemoteValue`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteValue {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    value: Value,
    internal_id: Option<String>,
    shared_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BidiException {
    text: String,
    line_number: u64,
    column_number: u64,
    exception: RemoteValue,
    #[serde(default)]
    stack_trace: BidiStack,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct BidiStack {
    #[serde(default)]
    call_frames: Vec<Value>,
}

impl ScriptResult {
    /// Returns the script's value, unconverted.
    pub fn remote(self) -> EngineResult<RemoteValue> {
        match self {
            Self::Success { result } => Ok(result),
            Self::Exception { details } => Err(EngineError::Script(details.into())),
        }
    }

    /// Returns the script's value as JSON.
    pub fn value(self) -> EngineResult<Value> {
        self.remote()?.json()
    }
}

impl RemoteValue {
    /// Returns BiDi's name of the type.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// Returns the shared id, if this is a node.
    pub fn node(self) -> Option<String> {
        self.shared_id
    }

    /// Returns the shared ids of this element and of its closed shadow root, if it has one.
    pub fn closed_root(self) -> Option<[String; 2]> {
        let root = &self.value["shadowRoot"];
        let closed = root["value"]["mode"] == "closed";
        let root = root["sharedId"].as_str().filter(|_| closed)?.to_owned();
        Some([self.shared_id?, root])
    }

    /// Returns the browsing context, if this is a window.
    pub fn window(&self) -> Option<&str> {
        if self.kind != "window" {
            return None;
        }
        self.value["context"].as_str()
    }

    /// Returns the items, if this is an array.
    pub fn items(self) -> Vec<Self> {
        if self.kind != "array" {
            return Vec::new();
        }
        serde_json::from_value(self.value).unwrap_or_default()
    }

    /// Converts the value into JSON. `undefined` is null. Numbers and BigInts without a JSON form
    /// are returned as source text.
    pub fn json(&self) -> EngineResult<Value> {
        match self.kind.as_str() {
            "string" | "boolean" | "number" | "bigint" | "date" if self.internal_id.is_none() => {
                return Ok(plain(&self.kind, self.value.clone()));
            }
            "null" | "undefined" => return Ok(Value::Null),
            _ => {}
        }
        offload::in_place(json_size(&self.value), || {
            let mut known = HashMap::new();
            collect(&self.value, &mut known);
            if let (Some(id), false) = (&self.internal_id, self.value.is_null()) {
                known.insert(id.as_str(), (self.kind.as_str(), &self.value));
            }
            let converter = JsonConverter { shared: known };
            converter.of(&self.kind, &self.value, self.internal_id.as_deref(), &mut Vec::new())
        })
    }
}

fn plain(kind: &str, value: Value) -> Value {
    match (kind, value) {
        ("bigint", Value::String(digits)) => Value::String(digits + "n"),
        (_, value) => value,
    }
}

/// Collects the objects that are referred to more than once. Only the first reference has the
/// content, the others have the id alone.
fn collect<'a>(value: &'a Value, known: &mut HashMap<&'a str, (&'a str, &'a Value)>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, known)),
        Value::Object(object) => {
            if let (Some(kind), Some(id), Some(content)) = (
                object.get("type").and_then(Value::as_str),
                object.get("internalId"),
                object.get("value"),
            ) && let Some(id) = id.as_str()
            {
                known.insert(id, (kind, content));
            }
            if let Some(content) = object.get("value") {
                collect(content, known);
            }
        }
        _ => {}
    }
}

struct JsonConverter<'a> {
    /// The content of each object that is referred to more than once, by its id.
    shared: HashMap<&'a str, (&'a str, &'a Value)>,
}

impl<'a> JsonConverter<'a> {
    fn of(
        &self,
        kind: &'a str,
        value: &'a Value,
        id: Option<&'a str>,
        above: &mut Vec<&'a str>,
    ) -> EngineResult<Value> {
        let Some(id) = id else { return self.content(kind, value, above) };
        if above.contains(&id) {
            // Chromium's message, which the page layer recognizes.
            return Err(EngineError::Refused("Object reference chain is too long".to_owned()));
        }
        let (kind, value) = self.shared.get(id).copied().unwrap_or((kind, value));
        above.push(id);
        let json = self.content(kind, value, above);
        above.pop();
        json
    }

    fn described(&self, described: &'a Value, above: &mut Vec<&'a str>) -> EngineResult<Value> {
        let kind = described["type"].as_str().unwrap_or_default();
        self.of(kind, &described["value"], described["internalId"].as_str(), above)
    }

    fn content(
        &self,
        kind: &'a str,
        value: &'a Value,
        above: &mut Vec<&'a str>,
    ) -> EngineResult<Value> {
        Ok(match kind {
            "array" | "set" | "htmlcollection" | "nodelist" => {
                let items = value.as_array().into_iter().flatten();
                Value::Array(
                    items.map(|item| self.described(item, above)).collect::<EngineResult<_>>()?,
                )
            }
            "object" => {
                let mut object = Map::new();
                for entry in value.as_array().into_iter().flatten() {
                    let (Some(name), described) = (entry[0].as_str(), &entry[1]) else { continue };
                    // `JSON.stringify` omits them.
                    if !matches!(
                        described["type"].as_str(),
                        Some("undefined" | "function" | "symbol")
                    ) {
                        object.insert(name.to_owned(), self.described(described, above)?);
                    }
                }
                Value::Object(object)
            }
            "null" | "undefined" => Value::Null,
            // `JSON.stringify` converts NaN and infinities into null.
            "number" if value.is_string() => match value.as_str() {
                Some("-0") => Value::from(0),
                _ => Value::Null,
            },
            "string" | "boolean" | "number" | "date" => value.clone(),
            // They have no JSON form.
            "bigint" | "window" => {
                return Err(EngineError::Refused("Object reference chain is too long".to_owned()));
            }
            // Nodes, functions and maps have no own properties.
            _ => Value::Object(Map::new()),
        })
    }
}

impl From<BidiException> for ScriptFailure {
    fn from(details: BidiException) -> Self {
        let BidiException { text, line_number, column_number, exception, stack_trace } = details;
        let class = (exception.kind == "error")
            .then(|| text.split([':', '\n']).next().unwrap_or_default().trim().to_owned());
        let message = match (exception.kind.as_str(), &exception.value) {
            ("error", _) => text,
            (_, Value::String(thrown)) => thrown.clone(),
            _ => exception
                .json()
                .ok()
                .filter(|value| !value.is_null())
                .map_or(text, |value| value.to_string()),
        };
        // For a syntax error, the position is that of the browser's own code.
        let has_no_frames = stack_trace.call_frames.is_empty();
        let position = |number: u64| if has_no_frames { 1 } else { number + 1 };
        Self { message, line: position(line_number), column: position(column_number), class }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn to_json(described: Value) -> EngineResult<Value> {
        serde_json::from_value::<RemoteValue>(described).unwrap().json()
    }

    #[test]
    fn values_are_converted_into_json() {
        let described = json!({"type": "object", "value": [
            ["a", {"type": "number", "value": 1}],
            ["b", {"type": "undefined"}],
            ["c", {"type": "array", "value": [{"type": "null"}, {"type": "number", "value": "NaN"}]}],
        ]});
        assert_eq!(to_json(described).unwrap(), json!({"a": 1, "c": [null, null]}));
        assert_eq!(to_json(json!({"type": "undefined"})).unwrap(), Value::Null);
        assert_eq!(to_json(json!({"type": "bigint", "value": "7"})).unwrap(), json!("7n"));
        assert_eq!(to_json(json!({"type": "function"})).unwrap(), json!({}));
    }

    #[test]
    fn a_repeated_object_is_converted_twice_and_a_cycle_is_an_error() {
        let shared = json!({"type": "object", "internalId": "1", "value": [["x", {"type": "number", "value": 2}]]});
        let described =
            json!({"type": "array", "value": [shared, {"type": "object", "internalId": "1"}]});
        assert_eq!(to_json(described).unwrap(), json!([{"x": 2}, {"x": 2}]));
        let cycle = json!({"type": "object", "internalId": "1", "value": [
            ["self", {"type": "object", "internalId": "1"}]
        ]});
        assert!(to_json(cycle).is_err());
    }
}
