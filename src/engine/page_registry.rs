//! The pages of a browser by id, and the callers that wait for one. The browser reports a new page
//! in an event and in the response to the command, in either order.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::oneshot;

use super::{EngineError, EngineResult};

/// The open pages, and the receivers of expected pages.
pub struct PageRegistry<P> {
    open: HashMap<Arc<str>, Arc<P>>,
    expected: HashMap<Arc<str>, oneshot::Sender<Arc<P>>>,
}

impl<P> Default for PageRegistry<P> {
    fn default() -> Self {
        Self { open: HashMap::new(), expected: HashMap::new() }
    }
}

/// A page that has opened or will open.
pub struct ExpectedPage<P>(oneshot::Receiver<Arc<P>>);

impl<P> ExpectedPage<P> {
    /// Waits until the page has opened.
    pub async fn page(self) -> EngineResult<Arc<P>> {
        self.0.await.map_err(|_| EngineError::PageGone)
    }
}

impl<P> PageRegistry<P> {
    /// Returns the page `id`, which may not have opened yet.
    pub fn expect(&mut self, id: Arc<str>) -> ExpectedPage<P> {
        let (sender, receiver) = oneshot::channel();
        match self.open.get(&id) {
            Some(page) => drop(sender.send(page.clone())),
            None => drop(self.expected.insert(id, sender)),
        }
        ExpectedPage(receiver)
    }

    /// Adds a page, and passes it to the caller that expects it.
    pub fn insert(&mut self, id: Arc<str>, page: Arc<P>) {
        if let Some(expected) = self.expected.remove(&id) {
            let _ = expected.send(page.clone());
        }
        self.open.insert(id, page);
    }

    pub fn get(&self, id: &str) -> Option<&Arc<P>> {
        self.open.get(id)
    }

    pub fn remove(&mut self, id: &str) -> Option<Arc<P>> {
        self.open.remove(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<P>> {
        self.open.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_expected_page_is_returned_in_either_order_of_event_and_response() {
        let mut pages = PageRegistry::default();
        let early = pages.expect("early".into());
        for id in ["early", "late"] {
            pages.insert(id.into(), Arc::new(id));
        }
        let late = pages.expect("late".into());
        assert_eq!((*early.page().await.unwrap(), *late.page().await.unwrap()), ("early", "late"));
    }

    #[tokio::test]
    async fn waiting_for_a_page_fails_when_the_browser_has_gone() {
        let mut pages = PageRegistry::<()>::default();
        let expected = pages.expect("page".into());
        drop(pages);
        assert!(matches!(expected.page().await, Err(EngineError::PageGone)));
    }
}
