//! Checks the intercepted requests of a context against its policy.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;

use super::{NetworkPolicy, RequestInitiator};

/// Maximum number of requests whose redirects are recognized.
const MAX_REQUESTS: usize = 512;

/// A page whose documents send requests.
pub(in crate::engine) trait DocumentUrls: Send + Sync {
    /// Returns the URLs of the documents in its frames.
    fn document_urls(&self) -> Vec<String>;
}

/// The pages of a context and its last requests, which show who initiates a request.
pub(in crate::engine) struct RequestCheck<P: ?Sized> {
    pages: Mutex<Vec<Weak<P>>>,
    redirects: Mutex<Redirects>,
}

impl<P: ?Sized> Default for RequestCheck<P> {
    fn default() -> Self {
        Self { pages: Mutex::default(), redirects: Mutex::default() }
    }
}

impl<P: DocumentUrls + ?Sized> RequestCheck<P> {
    pub fn add_page(&self, page: Weak<P>) {
        let mut pages = self.pages.lock();
        pages.retain(|page| page.strong_count() > 0);
        pages.push(page);
    }

    /// Returns the open pages.
    pub fn pages(&self) -> Vec<Arc<P>> {
        self.pages.lock().iter().filter_map(Weak::upgrade).collect()
    }

    /// Returns whether `policy` allows the request `id` to `url`. `find_initiator` returns the
    /// initiator, unless the request is a redirect.
    pub fn allows(
        &self,
        policy: &dyn NetworkPolicy,
        id: Option<&Arc<str>>,
        url: &str,
        find_initiator: impl FnOnce() -> RequestInitiator,
    ) -> bool {
        let former = id.and_then(|id| self.redirects.lock().record(id, url));
        // The initiator of a redirect is the server that redirects, not the initiator of the first
        // request.
        let initiator = former.map_or_else(find_initiator, RequestInitiator::Document);
        initiator.is_allowed(policy, url, || {
            self.pages().iter().flat_map(|page| page.document_urls()).collect()
        })
    }
}

/// The URLs of the last requests that were checked. A redirect has the id of the request that was
/// redirected.
#[derive(Debug, Default)]
struct Redirects(VecDeque<(Arc<str>, String)>);

impl Redirects {
    /// Records that the request `id` goes to `url`. Returns the URL that redirected it, if one did.
    fn record(&mut self, id: &Arc<str>, url: &str) -> Option<String> {
        if let Some((_, former)) = self.0.iter_mut().find(|(known, _)| known == id) {
            return Some(std::mem::replace(former, url.to_owned()));
        }
        if self.0.len() == MAX_REQUESTS {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), url.to_owned()));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_recognized_by_the_id_of_its_request() {
        let mut redirects = Redirects::default();
        let id = |number: usize| Arc::from(number.to_string());
        assert_eq!(redirects.record(&id(1), "http://a/"), None);
        assert_eq!(redirects.record(&id(1), "http://b/").as_deref(), Some("http://a/"));
        for number in 2..2 + MAX_REQUESTS {
            assert_eq!(redirects.record(&id(number), "http://c/"), None);
        }
        assert_eq!(redirects.record(&id(1), "http://d/"), None, "the oldest request is dropped");
    }
}
