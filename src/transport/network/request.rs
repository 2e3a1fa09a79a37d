//! Reads the body of a request, with limits for its size and time.

use std::time::Duration;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use http_body_util::BodyExt;

use super::problem;

/// Maximum size of a body in bytes. The response to a larger one has the status 413.
pub(super) const MAX_BODY: usize = 4 << 20;
/// Maximum number of bytes that are read of a body that is too large. Reading it lets its sender
/// receive the response.
const MAX_DISCARDED: usize = 16 << 20;

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body has more than {MAX_BODY} bytes")]
    TooLarge,
    #[error("the body did not arrive in time; --request-timeout sets the limit")]
    TooSlow,
    #[error("the connection broke before the body was complete")]
    Aborted,
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "BODY_TOO_LARGE"),
            Self::TooSlow => (StatusCode::REQUEST_TIMEOUT, "REQUEST_TIMEOUT"),
            Self::Aborted => (StatusCode::BAD_REQUEST, "BODY_BROKEN_OFF"),
        };
        ([(header::CONNECTION, "close")], problem(status, error, self.to_string())).into_response()
    }
}

/// Reads the whole body.
pub(super) async fn body(
    headers: &HeaderMap,
    body: Body,
    timeout: Duration,
) -> Result<Bytes, BodyError> {
    let declared =
        headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    tokio::time::timeout(timeout, read_limited(body, declared))
        .await
        .unwrap_or(Err(BodyError::TooSlow))
}

async fn read_limited(mut body: Body, declared: Option<usize>) -> Result<Bytes, BodyError> {
    let mut too_large = declared.is_some_and(|declared| declared > MAX_BODY);
    let mut bytes = Vec::with_capacity(if too_large { 0 } else { declared.unwrap_or(0) });
    let mut length = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| BodyError::Aborted)?.into_data() else { continue };
        length += data.len();
        too_large |= length > MAX_BODY;
        if length > MAX_DISCARDED {
            break;
        }
        if !too_large {
            bytes.extend_from_slice(&data);
        }
    }
    if too_large { Err(BodyError::TooLarge) } else { Ok(bytes.into()) }
}
