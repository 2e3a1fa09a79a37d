//! Builds the OpenAPI document from the registry's rows and the schemas of the forms.
//!
//! No OpenAPI crate is used. OpenAPI 3.1 uses JSON Schema unchanged, so the registry's schemas fit.
//! The annotations of a crate would define them a second time.

use axum::http::StatusCode;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

use super::{
    super::problems::Problem,
    calls,
    forms::{Exchange, STATUSES},
    operations::{self, Operation, ParameterSource},
    times,
};
use crate::{
    config::snake_case,
    tools::{AnswerKind, Registry, Tool},
};

/// The operation that returns a call, and the parameter with its id.
const SHOW: &str = "getRequest";
const CALL: &str = "refId";
/// The parameter that is a separate field of a call.
const SESSION: &str = "sessionId";

/// Returns the document of a server that offers the tools of `registry`. `base_path` is the value
/// of `--base-path`, or empty.
pub(super) fn of(registry: &Registry, base_path: &str) -> Value {
    let mut paths = Map::new();
    let mut add = |path: &str, method: &str, operation: Value| {
        paths.entry(path).or_insert_with(|| json!({}))[method] = operation;
    };
    add(calls::REQUESTS_PATH, "post", call_operation(registry));
    add(
        calls::REQUEST_PATH,
        "get",
        json!({
            "operationId": SHOW,
            "summary": "Read a call in the record.",
            "parameters": [path_parameter_row("ref_id")],
            "responses": responses(StatusCode::OK, json!({"$ref": "#/components/schemas/Exchange"})),
        }),
    );
    for operation in operations::offered(registry) {
        if let Some(tool) = operation.row(registry) {
            add(
                operation.path,
                &operation.method.as_str().to_lowercase(),
                operation_of_row(registry, operation, tool),
            );
        }
    }
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Troupe",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Browser automation: sessions, the calls in them, and their record.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Exchange": schema_of::<Exchange>(), "Problem": schema_of::<Problem>()},
        },
    });
    if !base_path.is_empty() {
        document["servers"] = json!([{"url": base_path}]);
    }
    document
}

fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// `POST /api/requests`: one form for each tool.
fn call_operation(registry: &Registry) -> Value {
    let forms: Vec<Value> = registry.tools().iter().map(|tool| call_of(tool)).collect();
    let mut responses = responses(StatusCode::OK, json!({"$ref": "#/components/schemas/Exchange"}));
    responses["200"]["links"] = links(registry, CALL);
    json!({
        "operationId": "makeRequest",
        "summary": "Make a call.",
        "description": "A call that ran has the HTTP status 200, even if it failed (`status`). A call that could not be made has an \
                        HTTP error status.",
        "requestBody": {"required": true, "content": {"application/json": {"schema": {"oneOf": forms}}}},
        "responses": responses,
    })
}

/// Returns the schema of a call to `tool`.
fn call_of(tool: &'static Tool) -> Value {
    let mut params = validated_schema(&tool.input);
    let names_session = tool.is_in_session() || required(&params).any(|name| name == SESSION);
    if let Some(properties) = params.get_mut("properties").and_then(Value::as_object_mut) {
        properties.remove(SESSION);
    }
    if let Some(required) = params.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name != SESSION);
    }
    let mut required_fields = vec!["tool"];
    required_fields.extend(names_session.then_some("session_id"));
    required_fields.extend(required(&params).next().map(|_| "params"));
    let mut form = json!({
        "title": tool.name,
        "description": tool.description,
        "type": "object",
        "properties": {
            "session_id": {"type": "string"},
            "tool": {"const": tool.name},
            "params": params,
            "request_id": {"type": "string", "format": "uuid"},
        },
        "required": required_fields,
    });
    reject_unknown_fields(&mut form);
    form
}

fn required(schema: &Value) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Describes an operation.
fn operation_of_row(registry: &Registry, operation: &Operation, tool: &'static Tool) -> Value {
    let mut responses = responses(operation.success, answer(operation, tool));
    if operation.success == StatusCode::CREATED {
        responses[operation.success.as_str()]["links"] = links(registry, SESSION);
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": tool.description,
        "responses": responses,
    });
    let mut parameters: Vec<Value> = operation
        .path_parameter
        .map(|path_parameter| path_parameter_row(&snake_case(path_parameter)))
        .into_iter()
        .collect();
    match operation.source {
        ParameterSource::Query => parameters.extend(operation.parameters(tool).map(|(name, schema, required)| {
            json!({
                "name": snake_case(name), "in": "query", "required": required, "schema": validated_schema(schema),
            })
        })),
        ParameterSource::Body => {
            let content = json!({"application/json": {"schema": validated_schema(&tool.input)}});
            described["requestBody"] = json!({"content": content});
        }
        ParameterSource::None => {}
    }
    described["parameters"] = parameters.into();
    described
}

fn answer(operation: &Operation, tool: &'static Tool) -> Value {
    match (operation.text, &tool.output) {
        (Some(field), _) => {
            let names: Vec<String> = operation
                .path_parameter
                .map(snake_case)
                .into_iter()
                .chain([field.to_owned()])
                .collect();
            let mut properties: Map<String, Value> =
                names.iter().map(|name| (name.clone(), json!({"type": "string"}))).collect();
            if tool.answer == AnswerKind::Content {
                let text = json!({"type": "string"});
                let image = json!({
                    "type": "object",
                    "properties": {"data": text, "mime_type": text},
                    "required": ["data", "mime_type"],
                });
                properties.insert("images".to_owned(), json!({"type": "array", "items": image}));
            }
            json!({"type": "object", "properties": properties, "required": names})
        }
        (None, Some(output)) => renamed(output),
        (None, None) => json!({}),
    }
}

