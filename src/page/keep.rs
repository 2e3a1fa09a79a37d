//! What a page can be resumed with: its documents' fields, scroll positions and refs, and the storage of their
//! origins. Read all at once in each frame, and put back into the frames of a page that was opened again.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::Url;

use super::{Page, WaitUntil};
use crate::{
    engine::{DocumentId, EngineError, FrameId},
    error::Result,
};

/// A frame that does not answer in this time (a dialog, a busy script) is kept as it was last seen.
const LOOK_TIMEOUT: Duration = Duration::from_millis(900);
/// How long a page that was opened again is waited for; what is slower goes on loading.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long what is missing in it is looked for: pages build themselves.
const PATIENCE: Duration = Duration::from_secs(1);
/// What was entered comes back within this time, or is lost: a page that has just loaded may be slow, not busy for ever.
const BACK_TIMEOUT: Duration = Duration::from_secs(5);

/// A name and a value, as storage has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Item {
    pub name: String,
    pub value: String,
}

/// What one origin keeps in the browser.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OriginStorage {
    pub local_storage: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_storage: Option<Vec<Item>>,
    /// In the shape of Playwright's storage state; only our script reads it. `None`: not looked at.
    #[serde(rename = "indexedDB", skip_serializing_if = "Option::is_none")]
    pub indexed_db: Option<Vec<Value>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Scroll {
    pub x: f64,
    pub y: f64,
}

/// One document, as `keep` of our script tells it and `bringBack` takes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentState {
    /// Indexes among the child frames, from the main frame inwards.
    pub place: Vec<usize>,
    pub scroll: Scroll,
    pub scrolls: Vec<Value>,
    pub fields: Vec<Value>,
    pub refs: Vec<Value>,
}

/// A document, where it was, and the numbers of its refs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FrameState {
    pub url: String,
    /// Of a child frame whose elements have refs (`f2e7` → 2); 0 for the main frame.
    pub number: u64,
    pub next: u64,
    pub document: Arc<DocumentState>,
}

/// What one look at a page has found.
#[derive(Debug, Default)]
pub struct KeptPage {
    /// The main frame first.
    pub frames: Vec<FrameState>,
    /// By origin; of child frames only those that share their storage with the main frame.
    pub storage: Vec<(String, OriginStorage)>,
    /// Origins that it shows, and whose documents have not answered.
    pub silent: Vec<String>,
    /// Whether there are frames that have not answered since they have their document.
    pub unseen: bool,
    /// Whether a frame has not answered in time, now: another look may see more.
    pub late: bool,
    /// How long the slowest took for its databases.
    pub reading: Duration,
}

/// The origins that the pages of a session have shown since somebody asked: documents that were left again before
/// anybody looked are among them.
#[derive(Debug, Default)]
pub struct Visited(Mutex<BTreeSet<String>>);

/// More than anybody visits between two looks.
const MOST_VISITED: usize = 200;

impl Visited {
    /// Notes a document of a main frame, or of a frame in the document `top`.
    pub(super) fn note(&self, url: &str, top: &str) {
        let Ok(url) = Url::parse(url) else { return };
        let shares = Url::parse(top).is_ok_and(|top| same_site(&top, &url));
        let mut visited = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if shares && matches!(url.scheme(), "http" | "https") && visited.len() < MOST_VISITED {
            visited.insert(url.origin().ascii_serialization());
        }
    }

    /// What was noted since the last time.
    pub fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What was last read of each frame, to be told again where nothing has changed.
#[derive(Debug, Default)]
pub(super) struct Looks(Mutex<HashMap<FrameId, Look>>);

#[derive(Debug, Clone)]
struct Look {
    of: Option<DocumentId>,
    version: String,
    url: String,
    document: Arc<DocumentState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    url: String,
    origin: String,
    version: String,
    document: Option<DocumentState>,
    local_storage: Option<Vec<Item>>,
    session_storage: Option<Vec<Item>>,
    #[serde(rename = "indexedDB")]
    indexed_db: Option<Vec<Value>>,
    #[serde(default)]
    left: Vec<String>,
    #[serde(default)]
    reading: f64,
}

#[derive(Deserialize)]
struct Whereabouts {
    url: String,
    place: Vec<usize>,
}

impl Looks {
    fn lock(&self) -> MutexGuard<'_, HashMap<FrameId, Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether two documents are of the same site, roughly: same scheme, and the same last two parts of the host.
/// Browsers give a frame of another site a storage of its own.
fn same_site(one: &Url, other: &Url) -> bool {
    fn site(url: &Url) -> Option<String> {
        Some(match url.host()? {
            url::Host::Domain(name) => {
                let mut parts: Vec<&str> = name.rsplit('.').take(2).collect();
                parts.reverse();
                parts.join(".")
            }
            address => address.to_string(),
        })
    }
    one.scheme() == other.scheme() && site(one).is_some() && site(one) == site(other)
}

impl Page {
    /// Reads what it can be resumed with; frames that don't answer are told as they were last seen.
    pub async fn keep(&self, databases: bool) -> KeptPage {
        if self.url() == "about:blank" {
            // It comes back empty, whatever was written into it.
            return KeptPage::default();
        }
        let main = self.main_frame().clone();
        let mut frames: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let top = Url::parse(&self.url()).ok();
        // Of a frame of another site only what somebody has looked at: there may be many that nobody cares for.
        let shares = |id: &FrameId| {
            let url = self.state.read(|facts| facts.frames.get(id).map(|frame| frame.url.clone()));
            let url = url.and_then(|url| Url::parse(&url).ok());
            *id == main || matches!((&top, url), (Some(top), Some(url)) if same_site(top, &url))
        };
        frames.retain(|(id, _)| shares(id) || self.frame_number_of(id).0 > 0);
        frames.sort_by_key(|(id, _)| *id != main);
        self.looks.lock().retain(|id, _| frames.iter().any(|(frame, _)| frame == id));
        let mut kept = KeptPage::default();
        let looks = frames.iter().map(|(frame, document)| self.look_at(frame, document.as_ref(), databases));
        for ((frame, _), (told, late)) in frames.iter().zip(join_all(looks).await) {
            kept.late |= late;
            let told_nothing = told.as_ref().is_none_or(|(_, told)| told.is_none());
            kept.silent.extend(self.origin_of(frame).filter(|_| told_nothing && shares(frame)));
            let Some((look, told)) = told else {
                kept.unseen = true;
                continue;
            };
            if let Some(told) = told {
                kept.reading = kept.reading.max(Duration::from_secs_f64(told.reading.max(0.0) / 1000.0));
                if !told.left.is_empty() {
                    tracing::debug!(origin = told.origin, databases = ?told.left, "databases are not kept");
                }
                let stored = told.local_storage.filter(|_| shares(frame) && told.origin != "null");
                if let Some(local_storage) = stored {
                    let storage = OriginStorage {
                        local_storage,
                        session_storage: told.session_storage,
                        indexed_db: told.indexed_db,
                    };
                    // Frames of one origin tell the same.
                    if !kept.storage.iter().any(|(origin, _)| *origin == told.origin) {
                        kept.storage.push((told.origin, storage));
                    }
                }
            }
            let (number, next) = self.frame_number_of(frame);
            kept.frames.push(FrameState { url: look.url, number, next, document: look.document });
        }
        kept
    }

