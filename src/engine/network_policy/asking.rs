//! Finds the initiator of a request that the browser has paused, and decides whether the request may continue.

use std::{collections::VecDeque, sync::Arc};

use super::{Asker, Closed, Gate, Gateway};
use crate::{
    config::Config,
    engine::{ContextOptions, DocumentId, EngineResult},
};

/// Requests whose redirects are known as such.
const PASSED: usize = 512;

/// How the pages of a context reach the network.
#[derive(Clone)]
pub(in crate::engine) struct WayOut {
    pub gateway: Arc<Gateway>,
    pub gate: Arc<dyn Gate>,
}

impl WayOut {
    /// Opens the proxy that a browser is launched with if pages may not connect everywhere. At first it rejects all
    /// connections.
    pub async fn of_browser(config: &Config) -> EngineResult<Option<Arc<Gateway>>> {
        match config.holds_pages() {
            true => Gateway::open(Closed::gate(), &config.context).await.map(Some),
            false => Ok(None),
        }
    }

    /// That of a new context in a browser that was launched with `browsers`; `own` is the context that the browser
    /// itself has.
    pub async fn of_context(
        options: &ContextOptions,
        browsers: Option<&Arc<Gateway>>,
        own: bool,
    ) -> EngineResult<Option<Self>> {
        let (Some(gate), Some(browsers)) = (options.gate.clone(), browsers) else {
            return Ok(None);
        };
        let gateway = if own {
            browsers.ask(gate.clone());
            browsers.clone()
        } else {
            Gateway::open(gate.clone(), &options.config).await?
        };
        Ok(Some(Self { gateway, gate }))
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// The client's last navigation of a page's main frame, until it has a document.
#[derive(Debug, Default)]
pub(in crate::engine) struct ClientNavigation {
    /// Where it leads, without a fragment.
    target: Option<String>,
    /// The document of the last navigation that has begun, until its commit.
    begun: Option<DocumentId>,
    /// The same at the time when the client asked: its commit is that of an earlier navigation.
    earlier: Option<DocumentId>,
}

impl ClientNavigation {
    /// The client asks for a navigation to `url`.
    pub fn ask(&mut self, url: &str) {
        self.target = Some(without_fragment(url).to_owned());
        self.earlier.clone_from(&self.begun);
    }

    /// A navigation to `document` has begun.
    pub fn begins(&mut self, document: DocumentId) {
        self.begun = Some(document);
    }

    /// The frame has a new document.
    pub fn committed(&mut self, document: &DocumentId) {
        self.begun.take_if(|begun| begun == document);
        if self.earlier.as_ref() != Some(document) {
            self.end();
        }
    }

    /// The navigation is over.
    pub fn end(&mut self) {
        self.target = None;
    }

    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }
}

/// A stopped request, as far as it tells whose it is.
pub(in crate::engine) struct Stopped<'a> {
    pub url: &'a str,
    pub kind: Kind,
    pub referrer: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Kind {
    /// For the document of a page.
    Page,
    /// For that of a frame in it.
    Frame,
    Other,
}

/// Whose a request is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum Whose {
    Clients,
    /// That of the document or worker at this URL.
    Documents(String),
    /// Of one of the documents that are there: each can lead another's window elsewhere.
    OneOfThem,
    Nobodys,
}

impl Whose {
    /// `clients` is the target of the client's navigation, and `place` is where the document of its frame comes from.
    pub fn of(stopped: &Stopped<'_>, clients: Option<&str>, place: Option<String>) -> Self {
        let &Stopped { url, kind, referrer } = stopped;
        if kind == Kind::Page && clients == Some(without_fragment(url)) {
            return Self::Clients;
        }
        match (kind, referrer) {
            // A page can leave it out, but not name another.
            (Kind::Page | Kind::Frame, Some(referrer)) => Self::Documents(referrer.to_owned()),
            (Kind::Page | Kind::Frame, None) => Self::OneOfThem,
            (Kind::Other, _) => place.map_or(Self::Nobodys, Self::Documents),
        }
    }

