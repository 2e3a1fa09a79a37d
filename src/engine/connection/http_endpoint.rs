//! An HTTP endpoint that starts browsers on request.

use std::time::Duration;

use reqwest::{Method, StatusCode, header::CONTENT_TYPE};

use super::{AttachFailure, BrowserAddress, http_client};

/// Maximum bytes of a response.
const MAX_BODY: usize = 16 << 20;

/// An HTTP endpoint, with the headers of its requests.
pub struct HttpEndpoint {
    address: BrowserAddress,
    client: reqwest::Client,
}

impl HttpEndpoint {
    pub fn new(address: BrowserAddress) -> Result<Self, AttachFailure> {
        let client = http_client::client_for(address.url())?;
        Ok(Self { address, client })
    }

    /// Sends a request to `path` (`/status`) below the endpoint, and returns its response.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
        timeout: Duration,
    ) -> Result<(StatusCode, Vec<u8>), AttachFailure> {
        self.transfer(method, path, json, timeout, MAX_BODY).await
    }

    /// Does the same with a response of up to `max_body` bytes.
    pub async fn transfer(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
        timeout: Duration,
        max_body: usize,
    ) -> Result<(StatusCode, Vec<u8>), AttachFailure> {
        let url = self.address.below(path);
        let mut request = self.client.request(method, url).headers(self.address.headers().clone());
        if let Some(json) = json {
            request = request.header(CONTENT_TYPE, "application/json; charset=utf-8").body(json);
        }
        let exchange = async {
            let response = request.send().await.map_err(AttachFailure::request)?;
            let status = response.status();
            let body = http_client::read_body(response, max_body).await?;
            let body = body.ok_or_else(|| AttachFailure::new("its response is too long"))?;
            Ok((status, body))
        };
        tokio::time::timeout(timeout, exchange).await.unwrap_or_else(|_| {
            Err(AttachFailure::new(format!("no response in {} s", timeout.as_secs())))
        })
    }

    /// Returns the address of a WebSocket that the endpoint names. The endpoint often returns
    /// an internal host: the result has the scheme, host, port and headers of the endpoint.
    pub fn websocket(&self, url: &str) -> Result<BrowserAddress, AttachFailure> {
        self.address.behind_same_host(url)
    }
}
