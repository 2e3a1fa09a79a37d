//! The proxy of a context, and its form as a WebDriver capability (classic WebDriver and BiDi).

use serde_json::{Value, json};
use url::Url;

use super::{EngineError, EngineResult};
use crate::config::{ContextConfig, redacted_proxy};

/// Parses the proxy in `config`. The default scheme is `http`.
pub(super) fn url(config: &ContextConfig) -> EngineResult<Option<Url>> {
    let Some(server) = &config.proxy_server else { return Ok(None) };
    let parsed = if server.contains("://") {
        Url::parse(server)
    } else {
        Url::parse(&format!("http://{server}"))
    };
    parsed.map(Some).map_err(|_| unknown(config))
}

/// Returns the error for an invalid proxy, without its credentials.
pub(super) fn unknown(config: &ContextConfig) -> EngineError {
    let server = config.proxy_server.as_deref().unwrap_or_default();
    EngineError::UnknownSetting { name: "proxy", value: redacted_proxy(server) }
}

/// Returns the proxy in `config` as a WebDriver capability.
pub(super) fn capability(config: &ContextConfig) -> EngineResult<Option<Value>> {
    let Some(url) = url(config)? else { return Ok(None) };
    let unknown = || unknown(config);
    let host = url.host_str().ok_or_else(unknown)?;
    let address = format!("{host}:{}", url.port().unwrap_or(80));
    let bypass: Vec<&str> = config
        .proxy_bypass
        .iter()
        .flat_map(|list| list.split(','))
        .map(str::trim)
        .filter(|domain| !domain.is_empty())
        .collect();
    let mut proxy = json!({"proxyType": "manual", "noProxy": bypass});
    match url.scheme() {
        "http" | "https" => {
            proxy["httpProxy"] = address.clone().into();
            proxy["sslProxy"] = address.into();
        }
        "socks5" | "socks" | "socks4" => {
            proxy["socksProxy"] = address.into();
            proxy["socksVersion"] = if url.scheme() == "socks4" { 4 } else { 5 }.into();
        }
        _ => return Err(unknown()),
    }
    Ok(Some(proxy))
}
