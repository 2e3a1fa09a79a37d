//! The state that a page is resumed with: fields, scroll positions and refs of its documents, and the storage of
//! their origins. It is read in one call for each frame, and restored into the frames of a reopened page.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::{Value, json, value::RawValue};
use url::Url;

use super::{Page, WaitUntil};
use crate::{
    engine::{DocumentId, EngineError, FrameId, connection::repair_json},
    error::Result,
    offload,
};

/// A frame that does not answer in this time (a dialog, a busy script) is kept as it was last seen.
pub const LOOK_TIMEOUT: Duration = Duration::from_millis(900);
/// How long to wait for a reopened page to load; a slower one continues to load.
const LOAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long to search for missing elements, because pages build their content with scripts.
const PATIENCE: Duration = Duration::from_secs(1);
/// Timeout for restoring form data: a page that has just loaded may be slow, but not blocked for ever.
const BACK_TIMEOUT: Duration = Duration::from_secs(5);

/// A name and a value, as storage has them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Item {
    pub name: String,
    pub value: String,
}

/// What one origin keeps in the browser.
#[derive(Debug, Clone, Default, PartialEq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(inline)]
pub struct OriginStorage {
    pub local_storage: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_storage: Option<Vec<Item>>,
    /// The databases; absent if they were not read.
    #[serde(rename = "indexedDB", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<Value>>")]
    pub indexed_db: Option<Databases>,
}

/// The version of the databases of each origin, as its pages count them.
pub type DatabaseVersions = HashMap<String, String>;

/// The databases of one origin: a JSON array in the shape of Playwright's storage state. They stay text, since only our
/// script reads them and they may have megabytes; a clone shares them.
#[derive(Clone)]
pub struct Databases {
    json: Arc<str>,
    hash: u64,
}

impl Databases {
    /// `json` as our script has written it.
    fn new(json: String) -> Self {
        offload::in_place(json.len(), || {
            let json: Arc<str> = repair_json(json).into();
            let mut hasher = DefaultHasher::new();
            json.hash(&mut hasher);
            Self { hash: hasher.finish(), json }
        })
    }

    pub fn is_empty(&self) -> bool {
        &*self.json == "[]"
    }

    /// Size in bytes.
    pub fn bytes(&self) -> usize {
        self.json.len()
    }
}

impl Default for Databases {
    fn default() -> Self {
        Self::new("[]".to_owned())
    }
}

impl From<Vec<Value>> for Databases {
    fn from(databases: Vec<Value>) -> Self {
        Self::new(Value::from(databases).to_string())
    }
}

impl fmt::Debug for Databases {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Databases({} bytes)", self.json.len())
    }
}

impl PartialEq for Databases {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.json == other.json
    }
}

impl Hash for Databases {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

impl Serialize for Databases {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.json)
            .map_err(S::Error::custom)?
            .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Databases {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Vec::<Value>::deserialize(deserializer).map(Self::from)
    }
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
    /// Of child frames only those that share their storage with the main frame.
    pub storage: Vec<KeptOrigin>,
    /// Origins that it shows, and whose documents have not answered.
    pub silent: Vec<String>,
    /// Whether there are frames that have not answered since they have their document.
    pub unseen: bool,
    /// Whether a frame has not answered in time, now: another look may see more.
    pub late: bool,
    /// How long the slowest took for its databases.
    pub reading: Duration,
}

/// The storage of one origin as a page has told it.
#[derive(Debug)]
pub struct KeptOrigin {
    pub origin: String,
    /// Without the databases where their version is the one that was known.
    pub storage: OriginStorage,
    /// The version of the databases, if they were read.
    pub databases: Option<String>,
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
        let mut visited = self.0.lock();
        if shares && matches!(url.scheme(), "http" | "https") && visited.len() < MOST_VISITED {
            visited.insert(url.origin().ascii_serialization());
        }
    }

    /// Takes the notes since the last call.
    pub fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// The last state of each frame, which is returned again if nothing has changed.
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
    indexed_db: Option<String>,
    databases: Option<String>,
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
        self.0.lock()
    }
}

/// Whether two documents are same-site: their schemes are equal, and so are their registrable domains by the public
/// suffix list, or their hosts where there is no registrable domain (an address, `localhost`, a public suffix).
/// Browsers partition the storage of a frame that is cross-site to its page.
fn same_site(one: &Url, other: &Url) -> bool {
    fn site(url: &Url) -> Option<String> {
        let host = url.host_str()?;
        let domain = url.domain().and_then(psl::domain_str);
        Some(domain.unwrap_or(host).trim_end_matches('.').to_owned())
    }
    one.scheme() == other.scheme() && site(one).is_some() && site(one) == site(other)
}

