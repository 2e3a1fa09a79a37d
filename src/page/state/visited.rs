//! The origins that the pages of a session have shown.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use url::Url;

/// The origins that the pages of a session have shown since the last query, including documents
/// that were replaced since.
#[derive(Debug, Default)]
pub struct VisitedOrigins(Mutex<BTreeSet<String>>);

/// Maximum number of origins between two queries.
const MAX_ORIGINS: usize = 200;

impl VisitedOrigins {
    /// Adds the origin of a document of a main frame, or of a child frame of the document `top`.
    pub(in crate::page) fn record(&self, url: &str, top: &str) {
        let Ok(url) = Url::parse(url) else { return };
        let shares = Url::parse(top).is_ok_and(|top| same_site(&top, &url));
        let mut visited = self.0.lock();
        if shares && matches!(url.scheme(), "http" | "https") && visited.len() < MAX_ORIGINS {
            visited.insert(url.origin().ascii_serialization());
        }
    }

    /// Returns the origins since the last call.
    pub fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.0.lock())
    }
}

/// Returns whether two documents are same-site: their schemes are equal, and so are their
/// registrable domains by the public suffix list, or their hosts if there is no registrable domain
/// (an address, `localhost`, a public suffix). Browsers partition the storage of a frame that is
/// cross-site to its page.
pub(in crate::page) fn same_site(one: &Url, other: &Url) -> bool {
    fn site(url: &Url) -> Option<String> {
        let host = url.host_str()?;
        let domain = url.domain().and_then(psl::domain_str);
        Some(domain.unwrap_or(host).trim_end_matches('.').to_owned())
    }
    one.scheme() == other.scheme() && site(one).is_some() && site(one) == site(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_one_site_share_their_storage() {
        let same =
            |one: &str, other: &str| same_site(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("https://app.a.example/x", "https://login.a.example/"));
        assert!(same("http://127.0.0.1:1/", "http://127.0.0.1:2/"));
        assert!(!same("https://a.example/", "https://b.example/"));
        assert!(!same("http://127.0.0.1/", "http://127.0.0.2/"));
        assert!(!same("http://a.example/", "https://a.example/"));
        assert!(!same("data:text/html,x", "data:text/html,x"));
        // Public suffixes of more than one label.
        assert!(same("https://app.a.co.uk/", "https://a.co.uk/"));
        assert!(!same("https://a.co.uk/", "https://b.co.uk/"));
        assert!(!same("https://one.github.io/", "https://two.github.io/"));
        assert!(!same("https://github.io/", "https://two.github.io/"));
        assert!(same("http://localhost:1/", "http://localhost:2/"));
        assert!(same("http://a.localhost/", "http://b.a.localhost/"));
        assert!(!same("http://a.localhost/", "http://b.localhost/"));
    }
}
