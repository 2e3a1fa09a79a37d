//! Why a document could not be had: what WebKit's error page says, in the words that the layers above know.

/// `(in its text, Chromium's name)`
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

/// The reason that `told` is; its own words where there is no name for it.
pub(super) fn known(told: &str) -> String {
    let told = told.trim();
    let known =
        REASONS.iter().find(|(words, _)| told.contains(words)).map(|(_, reason)| (*reason).to_owned());
    match known {
        Some(reason) => reason,
        // An empty page is all that is shown for a request that the browser itself refuses.
        None if told.is_empty() => "net::ERR_BLOCKED_BY_CLIENT".to_owned(),
        None => told.to_owned(),
    }
}
