//! Converts CDP's network events into steps of requests, for the log and for waits.

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

use super::browser::parse;
use crate::engine::{
    PageEvent, ResourceKind,
    network::{RequestEvent, ResourceType, WorkerKind},
};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WillBeSent {
    request_id: Arc<str>,
    loader_id: Option<Arc<str>>,
    request: Request,
    /// Seconds.
    timestamp: f64,
    /// Seconds since 1970.
    wall_time: f64,
    frame_id: Option<Arc<str>>,
    #[serde(rename = "type")]
    kind: Option<String>,
    redirect_response: Option<Redirect>,
}

#[derive(Deserialize)]
struct Redirect {
    status: u16,
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

    /// The type of the request. Preflights and prefetches of links are announced as `Other`, and intercepted as
    /// `Fetch`: their headers are more specific.
    pub fn kind(&self, told: &str) -> ResourceType {
        let asks =
            self.method == "OPTIONS" && self.header("access-control-request-method").is_some();
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
    #[serde(default)]
    url: String,
    #[serde(default)]
    headers: ContentLength,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    request_id: Arc<str>,
    loader_id: Option<Arc<str>>,
    #[serde(rename = "type", default)]
    kind: String,
    response: Response,
}

impl Received {
    /// Converts the event for waits on the page.
    fn for_page(self) -> Option<PageEvent> {
        if is_fetch(&self.kind) {
            return Some(PageEvent::AnswerBegun {
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

/// The one header that matters here; no memory is taken for the others.
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
struct HandshakeReceived {
    request_id: Arc<str>,
    response: Redirect,
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

/// Turns network events on. Nobody reads the bodies of responses: the browser need not keep them.
pub(super) fn enable() -> EnableParams {
    EnableParams {
        max_total_buffer_size: Some(0),
        max_resource_buffer_size: Some(0),
        ..EnableParams::default()
    }
}

/// The meaning of a network event.
#[derive(Default)]
pub(super) struct Step {
    /// For the log; `None` for data that crosses no network.
    pub logged: Option<RequestEvent>,
    /// For who waits for the page.
    pub page: Option<PageEvent>,
}

impl Step {
    fn logged(event: RequestEvent) -> Self {
        Self { logged: Some(event), page: None }
    }

    fn ended(event: RequestEvent, id: Arc<str>) -> Self {
        Self { logged: Some(event), page: Some(PageEvent::RequestEnded { id }) }
    }
}

/// Translates a network event, which is parsed once. Empty where it means nothing to us.
pub(super) fn translate(method: &str, params: &RawValue, worker: Option<WorkerKind>) -> Step {
    one(method, params, worker).unwrap_or_default()
}

/// Milliseconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

fn one(method: &str, params: &RawValue, worker: Option<WorkerKind>) -> Option<Step> {
    Some(match method {
        "Network.requestWillBeSent" => {
            let event: WillBeSent = parse(method, params)?;
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
            Step { logged, page: Some(page) }
        }
        "Network.responseReceived" => {
            let event: Received = parse(method, params)?;
            let (id, status) = (event.request_id.clone(), event.response.status);
            Step { logged: Some(RequestEvent::Answered { id, status }), page: event.for_page() }
        }
        "Network.dataReceived" => {
            let event: DataReceived = parse(method, params)?;
            let page = PageEvent::AnswerReceived {
                id: event.request_id,
                bytes: event.encoded_data_length,
            };
            Step { logged: None, page: Some(page) }
        }
        "Network.loadingFinished" => {
            let event: Finished = parse(method, params)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of bytes"
            )]
            let size =
                event.encoded_data_length.filter(|size| *size >= 0.0).map(|size| size as u64);
            let (id, clock) = (event.request_id.clone(), event.timestamp * 1000.0);
            Step::ended(RequestEvent::Finished { id, clock, size }, event.request_id)
        }
        "Network.loadingFailed" => {
            let event: Failed = parse(method, params)?;
            let reason = match event.cors_error_status {
                Some(CorsError { cors_error }) => {
                    format!("{} (CORS: {cors_error})", event.error_text)
                }
                // Chromium tells here, and only here, that it was us.
                None => event.error_text.trim_end_matches(".Inspector").to_owned(),
            };
            let (id, clock) = (event.request_id.clone(), event.timestamp * 1000.0);
            Step::ended(RequestEvent::Failed { id, clock, reason }, event.request_id)
        }
        // The event has no time. The handshake has one, but a WebSocket that cannot connect never gets so far.
        "Network.webSocketCreated" => {
            let event: SocketCreated = parse(method, params)?;
            Step::logged(RequestEvent::Sent {
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
            let event: SocketSent = parse(method, params)?;
            let (at, clock) = (event.wall_time * 1000.0, event.timestamp * 1000.0);
            Step::logged(RequestEvent::Begun { id: event.request_id, at, clock })
        }
        "Network.webSocketHandshakeResponseReceived" => {
            let event: HandshakeReceived = parse(method, params)?;
            Step::logged(RequestEvent::Answered {
                id: event.request_id,
                status: event.response.status,
            })
        }
        "Network.webSocketClosed" => {
            let event: Finished = parse(method, params)?;
            let clock = event.timestamp * 1000.0;
            Step::logged(RequestEvent::Finished { id: event.request_id, clock, size: None })
        }
        "Network.webSocketFrameError" => {
            let event: SocketFailed = parse(method, params)?;
            let reason = event.error_message;
            Step::logged(RequestEvent::Failed {
                id: event.request_id,
                clock: event.timestamp * 1000.0,
                reason,
            })
        }
        _ => return None,
    })
}
