//! The proxy for connections to remote browsers, from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and
//! `NO_PROXY`.

use std::io;

use hyper_util::client::proxy::matcher::Matcher;
use tokio::net::TcpStream;
use url::Url;

use super::attach_failure::AttachFailure;
use crate::{
    config::{ContextConfig, redacted_proxy},
    engine::network_policy::UpstreamProxy,
};

/// Returns the URL of the proxy for connections to `url`, with its credentials. Loopback addresses
/// are always connected to directly.
pub(super) fn of_environment(url: &Url) -> Option<Url> {
    let is_loopback = match url.host()? {
        url::Host::Domain(name) => name == "localhost" || name.ends_with(".localhost"),
        url::Host::Ipv4(address) => address.is_loopback(),
        url::Host::Ipv6(address) => address.is_loopback(),
    };
    let scheme = if matches!(url.scheme(), "https" | "wss") { "https" } else { "http" };
    let target = format!("{scheme}://{}", url.host_str()?).parse().ok()?;
    let found = Matcher::from_env().intercept(&target).filter(|_| !is_loopback)?;
    let mut proxy = Url::parse(&found.uri().to_string()).ok()?;
    let basic = found.basic_auth().and_then(|value| decode_basic(value.to_str().ok()?));
    let raw = found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned()));
    if let Some((user, password)) = basic.or(raw) {
        let _ = (proxy.set_username(&user), proxy.set_password(Some(&password)));
    }
    Some(proxy)
}

fn decode_basic(value: &str) -> Option<(String, String)> {
    use base64::{Engine, prelude::BASE64_STANDARD};

    let decoded = BASE64_STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
    let text = String::from_utf8(decoded).ok()?;
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

/// Connects to `host` through `proxy`.
pub(super) async fn connect(
    proxy: &Url,
    host: &str,
    port: u16,
) -> Result<TcpStream, AttachFailure> {
    let shown = redacted_proxy(proxy.as_str());
    let failure = |why: String| AttachFailure::new(format!("the proxy `{shown}` {why}"));
    let config =
        ContextConfig { proxy_server: Some(proxy.to_string()), ..ContextConfig::default() };
    let upstream = UpstreamProxy::from_config(&config)
        .ok()
        .flatten()
        .ok_or_else(|| failure("is not supported: use http:// or socks5://".to_owned()))?;
    upstream.connect(host, port).await.map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => AttachFailure {
            is_permanent: true,
            ..failure("rejects the user name and password in its URL".to_owned())
        },
        _ => failure(format!("cannot connect to `{host}:{port}`: {error}")),
    })
}
