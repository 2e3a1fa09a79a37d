//! The slot of a session among those that this server, or all servers together, may have.

use std::sync::Arc;

use tokio::sync::{Notify, OwnedSemaphorePermit};

use crate::store::{SessionState, Store};

/// The slot of a session. Dropping it frees the slot.
pub(super) struct SessionSlot {
    _permit: OwnedSemaphorePermit,
    freed: Arc<Notify>,
    /// The session that is in the record but not open yet, and its state if it does not open.
    unopened: Option<(Store, Arc<str>, SessionState)>,
}

impl SessionSlot {
    pub fn new(permit: OwnedSemaphorePermit, freed: Arc<Notify>) -> Self {
        Self { _permit: permit, freed, unopened: None }
    }

    /// Sets the state with which the session `id` ends in the record if it does not open.
    pub fn set_unopened(&mut self, store: &Store, id: Arc<str>, state: SessionState) {
        self.unopened = Some((store.clone(), id, state));
    }

    /// Leaves the session as it is in the record: it has opened, or it was not written.
    pub fn clear_unopened(&mut self) {
        self.unopened = None;
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        // Recorded first: the notified call counts the sessions in the record.
        if let Some((store, id, state)) = self.unopened.take() {
            store.record_session_end(&id, state);
        }
        self.freed.notify_one();
    }
}
