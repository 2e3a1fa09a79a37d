//! The one error that leaves the house, with its codes. Ground: knows no other module.
//!
//! Lower layers have enums of their own (`EngineError`, `ConfigError`) that say what happened; they are
//! turned into a [`TroupeError`] once, where the facts for a good message are at hand.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Result of everything a client can ask for.
pub type Result<T, E = TroupeError> = std::result::Result<T, E>;

/// Stable codes of spec.md section 6; clients branch on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    InvalidParameters,
    InvalidUrl,
    InvalidSelector,
    SessionNotFound,
    SessionExpired,
    PageNotFound,
    RecordNotFound,
    MaxSessionsReached,
    NavigationFailed,
    ElementNotFound,
    ElementAmbiguous,
    ElementNotClickable,
    ElementNotEditable,
    DialogOpen,
    Timeout,
    NetworkError,
    ScriptError,
    BlockedByPolicy,
    BrowserCrashed,
    BrowserError,
    ResourceExhausted,
    UpstreamUnavailable,
    InternalError,
}

impl ErrorCode {
    /// Whether the same call may succeed later with nothing changed. A navigation says for itself.
    fn retryable(self) -> bool {
        matches!(
            self,
            Self::MaxSessionsReached
                | Self::Timeout
                | Self::NetworkError
                | Self::BrowserCrashed
                | Self::ResourceExhausted
                | Self::UpstreamUnavailable
        )
    }

    /// The code as clients see it: `ELEMENT_NOT_FOUND`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidParameters => "INVALID_PARAMETERS",
            Self::InvalidUrl => "INVALID_URL",
            Self::InvalidSelector => "INVALID_SELECTOR",
            Self::SessionNotFound => "SESSION_NOT_FOUND",
            Self::SessionExpired => "SESSION_EXPIRED",
            Self::PageNotFound => "PAGE_NOT_FOUND",
            Self::RecordNotFound => "RECORD_NOT_FOUND",
            Self::MaxSessionsReached => "MAX_SESSIONS_REACHED",
            Self::NavigationFailed => "NAVIGATION_FAILED",
            Self::ElementNotFound => "ELEMENT_NOT_FOUND",
            Self::ElementAmbiguous => "ELEMENT_AMBIGUOUS",
            Self::ElementNotClickable => "ELEMENT_NOT_CLICKABLE",
            Self::ElementNotEditable => "ELEMENT_NOT_EDITABLE",
            Self::DialogOpen => "DIALOG_OPEN",
            Self::Timeout => "TIMEOUT",
            Self::NetworkError => "NETWORK_ERROR",
            Self::ScriptError => "SCRIPT_ERROR",
            Self::BlockedByPolicy => "BLOCKED_BY_POLICY",
            Self::BrowserCrashed => "BROWSER_CRASHED",
            Self::BrowserError => "BROWSER_ERROR",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::UpstreamUnavailable => "UPSTREAM_UNAVAILABLE",
            Self::InternalError => "INTERNAL_ERROR",
        }
    }
}

/// A failed call, in the shape in which clients get it.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct TroupeError {
    #[serde(rename = "errorCode")]
    pub code: ErrorCode,
    /// What was wanted, where, and what was found instead; plain text.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Facts for programs: `reason`, `violations`, `matches`…
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
    pub retryable: bool,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

impl TroupeError {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            session_id: None,
            details: Map::new(),
            retryable: code.retryable(),
            suggestion: None,
        }
    }

    #[must_use]
    pub fn session(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// The same error in other words.
    #[must_use]
    pub fn worded(mut self, message: impl Into<String>) -> Self {
        self.message = message.into();
        self
    }

    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    #[must_use]
    pub fn suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_serialized_code_is_the_one_that_as_str_gives() {
        for code in [ErrorCode::InvalidUrl, ErrorCode::SessionExpired, ErrorCode::BlockedByPolicy] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }

    #[test]
    fn an_error_is_json_without_empty_parts() {
        let error = TroupeError::new(ErrorCode::Timeout, "no answer").detail("timeout", 5);
        insta::assert_json_snapshot!(error, @r#"
        {
          "errorCode": "TIMEOUT",
          "message": "no answer",
          "details": {
            "timeout": 5
          },
          "retryable": true
        }
        "#);
    }
}
