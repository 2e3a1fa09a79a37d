//! HTTP errors, in seed 002's form.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// What is told where HTTP itself says that it failed.
#[derive(Serialize, JsonSchema)]
pub(super) struct Problem {
    error: String,
    message: String,
    details: Map<String, Value>,
}

/// A failure without further facts.
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
        "`{error}` is not written like the other codes"
    );
    (status, Json(Problem { error: error.to_owned(), message: message.into(), details }))
        .into_response()
}
