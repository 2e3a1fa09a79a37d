//! The errors of calls that fail because of the browser, not because of a page.

use crate::{
    engine::EngineError,
    error::{ErrorCode, TroupeError},
    page::unsupported,
};

pub(super) fn browser_died() -> TroupeError {
    TroupeError::new(ErrorCode::BrowserCrashed, "the browser exited during the call")
        .suggestion("repeat the call: the browser is restarted and the session is resumed")
}

/// Returns the error of a call that would replace cookies and storage of the user's profile.
pub(super) fn shared_profile_error() -> TroupeError {
    TroupeError::new(
        ErrorCode::InvalidParameters,
        "the session shares the browser's profile, whose cookies and storage are not replaced",
    )
    .suggestion(
        "set single cookies with set_cookies, or use a server without --attach, --remote-context \
         and --user-data-dir",
    )
}

/// Converts an engine error that concerns no page.
pub(super) fn engine_error(error: EngineError) -> TroupeError {
    match error {
        EngineError::BrowserGone | EngineError::PageGone => browser_died(),
        EngineError::Launch { reason, suggestion } => {
            let mut error = TroupeError::new(
                ErrorCode::BrowserError,
                format!("the browser could not be started: {reason}"),
            );
            error.suggestion = suggestion.or(error.suggestion);
            error
        }
        EngineError::UnknownSetting { name, .. } => {
            TroupeError::new(ErrorCode::InvalidParameters, error.to_string())
                .detail(
                    "violations",
                    serde_json::json!([{"parameter": name, "problem": error.to_string()}]),
                )
                .suggestion(match name {
                    "timezone" => "use a name such as Europe/Berlin",
                    "locale" => "use a tag such as de-DE",
                    "proxy" => "use a URL such as http://host:8080 or socks5://host:1080",
                    _ => "omit it, or use --browser chromium",
                })
        }
        EngineError::NoFreeSlot { .. } => TroupeError::new(
            ErrorCode::ResourceExhausted,
            error.to_string(),
        )
        .retryable(true)
        .suggestion(
            "repeat the call later, end sessions that are not needed, or add nodes to the Grid",
        ),
        EngineError::AwaitsConsent(_) => TroupeError::new(ErrorCode::Timeout, error.to_string())
            .suggestion(
                "ask the user to choose Allow in the browser's dialog about remote debugging, \
                 then repeat the call: the server still waits for the decision",
            ),
        EngineError::Unsupported { what, instead } => unsupported(what, instead),
        other => TroupeError::new(ErrorCode::BrowserError, other.to_string()),
    }
}
