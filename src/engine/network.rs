//! Network rules and network events of a context, as plain data.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FrameId, url_pattern::UrlPattern};
use crate::offload;

/// The type of a requested resource, as in CDP, in lower case.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ResourceType {
    Document,
    Stylesheet,
    Image,
    Media,
    Font,
    Script,
    TextTrack,
    Xhr,
    Fetch,
    EventSource,
    WebSocket,
    Manifest,
    Ping,
    Prefetch,
    Preflight,
    Other,
}

impl ResourceType {
    /// Parses CDP's name of a type. Types that are not listed here are `other`.
    pub fn named(name: &str) -> Self {
        let name = name.to_ascii_lowercase();
        let value = serde::de::value::StrDeserializer::<serde::de::value::Error>::new(&name);
        Self::deserialize(value).unwrap_or(Self::Other)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Stylesheet => "stylesheet",
            Self::Image => "image",
            Self::Media => "media",
            Self::Font => "font",
            Self::Script => "script",
            Self::TextTrack => "texttrack",
            Self::Xhr => "xhr",
            Self::Fetch => "fetch",
            Self::EventSource => "eventsource",
            Self::WebSocket => "websocket",
            Self::Manifest => "manifest",
            Self::Ping => "ping",
            Self::Prefetch => "prefetch",
            Self::Preflight => "preflight",
            Self::Other => "other",
        }
    }
}

/// A mocked response.
#[derive(Debug, Clone, PartialEq)]
pub struct Mock {
    pub url: UrlPattern,
    pub status: u16,
    pub headers: Vec<(String, String)>,
    /// Base64, as the protocols require.
    pub body: String,
}

impl Mock {
    /// Creates a response for requests that match `url`.
    pub fn new(url: UrlPattern, status: u16, headers: Vec<(String, String)>, body: &[u8]) -> Self {
        let body = offload::in_place(body.len(), || STANDARD.encode(body));
        Self { url, status, headers, body }
    }
}

/// The speed of the network. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Throttling {
    /// Bytes a second.
    pub download: Option<f64>,
    /// Bytes a second.
    pub upload: Option<f64>,
    /// Minimum time from a request to the headers of its response, in milliseconds.
    pub latency: f64,
}

/// The rules for all requests of a context: those of its pages, frames and workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkRules {
    pub blocked: Vec<ResourceType>,
    /// The first matching mock applies, also to requests that are blocked.
    pub mocks: Vec<Arc<Mock>>,
    pub offline: bool,
    pub throttling: Throttling,
}

impl NetworkRules {
    /// Returns the mock for `url`, if one matches.
    pub fn mock_for(&self, url: &str) -> Option<&Arc<Mock>> {
        self.mocks.iter().find(|mock| mock.url.fits(url))
    }
}

/// The kind of worker that made a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WorkerKind {
    Dedicated,
    Shared,
    Service,
}

/// A step of a request, for the log. Requests of shared and service workers are reported to every
/// page of their context. `clock` is in milliseconds, with an arbitrary origin.
#[derive(Debug, Clone, PartialEq)]
pub enum RequestEvent {
    Sent {
        id: Arc<str>,
        url: String,
        method: String,
        kind: ResourceType,
        /// Milliseconds since 1970.
        at: f64,
        /// `None` if it is not known before `Begun`, or at all.
        clock: Option<f64>,
        frame: Option<FrameId>,
        worker: Option<WorkerKind>,
        /// Status of the redirect under the same id that led here.
        redirected: Option<u16>,
    },
    /// The times of a request that was reported before they were known.
    Begun {
        id: Arc<str>,
        at: f64,
        clock: f64,
    },
    Answered {
        id: Arc<str>,
        status: u16,
    },
    /// A mock responds to the request. May be reported before `Sent`.
    Mocked {
        id: Arc<str>,
    },
    Finished {
        id: Arc<str>,
        clock: f64,
        /// Encoded size of headers and body in bytes.
        size: Option<u64>,
    },
    Failed {
        id: Arc<str>,
        clock: f64,
        reason: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum SameSite {
    Strict,
    Lax,
    None,
}

/// A cookie, in Playwright's shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    /// With a leading dot, the cookie is also sent to subdomains.
    pub domain: String,
    pub path: String,
    /// Seconds since 1970. -1 for a session cookie.
    pub expires: f64,
    pub http_only: bool,
    pub secure: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_site: Option<SameSite>,
    /// The top-level site of a partitioned cookie (CHIPS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_key: Option<String>,
    /// Whether a partitioned cookie was set in a frame with a cross-site ancestor. Only in
    /// Chromium.
    #[serde(default, rename = "_crHasCrossSiteAncestor", skip_serializing_if = "Option::is_none")]
    pub has_cross_site_ancestor: Option<bool>,
}

impl Cookie {
    /// Whether a request to `url` would carry it.
    pub fn is_sent_to(&self, url: &url::Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let of_host = match self.domain.strip_prefix('.') {
            Some(domain) => host == domain || host.ends_with(&self.domain),
            None => host == self.domain,
        };
        let local = host == "localhost"
            || host.ends_with(".localhost")
            || host == "127.0.0.1"
            || host == "[::1]";
        let path = url.path();
        let below = path == self.path
            || path
                .strip_prefix(self.path.as_str())
                .is_some_and(|rest| self.path.ends_with('/') || rest.starts_with('/'));
        of_host
            && below
            && (!self.secure || local || url.scheme() == "https" || url.scheme() == "wss")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_types_have_cdps_names_in_lower_case() {
        for name in ["Document", "XHR", "WebSocket", "TextTrack", "EventSource", "Prefetch"] {
            assert_eq!(ResourceType::named(name).as_str(), name.to_ascii_lowercase());
        }
        assert_eq!(ResourceType::named("CSPViolationReport"), ResourceType::Other);
    }

    #[test]
    fn a_cookie_is_sent_to_urls_that_match_its_domain_path_and_scheme() {
        let cookie = |domain: &str, path: &str, secure| Cookie {
            name: "n".into(),
            value: "v".into(),
            domain: domain.into(),
            path: path.into(),
            expires: -1.0,
            http_only: false,
            secure,
            same_site: None,
            partition_key: None,
            has_cross_site_ancestor: None,
        };
        let sent = |cookie: Cookie, url: &str| cookie.is_sent_to(&url.parse().unwrap());
        assert!(sent(cookie(".a.b", "/", false), "http://x.a.b/y"));
        assert!(!sent(cookie("a.b", "/", false), "http://x.a.b/y"));
        assert!(!sent(cookie(".a.b", "/", false), "http://xa.b/y"));
        assert!(sent(cookie("a.b", "/y", false), "http://a.b/y/z"));
        assert!(!sent(cookie("a.b", "/y", false), "http://a.b/yz"));
        assert!(!sent(cookie("a.b", "/", true), "http://a.b/"));
        assert!(sent(cookie("localhost", "/", true), "http://localhost:1/"));
    }
}
