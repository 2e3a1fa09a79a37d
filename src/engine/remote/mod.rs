//! Browsers that another program runs: at a fixed address (`--browser-endpoint`), or at the address
//! that a command prints for each browser (`--browser-command`).

mod command;
mod output_mask;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio_util::sync::CancellationToken;

use super::{
    EngineError, EngineResult,
    connection::{AttachFailure, BrowserAddress, BrowserConnection},
    process::BrowserShutdown,
};
use crate::config::{Config, redacted_endpoint};

/// The number of further attempts to connect, if a connection succeeded before.
const RETRIES: u32 = 4;
/// The pause before the first of them. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A connection is closed this long before its browser expires, so that its sessions resume in the
/// next browser before the service ends this one.
const EXPIRY_MARGIN: Duration = Duration::from_secs(2);

/// The protocol of a remote browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RemoteProtocol {
    Cdp,
    Bidi,
}

/// Connects to remote browsers.
pub(super) struct RemoteBrowsers {
    config: Arc<Config>,
    /// Whether a connection has succeeded: then a failure may be temporary.
    has_connected: AtomicBool,
    stopped: CancellationToken,
}

/// A connected remote browser.
pub(super) struct RemoteBrowser {
    pub connection: BrowserConnection,
    pub ending: BrowserShutdown,
}

/// The address of one remote browser.
struct RemoteAddress {
    url: String,
    /// `NAME=VALUE`
    headers: Vec<String>,
    /// How long the browser will run, if that is known.
    remaining: Option<Duration>,
}

impl RemoteBrowsers {
    /// Returns `None` if the configuration names no remote browser.
    pub fn of(config: &Arc<Config>) -> Option<Self> {
        let is_remote = config.browser_endpoint.is_some() || config.browser_command.is_some();
        is_remote.then(|| Self {
            config: config.clone(),
            has_connected: AtomicBool::new(false),
            stopped: CancellationToken::new(),
        })
    }

    /// Prevents further attempts, and ends the current one.
    pub fn stop(&self) {
        self.stopped.cancel();
    }

    /// Connects to the next browser. If a connection succeeded before, repeats failed attempts
    /// after growing pauses.
    pub async fn connect(&self, protocol: RemoteProtocol) -> EngineResult<RemoteBrowser> {
        tokio::select! {
            connected = self.connect_repeatedly(protocol) => connected.map_err(|failure| {
                let suggestion = failure.suggestion.unwrap_or_else(|| self.advice(protocol));
                EngineError::Launch { reason: failure.reason, suggestion: Some(suggestion) }
            }),
            () = self.stopped.cancelled() => Err(EngineError::BrowserGone),
        }
    }

    async fn connect_repeatedly(
        &self,
        protocol: RemoteProtocol,
    ) -> Result<RemoteBrowser, AttachFailure> {
        let retries = if self.has_connected.load(Ordering::Acquire) { RETRIES } else { 0 };
        let mut pause = FIRST_PAUSE;
        for _ in 0..retries {
            match self.attempt(protocol).await {
                Err(failure) if !failure.is_permanent => tracing::warn!(
                    reason = failure.reason,
                    "no connection to a remote browser; trying again in {} ms",
                    pause.as_millis()
                ),
                other => return other,
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
        self.attempt(protocol).await
    }

    async fn attempt(&self, protocol: RemoteProtocol) -> Result<RemoteBrowser, AttachFailure> {
        let RemoteAddress { url, headers, remaining } = self.address().await?;
        let connection = open(protocol, &url, &headers).await.map_err(|failure| {
            let shown = redacted_endpoint(&url);
            let reason = format!("no browser responds at `{shown}`: {}", failure.reason);
            AttachFailure { reason, ..failure }
        })?;
        self.has_connected.store(true, Ordering::Release);
        if let Some(remaining) = remaining {
            close_before_expiry(connection.clone(), remaining);
        }
        let closed = connection.closed();
        let ending = if self.config.terminates_remote_browsers() {
            BrowserShutdown::of_remote(closed)
        } else {
            BrowserShutdown::of_connection(closed)
        };
        Ok(RemoteBrowser { connection, ending })
    }

    async fn address(&self) -> Result<RemoteAddress, AttachFailure> {
        let own = &self.config.browser_headers;
        let Some(command) = &self.config.browser_command else {
            let url = self.config.browser_endpoint.clone().unwrap_or_default();
            return Ok(RemoteAddress { url, headers: own.clone(), remaining: None });
        };
        let mut address = command::obtain(command, self.config.browser_command_timeout).await?;
        // A printed header replaces one of the configuration.
        address.headers.splice(0..0, own.iter().cloned());
        Ok(address)
    }

    fn advice(&self, protocol: RemoteProtocol) -> String {
        match (&self.config.browser_command, protocol) {
            (Some(_), _) => "run the command of --browser-command by hand: it must print {\"url\": \"wss://…\"} of a running browser",
            (None, RemoteProtocol::Cdp) => {
                "start one with --remote-debugging-port=9222 and pass its address"
            }
            (None, RemoteProtocol::Bidi) => {
                "start one with --remote-debugging-port=9222 --remote-allow-system-access and pass its address"
            }
        }
        .to_owned()
    }
}

async fn open(
    protocol: RemoteProtocol,
    url: &str,
    headers: &[String],
) -> Result<BrowserConnection, AttachFailure> {
    let address = BrowserAddress::new(url, headers)?;
    let address = match protocol {
        RemoteProtocol::Cdp => address,
        RemoteProtocol::Bidi => address.into_websocket().with_segment("session"),
    };
    BrowserConnection::connect(address).await
}

/// Closes the connection shortly before its browser expires. The task ends with the connection.
fn close_before_expiry(connection: BrowserConnection, remaining: Duration) {
    let left = remaining.saturating_sub(EXPIRY_MARGIN);
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(left) => {
                tracing::info!("a remote browser expires; its sessions resume in the next one");
                connection.close();
            }
            () = connection.closed().cancelled_owned() => {}
        }
    });
}
