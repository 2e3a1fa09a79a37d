//! The steps of a launch that the engines share.

use super::{EngineError, EngineResult, install};
use crate::config::{Config, display_present};

/// The suggestion if a browser does not start.
pub(super) const DOCTOR_HINT: &str = "run `troupe doctor`: it lists missing programs and files";

/// The number of output lines in an error message.
const MAX_LINES: usize = 3;

/// Returns whether to launch headless. Logs a warning if the reason is a missing display.
pub(super) fn headless_mode(config: &Config) -> EngineResult<bool> {
    let (headless, warning) = config
        .effective_headless(display_present())
        .map_err(|error| EngineError::Launch { reason: error.to_string(), suggestion: None })?;
    if let Some(warning) = warning {
        tracing::warn!("{warning}");
    }
    Ok(headless)
}

/// Finds the configured browser.
pub(super) fn find_browser(
    config: &Config,
    headless: bool,
) -> EngineResult<install::InstalledBrowser> {
    install::find(config.browser, headless, config).map_err(|error| EngineError::Launch {
        suggestion: error.suggestion().map(str::to_owned),
        reason: error.to_string(),
    })
}

/// Returns the last lines of a program's output that are not empty, as one line.
pub(super) fn last_lines<'a>(output: impl IntoIterator<Item = &'a str>) -> String {
    let lines: Vec<&str> =
        output.into_iter().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(MAX_LINES)..].join("; ")
}
