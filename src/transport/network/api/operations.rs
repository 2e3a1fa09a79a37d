//! The table of paths that call a single tool.

use std::net::IpAddr;

use axum::{
    Extension, Json,
    body::Body,
    extract::{RawPathParams, RawQuery, State},
    http::{HeaderMap, Method, StatusCode},
    response::{IntoResponse, Response},
    routing::{MethodFilter, MethodRouter, on},
};
use serde_json::{Map, Value, json};

use super::{
    ServerState,
    forms::{self, snake_cased},
    times,
};
use crate::{
    config::snake_case,
    offload,
    tools::{Answer, CallOutcome, Registry, Tool},
    transport::network::forwarded::ClientAddress,
};

/// The part of the request that contains the parameters, except for the parameter in the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterSource {
    Query,
    Body,
    None,
}

/// A row of the table.
pub(super) struct Operation {
    pub method: Method,
    pub path: &'static str,
    pub tool: &'static str,
    pub id: &'static str,
    /// The tool's parameter that is part of the path, under its snake-case name.
    pub path_parameter: Option<&'static str>,
    pub source: ParameterSource,
    pub success: StatusCode,
    /// The field for the text, if the tool answers with text.
    pub text: Option<&'static str>,
}

static OPERATIONS: &[Operation] = &[
    Operation {
        method: Method::GET,
        path: "/api/sessions",
        tool: "list_sessions",
        id: "listSessions",
        path_parameter: None,
        source: ParameterSource::Query,
        success: StatusCode::OK,
        text: None,
    },
    Operation {
        method: Method::POST,
        path: "/api/sessions",
        tool: "create_session",
        id: "createSession",
        path_parameter: None,
        source: ParameterSource::Body,
        success: StatusCode::CREATED,
        text: None,
    },
    Operation {
        method: Method::POST,
        path: "/api/sessions/{session_id}/resume",
        tool: "session_resume",
        id: "resumeSession",
        path_parameter: Some("sessionId"),
        source: ParameterSource::None,
        success: StatusCode::OK,
        text: None,
    },
    Operation {
        method: Method::DELETE,
        path: "/api/sessions/{session_id}",
        tool: "close_session",
        id: "closeSession",
        path_parameter: Some("sessionId"),
        source: ParameterSource::None,
        success: StatusCode::OK,
        text: None,
    },
    Operation {
        method: Method::GET,
        path: "/api/sessions/{session_id}/requests",
        tool: "list_requests",
        id: "listRequests",
        path_parameter: Some("sessionId"),
        source: ParameterSource::Query,
        success: StatusCode::OK,
        text: None,
    },
    Operation {
        method: Method::GET,
        path: "/api/requests/{ref_id}/content",
        tool: "get_content",
        id: "getContent",
        path_parameter: Some("refId"),
        source: ParameterSource::Query,
        success: StatusCode::OK,
        text: Some("content"),
    },
    Operation {
        method: Method::GET,
        path: "/api/requests/{ref_id}/console",
        tool: "get_console_content",
        id: "getConsole",
        path_parameter: Some("refId"),
        source: ParameterSource::Query,
        success: StatusCode::OK,
        text: Some("console"),
    },
];

/// Returns the rows whose tools the server offers.
pub(super) fn offered(registry: &Registry) -> impl Iterator<Item = &'static Operation> {
    OPERATIONS.iter().filter(|operation| operation.row(registry).is_some())
}

