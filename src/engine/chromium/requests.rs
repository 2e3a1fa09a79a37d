//! CDP's network events as steps in the lives of requests.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, value::RawValue};

use super::browser::parse;
use crate::engine::network::{RequestEvent, ResourceType, WorkerKind};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    request_id: Arc<str>,
    request: Request,
    /// Seconds.
    timestamp: f64,
    /// Seconds since 1970.
    wall_time: f64,
    frame_id: Option<Arc<str>>,
    #[serde(rename = "type")]
    kind: Option<String>,
    redirect_response: Option<Response>,
}

/// A request as it is announced and as it is stopped.
#[derive(Deserialize)]
pub(super) struct Request {
    pub url: String,
    pub method: String,
    #[serde(default)]
    headers: Map<String, Value>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str())
    }

    /// What it is for. Preflights and what links fetch ahead are announced as `Other`, and stopped as `Fetch`: their
    /// headers say more.
    pub fn kind(&self, told: &str) -> ResourceType {
        let asks = self.method == "OPTIONS" && self.header("access-control-request-method").is_some();
        let purpose = self.header("sec-purpose").or_else(|| self.header("purpose"));
        match ResourceType::named(told) {
            ResourceType::Other if asks => ResourceType::Preflight,
            ResourceType::Other | ResourceType::Fetch
                if purpose.is_some_and(|purpose| purpose.starts_with("prefetch")) =>
            {
                ResourceType::Prefetch
            }
            kind => kind,
        }
    }
}

#[derive(Deserialize)]
struct Response {
    status: u16,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    request_id: Arc<str>,
    response: Response,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finished {
    request_id: Arc<str>,
    timestamp: f64,
    encoded_data_length: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Failed {
    request_id: Arc<str>,
    timestamp: f64,
    error_text: String,
    cors_error_status: Option<CorsError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CorsError {
    cors_error: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SocketCreated {
    request_id: Arc<str>,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SocketSent {
    request_id: Arc<str>,
    timestamp: f64,
    wall_time: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SocketFailed {
    request_id: Arc<str>,
    timestamp: f64,
    error_message: String,
}

/// The step that `method` tells of; `None` where it tells of none, or of data that crosses no network.
pub(super) fn translate(method: &str, params: &RawValue, worker: Option<WorkerKind>) -> Option<RequestEvent> {
    Some(match method {
        "Network.requestWillBeSent" => {
            let event: WillBeSent = parse(method, params)?;
            if event.request.url.starts_with("data:") {
                return None;
            }
            RequestEvent::Sent {
                id: event.request_id,
                kind: event.request.kind(event.kind.as_deref().unwrap_or_default()),
                at: event.wall_time * 1000.0,
                clock: event.timestamp * 1000.0,
                frame: event.frame_id,
                worker,
                redirected: event.redirect_response.map(|response| response.status),
                url: event.request.url,
                method: event.request.method,
            }
        }
        "Network.responseReceived" | "Network.webSocketHandshakeResponseReceived" => {
            let event: Received = parse(method, params)?;
            RequestEvent::Answered { id: event.request_id, status: event.response.status }
        }
        "Network.loadingFinished" => {
            let event: Finished = parse(method, params)?;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of bytes")]
            let size = event.encoded_data_length.filter(|size| *size >= 0.0).map(|size| size as u64);
            RequestEvent::Finished { id: event.request_id, clock: event.timestamp * 1000.0, size }
        }
        "Network.loadingFailed" => {
            let event: Failed = parse(method, params)?;
            let reason = match event.cors_error_status {
                Some(CorsError { cors_error }) => format!("{} (CORS: {cors_error})", event.error_text),
                // Chromium tells here, and only here, that it was us.
                None => event.error_text.trim_end_matches(".Inspector").to_owned(),
            };
            RequestEvent::Failed { id: event.request_id, clock: event.timestamp * 1000.0, reason }
        }
        // Its times come with the handshake.
        "Network.webSocketCreated" => {
            let event: SocketCreated = parse(method, params)?;
            RequestEvent::Sent {
                id: event.request_id,
                url: event.url,
                method: "GET".to_owned(),
                kind: ResourceType::WebSocket,
                at: 0.0,
                clock: 0.0,
                frame: None,
                worker,
                redirected: None,
            }
        }
        "Network.webSocketWillSendHandshakeRequest" => {
            let event: SocketSent = parse(method, params)?;
            let (at, clock) = (event.wall_time * 1000.0, event.timestamp * 1000.0);
            RequestEvent::Begun { id: event.request_id, at, clock }
        }
        "Network.webSocketClosed" => {
            let event: Finished = parse(method, params)?;
            RequestEvent::Finished { id: event.request_id, clock: event.timestamp * 1000.0, size: None }
        }
        "Network.webSocketFrameError" => {
            let event: SocketFailed = parse(method, params)?;
            let reason = event.error_message;
            RequestEvent::Failed { id: event.request_id, clock: event.timestamp * 1000.0, reason }
        }
        _ => return None,
    })
}
