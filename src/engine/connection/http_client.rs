//! HTTP requests to the endpoint of a remote browser.

use url::Url;

use super::{attach_failure::AttachFailure, endpoint_proxy};

/// Installs the cryptography of TLS, which reqwest needs even for `http:`.
pub(super) fn prepare_tls() {
    // Fails if it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// Returns a client for requests to `url`, with the proxy that the environment names.
pub(super) fn client_for(url: &Url) -> Result<reqwest::Client, AttachFailure> {
    prepare_tls();
    // A redirect could pass the headers to another host.
    let redirects = reqwest::redirect::Policy::none();
    let mut client = reqwest::Client::builder().no_proxy().redirect(redirects);
    if let Some(proxy) = endpoint_proxy::of_environment(url) {
        client = client.proxy(reqwest::Proxy::all(proxy).map_err(AttachFailure::request)?);
    }
    client.build().map_err(AttachFailure::request)
}

/// Reads the body. `None`: it has more than `max` bytes.
pub(super) async fn read_body(
    mut response: reqwest::Response,
    max: usize,
) -> Result<Option<Vec<u8>>, AttachFailure> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(AttachFailure::request)? {
        body.extend_from_slice(&part);
        if body.len() > max {
            return Ok(None);
        }
    }
    Ok(Some(body))
}
