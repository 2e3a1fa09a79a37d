//! Console messages and their stack traces, which have the same format in CDP and BiDi.

use std::{fmt::Write as _, sync::Arc};

use serde::Deserialize;

/// The severity of a console message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleLevel {
    Debug,
    Info,
    Warn,
    Error,
}

impl ConsoleLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// The console method that a message was logged with, or `PageError`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsoleKind {
    Log,
    Debug,
    Info,
    Error,
    Warning,
    Dir,
    Dirxml,
    Table,
    Trace,
    Clear,
    StartGroup,
    StartGroupCollapsed,
    EndGroup,
    Assert,
    Profile,
    ProfileEnd,
    Count,
    TimeEnd,
    /// An uncaught exception or an unhandled rejection.
    PageError,
}

impl ConsoleKind {
    /// The kinds of console calls.
    const CALLS: &'static [Self] = &[
        Self::Log,
        Self::Debug,
        Self::Info,
        Self::Error,
        Self::Warning,
        Self::Dir,
        Self::Dirxml,
        Self::Table,
        Self::Trace,
        Self::Clear,
        Self::StartGroup,
        Self::StartGroupCollapsed,
        Self::EndGroup,
        Self::Assert,
        Self::Profile,
        Self::ProfileEnd,
        Self::Count,
        Self::TimeEnd,
    ];

    /// Parses CDP's name of a console call. Calls that are not listed here are `log`.
    pub fn named(name: &str) -> Self {
        let known = Self::CALLS.iter().find(|kind| kind.as_str() == name);
        known.copied().unwrap_or(Self::Log)
    }

    /// Returns CDP's name, which is also Playwright's, or `pageError`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Dir => "dir",
            Self::Dirxml => "dirxml",
            Self::Table => "table",
            Self::Trace => "trace",
            Self::Clear => "clear",
            Self::StartGroup => "startGroup",
            Self::StartGroupCollapsed => "startGroupCollapsed",
            Self::EndGroup => "endGroup",
            Self::Assert => "assert",
            Self::Profile => "profile",
            Self::ProfileEnd => "profileEnd",
            Self::Count => "count",
            Self::TimeEnd => "timeEnd",
            Self::PageError => "pageError",
        }
    }

    /// Returns whether the console shows a text for it.
    pub fn has_text(self) -> bool {
        !matches!(self, Self::Clear | Self::EndGroup | Self::Profile | Self::ProfileEnd)
    }
}

impl From<ConsoleLevel> for ConsoleKind {
    fn from(level: ConsoleLevel) -> Self {
        match level {
            ConsoleLevel::Debug => Self::Debug,
            ConsoleLevel::Info => Self::Info,
            ConsoleLevel::Warn => Self::Warning,
            ConsoleLevel::Error => Self::Error,
        }
    }
}

/// The origin of a console message that may be reported before the commit of its document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConsoleSource {
    /// The request that the message is about. The request of a document has the document's id.
    Request(Arc<str>),
    /// The JavaScript realm that logged it. Each document has its own realms.
    Realm(Arc<str>),
}

/// The beginnings of the texts of uncaught exceptions.
const UNCAUGHT: [&str; 2] = ["Uncaught (in promise) ", "Uncaught "];
/// The beginning of the text of a failed assertion.
pub(super) const ASSERTION: &str = "Assertion failed: ";
/// The beginning of each line of a stack.
const STACK_LINE: &str = "\n    at ";

/// A console message, an uncaught exception, or a message of the browser about the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleMessage {
    pub level: ConsoleLevel,
    pub kind: ConsoleKind,
    pub text: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The source location. Lines and columns count from 1.
    pub url: Option<String>,
    pub line: Option<u64>,
    pub column: Option<u64>,
    /// The stack of an uncaught error: its name, its message and its calls, as in `error.stack`.
    pub stack: Option<String>,
}

