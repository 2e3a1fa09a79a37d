//! Finds the initiator of a request that the browser has paused, and asks the policy about it.

use std::iter::successors;

use super::{Initiator, NetworkPolicy};
use crate::engine::{DocumentId, FrameId};

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// Returns the URL of the document in `frame`. For a document that inherits its origin
/// (`about:blank`, `data:`), returns that of the closest parent with an origin. `lookup` returns
/// the URL of a frame's document, and the frame's parent.
pub(in crate::engine) fn document_url<'a>(
    frame: &FrameId,
    lookup: impl Fn(&FrameId) -> Option<(&'a str, Option<&'a FrameId>)>,
) -> Option<String> {
    successors(lookup(frame), |(_, parent)| lookup((*parent)?))
        .map(|(url, _)| url)
        .find(|url| url.starts_with("http"))
        .map(str::to_owned)
}

/// The client's last navigation of a page's main frame, until its document is committed.
#[derive(Debug, Default)]
pub(in crate::engine) struct ClientNavigation {
    /// The requested URL, without a fragment.
    target: Option<String>,
    /// The document of the last navigation that has started, until its commit.
    started: Option<DocumentId>,
    /// The value of `started` when the client requested its navigation: that document belongs to an
    /// earlier one.
    earlier: Option<DocumentId>,
}

impl ClientNavigation {
    /// Records that the client requests a navigation to `url`.
    pub fn request(&mut self, url: &str) {
        self.target = Some(without_fragment(url).to_owned());
        self.earlier.clone_from(&self.started);
    }

    /// Records that a navigation to `document` has started.
    pub fn start(&mut self, document: DocumentId) {
        self.started = Some(document);
    }

    /// Records that `document` was committed. The client's navigation ends, unless `document` is an
    /// earlier one's.
    pub fn commit(&mut self, document: &DocumentId) {
        self.started.take_if(|started| started == document);
        if self.earlier.as_ref() != Some(document) {
            self.end();
        }
    }

    /// Ends the client's navigation.
    pub fn end(&mut self) {
        self.target = None;
    }

    /// Returns the URL that the client is navigating to, without a fragment.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }
}

/// The properties of an intercepted request that show its initiator.
pub(in crate::engine) struct InterceptedRequest<'a> {
    pub url: &'a str,
    pub target: RequestTarget,
    pub referrer: Option<&'a str>,
}

impl<'a> InterceptedRequest<'a> {
    /// Returns the properties of a request for `url`. `is_document` tells whether a document is
    /// loaded, `is_main_frame` whether the request belongs to the main frame.
    pub fn new(
        url: &'a str,
        is_document: bool,
        is_main_frame: bool,
        referrer: Option<&'a str>,
    ) -> Self {
        let target = match (is_document, is_main_frame) {
            (true, true) => RequestTarget::MainFrame,
            (true, false) => RequestTarget::Subframe,
            (false, _) => RequestTarget::Other,
        };
        Self { url, target, referrer }
    }
}

/// What receives the response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum RequestTarget {
    /// The main frame of a page, as its document.
    MainFrame,
    /// An iframe, as its document.
    Subframe,
    Other,
}

/// The initiator of an intercepted request.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::engine) enum RequestInitiator {
    Client,
    /// The document or worker at this URL.
    Document(String),
    /// Any document of the context, because each can navigate the windows of the others.
    AnyDocument,
    Unknown,
}

impl RequestInitiator {
    /// Finds the initiator of `request`. `client_target` is the URL of the client's navigation, and
    /// `document_url` is the URL of the document that sends the request.
    pub fn of(
        request: &InterceptedRequest<'_>,
        client_target: Option<&str>,
        document_url: Option<String>,
    ) -> Self {
        let &InterceptedRequest { url, target, referrer } = request;
        if target == RequestTarget::MainFrame && client_target == Some(without_fragment(url)) {
            return Self::Client;
        }
        match (target, referrer) {
            (RequestTarget::Other, _) => document_url.map_or(Self::Unknown, Self::Document),
            // A page can omit its referrer, but it cannot send another one.
            (_, Some(referrer)) => Self::Document(referrer.to_owned()),
            (_, None) => Self::AnyDocument,
        }
    }

    /// Returns whether `policy` allows the request to `url`. `document_urls` returns the URLs of
    /// the context's documents.
    pub fn is_allowed(
        &self,
        policy: &dyn NetworkPolicy,
        url: &str,
        document_urls: impl FnOnce() -> Vec<String>,
    ) -> bool {
        match self {
            Self::Client => policy.allows_request(Initiator::Client, url),
            Self::Document(from) => policy.allows_request(Initiator::Document(from), url),
            Self::Unknown => policy.allows_request(Initiator::Unknown, url),
            Self::AnyDocument => {
                let urls = document_urls();
                !urls.is_empty()
                    && urls.iter().all(|from| policy.allows_request(Initiator::Document(from), url))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initiator(
        target: RequestTarget,
        referrer: Option<&str>,
        client_target: Option<&str>,
        document_url: Option<&str>,
    ) -> RequestInitiator {
        let request = InterceptedRequest { url: "http://localhost/x", target, referrer };
        RequestInitiator::of(&request, client_target, document_url.map(str::to_owned))
    }

    #[test]
    fn only_a_request_for_the_requested_url_is_the_clients_navigation() {
        let mut navigation = ClientNavigation::default();
        navigation.request("http://localhost/x#part");
        let asked = navigation.target();
        assert_eq!(
            initiator(RequestTarget::MainFrame, None, asked, None),
            RequestInitiator::Client
        );
        assert_eq!(
            initiator(RequestTarget::MainFrame, None, Some("http://public/"), None),
            RequestInitiator::AnyDocument
        );
        assert_eq!(
            initiator(RequestTarget::Subframe, None, asked, None),
            RequestInitiator::AnyDocument
        );
        let public = "https://public/";
        assert_eq!(
            initiator(RequestTarget::MainFrame, Some(public), None, None),
            RequestInitiator::Document(public.into())
        );
    }

    #[test]
    fn the_clients_navigation_ends_when_its_own_document_is_committed() {
        let mut navigation = ClientNavigation::default();
        navigation.request("http://localhost/first");
        navigation.start("first".into());
        navigation.request("http://localhost/x");
        navigation.commit(&"first".into());
        assert_eq!(navigation.target(), Some("http://localhost/x"));
        navigation.start("second".into());
        navigation.commit(&"second".into());
        assert_eq!(navigation.target(), None);
        // A document from the history is committed without a start event.
        navigation.request("http://localhost/first");
        navigation.commit(&"first".into());
        assert_eq!(navigation.target(), None);
    }

    #[test]
    fn the_initiator_of_a_subresource_is_its_document() {
        let private = "http://localhost/";
        // The referrer of a request by a script or a style sheet is not its document.
        let of_script = initiator(RequestTarget::Other, Some("https://cdn/"), None, Some(private));
        assert_eq!(of_script, RequestInitiator::Document(private.into()));
        assert_eq!(
            initiator(RequestTarget::Other, None, Some("http://localhost/x"), None),
            RequestInitiator::Unknown
        );
    }
}
