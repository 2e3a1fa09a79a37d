//! Browsers that another program runs: at a fixed address (`--browser-endpoint`), at the address
//! that a command prints for each browser (`--browser-command`), or in a Selenium Grid.

mod command;
mod connect_failure;
mod grid;
mod output_mask;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

pub(super) use self::grid::GridFiles;
use self::{
    connect_failure::RemoteConnectFailure,
    grid::{GridSession, GridSessions, SlotLease},
};
use super::{
    EngineError, EngineResult,
    connection::{AttachFailure, BrowserAddress, BrowserConnection},
    process::BrowserShutdown,
};
use crate::config::{Config, redacted_endpoint};

/// Maximum number of further attempts to connect, if a connection has succeeded before.
const RETRIES: u32 = 4;
/// The pause before the first further attempt. Each later pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// A connection is closed this long before its browser expires, so that its sessions resume in the
/// next browser before the service ends this one.
const EXPIRY_MARGIN: Duration = Duration::from_secs(2);
/// How long a session waits for a new browser of the Grid before it shares a running one.
const GRID_WAIT_LIMIT: Duration = Duration::from_secs(10);

/// The protocol of a remote browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteProtocol {
    Cdp,
    Bidi,
}

/// Connects to remote browsers.
pub struct RemoteBrowsers {
    config: Arc<Config>,
    /// The Selenium Grid, if the browsers are its sessions.
    grid: Option<Arc<GridSessions>>,
    /// Whether a connection has succeeded. A later failure may be temporary.
    has_connected: AtomicBool,
    stopped: CancellationToken,
}

/// A connected remote browser.
pub struct RemoteBrowser {
    pub connection: BrowserConnection,
    pub ending: BrowserShutdown,
    /// The capabilities of the WebDriver session, if the connection already belongs to one.
    pub capabilities: Option<Map<String, Value>>,
    /// The files on the browser's machine, if the connection's service transfers files.
    pub files: Option<Arc<GridFiles>>,
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
            grid: GridSessions::of(config),
            has_connected: AtomicBool::new(false),
            stopped: CancellationToken::new(),
        })
    }

    /// Prevents further attempts to connect, and ends the current one.
    pub fn stop(&self) {
        self.stopped.cancel();
        if let Some(grid) = &self.grid {
            grid.stop();
        }
    }

    /// Ends the browsers that earlier servers left in the Grid. Does not wait.
    pub fn end_orphaned_browsers(&self) {
        if let Some(grid) = &self.grid {
            grid.end_orphaned_browsers();
        }
    }

    /// Waits until the sessions of the Grid have ended, within a limit.
    pub async fn end(&self) {
        if let Some(grid) = &self.grid {
            grid.end().await;
        }
    }

    /// Returns how long a session waits for a new browser before it shares a running one.
    pub fn launch_wait_limit(&self) -> Option<Duration> {
        self.grid.as_ref().map(|_| GRID_WAIT_LIMIT)
    }

    /// Returns what a connection waits for, for progress messages.
    pub fn wait_reason(&self) -> Option<&'static str> {
        self.grid.as_ref().filter(|grid| grid.is_waiting())?;
        Some("waiting for a browser of the Selenium Grid")
    }

    /// Connects to the next browser. If a connection has succeeded before, repeats failed attempts
    /// with exponential back-off.
    pub async fn connect(&self, protocol: RemoteProtocol) -> EngineResult<RemoteBrowser> {
        tokio::select! {
            connected = self.connect_repeatedly(protocol) => connected
                .map_err(|failure| failure.into_engine_error(|| self.advice(protocol))),
            () = self.stopped.cancelled() => Err(EngineError::BrowserGone),
        }
    }

    async fn connect_repeatedly(
        &self,
        protocol: RemoteProtocol,
    ) -> Result<RemoteBrowser, RemoteConnectFailure> {
        let retries = if self.has_connected.load(Ordering::Acquire) { RETRIES } else { 0 };
        let mut pause = FIRST_PAUSE;
        for _ in 0..retries {
            match self.attempt(protocol).await {
                Err(failure) if !failure.is_permanent() => tracing::warn!(
                    reason = failure.reason(),
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

    async fn attempt(
        &self,
        protocol: RemoteProtocol,
    ) -> Result<RemoteBrowser, RemoteConnectFailure> {
        if let Some(grid) = &self.grid {
            let browser = connect_to_slot(grid.next(protocol).await?).await?;
            self.has_connected.store(true, Ordering::Release);
            return Ok(browser);
        }
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
        Ok(RemoteBrowser { connection, ending, capabilities: None, files: None })
    }

    async fn address(&self) -> Result<RemoteAddress, AttachFailure> {
        let own = &self.config.browser_headers;
        let Some(command) = &self.config.browser_command else {
            let url = self.config.browser_endpoint.clone().unwrap_or_default();
            return Ok(RemoteAddress { url, headers: own.clone(), remaining: None });
        };
        let mut address =
            command::run_for_address(command, self.config.browser_command_timeout).await?;
        // A printed header replaces one of the configuration.
        address.headers.splice(0..0, own.iter().cloned());
        Ok(address)
    }

    fn advice(&self, protocol: RemoteProtocol) -> String {
        if self.grid.is_some() {
            return "check that the Grid runs: its /status must have a node that is UP".to_owned();
        }
        match (&self.config.browser_command, protocol) {
            (Some(_), _) => "run the command of --browser-command in a terminal: it must print {\"url\": \"wss://…\"} of a running browser",
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

/// Connects to a browser of the Grid.
async fn connect_to_slot(session: GridSession) -> Result<RemoteBrowser, AttachFailure> {
    let GridSession { socket, capabilities, lease, files } = session;
    let connection = BrowserConnection::connect(socket).await.map_err(|failure| {
        let reason = format!("no browser responds in the Selenium Grid: {}", failure.reason);
        AttachFailure { reason, ..failure }
    })?;
    let files = Arc::new(GridFiles::new(files, connection.closed()));
    let (ended, unused) = (lease.ended.clone(), CancellationToken::new());
    let release = unused.clone().drop_guard();
    hold_slot(connection.clone(), lease, unused);
    let ending = BrowserShutdown::of_grid(ended, release);
    Ok(RemoteBrowser { connection, ending, capabilities: Some(capabilities), files: Some(files) })
}

/// Keeps the slot until the connection ends. Closes the connection when the slot is lost, or when
/// `unused` is canceled. The task ends with the connection.
fn hold_slot(connection: BrowserConnection, lease: SlotLease, unused: CancellationToken) {
    tokio::spawn(async move {
        tokio::select! {
            () = connection.closed().cancelled_owned() => {}
            () = lease.evicted.cancelled() => connection.close(),
            () = unused.cancelled() => connection.close(),
        }
        drop(lease);
    });
}

/// Closes the connection shortly before its browser expires. The task ends with the connection.
fn close_before_expiry(connection: BrowserConnection, remaining: Duration) {
    let time_to_close = remaining.saturating_sub(EXPIRY_MARGIN);
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(time_to_close) => {
                tracing::info!("a remote browser expires; its sessions resume in the next one");
                connection.close();
            }
            () = connection.closed().cancelled_owned() => {}
        }
    });
}
