//! Converts BiDi's network events into page events and log events.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{navigation_events::parse, network_errors};
use crate::engine::{
    PageEvent, ResourceKind,
    network::{RequestDetails, RequestEvent, ResourceType, ResponseDetails, SentDetails},
};

/// The parameters of `network` events.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NetworkEvent {
    pub context: Option<Arc<str>>,
    pub navigation: Option<Arc<str>>,
    #[serde(default)]
    pub is_blocked: bool,
    redirect_count: u64,
    pub request: BidiRequest,
    response: Option<BidiResponse>,
    /// Milliseconds since 1970.
    timestamp: f64,
    error_text: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BidiRequest {
    pub request: Arc<str>,
    pub url: String,
    pub method: String,
    #[serde(default)]
    pub headers: Vec<BidiHeader>,
    #[serde(default)]
    destination: Option<String>,
    initiator_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct BidiHeader {
    pub name: String,
    pub value: HeaderValue,
}

#[derive(Deserialize)]
pub(super) struct HeaderValue {
    pub value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BidiResponse {
    status: u16,
    #[serde(default)]
    status_text: String,
    #[serde(default)]
    headers: Vec<BidiHeader>,
    bytes_received: Option<u64>,
}

impl BidiResponse {
    fn details(&self) -> ResponseDetails {
        ResponseDetails {
            status_text: self.status_text.clone(),
            headers: header_list(&self.headers),
        }
    }
}

/// Returns names and values.
fn header_list(headers: &[BidiHeader]) -> Vec<(String, String)> {
    let pair = |header: &BidiHeader| (header.name.clone(), header.value.value.clone());
    headers.iter().map(pair).collect()
}

fn header<'a>(headers: &'a [BidiHeader], name: &str) -> Option<&'a str> {
    let found = headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    found.map(|header| header.value.value.as_str())
}

/// A response that redirects to another request with the same id.
pub(super) struct Redirect {
    status: u16,
    details: ResponseDetails,
}

impl BidiRequest {
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|header| (header.name.as_str(), header.value.value.as_str()))
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Returns the resource type of the request.
    pub fn kind(&self) -> ResourceType {
        // BiDi reports a WebSocket with the URL of its HTTP handshake.
        if self.header("upgrade").is_some_and(|to| to.eq_ignore_ascii_case("websocket")) {
            return ResourceType::WebSocket;
        }
        if self.method == "OPTIONS" && self.header("access-control-request-method").is_some() {
            return ResourceType::Preflight;
        }
        let destination = self.destination.as_deref().unwrap_or_default();
        match (destination, self.initiator_type.as_deref().unwrap_or_default()) {
            ("document" | "iframe" | "frame" | "object" | "embed", _) => ResourceType::Document,
            ("style", _) => ResourceType::Stylesheet,
            ("image", _) => ResourceType::Image,
            ("audio" | "video", _) => ResourceType::Media,
            ("track", _) => ResourceType::TextTrack,
            ("font", _) => ResourceType::Font,
            ("manifest", _) => ResourceType::Manifest,
            (
                "script" | "worker" | "sharedworker" | "serviceworker" | "audioworklet"
                | "paintworklet",
                _,
            ) => ResourceType::Script,
            (_, "beacon" | "ping") => ResourceType::Ping,
            _ if self.header("accept") == Some("text/event-stream") => ResourceType::EventSource,
            (_, "xmlhttprequest") => ResourceType::Xhr,
            (_, "fetch") => ResourceType::Fetch,
            // A beacon.
            _ if self.method == "POST" && self.header("sec-fetch-mode") == Some("no-cors") => {
                ResourceType::Ping
            }
            _ => ResourceType::Other,
        }
    }
}

/// Parses a network event. Returns `None` for `data:` URLs, which cross no network, except for
/// documents.
pub(super) fn parse_event(method: &str, params: &RawValue) -> Option<NetworkEvent> {
    let event: NetworkEvent = parse(method, params)?;
    (!event.request.url.starts_with("data:") || event.navigation.is_some()).then_some(event)
}

