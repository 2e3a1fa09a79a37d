//! The pages of a session: their ids, in the order in which they were opened, and the current one.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Mutex as AsyncMutex, Notify};

use super::{clock::Clock, errors::engine_error};
use crate::{
    config::Config,
    engine::{self, Context, ContextObserver, PageObserver},
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    page::{
        ChangeCounter, ConsoleLog, Dialogs, Downloads, Events, Page, SessionContext, SessionEvent,
        SessionNetworkPolicy,
    },
};

/// The pages of a browser context. The engine reports new pages to it.
pub struct Pages {
    pub shared: SessionContext,
    clock: Arc<dyn Clock>,
    list: Mutex<PageList>,
    opening: Notify,
    /// Held while Troupe opens a page: expected pages are recognized by the order in which they
    /// open.
    turn: AsyncMutex<()>,
}

#[derive(Default)]
struct PageList {
    open: Vec<Arc<Page>>,
    current: Option<String>,
    opened: usize,
    /// The next pages without an opener.
    awaited: VecDeque<OpeningPage>,
    /// Pages that are hidden from clients.
    hidden: Vec<Arc<Page>>,
}

/// A page that Troupe is opening.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpeningPage {
    /// A restored page, which keeps its number.
    Numbered(usize),
    Hidden,
}

fn closed_as_it_opened() -> TroupeError {
    TroupeError::new(ErrorCode::PageNotFound, "the page closed while it was opening")
}

impl Pages {
    /// Creates the pages of a context. `change_counter` counts each page that opens, changes or
    /// is selected. `network_policy` is that of the other sessions in the same profile; by default,
    /// a new one.
    pub fn new(
        config: Arc<Config>,
        files: FileStore,
        clock: Arc<dyn Clock>,
        change_counter: ChangeCounter,
        network_policy: Option<Arc<SessionNetworkPolicy>>,
    ) -> Self {
        let events = Events::default();
        let copies = config.shares_profile() && config.user_data_dir.is_none();
        let downloads = Arc::new(Downloads::new(files.clone(), events.clone(), copies));
        let (dialogs, visited, console) = (Dialogs::default(), Arc::default(), Arc::default());
        let network_policy =
            network_policy.or_else(|| SessionNetworkPolicy::new(&config).map(Arc::new));
        let shared = SessionContext {
            config,
            files,
            refs: Arc::default(),
            downloads,
            dialogs,
            choosers: Default::default(),
            visited,
            console,
            network_policy,
            change_counter,
            events,
        };
        Self {
            shared,
            clock,
            list: Mutex::default(),
            opening: Notify::new(),
            turn: AsyncMutex::default(),
        }
    }

    /// Opens a page in `context`, and makes it the current one.
    pub async fn open_in(&self, context: &dyn Context) -> Result<Arc<Page>> {
        let _turn = self.turn.lock().await;
        let opened = context.new_page().await.map_err(engine_error)?;
        let page = self.by_engine_id(opened.id()).ok_or_else(closed_as_it_opened)?;
        self.select(&page.id);
        Ok(page)
    }

    /// Adopts the user's tab with the engine id `id`, and makes it the current page.
    pub async fn adopt_in(&self, context: &dyn Context, id: &str) -> Result<Arc<Page>> {
        let _turn = self.turn.lock().await;
        let adopted = context.adopt(id).await.map_err(engine_error)?;
        let page = self.by_engine_id(adopted.id()).ok_or_else(closed_as_it_opened)?;
        self.select(&page.id);
        Ok(page)
    }

    /// Opens a page that is hidden from clients. The caller closes it.
    pub async fn open_hidden_in(&self, context: &dyn Context) -> Result<Arc<Page>> {
        let _turn = self.turn.lock().await;
        self.list().awaited.push_back(OpeningPage::Hidden);
        let not_awaited = || self.list().awaited.retain(|awaited| *awaited != OpeningPage::Hidden);
        let awaited = scopeguard::guard((), |()| not_awaited());
        let opened = context.new_page().await;
        drop(awaited);
        self.hidden(opened.map_err(engine_error)?.id()).ok_or_else(closed_as_it_opened)
    }

    /// Returns the console messages of the pages.
    pub fn console(&self) -> &ConsoleLog {
        &self.shared.console
    }

    pub fn downloads(&self) -> &Downloads {
        &self.shared.downloads
    }

