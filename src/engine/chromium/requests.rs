//! Converts CDP's network events into events for the request log and for waits.

use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use chromiumoxide::cdp::browser_protocol::network::EnableParams;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::{Map, Value, value::RawValue};

use super::session::parse_event;
use crate::engine::{
    PageEvent, ResourceKind, SocketActivity,
    network::{
        MAX_POST_DATA, RequestDetails, RequestEvent, ResourceType, ResponseDetails, SentDetails,
        WorkerKind,
    },
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

/// The parts of `Network.requestWillBeSent` that are parsed only if details are kept.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SentRequestDetails {
    request: CdpRequestDetails,
    redirect_response: Option<CdpResponseDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CdpRequestDetails {
    #[serde(default)]
    headers: Map<String, Value>,
    post_data: Option<String>,
    #[serde(default)]
    post_data_entries: Vec<PostDataEntry>,
}

/// A part of the data of a request, in base64.
#[derive(Deserialize)]
struct PostDataEntry {
    bytes: Option<String>,
}

/// The parts of `Network.responseReceived` that are parsed only if details are kept.
#[derive(Deserialize)]
struct ReceivedResponseDetails {
    response: CdpResponseDetails,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CdpResponseDetails {
    #[serde(default)]
    status_text: String,
    #[serde(default)]
    headers: Map<String, Value>,
}

/// Converts CDP's headers. It joins the values of a repeated header with newlines.
fn header_list(headers: Map<String, Value>) -> Vec<(String, String)> {
    let text = |value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    headers.into_iter().map(|(name, value)| (name, text(value))).collect()
}

impl From<CdpRequestDetails> for RequestDetails {
    fn from(details: CdpRequestDetails) -> Self {
        let CdpRequestDetails { headers, post_data, post_data_entries } = details;
        let decode = |entry: &PostDataEntry| STANDARD.decode(entry.bytes.as_ref()?).ok();
        // The text has replacement characters in place of bytes that are not UTF-8. The entries of
        // files have no bytes.
        let exact: Option<Vec<Vec<u8>>> = post_data_entries.iter().map(decode).collect();
        let exact = exact.filter(|entries| !entries.is_empty()).map(|entries| entries.concat());
        let post_data = exact.or_else(|| post_data.map(String::into_bytes));
        Self {
            headers: header_list(headers),
            post_data: post_data.filter(|data| data.len() <= MAX_POST_DATA),
        }
    }
}

impl From<CdpResponseDetails> for ResponseDetails {
    fn from(details: CdpResponseDetails) -> Self {
        Self { status_text: details.status_text, headers: header_list(details.headers) }
    }
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
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str())
    }

    /// Returns the type of the request. Preflights and prefetches of links are announced as
    /// `Other`, and intercepted as `Fetch`: their headers are more specific.
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
        struct HeadersVisitor;
        impl<'de> Visitor<'de> for HeadersVisitor {
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
        deserializer.deserialize_map(HeadersVisitor)
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

/// A sent or received message, without its data.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebSocketFrame {
    request_id: Arc<str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WebSocketFailed {
    request_id: Arc<str>,
    timestamp: f64,
    error_message: String,
}

/// Maximum bytes of all response bodies that the browser buffers for a session of a page.
const MAX_BODIES: i64 = 64 * 1024 * 1024;
/// Maximum bytes of a response body that the browser buffers.
const MAX_BODY: i64 = 10 * 1024 * 1024;

/// Returns the command that turns network events on. The browser buffers response bodies only if
/// details are kept.
pub(super) fn enable(keeps_details: bool) -> EnableParams {
    let (bodies, body) = if keeps_details { (MAX_BODIES, MAX_BODY) } else { (0, 0) };
    EnableParams {
        max_total_buffer_size: Some(bodies),
        max_resource_buffer_size: Some(body),
        max_post_data_size: keeps_details.then_some(MAX_POST_DATA as i64),
        ..EnableParams::default()
    }
}

/// The events that a network event is converted into.
#[derive(Default)]
pub(super) struct NetworkUpdate {
    /// For the log. `None` if the event is not logged, for example for a `data:` URL.
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

    fn socket(logged: Option<RequestEvent>, id: Arc<str>, activity: SocketActivity) -> Self {
        Self { logged, page: Some(PageEvent::Socket { id, activity }) }
    }
}

/// Converts a network event. The result is empty if the event is not used. With `keeps_details`, it
/// has the headers and the data of the request.
pub(super) fn translate(
    method: &str,
    params: &RawValue,
    worker: Option<WorkerKind>,
    keeps_details: bool,
) -> NetworkUpdate {
    let mut update = parse_update(method, params, worker).unwrap_or_default();
    if keeps_details && let Some(event) = &mut update.logged {
        add_details(event, method, params);
    }
    update
}

/// Parses the details of a request or a response, and adds them to its event.
fn add_details(event: &mut RequestEvent, method: &str, params: &RawValue) {
    match event {
        RequestEvent::Sent { details, .. } if method == "Network.requestWillBeSent" => {
            let parsed = parse_event::<SentRequestDetails>(method, params);
            *details = parsed.map(|parsed| {
                let redirect = parsed.redirect_response.map(Into::into);
                Box::new(SentDetails { request: parsed.request.into(), redirect })
            });
        }
        RequestEvent::Answered { details, .. } => {
            let parsed = parse_event::<ReceivedResponseDetails>(method, params);
            *details = parsed.map(|parsed| Box::new(parsed.response.into()));
        }
        _ => {}
    }
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
                details: None,
            });
            NetworkUpdate { logged, page: Some(page) }
        }
        "Network.responseReceived" => {
            let event: ResponseReceived = parse_event(method, params)?;
            let (id, status) = (event.request_id.clone(), event.response.status);
            NetworkUpdate {
                logged: Some(RequestEvent::Answered { id, status, details: None }),
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
            let id = event.request_id;
            let logged = RequestEvent::Sent {
                id: id.clone(),
                url: event.url,
                method: "GET".to_owned(),
                kind: ResourceType::WebSocket,
                at: now(),
                clock: None,
                frame: None,
                worker,
                redirected: None,
                details: None,
            };
            NetworkUpdate::socket(Some(logged), id, SocketActivity::Sent)
        }
        "Network.webSocketFrameSent" => {
            let event: WebSocketFrame = parse_event(method, params)?;
            NetworkUpdate::socket(None, event.request_id, SocketActivity::Sent)
        }
        "Network.webSocketFrameReceived" => {
            let event: WebSocketFrame = parse_event(method, params)?;
            NetworkUpdate::socket(None, event.request_id, SocketActivity::Received)
        }
        "Network.webSocketWillSendHandshakeRequest" => {
            let event: WebSocketHandshakeSent = parse_event(method, params)?;
            let (at, clock) = (event.wall_time * 1000.0, event.timestamp * 1000.0);
            NetworkUpdate::logged(RequestEvent::Begun { id: event.request_id, at, clock })
        }
        "Network.webSocketHandshakeResponseReceived" => {
            let event: WebSocketHandshakeReceived = parse_event(method, params)?;
            let (id, status) = (event.request_id.clone(), event.response.status);
            let logged = RequestEvent::Answered { id, status, details: None };
            NetworkUpdate::socket(Some(logged), event.request_id, SocketActivity::Received)
        }
        "Network.webSocketClosed" => {
            let event: LoadingFinished = parse_event(method, params)?;
            let clock = event.timestamp * 1000.0;
            let logged = RequestEvent::Finished { id: event.request_id.clone(), clock, size: None };
            NetworkUpdate::socket(Some(logged), event.request_id, SocketActivity::Closed)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn logged(method: &str, params: Value, keeps_details: bool) -> RequestEvent {
        let params = serde_json::value::to_raw_value(&params).unwrap();
        translate(method, &params, None, keeps_details).logged.unwrap()
    }

    fn sent(redirected: bool) -> Value {
        let mut params = json!({
            "requestId": "1", "timestamp": 1.0, "wallTime": 1.0, "type": "Fetch",
            "request": {
                "url": "http://a/", "method": "POST", "headers": {"Accept": "*/*"}, "postData": "\u{fffd}",
                "postDataEntries": [{"bytes": "/w=="}, {"bytes": "QQ=="}],
            },
        });
        if redirected {
            params["redirectResponse"] =
                json!({"status": 302, "statusText": "Found", "headers": {"Location": "/"}});
        }
        params
    }

    #[test]
    fn a_request_has_its_headers_and_exact_data_if_details_are_kept() {
        let event = logged("Network.requestWillBeSent", sent(true), true);
        let RequestEvent::Sent { details: Some(details), redirected, .. } = event else {
            panic!("{event:?}")
        };
        assert_eq!(details.request.headers, [("Accept".to_owned(), "*/*".to_owned())]);
        assert_eq!(details.request.post_data.as_deref(), Some(&[0xff, b'A'][..]));
        assert_eq!(redirected, Some(302));
        let redirect = details.redirect.unwrap();
        assert_eq!(redirect.status_text, "Found");
        assert_eq!(redirect.headers, [("Location".to_owned(), "/".to_owned())]);
    }

    #[test]
    fn a_request_has_no_details_if_they_are_not_kept() {
        let event = logged("Network.requestWillBeSent", sent(false), false);
        assert!(matches!(event, RequestEvent::Sent { details: None, .. }), "{event:?}");
    }

    #[test]
    fn a_response_has_its_status_text_and_headers_if_details_are_kept() {
        let params = json!({"requestId": "1", "type": "Fetch", "response": {
            "status": 201, "statusText": "Created", "url": "http://a/", "headers": {"Content-Length": "3"},
        }});
        let event = logged("Network.responseReceived", params, true);
        let RequestEvent::Answered { status: 201, details: Some(details), .. } = event else {
            panic!("{event:?}")
        };
        assert_eq!(details.status_text, "Created");
        assert_eq!(details.headers, [("Content-Length".to_owned(), "3".to_owned())]);
    }
}
