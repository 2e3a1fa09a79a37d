//! `troupe`: serves MCP on stdin and stdout until either ends.

use std::io::IsTerminal;

use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::{FAILED, OK, logging, misused};
use crate::config::Config;

pub(super) async fn run(config: Config, screen: &Screen, stop: CancellationToken) -> i32 {
    if let Err(usage) = logging::start(&config.log) {
        return misused(screen, &usage);
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    if std::io::stdin().is_terminal() {
        screen.err("troupe: serving MCP on stdin and stdout, for a client; `troupe config CLIENT` tells how, Ctrl+D ends");
    }
    match crate::transport::serve_stdio(config, stop).await {
        Ok(()) => OK,
        Err(error) => {
            let suggestion = error.suggestion.map(|text| format!("; {text}")).unwrap_or_default();
            screen.err(&format!("troupe: {}{suggestion}", error.message));
            FAILED
        }
    }
}