impl ConsoleMessage {
    /// Returns the message as the page passed it: without the words that the console adds to the
    /// texts of errors and failed assertions.
    pub fn as_passed(mut self) -> Self {
        let added: &[&str] = match self.kind {
            ConsoleKind::PageError => &UNCAUGHT,
            ConsoleKind::Assert => &[ASSERTION],
            _ => &[],
        };
        if let Some(stack) = &self.stack {
            self.text = stack[..stack.find(STACK_LINE).unwrap_or(stack.len())].to_owned();
        } else if let Some(text) = added.iter().find_map(|words| self.text.strip_prefix(words)) {
            self.text = text.to_owned();
        }
        self
    }
}

/// Returns the description of an error if it contains its stack.
pub(super) fn stack_in(description: &str) -> Option<String> {
    description.contains(STACK_LINE).then(|| description.to_owned())
}

/// A call stack, the innermost call first.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTrace {
    #[serde(default)]
    call_frames: Vec<CallFrame>,
}

/// Lines and columns count from 0.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CallFrame {
    #[serde(default)]
    function_name: String,
    url: String,
    line_number: u64,
    column_number: u64,
}

impl StackTrace {
    /// Returns the stack of an error as V8 formats it. `None` if it has no calls.
    pub fn of_error(&self, error: &str) -> Option<String> {
        if self.call_frames.is_empty() {
            return None;
        }
        let mut stack = error.to_owned();
        for CallFrame { function_name, url, line_number, column_number } in &self.call_frames {
            let place = format!("{url}:{}:{}", line_number + 1, column_number + 1);
            let call = match function_name.as_str() {
                "" => place,
                name => format!("{name} ({place})"),
            };
            // Writing to a string does not fail.
            let _ = write!(stack, "{STACK_LINE}{call}");
        }
        Some(stack)
    }

    /// Returns a console message that was logged at this location.
    pub fn message(
        self,
        level: ConsoleLevel,
        kind: ConsoleKind,
        text: String,
        at: u64,
    ) -> ConsoleMessage {
        let top = self.call_frames.into_iter().next();
        ConsoleMessage {
            level,
            kind,
            text,
            at,
            line: top.as_ref().map(|top| top.line_number + 1),
            column: top.as_ref().map(|top| top.column_number + 1),
            url: top.map(|top| top.url),
            stack: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn console_calls_have_cdps_names() {
        for kind in ConsoleKind::CALLS {
            assert_eq!(ConsoleKind::named(kind.as_str()), *kind);
        }
        assert_eq!(ConsoleKind::named("timeLog"), ConsoleKind::Log);
        assert_eq!(ConsoleKind::named("pageError"), ConsoleKind::Log);
    }

    #[test]
    fn a_message_as_passed_has_no_prefix_of_the_console() {
        let text = |kind, text: &str| {
            let message = StackTrace::default().message(ConsoleLevel::Error, kind, text.into(), 0);
            message.as_passed().text
        };
        assert_eq!(text(ConsoleKind::PageError, "Uncaught (in promise) no"), "no");
        assert_eq!(text(ConsoleKind::PageError, "Uncaught no"), "no");
        assert_eq!(text(ConsoleKind::Assert, "Assertion failed: no"), "no");
        assert_eq!(text(ConsoleKind::Error, "Uncaught no"), "Uncaught no");
    }

    #[test]
    fn a_stack_is_formatted_as_in_v8() {
        let trace: StackTrace = serde_json::from_value(serde_json::json!({"callFrames": [
            {"functionName": "f", "url": "http://a/x.js", "lineNumber": 2, "columnNumber": 8},
            {"functionName": "", "url": "http://a/", "lineNumber": 0, "columnNumber": 0},
        ]}))
        .unwrap();
        let stack = "Error: no\n    at f (http://a/x.js:3:9)\n    at http://a/:1:1";
        assert_eq!(trace.of_error("Error: no").as_deref(), Some(stack));
        assert_eq!(StackTrace::default().of_error("Error: no"), None);
    }
}
