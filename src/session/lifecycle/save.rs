//! Saves the state of a session after its calls: in memory, in case its browser dies, and in the store, in case the
//! server dies. No call waits for it.

use std::{
    collections::BTreeSet,
    hash::BuildHasher,
    sync::{Arc, LazyLock, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::{sync::watch, time::Instant};

use super::session::Session;
use crate::{
    engine::network::Cookie,
    error::Result,
    offload,
    page::{FrameState, KeptOrigin, KeptPage, LOOK_TIMEOUT, OriginStorage, Page, WaitUntil},
    session::persistence::{
        EmptyPage, OriginState, SavedHashes, SavedPage, SavedSession, StorageState, origin_text,
    },
    store::{NewOrigin, NewState, OriginText},
};

/// The state is saved when no call has run for this long…
const QUIET: Duration = Duration::from_millis(120);
/// …but no later than this after a call has ended.
const LATEST: Duration = Duration::from_millis(600);
/// If something did not answer in time, the state is read again after this, then after twice as long…
const AGAIN: Duration = Duration::from_millis(200);
/// …and never more seldom: a page may be busy, or show a dialog, for ever.
const SELDOM: Duration = Duration::from_secs(15);
/// How long the end of a session waits for the last look.
const LAST_LOOK: Duration = Duration::from_millis(600);
/// Databases that take longer than this to read are read after the rest has been saved.
const SLOW_DATABASES: Duration = Duration::from_millis(200);
/// How long the read of slow databases may take.
const DATABASES_TIMEOUT: Duration = Duration::from_secs(10);
/// Databases are read again after a pause of this many times the duration of the last read.
const DATABASES_PAUSE: u32 = 20;
const LEFT_TIMEOUT: Duration = Duration::from_secs(2);

impl Session {
    /// Looks after each call, and again where something was too slow to be seen, as long as the session lives; to be run
    /// beside everything else.
    pub(super) async fn tend(&self) {
        let mut calls = self.keeper.calls.subscribe();
        // No later call has to trigger the read of what is missing.
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
                again = if seen {
                    self.keeper.memory().databases_left()
                } else {
                    Some(again.map_or(AGAIN, |pause| (pause * 2).min(SELDOM)))
                };
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

    /// Returns the last saved state, with the current URLs of the pages, which are known without a query.
    pub(in crate::session) fn last_known(&self) -> Option<Arc<SavedSession>> {
        let last = self.keeper.last()?;
        let mut pages = Vec::new();
        for page in self.pages.all() {
            let seen = last.pages.iter().find(|seen| seen.number == page.number);
            pages.push(match (seen, page.url()) {
                (Some(seen), url) if seen.url == url => seen.clone(),
                (seen, url) => SavedPage {
                    number: page.number,
                    url,
                    session_storage: seen
                        .map(|seen| seen.session_storage.clone())
                        .unwrap_or_default(),
                    frames: Vec::new(),
                },
            });
        }
        if pages.is_empty() {
            return Some(last);
        }
        Some(Arc::new(SavedSession { pages, opened: self.pages.opened(), ..(*last).clone() }))
    }

    /// Stores the initial state of a new session, so that it can be restored if its browser dies before the first
    /// save.
    pub(in crate::session) fn remember_start(&self, state: StorageState) {
        let StorageState { cookies, origins } = state;
        let (own, context) = (self.expires_at().is_none(), self.options().without_proxy());
        let refs = self.pages.shared.refs.next();
        let start =
            SavedSession { own, context, cookies, origins, refs, ..SavedSession::default() };
        self.keeper.memory().last.get_or_insert_with(|| Arc::new(start));
    }

    /// Looks for the last time, before the session's context goes.
    pub(super) async fn keep_at_end(&self) {
        if self.is_ready() {
            // Keeps what has been read by then.
            let _ = tokio::time::timeout(LAST_LOOK, Box::pin(self.worker.look(self, true))).await;
        }
        let last = self.keeper.last();
        if let Some(last) = last {
            self.write_down(&SavedSession { whole: true, ..(*last).clone() });
        }
    }

    /// Saves what has changed since the last save; an origin only if its storage has changed.
    pub(super) fn write_down(&self, saved: &SavedSession) {
        let before = self.keeper.memory().written.clone();
        // Masked differently, it is another text.
        let masks = self.secrets.revision();
        let hash = |origin: &OriginState| self.keeper.hasher.hash_one((masks, origin));
        let bytes =
            before.state.len() + saved.origins.iter().map(OriginState::item_bytes).sum::<usize>();
        let written = offload::in_place(bytes, || {
            let origins = saved.origins.iter().map(hash).collect();
            Arc::new(SavedHashes { state: saved.text(&self.secrets), origins })
        });
        if *before == *written {
            return;
        }
        let origins: Vec<NewOrigin> = saved
            .origins
            .iter()
            .zip(&written.origins)
            .map(|(state, hash)| self.new_origin(state, *hash, !before.origins.contains(hash)))
            .collect();
        self.store.save_state(&self.id, NewState { state: written.state.clone(), origins });
        self.keeper.memory().written = written;
    }

    /// An origin for the store. The text of one that has changed is made here, off the async threads; the store would make
    /// it while other sessions wait to write.
    fn new_origin(&self, state: &OriginState, hash: u64, changed: bool) -> NewOrigin {
        let bytes = state.bytes();
        let (origin, secrets, state) = (state.origin.clone(), self.secrets.clone(), state.clone());
        let text: OriginText =
            Arc::new(LazyLock::new(Box::new(move || origin_text(&state, &secrets))));
        if changed {
            offload::in_place(bytes, || LazyLock::force(&text));
        }
        NewOrigin { origin, hash: format!("{hash:016x}"), bytes, text }
    }

    /// What Playwright would write as its storage state, and the session storage of the current page.
    pub async fn storage_state(&self) -> Result<StorageState> {
        let cookies = self.cookies(&[]).await?;
        Box::pin(self.worker.look(self, true)).await;
        let memory = self.keeper.memory();
        let mut origins = memory.origin_states();
        let current =
            self.current_page().and_then(|page| memory.session_storage.get(&page.number).cloned());
        for (origin, items) in current.unwrap_or_default() {
            if items.is_empty() {
                continue;
            }
            match origins.iter_mut().find(|state| state.origin == origin) {
                Some(state) => state.storage.session_storage = Some(items),
                None => {
                    let storage =
                        OriginStorage { session_storage: Some(items), ..OriginStorage::default() };
                    origins.push(OriginState { origin, storage });
                }
            }
        }
        Ok(StorageState { cookies, origins })
    }

    /// Reads and saves everything. Returns false if something did not answer in time. If the browser is gone, what it
    /// reported while ending is ignored.
    pub(in crate::session) async fn look_around(&self, thorough: bool) -> bool {
        let _turn = self.keeper.turn.lock().await;
        let (due, slow) = {
            let mut memory = self.keeper.memory();
            let is_early = memory.databases_due.is_some_and(|due| due > Instant::now());
            memory.skipped_databases = !thorough && is_early;
            (!memory.skipped_databases, memory.slow_databases)
        };
        if !due {
            return self.read_pages(None).await;
        }
        if !slow {
            let seen = self.read_pages(Some(LOOK_TIMEOUT)).await;
            if seen || !thorough {
                return seen;
            }
        }
        // The rest is saved first. A busy page does not tell its databases either.
        self.read_pages(None).await && self.read_pages(Some(DATABASES_TIMEOUT)).await
    }

    /// Reads the pages and saves the result. Includes their databases if `databases` says how long that may take.
    async fn read_pages(&self, databases: Option<Duration>) -> bool {
        let changes = self.keeper.changes.load(Ordering::Acquire);
        let pages = self.pages.all();
        let versions = databases.map(|_| self.keeper.memory().database_versions());
        let timeout = databases.unwrap_or(LOOK_TIMEOUT);
        let kept = join_all(pages.iter().map(|page| page.keep(versions.as_ref(), timeout))).await;
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
            memory
                .session_storage
                .retain(|number, _| pages.iter().any(|page| page.number == *number));
            if let Some(timeout) = databases {
                let late = kept.iter().any(|kept| kept.late);
                let reading = kept.iter().map(|kept| kept.reading).max().unwrap_or_default();
                let reading = if late { timeout } else { reading };
                // The first that is late is repeated with more time; a page that is still late is left alone for a while.
                let repeat = late && !memory.slow_databases;
                memory.slow_databases = reading > SLOW_DATABASES;
                memory.databases_due = Some(
                    Instant::now()
                        + if repeat { Duration::ZERO } else { reading * DATABASES_PAUSE },
                );
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

    /// Combines the current state and saves it.
    fn note(&self, pages: &[Arc<Page>], kept: &[KeptPage], cookies: Vec<Cookie>) {
        let memory = self.keeper.memory();
        let last = memory.last.clone();
        // The page is slow, not gone: for parts without an answer, the former state is used if the page has the same
        // URL.
        let as_before = |number: usize, url: &str, seen: &[FrameState]| {
            let pages = last.iter().flat_map(|last| &last.pages);
            let same = pages.filter(|page| page.number == number && page.url == url);
            let is_unseen = |frame: &&FrameState| {
                !seen.iter().any(|now| now.document.place == frame.document.place)
            };
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
            asked: self
                .pages
                .shared
                .network_policy
                .as_ref()
                .map(|network_policy| network_policy.asked())
                .unwrap_or_default(),
            ..SavedSession::default()
        };
        drop(memory);
        self.seen(saved);
    }

    /// Stores the state that was read, and saves it.
    pub(in crate::session) fn seen(&self, saved: SavedSession) {
        let own = self.expires_at().is_none();
        let saved =
            Arc::new(SavedSession { own, context: self.options().without_proxy(), ..saved });
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
        let versions = self.keeper.memory().database_versions();
        let read = self.with_mocks(&mocks, async {
            for (origin, EmptyPage { url, .. }) in origins.iter().zip(&empty) {
                let there = page.visit(url, WaitUntil::DomContentLoaded, LEFT_TIMEOUT).await;
                let found = match there {
                    Ok(()) => {
                        page.keep(Some(&versions), LOOK_TIMEOUT).await.storage.into_iter().next()
                    }
                    Err(_) => None,
                };
                let mut memory = self.keeper.memory();
                let known = memory.origins.entry(origin.clone()).or_default();
                // Also where it could not be read: it would not be the next time.
                known.read_at = Some(changes);
                if let Some(KeptOrigin { storage, databases, .. }) = found {
                    let indexed_db = storage.indexed_db.or(known.storage.indexed_db.take());
                    known.storage = OriginStorage { session_storage: None, indexed_db, ..storage };
                    known.databases = databases;
                }
            }
        });
        let outcome = read.await;
        // Where it has gone already, nothing is left to close.
        let _ = page.close().await;
        outcome
    }
}
