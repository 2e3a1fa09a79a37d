//! Converts CDP's network events into events for the request log and for waits.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use chromiumoxide::cdp::browser_protocol::network::EnableParams;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use super::session::parse_event;
use crate::engine::{
    PageEvent, ResourceKind,
    network::{RequestEvent, ResourceType, WorkerKind},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestWillBeSent {
    request_id: Arc<str>,
    loader_id: Option<Arc<str>>,
    request: CdpRequest,
    /// Seconds.
    timestamp: f64,
    /// Seconds since 1970.
    wall_time: f64,
    frame_id: Option<Arc<str>>,
    #[serde(rename = "type")]
    kind: Option<String>,
    redirect_response: Option<ResponseStatus>,
}

#[derive(Deserialize)]
struct ResponseStatus {
    status: u16,
}

/// A request in `Network` and in `Fetch` events.
#[derive(Deserialize)]
pub(super) struct CdpRequest {
    pub url: String,
    pub method: String,
    #[serde(default)]
    headers: Map<String, Value>,
}

impl CdpRequest {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str())
    }

    /// The type of the request. Preflights and prefetches of links are announced as `Other`, and
    /// intercepted as `Fetch`: their headers are more specific.
    pub fn kind(&self, reported: &str) -> ResourceType {
        let is_preflight =
            self.method == "OPTIONS" && self.header("access-control-request-method").is_some();
        let purpose = self.header("sec-purpose").or_else(|| self.header("purpose"));
        match ResourceType::named(reported) {
            ResourceType::Other if is_preflight => ResourceType::Preflight,
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
struct CdpResponse {
    status: u16,
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: ContentLength,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResponseReceived {
    request_id: Arc<str>,
    loader_id: Option<Arc<str>>,
    #[serde(rename = "type", default)]
    kind: String,
    response: CdpResponse,
}

impl ResponseReceived {
    /// Converts the event for waits on the page.
    fn into_page_event(self) -> Option<PageEvent> {
        if is_fetch(&self.kind) {
            return Some(PageEvent::ResponseStarted {
                id: self.request_id,
                length: self.response.headers.0,
            });
        }
        let document = self
            .loader_id
            .filter(|loader| self.kind == "Document" && *loader == self.request_id)?;
        let status = self.response.status;
        self.response
            .url
            .starts_with("http")
            .then_some(PageEvent::DocumentResponse { document, status })
    }
}

/// The `content-length` header. The other headers are skipped without allocations.
#[derive(Default)]
struct ContentLength(Option<u64>);

impl<'de> Deserialize<'de> for ContentLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Headers;
        impl<'de> Visitor<'de> for Headers {
            type Value = ContentLength;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("headers")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut headers: A,
            ) -> Result<ContentLength, A::Error> {
                let mut length = None;
                while let Some(name) = headers.next_key::<String>()? {
                    if name.eq_ignore_ascii_case("content-length") {
                        length = headers.next_value::<String>()?.trim().parse().ok();
                    } else {
                        headers.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(ContentLength(length))
            }
        }
        deserializer.deserialize_map(Headers)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebSocketHandshakeReceived {
    request_id: Arc<str>,
    response: ResponseStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DataReceived {
    request_id: Arc<str>,
    encoded_data_length: u64,
}

fn is_fetch(kind: &str) -> bool {
    matches!(kind, "Fetch" | "XHR")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadingFinished {
    request_id: Arc<str>,
    timestamp: f64,
    encoded_data_length: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LoadingFailed {
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
struct WebSocketCreated {
    request_id: Arc<str>,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebSocketHandshakeSent {
    request_id: Arc<str>,
    timestamp: f64,
    wall_time: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebSocketFailed {
    request_id: Arc<str>,
    timestamp: f64,
    error_message: String,
}

/// Returns the command that turns network events on. The browser does not buffer response bodies,
/// which are not read.
pub(super) fn enable() -> EnableParams {
    EnableParams {
        max_total_buffer_size: Some(0),
        max_resource_buffer_size: Some(0),
        ..EnableParams::default()
    }
}

/// The events that a network event is converted into.
#[derive(Default)]
pub(super) struct NetworkUpdate {
    /// For the log; `None` for data that crosses no network.
    pub logged: Option<RequestEvent>,
    /// For waits on the page.
    pub page: Option<PageEvent>,
}

impl NetworkUpdate {
    fn logged(event: RequestEvent) -> Self {
        Self { logged: Some(event), page: None }
    }

    fn ended(event: RequestEvent, id: Arc<str>) -> Self {
        Self { logged: Some(event), page: Some(PageEvent::RequestEnded { id }) }
    }
}

/// Converts a network event. The result is empty if the event is not used.
pub(super) fn translate(
    method: &str,
    params: &RawValue,
    worker: Option<WorkerKind>,
) -> NetworkUpdate {
    parse_update(method, params, worker).unwrap_or_default()
}

/// Milliseconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

fn parse_update(
    method: &str,
    params: &RawValue,
    worker: Option<WorkerKind>,
) -> Option<NetworkUpdate> {
    Some(match method {
        "Network.requestWillBeSent" => {
            let event: RequestWillBeSent = parse_event(method, params)?;
            let kind = event.kind.as_deref().unwrap_or_default();
            let page = PageEvent::RequestStarted {
                id: event.request_id.clone(),
                frame: event.frame_id.clone(),
                document: event.loader_id,
                kind: match kind {
                    "Document" => ResourceKind::Document,
                    "Script" => ResourceKind::Script,
                    kind if is_fetch(kind) => ResourceKind::Fetch,
                    _ => ResourceKind::Other,
                },
            };
            let logged = (!event.request.url.starts_with("data:")).then(|| RequestEvent::Sent {
                id: event.request_id,
                kind: event.request.kind(kind),
                at: event.wall_time * 1000.0,
                clock: Some(event.timestamp * 1000.0),
                frame: event.frame_id,
                worker,
                redirected: event.redirect_response.map(|response| response.status),
                url: event.request.url,
                method: event.request.method,
            });
            NetworkUpdate { logged, page: Some(page) }
        }
        "Network.responseReceived" => {
            let event: ResponseReceived = parse_event(method, params)?;
            let (id, status) = (event.request_id.clone(), event.response.status);
            NetworkUpdate {
                logged: Some(RequestEvent::Answered { id, status }),
                page: event.into_page_event(),
            }
        }
        "Network.dataReceived" => {
            let event: DataReceived = parse_event(method, params)?;
            let page =
                PageEvent::ResponseData { id: event.request_id, bytes: event.encoded_data_length };
            NetworkUpdate { logged: None, page: Some(page) }
        }
        "Network.loadingFinished" => {
            let event: LoadingFinished = parse_event(method, params)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bytes"
            )]
            let size =
                event.encoded_data_length.filter(|size| *size >= 0.0).map(|size| size as u64);
            let (id, clock) = (event.request_id.clone(), event.timestamp * 1000.0);
            NetworkUpdate::ended(RequestEvent::Finished { id, clock, size }, event.request_id)
        }
        "Network.loadingFailed" => {
            let event: LoadingFailed = parse_event(method, params)?;
            let reason = match event.cors_error_status {
                Some(CorsError { cors_error }) => {
                    format!("{} (CORS: {cors_error})", event.error_text)
                }
                // Chromium appends this suffix if Troupe blocked the request.
                None => event.error_text.trim_end_matches(".Inspector").to_owned(),
            };
            let (id, clock) = (event.request_id.clone(), event.timestamp * 1000.0);
            NetworkUpdate::ended(RequestEvent::Failed { id, clock, reason }, event.request_id)
        }
        // The event has no timestamp. The handshake has one, but a WebSocket that cannot connect
        // has no handshake.
        "Network.webSocketCreated" => {
            let event: WebSocketCreated = parse_event(method, params)?;
            NetworkUpdate::logged(RequestEvent::Sent {
                id: event.request_id,
                url: event.url,
                method: "GET".to_owned(),
                kind: ResourceType::WebSocket,
                at: now(),
                clock: None,
                frame: None,
                worker,
                redirected: None,
            })
        }
        "Network.webSocketWillSendHandshakeRequest" => {
            let event: WebSocketHandshakeSent = parse_event(method, params)?;
            let (at, clock) = (event.wall_time * 1000.0, event.timestamp * 1000.0);
            NetworkUpdate::logged(RequestEvent::Begun { id: event.request_id, at, clock })
        }
        "Network.webSocketHandshakeResponseReceived" => {
            let event: WebSocketHandshakeReceived = parse_event(method, params)?;
            NetworkUpdate::logged(RequestEvent::Answered {
                id: event.request_id,
                status: event.response.status,
            })
        }
        "Network.webSocketClosed" => {
            let event: LoadingFinished = parse_event(method, params)?;
            let clock = event.timestamp * 1000.0;
            NetworkUpdate::logged(RequestEvent::Finished {
                id: event.request_id,
                clock,
                size: None,
            })
        }
        "Network.webSocketFrameError" => {
            let event: WebSocketFailed = parse_event(method, params)?;
            let reason = event.error_message;
            NetworkUpdate::logged(RequestEvent::Failed {
                id: event.request_id,
                clock: event.timestamp * 1000.0,
                reason,
            })
        }
        _ => return None,
    })
}
