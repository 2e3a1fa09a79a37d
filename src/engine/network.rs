//! Network rules and network events of a context, as plain data.

use std::sync::Arc;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::{Position, Url};

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

    /// Returns Playwright's name of the type.
    pub fn playwright_name(self) -> &'static str {
        match self {
            Self::Ping | Self::Prefetch | Self::Preflight => Self::Other.as_str(),
            known => known.as_str(),
        }
    }
}

/// Maximum bytes of the data of a request that are kept.
pub const MAX_POST_DATA: usize = 1024 * 1024;

/// The headers and the data of a request.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RequestDetails {
    pub headers: Vec<(String, String)>,
    /// `None` if there is no data, or if it is larger than [`MAX_POST_DATA`].
    pub post_data: Option<Vec<u8>>,
}

impl RequestDetails {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        headers_size(&self.headers) + self.post_data.as_ref().map_or(0, Vec::len)
    }
}

/// The status text and the headers of a response.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResponseDetails {
    pub status_text: String,
    pub headers: Vec<(String, String)>,
}

impl ResponseDetails {
    /// Returns the approximate size in bytes.
    pub fn size(&self) -> usize {
        headers_size(&self.headers)
    }
}

fn headers_size(headers: &[(String, String)]) -> usize {
    headers.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// The details of a request that was sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SentDetails {
    pub request: RequestDetails,
    /// The redirect under the same id that led to the request.
    pub redirect: Option<ResponseDetails>,
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

    /// Returns the response to a request with `method`, whose headers `header` looks up. A
    /// cross-origin page can read the response: it gets CORS headers, and a preflight succeeds.
    pub fn response_to<'a>(
        &'a self,
        method: &str,
        header: impl Fn(&str) -> Option<&'a str>,
    ) -> FulfilledResponse<'a> {
        let mut headers = Vec::new();
        let allow_origin = "access-control-allow-origin";
        let is_given = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(allow_origin));
        if let Some(origin) = header("origin").filter(|_| !is_given) {
            headers.push((allow_origin, origin));
            headers.push(("access-control-allow-credentials", "true"));
        }
        let preflight = header("access-control-request-method").filter(|_| method == "OPTIONS");
        if let Some(method) = preflight {
            headers.push(("access-control-allow-methods", method));
            let names = header("access-control-request-headers");
            headers.extend(names.map(|names| ("access-control-allow-headers", names)));
            return FulfilledResponse { status: 204, headers, body: None };
        }
        let given = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        headers.extend(given);
        FulfilledResponse { status: self.status, headers, body: Some(&self.body) }
    }
}

/// The response of a [`Mock`] to one request.
#[derive(Debug, PartialEq)]
pub struct FulfilledResponse<'a> {
    pub status: u16,
    pub headers: Vec<(&'a str, &'a str)>,
    /// Base64. `None` for a CORS preflight.
    pub body: Option<&'a str>,
}

/// A request that continues to its server with other headers.
#[derive(Debug, Clone, PartialEq)]
pub struct HeaderChanges {
    pub url: UrlPattern,
    /// Replace the headers with the same names.
    pub add: Vec<(String, String)>,
    pub remove: Vec<String>,
}

impl HeaderChanges {
    /// Returns the changed `headers`. Names are compared without their case.
    pub fn apply<'a>(
        &'a self,
        headers: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Vec<(&'a str, &'a str)> {
        let is_changed = |name: &str| {
            let added = self.add.iter().map(|(name, _)| name);
            self.remove.iter().chain(added).any(|changed| changed.eq_ignore_ascii_case(name))
        };
        let kept = headers.filter(|(name, _)| !is_changed(name));
        kept.chain(self.add.iter().map(|(name, value)| (name.as_str(), value.as_str()))).collect()
    }
}

/// The rule for requests that match its URL pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum Route {
    /// Responds in place of the server.
    Fulfill(Arc<Mock>),
    /// Sends the request with other headers.
    Continue(Arc<HeaderChanges>),
}

impl Route {
    pub fn url(&self) -> &UrlPattern {
        match self {
            Self::Fulfill(mock) => &mock.url,
            Self::Continue(changes) => &changes.url,
        }
    }

    /// Returns the mock, if the rule is one.
    pub fn mock(&self) -> Option<&Arc<Mock>> {
        match self {
            Self::Fulfill(mock) => Some(mock),
            Self::Continue(_) => None,
        }
    }
}

impl From<Mock> for Route {
    fn from(mock: Mock) -> Self {
        Self::Fulfill(Arc::new(mock))
    }
}

impl From<HeaderChanges> for Route {
    fn from(changes: HeaderChanges) -> Self {
        Self::Continue(Arc::new(changes))
    }
}

