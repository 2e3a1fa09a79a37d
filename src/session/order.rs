//! The order in which a client's calls came.

use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// Calls that have arrived and not been admitted to their session's queue yet.
#[derive(Default)]
pub(super) struct Order {
    waiting: Mutex<(u64, BTreeSet<u64>)>,
    changed: Notify,
}

impl Order {
    fn lock(&self) -> MutexGuard<'_, (u64, BTreeSet<u64>)> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next place.
    pub fn arrive(self: &Arc<Self>) -> Turn {
        let mut waiting = self.lock();
        waiting.0 += 1;
        let number = waiting.0;
        waiting.1.insert(number);
        Turn { number, order: self.clone() }
    }
}

/// A call's place among those of its connection, taken when it arrives. Dropped it is given up.
pub struct Turn {
    number: u64,
    order: Arc<Order>,
}

impl Turn {
    /// Waits until every call that came before is admitted or gone.
    pub async fn comes(&self) {
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

impl Drop for Turn {
    fn drop(&mut self) {
        self.order.lock().1.remove(&self.number);
        self.order.changed.notify_waiters();
    }
}
