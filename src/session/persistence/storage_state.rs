//! Cookies and storage in the format of Playwright's `storageState`.

use std::{path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::cookies::CookieParameter;
use crate::{
    engine::{
        network::{Cookie, Mock, Route},
        url_pattern::UrlPattern,
    },
    error::{ErrorCode, Result, TroupeError},
    files::InputFile,
    offload,
    page::{Databases, Item, OriginStorage},
    policy::vault::Vault,
};

/// Maximum size of a file that a client names, in bytes.
const MAX_FILE_SIZE: u64 = 100 << 20;

/// A storage state. `sessionStorage` of origins is an extension, which Playwright ignores.
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

/// A storage state in the parameters of a call.
pub enum StorageStateParameter {
    State(StorageState),
    /// The path of a file with a state.
    Path(String),
}

/// The fields of a storage state. Unknown fields are rejected.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StorageStateFields {
    cookies: Option<Vec<CookieParameter>>,
    origins: Option<Vec<OriginFields>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OriginFields {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
    session_storage: Option<Vec<Item>>,
    #[serde(rename = "indexedDB")]
    indexed_db: Option<Databases>,
}

/// Returns the error for a text or a value that is not a storage state.
fn not_a_state(what: &str, problem: impl std::fmt::Display) -> TroupeError {
    TroupeError::new(
        ErrorCode::InvalidParameters,
        format!("{what} is not a storage state: {problem}"),
    )
    .suggestion(
        "pass a result of save_state or of Playwright's storageState, or the path of its file",
    )
}

impl StorageStateParameter {
    /// Reads a state, a path, or a result of `save_state`, which contains one of them.
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
        let bytes = tokio::fs::read(path).await.map_err(|error| not_a_state(&what, error))?;
        Self::parse(&bytes, &what)
    }

    /// Reads a file that a client names.
    pub async fn of_file(file: &InputFile) -> Result<Self> {
        Self::parse(&file.read(MAX_FILE_SIZE).await?, &format!("`{file}`"))
    }

    /// Parses JSON. Error messages call it `what`.
    fn parse(bytes: &[u8], what: &str) -> Result<Self> {
        offload::in_place(bytes.len(), || {
            let value = serde_json::from_slice(bytes).map_err(|error| not_a_state(what, error))?;
            Self::of(value, what)
        })
    }

    /// Reads `value`. Error messages call it `what`.
    ///
    /// # Errors
    /// If it has invalid fields, a cookie that browsers reject, or an origin without storage.
    fn of(value: Value, what: &str) -> Result<Self> {
        let shape: StorageStateFields =
            serde_json::from_value(value).map_err(|error| not_a_state(what, error))?;
        if shape.cookies.is_none() && shape.origins.is_none() {
            return Err(not_a_state(what, "it has neither `cookies` nor `origins`"));
        }
        let cookies = CookieParameter::check_saved(shape.cookies.unwrap_or_default())?;
        let origins = shape.origins.into_iter().flatten().map(|shape| {
            EmptyPage::of(&shape.origin)?;
            let OriginFields { origin, local_storage, session_storage, indexed_db } = shape;
            Ok(OriginState {
                origin,
                storage: OriginStorage { local_storage, session_storage, indexed_db },
            })
        });
        Ok(Self { cookies, origins: origins.collect::<Result<_>>()? })
    }

    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.origins.iter().map(OriginState::bytes).sum()
    }

    /// Replaces the `<secret>` placeholders that `save_state` writes by the server's secrets.
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
    /// Returns whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        let OriginStorage { local_storage, session_storage, indexed_db } = &self.storage;
        local_storage.is_empty()
            && session_storage.as_ref().is_none_or(Vec::is_empty)
            && indexed_db.as_ref().is_none_or(Databases::is_empty)
    }

    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> usize {
        self.item_bytes() + self.storage.indexed_db.as_ref().map_or(0, Databases::bytes)
    }

    /// Returns the approximate size in bytes without the databases.
    pub fn item_bytes(&self) -> usize {
        let items =
            self.storage.local_storage.iter().chain(self.storage.session_storage.iter().flatten());
        items.map(|item| item.name.len() + item.value.len()).sum()
    }
}

/// The path prefix of empty pages, which no web page requests.
const EMPTY_PAGE: &str = "/.well-known/troupe-";

/// An empty page of an origin. A mock serves it, so that no request is sent.
pub struct EmptyPage {
    pub url: Url,
    pub mock: Arc<Mock>,
}

impl EmptyPage {
    pub fn of(origin: &str) -> Result<Self> {
        let wrong = |reason: String| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("`{origin}` is not an origin: {reason}"),
            )
        };
        let url = Url::parse(origin).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it has no storage".to_owned()));
        }
        let url = url.join(&format!("{EMPTY_PAGE}{}", uuid::Uuid::new_v4()));
        let url = url.map_err(|error| wrong(error.to_string()))?;
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        let body = b"<!doctype html><link rel=icon href=data:,>";
        let pattern = UrlPattern::parse(url.as_str()).map_err(wrong)?;
        Ok(Self { url, mock: Arc::new(Mock::new(pattern, 200, headers, body)) })
    }

    pub fn is_of(route: &Route) -> bool {
        route.url().as_str().contains(EMPTY_PAGE)
    }
}
