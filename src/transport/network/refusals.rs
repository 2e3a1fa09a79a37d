//! The log of refused requests. One line an address a second: a peer without the token must not fill the log.

use std::{collections::HashMap, fmt::Display, net::IpAddr, time::Duration};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::config::one_line;

/// The least time between two lines about an address.
const INTERVAL: Duration = Duration::from_secs(1);
/// Addresses that are remembered. While so many are refused within the interval, all further ones count as one.
const REMEMBERED: usize = 1000;

/// Writes refused requests to the log.
#[derive(Default)]
pub(super) struct RefusalLog {
    /// `None` is an address that is unknown, or one too many.
    addresses: Mutex<HashMap<Option<IpAddr>, Logged>>,
}

struct Logged {
    /// When its last line was written.
    at: Instant,
    /// Refusals since then.
    unlogged: u64,
}

impl RefusalLog {
    /// Writes a line, unless one about this address was written less than a second ago.
    pub fn write(&self, address: Option<IpAddr>, method: &str, path: &str, reason: &dyn Display) {
        let Some(unlogged) = self.due(address) else { return };
        let unlogged = (unlogged > 0).then_some(unlogged);
        let address = address.map(|address| address.to_string());
        let (method, path) = (one_line(method), one_line(path));
        tracing::warn!(address, method, path, %reason, unlogged, "a request was refused");
    }

    /// Counts a refusal. Returns how many were not logged before it, or `None` where this one is not to be logged either.
    fn due(&self, address: Option<IpAddr>) -> Option<u64> {
        let now = Instant::now();
        let mut addresses = self.addresses.lock();
        let mut key = address;
        if addresses.len() >= REMEMBERED && !addresses.contains_key(&key) {
            addresses.retain(|_, logged| now.duration_since(logged.at) < INTERVAL);
            if addresses.len() >= REMEMBERED {
                key = None;
            }
        }
        let Some(logged) = addresses.get_mut(&key) else {
            addresses.insert(key, Logged { at: now, unlogged: 0 });
            return Some(0);
        };
        if now.duration_since(logged.at) < INTERVAL {
            logged.unlogged += 1;
            return None;
        }
        logged.at = now;
        Some(std::mem::take(&mut logged.unlogged))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(number: u32) -> Option<IpAddr> {
        Some(IpAddr::from(number.to_be_bytes()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_address_has_one_line_a_second_that_counts_what_was_left_out() {
        let log = RefusalLog::default();
        assert_eq!(log.due(address(1)), Some(0));
        assert!((0..5).all(|_| log.due(address(1)).is_none()));
        assert_eq!(log.due(address(2)), Some(0));
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.due(address(1)), Some(5));
        assert_eq!(log.due(address(1)), None);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.due(address(1)), Some(1));
        assert_eq!(log.due(address(2)), Some(0));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_addresses_are_remembered() {
        let log = RefusalLog::default();
        let many = u32::try_from(REMEMBERED).unwrap();
        assert!((0..many).all(|number| log.due(address(number)) == Some(0)));
        assert_eq!(log.due(address(many)), Some(0), "the first of all further ones");
        assert!((many..many + 100).all(|number| log.due(address(number)).is_none()));
        assert_eq!(log.addresses.lock().len(), REMEMBERED + 1);
        tokio::time::advance(INTERVAL).await;
        assert_eq!(log.due(address(many + 1)), Some(0));
        assert_eq!(log.addresses.lock().len(), 1);
    }
}
