//! The clients of sessions.
//!
//! A session that a client created is released when the last client that uses it has disconnected,
//! and suspended when all of them are idle. An implicit session has an owner: while the owner is
//! attached, no other client can use the session, whether it is open or suspended.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};

use crate::session::clock::Millis;

/// The id of a connection, which identifies the client's calls in the record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub(super) Arc<str>);

impl Default for ConnectionId {
    fn default() -> Self {
        Self(uuid::Uuid::new_v4().to_string().into())
    }
}

/// The clients of each session. Sessions of stateless clients and of the JSON API are not included:
/// they end at their expiry.
#[derive(Default)]
pub(super) struct SessionClients(Mutex<HashMap<Arc<str>, AttachedClients>>);

/// A session with at least one attached client.
#[derive(Default)]
struct AttachedClients {
    present: HashSet<ConnectionId>,
    /// Clients that may return.
    idle: HashSet<ConnectionId>,
    suspension: Option<Suspension>,
}

/// The state of a session that is suspended until its next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Suspension {
    pub expires_at: Option<Millis>,
}

impl AttachedClients {
    /// Returns whether the session is open and no client is present.
    fn is_abandoned(&self) -> bool {
        self.present.is_empty() && self.suspension.is_none()
    }
}

impl SessionClients {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, AttachedClients>> {
        self.0.lock()
    }

    /// Adds the first client of `session`, which created or resumed it. From now on the session is
    /// bound to its clients.
    pub fn begin(&self, session: &Arc<str>, connection: &ConnectionId) {
        let mut sessions = self.lock();
        let attached = sessions.entry(session.clone()).or_default();
        attached.idle.remove(connection);
        attached.present.insert(connection.clone());
        attached.suspension = None;
    }

    /// Returns whether a client that is not idle uses `session`.
    pub fn is_used(&self, session: &str) -> bool {
        self.lock().get(session).is_some_and(|attached| !attached.present.is_empty())
    }

    /// Adds a client of `session`, if the session is bound to clients.
    pub fn add_user(&self, session: &str, connection: &ConnectionId) {
        if let Some(attached) = self.lock().get_mut(session)
            && !attached.present.contains(connection)
        {
            attached.idle.remove(connection);
            attached.present.insert(connection.clone());
        }
    }

    /// Marks `connection` as idle. Returns the open sessions that have only idle clients now.
    pub fn set_idle(&self, connection: &ConnectionId) -> Vec<Arc<str>> {
        let mut sessions = self.lock();
        let moved = sessions.iter_mut().filter_map(|(session, attached)| {
            attached.present.remove(connection).then(|| {
                attached.idle.insert(connection.clone());
                attached.is_abandoned().then(|| session.clone())
            })
        });
        moved.flatten().collect()
    }

    /// Removes `connection`. Returns the open sessions that have no clients, or only idle clients
    /// now.
    pub fn leave(&self, connection: &ConnectionId) -> Vec<Arc<str>> {
        let mut abandoned = Vec::new();
        self.lock().retain(|session, attached| {
            if attached.present.remove(connection) && attached.is_abandoned() {
                abandoned.push(session.clone());
            }
            attached.idle.remove(connection);
            !attached.present.is_empty() || !attached.idle.is_empty()
        });
        abandoned
    }

    /// Marks `session` as suspended, if a client can return to it.
    pub fn suspend(&self, session: &str, suspension: Suspension) {
        if let Some(attached) = self.lock().get_mut(session) {
            attached.suspension = Some(suspension);
        }
    }

    /// Returns the suspension of `session`, if it is suspended.
    pub fn suspension(&self, session: &str) -> Option<Suspension> {
        self.lock().get(session)?.suspension
    }

    /// Marks `session` as open. Returns whether it was suspended.
    pub fn reopen(&self, session: &str) -> bool {
        self.lock().get_mut(session).is_some_and(|attached| attached.suspension.take().is_some())
    }

    /// Removes and returns the sessions that expired while they were suspended.
    pub fn take_expired(&self, now: Millis) -> Vec<Arc<str>> {
        let has_expired = |attached: &AttachedClients| {
            attached
                .suspension
                .is_some_and(|suspension| suspension.expires_at.is_some_and(|at| at <= now))
        };
        self.lock()
            .extract_if(|_, attached| has_expired(attached))
            .map(|(session, _)| session)
            .collect()
    }

    /// Removes `session`, which has ended.
    pub fn remove(&self, session: &str) {
        self.lock().remove(session);
    }
}

