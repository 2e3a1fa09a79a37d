//! Keeps the changes of this server's sessions until they are in the record. A write can fail, for
//! example on a full disk. Its data then stays here and is written again with a later call.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Mutex, MutexGuard};

use super::{
    sessions::{NewSession, NewState, SessionState},
    time::now,
};

/// Time between two attempts to write an entry.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of sessions that have ended and whose end could not be written.
const MAX_ENDED: usize = 64;

/// The sessions that are open or have unwritten changes. Clones share it.
#[derive(Clone, Default)]
pub(super) struct Ledger(Arc<Mutex<Entries>>);

#[derive(Default)]
struct Entries {
    by_id: HashMap<Arc<str>, LedgerEntry>,
    /// Whether the write of an entry has failed. If not, `due` need not search the entries.
    any_failed: bool,
}

#[derive(Default)]
struct LedgerEntry {
    unwritten: UnwrittenChanges,
    /// Whether a write of this entry is queued and has not read it yet.
    queued: bool,
    failed_at: Option<Instant>,
}

/// The data of a session that is not in the record yet.
#[derive(Clone, Default)]
pub(super) struct UnwrittenChanges {
    /// The session's row; `None` for a session that this server has not opened.
    pub row: Option<Arc<NewSession>>,
    pub snapshot: Option<Arc<SessionSnapshot>>,
    pub end: Option<SessionState>,
}

/// The newest state of a session.
pub(super) struct SessionSnapshot {
    pub state: NewState,
    /// Milliseconds since 1970.
    pub saved_at: u64,
}

impl Ledger {
    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock()
    }

    /// Adds a session that begins or is resumed.
    pub fn begin(&self, row: Arc<NewSession>) {
        let mut entries = self.lock();
        let unwritten = &mut entries.by_id.entry(row.id.clone()).or_default().unwritten;
        (unwritten.row, unwritten.end) = (Some(row), None);
    }

    /// Returns the row of the open session `id`.
    pub fn row(&self, id: &str) -> Option<Arc<NewSession>> {
        self.lock().by_id.get(id)?.unwritten.row.clone()
    }

    /// Returns the newest state of the session `id`, if it is not in the record yet.
    pub fn snapshot(&self, id: &str) -> Option<Arc<SessionSnapshot>> {
        self.lock().by_id.get(id)?.unwritten.snapshot.clone()
    }

    /// Replaces the state of the session `id`. Returns whether a write must be queued.
    pub fn save(&self, id: &Arc<str>, state: NewState) -> bool {
        let snapshot = Arc::new(SessionSnapshot { state, saved_at: now() });
        self.change(id, |unwritten| unwritten.snapshot = Some(snapshot))
    }

    /// Records the end of the session `id`. Returns whether a write must be queued. A closed
    /// session has no saved state.
    pub fn end(&self, id: &Arc<str>, end: SessionState) -> bool {
        self.change(id, |unwritten| {
            unwritten.end = Some(end);
            if end == SessionState::Closed {
                unwritten.snapshot = None;
            }
        })
    }

    fn change(&self, id: &Arc<str>, change: impl FnOnce(&mut UnwrittenChanges)) -> bool {
        let mut entries = self.lock();
        let entry = entries.by_id.entry(id.clone()).or_default();
        change(&mut entry.unwritten);
        !std::mem::replace(&mut entry.queued, true)
    }

    /// Returns the sessions whose last write failed and is due again. Each is marked as queued.
    pub fn due(&self) -> Vec<Arc<str>> {
        let mut entries = self.lock();
        if !entries.any_failed {
            return Vec::new();
        }
        let mut due = Vec::new();
        for (id, entry) in &mut entries.by_id {
            if !entry.queued && entry.failed_at.is_some_and(|at| at.elapsed() >= RETRY_INTERVAL) {
                (entry.queued, entry.failed_at) = (true, None);
                due.push(id.clone());
            }
        }
        entries.any_failed = entries.by_id.values().any(|entry| entry.failed_at.is_some());
        due
    }

    /// Returns the data that a queued write of the session `id` must write. Later changes need
    /// another write.
    pub fn read(&self, id: &str) -> Option<UnwrittenChanges> {
        let mut entries = self.lock();
        let entry = entries.by_id.get_mut(id)?;
        entry.queued = false;
        Some(entry.unwritten.clone())
    }

    /// Records the result of a write of the session `id`: the written data, or `None` if it failed.
    pub fn settle(&self, id: &Arc<str>, written: Option<UnwrittenChanges>) {
        let mut entries = self.lock();
        let Some(entry) = entries.by_id.get_mut(id) else { return };
        let Some(written) = written else {
            (entry.queued, entry.failed_at) = (false, Some(Instant::now()));
            let has_ended = entry.unwritten.end.is_some();
            entries.any_failed = true;
            let ended =
                entries.by_id.values().filter(|entry| entry.unwritten.end.is_some()).count();
            if has_ended && ended > MAX_ENDED {
                entries.by_id.remove(id);
                tracing::warn!(session = &**id, "the end of a session could not be recorded");
            }
            return;
        };
        let unwritten = &mut entry.unwritten;
        let is_same =
            |one: &Option<Arc<SessionSnapshot>>, other: &Option<Arc<SessionSnapshot>>| match (
                one, other,
            ) {
                (Some(one), Some(other)) => Arc::ptr_eq(one, other),
                (one, other) => one.is_none() && other.is_none(),
            };
        if is_same(&unwritten.snapshot, &written.snapshot) {
            unwritten.snapshot = None;
        }
        let is_over = unwritten.end.is_some() || unwritten.row.is_none();
        if is_over && unwritten.end == written.end && unwritten.snapshot.is_none() {
            entries.by_id.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> NewState {
        NewState { state: text.to_owned(), origins: Vec::new() }
    }

    fn text(snapshot: Option<Arc<SessionSnapshot>>) -> Option<String> {
        Some(snapshot?.state.state.clone())
    }

    #[test]
    fn a_state_is_queued_once_and_again_when_it_changes_during_its_write() {
        let (ledger, id) = (Ledger::default(), Arc::from("s"));
        assert!(ledger.save(&id, state("1")) && !ledger.save(&id, state("2")));
        let first = ledger.read("s").unwrap();
        assert_eq!(text(first.snapshot.clone()).as_deref(), Some("2"));
        assert!(ledger.save(&id, state("3")));
        ledger.settle(&id, Some(first));
        assert_eq!(text(ledger.snapshot("s")).as_deref(), Some("3"));
        let second = ledger.read("s").unwrap();
        ledger.settle(&id, Some(second));
        assert!(ledger.lock().by_id.is_empty());
    }

    #[test]
    fn sessions_whose_end_cannot_be_written_are_bounded() {
        let ledger = Ledger::default();
        for number in 0..2 * MAX_ENDED {
            let id = Arc::from(number.to_string());
            ledger.end(&id, SessionState::Expired);
            ledger.settle(&id, None);
        }
        assert_eq!(ledger.lock().by_id.len(), MAX_ENDED);
    }
}