/// The speed of the network. `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Throttling {
    /// Bytes per second.
    pub download: Option<f64>,
    /// Bytes per second.
    pub upload: Option<f64>,
    /// Minimum time from a request to the headers of its response, in milliseconds.
    pub latency: f64,
}

/// The rules for all requests of a context: those of its pages, frames and workers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NetworkRules {
    pub blocked: Vec<ResourceType>,
    /// The newest first; the first that matches applies. A mock also applies to requests that are
    /// blocked.
    pub routes: Vec<Route>,
    pub origins: OriginRules,
    pub offline: bool,
    pub throttling: Throttling,
}

/// The origins that requests may go to, as `--allowed-origins` and `--blocked-origins` describe
/// them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OriginRules {
    /// Empty: all are allowed.
    allowed: Vec<OriginPattern>,
    blocked: Vec<OriginPattern>,
}

impl OriginRules {
    pub fn new(allowed: &[String], blocked: &[String]) -> Self {
        let patterns =
            |texts: &[String]| texts.iter().map(|text| OriginPattern::parse(text)).collect();
        Self { allowed: patterns(allowed), blocked: patterns(blocked) }
    }

    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty() && self.blocked.is_empty()
    }

    /// Returns whether requests to `url` are blocked.
    pub fn blocks(&self, url: &str) -> bool {
        if self.is_empty() {
            return false;
        }
        let Ok(url) = Url::parse(url) else { return true };
        let fits = |patterns: &[OriginPattern]| patterns.iter().any(|pattern| pattern.fits(&url));
        fits(&self.blocked) || !self.allowed.is_empty() && !fits(&self.allowed)
    }
}

/// One entry of `--allowed-origins` or `--blocked-origins`.
#[derive(Debug, Clone, PartialEq)]
enum OriginPattern {
    /// `https://example.com:8080`.
    Origin(url::Origin),
    /// `http://localhost:*`.
    AnyPort { scheme: String, host: String },
    /// `example.com` or `example.com:8080`, with any scheme.
    Host(String),
}

impl OriginPattern {
    fn parse(text: &str) -> Self {
        let text = text.trim().to_ascii_lowercase();
        if let Some((scheme, host)) =
            text.strip_suffix(":*").and_then(|origin| origin.split_once("://"))
        {
            return Self::AnyPort { scheme: scheme.to_owned(), host: host.to_owned() };
        }
        match Url::parse(&text).map(|url| url.origin()) {
            Ok(origin) if origin.is_tuple() => Self::Origin(origin),
            _ => Self::Host(text),
        }
    }

    fn fits(&self, url: &Url) -> bool {
        match self {
            Self::Origin(origin) => url.origin() == *origin,
            Self::AnyPort { scheme, host } => {
                url.scheme() == scheme && url.host_str() == Some(host)
            }
            Self::Host(host) => url[Position::BeforeHost..Position::AfterPort] == **host,
        }
    }
}

impl NetworkRules {
    /// Adds `route`, which applies before all others. Replaces the one of the same kind for the
    /// same URL pattern.
    pub fn add_route(&mut self, route: Route) {
        let is_mock = route.mock().is_some();
        let is_same =
            |other: &Route| other.mock().is_some() == is_mock && other.url() == route.url();
        self.routes.retain(|other| !is_same(other));
        self.routes.insert(0, route);
    }

    /// Returns the first route that matches `url`.
    pub fn route_for(&self, url: &str) -> Option<&Route> {
        self.routes.iter().find(|route| route.url().fits(url))
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
        /// `None` unless the configuration keeps them.
        details: Option<Box<SentDetails>>,
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
        /// `None` unless the configuration keeps them.
        details: Option<Box<ResponseDetails>>,
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

impl SameSite {
    /// Parses a protocol's name of a value, in any case.
    pub fn named(name: &str) -> Option<Self> {
        let mut values = [Self::Strict, Self::Lax, Self::None].into_iter();
        values.find(|value| value.as_str().eq_ignore_ascii_case(name))
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "Strict",
            Self::Lax => "Lax",
            Self::None => "None",
        }
    }
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
    /// Returns whether a request to `url` would carry it.
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
        assert_eq!(ResourceType::Preflight.playwright_name(), "other");
        assert_eq!(ResourceType::EventSource.playwright_name(), "eventsource");
    }

