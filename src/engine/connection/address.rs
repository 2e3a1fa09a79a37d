//! The address of a running browser, and the headers of the requests to it.

use std::time::Duration;

use serde::Deserialize;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{
    client::IntoClientRequest,
    handshake::client::Request,
    http::{HeaderMap, HeaderValue, header::AUTHORIZATION},
};
use url::Url;

use super::{
    attach_failure::AttachFailure,
    endpoint_proxy,
    http_client::{client_for, prepare_tls, read_body},
};
use crate::config;

/// Maximum size of the description of a browser (`/json/version`).
const MAX_DESCRIPTION: usize = 1 << 20;

/// The address of a running browser: a WebSocket URL, or the HTTP URL of a DevTools endpoint.
pub struct BrowserAddress {
    url: Url,
    headers: HeaderMap,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BrowserDescription {
    web_socket_debugger_url: String,
}

impl BrowserAddress {
    /// Parses `url` and `headers` (`NAME=VALUE`). A user name and a password in the URL become an
    /// `Authorization` header.
    pub fn new(url: &str, headers: &[String]) -> Result<Self, AttachFailure> {
        let mut url = parse(url)?;
        let mut own = HeaderMap::new();
        if !url.username().is_empty() || url.password().is_some() {
            own.extend(basic_authorization(&url).map(|value| (AUTHORIZATION, value)));
            let _ = (url.set_username(""), url.set_password(None));
        }
        for (name, value) in headers.iter().filter_map(|text| config::header(text)) {
            own.insert(name, value);
        }
        Ok(Self { url, headers: own })
    }

    /// Appends `segment` to the path, if the path does not end with it.
    pub fn with_segment(mut self, segment: &str) -> Self {
        let path = self.url.path().trim_end_matches('/');
        if path.rsplit('/').next() != Some(segment) {
            let path = format!("{path}/{segment}");
            self.url.set_path(&path);
        }
        self
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Returns the URL of `path` (`/status`) below this address.
    pub(super) fn below(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let joined = format!("{}{path}", url.path().trim_end_matches('/'));
        url.set_path(&joined);
        url
    }

    /// Returns the address of the WebSocket `url`, with the scheme, host, port and headers of this
    /// address.
    pub(super) fn behind_same_host(&self, url: &str) -> Result<Self, AttachFailure> {
        let named = parse(url)?;
        let prefix = self.url.path().trim_end_matches('/');
        let mut url = self.url.clone();
        let path = named.path();
        url.set_path(&match path.starts_with(&format!("{prefix}/")) {
            true => path.to_owned(),
            false => format!("{prefix}{path}"),
        });
        url.set_query(named.query().or(self.url.query()));
        Ok(Self { url, headers: self.headers.clone() }.into_websocket())
    }

    /// Replaces `http:` by `ws:`, and `https:` by `wss:`.
    pub fn into_websocket(mut self) -> Self {
        let scheme = if self.is_encrypted() { "wss" } else { "ws" };
        let _ = self.url.set_scheme(scheme);
        self
    }

    /// Returns the address of the browser's WebSocket. Requests it from an HTTP endpoint
    /// (`/json/version`).
    pub async fn resolve(self, timeout: Duration) -> Result<Self, AttachFailure> {
        if matches!(self.url.scheme(), "ws" | "wss") {
            return Ok(self);
        }
        let description = async {
            let body = self.read_description().await?;
            serde_json::from_slice::<BrowserDescription>(&body).map_err(|_| {
                AttachFailure::new("the endpoint does not support the DevTools protocol")
            })
        };
        let description = tokio::time::timeout(timeout, description)
            .await
            .map_err(|_| AttachFailure::new(format!("no response in {} s", timeout.as_secs())))??;
        let mut url = parse(&description.web_socket_debugger_url)?;
        // Behind a TLS proxy, the browser does not know the address by which it is reached.
        if self.is_encrypted() && url.scheme() != "wss" {
            let _ = url.set_scheme("wss");
            url.set_host(self.url.host_str())
                .and_then(|()| {
                    url.set_port(self.url.port()).map_err(|()| url::ParseError::InvalidPort)
                })
                .map_err(|error| AttachFailure::new(error.to_string()))?;
        }
        if url.query().is_none() {
            url.set_query(self.url.query());
        }
        Ok(Self { url, headers: self.headers })
    }

    async fn read_description(&self) -> Result<Vec<u8>, AttachFailure> {
        let mut url = self.url.clone();
        let path = url.path().trim_end_matches('/');
        if !path.ends_with("/json/version") {
            let path = format!("{path}/json/version");
            url.set_path(&path);
        }
        let request = client_for(&url)?.get(url);
        let sent = request.headers(self.headers.clone()).send().await;
        let response = sent.map_err(AttachFailure::request)?;
        if !response.status().is_success() {
            return Err(AttachFailure::status(response.status()));
        }
        let body = read_body(response, MAX_DESCRIPTION).await?;
        body.ok_or_else(|| AttachFailure::new("its response to /json/version is too long"))
    }

    /// Returns the request that opens the WebSocket.
    pub(super) fn upgrade_request(&self) -> Result<Request, AttachFailure> {
        if self.is_encrypted() {
            prepare_tls();
        }
        let request = self.url.as_str().into_client_request();
        let mut request = request.map_err(AttachFailure::handshake)?;
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        Ok(request)
    }

    /// Opens a TCP connection to its host, through the proxy that the environment names.
    pub(super) async fn open_stream(&self) -> Result<TcpStream, AttachFailure> {
        let (host, port) = self.host_and_port()?;
        match endpoint_proxy::of_environment(&self.url) {
            Some(proxy) => endpoint_proxy::connect(&proxy, host, port).await,
            None => TcpStream::connect((host, port))
                .await
                .map_err(|error| AttachFailure::new(error.to_string())),
        }
    }

    /// Returns the host and the port. An IPv6 address has no brackets.
    fn host_and_port(&self) -> Result<(&str, u16), AttachFailure> {
        let host = self.url.host_str().map(|host| host.trim_matches(['[', ']']));
        host.zip(self.url.port_or_known_default())
            .ok_or_else(|| AttachFailure::new("the URL has no host"))
    }

    fn is_encrypted(&self) -> bool {
        matches!(self.url.scheme(), "https" | "wss")
    }
}

fn parse(url: &str) -> Result<Url, AttachFailure> {
    Url::parse(url).map_err(|error| AttachFailure::new(error.to_string()))
}

fn basic_authorization(url: &Url) -> Option<HeaderValue> {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use percent_encoding::percent_decode_str;

    let mut credentials: Vec<u8> = percent_decode_str(url.username()).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
    let text = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
