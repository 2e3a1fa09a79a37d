//! The errors of a command that the client reports itself, because the daemon does not respond.

use std::{io, time::Duration};

use serde::Serialize;
use troupe_client::UNAVAILABLE;

use crate::{command::is_timeout, output};

/// The exit code of `TIMEOUT`.
const TIMED_OUT: u8 = 24;

/// An error. Its JSON is the same as that of the Node program.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    error_code: &'static str,
    message: String,
    retryable: bool,
    suggestion: &'static str,
    #[serde(skip)]
    exit: u8,
}

impl Failure {
    pub fn new(error: &io::Error, silence: Duration) -> Self {
        if is_timeout(error) {
            let silence = silence.as_millis();
            return Self {
                error_code: "TIMEOUT",
                message: format!(
                    "the daemon has not responded for {silence} ms; the command may have run"
                ),
                retryable: true,
                suggestion: "look at `troupe daemon logs`, or end the daemon with `troupe daemon stop`",
                exit: TIMED_OUT,
            };
        }
        Self {
            error_code: "SERVER_UNAVAILABLE",
            message: format!("the daemon ended during the command, which may have run: {error}"),
            retryable: true,
            suggestion: "look at the page with `troupe snapshot`, and at `troupe daemon logs`",
            exit: UNAVAILABLE,
        }
    }

    /// Prints the error, and returns the exit code.
    pub fn print(&self, is_json: bool) -> u8 {
        let Self { error_code, message, suggestion, .. } = self;
        let text = match serde_json::to_string(self) {
            Ok(json) if is_json => json,
            _ => format!("error: {message} ({error_code})\nnext: {suggestion}"),
        };
        output::err(&format!("{text}\n"));
        self.exit
    }
}
