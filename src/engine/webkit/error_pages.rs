//! Maps WebKit's error pages to the names of network errors that the layers above use.

/// `(part of the error page's text, Chromium's name)`
const REASONS: &[(&str, &str)] = &[
    ("Connection refused", "net::ERR_CONNECTION_REFUSED"),
    ("Error resolving", "net::ERR_NAME_NOT_RESOLVED"),
    ("Connection reset", "net::ERR_CONNECTION_RESET"),
    ("terminated unexpectedly", "net::ERR_EMPTY_RESPONSE"),
    ("Connection timed out", "net::ERR_CONNECTION_TIMED_OUT"),
    ("timed out", "net::ERR_TIMED_OUT"),
    ("Unacceptable TLS certificate", "net::ERR_CERT_AUTHORITY_INVALID"),
    ("TLS", "net::ERR_SSL_PROTOCOL_ERROR"),
    ("Network is unreachable", "net::ERR_ADDRESS_UNREACHABLE"),
    ("No route to host", "net::ERR_ADDRESS_UNREACHABLE"),
    ("Not allowed to use restricted network port", "net::ERR_UNSAFE_PORT"),
    ("redirections", "net::ERR_TOO_MANY_REDIRECTS"),
    ("No such file", "net::ERR_FILE_NOT_FOUND"),
];

/// The name for a request that the browser itself rejects. The browser then shows an empty page.
pub(super) const REFUSED: &str = "net::ERR_BLOCKED_BY_CLIENT";

/// Returns the network error that the text of an error page describes, if it has a name.
pub(super) fn named(message: &str) -> Option<String> {
    let known = REASONS.iter().find(|(words, _)| message.contains(words));
    known.map(|(_, reason)| (*reason).to_owned())
}
