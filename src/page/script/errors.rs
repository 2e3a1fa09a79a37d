//! Errors of the engine, worded with the page's facts.

use std::time::Duration;

use serde_json::Value;

use crate::{
    config::BrowserKind,
    engine::{self, Dialog, EngineError},
    error::{ErrorCode, Result, TroupeError},
    page::{Page, state::OtherPageDialog},
};

/// `details.reason` of a call whose document was replaced by a navigation.
pub(in crate::page) const DOCUMENT_GONE: &str = "document replaced";

/// How to answer a dialog that asks whether to leave the page.
pub const ANSWER_BEFORE_UNLOAD: &str =
    "handle_dialog {accept: true} leaves the page, {accept: false} stays on it";

impl Page {
    /// Fails if its browser does not report requests.
    pub fn check_requests(&self) -> Result<()> {
        check_log(self.config.browser, engine::Log::Requests)
    }

    pub(in crate::page) fn blocked_by_error(&self, other: &OtherPageDialog) -> TroupeError {
        let OtherPageDialog { page_id, dialog } = other;
        TroupeError::new(
            ErrorCode::DialogOpen,
            format!(
                "page `{}` is blocked by the {} dialog of `{page_id}`: {:?}",
                self.id, dialog.kind, dialog.message
            ),
        )
        .detail("dialog", serde_json::to_value(dialog).unwrap_or(Value::Null))
        .detail("pageId", page_id.as_str())
        .suggestion(format!("answer it with handle_dialog {{pageId: \"{page_id}\"}}, then go on"))
    }

    /// Fails with `DIALOG_OPEN` if the page has an open dialog, which blocks every call.
    pub fn check_no_dialog(&self) -> Result<()> {
        self.dialog().map_or(Ok(()), |dialog| Err(self.dialog_open(&dialog)))
    }

    pub(in crate::page) fn dialog_open(&self, dialog: &Dialog) -> TroupeError {
        TroupeError::new(
            ErrorCode::DialogOpen,
            format!(
                "page `{}` is blocked by its {} dialog: {:?}",
                self.id, dialog.kind, dialog.message
            ),
        )
        .detail("dialog", serde_json::to_value(dialog).unwrap_or(Value::Null))
        .suggestion(match dialog.is_before_unload() {
            true => ANSWER_BEFORE_UNLOAD,
            false => "answer it with handle_dialog, then go on",
        })
    }

