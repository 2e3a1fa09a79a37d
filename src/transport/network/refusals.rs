//! Logs rejected requests. Writes at most one line per address and second, so that a peer without
//! the token cannot fill the log.

use std::{collections::HashMap, fmt::Display, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::config::one_line;

/// Minimum time between two lines about an address.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of addresses within the interval. All further addresses share one entry.
const MAX_ADDRESSES: usize = 1000;

/// Writes rejected requests to the log.
#[derive(Default)]
pub(super) struct RefusalLog {
    /// The key `None` stands for unknown addresses and for those beyond the limit.
    addresses: Mutex<HashMap<Option<IpAddr>, AddressEntry>>,
}

struct AddressEntry {
    /// The time of the last line.
    logged_at: Instant,
    /// Rejections since then.
    unlogged: u64,
}

impl RefusalLog {
    /// Writes a line, unless one about this address was written less than a second ago.
    pub fn write(&self, address: Option<IpAddr>, method: &str, path: &str, reason: &dyn Display) {
        let Some(unlogged) = self.count(address) else { return };
        let unlogged = (unlogged > 0).then_some(unlogged);
        let address = address.map(|address| address.to_string());
        let (method, path) = (one_line(method), one_line(path));
        tracing::warn!(address, method, path, %reason, unlogged, "rejected a request");
    }

    /// Counts a rejection. Returns the number of rejections that were not logged since the last
    /// line, or `None` if this one must not be logged.
    fn count(&self, address: Option<IpAddr>) -> Option<u64> {
        let now = Instant::now();
        let mut addresses = self.addresses.lock();
        let mut key = address;
        if addresses.len() >= MAX_ADDRESSES && !addresses.contains_key(&key) {
            addresses.retain(|_, entry| now.duration_since(entry.logged_at) < INTERVAL);
            if addresses.len() >= MAX_ADDRESSES {
                key = None;
            }
        }
        let Some(entry) = addresses.get_mut(&key) else {
            addresses.insert(key, AddressEntry { logged_at: now, unlogged: 0 });
            return Some(0);
        };
        if now.duration_since(entry.logged_at) < INTERVAL {
            entry.unlogged += 1;
            return None;
        }
        entry.logged_at = now;
        Some(std::mem::take(&mut entry.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_one_line_per_second_that_counts_omitted_rejections() {
        let log = RefusalLog::default();
        assert_eq!(log.count(address(1)), Some(0));
        assert!((0..5).all(|_| log.count(address(1)).is_none()));
        assert_eq!(log.count(address(2)), Some(0));
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.count(address(1)), Some(5));
        assert_eq!(log.count(address(1)), None);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.count(address(1)), Some(1));
        assert_eq!(log.count(address(2)), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn the_number_of_addresses_is_limited() {
        let log = RefusalLog::default();
        let many = u32::try_from(MAX_ADDRESSES).unwrap();
        assert!((0..many).all(|number| log.count(address(number)) == Some(0)));
        assert_eq!(log.count(address(many)), Some(0), "the first of all further ones");
        assert!((many..many + 100).all(|number| log.count(address(number)).is_none()));
        assert_eq!(log.addresses.lock().len(), MAX_ADDRESSES + 1);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.count(address(many + 1)), Some(0));
        assert_eq!(log.addresses.lock().len(), 1);
    }
}