fn path_parameter_row(name: &str) -> Value {
    json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "minLength": 1}})
}

/// Returns links to the operations that take this id.
fn links(registry: &Registry, id: &'static str) -> Value {
    let name = snake_case(id);
    let operations =
        operations::offered(registry).filter(|operation| operation.path_parameter == Some(id));
    let ids = operations.map(|operation| operation.id).chain((id == CALL).then_some(SHOW));
    let link = |to: &str| json!({"operationId": to, "parameters": {&name: format!("$response.body#/{name}")}});
    Value::Object(ids.map(|to| (to.to_owned(), link(to))).collect())
}

fn responses(success: StatusCode, schema: Value) -> Value {
    let form = |schema: Value| json!({"application/json": {"schema": schema}});
    let describe = |status: &StatusCode| {
        let problem = json!({"$ref": "#/components/schemas/Problem"});
        let description = status.canonical_reason().unwrap_or("Failed");
        (status.as_u16().to_string(), json!({"description": description, "content": form(problem)}))
    };
    let success_response = json!({"description": "Done", "content": form(schema)});
    let all = [(success.as_u16().to_string(), success_response)]
        .into_iter()
        .chain(STATUSES.iter().map(describe));
    Value::Object(all.collect())
}

/// Returns the schema that validation applies: it rejects unknown fields and allows null for
/// optional ones.
fn validated_schema(schema: &Value) -> Value {
    let mut schema = schema.clone();
    reject_unknown_fields(&mut schema);
    schema
}

fn reject_unknown_fields(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    if map.get("type") == Some(&json!("integer")) {
        map.entry("minimum").or_insert(json!(0));
    }
    if let Some(items) = map.get_mut("items") {
        reject_unknown_fields(items);
    }
    let required: Vec<Value> =
        map.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, property) in properties.iter_mut() {
        reject_unknown_fields(property);
        if !required.iter().any(|required| required == name) {
            allow_null(property);
        }
    }
    map.entry("additionalProperties").or_insert(json!(false));
}

fn allow_null(schema: &mut Value) {
    if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut) {
        values.push(Value::Null);
    }
    if let Some(kind) = schema.get_mut("type").filter(|kind| kind.is_string()) {
        *kind = json!([kind.take(), "null"]);
    }
}

/// Returns the schema of a result, with its field names in snake case.
fn renamed(schema: &Value) -> Value {
    let mut schema = schema.clone();
    times::describe(&mut schema);
    rename(&mut schema);
    schema
}

fn rename(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map.iter_mut() {
                match (key.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        let old = std::mem::take(properties);
                        properties.extend(old.into_iter().map(|(name, mut property)| {
                            rename(&mut property);
                            (snake_case(&name), property)
                        }));
                    }
                    ("required", Value::Array(names)) => {
                        for name in names {
                            if let Some(text) = name.as_str() {
                                *name = json!(snake_case(text));
                            }
                        }
                    }
                    (_, value) => rename(value),
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(rename),
        _ => {}
    }
}

#[cfg(test)]
#[cfg(feature = "testing")]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{config::Config, session::SystemClock};

    fn document(config: Config) -> Value {
        let base_path = config.base_path.clone();
        of(&Registry::in_memory(Arc::new(config), Arc::new(SystemClock)).unwrap(), &base_path)
    }

    #[test]
    fn the_base_path_is_the_url_of_the_server() {
        let below = Config { base_path: "/tools/troupe".to_owned(), ..Config::default() };
        assert_eq!(document(below)["servers"], json!([{"url": "/tools/troupe"}]));
        assert!(document(Config::default()).get("servers").is_none());
    }

    #[test]
    fn the_schemas_of_calls_match_the_reviewed_snapshot() {
        let document = document(Config::default());
        insta::assert_json_snapshot!(document["components"]);
    }

    #[test]
    fn parameters_and_results_are_described_in_snake_case() {
        let document = document(Config::default());
        let sessions = &document["paths"]["/api/sessions"];
        assert_eq!(sessions["get"]["parameters"][0]["name"], "state");
        let created = &sessions["post"]["responses"]["201"];
        let answer = &created["content"]["application/json"]["schema"];
        assert!(answer["properties"]["session_id"].is_object(), "{answer}");
        assert!(answer["required"].as_array().unwrap().contains(&json!("expires_at")), "{answer}");
        assert_eq!(
            created["links"]["closeSession"]["parameters"]["session_id"],
            "$response.body#/session_id"
        );
    }

    #[test]
    fn a_tool_that_is_not_offered_is_not_described() {
        let document =
            document(Config { no_tools: vec!["create_session".to_owned()], ..Config::default() });
        assert!(document["paths"]["/api/sessions"]["post"].is_null());
        assert!(document["paths"]["/api/sessions"]["get"].is_object());
        assert!(!document.to_string().contains("create_session\""));
    }

    #[test]
    fn each_tool_has_a_schema_with_the_session_next_to_its_parameters() {
        let mut config = Config::default();
        config.security.enable_scripts = true;
        let document = document(config);
        let forms = &document["paths"]["/api/requests"]["post"]["requestBody"]["content"]["application/json"]
            ["schema"];
        let forms = forms["oneOf"].as_array().unwrap();
        assert_eq!(forms.len(), Registry::all().len());
        let fill = forms.iter().find(|form| form["title"] == "fill").unwrap();
        assert_eq!(fill["required"], json!(["tool", "session_id", "params"]));
        assert!(fill["properties"]["params"]["properties"]["sessionId"].is_null());
        let create = forms.iter().find(|form| form["title"] == "create_session").unwrap();
        assert_eq!(create["required"], json!(["tool"]));
    }
}