impl NetworkEvent {
    /// Returns whether it is a redirect: another request with the same id follows.
    fn is_redirected(&self) -> bool {
        self.response.as_ref().is_some_and(|response| {
            matches!(response.status, 301 | 302 | 303 | 307 | 308)
                && header(&response.headers, "location").is_some()
        })
    }

    /// Converts the event for waits. `document` is the document in its frame.
    pub fn page_event(&self, method: &str, document: Option<Arc<str>>) -> Option<PageEvent> {
        let id = self.request.request.clone();
        Some(match method {
            "network.beforeRequestSent" => PageEvent::RequestStarted {
                id,
                frame: self.context.clone(),
                document: self.navigation.clone().or(document),
                kind: match self.request.kind() {
                    ResourceType::Document => ResourceKind::Document,
                    ResourceType::Script => ResourceKind::Script,
                    ResourceType::Fetch | ResourceType::Xhr => ResourceKind::Fetch,
                    _ => ResourceKind::Other,
                },
            },
            "network.responseStarted" => {
                let document = self.navigation.clone()?;
                let of_document = self.request.kind() == ResourceType::Document;
                if !of_document || !self.request.url.starts_with("http") {
                    return None;
                }
                PageEvent::DocumentResponse { document, status: self.response.as_ref()?.status }
            }
            "network.responseCompleted" if self.is_redirected() => return None,
            "network.responseCompleted" | "network.fetchError" => PageEvent::RequestEnded { id },
            _ => return None,
        })
    }

    /// Converts the event for the log. `redirect` is the redirect response that caused the request.
    /// With `keeps_details`, the result contains the headers.
    pub fn log_event(
        &self,
        method: &str,
        redirect: Option<Redirect>,
        keeps_details: bool,
    ) -> Option<RequestEvent> {
        if !self.request.url.starts_with("http") {
            return None;
        }
        let id = self.request.request.clone();
        let clock = self.timestamp;
        let url = self.request.url.clone();
        let redirect = redirect.filter(|_| self.redirect_count > 0);
        Some(match method {
            "network.beforeRequestSent" => RequestEvent::Sent {
                id,
                url: match self.request.kind() {
                    ResourceType::WebSocket => url.replacen("http", "ws", 1),
                    _ => url,
                },
                method: self.request.method.clone(),
                kind: self.request.kind(),
                at: self.timestamp,
                clock: Some(clock),
                frame: self.context.clone(),
                worker: None,
                redirected: redirect.as_ref().map(|redirect| redirect.status),
                details: keeps_details.then(|| {
                    let headers = header_list(&self.request.headers);
                    Box::new(SentDetails {
                        request: RequestDetails { headers, post_data: None },
                        redirect: redirect.map(|redirect| redirect.details),
                    })
                }),
            },
            "network.responseStarted" => {
                let response = self.response.as_ref()?;
                let details = keeps_details.then(|| Box::new(response.details()));
                RequestEvent::Answered { id, status: response.status, details }
            }
            "network.responseCompleted" if self.is_redirected() => return None,
            "network.responseCompleted" => {
                RequestEvent::Finished { id, clock, size: self.response.as_ref()?.bytes_received }
            }
            "network.fetchError" => {
                let reason = network_errors::chromium_name(
                    self.error_text.as_deref().unwrap_or("net::ERR_FAILED"),
                );
                RequestEvent::Failed { id, clock, reason }
            }
            _ => return None,
        })
    }

    /// Returns the redirect, if the response is one.
    pub fn redirect(&self, method: &str) -> Option<Redirect> {
        let response = self.response.as_ref()?;
        (method == "network.responseCompleted" && self.is_redirected())
            .then(|| Redirect { status: response.status, details: response.details() })
    }

    /// Returns whether the request was aborted, which ends its navigation.
    pub fn is_aborted(&self) -> bool {
        self.error_text.as_deref() == Some("NS_BINDING_ABORTED")
    }
}
