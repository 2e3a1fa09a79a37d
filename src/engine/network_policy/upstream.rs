//! Connects through the user's own proxy, by name, after the gate has allowed the connection.

use std::io;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ipnet::IpNet;
use percent_encoding::percent_decode_str;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use url::Url;

use super::socks;
use crate::{
    config::ContextConfig,
    engine::{EngineError, EngineResult, proxy},
};

/// A proxy's answer to CONNECT is no longer.
const LONGEST_HEAD: usize = 16 * 1024;

/// User name and password of a proxy, percent-decoded. Both have at most 255 bytes, as in SOCKS 5.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub user: Vec<u8>,
    pub password: Vec<u8>,
}

impl Credentials {
    fn of(url: &Url) -> Result<Option<Self>, ()> {
        if url.username().is_empty() && url.password().is_none() {
            return Ok(None);
        }
        let part = |text| percent_decode_str(text).collect::<Vec<u8>>();
        let (user, password) = (part(url.username()), part(url.password().unwrap_or_default()));
        if user.len().max(password.len()) > 255 {
            return Err(());
        }
        Ok(Some(Self { user, password }))
    }

    /// The value of `Proxy-Authorization`.
    fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode([&*self.user, b":", &*self.password].concat()))
    }
}

/// Another proxy.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Upstream {
    kind: Kind,
    host: String,
    port: u16,
    credentials: Option<Credentials>,
    bypass: Vec<Bypass>,
    /// Whether this machine is reached without it, as browsers do.
    spares_loopback: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Http,
    Socks5,
}

/// Hosts that are reached without it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bypass {
    Host(String),
    Below(String),
    Net(IpNet),
    /// Names without a dot.
    Simple,
}

impl Upstream {
    /// The proxy that `config` names, if it names one.
    pub fn configured(config: &ContextConfig) -> EngineResult<Option<Self>> {
        let Some(url) = proxy::url(config)? else { return Ok(None) };
        let unknown = || proxy::unknown(config);
        let (kind, usual) = match url.scheme() {
            "http" => (Kind::Http, 80),
            "socks5" | "socks" => (Kind::Socks5, 1080),
            _ => {
                return Err(EngineError::Unsupported {
                    what: "a policy for pages in front of a proxy of this kind",
                    instead: "use one of http:// or socks5://, or --allow-private-network without domain lists",
                });
            }
        };
        let bypass = config.proxy_bypass.as_deref().unwrap_or_default();
        let entries: Vec<&str> =
            bypass.split([',', ';']).map(str::trim).filter(|entry| !entry.is_empty()).collect();
        Ok(Some(Self {
            kind,
            host: url.host_str().ok_or_else(unknown)?.trim_matches(['[', ']']).to_owned(),
            port: url.port().unwrap_or(usual),
            credentials: Credentials::of(&url).map_err(|()| unknown())?,
            spares_loopback: !entries.contains(&"<-loopback>"),
            bypass: entries.into_iter().filter_map(Bypass::read).collect(),
        }))
    }

    /// Whether `host` is reached through it.
    pub fn serves(&self, host: &str) -> bool {
        let address: Option<std::net::IpAddr> = host.parse().ok();
        let local = host == "localhost"
            || host.ends_with(".localhost")
            || address.is_some_and(|address| address.to_canonical().is_loopback());
        !(local && self.spares_loopback || self.bypass.iter().any(|bypass| bypass.fits(host)))
    }

    /// A connection to `host` through it.
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        stream.set_nodelay(true)?;
        match self.kind {
            Kind::Socks5 => socks::ask(&mut stream, host, port, self.credentials.as_ref()).await?,
            Kind::Http => self.tunnel(&mut stream, host, port).await?,
        }
        Ok(stream)
    }

    async fn tunnel(&self, stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
        let place =
            if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
        let mut request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n");
        if let Some(credentials) = &self.credentials {
            request.push_str(&format!("Proxy-Authorization: {}\r\n", credentials.basic()));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await?;
        // Byte by byte, because the bytes after the head are already from the server.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == LONGEST_HEAD {
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

impl Bypass {
    fn read(entry: &str) -> Option<Self> {
        let entry = entry.to_ascii_lowercase();
        if entry == "<local>" {
            return Some(Self::Simple);
        }
        if entry.starts_with('<') {
            return None;
        }
        if let Ok(net) = entry.parse() {
            return Some(Self::Net(net));
        }
        let below = entry.strip_prefix("*.").or_else(|| entry.strip_prefix('.'));
        Some(
            below
                .map_or_else(|| Self::Host(entry.clone()), |domain| Self::Below(domain.to_owned())),
        )
    }

    fn fits(&self, host: &str) -> bool {
        match self {
            Self::Host(name) => name == host || name == "*",
            Self::Below(domain) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            Self::Net(net) => {
                host.parse().is_ok_and(|address: std::net::IpAddr| net.contains(&address))
            }
            Self::Simple => !host.contains(['.', ':']),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn upstream(server: &str, bypass: &str) -> EngineResult<Option<Upstream>> {
        Upstream::configured(&ContextConfig {
            proxy_server: Some(server.to_owned()),
            proxy_bypass: Some(bypass.to_owned()),
            ..ContextConfig::default()
        })
    }

    #[test]
    fn what_goes_past_it_is_read_as_browsers_do() {
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
            assert!(!plain.serves(host), "{host}");
        }
        for host in ["x.c.test", "ba.test", "11.0.0.1", "example.com"] {
            assert!(plain.serves(host), "{host}");
        }
        assert!(upstream("socks5://p", "<-loopback>").unwrap().unwrap().serves("localhost"));
    }

    #[test]
    fn one_that_cannot_be_spoken_to_is_told() {
        assert!(upstream("https://proxy.test", "").is_err());
        assert!(upstream("http://", "").is_err());
        let signed = upstream("http://me:p%40ss@proxy.test", "").unwrap().unwrap();
        assert_eq!(signed.credentials.unwrap().basic(), "Basic bWU6cEBzcw==");
        let long = format!("socks5://{}:x@proxy.test", "u".repeat(256));
        let error = upstream(&long, "").err().unwrap();
        assert!(!format!("{error:?}").contains("uuu"), "{error:?}");
    }
}
