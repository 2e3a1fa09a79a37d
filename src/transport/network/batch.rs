//! Batches: several messages in one body. Only clients of the revisions up to 2025-03-26 can send
//! them. Clients of later revisions send a version header with each request.

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, value::RawValue};

use crate::{session::Connection, transport::messages};

const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The revisions with batches. A client without a version header uses one of these.
const REVISIONS_WITH_BATCHES: [&str; 2] = ["2024-11-05", "2025-03-26"];

/// Returns the messages in `body` if it is a batch and the client's revision has batches.
pub(super) fn of(headers: &HeaderMap, body: &[u8]) -> Option<Vec<Box<RawValue>>> {
    let has_batches = headers
        .get(VERSION)
        .is_none_or(|version| REVISIONS_WITH_BATCHES.iter().any(|known| version == known));
    let batch: Vec<Box<RawValue>> = serde_json::from_slice(body).ok().filter(|_| has_batches)?;
    (!batch.is_empty()).then_some(batch)
}

/// Returns the error response if the message cannot be part of a batch.
fn rejection(message: &RawValue) -> Option<Value> {
    let text = message.get().as_bytes();
    if let Some(Err(refusal)) = messages::read(text, &Connection::default()).into_iter().next() {
        return Some(refusal);
    }
    let shape: Value = serde_json::from_slice(text).unwrap_or_default();
    let is_initialize = shape["method"] == "initialize";
    is_initialize.then(|| {
        messages::refusal(shape["id"].clone(), -32600, "`initialize` cannot be part of a batch")
    })
}

/// Handles each message with `handle`, in order, and merges the responses into one stream.
pub(super) async fn answer<F: Future<Output = Response>>(
    batch: Vec<Box<RawValue>>,
    handle: impl Fn(Bytes) -> F,
) -> Response {
    let (mut streams, mut refusals) = (Vec::new(), Vec::new());
    let mut headers = HeaderMap::new();
    let mut accepted_any = false;
    for message in batch {
        if let Some(refusal) = rejection(&message) {
            refusals.push(refusal);
            continue;
        }
        let response = handle(Bytes::from(message.get().to_owned())).await;
        if !response.status().is_success() {
            return response;
        }
        accepted_any = true;
        if response.status() == StatusCode::OK {
            let (parts, body) = response.into_parts();
            headers = parts.headers;
            streams.push(body.into_data_stream());
        }
    }
    if streams.is_empty() && refusals.is_empty() {
        return StatusCode::ACCEPTED.into_response();
    }
    if !accepted_any {
        let json = [(header::CONTENT_TYPE, "application/json")];
        return (StatusCode::BAD_REQUEST, json, Value::from(refusals).to_string()).into_response();
    }
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/event-stream"));
    let refusals = stream::iter(
        refusals.into_iter().map(|refusal| Ok(Bytes::from(format!("data: {refusal}\n\n")))),
    );
    (headers, Body::from_stream(refusals.chain(stream::select_all(streams)))).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn only_clients_of_revisions_with_batches_can_send_them() {
        let body = br#" [{"jsonrpc":"2.0","id":1,"method":"ping"}, 5] "#;
        let of_version = |version: &'static str| {
            of(&HeaderMap::from_iter([(VERSION, HeaderValue::from_static(version))]), body)
        };
        assert_eq!(of(&HeaderMap::new(), body).unwrap().len(), 2);
        assert!(of_version("2025-03-26").is_some() && of_version("2025-06-18").is_none());
        assert!(of(&HeaderMap::new(), b"[]").is_none() && of(&HeaderMap::new(), b"{}").is_none());
    }
}