    /// Whether it may go to `url`; `places` is where the documents of the context come from.
    pub fn may(&self, gate: &dyn Gate, url: &str, places: impl FnOnce() -> Vec<String>) -> bool {
        match self {
            Self::Clients => gate.admits(Asker::Client, url),
            Self::Documents(from) => gate.admits(Asker::Document(from), url),
            Self::Nobodys => gate.admits(Asker::Unknown, url),
            Self::OneOfThem => {
                let places = places();
                !places.is_empty()
                    && places.iter().all(|place| gate.admits(Asker::Document(place), url))
            }
        }
    }
}

/// Where requests went that were put to the gate last: a redirect comes under the same id.
#[derive(Debug, Default)]
pub(in crate::engine) struct Passed(VecDeque<(Arc<str>, String)>);

impl Passed {
    /// Notes that the request `id` goes to `url`; tells where it went before.
    pub fn note(&mut self, id: &Arc<str>, url: &str) -> Option<String> {
        if let Some((_, former)) = self.0.iter_mut().find(|(known, _)| known == id) {
            return Some(std::mem::replace(former, url.to_owned()));
        }
        if self.0.len() == PASSED {
            self.0.pop_front();
        }
        self.0.push_back((id.clone(), url.to_owned()));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whose(
        kind: Kind,
        referrer: Option<&str>,
        clients: Option<&str>,
        place: Option<&str>,
    ) -> Whose {
        let stopped = Stopped { url: "http://localhost/x", kind, referrer };
        Whose::of(&stopped, clients, place.map(str::to_owned))
    }

    #[test]
    fn a_navigation_is_the_clients_only_where_it_leads_where_the_client_wants() {
        let mut navigation = ClientNavigation::default();
        navigation.ask("http://localhost/x#part");
        let asked = navigation.target();
        assert_eq!(whose(Kind::Page, None, asked, None), Whose::Clients);
        assert_eq!(whose(Kind::Page, None, Some("http://public/"), None), Whose::OneOfThem);
        assert_eq!(whose(Kind::Frame, None, asked, None), Whose::OneOfThem);
        let public = "https://public/";
        assert_eq!(whose(Kind::Page, Some(public), None, None), Whose::Documents(public.into()));
    }

    #[test]
    fn a_navigation_is_the_clients_until_it_has_a_document_and_not_an_earlier_one() {
        let mut navigation = ClientNavigation::default();
        navigation.ask("http://localhost/first");
        navigation.begins("first".into());
        navigation.ask("http://localhost/x");
        navigation.committed(&"first".into());
        assert_eq!(navigation.target(), Some("http://localhost/x"));
        navigation.begins("second".into());
        navigation.committed(&"second".into());
        assert_eq!(navigation.target(), None);
        // A document of the history is committed without a beginning.
        navigation.ask("http://localhost/first");
        navigation.committed(&"first".into());
        assert_eq!(navigation.target(), None);
    }

    #[test]
    fn everything_else_is_its_documents() {
        let private = "http://localhost/";
        // The referrer of a script's or style's request is not its document.
        let of_script = whose(Kind::Other, Some("https://cdn/"), None, Some(private));
        assert_eq!(of_script, Whose::Documents(private.into()));
        assert_eq!(whose(Kind::Other, None, Some("http://localhost/x"), None), Whose::Nobodys);
    }

    #[test]
    fn a_redirect_is_known_by_the_request_that_it_follows() {
        let mut passed = Passed::default();
        let id = |number: usize| Arc::from(number.to_string());
        assert_eq!(passed.note(&id(1), "http://a/"), None);
        assert_eq!(passed.note(&id(1), "http://b/").as_deref(), Some("http://a/"));
        for number in 2..2 + PASSED {
            assert_eq!(passed.note(&id(number), "http://c/"), None);
        }
        assert_eq!(passed.note(&id(1), "http://d/"), None, "the oldest is forgotten");
    }
}
