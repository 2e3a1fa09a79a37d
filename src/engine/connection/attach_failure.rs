//! The reason why a running browser cannot be reached.

use std::{error::Error as StdError, io};

use tokio_tungstenite::tungstenite::{Error, http::StatusCode};

/// Why there is no connection. Neither text contains a token of the URL or a header.
#[derive(Debug, Clone)]
pub struct AttachFailure {
    pub reason: String,
    pub suggestion: Option<String>,
    /// Whether another attempt fails too: the browser rejects the credentials, for example.
    pub is_permanent: bool,
}

impl AttachFailure {
    pub(in crate::engine) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), suggestion: None, is_permanent: false }
    }

    pub(in crate::engine) fn status(status: StatusCode) -> Self {
        let suggestion = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
            .then(|| "pass its token in the URL, or a header with --browser-header".to_owned());
        let may_pass =
            matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS);
        Self {
            reason: format!("it responds with {status}"),
            suggestion,
            is_permanent: status.is_client_error() && !may_pass,
        }
    }

    pub(super) fn handshake(error: Error) -> Self {
        match error {
            Error::Http(response) => Self::status(response.status()),
            error => Self::certificate(&error).unwrap_or_else(|| Self::new(error.to_string())),
        }
    }

    pub(super) fn request(error: reqwest::Error) -> Self {
        // The URL may contain a token.
        let error = error.without_url();
        Self::certificate(&error).unwrap_or_else(|| {
            let cause = causes(&error).last().map(ToString::to_string);
            Self::new(cause.unwrap_or_else(|| error.to_string()))
        })
    }

    fn certificate(error: &(dyn StdError + 'static)) -> Option<Self> {
        let tls = causes(error).find_map(|cause| cause.downcast_ref::<rustls::Error>())?;
        let rustls::Error::InvalidCertificate(_) = tls else { return None };
        Some(Self {
            reason: format!("its certificate is not trusted: {tls}"),
            suggestion: Some(
                "set SSL_CERT_FILE to the certificates of your own certificate authority".into(),
            ),
            is_permanent: true,
        })
    }
}

/// Returns `error` and its causes, the innermost last.
fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The source of an `io::Error` skips the error that it wraps.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        wrapped.map(|wrapped| wrapped as &(dyn StdError + 'static)).or_else(|| error.source())
    })
}
