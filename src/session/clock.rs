//! The wall clock, which tests can replace.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;

/// Milliseconds since 1970, as in JavaScript.
pub type Millis = u64;

/// The source of the time.
#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> Millis;
    /// Waits until `now` is `at` or later.
    async fn sleep_until(&self, at: Millis);
}

/// The clock of the machine.
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Millis {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |elapsed| u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    async fn sleep_until(&self, at: Millis) {
        // The clock may be set back during the sleep.
        loop {
            let now = self.now();
            if now >= at {
                return;
            }
            tokio::time::sleep(Duration::from_millis(at - now)).await;
        }
    }
}

/// A clock that only advances when a test advances it.
#[cfg(feature = "testing")]
pub struct VirtualClock {
    now: tokio::sync::watch::Sender<Millis>,
}

#[cfg(feature = "testing")]
impl VirtualClock {
    pub fn new(now: Millis) -> Self {
        Self { now: tokio::sync::watch::Sender::new(now) }
    }

    pub fn advance(&self, by: Millis) {
        self.now.send_modify(|now| *now += by);
    }
}

#[cfg(feature = "testing")]
#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Millis {
        *self.now.borrow()
    }

    async fn sleep_until(&self, at: Millis) {
        let _ = self.now.subscribe().wait_for(|now| *now >= at).await;
    }
}
