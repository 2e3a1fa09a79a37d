//! Resolves host names to addresses. A short-lived cache, as in browsers, avoids a query for each
//! connection.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};

use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a result stays in the cache.
const CACHE_TTL: Duration = Duration::from_secs(30);
/// Maximum time for a query.
const TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of cached names.
const MAX_NAMES: usize = 500;

/// The resolver of one context.
#[derive(Debug, Default)]
pub struct Resolver {
    cache: Mutex<HashMap<String, (Vec<IpAddr>, Instant)>>,
}

impl Resolver {
    /// Returns the addresses of `host`, in the order in which to try them.
    pub async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        // These names are not resolved by DNS (RFC 6761).
        if host == "localhost" || host.ends_with(".localhost") {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        if let Some(cached) = self.cached(host) {
            return Ok(cached);
        }
        let query = tokio::net::lookup_host((host.to_owned(), 0));
        let found =
            tokio::time::timeout(TIMEOUT, query).await.map_err(|_| io::ErrorKind::TimedOut)??;
        let found: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        self.store(host, &found);
        Ok(found)
    }

    fn cached(&self, host: &str) -> Option<Vec<IpAddr>> {
        let cache = self.cache.lock();
        cache.get(host).filter(|(_, until)| Instant::now() < *until).map(|(found, _)| found.clone())
    }

    fn store(&self, host: &str, found: &[IpAddr]) {
        let mut cache = self.cache.lock();
        let now = Instant::now();
        if cache.len() >= MAX_NAMES {
            cache.retain(|_, (_, until)| now < *until);
        }
        if cache.len() < MAX_NAMES {
            cache.insert(host.to_owned(), (found.to_vec(), now + CACHE_TTL));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn addresses_and_local_names_are_not_queried() {
        let resolver = Resolver::default();
        let addresses = async |host: &str| resolver.addresses(host).await.unwrap();
        assert_eq!(addresses("192.0.2.7").await, ["192.0.2.7".parse::<IpAddr>().unwrap()]);
        assert_eq!(addresses("a.localhost").await.len(), 2);
        assert!(resolver.cache.lock().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cached_name_expires() {
        let resolver = Resolver::default();
        resolver.store("a.test", &["192.0.2.7".parse().unwrap()]);
        assert!(resolver.cached("a.test").is_some());
        tokio::time::advance(CACHE_TTL).await;
        assert!(resolver.cached("a.test").is_none());
    }
}
