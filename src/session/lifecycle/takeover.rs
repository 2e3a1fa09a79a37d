//! The control of a session by a person, during which the calls of its agents wait.

use std::{io, path::PathBuf, sync::Arc, time::Duration};

use tokio::{sync::watch, time::Instant};

use super::{person_control::ControllingPerson, session::Session};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    files::{FileStore, NameBase},
};

/// The time between two reports of a call that waits.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);
/// The field of a result with the notice that a person has acted.
const FIELD: &str = "person";
/// The notice in the first result after a person has given control back.
const RETURNED: &str = "A person controlled this session from the dashboard before this call: the page \
     and its fields may have changed. Take a new `snapshot` before you act on elements.";

impl Session {
    /// Gives `person` control, and takes it from another person. Returns the number of the
    /// connection, for `abandon`.
    pub fn take_control(&self, person: &Arc<str>) -> u64 {
        self.person_control.take(person)
    }

    /// Returns the person who controls the session.
    pub fn controller(&self) -> Option<ControllingPerson> {
        self.person_control.controller()
    }

    /// Returns a receiver that is notified when the controller changes.
    pub fn controller_changes(&self) -> watch::Receiver<Option<ControllingPerson>> {
        self.person_control.changes()
    }

    /// Ends the control of `person`. The next result says that a person has acted.
    pub fn release(&self, person: &str) {
        if self.person_control.release(person) {
            self.notify(FIELD, RETURNED.to_owned());
        }
    }

    /// Takes the notice that a person has acted. Later results do not have it.
    pub fn take_person_notice(&self) -> Option<String> {
        self.take_notice(FIELD)
    }

    /// Records that the person has lost the `connection`, unless the person has taken control with
    /// another one since.
    pub fn abandon(&self, connection: u64) {
        self.person_control.abandon(connection);
    }

    /// Creates an empty folder for files that a page can read. Blocks. The session removes it at
    /// its end.
    pub fn new_upload_folder(&self) -> io::Result<PathBuf> {
        if self.ended.is_cancelled() {
            return Err(io::Error::other("the session has ended"));
        }
        self.uploads.new_folder()
    }

    /// Returns paths of files that a client names for reading. Objects of a bucket are copied into
    /// folders that the session removes at its end, because a page reads a chosen file later.
    pub async fn local_paths(
        self: &Arc<Self>,
        files: &FileStore,
        base: NameBase,
        names: &[String],
    ) -> Result<Vec<PathBuf>> {
        let owner = self.clone();
        files.local_paths(base, names, move || owner.new_upload_folder()).await
    }

    /// Waits until no person controls the session, at most `--takeover-timeout` after `arrived`.
    /// Calls `report` every 5 seconds with the elapsed time and the limit.
    pub async fn wait_released(
        &self,
        arrived: Instant,
        report: impl Fn(Duration, Duration),
    ) -> Result<()> {
        let limit = self.config.takeover_timeout;
        let deadline = arrived + limit;
        let mut changes = self.controller_changes();
        loop {
            let Some(controller) = changes.borrow_and_update().clone() else { return Ok(()) };
            let expires_at = controller.expires_at();
            if expires_at.is_some_and(|at| at <= Instant::now()) {
                self.release(&controller.person);
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
                () = self.ended.cancelled() => return Err(self.ended_during_call_error()),
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
