//! A counter of changes that tasks can wait for. Several changes before a task wakes up count as one.

use std::sync::Arc;

use tokio::sync::watch;

/// Shared by all that change the thing.
#[derive(Debug, Clone, Default)]
pub struct Revision(Arc<watch::Sender<u64>>);

impl Revision {
    /// Something has changed.
    pub fn advance(&self) {
        self.0.send_modify(|number| *number += 1);
    }

    /// How often something has changed.
    pub fn now(&self) -> u64 {
        *self.0.borrow()
    }

    /// Tells of every change from now on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