/// The owner of each implicit session. A connection owns at most one session.
#[derive(Default)]
pub(super) struct SessionOwners(Mutex<HashMap<Arc<str>, ConnectionId>>);

impl SessionOwners {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, ConnectionId>> {
        self.0.lock()
    }

    /// Makes `session` the implicit session of `connection`. Returns false if another connection
    /// owns it.
    pub fn claim(&self, session: &Arc<str>, connection: &ConnectionId) -> bool {
        let mut owners = self.lock();
        if owners.get(session).is_some_and(|owner| owner != connection) {
            return false;
        }
        owners.retain(|_, owner| owner != connection);
        owners.insert(session.clone(), connection.clone());
        true
    }

    /// Removes the implicit session of `connection`.
    pub fn release(&self, connection: &ConnectionId) {
        self.lock().retain(|_, owner| owner != connection);
    }

    /// Returns whether `session` is the implicit session of a connection.
    pub fn has_owner(&self, session: &str) -> bool {
        self.lock().contains_key(session)
    }

    /// Returns whether `session` is the implicit session of a connection other than `connection`.
    pub fn has_other_owner(&self, session: &str, connection: &ConnectionId) -> bool {
        self.lock().get(session).is_some_and(|owner| owner != connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: Vec<Arc<str>> = Vec::new();

    #[test]
    fn a_session_is_abandoned_when_its_last_client_disconnects() {
        let clients = SessionClients::default();
        let [one, other, third] =
            [ConnectionId::default(), ConnectionId::default(), ConnectionId::default()];
        let [first, second]: [Arc<str>; 2] = ["first".into(), "second".into()];
        clients.begin(&first, &one);
        clients.begin(&second, &one);
        clients.add_user(&first, &other);
        // A session that no client created is not bound to clients.
        clients.add_user("third", &third);
        assert_eq!(clients.leave(&third), NONE);
        assert_eq!(clients.leave(&one), std::slice::from_ref(&second));
        assert_eq!(clients.leave(&other), std::slice::from_ref(&first));
        clients.begin(&first, &one);
        clients.remove(&first);
        assert_eq!(clients.leave(&one), NONE);
    }

    #[test]
    fn a_session_is_suspended_while_all_of_its_clients_are_idle() {
        let clients = SessionClients::default();
        let [one, other] = [ConnectionId::default(), ConnectionId::default()];
        let session: Arc<str> = "first".into();
        clients.begin(&session, &one);
        clients.add_user(&session, &other);
        assert_eq!(clients.set_idle(&one), NONE);
        assert_eq!(clients.set_idle(&other), std::slice::from_ref(&session));
        let suspension = Suspension { expires_at: Some(1000) };
        clients.suspend(&session, suspension);
        assert_eq!(
            (clients.suspension(&session), clients.take_expired(999)),
            (Some(suspension), NONE)
        );
        assert!(clients.reopen(&session) && !clients.reopen(&session));
        clients.add_user(&session, &one);
        // The other client may return.
        assert_eq!(clients.leave(&one), std::slice::from_ref(&session));
        clients.suspend(&session, suspension);
        assert_eq!(clients.leave(&other), NONE);
        assert_eq!(clients.suspension(&session), None);
        clients.begin(&session, &one);
        clients.suspend(&session, suspension);
        assert_eq!(clients.take_expired(1000), std::slice::from_ref(&session));
        assert_eq!(clients.suspension(&session), None);
    }

    #[test]
    fn a_client_owns_its_implicit_session_until_it_gets_another_or_disconnects() {
        let owners = SessionOwners::default();
        let (one, other) = (ConnectionId::default(), ConnectionId::default());
        let [first, second]: [Arc<str>; 2] = ["first".into(), "second".into()];
        assert!(owners.claim(&first, &one) && owners.claim(&first, &one));
        assert!(!owners.claim(&first, &other));
        assert!(owners.has_other_owner(&first, &other) && !owners.has_other_owner(&first, &one));
        assert!(!owners.has_other_owner(&second, &other));
        assert!(owners.claim(&second, &one));
        assert!(!owners.has_other_owner(&first, &other) && owners.has_other_owner(&second, &other));
        owners.release(&other);
        assert!(owners.has_other_owner(&second, &other) && owners.has_owner(&second));
        owners.release(&one);
        assert!(!owners.has_other_owner(&second, &other) && !owners.has_owner(&second));
    }
}
