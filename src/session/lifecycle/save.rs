//! Saves the state of a session after its calls: in memory, in case its browser dies, and in the
//! store, in case the server dies. No call waits for it.

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
    page::{FrameState, OriginStorage, Page, READ_TIMEOUT, SavedOrigin, SavedPageState, WaitUntil},
    session::persistence::{
        EmptyPage, OriginState, SavedHashes, SavedPage, SavedSession, StorageState, origin_text,
    },
    store::{NewOrigin, NewState, OriginText},
};

/// The state is saved when no call has run for this long.
const QUIET_TIME: Duration = Duration::from_millis(120);
/// The maximum time from the end of a call to the save.
const MAX_DELAY: Duration = Duration::from_millis(600);
/// The first pause before the state is read again, if something did not answer in time. Each
/// further pause is twice as long.
const FIRST_RETRY: Duration = Duration::from_millis(200);
/// The longest such pause. A page may be busy or show a dialog forever.
const MAX_RETRY: Duration = Duration::from_secs(15);
/// How long the end of a session waits for the last save.
const LAST_SAVE_TIMEOUT: Duration = Duration::from_millis(600);
/// Databases that take longer than this to read are read after the rest has been saved.
const SLOW_DATABASES: Duration = Duration::from_millis(200);
/// How long the read of slow databases may take.
const DATABASES_TIMEOUT: Duration = Duration::from_secs(10);
/// Databases are read again after a pause of this many times the duration of the last read.
const DATABASES_PAUSE: u32 = 20;
/// Timeout for loading an empty page of an origin that no page shows.
const EMPTY_PAGE_TIMEOUT: Duration = Duration::from_secs(2);

impl Session {
    /// Saves the state after each call, and again if something was too slow to be read, until the
    /// future is dropped. Runs concurrently with the calls.
    pub(super) async fn save_after_calls(&self) {
        let mut calls = self.cache.calls.subscribe();
        // The time until the next save without a further call, if something is missing.
        let mut retry_in: Option<Duration> = None;
        loop {
            let called = match retry_in {
                None => Some(calls.changed().await),
                Some(pause) => tokio::time::timeout(pause, calls.changed()).await.ok(),
            };
            match called {
                None => {}
                Some(Err(_)) => return,
                Some(Ok(())) => {
                    retry_in = None;
                    self.wait_until_quiet(&mut calls).await;
                }
            }
            if self.is_ready() {
                let is_complete = Box::pin(self.worker.save_state(self, false)).await;
                retry_in = if is_complete {
                    self.cache.state().databases_due_in()
                } else {
                    Some(retry_in.map_or(FIRST_RETRY, |pause| (pause * 2).min(MAX_RETRY)))
                };
            }
        }
    }

    /// Waits until no call has run for a moment, or until the maximum delay.
    async fn wait_until_quiet(&self, calls: &mut watch::Receiver<u64>) {
        let latest = Instant::now() + MAX_DELAY;
        while Instant::now() < latest {
            let called =
                tokio::time::timeout(QUIET_TIME.min(latest - Instant::now()), calls.changed());
            if called.await.is_err() && !self.is_running() {
                break;
            }
        }
    }

