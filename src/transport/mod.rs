//! Bytes in, messages out: how clients reach the server. rmcp and axum are known here.

mod connect;
mod framing;
mod lines;
mod messages;
mod network;
mod stdio;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use self::{connect::serve_connected, network::NetworkServer, stdio::serve_stdio};
use crate::{
    config::{Config, Transport},
    error::Result,
};

/// A server by the transport that its configuration names.
pub enum Endpoint {
    Stdio(Box<Config>),
    /// The stdio face of another server.
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

    /// Serves until `stop` is cancelled or its client has gone; then ends everything.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        match self {
            Self::Stdio(config) => serve_stdio(*config, stop).await,
            Self::Face(config) => serve_connected(*config, stop).await,
            Self::Network(server) => server.run(stop).await,
        }
    }
}
