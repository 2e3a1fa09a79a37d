//! The pages of a session: their names in order of opening, and which one is meant.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::clock::Clock;
use crate::{
    config::Config,
    engine::{self, ContextObserver, PageObserver},
    error::{ErrorCode, Result, TroupeError},
    page::{ConsoleLog, Downloads, Page, Revision, Shared},
};

/// Keeps the pages of one context as they open; the engine tells it.
pub(super) struct Pages {
    shared: Shared,
    clock: Arc<dyn Clock>,
    list: Mutex<List>,
    opening: Notify,
}

#[derive(Default)]
struct List {
    open: Vec<Arc<Page>>,
    current: Option<String>,
    opened: usize,
}

impl Pages {
    /// `news` is advanced when a page opens, or shows something else.
    pub fn new(config: Arc<Config>, clock: Arc<dyn Clock>, news: Revision) -> Self {
        let downloads = Arc::new(Downloads::new(config.output_folder()));
        let shared = Shared { config, refs: Arc::default(), downloads, console: Arc::default(), news };
        Self { shared, clock, list: Mutex::default(), opening: Notify::new() }
    }

    /// What the pages have logged.
    pub fn console(&self) -> &ConsoleLog {
        &self.shared.console
    }

    pub fn downloads(&self) -> &Downloads {
        &self.shared.downloads
    }

    /// The list, without the pages that have closed.
    fn list(&self) -> MutexGuard<'_, List> {
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        list.open.retain(|page| page.is_open());
        list
    }

    pub fn all(&self) -> Vec<Arc<Page>> {
        self.list().open.clone()
    }

    pub fn opened(&self) -> usize {
        self.list().opened
    }

    /// Waits for a page beyond the first `before`.
    pub async fn one_since(&self, before: usize) -> Arc<Page> {
        loop {
            let opening = self.opening.notified();
            tokio::pin!(opening);
            opening.as_mut().enable();
            if let Some(page) = self.list().open.iter().find(|page| page.number > before) {
                return page.clone();
            }
            opening.await;
        }
    }

    pub fn by_engine_id(&self, id: &str) -> Option<Arc<Page>> {
        self.list().open.iter().find(|page| page.engine_id() == id).cloned()
    }

    /// Makes `id` the page that is meant where none is named.
    pub fn select(&self, id: &str) {
        self.list().current = Some(id.to_owned());
    }

    /// The page named `id`, or the current one; `None` where no page is open.
    pub fn get(&self, id: Option<&str>) -> Result<Option<Arc<Page>>> {
        let list = self.list();
        let Some(id) = id else {
            let current = list.current.as_deref();
            let current = list.open.iter().find(|page| Some(page.id.as_str()) == current);
            return Ok(current.or_else(|| list.open.last()).cloned());
        };
        if let Some(page) = list.open.iter().find(|page| page.id == id) {
            return Ok(Some(page.clone()));
        }
        let open: Vec<&str> = list.open.iter().map(|page| page.id.as_str()).collect();
        let number = id.strip_prefix("page-").and_then(|number| number.parse::<usize>().ok());
        let what = match number {
            Some(number) if (1..=list.opened).contains(&number) => "has closed",
            _ => "does not exist",
        };
        let open =
            if open.is_empty() { "no page is open".to_owned() } else { format!("open: {}", open.join(", ")) };
        Err(TroupeError::new(ErrorCode::PageNotFound, format!("page `{id}` {what} in this session ({open})"))
            .detail("pageId", id))
    }
}

impl ContextObserver for Pages {
    fn page_opened(&self, page: Arc<dyn engine::Page>, _opener: Option<&str>) -> Arc<dyn PageObserver> {
        let mut list = self.list();
        list.opened += 1;
        let page = Arc::new(Page::new(list.opened, self.clock.now(), page, &self.shared));
        // A popup does not become the current page.
        if list.current.is_none() {
            list.current = Some(page.id.clone());
        }
        let observer = page.observer();
        list.open.push(page);
        drop(list);
        self.opening.notify_waiters();
        self.shared.news.advance();
        observer
    }
}