    #[test]
    fn the_newest_route_applies_first() {
        let pattern = |text| UrlPattern::parse(text).unwrap();
        let mut rules = NetworkRules::default();
        rules.add_route(Mock::new(pattern("**/api/*"), 200, Vec::new(), b"").into());
        let changes = |value: &str| HeaderChanges {
            url: pattern("**/api/x"),
            add: vec![("a".into(), value.into())],
            remove: Vec::new(),
        };
        rules.add_route(changes("1").into());
        rules.add_route(changes("2").into());
        assert_eq!(rules.routes.len(), 2);
        let route = rules.route_for("http://a/api/x").unwrap();
        assert_eq!(*route, changes("2").into());
        assert!(rules.route_for("http://a/api/y").unwrap().mock().is_some());
        assert_eq!(rules.route_for("http://a/"), None);
    }

    #[test]
    fn a_cross_origin_page_can_read_a_mocked_response() {
        let mock = |headers: &[(&str, &str)]| {
            let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
            Mock::new(UrlPattern::parse("**").unwrap(), 404, headers.collect(), b"no")
        };
        let cors = |name: &str| (name == "origin").then_some("https://a.test");
        let allowed = [
            ("access-control-allow-origin", "https://a.test"),
            ("access-control-allow-credentials", "true"),
        ];

        let json = mock(&[("content-type", "application/json")]);
        let response = json.response_to("GET", cors);
        assert_eq!((response.status, response.body), (404, Some("bm8=")));
        assert_eq!(response.headers[..2], allowed);
        assert_eq!(response.headers[2..], [("content-type", "application/json")]);
        assert_eq!(
            json.response_to("GET", |_| None).headers,
            [("content-type", "application/json")],
            "a request of the same origin"
        );
        let any = mock(&[("Access-Control-Allow-Origin", "*")]);
        assert_eq!(any.response_to("GET", cors).headers, [("Access-Control-Allow-Origin", "*")]);

        let preflight = |name: &str| match name {
            "access-control-request-method" => Some("PUT"),
            "access-control-request-headers" => Some("x-token"),
            _ => cors(name),
        };
        let response = json.response_to("OPTIONS", preflight);
        assert_eq!((response.status, response.body), (204, None));
        assert_eq!(response.headers[..2], allowed);
        assert_eq!(
            response.headers[2..],
            [("access-control-allow-methods", "PUT"), ("access-control-allow-headers", "x-token")]
        );
        assert_eq!(json.response_to("OPTIONS", cors).status, 404, "not a preflight");
    }

    #[test]
    fn same_site_is_parsed_in_any_case() {
        assert_eq!(SameSite::named("lax"), Some(SameSite::Lax));
        assert_eq!(SameSite::named("None"), Some(SameSite::None));
        assert_eq!(SameSite::named("default"), None);
    }

    #[test]
    fn origins_are_compared_with_scheme_host_and_port() {
        let blocks = |allowed: &[&str], blocked: &[&str], url: &str| {
            let list = |origins: &[&str]| {
                origins.iter().map(|origin| (*origin).to_owned()).collect::<Vec<_>>()
            };
            OriginRules::new(&list(allowed), &list(blocked)).blocks(url)
        };
        assert!(blocks(&[], &["a.test"], "https://a.test/"));
        assert!(blocks(&[], &["a.test"], "http://a.test/x/y?z"));
        assert!(!blocks(&[], &["a.test"], "http://b.a.test/"));
        assert!(blocks(&[], &["https://a.test"], "https://a.test/x"));
        assert!(!blocks(&[], &["https://a.test"], "http://a.test/x"));
        assert!(!blocks(&["localhost:80", "http://a.test:81"], &[], "http://a.test:81/x"));
        assert!(blocks(&["http://a.test:81"], &[], "http://a.test/x"));
        assert!(blocks(&["a.test"], &["a.test"], "http://a.test/"));
        assert!(!blocks(&["http://localhost:*"], &[], "http://localhost:8080/x"));
        assert!(!blocks(&["http://localhost:*"], &[], "http://localhost/x"));
        assert!(blocks(&["http://localhost:*"], &[], "https://localhost:8080/x"));
        assert!(blocks(&["http://localhost:*"], &[], "http://localhost.test:8080/x"));
        assert!(!blocks(&["http://[::1]:81"], &[], "http://[::1]:81/x"));
        assert!(!blocks(&[], &[], "http://a.test/"));
    }

    #[test]
    fn header_changes_replace_add_and_remove_headers() {
        let changes = HeaderChanges {
            url: UrlPattern::parse("**").unwrap(),
            add: vec![("X-Token".into(), "new".into()), ("b".into(), "2".into())],
            remove: vec!["cookie".into()],
        };
        let headers = [("a", "1"), ("x-token", "old"), ("Cookie", "c")];
        assert_eq!(
            changes.apply(headers.into_iter()),
            [("a", "1"), ("X-Token", "new"), ("b", "2")]
        );
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
