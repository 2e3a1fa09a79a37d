//! Cookies and local storage from a file in Playwright's form, brought into a new session.

use std::{path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

use super::session::Session;
use crate::{
    engine::{
        network::{Cookie, Mock},
        url_pattern::UrlPattern,
    },
    error::{ErrorCode, Result, TroupeError},
    page::WaitUntil,
};

/// What Playwright's `storageState` writes.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(inline)]
pub struct StorageState {
    pub cookies: Vec<Cookie>,
    pub origins: Vec<OriginState>,
}

/// The local storage of one origin.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct OriginState {
    pub origin: String,
    #[serde(default)]
    pub local_storage: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Item {
    pub name: String,
    pub value: String,
}

impl StorageState {
    /// Reads the file at `path`.
    pub async fn read(path: &Path) -> Result<Self> {
        let wrong = |what: String| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the storage state `{}` {what}", path.display()),
            )
            .suggestion("--storage-state takes a file that Playwright's storageState has written")
        };
        let text = tokio::fs::read_to_string(path)
            .await
            .map_err(|error| wrong(format!("could not be read: {error}")))?;
        serde_json::from_str(&text).map_err(|error| wrong(format!("does not fit: {error}")))
    }
}

impl Session {
    /// Brings `state` in, before anybody uses the session.
    pub(super) async fn restore(&self, state: &StorageState) -> Result<()> {
        if !state.cookies.is_empty() {
            self.set_cookies(&state.cookies).await?;
        }
        let origins: Vec<_> =
            state.origins.iter().filter(|origin| !origin.local_storage.is_empty()).collect();
        if origins.is_empty() {
            return Ok(());
        }
        // Storage can be written from a document of its origin only: an empty one is given for each, without
        // asking its server.
        let mut mocks = Vec::with_capacity(origins.len());
        for OriginState { origin, .. } in &origins {
            let url =
                UrlPattern::parse(&format!("{}/**", origin.trim_end_matches('/'))).map_err(|reason| {
                    TroupeError::new(
                        ErrorCode::InvalidParameters,
                        format!("`{origin}` is no origin: {reason}"),
                    )
                })?;
            let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
            mocks.push(Arc::new(Mock { url, status: 200, headers, body: b"<!doctype html>".to_vec() }));
        }
        let before = self.network_rules().await;
        self.change_network(|rules| rules.mocks = mocks).await?;
        let outcome = self.write_storage(&origins).await;
        self.change_network(|rules| *rules = before).await?;
        outcome
    }

    async fn write_storage(&self, origins: &[&OriginState]) -> Result<()> {
        let page = self.page(None).await?;
        let timeout = self.config.timeout_navigation;
        let go = async |url: &str| {
            let url = Url::parse(url).map_err(|error| {
                TroupeError::new(ErrorCode::InvalidParameters, format!("`{url}` is no origin: {error}"))
            })?;
            page.navigate(&url, WaitUntil::DomContentLoaded, timeout).await
        };
        for OriginState { origin, local_storage } in origins {
            go(origin).await?;
            let items: Vec<Value> = local_storage.iter().map(|item| json!([item.name, item.value])).collect();
            page.evaluate(
                "items => { for (const [name, value] of items) localStorage.setItem(name, value); }",
                &[items.into()],
            )
            .await?;
        }
        go("about:blank").await?;
        page.forget_history().await
    }
}
