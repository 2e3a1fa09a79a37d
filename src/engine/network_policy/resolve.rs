//! Resolves names to addresses, with a short-lived cache as in browsers. Otherwise each connection would cause a
//! query.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long an answer is remembered.
const REMEMBERED: Duration = Duration::from_secs(30);
/// How long a name server may take.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Names that are remembered.
const MOST: usize = 500;

/// Resolves names for one context.
#[derive(Debug, Default)]
pub struct Resolver {
    known: Mutex<HashMap<String, (Vec<IpAddr>, Instant)>>,
}

impl Resolver {
    /// The addresses of `host`, in the order in which they are to be tried.
    pub async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        // These names are not resolved by DNS (RFC 6761).
        if host == "localhost" || host.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        if let Some(known) = self.known(host) {
            return Ok(known);
        }
        let asked = tokio::net::lookup_host((host.to_owned(), 0));
        let found =
            tokio::time::timeout(TIMEOUT, asked).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        self.remember(host, &found);
        Ok(found)
    }

    fn known(&self, host: &str) -> Option<Vec<IpAddr>> {
        let known = self.known.lock();
        known.get(host).filter(|(_, until)| Instant::now() < *until).map(|(found, _)| found.clone())
    }

    fn remember(&self, host: &str, found: &[IpAddr]) {
        let mut known = self.known.lock();
        let now = Instant::now();
        if known.len() >= MOST {
            known.retain(|_, (_, until)| now < *until);
        }
        if known.len() < MOST {
            known.insert(host.to_owned(), (found.to_vec(), now + REMEMBERED));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_written_out_or_local_asks_nobody() {
        let resolver = Resolver::default();
        let addresses = async |host: &str| resolver.addresses(host).await.unwrap();
        assert_eq!(addresses("192.0.2.7").await, ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(addresses("a.localhost").await.len(), 2);
        assert!(resolver.known.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_forgotten_after_a_while() {
        let resolver = Resolver::default();
        resolver.remember("a.test", &["192.0.2.7".parse().unwrap()]);
        assert!(resolver.known("a.test").is_some());
        tokio::time::advance(REMEMBERED).await;
        assert!(resolver.known("a.test").is_none());
    }
}
