//! The public error type and its codes. Uses no other module.
//!
//! Lower layers have their own enums (`EngineError`, `ConfigError`). They are converted into a
//! [`TroupeError`] where the data for a complete message is available.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The result of an operation that a client requests.
pub type Result<T, E = TroupeError> = std::result::Result<T, E>;

/// Returns an error with its causes, in one line.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Returns `error` and its causes, the innermost last.
pub fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        // The source of an `io::Error` skips the error that it wraps.
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped
            .map(|wrapped| wrapped as &(dyn std::error::Error + 'static))
            .or_else(|| error.source())
    })
}

/// Returns the cause of `error` that rejects the certificate of a server, if it has one.
pub fn rejected_certificate<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> Option<&'a rustls::Error> {
    causes(error)
        .filter_map(|cause| cause.downcast_ref::<rustls::Error>())
        .find(|cause| matches!(cause, rustls::Error::InvalidCertificate(_)))
}

/// How to make this machine trust a certificate.
pub const TRUST_CERTIFICATE: &str =
    "set SSL_CERT_FILE to the certificates of your own certificate authority";

/// The meaning of an error code, for clients and for the JSON API. `docs/errors.md` and the types
/// of the Node library are generated from these rows.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorRow {
    pub code: ErrorCode,
    /// When a call fails with the code.
    pub when: &'static str,
    /// Whether the same call may succeed later although nothing has changed.
    pub retryable: bool,
    pub status: HttpStatus,
    /// The exit code of commands, which never changes: a new row gets the next free number.
    pub exit: u8,
    /// The default suggestion, if the error has no specific one.
    pub suggestion: &'static str,
}

/// HTTP status of an error in the JSON API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum HttpStatus {
    /// The call did not run: every route responds with this status.
    Refused(u16),
    /// The call ran and failed: `POST /api/requests` responds with 200, the other routes with this
    /// status.
    Failed(u16),
}

macro_rules! error_codes {
    ($($code:ident $text:literal: $when:literal, $retryable:ident, $status:ident $number:literal exit $exit:literal, $suggestion:literal;)*) => {
        /// Stable error codes; clients branch on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $(#[doc = $when] #[serde(rename = $text)] $code,)*
        }

        /// One row for each code, in the order of the enum.
        pub static ERROR_CODES: &[ErrorRow] = &[$(ErrorRow {
            code: ErrorCode::$code,
            when: $when,
            retryable: error_codes!(@ $retryable),
            status: HttpStatus::$status($number),
            exit: $exit,
            suggestion: $suggestion,
        },)*];

        impl ErrorCode {
            /// The code as clients see it: `ELEMENT_NOT_FOUND`.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $text,)*
                }
            }
        }
    };
    (@ retryable) => { true };
    (@ permanent) => { false };
}

