//! The state of a page that it can be resumed with.

use std::{
    collections::HashMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::Error as _};
use serde_json::{Value, value::RawValue};

use crate::{engine::connection::repair_json, offload};

/// The name and the value of a storage item.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(inline)]
pub struct Item {
    pub name: String,
    pub value: String,
}

/// The storage of one origin in the browser.
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

/// The version of the databases of each origin.
pub type DatabaseVersions = HashMap<String, String>;

/// The databases of one origin: a JSON array in the shape of Playwright's storage state. They stay
/// text, because only the injected script reads them and they may be large. Clones share them.
#[derive(Clone)]
pub struct Databases {
    json: Arc<str>,
    hash: u64,
}

impl Databases {
    /// Creates it from the JSON that the injected script has written.
    pub(in crate::page) fn new(json: String) -> Self {
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

    /// Returns the size in bytes.
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

/// The state of one document, as `saveState` of the injected script returns it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DocumentState {
    /// The path of child frame indexes from the main frame to the document's frame.
    pub place: Vec<usize>,
    pub scroll: Scroll,
    pub scrolls: Vec<Value>,
    pub fields: Vec<Value>,
    pub refs: Vec<Value>,
}

/// The state of a frame: its document and the numbers of its refs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FrameState {
    pub url: String,
    /// The number of a child frame in refs (`f2e7` → 2); 0 for the main frame.
    pub number: u64,
    pub next: u64,
    pub document: Arc<DocumentState>,
}

/// The state of a page.
#[derive(Debug, Default)]
pub struct SavedPageState {
    /// The main frame first.
    pub frames: Vec<FrameState>,
    /// The storage of the main frame, and of child frames that share their storage with it.
    pub storage: Vec<SavedOrigin>,
    /// Origins of documents that did not respond.
    pub unresponsive_origins: Vec<String>,
    /// Whether a frame has never responded since its document was committed.
    pub has_unread_frame: bool,
    /// Whether a frame timed out. Another query may return more.
    pub timed_out: bool,
    /// How long the slowest frame took to read its databases.
    pub read_time: Duration,
}

/// The storage of one origin that a page has documents of.
#[derive(Debug)]
pub struct SavedOrigin {
    pub origin: String,
    /// Has no databases if their version is the known one.
    pub storage: OriginStorage,
    /// The version of the databases, if they were read.
    pub databases: Option<String>,
}
