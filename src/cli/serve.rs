//! `troupe`: serves MCP on stdin and stdout until either is closed, or on a port until the server
//! is stopped.

use std::io::IsTerminal;

use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::usage::UsageError;
use super::{FAILED, MISUSED, OK, logging, misused, report};
use crate::config::{Config, Transport, display_present};
use crate::error::{ErrorCode, TroupeError};
use crate::policy::vault::Vault;
use crate::transport::{Endpoint, Token};

pub(super) async fn run(config: Config, screen: &Screen, stop: CancellationToken) -> i32 {
    let vault = match Vault::open(&config) {
        Ok(vault) => vault,
        Err(error) => {
            report(screen, &error);
            return MISUSED;
        }
    };
    if let Err(usage) = logging::start(&config.log, vault, &[]) {
        return misused(screen, &usage);
    }
    let console = Console { screen, json: config.log.writes_json_to_stderr() };
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    // Reports this error at startup, not in every call.
    if !config.uses_running_browser()
        && config.connect.is_none()
        && config.upstream.command.is_none()
        && let Err(error) = config.effective_headless(display_present())
    {
        return console.misused(&error.into());
    }
    if config.transport == Transport::Stdio && std::io::stdin().is_terminal() {
        console.inform("troupe: serving MCP on stdin and stdout; `troupe config CLIENT` prints the configuration for a client; press Ctrl+D to end");
    }
    let served = async {
        let server = Endpoint::open(config).await?;
        if let Some(url) = server.url() {
            console.inform(&access(server.token()));
            console.inform(&format!("troupe: serving MCP at {url}"));
        }
        server.run(stop).await
    };
    match served.await {
        Ok(()) => OK,
        Err(error) => {
            console.report(&error);
            // The configuration is wrong, for example because it names an unknown tool.
            if error.code == ErrorCode::InvalidParameters { MISUSED } else { FAILED }
        }
    }
}

/// Writes messages for the user to stderr: as lines of text, or as log entries if every line there
/// must be JSON.
struct Console<'a> {
    screen: &'a Screen,
    json: bool,
}

impl Console<'_> {
    fn inform(&self, text: &str) {
        match self.json {
            true => {
                tracing::info!(target: logging::NOTICE, "{}", text.trim_start_matches("troupe: "))
            }
            false => self.screen.err(text),
        }
    }

    fn report(&self, error: &TroupeError) {
        let advice = error.suggestion.as_deref().unwrap_or_default();
        match self.json {
            true => tracing::error!(code = error.code.as_str(), advice, "{}", error.message),
            false => report(self.screen, error),
        }
    }

    fn misused(&self, usage: &UsageError) -> i32 {
        if !self.json {
            return misused(self.screen, usage);
        }
        tracing::error!("{usage}");
        MISUSED
    }
}

/// Describes who can use a server on a port.
fn access(token: Option<&Token>) -> String {
    match token.map(Token::file) {
        None => {
            "troupe: no token is required (--no-auth): every user of this machine can use the server"
                .to_owned()
        }
        Some(None) => "troupe: clients must send the configured token".to_owned(),
        Some(Some(file)) => format!(
            "troupe: clients must send the token in {}; `troupe config CLIENT --http` prints a client's configuration",
            file.display()
        ),
    }
}