impl Page {
    /// Reads the state that the page can be resumed with. For frames that do not respond, the last state is used.
    /// Reads the databases if `databases` is given: the known version of each origin's databases. Waits at most
    /// `timeout` for each frame.
    pub async fn keep(&self, databases: Option<&DatabaseVersions>, timeout: Duration) -> KeptPage {
        if self.url() == "about:blank" {
            // It comes back empty, whatever was written into it.
            return KeptPage::default();
        }
        let main = self.main_frame().clone();
        let mut frames: Vec<(FrameId, Option<DocumentId>)> = self.state.read(|facts| {
            facts.frames.iter().map(|(id, frame)| (id.clone(), frame.document.clone())).collect()
        });
        let top = Url::parse(&self.url()).ok();
        // For frames of other sites, only those that a call has read: there may be many that are not relevant.
        let shares = |id: &FrameId| {
            let url = self.state.read(|facts| facts.frames.get(id).map(|frame| frame.url.clone()));
            let url = url.and_then(|url| Url::parse(&url).ok());
            *id == main || matches!((&top, url), (Some(top), Some(url)) if same_site(top, &url))
        };
        frames.retain(|(id, _)| shares(id) || self.frame_number_of(id).0 > 0);
        frames.sort_by_key(|(id, _)| *id != main);
        self.looks.lock().retain(|id, _| frames.iter().any(|(frame, _)| frame == id));
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
                    tracing::debug!(origin = told.origin, databases = ?told.left, "databases are not kept");
                }
                let stored = told.local_storage.filter(|_| shares(frame) && told.origin != "null");
                if let Some(local_storage) = stored {
                    // Frames of one origin tell the same.
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

    /// The origin of what `frame` shows, where it has one of a kind that keeps storage.
    fn origin_of(&self, frame: &FrameId) -> Option<String> {
        let url =
            self.state.read(|facts| facts.frames.get(frame).map(|frame| frame.url.clone()))?;
        let origin = Url::parse(&url).ok()?.origin();
        origin.is_tuple().then(|| origin.ascii_serialization())
    }

    /// The current state of `frame`, its answer if there is one, and whether it did not answer in time.
    async fn look_at(
        &self,
        frame: &FrameId,
        document: Option<&DocumentId>,
        databases: Option<&DatabaseVersions>,
        timeout: Duration,
    ) -> (Option<(Look, Option<Told>)>, bool) {
        let before =
            self.looks.lock().get(frame).filter(|look| look.of.as_ref() == document).cloned();
        let known = before.as_ref().map(|look| look.version.clone());
        let databases = databases.map(|versions| {
            let known = self.origin_of(frame).and_then(|origin| versions.get(&origin).cloned());
            json!({"known": known})
        });
        let asked = self.ask_frame(frame, "keep", json!({"known": known, "indexedDB": databases}));
        let told = tokio::time::timeout(timeout, asked).await;
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

    /// Navigates to an empty document without an origin.
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
        let asked = self.ask_frame(frame, "whereabouts", json!({}));
        let told = tokio::time::timeout(BACK_TIMEOUT, asked).await.ok()?.ok()?;
        serde_json::from_value(told).ok()
    }

    /// Writes storage from a document of its origin, which the page must show.
    pub async fn write_storage(&self, storage: &OriginStorage, replace: bool) -> Result<()> {
        let bytes = storage.indexed_db.as_ref().map_or(0, Databases::bytes);
        let state = offload::in_place(bytes, || serde_json::to_string(storage)).unwrap_or_default();
        self.inject("writeStorage", json!({"state": state, "replace": replace})).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_site_share_their_storage() {
        let same =
            |one: &str, other: &str| same_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("https://app.a.example/x", "https://login.a.example/"));
        assert!(same("http://127.0.0.1:1/", "http://127.0.0.1:2/"));
        assert!(!same("https://a.example/", "https://b.example/"));
        assert!(!same("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(!same("http://a.example/", "https://a.example/"));
        assert!(!same("data:text/html,x", "data:text/html,x"));
        // Public suffixes of more than one label.
        assert!(same("https://app.a.co.uk/", "https://a.co.uk/"));
        assert!(!same("https://a.co.uk/", "https://b.co.uk/"));
        assert!(!same("https://one.github.io/", "https://two.github.io/"));
        assert!(!same("https://github.io/", "https://two.github.io/"));
        assert!(same("http://localhost:1/", "http://localhost:2/"));
        assert!(same("http://a.localhost/", "http://b.a.localhost/"));
        assert!(!same("http://a.localhost/", "http://b.localhost/"));
    }
}
