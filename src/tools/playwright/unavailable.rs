//! Tools that need Playwright's own process.

use serde_json::Value;

use super::{
    call::{PlaywrightCall, error},
    response::Response,
};
use crate::error::Result;

/// Returns the error of a tool that this server does not support.
fn unavailable(what: &str, instead: &str) -> Result<Response> {
    Err(error(format!("{what} is not available in this server. {instead}")))
}

const UPSTREAM: &str = "To use it, start Troupe with --upstream \"npx @playwright/mcp@latest\", which passes all calls to a Playwright process for each session.";

pub(super) async fn run_code(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable(
        "Running Playwright code",
        &format!("Use the other tools, or browser_evaluate for code in the page. {UPSTREAM}"),
    )
}

pub(super) async fn annotate(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable("Playwright's dashboard", UPSTREAM)
}

pub(super) async fn resume(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable("Debugging of Playwright scripts", UPSTREAM)
}

pub(super) async fn recording(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable("Recording of user actions", UPSTREAM)
}

pub(super) async fn tracing(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable("Tracing", UPSTREAM)
}

pub(super) async fn video(_call: PlaywrightCall, _given: Value) -> Result<Response> {
    unavailable("Video recording", UPSTREAM)
}
