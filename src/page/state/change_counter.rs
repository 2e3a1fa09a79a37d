//! A counter of changes that tasks can wait for. Several changes before a task wakes up count as
//! one.

use std::sync::Arc;

use tokio::sync::watch;

/// A counter of changes. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ChangeCounter(Arc<watch::Sender<u64>>);

impl ChangeCounter {
    /// Counts a change.
    pub fn increment(&self) {
        self.0.send_modify(|number| *number += 1);
    }

    /// Returns the number of changes.
    pub fn count(&self) -> u64 {
        *self.0.borrow()
    }

    /// Returns a receiver that is notified of changes from now on.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
