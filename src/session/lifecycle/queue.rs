//! The order of the calls of a client, the calls that wait for a free session, and locks by session
//! id.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{
    sync::{Notify, OwnedMutexGuard},
    time::Instant,
};

/// The calls of a client that have arrived and have not entered the queue of their session yet.
#[derive(Default)]
pub(super) struct CallOrder {
    waiting: Mutex<(u64, BTreeSet<u64>)>,
    changed: Notify,
}

impl CallOrder {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeSet<u64>)> {
        self.waiting.lock()
    }

    /// Takes the next turn.
    pub fn arrive(self: &Arc<Self>) -> CallTurn {
        let mut waiting = self.lock();
        waiting.0 += 1;
        let number = waiting.0;
        waiting.1.insert(number);
        CallTurn { number, order: self.clone() }
    }
}

/// The position of a call in the order of its connection. Dropping it lets the next call continue.
pub struct CallTurn {
    number: u64,
    order: Arc<CallOrder>,
}

impl CallTurn {
    /// Waits until every earlier call was admitted or canceled.
    pub async fn wait(&self) {
        loop {
            let mut changed = pin!(self.order.changed.notified());
            changed.as_mut().enable();
            if self.order.lock().1.first().is_none_or(|first| *first >= self.number) {
                return;
            }
            changed.await;
        }
    }
}

impl Drop for CallTurn {
    fn drop(&mut self) {
        self.order.lock().1.remove(&self.number);
        self.order.changed.notify_waiters();
    }
}

/// The calls that wait until another session ends: when each began to wait, by its number.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<BTreeMap<u64, Instant>>);

impl WaitingCalls {
    /// Adds a call, until the result is dropped.
    pub fn enter(&self) -> WaitingCall<'_> {
        let mut calls = self.0.lock();
        let number = calls.last_key_value().map_or(0, |(last, _)| last + 1);
        calls.insert(number, Instant::now());
        WaitingCall { calls: self, number }
    }

    pub fn count(&self) -> usize {
        self.0.lock().len()
    }

    /// Returns how long the first call has waited. Zero if no call waits.
    pub fn longest_wait(&self) -> Duration {
        self.0.lock().first_key_value().map_or(Duration::ZERO, |(_, since)| since.elapsed())
    }
}

pub(super) struct WaitingCall<'a> {
    calls: &'a WaitingCalls,
    number: u64,
}

impl Drop for WaitingCall<'_> {
    fn drop(&mut self) {
        self.calls.0.lock().remove(&self.number);
    }
}

/// One lock per session id. An entry is kept as long as a task holds or awaits its lock.
#[derive(Default)]
pub struct SessionLocks(Mutex<HashMap<Arc<str>, Arc<tokio::sync::Mutex<()>>>>);

impl SessionLocks {
    /// Waits until no other task holds the lock of the session `id`, and takes it.
    pub async fn lock(&self, id: &str) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock();
            // The map has the only reference to a lock that is free.
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(id.into()).or_default().clone()
        };
        lock.lock_owned().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_longest_wait_is_that_of_the_first_call_that_still_waits() {
        let calls = WaitingCalls::default();
        assert_eq!(calls.longest_wait(), Duration::ZERO);
        let first = calls.enter();
        tokio::time::advance(Duration::from_secs(2)).await;
        let second = calls.enter();
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!((calls.count(), calls.longest_wait()), (2, Duration::from_secs(3)));
        drop(first);
        let third = calls.enter();
        assert_eq!((calls.count(), calls.longest_wait()), (2, Duration::from_secs(1)));
        drop((second, third));
        assert_eq!((calls.count(), calls.longest_wait()), (0, Duration::ZERO));
    }

    #[tokio::test]
    async fn a_session_lock_excludes_only_its_own_session_and_is_removed_when_it_is_free() {
        let locks = SessionLocks::default();
        let held = locks.lock("a").await;
        drop(locks.lock("b").await);
        let mut second = Box::pin(locks.lock("a"));
        assert!(futures_util::poll!(second.as_mut()).is_pending());
        drop(held);
        drop(second.await);
        drop(locks.lock("c").await);
        assert_eq!(locks.0.lock().len(), 1);
    }
}
