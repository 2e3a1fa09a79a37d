//! How clients connect to the server. Uses rmcp and axum.

mod connect;
mod framing;
mod keep_alive;
mod lines;
mod messages;
mod network;
mod stdio;
mod token;

use std::{sync::Arc, time::Instant};

use tokio_util::sync::CancellationToken;

pub use self::{connect::call_connected, token::Token};
use self::{connect::serve_connected, network::NetworkServer, stdio::serve_stdio};
use crate::{
    config::{Config, Transport},
    error::Result,
};

/// Logs the start of a server, and its stop when it is dropped.
struct LoggedLife(Instant);

impl LoggedLife {
    /// `url`: where clients find it, if not on stdin and stdout.
    fn begin(url: Option<&str>) -> Self {
        let (version, pid) = (env!("CARGO_PKG_VERSION"), std::process::id());
        tracing::info!(version, pid, url, "the server has started");
        Self(Instant::now())
    }
}

impl Drop for LoggedLife {
    fn drop(&mut self) {
        tracing::info!(uptime_s = self.0.elapsed().as_secs(), "the server has stopped");
    }
}

/// A server by the transport that its configuration names.
pub enum Endpoint {
    Stdio(Box<Config>),
    /// A stdio proxy for another server.
    Face(Box<Config>),
    Network(Box<NetworkServer>),
}

impl Endpoint {
    /// Takes what it needs (a port, say), so that clients can come.
    pub async fn open(config: Config) -> Result<Self> {
        Ok(match config.transport {
            Transport::Stdio if config.connect.is_some() => Self::Face(Box::new(config)),
            Transport::Stdio => Self::Stdio(Box::new(config)),
            Transport::Http | Transport::Websocket => {
                Self::Network(Box::new(NetworkServer::bind(Arc::new(config)).await?))
            }
        })
    }

    /// Where clients find it, if not on stdin and stdout.
    pub fn url(&self) -> Option<String> {
        match self {
            Self::Stdio(_) | Self::Face(_) => None,
            Self::Network(server) => Some(server.url()),
        }
    }

    /// The token that clients must send, if there is one.
    pub fn token(&self) -> Option<&Token> {
        match self {
            Self::Stdio(_) | Self::Face(_) => None,
            Self::Network(server) => server.token(),
        }
    }

    /// Serves until `stop` is cancelled or its client has gone; then ends everything.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        match self {
            Self::Stdio(config) => serve_stdio(*config, stop).await,
            Self::Face(config) => serve_connected(*config, stop).await,
            Self::Network(server) => server.run(stop).await,
        }
    }
}
