//! A person's control of a session, during which the calls of agents wait.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{sync::watch, time::Instant};

use super::session::Session;
use crate::error::{ErrorCode, Result, TroupeError};

/// How long a person who has lost the connection keeps control.
const ABANDONED: Duration = Duration::from_secs(120);
/// The time between two reports of a call that waits.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// The field of a result with the notice that a person has acted.
const FIELD: &str = "person";
/// The notice in the first result after a person has given control back.
const RETURNED: &str = "A person controlled this session from the dashboard before this call: the page and its fields may have \
     changed. Take a new `snapshot` before you act on elements.";

/// Who controls a session in place of its agents.
#[derive(Debug, Clone, Default)]
pub(in crate::session) struct SessionHold {
    holder: Arc<watch::Sender<Option<Holder>>>,
    /// The number of the next connection.
    next_connection: Arc<AtomicU64>,
}

/// A person who controls a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    pub person: Arc<str>,
    /// Numbers the connections with which people take control.
    connection: u64,
    /// When the person lost the connection.
    abandoned_at: Option<Instant>,
}

impl Holder {
    fn expires_at(&self) -> Option<Instant> {
        self.abandoned_at.map(|at| at + ABANDONED)
    }
}

impl SessionHold {
    fn current(&self) -> Option<Holder> {
        let holder = self.holder.borrow().clone();
        holder.filter(|holder| holder.expires_at().is_none_or(|at| at > Instant::now()))
    }
}

impl Session {
    /// Gives `person` control, and takes it from another person. Returns the number of the
    /// connection, for `abandon`.
    pub fn hold(&self, person: &Arc<str>) -> u64 {
        let connection = self.held.next_connection.fetch_add(1, Ordering::AcqRel);
        let holder = Holder { person: person.clone(), connection, abandoned_at: None };
        self.held.holder.send_replace(Some(holder));
        connection
    }

    /// Returns the person who controls the session.
    pub fn holder(&self) -> Option<Holder> {
        self.held.current()
    }

    /// Returns a receiver that is notified when the holder changes.
    pub fn holder_changes(&self) -> watch::Receiver<Option<Holder>> {
        self.held.holder.subscribe()
    }

    /// Ends the control of `person`. The next result says that a person has acted.
    pub fn release(&self, person: &str) {
        let released = self.held.holder.send_if_modified(|holder| {
            holder.take_if(|holder| &*holder.person == person).is_some()
        });
        if released {
            self.notify(FIELD, RETURNED.to_owned());
        }
    }

    /// Records that the person has lost the `connection`, unless the person has taken control with
    /// another one since.
    pub fn abandon(&self, connection: u64) {
        self.held.holder.send_if_modified(|holder| match holder {
            Some(holder) if holder.connection == connection => {
                holder.abandoned_at = Some(Instant::now());
                true
            }
            _ => false,
        });
    }

    /// Waits until no person controls the session, at most `--takeover-timeout` after `arrived`.
    /// Calls `report` in an interval, with the time so far and the limit.
    pub async fn wait_released(
        &self,
        arrived: Instant,
        report: impl Fn(Duration, Duration),
    ) -> Result<()> {
        let limit = self.config.takeover_timeout;
        let deadline = arrived + limit;
        let mut changes = self.holder_changes();
        loop {
            let Some(holder) = changes.borrow_and_update().clone() else { return Ok(()) };
            let expires_at = holder.expires_at();
            if expires_at.is_some_and(|at| at <= Instant::now()) {
                self.release(&holder.person);
                continue;
            }
            if Instant::now() >= deadline {
                return Err(self.held_error());
            }
            report(arrived.elapsed(), limit);
            let next = Instant::now() + REPORT_INTERVAL;
            let next = next.min(deadline).min(expires_at.unwrap_or(deadline));
            tokio::select! {
                // The session owns the sender: the channel stays open.
                _ = changes.changed() => {}
                () = tokio::time::sleep_until(next) => {}
                () = self.ended.cancelled() => return Err(self.ended_during_call()),
            }
        }
    }

    fn held_error(&self) -> TroupeError {
        let waited = self.config.takeover_timeout.as_millis();
        TroupeError::new(
            ErrorCode::SessionHeld,
            format!("a person controls the session from the dashboard; waited {waited} ms"),
        )
        .session(&*self.id)
    }
}
