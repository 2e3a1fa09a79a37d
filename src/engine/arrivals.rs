//! The pages of a browser by the browser's ids, and the callers that wait for one. A page that Troupe opens is
//! reported by the command's answer and by an event, in either order.

use std::{collections::HashMap, sync::Arc};

use tokio::sync::oneshot;

use super::{EngineError, EngineResult};

pub struct Arrivals<P> {
    there: HashMap<Arc<str>, Arc<P>>,
    awaited: HashMap<Arc<str>, oneshot::Sender<Arc<P>>>,
}

impl<P> Default for Arrivals<P> {
    fn default() -> Self {
        Self { there: HashMap::new(), awaited: HashMap::new() }
    }
}

/// A page that has arrived or will.
pub struct Arrival<P>(oneshot::Receiver<Arc<P>>);

impl<P> Arrival<P> {
    pub async fn page(self) -> EngineResult<Arc<P>> {
        self.0.await.map_err(|_| EngineError::PageGone)
    }
}

impl<P> Arrivals<P> {
    /// The page `id`, as soon as it is there.
    pub fn expect(&mut self, id: Arc<str>) -> Arrival<P> {
        let (sender, receiver) = oneshot::channel();
        match self.there.get(&id) {
            Some(page) => drop(sender.send(page.clone())),
            None => drop(self.awaited.insert(id, sender)),
        }
        Arrival(receiver)
    }

    /// Takes in a page, and hands it to whoever awaits it.
    pub fn arrive(&mut self, id: Arc<str>, page: Arc<P>) {
        if let Some(awaited) = self.awaited.remove(&id) {
            let _ = awaited.send(page.clone());
        }
        self.there.insert(id, page);
    }

    pub fn get(&self, id: &str) -> Option<&Arc<P>> {
        self.there.get(id)
    }

    pub fn remove(&mut self, id: &str) -> Option<Arc<P>> {
        self.there.remove(id)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<P>> {
        self.there.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_page_comes_to_who_asked_for_it_whichever_is_told_first() {
        let mut pages = Arrivals::default();
        let early = pages.expect("early".into());
        for id in ["early", "late"] {
            pages.arrive(id.into(), Arc::new(id));
        }
        let late = pages.expect("late".into());
        assert_eq!((*early.page().await.unwrap(), *late.page().await.unwrap()), ("early", "late"));
    }

    #[tokio::test]
    async fn nobody_waits_for_the_page_of_a_browser_that_is_gone() {
        let mut pages = Arrivals::<()>::default();
        let awaited = pages.expect("page".into());
        drop(pages);
        assert!(matches!(awaited.page().await, Err(EngineError::PageGone)));
    }
}
