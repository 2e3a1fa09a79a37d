//! Rate limits: a token bucket for each address.

use std::{collections::HashMap, net::IpAddr};

use parking_lot::Mutex;
use tokio::time::Instant;

/// Maximum number of addresses. Addresses with a full bucket are removed first.
const MAX_ADDRESSES: usize = 10_000;

/// Limits the requests of each address per second. The burst size is the same number.
pub(super) struct RateLimit {
    per_second: f64,
    buckets: Mutex<HashMap<IpAddr, Bucket>>,
}

#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    updated_at: Instant,
}

impl RateLimit {
    /// Creates a limit of `per_second` requests. 0 means no limit.
    pub fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second), buckets: Mutex::default() }
    }

    /// Returns whether a request of `caller` is accepted now.
    pub fn admits(&self, caller: Option<IpAddr>) -> bool {
        let Some(caller) = caller.filter(|_| self.per_second > 0.0) else { return true };
        let now = Instant::now();
        let filled = |bucket: &Bucket| {
            let since = now.duration_since(bucket.updated_at).as_secs_f64();
            (bucket.tokens + since * self.per_second).min(self.per_second)
        };
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MAX_ADDRESSES && !buckets.contains_key(&caller) {
            buckets.retain(|_, bucket| filled(bucket) < self.per_second);
            if buckets.len() >= MAX_ADDRESSES {
                return false;
            }
        }
        let bucket =
            buckets.entry(caller).or_insert(Bucket { tokens: self.per_second, updated_at: now });
        let tokens = filled(bucket);
        *bucket =
            Bucket { tokens: if tokens >= 1.0 { tokens - 1.0 } else { tokens }, updated_at: now };
        tokens >= 1.0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_address_has_its_own_rate_limit() {
        let limit = RateLimit::new(3);
        let (one, other) = (Some(IpAddr::from([10, 0, 0, 1])), Some(IpAddr::from([10, 0, 0, 2])));
        assert_eq!((0..5).filter(|_| limit.admits(one)).count(), 3);
        assert!(limit.admits(other));
        tokio::time::advance(Duration::from_millis(400)).await;
        assert!(limit.admits(one));
        assert!(!limit.admits(one));
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!((0..5).filter(|_| limit.admits(one)).count(), 3);
    }

    #[test]
    fn without_a_limit_every_request_is_accepted() {
        let limit = RateLimit::new(0);
        assert!((0..10_000).all(|_| limit.admits(Some(IpAddr::from([10, 0, 0, 1])))));
    }
}
