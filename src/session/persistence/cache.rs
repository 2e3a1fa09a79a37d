//! The last known state of a session, in memory.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    hash::RandomState,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::{sync::watch, time::Instant};

use super::{saved::SavedSession, storage_state::OriginState};
use crate::page::{DatabaseVersions, Item, OriginStorage, SavedOrigin, SavedPageState};

/// Maximum number of origins without a page whose storage is read in one save.
const MAX_DEPARTED: usize = 5;

/// The last known state of a session, which needs no query to its browser.
#[derive(Default)]
pub struct StateCache {
    /// Counts the calls that have ended.
    pub calls: watch::Sender<u64>,
    /// Counts calls that may have changed storage and then navigated away.
    pub changes: AtomicU64,
    pub state: Mutex<CachedState>,
    /// Has random keys: data that another server wrote, with other secrets, is written again.
    pub hasher: RandomState,
    /// Held during a save, and while storage is written.
    pub turn: tokio::sync::Mutex<()>,
}

/// The contents of a [`StateCache`].
#[derive(Default)]
pub struct CachedState {
    pub origins: BTreeMap<String, OriginCache>,
    /// By page number and origin.
    pub session_storage: HashMap<usize, BTreeMap<String, Vec<Item>>>,
    /// When the databases are read next.
    pub databases_due: Option<Instant>,
    /// Whether the last save omitted the databases because they were not due.
    pub skipped_databases: bool,
    /// Whether the last read of the databases was slow or timed out.
    pub slow_databases: bool,
    pub last: Option<Arc<SavedSession>>,
    pub written: Arc<SavedHashes>,
}

/// The data that was saved last.
#[derive(Default, PartialEq)]
pub struct SavedHashes {
    pub state: String,
    /// The hash of each origin.
    pub origins: Vec<u64>,
}

/// The last known storage of an origin.
#[derive(Default)]
pub struct OriginCache {
    pub storage: OriginStorage,
    /// The version of the databases in `storage`, which the page counts.
    pub databases: Option<String>,
    /// The value of [`StateCache::changes`] when it was read; `None` if it was never read.
    pub read_at: Option<u64>,
    /// Whether a page of this origin is open.
    pub is_open: bool,
}

impl CachedState {
    /// Adds the state of the page `number`.
    pub fn add_page(&mut self, number: usize, page: &SavedPageState, changes: u64) {
        for SavedOrigin { origin: name, storage, databases } in &page.storage {
            let mut storage = storage.clone();
            let session_storage = storage.session_storage.take().unwrap_or_default();
            self.session_storage.entry(number).or_default().insert(name.clone(), session_storage);
            let origin = self.origins.entry(name.clone()).or_default();
            // Databases that were not read or have not changed keep their last state.
            storage.indexed_db = storage.indexed_db.or(origin.storage.indexed_db.take());
            let databases = databases.clone().or(origin.databases.take());
            *origin = OriginCache { storage, databases, read_at: Some(changes), is_open: true };
        }
        for name in &page.unresponsive_origins {
            // The page did not respond in time. It is read again in the next save.
            self.origins.entry(name.clone()).or_default().is_open = true;
        }
    }

    /// Returns the origins that pages have navigated away from before changes could be read.
    pub fn unread_departed(
        &mut self,
        visited: BTreeSet<String>,
        before: &BTreeSet<String>,
        changes: u64,
    ) -> Vec<String> {
        for origin in visited {
            self.origins.entry(origin).or_default();
        }
        let unread = self.origins.iter().filter(|(name, origin)| {
            !origin.is_open
                && match origin.read_at {
                    None => true,
                    Some(read_at) => before.contains(*name) && changes > read_at,
                }
        });
        unread.map(|(name, _)| name.clone()).take(MAX_DEPARTED).collect()
    }

    /// Returns the time until the databases that the last save omitted are due.
    pub fn databases_due_in(&self) -> Option<Duration> {
        let due = self.databases_due.filter(|_| self.skipped_databases)?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// Returns the versions of the known databases, which pages need not send again.
    pub fn database_versions(&self) -> DatabaseVersions {
        let origins = self.origins.iter().filter(|(_, origin)| origin.storage.indexed_db.is_some());
        origins
            .filter_map(|(name, origin)| Some((name.clone(), origin.databases.clone()?)))
            .collect()
    }

    pub fn origin_states(&self) -> Vec<OriginState> {
        let states = self.origins.iter();
        let states = states.map(|(origin, known)| OriginState {
            origin: origin.clone(),
            storage: known.storage.clone(),
        });
        states.filter(|state| !state.is_empty()).collect()
    }
}

impl StateCache {
    pub fn state(&self) -> MutexGuard<'_, CachedState> {
        self.state.lock()
    }

    /// Creates a cache with the saved state of a session.
    pub fn from_saved(saved: SavedSession) -> Self {
        let cache = Self::default();
        {
            let mut state = cache.state();
            for saved in &saved.origins {
                let storage = saved.storage.clone();
                let origin = OriginCache { storage, read_at: Some(0), ..OriginCache::default() };
                state.origins.insert(saved.origin.clone(), origin);
            }
            for page in &saved.pages {
                let items = page.session_storage.iter().cloned().collect();
                state.session_storage.insert(page.number, items);
            }
            state.last = Some(Arc::new(saved));
        }
        cache
    }

    /// Records the end of a call.
    pub fn record_call(&self) {
        self.calls.send_modify(|calls| *calls += 1);
    }

    /// Records the begin or end of a call that may change the storage of its page and then navigate
    /// away.
    pub fn mark_storage_changed(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the last known state.
    pub fn last(&self) -> Option<Arc<SavedSession>> {
        self.state().last.clone()
    }

    /// Returns the known origins.
    pub fn origins(&self) -> Vec<String> {
        self.state().origins.keys().cloned().collect()
    }

    /// Replaces the storage of all origins.
    pub fn replace_storage(&self, origins: &[OriginState]) {
        let read_at = Some(self.changes.load(Ordering::Acquire));
        let origins = origins.iter().map(|state| {
            let storage = OriginStorage { session_storage: None, ..state.storage.clone() };
            (state.origin.clone(), OriginCache { storage, read_at, ..OriginCache::default() })
        });
        self.state().origins = origins.collect();
    }
}
