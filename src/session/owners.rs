//! The owner of each implicit session. While the owner's client is attached, no other client can use the session,
//! whether it is open or suspended.

use std::{collections::HashMap, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use super::connection::ConnectionId;

/// By session. A connection has one at most, so there are no more than clients.
#[derive(Default)]
pub(super) struct Owners(Mutex<HashMap<Arc<str>, ConnectionId>>);

impl Owners {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, ConnectionId>> {
        self.0.lock()
    }

    /// Makes `session` the one that is the own of `connection`; false where it is another's.
    pub fn claim(&self, session: &Arc<str>, connection: &ConnectionId) -> bool {
        let mut owners = self.lock();
        if owners.get(session).is_some_and(|owner| owner != connection) {
            return false;
        }
        owners.retain(|_, owner| owner != connection);
        owners.insert(session.clone(), connection.clone());
        true
    }

    /// `connection` has no own session any more.
    pub fn release(&self, connection: &ConnectionId) {
        self.lock().retain(|_, owner| owner != connection);
    }

    /// Whether `session` is the own session of some connection.
    pub fn has_owner(&self, session: &str) -> bool {
        self.lock().contains_key(session)
    }

    /// Whether `session` is the own of another than `connection`.
    pub fn are_others(&self, session: &str, connection: &ConnectionId) -> bool {
        self.lock().get(session).is_some_and(|owner| owner != connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_one_clients_own_until_that_has_another_or_goes() {
        let owners = Owners::default();
        let (one, other) = (ConnectionId::default(), ConnectionId::default());
        let [first, second]: [Arc<str>; 2] = ["first".into(), "second".into()];
        assert!(owners.claim(&first, &one) && owners.claim(&first, &one));
        assert!(!owners.claim(&first, &other));
        assert!(owners.are_others(&first, &other) && !owners.are_others(&first, &one));
        assert!(!owners.are_others(&second, &other));
        assert!(owners.claim(&second, &one));
        assert!(!owners.are_others(&first, &other) && owners.are_others(&second, &other));
        owners.release(&other);
        assert!(owners.are_others(&second, &other) && owners.has_owner(&second));
        owners.release(&one);
        assert!(!owners.are_others(&second, &other) && !owners.has_owner(&second));
    }
}
