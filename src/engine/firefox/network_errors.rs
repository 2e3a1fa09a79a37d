//! Maps Firefox's names of network errors to Chromium's, which the layers above use.

/// `(Firefox's name, Chromium's)`
const ERROR_NAMES: &[(&str, &str)] = &[
    ("NS_BINDING_ABORTED", "net::ERR_ABORTED"),
    // Requests that Troupe blocks.
    ("NS_ERROR_ABORT", "net::ERR_BLOCKED_BY_CLIENT"),
    ("NS_ERROR_CONNECTION_REFUSED", "net::ERR_CONNECTION_REFUSED"),
    ("NS_ERROR_CORRUPTED_CONTENT", "net::ERR_CONTENT_DECODING_FAILED"),
    ("NS_ERROR_CSP_FRAME_ANCESTOR_VIOLATION", "net::ERR_BLOCKED_BY_RESPONSE"),
    ("NS_ERROR_FILE_NOT_FOUND", "net::ERR_FILE_NOT_FOUND"),
    ("NS_ERROR_INVALID_CONTENT_ENCODING", "net::ERR_CONTENT_DECODING_FAILED"),
    ("NS_ERROR_MALFORMED_URI", "net::ERR_INVALID_URL"),
    ("NS_ERROR_NET_EMPTY_RESPONSE", "net::ERR_EMPTY_RESPONSE"),
    ("NS_ERROR_NET_INTERRUPT", "net::ERR_CONNECTION_CLOSED"),
    ("NS_ERROR_NET_PARTIAL_TRANSFER", "net::ERR_CONTENT_LENGTH_MISMATCH"),
    ("NS_ERROR_NET_RESET", "net::ERR_CONNECTION_RESET"),
    ("NS_ERROR_NET_TIMEOUT", "net::ERR_CONNECTION_TIMED_OUT"),
    ("NS_ERROR_NET_TIMEOUT_EXTERNAL", "net::ERR_CONNECTION_TIMED_OUT"),
    ("NS_ERROR_OFFLINE", "net::ERR_INTERNET_DISCONNECTED"),
    ("NS_ERROR_PORT_ACCESS_NOT_ALLOWED", "net::ERR_UNSAFE_PORT"),
    ("NS_ERROR_PROXY_CONNECTION_REFUSED", "net::ERR_PROXY_CONNECTION_FAILED"),
    ("NS_ERROR_REDIRECT_LOOP", "net::ERR_TOO_MANY_REDIRECTS"),
    ("NS_ERROR_UNKNOWN_HOST", "net::ERR_NAME_NOT_RESOLVED"),
    ("NS_ERROR_UNKNOWN_PROTOCOL", "net::ERR_UNKNOWN_URL_SCHEME"),
    ("NS_ERROR_UNKNOWN_PROXY_HOST", "net::ERR_PROXY_CONNECTION_FAILED"),
    ("NS_ERROR_XFO_VIOLATION", "net::ERR_BLOCKED_BY_RESPONSE"),
    ("deniedPortAccess", "net::ERR_UNSAFE_PORT"),
    ("SEC_ERROR_EXPIRED_CERTIFICATE", "net::ERR_CERT_DATE_INVALID"),
    ("SSL_ERROR_BAD_CERT_DOMAIN", "net::ERR_CERT_COMMON_NAME_INVALID"),
];

/// Returns Chromium's name of the error `name`, or `name` itself if there is none.
pub(super) fn chromium_name(name: &str) -> String {
    let known = ERROR_NAMES.iter().find(|(firefox, _)| *firefox == name).map(|(_, reason)| *reason);
    match known {
        Some(reason) => reason.to_owned(),
        None if name.starts_with("SEC_ERROR_") || name.starts_with("MOZILLA_PKIX_ERROR_") => {
            "net::ERR_CERT_AUTHORITY_INVALID".to_owned()
        }
        None if name.starts_with("SSL_ERROR_") => "net::ERR_SSL_PROTOCOL_ERROR".to_owned(),
        None => name.to_owned(),
    }
}

/// Returns the error name in a message such as `Error: NS_ERROR_NET_RESET`.
pub(super) fn error_name(message: &str) -> Option<&str> {
    let name = message.trim().strip_prefix("Error: ").unwrap_or(message.trim());
    (!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_mapped_to_chromiums_error_name() {
        for (message, reason) in [
            ("Error: NS_ERROR_CONNECTION_REFUSED", Some("net::ERR_CONNECTION_REFUSED")),
            ("MOZILLA_PKIX_ERROR_SELF_SIGNED_CERT", Some("net::ERR_CERT_AUTHORITY_INVALID")),
            ("Error: NS_ERROR_SOMETHING_NEW", Some("NS_ERROR_SOMETHING_NEW")),
            ("Navigation to x failed", None),
        ] {
            assert_eq!(error_name(message).map(chromium_name).as_deref(), reason, "{message}");
        }
    }
}