impl Operation {
    /// Returns the tool, if the server offers it.
    pub fn row(&self, registry: &Registry) -> Option<&'static Tool> {
        registry.tools().iter().find(|tool| tool.name == self.tool).copied()
    }

    /// Returns the parameters in the query or the body: name and schema, and whether each is
    /// required.
    pub fn parameters(
        &self,
        tool: &'static Tool,
    ) -> impl Iterator<Item = (&'static str, &'static Value, bool)> {
        let required = tool.input["required"].as_array();
        let properties = tool.input["properties"].as_object().into_iter().flatten();
        let path_parameter = self.path_parameter;
        properties.filter(move |(name, _)| Some(name.as_str()) != path_parameter).map(
            move |(name, schema)| {
                let required = required
                    .is_some_and(|required| required.iter().any(|required| required == name));
                (name.as_str(), schema, required)
            },
        )
    }

    pub fn route(&'static self) -> MethodRouter<ServerState> {
        let method = MethodFilter::try_from(self.method.clone()).unwrap_or(MethodFilter::GET);
        on(
            method,
            move |State(state): State<ServerState>,
                  path: RawPathParams,
                  RawQuery(query): RawQuery,
                  client: Option<Extension<ClientAddress>>,
                  headers: HeaderMap,
                  body: Body| async move {
                let mut arguments = match self.source {
                    ParameterSource::Body => match super::object(&state, &headers, body).await {
                        Ok(source) => source,
                        Err(error_response) => return error_response,
                    },
                    ParameterSource::Query => match self.row(state.server.registry()) {
                        Some(tool) => {
                            self.query_arguments(tool, query.as_deref().unwrap_or_default())
                        }
                        None => Map::new(),
                    },
                    ParameterSource::None => Map::new(),
                };
                let path_parameter = path.iter().next().map(|(_, value)| json!(value));
                arguments.extend(self.path_parameter.map(str::to_owned).zip(path_parameter));
                let address = client.map(|client| client.0.0);
                self.run(&state, address, Value::Object(arguments)).await
            },
        )
    }

    /// Returns the arguments in a query. A value that does not have the parameter's type stays a
    /// string, and a repeated value becomes a list. Validation then rejects both.
    fn query_arguments(&self, tool: &'static Tool, query: &str) -> Map<String, Value> {
        let mut arguments = Map::new();
        for (name, text) in url::form_urlencoded::parse(query.as_bytes()) {
            let known = self
                .parameters(tool)
                .find(|(known, ..)| *known == name || snake_case(known) == name);
            let kind = known.and_then(|(_, schema, _)| schema["type"].as_str());
            let value = match kind {
                Some("integer" | "number" | "boolean") => {
                    serde_json::from_str(&text).unwrap_or_default()
                }
                _ => Value::Null,
            };
            let value = if value.is_null() { json!(text) } else { value };
            let name = known.map_or_else(|| name.into_owned(), |(known, ..)| known.to_owned());
            let value = match arguments.remove(&name) {
                Some(before) => json!([before, value]),
                None => value,
            };
            arguments.insert(name, value);
        }
        arguments
    }

    async fn run(
        &self,
        state: &ServerState,
        address: Option<IpAddr>,
        arguments: Value,
    ) -> Response {
        let outcome = match super::call(state, address, self.tool, arguments.clone(), None).await {
            Ok(outcome) => outcome,
            Err(refusal) => return refusal.into_response(),
        };
        let bytes = outcome.bytes();
        offload::in_place(bytes, || self.answer(state, &arguments, outcome))
    }

    fn answer(&self, state: &ServerState, arguments: &Value, outcome: CallOutcome) -> Response {
        let ref_id = outcome.recorded_id();
        let answer = match (outcome.result, self.text) {
            (Ok(Answer::Text(text)), Some(field)) => {
                let path_parameter = self.path_parameter.map(|path_parameter| {
                    (snake_case(path_parameter), arguments[path_parameter].clone())
                });
                path_parameter.into_iter().chain([(field.to_owned(), json!(text))]).collect()
            }
            (Ok(answer @ Answer::Pictured { .. }), Some(field)) => {
                let mut content = answer.into_value();
                let (text, images) =
                    (content["text"].take(), snake_cased(content["images"].take()));
                let path_parameter = self.path_parameter.map(|path_parameter| {
                    (snake_case(path_parameter), arguments[path_parameter].clone())
                });
                let fields = [(field.to_owned(), text), ("images".to_owned(), images)];
                path_parameter.into_iter().chain(fields).collect()
            }
            (Ok(answer), _) => {
                let mut value = answer.into_value();
                times::rewrite_result(self.tool, &mut value);
                snake_cased(value)
            }
            (Err(error), _) => {
                let no_browser = state.server.registry().manager().browser_failure().is_some();
                return forms::failed(error, no_browser, ref_id).into_response();
            }
        };
        (self.success, Json(answer)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_parsed_by_the_types_of_the_parameters() {
        let content = OPERATIONS.iter().find(|operation| operation.tool == "get_content").unwrap();
        let tool = Registry::all().iter().find(|tool| tool.name == "get_content").unwrap();
        for (query, arguments) in [
            (
                "offset=5&reset_cursor=true&search_for=5",
                json!({"offset": 5, "resetCursor": true, "searchFor": "5"}),
            ),
            ("offset=many&resetCursor=null", json!({"offset": "many", "resetCursor": "null"})),
            ("offset=1&offset=2&other=%20", json!({"offset": [1, 2], "other": " "})),
            ("", json!({})),
        ] {
            assert_eq!(Value::Object(content.query_arguments(tool, query)), arguments, "{query}");
        }
    }
}
