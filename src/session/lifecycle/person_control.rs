//! The person who controls a session in place of its agents.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

/// How long a person who has lost the connection keeps control.
const ABANDONED: Duration = Duration::from_secs(120);

/// Records which person controls a session in place of its agents.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct PersonControl {
    controller: Arc<watch::Sender<Option<ControllingPerson>>>,
    /// The number of the next connection.
    next_connection: Arc<AtomicU64>,
}

/// A person who controls a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllingPerson {
    pub person: Arc<str>,
    /// The number of the connection with which the person took control.
    connection: u64,
    /// When the person lost the connection.
    abandoned_at: Option<Instant>,
}

impl ControllingPerson {
    /// Returns when the control of a person who has lost the connection ends.
    pub(super) fn expires_at(&self) -> Option<Instant> {
        self.abandoned_at.map(|at| at + ABANDONED)
    }
}

impl PersonControl {
    /// Returns the person who has control.
    pub fn controller(&self) -> Option<ControllingPerson> {
        let controller = self.controller.borrow().clone();
        controller.filter(|controller| controller.expires_at().is_none_or(|at| at > Instant::now()))
    }

    /// Returns a receiver that is notified when the controller changes.
    pub fn changes(&self) -> watch::Receiver<Option<ControllingPerson>> {
        self.controller.subscribe()
    }

    /// Gives `person` control. Returns the number of the connection, for `abandon`.
    pub fn take(&self, person: &Arc<str>) -> u64 {
        let connection = self.next_connection.fetch_add(1, Ordering::AcqRel);
        let controller =
            ControllingPerson { person: person.clone(), connection, abandoned_at: None };
        self.controller.send_replace(Some(controller));
        connection
    }

    /// Ends the control of `person`. Returns false if the person does not have control.
    pub fn release(&self, person: &str) -> bool {
        self.controller.send_if_modified(|controller| {
            controller.take_if(|controller| &*controller.person == person).is_some()
        })
    }

    /// Records that the person has lost the `connection`, unless the person has taken control with
    /// another one since.
    pub fn abandon(&self, connection: u64) {
        self.controller.send_if_modified(|controller| match controller {
            Some(controller) if controller.connection == connection => {
                controller.abandoned_at = Some(Instant::now());
                true
            }
            _ => false,
        });
    }
}
