//! How clients connect to the server. Uses rmcp and axum.

mod connect;
mod framing;
mod keep_alive;
mod lines;
mod local;
mod messages;
mod network;
mod stdio;
mod token;

use std::{sync::Arc, time::Instant};

use tokio_util::sync::CancellationToken;

use self::{connect::serve_connected, network::NetworkServer, stdio::serve_stdio};
pub use self::{
    connect::{DashboardLink, call_connected, create_dashboard_link},
    local::{
        CommandCalls, DaemonClient, DaemonFolder, DaemonInfo, DaemonResult, FolderLock, socket_url,
    },
    network::{CommandFuture, CommandOutput, CommandRunner, ServerCalls},
    token::Token,
};
use crate::{
    config::{Config, Transport},
    error::Result,
};

/// Logs the start of a server, and its stop when it is dropped.
struct LifetimeLog(Instant);

impl LifetimeLog {
    /// Logs the start. `url` is the URL for clients, `None` over stdio.
    fn begin(url: Option<&str>) -> Self {
        let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
        tracing::info!(version, pid, url, "the server has started");
        Self(Instant::now())
    }
}

impl Drop for LifetimeLog {
    fn drop(&mut self) {
        tracing::info!(uptime_s = self.0.elapsed().as_secs(), "the server has stopped");
    }
}

/// A server with the transport of its configuration.
pub enum Endpoint {
    Stdio(Box<Config>),
    /// A stdio proxy for another server.
    Proxy(Box<Config>),
    Network(Box<NetworkServer>),
}

impl Endpoint {
    /// Opens the resources of the transport, such as the port.
    pub async fn open(config: Config) -> Result<Self> {
        Ok(match config.transport {
            Transport::Stdio if config.connect.is_some() => Self::Proxy(Box::new(config)),
            Transport::Stdio => Self::Stdio(Box::new(config)),
            Transport::Http | Transport::Websocket => {
                Self::Network(Box::new(NetworkServer::bind(Arc::new(config), None).await?))
            }
        })
    }

    /// Opens a port for a dashboard that shows all servers of this user. Returns the server and a
    /// link that opens the dashboard, with all sessions or one.
    pub async fn open_dashboard(config: Config, session: Option<&str>) -> Result<(Self, String)> {
        let read_only = config.read_only;
        let server = NetworkServer::bind_dashboard(Arc::new(config)).await?;
        let link = server.dashboard_link(read_only, session.map(Into::into));
        Ok((Self::Network(Box::new(server)), link))
    }

    /// Opens the socket of the daemon, which also runs commands.
    pub async fn open_daemon(config: Config, commands: Arc<dyn CommandRunner>) -> Result<Self> {
        let server = NetworkServer::bind(Arc::new(config), Some(commands)).await?;
        Ok(Self::Network(Box::new(server)))
    }

    /// Returns the URL for clients; `None` over stdio.
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Stdio(_) | Self::Proxy(_) => None,
            Self::Network(server) => Some(server.url()),
        }
    }

    /// Returns the token that clients must send, if there is one.
    pub fn token(&self) -> Option<&Token> {
        match self {
            Self::Stdio(_) | Self::Proxy(_) => None,
            Self::Network(server) => server.token(),
        }
    }

    /// Serves until `stop` is canceled or the only client has disconnected, then shuts the server
    /// down.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        match self {
            Self::Stdio(config) => serve_stdio(*config, stop).await,
            Self::Proxy(config) => serve_connected(*config, stop).await,
            Self::Network(server) => server.run(stop).await,
        }
    }
}
