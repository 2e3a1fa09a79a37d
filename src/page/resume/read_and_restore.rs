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
            DatabaseVersions, Databases, DocumentState, FrameState, Item, OriginStorage,
            SavedOrigin, SavedPageState,
        },
        state::same_site,
    },
};

/// Timeout for reading the state of a frame. If a dialog or script blocks the frame, its last state
/// is used.
pub const READ_TIMEOUT: Duration = Duration::from_millis(900);
/// How long to wait for a reopened page to load; a slower one continues to load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to search for missing elements, because pages build their content with scripts.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for restoring a document. A page that has just loaded may be slow to respond.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The last state of each frame, which is returned again if nothing has changed.
#[derive(Debug, Default)]
pub(in crate::page) struct FrameStateCache(Mutex<HashMap<FrameId, CachedFrameState>>);

#[derive(Debug, Clone)]
struct CachedFrameState {
    id: Option<DocumentId>,
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
    skipped: Vec<String>,
    #[serde(default)]
    read_time: f64,
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
    pub async fn read_state(
        &self,
        databases: Option<&DatabaseVersions>,
        timeout: Duration,
    ) -> SavedPageState {
        if self.url() == "about:blank" {
            // The state of an empty document is not restored.
            return SavedPageState::default();
        }
        let main = self.main_frame().clone();
        let mut frames: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let top = Url::parse(&self.url()).ok();
        // Of the frames of other sites, only those that a call has read are saved. Pages can have
        // many irrelevant ones, such as advertisements.
        let shares_storage = |id: &FrameId| {
            let url = self.state.read(|facts| facts.frames.get(id).map(|frame| frame.url.clone()));
            let url = url.and_then(|url| Url::parse(&url).ok());
            *id == main || matches!((&top, url), (Some(top), Some(url)) if same_site(top, &url))
        };
        frames.retain(|(id, _)| shares_storage(id) || self.frame_number_of(id).0 > 0);
        frames.sort_by_key(|(id, _)| *id != main);
        self.frame_states.lock().retain(|id, _| frames.iter().any(|(frame, _)| frame == id));
        let mut state = SavedPageState::default();
        let reads = frames
            .iter()
            .map(|(frame, document)| self.read_frame(frame, document.as_ref(), databases, timeout));
        for ((frame, _), (result, timed_out)) in frames.iter().zip(join_all(reads).await) {
            state.timed_out |= timed_out;
            let is_unresponsive = result.as_ref().is_none_or(|(_, report)| report.is_none());
            state
                .unresponsive_origins
                .extend(self.origin_of(frame).filter(|_| is_unresponsive && shares_storage(frame)));
            let Some((cached, report)) = result else {
                state.has_unread_frame = true;
                continue;
            };
            if let Some(report) = report {
                let read_time = Duration::from_secs_f64(report.read_time.max(0.0) / 1000.0);
                state.read_time = state.read_time.max(read_time);
                if !report.skipped.is_empty() {
                    tracing::debug!(origin = report.origin, databases = ?report.skipped, "databases were not saved");
                }
                let stored = report
                    .local_storage
                    .filter(|_| shares_storage(frame) && report.origin != "null");
                if let Some(local_storage) = stored {
                    // Frames of one origin share their storage.
                    if !state.storage.iter().any(|saved| saved.origin == report.origin) {
                        let storage = OriginStorage {
                            local_storage,
                            session_storage: report.session_storage,
                            indexed_db: report.indexed_db.map(Databases::new),
                        };
                        state.storage.push(SavedOrigin {
                            origin: report.origin,
                            storage,
                            databases: report.databases,
                        });
                    }
                }
            }
            let (number, next) = self.frame_number_of(frame);
            state.frames.push(FrameState {
                url: cached.url,
                number,
                next,
                document: cached.document,
            });
        }
        state
    }

