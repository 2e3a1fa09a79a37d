//! The network rules, cookies and storage of a session.

use std::sync::Arc;

use url::Url;

use super::session::Session;
use crate::{
    engine::network::{Cookie, Mock, NetworkRules, Route},
    error::Result,
    page::{Page, WaitUntil},
    session::{
        errors::{engine_error, shared_profile_error},
        persistence::{EmptyPage, OriginState, StorageState},
    },
};

impl Session {
    /// Returns the current network rules.
    pub async fn network_rules(&self) -> NetworkRules {
        self.network.lock().await.clone()
    }

    /// Changes the network rules with `change`, and applies them to every page, frame and worker.
    pub async fn change_network(
        &self,
        change: impl FnOnce(&mut NetworkRules),
    ) -> Result<NetworkRules> {
        let mut current = self.network.lock().await;
        let mut rules = current.clone();
        change(&mut rules);
        if rules != *current {
            self.open_context()?.set_network(rules.clone()).await.map_err(engine_error)?;
            *current = rules.clone();
        }
        Ok(rules)
    }

    /// Applies the network rules to a new context.
    pub(in crate::session) async fn apply_network(&self) -> Result<()> {
        let rules = self.network.lock().await;
        if *rules == NetworkRules::default() {
            return Ok(());
        }
        self.open_context()?.set_network(rules.clone()).await.map_err(engine_error)
    }

    /// Returns the cookies that a request to one of `urls` would have, or all cookies if `urls` is
    /// empty. In the user's browser, all cookies means those of the session's pages.
    pub async fn cookies(&self, urls: &[Url]) -> Result<Vec<Cookie>> {
        let mut cookies = self.open_context()?.cookies().await.map_err(engine_error)?;
        if urls.is_empty() && self.config.shares_profile() {
            let pages = self.pages.all();
            let urls: Vec<Url> =
                pages.iter().filter_map(|page| Url::parse(&page.url()).ok()).collect();
            cookies.retain(|cookie| urls.iter().any(|url| cookie.is_sent_to(url)));
            return Ok(cookies);
        }
        cookies.retain(|cookie| urls.is_empty() || urls.iter().any(|url| cookie.is_sent_to(url)));
        Ok(cookies)
    }

    pub async fn set_cookies(&self, cookies: &[Cookie]) -> Result<()> {
        self.open_context()?.set_cookies(cookies).await.map_err(engine_error)
    }

    pub(super) async fn clear_cookies(&self) -> Result<()> {
        // Browsers delete expired cookies.
        let expired = |cookie| Cookie { expires: 1.0, ..cookie };
        let cookies: Vec<Cookie> = self.cookies(&[]).await?.into_iter().map(expired).collect();
        if cookies.is_empty() { Ok(()) } else { self.set_cookies(&cookies).await }
    }
}

/// The storage of origins to write from one page.
pub(super) struct StorageWrite {
    pub page: Arc<Page>,
    pub origins: Vec<OriginState>,
}

impl Session {
    /// Loads `state` into a new session, before it is used.
    pub(in crate::session) async fn load_state(&self, state: StorageState) -> Result<()> {
        if !state.cookies.is_empty() {
            self.set_cookies(&state.cookies).await?;
        }
        let page = self.page(None).await?;
        self.write_storage(
            vec![StorageWrite { page: page.clone(), origins: state.origins }],
            false,
        )
        .await?;
        page.forget_history().await
    }

