//! The proxy of a context as the capability that WebDriver knows, classic and BiDi alike.

use serde_json::{Value, json};

use super::{EngineError, EngineResult};
use crate::config::ContextConfig;

/// The proxy that `config` names, if it names one.
pub(super) fn capability(config: &ContextConfig) -> EngineResult<Option<Value>> {
    let Some(server) = &config.proxy_server else { return Ok(None) };
    let unknown = || EngineError::UnknownSetting { name: "proxy", value: server.clone() };
    let with_scheme = if server.contains("://") { server.clone() } else { format!("http://{server}") };
    let url = url::Url::parse(&with_scheme).map_err(|_| unknown())?;
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
