//! Looks at a session after its calls, and keeps what it can be resumed from: in memory for the case that its
//! browser dies, in the store for the case that the server does. No call waits for it.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{sync::watch, time::Instant};

use super::{
    saved::{SavedPage, SavedSession},
    session::Session,
    storage_state::{EmptyPage, OriginState, StorageState},
};
use crate::{
    engine::network::Cookie,
    error::Result,
    page::{FrameState, Item, KeptPage, OriginStorage, Page, WaitUntil},
};

/// A session is looked at when no call has run for this long…
const QUIET: Duration = Duration::from_millis(120);
/// …but no later than this after a call has ended.
const LATEST: Duration = Duration::from_millis(600);
/// After a look in which something did not answer in time it is looked at again after this, then after twice as long…
const AGAIN: Duration = Duration::from_millis(200);
/// …and never more seldom: a page may be busy, or show a dialog, for ever.
const SELDOM: Duration = Duration::from_secs(15);
/// How long the end of a session waits for the last look.
const LAST_LOOK: Duration = Duration::from_millis(600);
/// Databases are read again after so many times what reading them took.
const DATABASES_PAUSE: u32 = 20;
/// Origins that have been left whose storage is read again in one look.
const MOST_LEFT: usize = 5;
const LEFT_TIMEOUT: Duration = Duration::from_secs(2);

/// What is known of a session without asking its browser.
#[derive(Default)]
pub(super) struct Keeper {
    /// Counts the calls that have ended.
    calls: watch::Sender<u64>,
    /// Counts what may have changed the storage of a page that is left at once.
    changes: AtomicU64,
    memory: Mutex<Memory>,
    /// Held during a look, and while storage is written.
    pub turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Memory {
    origins: BTreeMap<String, Origin>,
    /// By the number of the page, and by origin.
    session_storage: HashMap<usize, BTreeMap<String, Vec<Item>>>,
    databases_due: Option<Instant>,
    /// As it was last seen.
    last: Option<Arc<SavedSession>>,
    /// What was last written.
    written: String,
}

#[derive(Default)]
struct Origin {
    storage: OriginStorage,
    /// `changes` when it was read; `None`: never.
    read_at: Option<u64>,
    /// Whether a page shows it.
    here: bool,
}

impl Memory {
    fn take_in(&mut self, number: usize, kept: &KeptPage, changes: u64) {
        for (name, storage) in &kept.storage {
            let mut storage = storage.clone();
            let session_storage = storage.session_storage.take().unwrap_or_default();
            self.session_storage.entry(number).or_default().insert(name.clone(), session_storage);
            let origin = self.origins.entry(name.clone()).or_default();
            // Not read this time: as it was.
            storage.indexed_db = storage.indexed_db.or(origin.storage.indexed_db.take());
            *origin = Origin { storage, read_at: Some(changes), here: true };
        }
        for name in &kept.silent {
            // Slow, not gone: its own page reads it the next time.
            self.origins.entry(name.clone()).or_default().here = true;
        }
    }