    /// Replaces all cookies and storage of the session by `state`, and reloads the current page.
    /// Other pages show the new state after a reload.
    ///
    /// # Errors
    /// If the browser rejects the state. Then the previous state is restored. Also if the browser
    /// is the user's.
    pub async fn restore_state(&self, state: StorageState) -> Result<Arc<Page>> {
        if self.config.shares_profile() {
            return Err(shared_profile_error());
        }
        let page = self.page(None).await?;
        page.check_no_dialog()?;
        let url = Url::parse(&page.url());
        // Also discovers storage that was not read yet, so that all of it is replaced.
        let before = self.storage_state().await?;
        let _turn = self.cache.turn.lock().await;
        let replaced = self.replace_state(&page, state).await;
        if replaced.is_err()
            && let Err(error) = self.replace_state(&page, before).await
        {
            tracing::warn!(session = &*self.id, %error, "the previous state could not be restored after a failed restore_state");
        }
        if let Ok(url) = url.as_ref()
            && crate::policy::check_navigation(&self.config, url).is_ok()
        {
            page.reopen(url).await;
        }
        replaced?;
        Ok(page)
    }

    async fn replace_state(&self, page: &Arc<Page>, mut state: StorageState) -> Result<()> {
        // Origins that the session has and the state does not have are cleared.
        for origin in self.cache.origins() {
            if !state.origins.iter().any(|state| state.origin == origin) {
                state.origins.push(OriginState { origin, ..OriginState::default() });
            }
        }
        for OriginState { storage, .. } in &mut state.origins {
            storage.indexed_db.get_or_insert_default();
            storage.session_storage.get_or_insert_default();
        }
        self.clear_cookies().await?;
        if !state.cookies.is_empty() {
            self.set_cookies(&state.cookies).await?;
        }
        self.cache.replace_storage(&state.origins);
        self.write_storage(vec![StorageWrite { page: page.clone(), origins: state.origins }], true)
            .await
    }

    /// Writes storage. Only a document of an origin can write its storage: each page visits an
    /// empty page of each origin, and ends at `about:blank`. No requests are sent to the servers,
    /// except in a browser that cannot mock responses.
    pub(super) async fn write_storage(
        &self,
        writes: Vec<StorageWrite>,
        replace: bool,
    ) -> Result<()> {
        let mut visits = Vec::new();
        for StorageWrite { page, origins } in writes {
            let origins = origins.into_iter().filter(|state| replace || !state.is_empty());
            let origins = origins.map(|state| Ok((EmptyPage::of(&state.origin)?, state.storage)));
            visits.push((page, origins.collect::<Result<Vec<_>>>()?));
        }
        visits.retain(|(_, origins)| !origins.is_empty());
        let mocks: Vec<Arc<Mock>> = visits
            .iter()
            .flat_map(|(_, origins)| origins)
            .map(|(empty, _)| empty.mock.clone())
            .collect();
        if mocks.is_empty() {
            return Ok(());
        }
        let work = visits.iter().map(async |(page, origins)| {
            let mut outcome = Ok(());
            for (EmptyPage { url, .. }, storage) in origins {
                let write = async {
                    page.visit(url, WaitUntil::DomContentLoaded, self.config.timeout_navigation)
                        .await?;
                    page.write_storage(storage, replace).await
                };
                // After a failure, the other origins are still written.
                outcome = outcome.and(write.await);
            }
            page.navigate_to_blank(self.config.timeout_navigation).await.and(outcome)
        });
        self.with_mocks(&mocks, async {
            futures_util::future::join_all(work).await.into_iter().collect::<Result<()>>()
        })
        .await?
    }

    /// Runs `work` while `mocks` respond in place of the servers.
    pub(super) async fn with_mocks<T>(
        &self,
        mocks: &[Arc<Mock>],
        work: impl Future<Output = T>,
    ) -> Result<T> {
        if !self.open_context()?.capabilities().mocks {
            return Ok(work.await);
        }
        self.change_network(|rules| {
            // Mocks of a canceled call may be left.
            rules.routes.retain(|route| !EmptyPage::is_of(route));
            rules.routes.splice(..0, mocks.iter().cloned().map(Route::Fulfill)).for_each(drop);
        })
        .await?;
        let outcome = work.await;
        self.change_network(|rules| rules.routes.retain(|route| !EmptyPage::is_of(route))).await?;
        Ok(outcome)
    }
}
