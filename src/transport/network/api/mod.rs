//! The JSON API at `/api`: calls over plain HTTP, for programs without an MCP client.
//!
//! `calls` makes calls and reads recorded ones, `operations` has the paths of single tools, `forms`
//! the JSON of calls and results, `document` the OpenAPI document. Tools, parameters and results
//! are derived from the registry's rows. Their names are in snake case (`session_id`).

mod calls;
mod document;
mod forms;
mod operations;
mod times;

use std::{net::IpAddr, sync::Arc};

use axum::{
    Json, Router,
    body::Body,
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Map, Value};

use self::forms::ApiError;
use super::{ServerState, problem, request};
use crate::{
    offload,
    session::Connection,
    tools::{CallOutcome, Invocation},
};

/// Returns the routes below `/api`.
pub(super) fn routes(state: &ServerState) -> Router<ServerState> {
    let mut routes = Router::new()
        .route("/api/openapi.json", get(describe))
        .route(calls::REQUESTS_PATH, post(calls::make))
        .route(calls::REQUEST_PATH, get(calls::show));
    for operation in operations::offered(state.server.registry()) {
        routes = routes.route(operation.path, operation.route());
    }
    routes.method_not_allowed_fallback(async || {
        problem(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "the path has no such method")
    })
}

/// `GET /api/openapi.json`. Generated on request, because it is rarely used.
async fn describe(State(state): State<ServerState>) -> Json<Value> {
    let registry = state.server.registry();
    Json(document::of(registry, &registry.manager().config().base_path))
}

/// Makes one call. Cancels it if the server stops or the request is dropped. The API can access the
/// sessions of all clients. It has no implicit session, because requests are independent of each
/// other.
async fn call(
    state: &ServerState,
    address: Option<IpAddr>,
    tool: &str,
    arguments: Value,
    ref_id: Option<String>,
) -> Result<CallOutcome, ApiError> {
    let connection = Arc::new(Connection::monitor().with_address(address));
    let invocation =
        Invocation { full_result: true, ref_id, ..Invocation::new(connection, tool, arguments) };
    tokio::select! {
        biased;
        () = state.stop.cancelled() => Err(ApiError::Stopping),
        outcome = state.server.registry().call(invocation) => Ok(outcome?),
    }
}

/// Reads the JSON object of a request; an empty body is an empty object.
async fn object(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<Map<String, Value>, Response> {
    let bytes = request::body(headers, body, state.request_timeout).await;
    let bytes = bytes.map_err(IntoResponse::into_response)?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let kind =
        headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::MediaType.into_response());
    }
    let read = offload::in_place(bytes.len(), || serde_json::from_slice(&bytes));
    read.map_err(|error| {
        ApiError::InvalidBody(format!("the body is not a JSON object: {error}")).into_response()
    })
}