    pub(in crate::page) fn timed_out(&self, what: &str, timeout: Duration) -> TroupeError {
        let millis = timeout.as_millis();
        TroupeError::new(
            ErrorCode::Timeout,
            format!("{what} within {millis} ms on `{}`", self.url()),
        )
        .detail("timeout", u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Converts an engine error, and adds the page's ID and URL.
    pub(in crate::page) fn error(&self, error: EngineError) -> TroupeError {
        let url = self.url();
        match error {
            EngineError::BrowserGone => TroupeError::new(
                ErrorCode::BrowserCrashed,
                format!("the browser exited during the call; page `{}` was at `{url}`", self.id),
            )
            .suggestion("repeat the call: Troupe restarts the browser and resumes the session"),
            EngineError::PageCrashed => TroupeError::new(
                ErrorCode::BrowserCrashed,
                format!("page `{}` has crashed at `{url}`", self.id),
            )
            // Every call fails until the page has another document.
            .retryable(false)
            .suggestion("load the page again with `navigate`, or close it with `pages`"),
            EngineError::PageGone => TroupeError::new(
                ErrorCode::PageNotFound,
                format!("page `{}` has closed (it was at `{url}`)", self.id),
            )
            .suggestion("open another page, or use one that is still open"),
            EngineError::Script(failure) => {
                let code = match is_failed_request(&failure.message) {
                    true => ErrorCode::NetworkError,
                    false => ErrorCode::ScriptError,
                };
                let mut details = serde_json::Map::new();
                details.insert("message".into(), failure.message.clone().into());
                details.insert("line".into(), failure.line.into());
                details.insert("column".into(), failure.column.into());
                if let Some(class) = failure.class {
                    details.insert("class".into(), class.into());
                }
                let mut error = TroupeError::new(code, failure.message);
                error.details = details;
                error
            }
            EngineError::TimedOut(timeout) | EngineError::AwaitsConsent(timeout) => {
                self.timed_out("the browser did not answer", timeout)
            }
            EngineError::NoFreeSlot { .. } => {
                TroupeError::new(ErrorCode::ResourceExhausted, error.to_string())
            }
            EngineError::Unsupported { what, instead } => unsupported(what, instead),
            EngineError::Launch { reason, suggestion }
            | EngineError::FileTransfer { reason, suggestion } => {
                let mut error = TroupeError::new(ErrorCode::BrowserError, reason);
                error.suggestion = suggestion.or(error.suggestion);
                error
            }
            EngineError::DocumentGone => TroupeError::new(
                ErrorCode::BrowserError,
                format!("the document at `{url}` was replaced during the call"),
            )
            .detail("reason", DOCUMENT_GONE)
            .suggestion("call again: the page has navigated"),
            error @ (EngineError::Refused(_) | EngineError::UnknownSetting { .. }) => {
                TroupeError::new(ErrorCode::BrowserError, error.to_string())
            }
        }
    }
}

/// The beginnings of the messages with which Chromium, Firefox and WebKit report that a request of
/// a script failed.
const FAILED_REQUESTS: [&str; 6] = [
    "TypeError: Failed to fetch",
    "TypeError: NetworkError when attempting to fetch resource",
    "TypeError: error loading dynamically imported module",
    "TypeError: Load failed",
    "TypeError: Importing a module script failed.",
    "NetworkError: ",
];

/// Returns whether a script that failed with `message` did not catch the failure of one of its
/// requests.
fn is_failed_request(message: &str) -> bool {
    let message = match message.strip_prefix("Uncaught ") {
        Some(thrown) => thrown.strip_prefix("(in promise) ").unwrap_or(thrown),
        None => message,
    };
    FAILED_REQUESTS.iter().any(|beginning| message.starts_with(beginning))
}

/// Fails if `browser` does not report what `log` contains.
pub fn check_log(browser: BrowserKind, log: engine::Log) -> Result<()> {
    engine::check_log(browser, log).map_err(|error| match error {
        EngineError::Unsupported { what, instead } => unsupported(what, instead),
        other => TroupeError::new(ErrorCode::BrowserError, other.to_string()),
    })
}

/// Creates the error for a feature that the browser does not support.
pub fn unsupported(what: &str, instead: &str) -> TroupeError {
    TroupeError::new(ErrorCode::BrowserError, format!("{what} is not supported in this browser"))
        .detail("unsupported", what)
        .suggestion(instead)
}

#[cfg(test)]
mod tests {
    use super::is_failed_request;

    #[test]
    fn a_failed_request_is_recognized_at_the_beginning_of_a_message() {
        for message in [
            "TypeError: Failed to fetch",
            "TypeError: Failed to fetch dynamically imported module: http://a/module.js",
            "TypeError: NetworkError when attempting to fetch resource.",
            "TypeError: error loading dynamically imported module: http://a/module.js",
            "TypeError: Load failed",
            "TypeError: Importing a module script failed.",
            "NetworkError: A network error occurred.",
            "Uncaught TypeError: Failed to fetch",
            "Uncaught (in promise) TypeError: Failed to fetch",
        ] {
            assert!(is_failed_request(message), "{message}");
        }
        for message in [
            "Error: MyNetworkError: x",
            "MyNetworkError: x",
            "Error: the test expects `TypeError: Failed to fetch`",
            "Error: Uncaught TypeError: Failed to fetch",
            "TypeError: no list",
            "",
        ] {
            assert!(!is_failed_request(message), "{message}");
        }
    }
}
