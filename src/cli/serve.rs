//! `troupe`: serves MCP on stdin and stdout until either ends, or on a port until it is stopped.

use std::io::IsTerminal;

use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::{FAILED, MISUSED, OK, logging, misused, report};
use crate::config::{Config, Transport, display_present};
use crate::error::ErrorCode;
use crate::policy::vault::Vault;
use crate::transport::Endpoint;

pub(super) async fn run(config: Config, screen: &Screen, stop: CancellationToken) -> i32 {
    let vault = match Vault::open(&config) {
        Ok(vault) => vault,
        Err(error) => {
            report(screen, &error);
            return MISUSED;
        }
    };
    if let Err(usage) = logging::start(&config.log, vault) {
        return misused(screen, &usage);
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    // Better said now than by every call.
    if config.browser_endpoint.is_none()
        && config.connect.is_none()
        && config.upstream.command.is_none()
        && let Err(error) = config.effective_headless(display_present())
    {
        return misused(screen, &error.into());
    }
    if config.transport == Transport::Stdio && std::io::stdin().is_terminal() {
        screen.err("troupe: serving MCP on stdin and stdout, for a client; `troupe config CLIENT` tells how, Ctrl+D ends");
    }
    let served = async {
        let server = Endpoint::open(config).await?;
        if let Some(url) = server.url() {
            screen.err(&format!("troupe: serving MCP at {url}"));
        }
        server.run(stop).await
    };
    match served.await {
        Ok(()) => OK,
        Err(error) => {
            report(screen, &error);
            // A tool that is not there, for instance: the configuration is wrong, not the server.
            if error.code == ErrorCode::InvalidParameters { MISUSED } else { FAILED }
        }
    }
}
