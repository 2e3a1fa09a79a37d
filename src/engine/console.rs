//! Console messages and their stack traces, which have the same format in CDP and BiDi.

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

/// A console message, an uncaught exception, or a message of the browser about the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleMessage {
    pub level: ConsoleLevel,
    pub text: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// The source location. Lines and columns count from 1.
    pub url: Option<String>,
    pub line: Option<u64>,
    pub column: Option<u64>,
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
    url: String,
    line_number: u64,
    column_number: u64,
}

impl StackTrace {
    /// Returns a console message that was logged at this location.
    pub fn message(self, level: ConsoleLevel, text: String, at: u64) -> ConsoleMessage {
        let top = self.call_frames.into_iter().next();
        ConsoleMessage {
            level,
            text,
            at,
            line: top.as_ref().map(|top| top.line_number + 1),
            column: top.as_ref().map(|top| top.column_number + 1),
            url: top.map(|top| top.url),
        }
    }
}