    /// The origin of what `frame` shows, where it has one of a kind that keeps storage.
    fn origin_of(&self, frame: &FrameId) -> Option<String> {
        let url = self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.url.clone()))?;
        let origin = Url::parse(&url).ok()?.origin();
        origin.is_tuple().then(|| origin.ascii_serialization())
    }

    /// What is known of `frame` now, and what it has told, if it has; and whether it was too slow for that.
    async fn look_at(
        &self,
        frame: &FrameId,
        document: Option<&DocumentId>,
        databases: bool,
    ) -> (Option<(Look, Option<Told>)>, bool) {
        let before = self.looks.lock().get(frame).filter(|look| look.of.as_ref() == document).cloned();
        let known = before.as_ref().map(|look| look.version.clone());
        let asked = self.inject_in(frame, "keep", json!({"known": known, "indexedDB": databases}));
        let told = tokio::time::timeout(LOOK_TIMEOUT, asked).await;
        let late = told.is_err();
        self.still.fetch_or(late, Ordering::Relaxed);
        let told = told.ok().and_then(Result::ok);
        let Some(mut told) = told.and_then(|told| serde_json::from_value::<Told>(told).ok()) else {
            return (before.map(|look| (look, None)), late);
        };
        let document_state = match (told.document.take(), before) {
            (Some(state), _) => Arc::new(state),
            (None, Some(before)) => before.document,
            (None, None) => return (None, late),
        };
        let look = Look {
            of: document.cloned(),
            version: told.version.clone(),
            url: told.url.clone(),
            document: document_state,
        };
        self.looks.lock().insert(frame.clone(), look.clone());
        (Some((look, Some(told))), late)
    }

    /// Goes to an empty document that is nobody's.
    pub async fn leave(&self, timeout: Duration) -> Result<()> {
        let blank = Url::parse("about:blank").map_err(|_| self.error(EngineError::DocumentGone))?;
        self.visit(&blank, WaitUntil::DomContentLoaded, timeout).await
    }

    /// Opens `url` and waits for it, as long as is reasonable: whatever comes of it, the session goes on.
    pub async fn open_again(&self, url: &Url) {
        if let Err(error) = self.visit(url, WaitUntil::Load, LOAD_TIMEOUT).await {
            tracing::warn!(page = self.id, %error, "a page did not come back as it was");
        }
        if let Err(error) = self.forget_history().await {
            tracing::debug!(%error, "its history is longer than it was");
        }
    }

    /// Puts back what `frames` tell into the documents that stand in their places now.
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
                "patience": PATIENCE.as_millis(),
            });
            let back = self.inject_in(&frame, "bringBack", arguments);
            match tokio::time::timeout(PATIENCE + BACK_TIMEOUT, back).await {
                Ok(Ok(back)) => {
                    tracing::debug!(page = self.id, url = here.url, %back, "a document was brought back");
                }
                Ok(Err(error)) => tracing::debug!(page = self.id, %error, "a document is not as it was"),
                Err(_) => tracing::debug!(page = self.id, "a document was not brought back in time"),
            }
            Some(())
        });
        join_all(work).await;
    }

    async fn whereabouts(&self, frame: &FrameId) -> Option<Whereabouts> {
        let asked = self.inject_in(frame, "whereabouts", json!({}));
        let told = tokio::time::timeout(BACK_TIMEOUT, asked).await.ok()?.ok()?;
        serde_json::from_value(told).ok()
    }

    /// Writes storage from a document of its origin, which the page must show.
    pub async fn write_storage(&self, storage: &OriginStorage, replace: bool) -> Result<()> {
        let state = serde_json::to_string(storage).unwrap_or_default();
        self.inject("writeStorage", json!({"state": state, "replace": replace})).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_site_share_their_storage() {
        let same = |one: &str, other: &str| same_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("https://app.a.example/x", "https://login.a.example/"));
        assert!(same("http://127.0.0.1:1/", "http://127.0.0.1:2/"));
        assert!(!same("https://a.example/", "https://b.example/"));
        assert!(!same("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(!same("http://a.example/", "https://a.example/"));
        assert!(!same("data:text/html,x", "data:text/html,x"));
    }
}