    /// Locks the list, and removes the pages that have closed.
    fn list(&self) -> MutexGuard<'_, PageList> {
        let mut list = self.list.lock();
        list.open.retain(|page| page.is_open());
        list.hidden.retain(|page| page.is_open());
        list
    }

    pub fn all(&self) -> Vec<Arc<Page>> {
        self.list().open.clone()
    }

    pub fn opened(&self) -> usize {
        self.list().opened
    }

    /// Removes the pages of a browser that is gone. The next pages get `numbers`. All others get
    /// numbers above `opened`.
    pub fn reset(&self, numbers: impl IntoIterator<Item = usize>, opened: usize) {
        let mut list = self.list();
        list.open.clear();
        list.hidden.clear();
        list.current = None;
        list.awaited = numbers.into_iter().map(OpeningPage::Numbered).collect();
        list.opened = list.opened.max(opened);
    }

    /// Returns the hidden page with the engine id `id`. If a page without an opener opened at the
    /// same moment and was taken for it, the two are exchanged.
    fn hidden(&self, id: &str) -> Option<Arc<Page>> {
        let mut list = self.list();
        if let Some(page) = list.hidden.iter().find(|page| page.engine_id() == id) {
            return Some(page.clone());
        }
        let at = list.open.iter().position(|page| page.engine_id() == id)?;
        let page = list.open.remove(at);
        if let Some(other) = list.hidden.pop() {
            list.open.push(other);
        }
        list.hidden.push(page.clone());
        Some(page)
    }

    /// Returns the open pages that were opened after the first `before`.
    pub fn since(&self, before: usize) -> Vec<Arc<Page>> {
        self.list().open.iter().filter(|page| page.number > before).cloned().collect()
    }

    /// Waits until `count` pages have opened after the first `before`.
    pub async fn opened_since(&self, before: usize, count: usize) {
        loop {
            let opening = self.opening.notified();
            tokio::pin!(opening);
            opening.as_mut().enable();
            if self.opened() >= before + count {
                return;
            }
            opening.await;
        }
    }

    pub fn by_engine_id(&self, id: &str) -> Option<Arc<Page>> {
        self.list().open.iter().find(|page| page.engine_id() == id).cloned()
    }

    /// Selects `id` as the page for calls without a page id.
    pub fn select(&self, id: &str) {
        let previous = self.list().current.replace(id.to_owned());
        if previous.as_deref() != Some(id) {
            self.shared.change_counter.increment();
        }
    }

    /// Returns the page `id`, or the current one. `None` if no page is open.
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
        let open = if open.is_empty() {
            "no page is open".to_owned()
        } else {
            format!("open: {}", open.join(", "))
        };
        Err(TroupeError::new(
            ErrorCode::PageNotFound,
            format!("page `{id}` {what} in this session ({open})"),
        )
        .detail("pageId", id))
    }
}

impl ContextObserver for Pages {
    fn page_opened(
        &self,
        page: Arc<dyn engine::EnginePage>,
        opener: Option<&str>,
    ) -> Arc<dyn PageObserver> {
        let mut list = self.list();
        let awaited = if opener.is_none() { list.awaited.pop_front() } else { None };
        if awaited == Some(OpeningPage::Hidden) {
            // It has separate refs and URLs, and clients are not notified of it.
            let own = SessionContext {
                refs: Arc::default(),
                visited: Arc::default(),
                change_counter: ChangeCounter::default(),
                events: Events::default(),
                ..self.shared.clone()
            };
            let page = Arc::new(Page::new(0, self.clock.now(), page, &own));
            let observer = page.observer();
            list.hidden.push(page);
            return observer;
        }
        let number = match awaited {
            Some(OpeningPage::Numbered(number)) => number,
            _ => list.opened + 1,
        };
        list.opened = list.opened.max(number);
        let page = Arc::new(Page::new(number, self.clock.now(), page, &self.shared));
        let observer = page.observer();
        let (page_id, url) = (page.id.clone(), page.url());
        self.shared.events.publish(|| Some(SessionEvent::Page { page_id, url }));
        // A popup does not become the current page.
        if list.current.is_none() {
            list.current = Some(page.id.clone());
        }
        list.open.push(page);
        list.open.sort_by_key(|page| page.number);
        drop(list);
        self.opening.notify_waiters();
        self.shared.change_counter.increment();
        observer
    }
}

#[cfg(feature = "testing")]
#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use async_trait::async_trait;

    use super::*;
    use crate::{
        engine::{
            ContextOptions, Engine as _, EngineResult,
            memory::MemoryEngine,
            network::{Cookie, NetworkRules},
        },
        page::prelude,
        session::clock::SystemClock,
    };

    /// A context whose first page takes longer to open than the next.
    struct SlowAtFirst {
        context: Arc<dyn Context>,
        slow: AtomicBool,
    }

    #[async_trait]
    impl Context for SlowAtFirst {
        async fn new_page(&self) -> EngineResult<Arc<dyn engine::EnginePage>> {
            if self.slow.swap(false, Ordering::AcqRel) {
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                }
            }
            self.context.new_page().await
        }

        fn capabilities(&self) -> engine::Capabilities {
            self.context.capabilities()
        }

        async fn set_viewport(&self, size: crate::config::Viewport) -> EngineResult<()> {
            self.context.set_viewport(size).await
        }

        async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
            self.context.set_network(rules).await
        }

        async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
            self.context.cookies().await
        }

        async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
            self.context.set_cookies(cookies).await
        }

        async fn close(&self) -> EngineResult<()> {
            self.context.close().await
        }
    }

    async fn pages() -> (Arc<Pages>, SlowAtFirst) {
        let pages = Arc::new(Pages::new(
            Arc::default(),
            FileStore::default(),
            Arc::new(SystemClock),
            ChangeCounter::default(),
            None,
        ));
        let options =
            ContextOptions::read(Default::default(), prelude(&Config::default())).await.unwrap();
        let browser = MemoryEngine::default().launch().await.unwrap();
        let context = browser.new_context(&options, pages.clone()).await.unwrap();
        (pages, SlowAtFirst { context, slow: AtomicBool::new(true) })
    }

    #[tokio::test]
    async fn a_client_gets_its_page_while_a_hidden_one_opens() {
        let (pages, context) = pages().await;
        let (hidden, opened) =
            tokio::join!(pages.open_hidden_in(&context), pages.open_in(&context));
        assert_eq!(hidden.unwrap().id, "page-0");
        assert_eq!(opened.unwrap().id, "page-1");
        assert_eq!(pages.all().len(), 1);
    }

    #[tokio::test]
    async fn a_canceled_hidden_page_hides_no_other_page() {
        let (pages, context) = pages().await;
        tokio::select! {
            biased;
            _ = pages.open_hidden_in(&context) => panic!("the page opened at once"),
            () = std::future::ready(()) => {}
        }
        assert_eq!(pages.open_in(&context).await.unwrap().id, "page-1");
    }
}
