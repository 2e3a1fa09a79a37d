//! Servers that share the record, behind one load balancer.
//!
//! - Each client belongs to one server, and so does each session. Requests of a client that another
//!   server serves are passed on to it (`requests`), and calls to a session that another server
//!   holds are forwarded to it (`calls`).
//! - If the other server has ended, this one continues to serve the client (`restore`). Its
//!   sessions are resumed by their next call.
//! - Servers find each other in the record. Each has a secret there, which the requests of the
//!   others contain.

mod calls;
mod requests;
mod restore;

use std::{
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::Response,
    routing::post,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use subtle::ConstantTimeEq;
use tokio::time::timeout;

use self::calls::ServerCallForwarder;
pub(super) use self::restore::{ClientLocation, locate};
use super::{ServerState, problem};
use crate::{config::Config, tools::ServerEndpoint};

/// The path for calls, and that for requests of clients.
const CALLS_PATH: &str = "/servers/calls";
pub(super) const MCP_PATH: &str = "/servers/mcp";
/// The header with the secret of the server that gets the request.
pub(super) const SECRET: HeaderName = HeaderName::from_static("troupe-server-secret");
/// Timeout for a connection to another server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Timeout for the head of a response. A server that is frozen accepts connections, and does not
/// respond.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an unused connection is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the route for the calls of other servers.
pub(super) fn routes() -> Router<ServerState> {
    Router::new().route(CALLS_PATH, post(calls::answer))
}

/// Registers this server, and lets its calls be forwarded.
pub(super) fn join(state: &ServerState, config: &Config, listens_at: SocketAddr) {
    let manager = state.server.registry().manager();
    if !manager.store().is_shared() {
        return;
    }
    let url = config
        .advertise_url
        .clone()
        .unwrap_or_else(|| format!("http://{}{}", reachable(listens_at), config.base_path));
    tracing::info!(url, "other servers that share the record reach this server at this URL");
    manager.store().register_url(url.trim_end_matches('/').to_owned());
    state.server.registry().set_forwarder(Arc::new(ServerCallForwarder(state.others.clone())));
}

/// Replaces the address of all interfaces by the one from which this machine reaches others.
fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // Connecting sends nothing. The address is reserved for documentation.
    let local = UdpSocket::bind((address.ip(), 0)).and_then(|socket| {
        socket.connect((IpAddr::from([192, 0, 2, 1]), 9))?;
        socket.local_addr()
    });
    let ip = local.map_or_else(|_| IpAddr::from([127, 0, 0, 1]), |local| local.ip());
    SocketAddr::new(ip, address.port())
}

/// Why another server did not respond.
#[derive(Debug, thiserror::Error)]
enum ServerError {
    /// The request was not sent.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("{0}")]
    NoResponse(String),
}

/// The connections to other servers.
pub(super) struct OtherServers(Client<HttpConnector, Body>);

impl Default for OtherServers {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build(connector);
        Self(client)
    }
}

impl OtherServers {
    /// Sends a request to `path` of `server`. Returns the response when its head has arrived.
    async fn send(
        &self,
        server: &ServerEndpoint,
        path: &str,
        mut request: Request,
    ) -> Result<Response, ServerError> {
        let invalid = |error: &dyn std::fmt::Display| ServerError::Unreachable(error.to_string());
        let uri = format!("{}{path}", server.url).parse().map_err(|error| invalid(&error))?;
        *request.uri_mut() = uri;
        let secret = HeaderValue::from_str(&server.secret).map_err(|error| invalid(&error))?;
        request.headers_mut().insert(SECRET, secret);
        match timeout(HEAD_TIMEOUT, self.0.request(request)).await {
            Ok(Ok(response)) => Ok(response.map(Body::new)),
            Ok(Err(error)) => {
                let message = crate::error::with_causes(&error);
                Err(match error.is_connect() {
                    true => ServerError::Unreachable(message),
                    false => ServerError::NoResponse(message),
                })
            }
            Err(_) => Err(ServerError::NoResponse(format!(
                "it did not respond within {} s",
                HEAD_TIMEOUT.as_secs()
            ))),
        }
    }
}

/// Returns the response to a request without the secret of this server; `None` if it has the
/// secret, which replaces the token.
pub(super) fn refusal(state: &ServerState, headers: &HeaderMap) -> Option<Response> {
    let secret = state.server.registry().manager().store().own_secret();
    let has_secret = secret.is_some_and(|secret| {
        headers.get(SECRET).is_some_and(|sent| bool::from(sent.as_bytes().ct_eq(secret.as_bytes())))
    });
    let message = "only a server that shares the record can send this request";
    (!has_secret).then(|| problem(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message))
}
