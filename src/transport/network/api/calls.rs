//! Endpoints that run any call, and those that read its record.

use std::time::SystemTime;

use axum::{
    Json,
    body::Body,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{
    Shared,
    forms::{self, CallRequest, Exchange, Metadata, Refusal, Status},
    times::{self, iso8601},
};
use crate::{
    config::Responses,
    offload,
    tools::{Recorded, Registry, Summary},
};

/// The path to make calls, and to read one.
pub(super) const ALL: &str = "/api/requests";
pub(super) const ONE: &str = "/api/requests/{ref_id}";

/// `POST /api/requests`.
pub(super) async fn make(State(shared): State<Shared>, headers: HeaderMap, body: Body) -> Response {
    let given = match super::object(&shared, &headers, body).await {
        Ok(given) => given,
        Err(refused) => return refused,
    };
    match exchange(&shared, Value::Object(given)).await {
        Ok((exchange, bytes)) => offload::in_place(bytes, || Json(exchange).into_response()),
        Err(refusal) => refusal.into_response(),
    }
}

/// `GET /api/requests/{ref_id}`.
pub(super) async fn show(State(shared): State<Shared>, Path(ref_id): Path<String>) -> Response {
    match shared.server.registry().recorded(&ref_id).await {
        Ok(Some(recorded)) => Json(told(recorded)).into_response(),
        Ok(None) => Refusal::NoRecord(ref_id).into_response(),
        Err(error) => forms::failed(error, false, None).into_response(),
    }
}

/// Makes a call. Returns also about how many bytes the result has.
async fn exchange(shared: &Shared, given: Value) -> Result<(Exchange, usize), Refusal> {
    let unreadable = |why: String| Refusal::Unreadable(format!("not a call: {why}"));
    let CallRequest { session_id, tool, params, request_id } =
        serde_json::from_value(given).map_err(|error| unreadable(error.to_string()))?;
    let registry = shared.server.registry();
    if let Some(id) = &request_id {
        if Uuid::parse_str(id).is_err() {
            return Err(unreadable(format!("`request_id` must be a UUID, not `{id}`")));
        }
        let before =
            registry.recorded(id).await.map_err(|error| forms::failed(error, false, None))?;
        if before.is_some() {
            return Err(Refusal::Taken(id.clone()));
        }
    }
    // Their parameters must be known. If they are not available, the call reports it.
    let _ = registry.passed_tools().await;
    let arguments = arguments(registry, &tool, session_id.clone(), params.unwrap_or_default())
        .map_err(unreadable)?;
    let begun: DateTime<Utc> = SystemTime::now().into();
    let outcome = super::call(shared, &tool, Value::Object(arguments), request_id).await?;
    let no_browser = registry.manager().browser_failure().is_some();
    let outcome = forms::ran(outcome, no_browser)?;
    let bytes = outcome.bytes();
    let mut exchange = Exchange {
        ref_id: outcome.recorded_id(),
        session_id: outcome.session_id.or(session_id),
        status: Status::Success,
        timestamp: iso8601(begun),
        metadata: outcome
            .recorded
            .as_ref()
            .map_or(Metadata { tool, ..Metadata::default() }, metadata),
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
                exchange.status = Status::Error;
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
            exchange.status = Status::Error;
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

/// The tool's arguments. Every call may name a session; a tool that works in none is not told.
fn arguments(
    registry: &Registry,
    tool: &str,
    session_id: Option<String>,
    mut params: Map<String, Value>,
) -> Result<Map<String, Value>, String> {
    let Some(session_id) = session_id else { return Ok(params) };
    let within = ["sessionId", "session_id"].iter().find_map(|name| params.get(*name));
    match within {
        Some(within) if *within != json!(session_id) => {
            return Err("`session_id` and that of `params` are not the same".to_owned());
        }
        Some(_) => {}
        None if registry.takes(tool, "sessionId") => {
            params.insert("sessionId".to_owned(), json!(session_id));
        }
        None => {}
    }
    Ok(params)
}

fn told(recorded: Recorded) -> Exchange {
    let call = &recorded.call;
    let at =
        i64::try_from(call.at).ok().and_then(DateTime::from_timestamp_millis).unwrap_or_default();
    Exchange {
        status: match call.success {
            Some(true) => Status::Success,
            Some(false) => Status::Error,
            None => Status::Running,
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

fn metadata(call: &Summary) -> Metadata {
    Metadata {
        tool: call.tool.clone(),
        has_snapshot: call.has_snapshot,
        has_console_logs: call.console_messages > 0,
        console_error_count: call.console_errors,
    }
}
