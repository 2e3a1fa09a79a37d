//! The state that a page is resumed with: fields, scroll positions and refs of its documents, and
//! the storage of their origins. It is read in one call for each frame, and restored into the
//! frames of a reopened page.

use std::{
    collections::HashMap,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use crate::{
    engine::{DocumentId, EngineError, FrameId},
    error::Result,
    offload,
    page::{
        Page,
        act::WaitUntil,
        resume::{
            DatabaseVersions, Databases, DocumentState, FrameState, Item, KeptOrigin, KeptPage,
            OriginStorage,
        },
        state::same_site,
    },
};

/// Timeout for the state of a frame. If a dialog or script blocks the frame, its last state is
/// used.
pub const LOOK_TIMEOUT: Duration = Duration::from_millis(900);
/// How long to wait for a reopened page to load; a slower one continues to load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to search for missing elements, because pages build their content with scripts.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for restoring form data: a page that has just loaded may be slow, but not blocked for
/// ever.
const BACK_TIMEOUT: Duration = Duration::from_secs(5);

/// The last state of each frame, which is returned again if nothing has changed.
#[derive(Debug, Default)]
pub(in crate::page) struct FrameStateCache(Mutex<HashMap<FrameId, CachedFrameState>>);

#[derive(Debug, Clone)]
struct CachedFrameState {
    of: Option<DocumentId>,
    version: String,
    url: String,
    document: Arc<DocumentState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FrameReport {
    url: String,
    origin: String,
    version: String,
    document: Option<DocumentState>,
    local_storage: Option<Vec<Item>>,
    session_storage: Option<Vec<Item>>,
    #[serde(rename = "indexedDB")]
    indexed_db: Option<String>,
    databases: Option<String>,
    #[serde(default)]
    left: Vec<String>,
    #[serde(default)]
    reading: f64,
}

#[derive(Deserialize)]
struct FramePosition {
    url: String,
    place: Vec<usize>,
}

impl FrameStateCache {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, CachedFrameState>> {
        self.0.lock()
    }
}

impl Page {
    /// Reads the state that the page can be resumed with. For frames that do not respond, the last
    /// state is used. Reads the databases if `databases` is given: the known version of each
    /// origin's databases. Waits at most `timeout` for each frame.
    pub async fn keep(&self, databases: Option<&DatabaseVersions>, timeout: Duration) -> KeptPage {
        if self.url() == "about:blank" {
            // The state of an empty document is not restored.
            return KeptPage::default();
        }
        let main = self.main_frame().clone();
        let mut frames: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let top = Url::parse(&self.url()).ok();
        // For frames of other sites, only those that a call has read: there may be many that are
        // not relevant.
        let shares = |id: &FrameId| {
            let url = self.state.read(|facts| facts.frames.get(id).map(|frame| frame.url.clone()));
            let url = url.and_then(|url| Url::parse(&url).ok());
            *id == main || matches!((&top, url), (Some(top), Some(url)) if same_site(top, &url))
        };
        frames.retain(|(id, _)| shares(id) || self.frame_number_of(id).0 > 0);
        frames.sort_by_key(|(id, _)| *id != main);
        self.frame_states.lock().retain(|id, _| frames.iter().any(|(frame, _)| frame == id));
        let mut kept = KeptPage::default();
        let looks = frames
            .iter()
            .map(|(frame, document)| self.look_at(frame, document.as_ref(), databases, timeout));
        for ((frame, _), (told, late)) in frames.iter().zip(join_all(looks).await) {
            kept.late |= late;
            let told_nothing = told.as_ref().is_none_or(|(_, told)| told.is_none());
            kept.silent.extend(self.origin_of(frame).filter(|_| told_nothing && shares(frame)));
            let Some((look, told)) = told else {
                kept.unseen = true;
                continue;
            };
            if let Some(told) = told {
                kept.reading =
                    kept.reading.max(Duration::from_secs_f64(told.reading.max(0.0) / 1000.0));
                if !told.left.is_empty() {
                    tracing::debug!(origin = told.origin, databases = ?told.left, "databases were left out");
                }
                let stored = told.local_storage.filter(|_| shares(frame) && told.origin != "null");
                if let Some(local_storage) = stored {
                    // Frames of one origin share their storage.
                    if !kept.storage.iter().any(|known| known.origin == told.origin) {
                        let storage = OriginStorage {
                            local_storage,
                            session_storage: told.session_storage,
                            indexed_db: told.indexed_db.map(Databases::new),
                        };
                        kept.storage.push(KeptOrigin {
                            origin: told.origin,
                            storage,
                            databases: told.databases,
                        });
                    }
                }
            }
            let (number, next) = self.frame_number_of(frame);
            kept.frames.push(FrameState { url: look.url, number, next, document: look.document });
        }
        kept
    }

    /// Returns the origin of the document in `frame`. `None` if it is opaque, because such origins
    /// have no storage.
    fn origin_of(&self, frame: &FrameId) -> Option<String> {
        let url =
            self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.url.clone()))?;
        let origin = Url::parse(&url).ok()?.origin();
        origin.is_tuple().then(|| origin.ascii_serialization())
    }

    /// Returns the current state of `frame`, its answer if there is one, and whether it did not
    /// respond in time.
    async fn look_at(
        &self,
        frame: &FrameId,
        document: Option<&DocumentId>,
        databases: Option<&DatabaseVersions>,
        timeout: Duration,
    ) -> (Option<(CachedFrameState, Option<FrameReport>)>, bool) {
        let before = self
            .frame_states
            .lock()
            .get(frame)
            .filter(|look| look.of.as_ref() == document)
            .cloned();
        let known = before.as_ref().map(|look| look.version.clone());
        let databases = databases.map(|versions| {
            let known = self.origin_of(frame).and_then(|origin| versions.get(&origin).cloned());
            json!({"known": known})
        });
        let asked = self.ask_frame(frame, "keep", json!({"known": known, "indexedDB": databases}));
        let told = tokio::time::timeout(timeout, asked).await;
        let late = told.is_err();
        self.is_unresponsive.fetch_or(late, Ordering::Relaxed);
        let told = told.ok().and_then(Result::ok);
        let Some(mut told) = told.and_then(|told| serde_json::from_value::<FrameReport>(told).ok())
        else {
            return (before.map(|look| (look, None)), late);
        };
        let document_state = match (told.document.take(), before) {
            (Some(state), _) => Arc::new(state),
            (None, Some(before)) => before.document,
            (None, None) => return (None, late),
        };
        let look = CachedFrameState {
            of: document.cloned(),
            version: told.version.clone(),
            url: told.url.clone(),
            document: document_state,
        };
        self.frame_states.lock().insert(frame.clone(), look.clone());
        (Some((look, Some(told))), late)
    }

    /// Navigates to an empty document without an origin.
    pub async fn leave(&self, timeout: Duration) -> Result<()> {
        let blank = Url::parse("about:blank").map_err(|_| self.error(EngineError::DocumentGone))?;
        self.visit(&blank, WaitUntil::DomContentLoaded, timeout).await
    }

    /// Opens `url` and waits for it, for a limited time. Logs failures, because the session
    /// continues in any case.
    pub async fn open_again(&self, url: &Url) {
        if let Err(error) = self.visit(url, WaitUntil::Load, LOAD_TIMEOUT).await {
            tracing::warn!(page = self.id, %error, "a page could not be reopened");
        }
        if let Err(error) = self.forget_history().await {
            tracing::debug!(%error, "the history of a reopened page could not be cleared");
        }
    }

    /// Restores the state of `frames` into the current documents in their places.
    pub async fn bring_back(&self, frames: &[FrameState]) {
        let present: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let main = self.main_frame().clone();
        let work = present.into_iter().map(async |(frame, document)| {
            let is_main = frame == main;
            let here = self.whereabouts(&frame).await?;
            let saved = frames.iter().find(|saved| saved.document.place == here.place)?;
            if !is_main {
                if saved.url != here.url {
                    return None;
                }
                self.number_frame(&frame, document, saved.number, saved.next);
            }
            let state = &saved.document;
            let arguments = json!({
                "scroll": state.scroll, "scrolls": state.scrolls, "fields": state.fields, "named": state.refs,
                "searchTimeout": SEARCH_TIMEOUT.as_millis(),
            });
            let back = self.inject_in(&frame, "bringBack", arguments);
            match tokio::time::timeout(SEARCH_TIMEOUT + BACK_TIMEOUT, back).await {
                Ok(Ok(back)) => {
                    tracing::debug!(page = self.id, url = here.url, %back, "restored a document");
                }
                Ok(Err(error)) => tracing::debug!(page = self.id, %error, "could not restore a document"),
                Err(_) => tracing::debug!(page = self.id, "timed out while restoring a document"),
            }
            Some(())
        });
        join_all(work).await;
    }

    async fn whereabouts(&self, frame: &FrameId) -> Option<FramePosition> {
        let asked = self.ask_frame(frame, "whereabouts", json!({}));
        let told = tokio::time::timeout(BACK_TIMEOUT, asked).await.ok()?.ok()?;
        serde_json::from_value(told).ok()
    }

    /// Writes storage. The page must show a document of the storage's origin.
    pub async fn write_storage(&self, storage: &OriginStorage, replace: bool) -> Result<()> {
        let bytes = storage.indexed_db.as_ref().map_or(0, Databases::bytes);
        let state = offload::in_place(bytes, || serde_json::to_string(storage)).unwrap_or_default();
        self.inject("writeStorage", json!({"state": state, "replace": replace})).await.map(drop)
    }
}