error_codes! {
    InvalidParameters "INVALID_PARAMETERS": "A parameter is missing, unknown or has the wrong type (`details.violations`).",
        permanent, Refused 400 exit 10, "correct the parameters that the message names";
    InvalidUrl "INVALID_URL": "The URL cannot be parsed.",
        permanent, Failed 422 exit 11, "pass a complete `url`, such as https://example.com/";
    InvalidSelector "INVALID_SELECTOR": "The target cannot be parsed.",
        permanent, Failed 422 exit 12, "pass a `selector` that is a ref (e12), CSS, XPath (//…), text=…, role=button[name=\"…\"], label=…, placeholder=… or testid=…";
    SessionNotFound "SESSION_NOT_FOUND": "No session has this id, or it was closed.",
        permanent, Refused 404 exit 13, "create a session with create_session";
    SessionExpired "SESSION_EXPIRED": "The session has expired, before or during the call.",
        permanent, Refused 410 exit 14, "restore the session with session_resume, or create one with create_session";
    PageNotFound "PAGE_NOT_FOUND": "No page of the session has this id, or it was closed.",
        permanent, Refused 404 exit 15, "list the pages with `pages` {action: \"list\"}";
    RecordNotFound "RECORD_NOT_FOUND": "No recorded call has this id.",
        permanent, Refused 404 exit 16, "list the recorded calls with list_requests";
    MaxSessionsReached "MAX_SESSIONS_REACHED": "The session limit is reached.",
        retryable, Refused 503 exit 17, "close a session with close_session, or raise --max-sessions";
    NavigationFailed "NAVIGATION_FAILED": "A navigation failed or timed out (`details.reason`). Timeouts and reset connections are retryable.",
        permanent, Failed 422 exit 18, "check that the server of `url` runs, or `navigate` to another page";
    ElementNotFound "ELEMENT_NOT_FOUND": "No element matches within the timeout, or the ref is stale (`details.reason`).",
        permanent, Failed 422 exit 19, "get the current refs with `snapshot`, or search the page with `find`";
    ElementAmbiguous "ELEMENT_AMBIGUOUS": "The target of an action matches several elements (`details.matches`).",
        permanent, Failed 422 exit 20, "pass the ref of one match in `details.matches` as `selector`";
    ElementNotClickable "ELEMENT_NOT_CLICKABLE": "The element cannot be clicked, focused or scrolled (`details.reason`: hidden, disabled, covered, moving, not scrollable, or `ELEMENT_NOT_INTERACTIVE` if it never can).",
        permanent, Failed 422 exit 21, "look at the page with `snapshot` and remove what blocks the element, or target another element";
    ElementNotEditable "ELEMENT_NOT_EDITABLE": "The element cannot be edited: hidden, disabled, read-only or not a field (`details.reason`).",
        permanent, Failed 422 exit 22, "target an editable field: `snapshot` lists the fields of the page";
    DialogOpen "DIALOG_OPEN": "A dialog blocks the page.",
        permanent, Failed 422 exit 23, "answer it with handle_dialog {accept: true} or {accept: false}, then go on";
    Timeout "TIMEOUT": "A wait has timed out.",
        retryable, Failed 422 exit 24, "raise `timeout`, or look at the page with `snapshot`";
    NetworkError "NETWORK_ERROR": "A request other than a navigation failed, for example a `fetch` of `evaluate`.",
        retryable, Failed 422 exit 25, "check that the request's server runs, then call again, or look at the request with get_request_log";
    ScriptError "SCRIPT_ERROR": "A script in the page threw an exception (`details` has message and position).",
        permanent, Failed 422 exit 26, "correct `script`; details has the position of the error";
    BlockedByPolicy "BLOCKED_BY_POLICY": "The server's configuration forbids the call (`details.rule`).",
        permanent, Failed 422 exit 27, "use another way, or ask the user to change the server option in details.rule";
    BrowserCrashed "BROWSER_CRASHED": "The browser or the page has crashed. Not retryable if a crashed page must be navigated first.",
        retryable, Failed 503 exit 28, "repeat the call: Troupe restarts the browser and resumes the session";
    BrowserError "BROWSER_ERROR": "The browser rejected the call, does not support it, or could not be started.",
        permanent, Failed 422 exit 29, "run `troupe doctor`, which checks the browser; if the browser does not support the call, use another tool";
    ResourceExhausted "RESOURCE_EXHAUSTED": "A limit of memory, size or number is reached.",
        retryable, Failed 422 exit 30, "request less, or raise the limit that the message names";
    UpstreamUnavailable "UPSTREAM_UNAVAILABLE": "The upstream server of the session is not running.",
        retryable, Refused 503 exit 31, "call again later; the server's log has the reason";
    ServerUnavailable "SERVER_UNAVAILABLE": "The server behind `--connect` cannot be reached, the server is stopping or ended during the call, or another server has taken over the session.",
        retryable, Refused 503 exit 32, "call again; if it fails again, start the server or correct its URL";
    SessionHeld "SESSION_HELD": "A person controls the session in the dashboard, and did not give it back within --takeover-timeout.",
        retryable, Refused 409 exit 34, "call again later: the session continues when the person gives it back in the dashboard";
    InternalError "INTERNAL_ERROR": "A defect of Troupe, or a failure of the machine.",
        permanent, Failed 500 exit 33, "report it with the server's log";
}

impl ErrorCode {
    pub fn row(self) -> &'static ErrorRow {
        // The rows have the order of the enum.
        &ERROR_CODES[self as usize]
    }
}

/// `details.reason` of a call that was running when its session ended.
pub const ENDED_DURING_CALL: &str = "endedDuringCall";

/// The fields of `details`. Which of them an error has depends on its code and reason.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "read through its schema: it becomes a type of the Node library")]
pub struct ErrorDetails {
    /// A short reason: `stale`, `covered`, `timeout`, `net::ERR_CONNECTION_REFUSED`…
    reason: Option<String>,
    /// `INVALID_PARAMETERS`: all problems of the parameters.
    violations: Option<Vec<ParameterViolation>>,
    selector: Option<String>,
    /// The ref of the element.
    #[serde(rename = "ref")]
    reference: Option<String>,
    /// The elements that match an ambiguous target.
    matches: Option<Vec<ElementMatch>>,
    /// Elements that are similar to the one that was not found.
    suggestions: Option<Vec<ElementMatch>>,
    /// The element that covers the target.
    covering: Option<String>,
    /// The URL of the page.
    page: Option<String>,
    page_id: Option<String>,
    url: Option<String>,
    path: Option<String>,
    key: Option<String>,
    /// Milliseconds.
    timeout: Option<u64>,
    /// The open dialog: `type`, `message`, `defaultValue`.
    dialog: Option<Value>,
    /// The option of the server's configuration that forbids the call.
    rule: Option<String>,
    /// `fill_form`: the field that failed, and how many were filled before it.
    field: Option<String>,
    filled: Option<u64>,
    /// `SCRIPT_ERROR`: the exception's message, class and position.
    message: Option<String>,
    class: Option<String>,
    line: Option<u64>,
    column: Option<u64>,
    /// `run_script`: the session method that failed, the number of calls that the script made, and
    /// what it printed.
    call: Option<String>,
    steps: Option<u64>,
    console: Option<Vec<String>>,
    /// The operation that the browser does not support.
    unsupported: Option<String>,
    /// Length of the result in characters, if `offset` is past its end.
    total: Option<u64>,
    max_sessions: Option<u64>,
    /// The limit of all servers that share the record.
    max_sessions_total: Option<u64>,
    /// The open sessions of the connection.
    sessions: Option<Vec<String>>,
    /// Working directory of the server that uses the session.
    working_directory: Option<String>,
    /// Bytes.
    available_memory: Option<u64>,
    /// Bytes.
    min_free_memory: Option<u64>,
    /// Milliseconds since 1970.
    retry_at: Option<u64>,
    /// The error of the upstream server.
    upstream: Option<Value>,
    /// Stack trace of Troupe's script in the page: a defect of Troupe.
    stack: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "read through its schema")]
