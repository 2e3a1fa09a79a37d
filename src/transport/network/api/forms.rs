//! The JSON forms of calls: request, response and error.

use axum::{
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{super::problems::problem_with, times};
use crate::{
    config::snake_case,
    error::{ENDED_DURING_CALL, ErrorCode, HttpStatus, TroupeError},
    tools::{CallOutcome, UnknownTool},
};

/// The request to make a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CallRequest {
    pub session_id: Option<String>,
    pub tool: String,
    #[serde(default)]
    pub params: Option<Map<String, Value>>,
    /// Becomes the call's `ref_id`.
    pub request_id: Option<String>,
}

/// A call that was made.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Exchange {
    /// The id for reading the recorded call later. Absent for calls that are not recorded: those
    /// that read the record, and all calls with `--store none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ref_id: Option<String>,
    pub session_id: Option<String>,
    pub status: CallStatus,
    /// Start of the call, ISO 8601.
    pub timestamp: String,
    pub metadata: CallMetadata,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The error code, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<&'static str>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The result of the tool. Absent with `--responses ref`, and when a recorded call is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallStatus {
    Success,
    Error,
    Running,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct CallMetadata {
    pub tool: String,
    pub has_snapshot: bool,
    pub has_console_logs: bool,
    pub console_error_count: u64,
}

/// Why a request failed.
#[derive(Debug)]
pub(super) enum ApiError {
    /// The body is not a request.
    InvalidBody(String),
    MediaType,
    UnknownTool(UnknownTool),
    /// A call with this id is in the record already.
    IdInUse(String),
    NoRecord(String),
    Stopping,
    /// The call could not be made, or failed on a path that names its tool.
    Failed {
        error: TroupeError,
        status: StatusCode,
        ref_id: Option<String>,
    },
}

impl From<UnknownTool> for ApiError {
    fn from(unknown: UnknownTool) -> Self {
        Self::UnknownTool(unknown)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let (status, error, message, details) = match self {
            Self::InvalidBody(message) => {
                (StatusCode::BAD_REQUEST, "INVALID_REQUEST", message, Map::new())
            }
            Self::MediaType => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "UNSUPPORTED_MEDIA_TYPE",
                "the body must be JSON, with `Content-Type: application/json`".to_owned(),
                Map::new(),
            ),
            Self::UnknownTool(unknown) => {
                (StatusCode::NOT_FOUND, "UNKNOWN_TOOL", unknown.to_string(), Map::new())
            }
            Self::IdInUse(id) => (
                StatusCode::CONFLICT,
                "REQUEST_ID_TAKEN",
                format!("the id `{id}` is already used by another call"),
                Map::new(),
            ),
            Self::NoRecord(id) => (
                StatusCode::NOT_FOUND,
                ErrorCode::RecordNotFound.as_str(),
                format!("no call `{id}` is in the record"),
                Map::new(),
            ),
            Self::Stopping => (
                StatusCode::SERVICE_UNAVAILABLE,
                "STOPPING",
                "the server is stopping; try again when it is running again".to_owned(),
                Map::from_iter([("retryable".to_owned(), json!(true))]),
            ),
            Self::Failed { error, status, ref_id } => {
                let mut details = error.details;
                times::rewrite_details(&mut details);
                details.insert("retryable".to_owned(), json!(error.retryable));
                details.extend(ref_id.map(|id| ("ref_id".to_owned(), json!(id))));
                details.extend(error.session_id.map(|id| ("session_id".to_owned(), json!(id))));
                details.extend(
                    error.suggestion.map(|suggestion| ("suggestion".to_owned(), json!(suggestion))),
                );
                (status, error.code.as_str(), error.message, details)
            }
        };
        let response = problem_with(status, error, message, details);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            return ([(header::RETRY_AFTER, "1")], response).into_response();
        }
        response
    }
}

/// Returns the HTTP status of an error that kept the call from running; `None` if the call ran and
/// failed. `no_browser` is true if the last attempt to start a browser failed.
fn status_if_not_run(error: &TroupeError, no_browser: bool) -> Option<StatusCode> {
    let code = error.code;
    match code.row().status {
        _ if error.reason() == Some(ENDED_DURING_CALL) => None,
        HttpStatus::Refused(status) => Some(to_status(status)),
        HttpStatus::Failed(_) if code == ErrorCode::BrowserError && no_browser => {
            Some(StatusCode::SERVICE_UNAVAILABLE)
        }
        HttpStatus::Failed(_) => None,
    }
}

fn to_status(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Returns an error if the call did not run. For `POST /api/requests`, where calls that ran and
/// failed have the status 200.
pub(super) fn ensure_ran(outcome: CallOutcome, no_browser: bool) -> Result<CallOutcome, ApiError> {
    let status =
        outcome.result.as_ref().err().and_then(|error| status_if_not_run(error, no_browser));
    let ref_id = outcome.recorded_id();
    match (status, outcome) {
        (Some(status), CallOutcome { result: Err(error), .. }) => {
            Err(ApiError::Failed { error, status, ref_id })
        }
        (_, outcome) => Ok(outcome),
    }
}

/// Returns the error for the other routes. There, failed calls have an error status.
pub(super) fn failed(error: TroupeError, no_browser: bool, ref_id: Option<String>) -> ApiError {
    let (HttpStatus::Refused(status) | HttpStatus::Failed(status)) = error.code.row().status;
    let status = status_if_not_run(&error, no_browser).unwrap_or_else(|| to_status(status));
    ApiError::Failed { error, status, ref_id }
}

/// The error statuses of operations, in order.
pub(super) const STATUSES: &[StatusCode] = &[
    StatusCode::BAD_REQUEST,
    StatusCode::UNAUTHORIZED,
    StatusCode::FORBIDDEN,
    StatusCode::NOT_FOUND,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::CONFLICT,
    StatusCode::GONE,
    StatusCode::PAYLOAD_TOO_LARGE,
    StatusCode::UNSUPPORTED_MEDIA_TYPE,
    StatusCode::UNPROCESSABLE_ENTITY,
    StatusCode::TOO_MANY_REQUESTS,
    StatusCode::SERVICE_UNAVAILABLE,
];

/// Converts all names of a tool's result to snake case.
pub(super) fn snake_cased(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| (snake_case(&name), snake_cased(value)))
            .collect(),
        Value::Array(list) => list.into_iter().map(snake_cased).collect(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_nested_names_are_converted_to_snake_case() {
        let facts =
            json!({"sessions": [{"sessionId": "a", "pages": [{"pageId": "page-1", "url": "x"}]}]});
        let expected = json!({"sessions": [{"session_id": "a", "pages": [{"page_id": "page-1", "url": "x"}]}]});
        assert_eq!(snake_cased(facts), expected);
    }
}
