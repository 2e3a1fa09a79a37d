//! The endpoints that make a call and that read a recorded call.

use std::{net::IpAddr, time::SystemTime};

use axum::{
    Extension, Json,
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    ServerState,
    forms::{self, ApiError, CallMetadata, CallRequest, CallStatus, Exchange},
    times::{self, iso8601},
};
use crate::{
    config::Responses,
    offload,
    tools::{Recorded, Registry, Summary},
    transport::network::forwarded::ClientAddress,
};

/// The paths for making a call and for reading one.
pub(super) const REQUESTS_PATH: &str = "/api/requests";
pub(super) const REQUEST_PATH: &str = "/api/requests/{ref_id}";

/// `POST /api/requests`.
pub(super) async fn make(
    State(state): State<ServerState>,
    client: Option<Extension<ClientAddress>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let body = match super::object(&state, &headers, body).await {
        Ok(body) => body,
        Err(error_response) => return error_response,
    };
    let address = client.map(|client| client.0.0);
    match exchange(&state, address, Value::Object(body)).await {
        Ok((exchange, bytes)) => offload::in_place(bytes, || Json(exchange).into_response()),
        Err(refusal) => refusal.into_response(),
    }
}

/// `GET /api/requests/{ref_id}`.
pub(super) async fn show(State(state): State<ServerState>, Path(ref_id): Path<String>) -> Response {
    match state.server.registry().recorded(&ref_id).await {
        Ok(Some(recorded)) => Json(recorded_call(recorded)).into_response(),
        Ok(None) => ApiError::NoRecord(ref_id).into_response(),
        Err(error) => forms::failed(error, false, None).into_response(),
    }
}

/// Makes a call. Also returns the approximate size of the result in bytes.
async fn exchange(
    state: &ServerState,
    address: Option<IpAddr>,
    body: Value,
) -> Result<(Exchange, usize), ApiError> {
    let invalid = |why: String| ApiError::InvalidBody(format!("the request is not valid: {why}"));
    let CallRequest { session_id, tool, params, request_id } =
        serde_json::from_value(body).map_err(|error| invalid(error.to_string()))?;
    let registry = state.server.registry();
    if let Some(id) = &request_id {
        if Uuid::parse_str(id).is_err() {
            return Err(invalid(format!("`request_id` must be a UUID, not `{id}`")));
        }
        let earlier_call =
            registry.recorded(id).await.map_err(|error| forms::failed(error, false, None))?;
        if earlier_call.is_some() {
            return Err(ApiError::IdInUse(id.clone()));
        }
    }
    // Loads the parameters of upstream tools. If that fails, the call fails with the reason.
    let _ = registry.passed_tools().await;
    let arguments = arguments(registry, &tool, session_id.clone(), params.unwrap_or_default())
        .map_err(invalid)?;
    let started_at: DateTime<Utc> = SystemTime::now().into();
    let arguments = Value::Object(arguments);
    let outcome = super::call(state, address, &tool, arguments, request_id).await?;
    let no_browser = registry.manager().browser_failure().is_some();
    let outcome = forms::ensure_ran(outcome, no_browser)?;
    let bytes = outcome.bytes();
    let mut exchange = Exchange {
        ref_id: outcome.recorded_id(),
        session_id: outcome.session_id.or(session_id),
        status: CallStatus::Success,
        timestamp: iso8601(started_at),
        metadata: outcome
            .recorded
            .as_ref()
            .map_or(CallMetadata { tool, ..CallMetadata::default() }, metadata),
        error: None,
        error_code: None,
        details: Map::new(),
        retryable: None,
        suggestion: None,
        result: None,
    };
    match outcome.result {
        Ok(answer) => {
            if answer.is_failure() {
                exchange.status = CallStatus::Error;
                exchange.error = answer.failure();
            }
            let full = registry.manager().config().responses == Responses::Full;
            exchange.result = full.then(|| {
                let mut value = answer.into_value();
                offload::in_place(bytes, || {
                    times::rewrite_result(&exchange.metadata.tool, &mut value)
                });
                value
            });
        }
        Err(error) => {
            exchange.status = CallStatus::Error;
            exchange.error_code = Some(error.code.as_str());
            exchange.error = Some(error.message);
            exchange.details = error.details;
            times::rewrite_details(&mut exchange.details);
            exchange.retryable = Some(error.retryable);
            exchange.suggestion = error.suggestion;
        }
    }
    Ok((exchange, bytes))
}

/// Returns the tool's arguments. Every call may name a session. It is not passed to tools without a
/// session.
fn arguments(
    registry: &Registry,
    tool: &str,
    session_id: Option<String>,
    mut params: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let Some(session_id) = session_id else { return Ok(params) };
    let in_params = ["sessionId", "session_id"].iter().find_map(|name| params.get(*name));
    match in_params {
        Some(in_params) if *in_params != json!(session_id) => {
            return Err("`session_id` differs from that of `params`".to_owned());
        }
        Some(_) => {}
        None if registry.takes(tool, "sessionId") => {
            params.insert("sessionId".to_owned(), json!(session_id));
        }
        None => {}
    }
    Ok(params)
}

fn recorded_call(recorded: Recorded) -> Exchange {
    let call = &recorded.call;
    let at =
        i64::try_from(call.at).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    Exchange {
        status: match call.success {
            Some(true) => CallStatus::Success,
            Some(false) => CallStatus::Error,
            None => CallStatus::Running,
        },
        timestamp: iso8601(at),
        metadata: metadata(call),
        ref_id: Some(recorded.call.ref_id),
        session_id: recorded.call.session_id,
        error: recorded.error_message,
        error_code: None,
        details: Map::new(),
        retryable: None,
        suggestion: None,
        result: None,
    }
}

fn metadata(call: &Summary) -> CallMetadata {
    CallMetadata {
        tool: call.tool.clone(),
        has_snapshot: call.has_snapshot,
        has_console_logs: call.console_messages > 0,
        console_error_count: call.console_errors,
    }
}