struct ParameterViolation {
    parameter: String,
    problem: String,
    reason: Option<String>,
}

#[derive(JsonSchema)]
#[schemars(inline)]
#[expect(dead_code, reason = "read through its schema")]
struct ElementMatch {
    #[serde(rename = "ref")]
    reference: String,
    description: String,
}

/// A failed call, in the shape in which clients get it.
#[derive(Debug, Clone, PartialEq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
#[serde(rename_all = "camelCase")]
pub struct TroupeError {
    #[serde(rename = "errorCode")]
    pub code: ErrorCode,
    /// The target, where it was searched for, and what was found instead, as plain text.
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Facts for programs: `reason`, `violations`, `matches`…
    #[serde(default, skip_serializing_if = "Map::is_empty")]
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
            retryable: code.row().retryable,
            suggestion: Some(code.row().suggestion.to_owned()),
        }
    }

    /// Returns the error of a call that the server has canceled for `reason`. `next` describes the
    /// state that another call would find.
    pub fn canceled_call(reason: &str, next: &str) -> Self {
        Self::new(ErrorCode::ServerUnavailable, format!("the call was canceled: {reason}"))
            .suggestion(format!("check whether the call took effect, then call again: {next}"))
    }

    #[must_use]
    pub fn session(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Returns `details.reason`.
    pub fn reason(&self) -> Option<&str> {
        self.details.get("reason").and_then(Value::as_str)
    }

    #[must_use]
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.details.insert(key.to_owned(), value.into());
        self
    }

    /// Adds the target of the call as `details.selector`, if the error is about an element and does
    /// not name one.
    #[must_use]
    pub fn about(self, target: &str) -> Self {
        let is_about_element = matches!(
            self.code,
            ErrorCode::InvalidSelector
                | ErrorCode::ElementNotFound
                | ErrorCode::ElementAmbiguous
                | ErrorCode::ElementNotClickable
                | ErrorCode::ElementNotEditable
                | ErrorCode::Timeout
        );
        if !is_about_element || self.details.contains_key("selector") {
            return self;
        }
        self.detail("selector", target)
    }

    /// Replaces the message.
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
    fn each_code_has_its_row_and_is_serialized_as_its_text() {
        for row in ERROR_CODES {
            assert_eq!(row.code.row().code, row.code);
            assert_eq!(serde_json::to_value(row.code).unwrap(), row.code.as_str());
        }
    }

    #[test]
    fn every_code_has_its_own_exit_code() {
        let exits: std::collections::BTreeSet<u8> =
            ERROR_CODES.iter().map(|row| row.exit).collect();
        assert_eq!(exits.len(), ERROR_CODES.len());
        // Lower ones are those of the command line, higher ones those of signals.
        assert!(exits.iter().all(|exit| (10..100).contains(exit)), "{exits:?}");
    }

    #[test]
    fn every_code_has_a_suggestion() {
        for row in ERROR_CODES {
            assert!(!row.suggestion.is_empty(), "{}", row.code.as_str());
            assert_eq!(TroupeError::new(row.code, "x").suggestion.as_deref(), Some(row.suggestion));
        }
    }

    #[test]
    fn every_detail_of_an_error_has_a_type() {
        fn read(folder: &std::path::Path, code: &mut String) {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                match entry.path() {
                    path if path.is_dir() => read(&path, code),
                    path if path.extension().is_some_and(|extension| extension == "rs") => {
                        code.push_str(&std::fs::read_to_string(path).unwrap());
                    }
                    _ => {}
                }
            }
        }
        let mut code = String::new();
        read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut code);
        let schema = schemars::schema_for!(ErrorDetails).to_value();
        let given =
            code.split(".detail(").skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
        let unknown: Vec<_> = given
            .filter_map(|rest| rest.split('"').next())
            // Without the search text above.
            .filter(|name| name.chars().all(char::is_alphanumeric))
            .filter(|name| schema["properties"].get(name).is_none())
            .collect();
        assert!(unknown.is_empty(), "add them to ErrorDetails: {unknown:?}");
    }

    #[test]
    fn an_error_is_serialized_without_empty_fields() {
        let error = TroupeError::new(ErrorCode::Timeout, "no answer").detail("timeout", 5);
        insta::assert_json_snapshot!(error, @r#"
        {
          "errorCode": "TIMEOUT",
          "message": "no answer",
          "details": {
            "timeout": 5
          },
          "retryable": true,
          "suggestion": "raise `timeout`, or look at the page with `snapshot`"
        }
        "#);
    }
}
