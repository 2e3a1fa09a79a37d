//! Checks each request: `Host`, `Origin`, rate limit, token. Rejected requests are logged with the
//! address of the client and the path.
//!
//! A web page in the user's browser can send requests to 127.0.0.1, but it cannot forge `Origin`.
//! After DNS rebinding, `Host` still contains the page's own host name.

use std::{net::IpAddr, sync::Arc};

use axum::{
    extract::{OriginalUri, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::{
    forwarded::{ClientAddress, TrustedProxies},
    listen::PeerAddress,
    problem,
    rate::RateLimit,
    refusals::RefusalLog,
};
use crate::{
    config::{Config, Transport, one_line},
    error::Result,
    transport::Token,
};

/// Headers of all responses, which keep browsers from rendering, framing or caching them.
const SECURITY_HEADERS: &[(HeaderName, &str)] = &[
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];
/// The headers that pages of allowed origins can send and read in addition to the safelisted ones.
const CORS_HEADERS: &[&str] = &[
    "authorization",
    "content-type",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
];

/// The paths that load balancers request without a token.
const PROBES: [&str; 2] = ["/health", "/ready"];
/// The beginning of the paths that other servers request (`other_servers`).
pub(super) const SERVER_PATHS: &str = "/servers/";

/// The rules of a server.
pub(super) struct Guard {
    hosts: Hosts,
    origins: Vec<String>,
    /// `None` with `--no-auth`.
    token: Option<Token>,
    /// The token for the JSON API, which shows the sessions of all clients. It is required with
    /// `--no-auth` too; `None` closes the API.
    api_token: Option<Token>,
    /// The server listens on a socket that only its owner can use, so no token is required.
    is_private: bool,
    rate: RateLimit,
    refusals: Arc<RefusalLog>,
    proxies: TrustedProxies,
    /// The paths that load balancers request.
    probes: [String; 2],
    /// The beginning of the paths that other servers request.
    servers: String,
    metrics: String,
}

impl Guard {
    /// Reads the token, or creates its file.
    pub async fn new(config: &Config) -> Result<Self> {
        let token = if config.auth { Some(Token::of_server(config).await?) } else { None };
        let api_token = match (&token, config.transport) {
            _ if config.socket.is_some() => None,
            (Some(token), _) => Some(token.clone()),
            (None, Transport::Http) => Self::api_token(config).await,
            (None, _) => None,
        };
        Ok(Self {
            origins: config.allowed_origins.iter().map(|origin| normalize_origin(origin)).collect(),
            token,
            api_token,
            is_private: config.socket.is_some(),
            rate: RateLimit::new(config.rate_limit),
            proxies: TrustedProxies::new(&config.trusted_proxies),
            ..Self::without_token(config)
        })
    }

    /// Returns the rules of a server that serves only the dashboard. The dashboard authenticates
    /// its users itself.
    pub fn without_token(config: &Config) -> Self {
        Self {
            hosts: Hosts::new(config),
            origins: Vec::new(),
            token: None,
            api_token: None,
            is_private: false,
            rate: RateLimit::new(0),
            refusals: Arc::default(),
            proxies: TrustedProxies::new(&[]),
            probes: PROBES.map(|path| format!("{}{path}", config.base_path)),
            servers: format!("{}{}", config.base_path, SERVER_PATHS),
            metrics: format!("{}/metrics", config.base_path),
        }
    }

    /// Returns the token for the JSON API of a server with `--no-auth`.
    async fn api_token(config: &Config) -> Option<Token> {
        match Token::of_server(config).await {
            Ok(token) => {
                let file = token.file().unwrap_or(std::path::Path::new("the configuration"));
                tracing::info!("the JSON API requires the token in {}", file.display());
                Some(token)
            }
            Err(error) => {
                tracing::warn!(%error, "the JSON API at /api rejects all requests: there is no token");
                None
            }
        }
    }

    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    pub fn refusals(&self) -> &Arc<RefusalLog> {
        &self.refusals
    }

    /// Returns the CORS layer for pages of the allowed origins.
    pub fn cors(&self) -> CorsLayer {
        let origins = self.origins.clone();
        let allowed = AllowOrigin::predicate(move |origin: &HeaderValue, _| {
            origin.to_str().is_ok_and(|origin| origins.contains(&normalize_origin(origin)))
        });
        CorsLayer::new()
            .allow_origin(allowed)
            .allow_methods([Method::GET, Method::POST, Method::DELETE])
            .allow_headers(
                CORS_HEADERS.iter().copied().map(HeaderName::from_static).collect::<Vec<_>>(),
            )
            .expose_headers([HeaderName::from_static("mcp-session-id")])
            .max_age(std::time::Duration::from_secs(600))
    }

    /// Returns whether a request has the token for MCP and the metrics. Always true with
    /// `--no-auth`.
    fn has_token(&self, headers: &HeaderMap) -> bool {
        self.token.as_ref().is_none_or(|token| token.is_in(headers))
    }

    fn check(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        caller: Option<IpAddr>,
    ) -> Result<(), Rejection> {
        let host = host(uri, headers);
        // Load balancers request the probes by IP address or without `Host`. Requests for the
        // probes and the metrics are exempt from the rate limit. A request for the metrics with a
        // wrong token is not exempt, because it may be a guess.
        // Other servers send a secret, and the host that a client has sent to them.
        let is_of_server = uri.path().starts_with(&self.servers);
        let is_probe = is_of_server || self.probes.iter().any(|probe| uri.path() == probe);
        if !is_probe {
            match &host {
                None => return Err(Rejection::NoHost),
                Some(host) if !self.hosts.contain(host) => {
                    return Err(Rejection::ForeignHost(host.to_string()));
                }
                Some(_) => {}
            }
        }
        for origin in headers.get_all(header::ORIGIN) {
            let origin = normalize_origin(origin.to_str().unwrap_or("null"));
            let own = host.as_ref().is_some_and(|host| {
                ["http", "https"]
                    .iter()
                    .any(|scheme| origin == normalize_origin(&format!("{scheme}://{host}")))
            });
            if !own && !self.origins.contains(&origin) {
                return Err(Rejection::ForeignOrigin(origin));
            }
        }
        let is_exempt = is_probe || uri.path() == self.metrics && self.has_token(headers);
        if !is_exempt && !self.rate.admits(caller) {
            return Err(Rejection::TooManyRequests);
        }
        Ok(())
    }
}

/// Marks a request whose `Host` is not a name of this server.
#[derive(Debug, Clone, Copy)]
pub(super) struct ForeignHost;

/// Why a request was rejected.
#[derive(Debug, thiserror::Error)]
enum Rejection {
    #[error("the request has no `Host` header")]
    NoHost,
    #[error("`{}` is not a host name of this server; --allowed-hosts adds names", one_line(.0))]
    ForeignHost(String),
    #[error("the origin `{}` is not allowed; --allowed-origins adds origins", one_line(.0))]
    ForeignOrigin(String),
    #[error("too many requests; --rate-limit sets the number per second")]
    TooManyRequests,
}

impl IntoResponse for Rejection {
    fn into_response(self) -> Response {
        let (status, error) = match self {
            Self::NoHost => (StatusCode::BAD_REQUEST, "NO_HOST"),
            Self::ForeignHost(_) => (StatusCode::FORBIDDEN, "FOREIGN_HOST"),
            Self::ForeignOrigin(_) => (StatusCode::FORBIDDEN, "FOREIGN_ORIGIN"),
            Self::TooManyRequests => (StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS"),
        };
        let response = problem(status, error, self.to_string());
        if status == StatusCode::TOO_MANY_REQUESTS {
            return ([(header::RETRY_AFTER, "1")], response).into_response();
        }
        response
    }
}

/// Passes requests on that the guard allows, and rejects others.
pub(super) async fn admit(
    State(guard): State<Arc<Guard>>,
    mut request: Request,
    next: Next,
) -> Response {
    let peer = request.extensions().get::<PeerAddress>().map(|caller| caller.0.ip());
    let client = peer.map(|peer| guard.proxies.client(peer, request.headers()));
    if let Some(address) = client {
        request.extensions_mut().insert(ClientAddress(address));
    }
    if host(request.uri(), request.headers()).is_none_or(|host| !guard.hosts.contain(&host)) {
        request.extensions_mut().insert(ForeignHost);
    }
    let mut response = match guard.check(request.uri(), request.headers(), client) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            log_refusal(&guard, &request, &refusal);
            refusal.into_response()
        }
    };
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Rejects requests without the token, unless the server runs with `--no-auth`.
pub(super) async fn authenticate(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    if guard.has_token(request.headers()) {
        return next.run(request).await;
    }
    unauthorized(&guard, &request)
}

/// Logs a rejected request without its query, which may contain a secret.
fn log_refusal(guard: &Guard, request: &Request, reason: &dyn std::fmt::Display) {
    let address = request.extensions().get::<ClientAddress>().map(|client| client.0);
    // With `--base-path`, `request.uri()` has only the rest of the path.
    let uri =
        request.extensions().get::<OriginalUri>().map_or(request.uri(), |original| &original.0);
    guard.refusals.write(address, request.method().as_str(), uri.path(), reason);
}

fn unauthorized(guard: &Guard, request: &Request) -> Response {
    log_refusal(guard, request, &"the token is missing or wrong");
    let response = problem(
        StatusCode::UNAUTHORIZED,
        "UNAUTHORIZED",
        "the token is missing or wrong: send `Authorization: Bearer TOKEN`; `troupe config CLIENT --http` prints a client's configuration",
    );
    ([(header::WWW_AUTHENTICATE, "Bearer")], response).into_response()
}

/// Rejects requests to the JSON API without the token.
pub(super) async fn authenticate_api(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let has_token = guard.api_token.as_ref().is_some_and(|token| token.is_in(headers));
    if guard.is_private || has_token {
        return next.run(request).await;
    }
    unauthorized(&guard, &request)
}

/// Returns the host of the request. Returns `None` for two `Host` headers, because a proxy may have
/// used the other one.
pub(super) fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    let mut host_headers = headers.get_all(header::HOST).iter();
    let from_header = host_headers.next().map(|host| Authority::try_from(host.as_bytes()));
    if host_headers.next().is_some() {
        return None;
    }
    match (uri.authority(), from_header) {
        (Some(authority), _) => Some(authority.clone()),
        (None, Some(Ok(authority))) => Some(authority),
        (None, _) => None,
    }
}

/// The host names of this server.
struct Hosts {
    any: bool,
    names: Vec<String>,
    /// The server is bound to all addresses, so any IP address is accepted. DNS rebinding needs a
    /// host name.
    any_address: bool,
}

impl Hosts {
    fn new(config: &Config) -> Self {
        let listen_host = normalize_host(&config.host);
        let binds_all = listen_host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
        let own = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let further = config.allowed_hosts.iter().map(|name| name.to_ascii_lowercase());
        Self {
            any: config.allowed_hosts.iter().any(|name| name == "*"),
            names: own.into_iter().chain([listen_host]).chain(further).collect(),
            any_address: binds_all,
        }
    }

    fn contain(&self, host: &Authority) -> bool {
        let name = normalize_host(host.host());
        self.any
            || self.names.contains(&name)
            || self.names.contains(&host.as_str().to_ascii_lowercase())
            || self.any_address && name.parse::<IpAddr>().is_ok()
    }
}

fn normalize_host(host: &str) -> String {
    host.trim_matches(['[', ']']).to_ascii_lowercase()
}

/// Normalizes an origin: lower case, without the default port of its scheme.
fn normalize_origin(origin: &str) -> String {
    match url::Url::parse(origin) {
        Ok(url) => url.origin().ascii_serialization(),
        Err(_) => origin.trim().to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(config: &Config) -> Guard {
        let origins = config.allowed_origins.iter().map(|origin| normalize_origin(origin));
        Guard { origins: origins.collect(), ..Guard::without_token(config) }
    }

    fn headers(host: Option<&str>, origin: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in [(header::HOST, host), (header::ORIGIN, origin)] {
            headers.extend(value.map(|value| (name, HeaderValue::from_str(value).unwrap())));
        }
        headers
    }

    fn passes(config: &Config, host: &str, origin: Option<&str>) -> bool {
        guard(config).check(&Uri::from_static("/mcp"), &headers(Some(host), origin), None).is_ok()
    }

    #[test]
    fn only_host_names_of_this_machine_are_accepted() {
        let default_config = Config::default();
        for host in ["127.0.0.1:4000", "localhost", "LOCALHOST:80", "[::1]:4000"] {
            assert!(passes(&default_config, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "localhost.evil.example:4000",
            "[::2]",
        ] {
            assert!(!passes(&default_config, host, None), "{host}");
        }
        let from_header =
            Config { allowed_hosts: vec!["Tools.example".to_owned()], ..Config::default() };
        assert!(passes(&from_header, "tools.example:8443", None));
        let binds_all = Config { host: "0.0.0.0".to_owned(), ..Config::default() };
        assert!(passes(&binds_all, "10.0.0.1:4000", None));
        assert!(!passes(&binds_all, "evil.example", None));
    }

    #[test]
    fn a_request_without_exactly_one_host_is_rejected() {
        let guard = guard(&Config::default());
        let path = Uri::from_static("/mcp");
        assert!(matches!(guard.check(&path, &headers(None, None), None), Err(Rejection::NoHost)));
        let mut two = headers(Some("localhost"), None);
        two.append(header::HOST, HeaderValue::from_static("evil.example"));
        assert!(matches!(guard.check(&path, &two, None), Err(Rejection::NoHost)));
        for probe in PROBES.map(Uri::from_static) {
            assert!(guard.check(&probe, &headers(None, None), None).is_ok());
            assert!(guard.check(&probe, &headers(Some("10.1.2.3:4000"), None), None).is_ok());
            let foreign = headers(None, Some("https://evil.example"));
            let checked = guard.check(&probe, &foreign, None);
            assert!(matches!(checked, Err(Rejection::ForeignOrigin(_))));
        }
    }

    #[test]
    fn only_the_own_origin_and_allowed_ones_are_accepted() {
        let config =
            Config { allowed_origins: vec!["https://App.example".to_owned()], ..Config::default() };
        for origin in ["http://localhost:4000", "https://app.example", "https://app.example:443"] {
            assert!(passes(&config, "localhost:4000", Some(origin)), "{origin}");
        }
        for origin in [
            "http://app.example",
            "https://app.example:8443",
            "https://evil.example",
            "http://localhost:5000",
            "null",
            "file://",
            "",
            "https://app.example.evil.example",
        ] {
            assert!(!passes(&config, "localhost:4000", Some(origin)), "{origin}");
        }
    }
}
