//! URIs of resources: `playwright:///page/{sessionId}/{pageId}` and others.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::store::iso8601;

/// The prefix of the URIs of this server's resources.
pub const SCHEME: &str = "playwright:///";
/// Escapes all characters in a part of a path or a query, except the unreserved ones (RFC 3986) and
/// `:`.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':');
/// Maximum length of a URI in bytes.
const MAX_LENGTH: usize = 4096;

/// A parsed resource URI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUri {
    pub session: String,
    pub kind: McpResourceKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpResourceKind {
    /// The session itself.
    Session,
    /// The pages of the session.
    Pages,
    Page(String),
    Element {
        page: String,
        reference: String,
    },
    /// The elements that a selector matches; without one, the interactive elements.
    Elements {
        page: String,
        selector: Option<String>,
    },
    /// The pictures that were taken in the session.
    Screenshots,
    Screenshot {
        page: String,
        at: String,
    },
    NetworkLog(String),
}

/// An error in a URI.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    #[error("not a resource of this server: its URIs begin with `{SCHEME}`")]
    Foreign,
    #[error(
        "unknown kind of resource `{0}`: the kinds are session, page, element, screenshot and network-log"
    )]
    UnknownKind(String),
    #[error("`{kind}` must be followed by {expected}")]
    Parts { kind: &'static str, expected: &'static str },
    #[error("the URI is not valid: {0}")]
    Malformed(&'static str),
}

/// A template with the names of its variables, for the list and for completion.
pub struct Template {
    pub uri: &'static str,
    pub name: &'static str,
    pub description: &'static str,
    pub mime_type: Option<&'static str>,
}

const JSON: Option<&str> = Some("application/json");

pub const TEMPLATES: &[Template] = &[
    Template {
        uri: "playwright:///session/{sessionId}",
        name: "session",
        description: "A session: its state, expiry and pages",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///page/{sessionId}",
        name: "pages",
        description: "The pages of a session",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///page/{sessionId}/{pageId}",
        name: "page",
        description: "A page: URL, title, viewport. Subscribers are notified of navigations and loads",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///element/{sessionId}/{pageId}/{elementId}",
        name: "element",
        description: "An element by its ref (e12): tag, attributes, box, selector",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///element/{sessionId}/{pageId}{?selector}",
        name: "elements",
        description: "The elements that a selector matches; without one, the interactive elements",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///screenshot/{sessionId}",
        name: "screenshots",
        description: "The latest screenshots of a session",
        mime_type: JSON,
    },
    Template {
        uri: "playwright:///screenshot/{sessionId}/{pageId}/{timestamp}",
        name: "screenshot",
        description: "An earlier screenshot, as PNG or JPEG",
        mime_type: None,
    },
    Template {
        uri: "playwright:///network-log/{sessionId}/{pageId}",
        name: "network-log",
        description: "The latest requests of a page",
        mime_type: JSON,
    },
];

impl ResourceUri {
    pub fn parse(uri: &str) -> Result<Self, UriError> {
        if uri.len() > MAX_LENGTH {
            return Err(UriError::Malformed("it is too long"));
        }
        let rest = uri.strip_prefix(SCHEME).ok_or(UriError::Foreign)?;
        let rest = rest.split('#').next().unwrap_or_default();
        let (path, query) =
            rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
        let parts = path.split('/').map(decode).collect::<Result<Vec<_>, _>>()?;
        let (kind, parts) = parts.split_first().ok_or(UriError::Malformed("it has no kind"))?;
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        if parts.iter().any(|part| part.is_empty()) {
            return Err(UriError::Malformed("a part of the path is empty"));
        }
        let selector = match query.filter(|query| !query.is_empty()) {
            None => None,
            Some(query) => {
                let value = query
                    .strip_prefix("selector=")
                    .filter(|_| kind == "element" && parts.len() == 2);
                let value = value
                    .ok_or(UriError::Malformed("only `element` takes a query, `?selector=…`"))?;
                Some(decode(value)?)
            }
        };
        let wrong = |kind, expected| Err(UriError::Parts { kind, expected });
        let (session, kind) = match (kind.as_str(), parts.as_slice()) {
            ("session", [session]) => (session, McpResourceKind::Session),
            ("session", _) => return wrong("session", "{sessionId}"),
            ("page", [session]) => (session, McpResourceKind::Pages),
            ("page", [session, page]) => (session, McpResourceKind::Page((*page).to_owned())),
            ("page", _) => return wrong("page", "{sessionId}/{pageId}"),
            ("element", [session, page, reference]) => (
                session,
                McpResourceKind::Element {
                    page: (*page).to_owned(),
                    reference: (*reference).to_owned(),
                },
            ),
            ("element", [session, page]) => (
                session,
                McpResourceKind::Elements {
                    page: (*page).to_owned(),
                    selector: selector.filter(|selector| !selector.trim().is_empty()),
                },
            ),
            ("element", _) => return wrong("element", "{sessionId}/{pageId}/{elementId}"),
            ("screenshot", [session]) => (session, McpResourceKind::Screenshots),
            ("screenshot", [session, page, at]) => (
                session,
                McpResourceKind::Screenshot { page: (*page).to_owned(), at: (*at).to_owned() },
            ),
            ("screenshot", _) => return wrong("screenshot", "{sessionId}/{pageId}/{timestamp}"),
            ("network-log", [session, page]) => {
                (session, McpResourceKind::NetworkLog((*page).to_owned()))
            }
            ("network-log", _) => return wrong("network-log", "{sessionId}/{pageId}"),
            (other, _) => return Err(UriError::UnknownKind(other.to_owned())),
        };
        Ok(Self { session: (*session).to_owned(), kind })
    }