    /// Returns the last saved state, with the current URLs of the pages, which are known without a
    /// query.
    pub(in crate::session) fn last_known(&self) -> Option<Arc<SavedSession>> {
        let last = self.cache.last()?;
        let mut pages = Vec::new();
        for page in self.pages.all().into_iter().filter(|page| !page.is_adopted()) {
            let saved = last.pages.iter().find(|saved| saved.number == page.number);
            pages.push(match (saved, page.url()) {
                (Some(saved), url) if saved.url == url => saved.clone(),
                (saved, url) => SavedPage {
                    number: page.number,
                    url,
                    session_storage: saved
                        .map(|saved| saved.session_storage.clone())
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

    /// Stores the initial state of a new session, so that it can be restored if its browser dies
    /// before the first save.
    pub(in crate::session) fn record_initial_state(&self, state: StorageState) {
        let StorageState { cookies, origins } = state;
        let (own, context) = (self.expires_at().is_none(), self.options().without_proxy());
        let refs = self.pages.shared.refs.next();
        let start =
            SavedSession { own, context, cookies, origins, refs, ..SavedSession::default() };
        self.cache.state().last.get_or_insert_with(|| Arc::new(start));
    }

    /// Saves the state for the last time, before the context is closed.
    pub(super) async fn save_at_end(&self) {
        if self.is_ready() {
            // After the timeout, the state that has been read is saved.
            let _ = tokio::time::timeout(
                LAST_SAVE_TIMEOUT,
                Box::pin(self.worker.save_state(self, true)),
            )
            .await;
        }
        let last = self.cache.last();
        if let Some(last) = last {
            self.write_to_store(&SavedSession { whole: true, ..(*last).clone() });
        }
    }

    /// Saves what has changed since the last save; an origin only if its storage has changed.
    pub(super) fn write_to_store(&self, saved: &SavedSession) {
        let before = self.cache.state().written.clone();
        // With different masks, the saved text is different.
        let masks = self.secrets.revision();
        let hash = |origin: &OriginState| self.cache.hasher.hash_one((masks, origin));
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
        self.cache.state().written = written;
    }

    /// Returns an origin for the store. If it has changed, its text is created here, off the async
    /// threads. The store would create it while other sessions wait to write.
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

    /// Returns the state in the format of Playwright's `storageState`, with the sessionStorage of
    /// the current page.
    pub async fn storage_state(&self) -> Result<StorageState> {
        let cookies = self.cookies(&[]).await?;
        Box::pin(self.worker.save_state(self, true)).await;
        let state = self.cache.state();
        let mut origins = state.origin_states();
        let current =
            self.current_page().and_then(|page| state.session_storage.get(&page.number).cloned());
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

    /// Reads and saves everything. Returns false if something did not answer in time. If the
    /// browser is gone, what it reported while ending is ignored.
    pub(in crate::session) async fn save_current_state(&self, thorough: bool) -> bool {
        let _turn = self.cache.turn.lock().await;
        let (due, slow) = {
            let mut state = self.cache.state();
            let is_early = state.databases_due.is_some_and(|due| due > Instant::now());
            state.skipped_databases = !thorough && is_early;
            (!state.skipped_databases, state.slow_databases)
        };
        if !due {
            return self.read_pages(None).await;
        }
        if !slow {
            let is_complete = self.read_pages(Some(READ_TIMEOUT)).await;
            if is_complete || !thorough {
                return is_complete;
            }
        }
        // Everything else is saved first. If a page did not answer that, its databases are not read
        // either.
        self.read_pages(None).await && self.read_pages(Some(DATABASES_TIMEOUT)).await
    }

    /// Reads the pages and saves the result. `databases` is the timeout for reading their
    /// databases, which are omitted without it. Returns false if something did not answer in time.
    async fn read_pages(&self, databases: Option<Duration>) -> bool {
        let changes = self.cache.changes.load(Ordering::Acquire);
        let pages = self.pages.all();
        let versions = databases.map(|_| self.cache.state().database_versions());
        let timeout = databases.unwrap_or(READ_TIMEOUT);
        let reads = pages.iter().map(|page| page.read_state(versions.as_ref(), timeout));
        let states = join_all(reads).await;
        let Ok(cookies) = self.cookies(&[]).await else { return true };
        let unread = {
            let mut state = self.cache.state();
            let before: BTreeSet<String> = state
                .origins
                .iter()
                .filter(|(_, origin)| origin.is_open)
                .map(|(name, _)| name.clone())
                .collect();
            state.origins.values_mut().for_each(|origin| origin.is_open = false);
            for (page, page_state) in pages.iter().zip(&states) {
                state.add_page(page.number, page_state, changes);
            }
            state
                .session_storage
                .retain(|number, _| pages.iter().any(|page| page.number == *number));
            if let Some(timeout) = databases {
                let timed_out = states.iter().any(|state| state.timed_out);
                let read_time =
                    states.iter().map(|state| state.read_time).max().unwrap_or_default();
                let read_time = if timed_out { timeout } else { read_time };
                // The first read that times out is repeated with more time. After a second one, the
                // databases are not read for a while.
                let repeat = timed_out && !state.slow_databases;
                state.slow_databases = read_time > SLOW_DATABASES;
                state.databases_due = Some(
                    Instant::now()
                        + if repeat { Duration::ZERO } else { read_time * DATABASES_PAUSE },
                );
            }
            state.unread_departed(self.pages.shared.visited.take(), &before, changes)
        };
        // Save before the slow part, which may be canceled.
        self.save_pages(&pages, &states, cookies.clone());
        // In the user's browser, it would open a tab.
        if !unread.is_empty() && !self.config.shares_profile() {
            if let Err(error) = self.read_departed_origins(&unread).await {
                tracing::debug!(session = &*self.id, origins = ?unread, %error, "the storage of origins without a page was not read");
            }
            self.save_pages(&pages, &states, cookies);
        }
        !states.iter().any(|state| state.timed_out)
    }

    /// Combines the current state and saves it.
    fn save_pages(&self, pages: &[Arc<Page>], states: &[SavedPageState], cookies: Vec<Cookie>) {
        let cache = self.cache.state();
        let last = cache.last.clone();
        // Frames that did not respond keep their last known state, if the page has the same URL.
        let as_before = |number: usize, url: &str, read: &[FrameState]| {
            let pages = last.iter().flat_map(|last| &last.pages);
            let same = pages.filter(|page| page.number == number && page.url == url);
            let is_unread = |frame: &&FrameState| {
                !read.iter().any(|now| now.document.place == frame.document.place)
            };
            same.flat_map(|page| &page.frames).filter(is_unread).cloned().collect::<Vec<_>>()
        };
        let own = pages.iter().zip(states).filter(|(page, _)| !page.is_adopted());
        let pages = own.map(|(page, state)| {
            let mut frames = state.frames.clone();
            if state.has_unread_frame {
                frames.extend(as_before(page.number, &page.url(), &state.frames));
            }
            let storage = cache.session_storage.get(&page.number).into_iter().flatten();
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
            origins: cache.origin_states(),
            current: self.current_page().map(|page| page.id.clone()),
            opened: self.pages.opened(),
            refs: self.pages.shared.refs.next(),
            asked: self
                .pages
                .shared
                .network_policy
                .as_ref()
                .map(|network_policy| network_policy.requested_hosts())
                .unwrap_or_default(),
            ..SavedSession::default()
        };
        drop(cache);
        self.record_state(if self.config.shares_profile() {
            saved.without_storage()
        } else {
            saved
        });
    }

    /// Stores the state that was read in the cache, and saves it.
    pub(in crate::session) fn record_state(&self, saved: SavedSession) {
        let own = self.expires_at().is_none();
        let saved =
            Arc::new(SavedSession { own, context: self.options().without_proxy(), ..saved });
        self.cache.state().last = Some(saved.clone());
        self.write_to_store(&saved);
    }

    /// Reads the storage of origins that no page shows any more, from an empty hidden page.
    async fn read_departed_origins(&self, origins: &[String]) -> Result<()> {
        let changes = self.cache.changes.load(Ordering::Acquire);
        let empty: Vec<EmptyPage> =
            origins.iter().map(|origin| EmptyPage::of(origin)).collect::<Result<_>>()?;
        let mocks: Vec<_> = empty.iter().map(|empty| empty.mock.clone()).collect();
        let page = self.hidden_page().await?;
        let versions = self.cache.state().database_versions();
        let read = self.with_mocks(&mocks, async {
            for (origin, EmptyPage { url, .. }) in origins.iter().zip(&empty) {
                let visited =
                    page.visit(url, WaitUntil::DomContentLoaded, EMPTY_PAGE_TIMEOUT).await;
                let found = match visited {
                    Ok(()) => {
                        let state = page.read_state(Some(&versions), READ_TIMEOUT).await;
                        state.storage.into_iter().next()
                    }
                    Err(_) => None,
                };
                let mut state = self.cache.state();
                let known = state.origins.entry(origin.clone()).or_default();
                // Also after a failure: the next attempt would fail, too.
                known.read_at = Some(changes);
                if let Some(SavedOrigin { storage, databases, .. }) = found {
                    let indexed_db = storage.indexed_db.or(known.storage.indexed_db.take());
                    known.storage = OriginStorage { session_storage: None, indexed_db, ..storage };
                    known.databases = databases;
                }
            }
        });
        let outcome = read.await;
        // An error means that the page is closed already.
        let _ = page.close().await;
        outcome
    }
}
