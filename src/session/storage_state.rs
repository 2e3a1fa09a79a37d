//! Cookies and storage in the form of Playwright's storage state, and how they are brought into a session.

use std::{path::Path, sync::Arc};

use serde::{Deserialize, Serialize};
use url::Url;

use super::session::Session;
use crate::{
    engine::{
        network::{Cookie, Mock},
        url_pattern::UrlPattern,
    },
    error::{ErrorCode, Result, TroupeError},
    page::{OriginStorage, Page, WaitUntil},
};

/// What Playwright's `storageState` writes; `sessionStorage` in an origin is ours, and ignored there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StorageState {
    pub cookies: Vec<Cookie>,
    pub origins: Vec<OriginState>,
}

/// The storage of one origin.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OriginState {
    pub origin: String,
    #[serde(flatten)]
    pub storage: OriginStorage,
}

fn wrong(path: &Path, what: &str) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, format!("the storage state `{}` {what}", path.display()))
        .suggestion("give a file that save_state, or Playwright's storageState, has written")
}

impl StorageState {
    /// Reads the file at `path`.
    pub async fn read(path: &Path) -> Result<Self> {
        let text = tokio::fs::read_to_string(path)
            .await
            .map_err(|error| wrong(path, &format!("could not be read: {error}")))?;
        serde_json::from_str(&text).map_err(|error| wrong(path, &format!("does not fit: {error}")))
    }
}

impl OriginState {
    /// Whether there is anything to write.
    pub(super) fn is_empty(&self) -> bool {
        let OriginStorage { local_storage, session_storage, indexed_db } = &self.storage;
        local_storage.is_empty()
            && session_storage.as_ref().is_none_or(Vec::is_empty)
            && indexed_db.as_ref().is_none_or(Vec::is_empty)
    }
}

/// Where empty pages stand: no page asks for it.
const EMPTY_PAGE: &str = "/.well-known/troupe-";

/// A page at `origin` that its server is not asked for.
pub(super) struct EmptyPage {
    pub url: Url,
    pub mock: Arc<Mock>,
}

impl EmptyPage {
    pub fn of(origin: &str) -> Result<Self> {
        let wrong = |reason: String| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("`{origin}` is no origin: {reason}"))
        };
        let url = Url::parse(origin).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
            return Err(wrong("it has no storage of its own".to_owned()));
        }
        let url = url.join(&format!("{EMPTY_PAGE}{}", uuid::Uuid::new_v4()));
        let url = url.map_err(|error| wrong(error.to_string()))?;
        let headers = vec![("content-type".to_owned(), "text/html".to_owned())];
        let body = b"<!doctype html><link rel=icon href=data:,>".to_vec();
        let pattern = UrlPattern::parse(url.as_str()).map_err(wrong)?;
        Ok(Self { url, mock: Arc::new(Mock { url: pattern, status: 200, headers, body }) })
    }

    fn is_of(mock: &Mock) -> bool {
        mock.url.as_str().contains(EMPTY_PAGE)
    }
}

/// What is to be written from one page.
pub(super) struct Writing {
    pub page: Arc<Page>,
    pub origins: Vec<OriginState>,
}

impl Session {
    /// Brings `state` in, before anybody uses the session.
    pub(super) async fn bring_in(&self, state: StorageState) -> Result<()> {
        if !state.cookies.is_empty() {
            self.set_cookies(&state.cookies).await?;
        }
        let page = self.page(None).await?;
        self.write_storage(vec![Writing { page: page.clone(), origins: state.origins }], false).await?;
        page.forget_history().await
    }

    /// Puts `state` in the place of the cookies and the storage that are there. The current page is loaded again
    /// with it; others show it once they are.
    pub async fn restore_state(&self, mut state: StorageState) -> Result<Arc<Page>> {
        // What the session has and the state does not goes away too.
        for origin in self.keeper.origins() {
            if !state.origins.iter().any(|state| state.origin == origin) {
                state.origins.push(OriginState { origin, ..OriginState::default() });
            }
        }
        for OriginState { storage, .. } in &mut state.origins {
            storage.indexed_db.get_or_insert_default();
            storage.session_storage.get_or_insert_default();
        }
        let page = self.page(None).await?;
        page.check_no_dialog()?;
        let _turn = self.keeper.turn.lock().await;
        let url = Url::parse(&page.url());
        self.clear_cookies().await?;
        if !state.cookies.is_empty() {
            self.set_cookies(&state.cookies).await?;
        }
        self.keeper.replaced(&state.origins);
        let written =
            self.write_storage(vec![Writing { page: page.clone(), origins: state.origins }], true).await;
        if let Ok(url) = url.as_ref()
            && crate::policy::check_navigation(&self.config, url).is_ok()
        {
            page.open_again(url).await;
        }
        written?;
        Ok(page)
    }

    /// Writes storage, which only a document of its origin can do: each page visits an empty one for each, and
    /// ends at `about:blank`. The servers are not asked, but by a browser that cannot mock: what they answer then is
    /// as good a document as an empty one.
    pub(super) async fn write_storage(&self, writings: Vec<Writing>, replace: bool) -> Result<()> {
        let mut visits = Vec::new();
        for Writing { page, origins } in writings {
            let origins = origins.into_iter().filter(|state| replace || !state.is_empty());
            let origins = origins.map(|state| Ok((EmptyPage::of(&state.origin)?, state.storage)));
            visits.push((page, origins.collect::<Result<Vec<_>>>()?));
        }
        visits.retain(|(_, origins)| !origins.is_empty());
        let mocks: Vec<Arc<Mock>> =
            visits.iter().flat_map(|(_, origins)| origins).map(|(empty, _)| empty.mock.clone()).collect();
        if mocks.is_empty() {
            return Ok(());
        }
        let work = visits.iter().map(async |(page, origins)| {
            let mut outcome = Ok(());
            for (EmptyPage { url, .. }, storage) in origins {
                let write = async {
                    page.visit(url, WaitUntil::DomContentLoaded, self.config.timeout_navigation).await?;
                    page.write_storage(storage, replace).await
                };
                // One that cannot be written does not keep the others from it.
                outcome = outcome.and(write.await);
            }
            page.leave(self.config.timeout_navigation).await.and(outcome)
        });
        self.with_mocks(&mocks, async {
            futures_util::future::join_all(work).await.into_iter().collect::<Result<()>>()
        })
        .await?
    }

    /// Does `work` while `mocks` answer in place of their servers.
    pub(super) async fn with_mocks<T>(
        &self,
        mocks: &[Arc<Mock>],
        work: impl Future<Output = T>,
    ) -> Result<T> {
        if !self.open_context()?.can_mock() {
            return Ok(work.await);
        }
        self.change_network(|rules| {
            // Some may be left of a time that was cut short.
            rules.mocks.retain(|mock| !EmptyPage::is_of(mock));
            rules.mocks.splice(..0, mocks.iter().cloned()).for_each(drop);
        })
        .await?;
        let outcome = work.await;
        self.change_network(|rules| rules.mocks.retain(|mock| !EmptyPage::is_of(mock))).await?;
        Ok(outcome)
    }
}
