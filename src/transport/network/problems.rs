//! HTTP error responses: objects with `error`, `message` and `details`.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The body of an HTTP error response.
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem {
    error: String,
    message: String,
    details: Map<String, Value>,
}

/// Returns an error response without details.
pub(super) fn problem(status: StatusCode, error: &str, message: impl Into<String>) -> Response {
    problem_with(status, error, message, Map::new())
}

pub(super) fn problem_with(
    status: StatusCode,
    error: &str,
    message: impl Into<String>,
    details: Map<String, Value>,
) -> Response {
    debug_assert!(
        error.chars().all(|c| c.is_ascii_uppercase() || c == '_'),
        "`{error}` must consist of capital letters and underscores"
    );
    (status, Json(Problem { error: error.to_owned(), message: message.into(), details }))
        .into_response()
}