    /// Returns the origin of the document in `frame`. `None` if it is opaque, because such origins
    /// have no storage.
    fn origin_of(&self, frame: &FrameId) -> Option<String> {
        let url =
            self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.url.clone()))?;
        let origin = Url::parse(&url).ok()?.origin();
        origin.is_tuple().then(|| origin.ascii_serialization())
    }

    /// Returns the state of `frame`, its report if it responded, and whether it timed out.
    async fn read_frame(
        &self,
        frame: &FrameId,
        document: Option<&DocumentId>,
        databases: Option<&DatabaseVersions>,
        timeout: Duration,
    ) -> (Option<(CachedFrameState, Option<FrameReport>)>, bool) {
        let last = self
            .frame_states
            .lock()
            .get(frame)
            .filter(|cached| cached.id.as_ref() == document)
            .cloned();
        let known = last.as_ref().map(|cached| cached.version.clone());
        let databases = databases.map(|versions| {
            let known = self.origin_of(frame).and_then(|origin| versions.get(&origin).cloned());
            json!({"known": known})
        });
        let call = self.call_injected_if_responsive(
            frame,
            "saveState",
            json!({"known": known, "indexedDB": databases}),
        );
        let answer = tokio::time::timeout(timeout, call).await;
        let timed_out = answer.is_err();
        self.is_unresponsive.fetch_or(timed_out, Ordering::Relaxed);
        let answer = answer.ok().and_then(Result::ok);
        let report = answer.and_then(|answer| serde_json::from_value::<FrameReport>(answer).ok());
        let Some(mut report) = report else {
            return (last.map(|cached| (cached, None)), timed_out);
        };
        let document_state = match (report.document.take(), last) {
            (Some(state), _) => Arc::new(state),
            (None, Some(last)) => last.document,
            (None, None) => return (None, timed_out),
        };
        let cached = CachedFrameState {
            id: document.cloned(),
            version: report.version.clone(),
            url: report.url.clone(),
            document: document_state,
        };
        self.frame_states.lock().insert(frame.clone(), cached.clone());
        (Some((cached, Some(report))), timed_out)
    }

    /// Navigates to an empty document without an origin.
    pub async fn navigate_to_blank(&self, timeout: Duration) -> Result<()> {
        let blank = Url::parse("about:blank").map_err(|_| self.error(EngineError::DocumentGone))?;
        self.visit(&blank, WaitUntil::DomContentLoaded, timeout).await
    }

    /// Opens `url` and waits for it, for a limited time. Logs failures, because the session
    /// continues in any case.
    pub async fn reopen(&self, url: &Url) {
        if let Err(error) = self.visit(url, WaitUntil::Load, LOAD_TIMEOUT).await {
            tracing::warn!(page = self.id, %error, "a page could not be reopened");
        }
        if let Err(error) = self.forget_history().await {
            tracing::debug!(%error, "the history of a reopened page could not be cleared");
        }
    }

    /// Restores the state of `frames` into the current documents of the frames at the same paths.
    pub async fn restore_state(&self, frames: &[FrameState]) {
        let present: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let main = self.main_frame().clone();
        let work = present.into_iter().map(async |(frame, document)| {
            let is_main = frame == main;
            let position = self.frame_position(&frame).await?;
            let saved = frames.iter().find(|saved| saved.document.place == position.place)?;
            if !is_main {
                if saved.url != position.url {
                    return None;
                }
                self.number_frame(&frame, document, saved.number, saved.next);
            }
            let state = &saved.document;
            let arguments = json!({
                "scroll": state.scroll, "scrolls": state.scrolls, "fields": state.fields, "savedRefs": state.refs,
                "searchTimeout": SEARCH_TIMEOUT.as_millis(),
            });
            let call = self.call_injected_in(&frame, "restoreState", arguments);
            match tokio::time::timeout(SEARCH_TIMEOUT + RESTORE_TIMEOUT, call).await {
                Ok(Ok(restored)) => {
                    tracing::debug!(page = self.id, url = position.url, %restored, "restored a document");
                }
                Ok(Err(error)) => tracing::debug!(page = self.id, %error, "could not restore a document"),
                Err(_) => tracing::debug!(page = self.id, "timed out while restoring a document"),
            }
            Some(())
        });
        join_all(work).await;
    }

    async fn frame_position(&self, frame: &FrameId) -> Option<FramePosition> {
        let call = self.call_injected_if_responsive(frame, "framePosition", json!({}));
        let answer = tokio::time::timeout(RESTORE_TIMEOUT, call).await.ok()?.ok()?;
        serde_json::from_value(answer).ok()
    }

    /// Writes storage. The page must show a document of the storage's origin.
    pub async fn write_storage(&self, storage: &OriginStorage, replace: bool) -> Result<()> {
        let bytes = storage.indexed_db.as_ref().map_or(0, Databases::bytes);
        let state = offload::in_place(bytes, || serde_json::to_string(storage)).unwrap_or_default();
        self.call_injected("writeStorage", json!({"state": state, "replace": replace}))
            .await
            .map(drop)
    }
}
