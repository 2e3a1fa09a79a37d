//! The reason why a running browser cannot be reached.

use std::error::Error as StdError;

use tokio_tungstenite::tungstenite::{Error, http::StatusCode};

use crate::error::{TRUST_CERTIFICATE, causes, rejected_certificate};

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
        let tls = rejected_certificate(error)?;
        Some(Self {
            reason: format!("its certificate is not trusted: {tls}"),
            suggestion: Some(TRUST_CERTIFICATE.to_owned()),
            is_permanent: true,
        })
    }
}
