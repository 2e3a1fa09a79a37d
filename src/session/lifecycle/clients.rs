//! The attached clients that use a session which one of them created. The session is released when the last of them
//! has disconnected, and suspended when all of them are idle.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::session::clock::Millis;

/// What tells a client's calls from others' in the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub(super) Arc<str>);

impl Default for ConnectionId {
    fn default() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }
}

/// By session. Sessions of stateless clients and of the JSON API are not in it: they end at their expiry.
#[derive(Default)]
pub(super) struct Holders(Mutex<HashMap<Arc<str>, Held>>);

/// A session with at least one attached client.
#[derive(Default)]
struct Held {
    present: HashSet<ConnectionId>,
    /// Clients that are idle, and may come back.
    away: HashSet<ConnectionId>,
    rest: Option<Rest>,
}

/// A session that was closed until its next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rest {
    pub expires_at: Option<Millis>,
}

impl Held {
    /// Whether it is open and no client is there.
    fn is_left(&self) -> bool {
        self.present.is_empty() && self.rest.is_none()
    }
}

impl Holders {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Held>> {
        self.0.lock()
    }

    /// `connection` has created `session`, or resumed it: from now on the session needs a client.
    pub fn begin(&self, session: &Arc<str>, connection: &ConnectionId) {
        let mut sessions = self.lock();
        let held = sessions.entry(session.clone()).or_default();
        held.away.remove(connection);
        held.present.insert(connection.clone());
        held.rest = None;
    }

    /// Whether a client that is not idle uses `session`.
    pub fn is_used(&self, session: &str) -> bool {
        self.lock().get(session).is_some_and(|held| !held.present.is_empty())
    }

    /// `connection` uses `session`.
    pub fn join(&self, session: &str, connection: &ConnectionId) {
        if let Some(held) = self.lock().get_mut(session)
            && !held.present.contains(connection)
        {
            held.away.remove(connection);
            held.present.insert(connection.clone());
        }
    }

    /// `connection` is idle. Returns the open sessions that only idle clients have now.
    pub fn go_away(&self, connection: &ConnectionId) -> Vec<Arc<str>> {
        let mut sessions = self.lock();
        let moved = sessions.iter_mut().filter_map(|(session, held)| {
            held.present.remove(connection).then(|| {
                held.away.insert(connection.clone());
                held.is_left().then(|| session.clone())
            })
        });
        moved.flatten().collect()
    }

    /// `connection` has gone. Returns the open sessions that no client, or only idle clients have now.
    pub fn leave(&self, connection: &ConnectionId) -> Vec<Arc<str>> {
        let mut left = Vec::new();
        self.lock().retain(|session, held| {
            if held.present.remove(connection) && held.is_left() {
                left.push(session.clone());
            }
            held.away.remove(connection);
            !held.present.is_empty() || !held.away.is_empty()
        });
        left
    }

    /// `session` is suspended, if a client can return to it.
    pub fn rest(&self, session: &str, rest: Rest) {
        if let Some(held) = self.lock().get_mut(session) {
            held.rest = Some(rest);
        }
    }

    /// The rest of `session`, if it is at rest.
    pub fn resting(&self, session: &str) -> Option<Rest> {
        self.lock().get(session)?.rest
    }

    /// `session` is open again. Returns whether it was at rest until now.
    pub fn wake(&self, session: &str) -> bool {
        self.lock().get_mut(session).is_some_and(|held| held.rest.take().is_some())
    }

    /// Removes and returns the sessions that have expired at rest.
    pub fn take_expired(&self, now: Millis) -> Vec<Arc<str>> {
        let has_expired =
            |held: &Held| held.rest.is_some_and(|rest| rest.expires_at.is_some_and(|at| at <= now));
        self.lock().extract_if(|_, held| has_expired(held)).map(|(session, _)| session).collect()
    }

    /// `session` is over.
    pub fn forget(&self, session: &str) {
        self.lock().remove(session);
    }
}

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

    const NONE: Vec<Arc<str>> = Vec::new();

    #[test]
    fn a_session_is_left_when_the_last_client_that_uses_it_goes() {
        let holders = Holders::default();
        let [one, other, third] =
            [ConnectionId::default(), ConnectionId::default(), ConnectionId::default()];
        let [first, second]: [Arc<str>; 2] = ["first".into(), "second".into()];
        holders.begin(&first, &one);
        holders.begin(&second, &one);
        holders.join(&first, &other);
        // What no client has created needs none.
        holders.join("third", &third);
        assert_eq!(holders.leave(&third), NONE);
        assert_eq!(holders.leave(&one), std::slice::from_ref(&second));
        assert_eq!(holders.leave(&other), std::slice::from_ref(&first));
        holders.begin(&first, &one);
        holders.forget(&first);
        assert_eq!(holders.leave(&one), NONE);
    }

    #[test]
    fn a_session_rests_while_all_of_its_clients_are_away() {
        let holders = Holders::default();
        let [one, other] = [ConnectionId::default(), ConnectionId::default()];
        let session: Arc<str> = "first".into();
        holders.begin(&session, &one);
        holders.join(&session, &other);
        assert_eq!(holders.go_away(&one), NONE);
        assert_eq!(holders.go_away(&other), std::slice::from_ref(&session));
        let rest = Rest { expires_at: Some(1000) };
        holders.rest(&session, rest);
        assert_eq!((holders.resting(&session), holders.take_expired(999)), (Some(rest), NONE));
        assert!(holders.wake(&session) && !holders.wake(&session));
        holders.join(&session, &one);
        // The other one may come back.
        assert_eq!(holders.leave(&one), std::slice::from_ref(&session));
        holders.rest(&session, rest);
        assert_eq!(holders.leave(&other), NONE);
        assert_eq!(holders.resting(&session), None);
        holders.begin(&session, &one);
        holders.rest(&session, rest);
        assert_eq!(holders.take_expired(1000), std::slice::from_ref(&session));
        assert_eq!(holders.resting(&session), None);
    }

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
