//! Restores a session from its saved state: first cookies, then storage, before scripts of pages
//! can read it, then the pages with their form data.

use std::sync::Arc;

use futures_util::future::join_all;
use url::Url;

use super::{session::Session, storage::StorageWrite};
use crate::{
    error::Result,
    page::{OriginStorage, Page},
    session::persistence::{EmptyPage, OriginState, SavedPage, SavedSession},
};

impl Session {
    /// Restores the saved state in a new context.
    pub(in crate::session) async fn restore(&self, saved: &SavedSession) -> Result<()> {
        let numbers = saved.pages.iter().map(|page| page.number);
        self.pages.reset(numbers.clone(), saved.opened.max(numbers.max().unwrap_or(0)));
        self.pages.shared.refs.continue_from(saved.next_refs());
        if let Some(network_policy) = &self.pages.shared.network_policy {
            network_policy.grant(&saved.asked);
        }
        // One at a time: each page takes the next number. They are still empty.
        let mut pages = Vec::with_capacity(saved.pages.len());
        for page in &saved.pages {
            pages.push((self.new_page().await?, page));
        }
        if pages.is_empty() {
            pages.push((self.new_page().await?, const { &BLANK }));
        }
        let replaces_storage = !self.config.shares_profile();
        if replaces_storage
            && !saved.cookies.is_empty()
            && let Err(error) = self.set_cookies(&saved.cookies).await
        {
            tracing::warn!(session = &*self.id, %error, "the cookies were not restored");
        }
        let writes = if replaces_storage { writes(&pages, &saved.origins) } else { Vec::new() };
        if let Err(error) = self.write_storage(writes, false).await {
            if self.open_context()?.cookies().await.is_err() {
                return Err(error);
            }
            tracing::warn!(session = &*self.id, %error, "some storage was not restored");
        }
        join_all(pages.iter().map(|(page, saved)| self.reopen(page, saved))).await;
        if let Some(current) =
            saved.current.as_ref().filter(|id| pages.iter().any(|(page, _)| page.id == **id))
        {
            self.pages.select(current);
        }
        Ok(())
    }

    async fn reopen(&self, page: &Page, saved: &SavedPage) {
        let Ok(url) = Url::parse(&saved.url) else { return };
        if matches!(url.scheme(), "http" | "https" | "data" | "file")
            && crate::policy::check_navigation(&self.config, &url).is_ok()
        {
            page.reopen(&url).await;
            page.restore_state(&saved.frames).await;
        }
    }
}

/// The page of a session that had no pages.
static BLANK: SavedPage =
    SavedPage { number: 1, url: String::new(), session_storage: Vec::new(), frames: Vec::new() };

/// Returns the storage to write from each page: sessionStorage from its page, everything else from
/// the first page.
fn writes(pages: &[(Arc<Page>, &SavedPage)], origins: &[OriginState]) -> Vec<StorageWrite> {
    let mut writes = Vec::with_capacity(pages.len());
    for (at, (page, saved)) in pages.iter().enumerate() {
        let mut writing = StorageWrite {
            page: page.clone(),
            origins: if at == 0 { origins.to_vec() } else { Vec::new() },
        };
        for (origin, items) in &saved.session_storage {
            let session_storage = Some(items.clone());
            match writing.origins.iter_mut().find(|state| state.origin == *origin) {
                Some(state) => state.storage.session_storage = session_storage,
                None => writing.origins.push(OriginState {
                    origin: origin.clone(),
                    storage: OriginStorage { session_storage, ..OriginStorage::default() },
                }),
            }
        }
        // Storage of files cannot be written: they have no origin.
        writing.origins.retain(|state| EmptyPage::of(&state.origin).is_ok());
        writes.push(writing);
    }
    writes
}
