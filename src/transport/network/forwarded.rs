//! Reads the address of a client behind reverse proxies from `X-Forwarded-For`.
//!
//! Each proxy appends the address of its peer. A client can send the header too, so only the
//! entries of trusted proxies are used.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, HeaderName};
use ipnet::IpNet;

use crate::config::network;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address that rate limits, logs and the queue for sessions use.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub IpAddr);

/// The proxies whose `X-Forwarded-For` header is trusted.
pub(super) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    /// Parses `addresses`: IP addresses and networks that [`network`] accepts.
    pub fn new(addresses: &[String]) -> Self {
        Self(addresses.iter().filter_map(|text| network(text)).collect())
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// Returns the rightmost address that is not a trusted proxy. If all addresses are trusted
    /// proxies, returns the leftmost one. If an entry is not an address, returns the address of the
    /// host that appended it.
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let entries =
            headers.get_all(FORWARDED_FOR).iter().map(|value| value.to_str().unwrap_or_default());
        let entries: Vec<&str> = entries.flat_map(|value| value.split(',')).collect();
        for entry in entries.into_iter().rev() {
            match address(entry.trim()) {
                Some(before) if self.trusts(client) => client = before,
                _ => break,
            }
        }
        client
    }
}

/// Parses an address. Some proxies write it with a port or in brackets.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    let address = address.or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()));
    address.map(|address| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn client(trusted: &[&str], peer: &str, chain: &[&str]) -> String {
        let trusted: Vec<String> = trusted.iter().map(|text| (*text).to_owned()).collect();
        let mut headers = HeaderMap::new();
        for value in chain {
            headers.append(FORWARDED_FOR, HeaderValue::from_str(value).unwrap());
        }
        TrustedProxies::new(&trusted).client(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_client_is_the_rightmost_address_that_is_not_trusted() {
        let trusted = ["127.0.0.1", "10.0.0.0/8", "fd00::/8"];
        for (peer, chain, expected) in [
            ("127.0.0.1", &["203.0.113.7"] as &[_], "203.0.113.7"),
            ("127.0.0.1", &["1.1.1.1, 203.0.113.7"], "203.0.113.7"),
            ("127.0.0.1", &["1.1.1.1, 203.0.113.7, 10.1.2.3"], "203.0.113.7"),
            ("127.0.0.1", &["1.1.1.1", "203.0.113.7", "10.1.2.3"], "203.0.113.7"),
            ("127.0.0.1", &["203.0.113.7:5124"], "203.0.113.7"),
            ("fd00::1", &["[2001:db8::7]:443"], "2001:db8::7"),
            ("::ffff:127.0.0.1", &["::ffff:203.0.113.7"], "203.0.113.7"),
            // All are trusted, or the header is missing or broken.
            ("127.0.0.1", &["10.1.2.3, 10.1.2.4"], "10.1.2.3"),
            ("127.0.0.1", &[], "127.0.0.1"),
            ("127.0.0.1", &["203.0.113.7, unknown, 10.1.2.3"], "10.1.2.3"),
            ("127.0.0.1", &["unknown"], "127.0.0.1"),
            // The header of an untrusted peer is ignored.
            ("203.0.113.9", &["1.1.1.1"], "203.0.113.9"),
        ] {
            assert_eq!(client(&trusted, peer, chain), expected, "{peer} {chain:?}");
        }
        assert_eq!(client(&[], "127.0.0.1", &["1.1.1.1"]), "127.0.0.1");
    }
}
