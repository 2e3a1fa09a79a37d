//! The last known state of a session, as it is read from its pages.

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
use crate::page::{DatabaseVersions, Item, KeptOrigin, KeptPage, OriginStorage};

/// Origins that have been left whose storage is read again in one look.
const MOST_LEFT: usize = 5;

/// The state of a session that is known without a query to its browser.
#[derive(Default)]
pub struct StateCache {
    /// Counts the calls that have ended.
    pub calls: watch::Sender<u64>,
    /// Counts what may have changed the storage of a page that is left at once.
    pub changes: AtomicU64,
    pub memory: Mutex<CachedState>,
    /// Has its own keys: data that another server wrote, with other secrets, is written again.
    pub hasher: RandomState,
    /// Held during a look, and while storage is written.
    pub turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
pub struct CachedState {
    pub origins: BTreeMap<String, OriginCache>,
    /// By the number of the page, and by origin.
    pub session_storage: HashMap<usize, BTreeMap<String, Vec<Item>>>,
    pub databases_due: Option<Instant>,
    /// Whether the last look left out the databases, because they were not due.
    pub skipped_databases: bool,
    /// Whether the last read of the databases took long, or was not over in time.
    pub slow_databases: bool,
    /// As it was last seen.
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

#[derive(Default)]
pub struct OriginCache {
    pub storage: OriginStorage,
    /// The version of the databases in `storage`, as the page counts it.
    pub databases: Option<String>,
    /// `changes` when it was read; `None`: never.
    pub read_at: Option<u64>,
    /// Whether a page shows it.
    pub here: bool,
}

impl CachedState {
    pub fn take_in(&mut self, number: usize, kept: &KeptPage, changes: u64) {
        for KeptOrigin { origin: name, storage, databases } in &kept.storage {
            let mut storage = storage.clone();
            let session_storage = storage.session_storage.take().unwrap_or_default();
            self.session_storage.entry(number).or_default().insert(name.clone(), session_storage);
            let origin = self.origins.entry(name.clone()).or_default();
            // Not read this time, or unchanged: as it was.
            storage.indexed_db = storage.indexed_db.or(origin.storage.indexed_db.take());
            let databases = databases.clone().or(origin.databases.take());
            *origin = OriginCache { storage, databases, read_at: Some(changes), here: true };
        }
        for name in &kept.silent {
            // Slow, not gone: its own page reads it the next time.
            self.origins.entry(name.clone()).or_default().here = true;
        }
    }

    /// Returns the origins that a page left before changes there could be read.
    pub fn left_unread(
        &mut self,
        visited: BTreeSet<String>,
        before: &BTreeSet<String>,
        changes: u64,
    ) -> Vec<String> {
        for origin in visited {
            self.origins.entry(origin).or_default();
        }
        let unread = self.origins.iter().filter(|(name, origin)| {
            !origin.here
                && match origin.read_at {
                    None => true,
                    Some(read_at) => before.contains(*name) && changes > read_at,
                }
        });
        unread.map(|(name, _)| name.clone()).take(MOST_LEFT).collect()
    }

    /// The time until the databases that the last look left out are due; no call may come before.
    pub fn databases_left(&self) -> Option<Duration> {
        let due = self.databases_due.filter(|_| self.skipped_databases)?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    /// The versions of the databases that need not be sent again.
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
    pub fn memory(&self) -> MutexGuard<'_, CachedState> {
        self.memory.lock()
    }

    /// Creates a keeper with the saved state of a session.
    pub fn remembering(saved: SavedSession) -> Self {
        let keeper = Self::default();
        {
            let mut memory = keeper.memory();
            for state in &saved.origins {
                let origin = OriginCache {
                    storage: state.storage.clone(),
                    read_at: Some(0),
                    ..OriginCache::default()
                };
                memory.origins.insert(state.origin.clone(), origin);
            }
            for page in &saved.pages {
                let items = page.session_storage.iter().cloned().collect();
                memory.session_storage.insert(page.number, items);
            }
            memory.last = Some(Arc::new(saved));
        }
        keeper
    }

    /// A call has ended.
    pub fn touch(&self) {
        self.calls.send_modify(|calls| *calls += 1);
    }

    /// A call begins or ends that may change what its page has stored, and then lead away from there.
    pub fn may_change(&self) {
        self.changes.fetch_add(1, Ordering::AcqRel);
    }

    /// As it was last seen.
    pub fn last(&self) -> Option<Arc<SavedSession>> {
        self.memory().last.clone()
    }

    /// The origins that are known to have something.
    pub fn origins(&self) -> Vec<String> {
        self.memory().origins.keys().cloned().collect()
    }

    /// The storage was replaced by other storage.
    pub fn replaced(&self, origins: &[OriginState]) {
        let read_at = Some(self.changes.load(Ordering::Acquire));
        let origins = origins.iter().map(|state| {
            let storage = OriginStorage { session_storage: None, ..state.storage.clone() };
            (state.origin.clone(), OriginCache { storage, read_at, ..OriginCache::default() })
        });
        self.memory().origins = origins.collect();
    }
}