    pub fn new(session: &str, kind: McpResourceKind) -> Self {
        Self { session: session.to_owned(), kind }
    }

    /// Returns the id of the page that the resource belongs to.
    pub fn page(&self) -> Option<&str> {
        match &self.kind {
            McpResourceKind::Page(page)
            | McpResourceKind::Element { page, .. }
            | McpResourceKind::Elements { page, .. }
            | McpResourceKind::Screenshot { page, .. }
            | McpResourceKind::NetworkLog(page) => Some(page),
            McpResourceKind::Session | McpResourceKind::Pages | McpResourceKind::Screenshots => {
                None
            }
        }
    }
}

impl fmt::Display for ResourceUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let session = encode(&self.session);
        match &self.kind {
            McpResourceKind::Session => write!(f, "{SCHEME}session/{session}"),
            McpResourceKind::Pages => write!(f, "{SCHEME}page/{session}"),
            McpResourceKind::Page(page) => write!(f, "{SCHEME}page/{session}/{}", encode(page)),
            McpResourceKind::Element { page, reference } => {
                write!(f, "{SCHEME}element/{session}/{}/{}", encode(page), encode(reference))
            }
            McpResourceKind::Elements { page, selector } => {
                write!(f, "{SCHEME}element/{session}/{}", encode(page))?;
                selector
                    .as_ref()
                    .map_or(Ok(()), |selector| write!(f, "?selector={}", encode(selector)))
            }
            McpResourceKind::Screenshots => write!(f, "{SCHEME}screenshot/{session}"),
            McpResourceKind::Screenshot { page, at } => {
                write!(f, "{SCHEME}screenshot/{session}/{}/{}", encode(page), encode(at))
            }
            McpResourceKind::NetworkLog(page) => {
                write!(f, "{SCHEME}network-log/{session}/{}", encode(page))
            }
        }
    }
}

fn encode(part: &str) -> String {
    utf8_percent_encode(part, ESCAPED).to_string()
}

/// Decodes percent-encoding. `+` is not decoded: URI templates escape a space as `%20`, and
/// selectors contain `+`.
fn decode(part: &str) -> Result<String, UriError> {
    let decoded = percent_decode_str(part).decode_utf8();
    decoded.map(Into::into).map_err(|_| UriError::Malformed("its percent-encoding is not UTF-8"))
}

/// Formats the time in the URI of a screenshot: `2025-11-27T10:30:00.000Z`.
pub fn timestamp(millis: u64) -> String {
    iso8601(millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn documented_uris_are_parsed() {
        let page = || "page-1".to_owned();
        for (uri, kind) in [
            ("session/abc123", McpResourceKind::Session),
            ("page/abc123/page-1", McpResourceKind::Page(page())),
            (
                "element/abc123/page-1/element-5",
                McpResourceKind::Element { page: page(), reference: "element-5".into() },
            ),
            (
                "element/abc123/page-1?selector=ul%20%3E%20li",
                McpResourceKind::Elements { page: page(), selector: Some("ul > li".into()) },
            ),
            ("element/abc123/page-1", McpResourceKind::Elements { page: page(), selector: None }),
            (
                "screenshot/abc123/page-1/2025-11-27T10:30:00Z",
                McpResourceKind::Screenshot { page: page(), at: "2025-11-27T10:30:00Z".into() },
            ),
            ("network-log/abc123/page-1", McpResourceKind::NetworkLog(page())),
        ] {
            let uri = format!("{SCHEME}{uri}");
            let parsed = ResourceUri::parse(&uri).unwrap();
            assert_eq!(parsed, ResourceUri::new("abc123", kind));
            assert_eq!(parsed.to_string(), uri);
        }
    }

    #[test]
    fn errors_of_uris_are_specific() {
        let results: Vec<String> = [
            "file:///etc/passwd",
            "playwright:///",
            "playwright:///window/a",
            "playwright:///session",
            "playwright:///session/",
            "playwright:///page/a/b/c",
            "playwright:///element/a/b/c?selector=x",
            "playwright:///page/a/b?selector=x",
            "playwright:///session/%ff",
        ]
        .iter()
        .map(|uri| format!("{uri}: {}", ResourceUri::parse(uri).unwrap_err()))
        .collect();
        insta::assert_snapshot!(results.join("\n"));
    }

    #[test]
    fn every_template_is_a_valid_uri() {
        for template in TEMPLATES {
            let uri = template.uri.replace("{?selector}", "?selector=a").replace(['{', '}'], "");
            assert!(ResourceUri::parse(&uri).is_ok(), "{uri}");
        }
    }

    proptest! {
        #[test]
        fn no_uri_causes_a_panic(uri in any::<String>(), rest in any::<String>()) {
            let _ = ResourceUri::parse(&uri);
            let _ = ResourceUri::parse(&format!("{SCHEME}{rest}"));
            let _ = ResourceUri::parse(&format!("{SCHEME}element/{rest}"));
        }

        #[test]
        fn a_formatted_uri_is_parsed_to_the_same_value(session in ".{1,20}", page in ".{1,20}", text in ".{1,40}") {
            prop_assume!(!text.trim().is_empty());
            for kind in [
                McpResourceKind::Page(page.clone()),
                McpResourceKind::Element { page: page.clone(), reference: text.clone() },
                McpResourceKind::Elements { page: page.clone(), selector: Some(text.clone()) },
                McpResourceKind::Screenshot { page, at: text },
            ] {
                let uri = ResourceUri::new(&session, kind);
                prop_assert_eq!(ResourceUri::parse(&uri.to_string()), Ok(uri));
            }
        }
    }
}