    /// The origins that were left after something may have changed there that nobody has read.
    fn left_unread(
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

    fn origin_states(&self) -> Vec<OriginState> {
        let states = self.origins.iter();
        let states = states
            .map(|(origin, known)| OriginState { origin: origin.clone(), storage: known.storage.clone() });
        states.filter(|state| !state.is_empty()).collect()
    }
}

impl Keeper {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One that remembers what a session is resumed from.
    pub fn remembering(saved: SavedSession) -> Self {
        let keeper = Self::default();
        {
            let mut memory = keeper.memory();
            for state in &saved.origins {
                let origin = Origin { storage: state.storage.clone(), read_at: Some(0), here: false };
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

    /// Other storage has been put in the place of what was there.
    pub fn replaced(&self, origins: &[OriginState]) {
        let read_at = Some(self.changes.load(Ordering::Acquire));
        let origins = origins.iter().map(|state| {
            let storage = OriginStorage { session_storage: None, ..state.storage.clone() };
            (state.origin.clone(), Origin { storage, read_at, here: false })
        });
        self.memory().origins = origins.collect();
    }
}

impl Session {
    /// Looks after each call, and again where something was too slow to be seen, as long as the session lives; to be run
    /// beside everything else.
    pub(super) async fn tend(&self) {
        let mut calls = self.keeper.calls.subscribe();
        // No call may come any more before what was not seen is needed.
        let mut again: Option<Duration> = None;
        loop {
            let called = match again {
                None => Some(calls.changed().await),
                Some(pause) => tokio::time::timeout(pause, calls.changed()).await.ok(),
            };
            match called {
                None => {}
                Some(Err(_)) => return,
                Some(Ok(())) => {
                    again = None;
                    self.quiet(&mut calls).await;
                }
            }
            if self.is_ready() {
                let seen = Box::pin(self.worker.look(self, false)).await;
                again = (!seen).then(|| again.map_or(AGAIN, |pause| (pause * 2).min(SELDOM)));
            }
        }
    }

    /// Waits until no call has run for a moment, or calls have for long enough.
    async fn quiet(&self, calls: &mut watch::Receiver<u64>) {
        let latest = Instant::now() + LATEST;
        while Instant::now() < latest {
            let called = tokio::time::timeout(QUIET.min(latest - Instant::now()), calls.changed());
            if called.await.is_err() && !self.is_running() {
                break;
            }
        }
    }

    /// As it was last seen, at the URLs that its pages have come to since: nobody need look to know them.
    pub(super) fn last_known(&self) -> Option<Arc<SavedSession>> {
        let last = self.keeper.last()?;
        let mut pages = Vec::new();
        for page in self.pages.all() {
            let seen = last.pages.iter().find(|seen| seen.number == page.number);
            pages.push(match (seen, page.url()) {
                (Some(seen), url) if seen.url == url => seen.clone(),
                (seen, url) => SavedPage {
                    number: page.number,
                    url,
                    session_storage: seen.map(|seen| seen.session_storage.clone()).unwrap_or_default(),
                    frames: Vec::new(),
                },
            });
        }
        if pages.is_empty() {
            return Some(last);
        }
        Some(Arc::new(SavedSession { pages, opened: self.pages.opened(), ..(*last).clone() }))
    }

    /// Looks for the last time, before the session's context goes.
    pub(super) async fn keep_at_end(&self) {
        if self.is_ready() {
            // What was seen by then is kept.
            let _ = tokio::time::timeout(LAST_LOOK, Box::pin(self.worker.look(self, true))).await;
        }
        let last = self.keeper.last();
        if let Some(last) = last {
            self.write_down(&SavedSession { whole: true, ..(*last).clone() });
        }
    }

    /// Saves what is other than before.
    pub(super) fn write_down(&self, saved: &SavedSession) {
        let text = saved.text(&self.secrets);
        let mut memory = self.keeper.memory();
        if memory.written != text {
            self.store.save_state(&self.id, text.clone());
            memory.written = text;
        }
    }

    /// What Playwright would write as its storage state, and the session storage of the current page.
    pub async fn storage_state(&self) -> Result<StorageState> {
        let cookies = self.cookies(&[]).await?;
        Box::pin(self.worker.look(self, true)).await;
        let memory = self.keeper.memory();
        let mut origins = memory.origin_states();
        let current = self.current_page().and_then(|page| memory.session_storage.get(&page.number).cloned());
        for (origin, items) in current.unwrap_or_default() {
            if items.is_empty() {
                continue;
            }
            match origins.iter_mut().find(|state| state.origin == origin) {
                Some(state) => state.storage.session_storage = Some(items),
                None => {
                    let storage = OriginStorage { session_storage: Some(items), ..OriginStorage::default() };
                    origins.push(OriginState { origin, storage });
                }
            }
        }
        Ok(StorageState { cookies, origins })
    }

    /// Reads everything, and saves it; false where something did not answer in time. Where the browser is gone, what it
    /// told on its way down is not to be trusted.
    pub(super) async fn look_around(&self, thorough: bool) -> bool {
        let _turn = self.keeper.turn.lock().await;
        let changes = self.keeper.changes.load(Ordering::Acquire);
        let due = self.keeper.memory().databases_due;
        let databases = thorough || due.is_none_or(|due| due <= Instant::now());
        let pages = self.pages.all();
        let kept = join_all(pages.iter().map(|page| page.keep(databases))).await;
        let Ok(cookies) = self.cookies(&[]).await else { return true };
        let left = {
            let mut memory = self.keeper.memory();
            let before: BTreeSet<String> = memory
                .origins
                .iter()
                .filter(|(_, origin)| origin.here)
                .map(|(name, _)| name.clone())
                .collect();
            memory.origins.values_mut().for_each(|origin| origin.here = false);
            for (page, kept) in pages.iter().zip(&kept) {
                memory.take_in(page.number, kept, changes);
            }
            memory.session_storage.retain(|number, _| pages.iter().any(|page| page.number == *number));
            if databases {
                let reading = kept.iter().map(|kept| kept.reading).max().unwrap_or_default();
                memory.databases_due = Some(Instant::now() + reading * DATABASES_PAUSE);
            }
            memory.left_unread(self.pages.shared.visited.take(), &before, changes)
        };
        // Before the slow part, which may be cut short.
        self.note(&pages, &kept, cookies.clone());
        if !left.is_empty() {
            if let Err(error) = self.read_left(&left).await {
                tracing::debug!(session = &*self.id, origins = ?left, %error, "storage was left unread");
            }
            self.note(&pages, &kept, cookies);
        }
        !kept.iter().any(|kept| kept.late)
    }

    /// Puts together what is known now, and saves it.
    fn note(&self, pages: &[Arc<Page>], kept: &[KeptPage], cookies: Vec<Cookie>) {
        let memory = self.keeper.memory();
        let last = memory.last.clone();
        // Slow, not gone: what has not answered is as it was, where the page is where it was.
        let as_before = |number: usize, url: &str, seen: &[FrameState]| {
            let pages = last.iter().flat_map(|last| &last.pages);
            let same = pages.filter(|page| page.number == number && page.url == url);
            let is_unseen =
                |frame: &&FrameState| !seen.iter().any(|now| now.document.place == frame.document.place);
            same.flat_map(|page| &page.frames).filter(is_unseen).cloned().collect::<Vec<_>>()
        };
        let pages = pages.iter().zip(kept).map(|(page, kept)| {
            let mut frames = kept.frames.clone();
            if kept.unseen {
                frames.extend(as_before(page.number, &page.url(), &kept.frames));
            }
            let storage = memory.session_storage.get(&page.number).into_iter().flatten();
            SavedPage {
                number: page.number,
                url: page.url(),
                session_storage: storage
                    .filter(|(_, items)| !items.is_empty())
                    .map(|(origin, items)| (origin.clone(), items.clone()))
                    .collect(),
                frames,
            }
        });
        let saved = SavedSession {
            cookies,
            pages: pages.collect(),
            origins: memory.origin_states(),
            current: self.current_page().map(|page| page.id.clone()),
            opened: self.pages.opened(),
            refs: self.pages.shared.refs.next(),
            asked: self.pages.shared.gate.as_ref().map(|gate| gate.asked()).unwrap_or_default(),
            ..SavedSession::default()
        };
        drop(memory);
        self.seen(saved);
    }

    /// Remembers what was seen of it, and saves it.
    pub(super) fn seen(&self, saved: SavedSession) {
        let own = self.expires_at().is_none();
        let saved = Arc::new(SavedSession { own, context: self.options.clone(), ..saved });
        self.keeper.memory().last = Some(saved.clone());
        self.write_down(&saved);
    }

    /// Reads the storage of origins that no page shows any more, from an empty page of our own.
    async fn read_left(&self, origins: &[String]) -> Result<()> {
        let changes = self.keeper.changes.load(Ordering::Acquire);
        let empty: Vec<EmptyPage> =
            origins.iter().map(|origin| EmptyPage::of(origin)).collect::<Result<_>>()?;
        let mocks: Vec<_> = empty.iter().map(|empty| empty.mock.clone()).collect();
        let page = self.hidden_page().await?;
        let read = self.with_mocks(&mocks, async {
            for (origin, EmptyPage { url, .. }) in origins.iter().zip(&empty) {
                let there = page.visit(url, WaitUntil::DomContentLoaded, LEFT_TIMEOUT).await;
                let found = match there {
                    Ok(()) => page.keep(true).await.storage.into_iter().next(),
                    Err(_) => None,
                };
                let mut memory = self.keeper.memory();
                let known = memory.origins.entry(origin.clone()).or_default();
                // Also where it could not be read: it would not be the next time.
                known.read_at = Some(changes);
                if let Some((_, storage)) = found {
                    known.storage = OriginStorage { session_storage: None, ..storage };
                }
            }
        });
        let outcome = read.await;
        // Where it has gone already, nothing is left to close.
        let _ = page.close().await;
        outcome
    }
}
