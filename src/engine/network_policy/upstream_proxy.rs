//! Connects by host name through the user's own proxy, after the policy has allowed the connection.

use std::io;

use ipnet::IpNet;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{credentials::Credentials, policy::authority, socks};
use crate::{
    config::ContextConfig,
    engine::{EngineError, EngineResult, proxy},
};

/// Maximum size of a proxy's response to CONNECT.
const MAX_RESPONSE_SIZE: usize = 16 * 1024;

/// The user's own proxy.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::engine) struct UpstreamProxy {
    protocol: ProxyProtocol,
    host: String,
    port: u16,
    credentials: Option<Credentials>,
    bypass: Vec<BypassRule>,
    /// Whether loopback addresses bypass the proxy, as they do in browsers.
    bypasses_loopback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProxyProtocol {
    Http,
    Socks5,
}

/// A rule for hosts that bypass the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
enum BypassRule {
    Host(String),
    /// A domain and its subdomains.
    Domain(String),
    Net(IpNet),
    /// Host names without a dot.
    Local,
}

impl UpstreamProxy {
    /// Reads the proxy in `config`, if it has one.
    pub fn from_config(config: &ContextConfig) -> EngineResult<Option<Self>> {
        let Some(url) = proxy::url(config)? else { return Ok(None) };
        let invalid_proxy = || proxy::invalid_proxy(config);
        let (protocol, default_port) = match url.scheme() {
            "http" => (ProxyProtocol::Http, 80),
            "socks5" | "socks" => (ProxyProtocol::Socks5, 1080),
            _ => {
                return Err(EngineError::Unsupported {
                    what: "restricting the connections of pages with a proxy of this kind",
                    instead: "use one of http:// or socks5://, or --allow-private-network without domain lists",
                });
            }
        };
        let bypass = config.proxy_bypass.as_deref().unwrap_or_default();
        let entries: Vec<&str> =
            bypass.split([',', ';']).map(str::trim).filter(|entry| !entry.is_empty()).collect();
        Ok(Some(Self {
            protocol,
            host: url.host_str().ok_or_else(invalid_proxy)?.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(default_port),
            credentials: Credentials::from_url(&url).map_err(|()| invalid_proxy())?,
            bypasses_loopback: !entries.contains(&"<-loopback>"),
            bypass: entries.into_iter().filter_map(BypassRule::parse).collect(),
        }))
    }

    /// Returns whether connections to `host` go through the proxy.
    pub fn applies_to(&self, host: &str) -> bool {
        let address: Option<std::net::IpAddr> = host.parse().ok();
        let local = host == "localhost"
            || host.ends_with(".localhost")
            || address.is_some_and(|address| address.to_canonical().is_loopback());
        !(local && self.bypasses_loopback || self.bypass.iter().any(|bypass| bypass.matches(host)))
    }

    /// Connects to `host` through the proxy.
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match self.protocol {
            ProxyProtocol::Socks5 => {
                socks::connect(&mut stream, host, port, self.credentials.as_ref()).await?
            }
            ProxyProtocol::Http => self.tunnel(&mut stream, host, port).await?,
        }
        Ok(stream)
    }

    /// Opens a tunnel with HTTP CONNECT.
    async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let authority = authority(host, port);
        let mut request = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
        if let Some(credentials) = &self.credentials {
            request.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.basic()));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        // Reads byte by byte, because the bytes after the head are already from the server.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == MAX_RESPONSE_SIZE {
                return Err(io::ErrorKind::InvalidData.into());
            }
            head.push(stream.read_u8().await?);
        }
        let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        match status.first() {
            Some(b'2') => Ok(()),
            _ if status == b"407" => Err(io::ErrorKind::PermissionDenied.into()),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

impl BypassRule {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.to_ascii_lowercase();
        if entry == "<local>" {
            return Some(Self::Local);
        }
        if entry.starts_with('<') {
            return None;
        }
        if let Ok(net) = entry.parse() {
            return Some(Self::Net(net));
        }
        let below = entry.strip_prefix("*.").or_else(|| entry.strip_prefix('.'));
        Some(
            below.map_or_else(
                || Self::Host(entry.clone()),
                |domain| Self::Domain(domain.to_owned()),
            ),
        )
    }

    fn matches(&self, host: &str) -> bool {
        match self {
            Self::Host(name) => name == host || name == "*",
            Self::Domain(domain) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            Self::Net(net) => {
                host.parse().is_ok_and(|address: std::net::IpAddr| net.contains(&address))
            }
            Self::Local => !host.contains(['.', ':']),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(server: &str, bypass: &str) -> EngineResult<Option<UpstreamProxy>> {
        UpstreamProxy::from_config(&ContextConfig {
            proxy_server: Some(server.to_owned()),
            proxy_bypass: Some(bypass.to_owned()),
            ..ContextConfig::default()
        })
    }

    #[test]
    fn the_bypass_list_has_the_syntax_of_browsers() {
        let plain = upstream("proxy.test:3128", ".a.test, *.b.test,c.test;10.0.0.0/8,<local>")
            .unwrap()
            .unwrap();
        for host in [
            "localhost",
            "127.0.0.1",
            "::1",
            "x.a.test",
            "a.test",
            "b.test",
            "c.test",
            "10.1.2.3",
            "wiki",
        ] {
            assert!(!plain.applies_to(host), "{host}");
        }
        for host in ["x.c.test", "ba.test", "11.0.0.1", "example.com"] {
            assert!(plain.applies_to(host), "{host}");
        }
        assert!(upstream("socks5://p", "<-loopback>").unwrap().unwrap().applies_to("localhost"));
    }

    #[test]
    fn an_unsupported_proxy_is_an_error_without_its_credentials() {
        assert!(upstream("https://proxy.test", "").is_err());
        assert!(upstream("http://", "").is_err());
        let with_credentials = upstream("http://me:p%40ss@proxy.test", "").unwrap().unwrap();
        assert_eq!(with_credentials.credentials.unwrap().basic(), "Basic bWU6cEBzcw==");
        let long = format!("socks5://{}:x@proxy.test", "u".repeat(256));
        let error = upstream(&long, "").err().unwrap();
        assert!(!format!("{error:?}").contains("uuu"), "{error:?}");
    }
}
