//! Cookies and storage in the form of Playwright's storage state, and how they are loaded into a session.

use std::{path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::cookies::GivenCookie;
use crate::{
    engine::{
        network::{Cookie, Mock},
        url_pattern::UrlPattern,
    },
    error::{ErrorCode, Result, TroupeError},
    offload,
    page::{Databases, Item, OriginStorage},
    policy::vault::Vault,
};

/// What Playwright's `storageState` writes; `sessionStorage` in an origin is ours, and ignored there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct StorageState {
    pub cookies: Vec<Cookie>,
    pub origins: Vec<OriginState>,
}

/// The storage of one origin.
#[derive(Debug, Clone, Default, PartialEq, Hash, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct OriginState {
    pub origin: String,
    #[serde(flatten)]
    pub storage: OriginStorage,
}

/// A storage state as a client gives it.
pub enum GivenState {
    State(StorageState),
    /// The path of a file with a state.
    Path(String),
}

/// The fields of a storage state; others are rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateShape {
    cookies: Option<Vec<GivenCookie>>,
    origins: Option<Vec<OriginShape>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OriginShape {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
    session_storage: Option<Vec<Item>>,
    #[serde(rename = "indexedDB")]
    indexed_db: Option<Databases>,
}

/// The error of a text or a value that is not a storage state.
fn not_a_state(what: &str, problem: impl std::fmt::Display) -> TroupeError {
    TroupeError::new(
        ErrorCode::InvalidParameters,
        format!("{what} is not a storage state: {problem}"),
    )
    .suggestion(
        "pass a result of save_state or of Playwright's storageState, or the path of its file",
    )
}

impl GivenState {
    /// Reads a state, a path, or a result of `save_state`, which has one of both.
    pub fn of(given: Value) -> Result<Self> {
        let given = match given {
            Value::Object(mut result) if result.get("success") == Some(&Value::Bool(true)) => {
                result
                    .remove("state")
                    .or_else(|| result.remove("path"))
                    .unwrap_or(Value::Object(result))
            }
            other => other,
        };
        match given {
            Value::String(path) => Ok(Self::Path(path)),
            value => StorageState::of(value, "the given value").map(Self::State),
        }
    }
}

impl StorageState {
    /// Reads the file at `path`.
    pub async fn read(path: &Path) -> Result<Self> {
        let what = format!("`{}`", path.display());
        let text =
            tokio::fs::read_to_string(path).await.map_err(|error| not_a_state(&what, error))?;
        offload::in_place(text.len(), || {
            let value = serde_json::from_str(&text).map_err(|error| not_a_state(&what, error))?;
            Self::of(value, &what)
        })
    }

    /// Reads `value`, which messages call `what`.
    ///
    /// # Errors
    /// If it has another shape, a cookie that no browser takes, or an origin that has no storage.
    fn of(value: Value, what: &str) -> Result<Self> {
        let shape: StateShape =
            serde_json::from_value(value).map_err(|error| not_a_state(what, error))?;
        if shape.cookies.is_none() && shape.origins.is_none() {
            return Err(not_a_state(what, "it has neither `cookies` nor `origins`"));
        }
        let cookies = GivenCookie::check_saved(shape.cookies.unwrap_or_default())?;
        let origins = shape.origins.into_iter().flatten().map(|shape| {
            EmptyPage::of(&shape.origin)?;
            let OriginShape { origin, local_storage, session_storage, indexed_db } = shape;
            Ok(OriginState {
                origin,
                storage: OriginStorage { local_storage, session_storage, indexed_db },
            })
        });
        Ok(Self { cookies, origins: origins.collect::<Result<_>>()? })
    }

    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        self.origins.iter().map(OriginState::bytes).sum()
    }

    /// The state with the server's secrets in place of their `<secret>` placeholders, which `save_state` writes.
    pub fn unmasked(self, vault: &Vault) -> Self {
        if vault.is_empty() {
            return self;
        }
        offload::in_place(self.bytes(), || {
            let mut value = serde_json::to_value(&self).unwrap_or_default();
            vault.unmask_json(&mut value);
            serde_json::from_value(value).unwrap_or(self)
        })
    }
}

impl OriginState {
    /// Whether there is anything to write.
    pub fn is_empty(&self) -> bool {
        let OriginStorage { local_storage, session_storage, indexed_db } = &self.storage;
        local_storage.is_empty()
            && session_storage.as_ref().is_none_or(Vec::is_empty)
            && indexed_db.as_ref().is_none_or(Databases::is_empty)
    }

    /// About how many bytes it has.
    pub fn bytes(&self) -> usize {
        self.item_bytes() + self.storage.indexed_db.as_ref().map_or(0, Databases::bytes)
    }

    /// The same without its databases, whose hash is known.
    pub fn item_bytes(&self) -> usize {
        let items =
            self.storage.local_storage.iter().chain(self.storage.session_storage.iter().flatten());
        items.map(|item| item.name.len() + item.value.len()).sum()
    }
}

/// Where empty pages stand: no page asks for it.
const EMPTY_PAGE: &str = "/.well-known/troupe-";

/// A page at `origin` that its server is not asked for.
pub struct EmptyPage {
    pub url: Url,
    pub mock: Arc<Mock>,
}

impl EmptyPage {
    pub fn of(origin: &str) -> Result<Self> {
        let wrong = |reason: String| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("`{origin}` is no origin: {reason}"),
            )
        };
        let url = Url::parse(origin).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it has no storage of its own".to_owned()));
        }
        let url = url.join(&format!("{EMPTY_PAGE}{}", uuid::Uuid::new_v4()));
        let url = url.map_err(|error| wrong(error.to_string()))?;
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        let body = b"<!doctype html><link rel=icon href=data:,>";
        let pattern = UrlPattern::parse(url.as_str()).map_err(wrong)?;
        Ok(Self { url, mock: Arc::new(Mock::new(pattern, 200, headers, body)) })
    }

    pub fn is_of(mock: &Mock) -> bool {
        mock.url.as_str().contains(EMPTY_PAGE)
    }
}
