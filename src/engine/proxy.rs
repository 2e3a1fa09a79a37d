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
    parsed.map(Some).map_err(|_| invalid_proxy(config))
}

/// Returns the error for an invalid proxy, without its credentials.
pub(super) fn invalid_proxy(config: &ContextConfig) -> EngineError {
    let server = config.proxy_server.as_deref().unwrap_or_default();
    EngineError::UnknownSetting { name: "proxy", value: redacted_proxy(server) }
}

/// Returns the proxy in `config` as a WebDriver capability.
pub(super) fn capability(config: &ContextConfig) -> EngineResult<Option<Value>> {
    let Some(url) = url(config)? else { return Ok(None) };
    let invalid_proxy = || invalid_proxy(config);
    let host = url.host_str().ok_or_else(invalid_proxy)?;
    let address = format!("{host}:{}", url.port_or_known_default().unwrap_or(1080));
    let bypass: Vec<&str> = config
        .proxy_bypass
        .iter()
        .flat_map(|list| list.split([',', ';']))
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
        _ => return Err(invalid_proxy()),
    }
    Ok(Some(proxy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_without_a_port_has_that_of_its_scheme() {
        for (server, key, expected) in [
            ("http://proxy", "httpProxy", "proxy:80"),
            ("https://proxy:443", "sslProxy", "proxy:443"),
            ("socks5://proxy", "socksProxy", "proxy:1080"),
            ("proxy:3128", "httpProxy", "proxy:3128"),
        ] {
            let config = ContextConfig {
                proxy_server: Some(server.to_owned()),
                proxy_bypass: Some("a.test; b.test,c.test".to_owned()),
                ..ContextConfig::default()
            };
            let proxy = capability(&config).unwrap().unwrap();
            assert_eq!(proxy[key], expected, "{server}");
            assert_eq!(proxy["noProxy"], json!(["a.test", "b.test", "c.test"]));
        }
    }
}
