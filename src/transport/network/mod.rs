//! The network server: Streamable HTTP at `/mcp`, the WebSocket at `/ws`, the JSON API at `/api`,
//! the dashboard at `/dashboard/`, and the endpoints for monitoring. One guard checks all requests.
//!
//! `listen` accepts connections, `guard` checks requests, `clients` maps ids to attached clients.
//! `streamable` and `websocket` implement MCP's transports, `api` serves programs without an MCP
//! client. `command` runs commands in the daemon. `other_servers` connects servers that share the
//! record.

mod api;
mod batch;
mod clients;
mod command;
mod dashboard;
mod events;
mod forwarded;
mod guard;
mod listen;
mod metrics;
mod other_servers;
mod private_socket;
mod problems;
mod rate;
mod refusals;
mod request;
mod streamable;
mod websocket;

use std::{net::SocketAddr, path::PathBuf, pin::pin, sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    extract::State,
    http::StatusCode,
    middleware,
    response::{IntoResponse, Response},
    routing::{any, get, post},
};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::command::{CommandFuture, CommandOutput, CommandRunner, ServerCalls};
use self::{
    clients::Clients,
    dashboard::{AccessGrants, PeerServers},
    events::EventBuffers,
    guard::{ForeignHost, Guard},
    listen::{ServerListener, StopSignals},
    metrics::Metrics,
    other_servers::OtherServers,
    problems::problem,
    refusals::RefusalLog,
};
pub(super) use self::{
    private_socket::DashboardSocket,
    websocket::{MESSAGES_READ, OWN_SESSION},
};
use super::{LifetimeLog, Token, local};
use crate::{
    config::{Config, Transport},
    dashboard::{Dashboard, SessionNameSource},
    error::{ErrorCode, Result, TroupeError},
    server::Server,
    session::SessionLocks,
    upstream::UpstreamHealth,
};

/// Timeout for pending responses when the server stops.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(400);

/// The state that all requests share.
#[derive(Clone)]
struct ServerState {
    server: Arc<Server>,
    clients: Arc<Clients>,
    protocol: Arc<LocalSessionManager>,
    events: Arc<EventBuffers>,
    metrics: Arc<Metrics>,
    /// Canceled to stop the server. Running calls may still finish.
    draining: CancellationToken,
    /// Canceled when they have finished or `--drain-timeout` has passed. Calls then stop.
    stop: CancellationToken,
    /// Canceled after the timeout for pending responses.
    end: CancellationToken,
    request_timeout: Duration,
    /// Whether the server listens on a socket that only its owner can use.
    is_private: bool,
    /// Runs commands for clients of the socket.
    commands: Option<Arc<dyn CommandRunner>>,
    /// The port that the server listens on; 0 on a socket.
    port: u16,
    dashboard: Arc<Dashboard>,
    grants: Arc<AccessGrants>,
    /// The servers that share the record.
    others: Arc<OtherServers>,
    /// Locked while a client is restored, so that no client is restored twice.
    restoring: Arc<SessionLocks>,
    /// The other servers that the dashboard shows.
    peers: Option<Arc<PeerServers>>,
}

impl ServerState {
    /// Creates the state of a server on a port or for the dashboard.
    fn new(
        server: Arc<Server>,
        tasks: TaskTracker,
        commands: Option<Arc<dyn CommandRunner>>,
    ) -> Self {
        let manager = server.registry().manager().clone();
        let config = manager.config();
        let clients = Clients::new(manager.clone(), config, tasks);
        let names = commands
            .clone()
            .map(|commands| -> SessionNameSource { Arc::new(move || commands.session_names()) });
        Self {
            request_timeout: config.request_timeout,
            is_private: config.socket.is_some(),
            dashboard: Arc::new(Dashboard::new(manager.clone(), names)),
            grants: Arc::default(),
            others: Arc::default(),
            restoring: Arc::default(),
            port: 0,
            metrics: Arc::new(Metrics::new(&server, &clients)),
            server,
            clients,
            protocol: Arc::default(),
            events: Arc::default(),
            draining: CancellationToken::new(),
            stop: CancellationToken::new(),
            end: CancellationToken::new(),
            peers: None,
            commands,
        }
    }
}

/// Where the server listens.
enum ServerAddress {
    Port(SocketAddr),
    Socket(PathBuf),
}

/// A server that is bound to its port or its socket.
pub struct NetworkServer {
    listener: ServerListener,
    address: ServerAddress,
    transport: Transport,
    base_path: String,
    token: Option<Token>,
    routes: Router,
    refusals: Arc<RefusalLog>,
    state: ServerState,
    tasks: TaskTracker,
}

impl NetworkServer {
    /// Binds the port or the socket.
    pub async fn bind(
        config: Arc<Config>,
        commands: Option<Arc<dyn CommandRunner>>,
    ) -> Result<Self> {
        let guard = Guard::new(&config).await?;
        Self::bind_with(config, guard, None, commands).await
    }

    /// Binds the port of a dashboard that shows all servers of this user. It serves nothing else.
    pub async fn bind_dashboard(config: Arc<Config>) -> Result<Self> {
        let guard = Guard::without_token(&config);
        let peers = PeerServers::of_this_user().ok_or_else(|| {
            TroupeError::new(ErrorCode::InternalError, "this user has no state directory")
                .suggestion("set HOME or XDG_STATE_HOME")
        })?;
        Self::bind_with(config, guard, Some(peers.into()), None).await
    }

    async fn bind_with(
        config: Arc<Config>,
        guard: Guard,
        peers: Option<Arc<PeerServers>>,
        commands: Option<Arc<dyn CommandRunner>>,
    ) -> Result<Self> {
        let server = Server::open(config.clone())?;
        let (listener, address) = match &config.socket {
            Some(path) => {
                let listener = ServerListener::Private(local::listen(path)?);
                (listener, ServerAddress::Socket(path.clone()))
            }
            None => bind_port(&config).await?,
        };
        let tasks = TaskTracker::new();
        let port = match &address {
            ServerAddress::Port(address) => address.port(),
            ServerAddress::Socket(_) => 0,
        };
        let state =
            ServerState { port, peers, ..ServerState::new(server, tasks.clone(), commands) };
        if let (ServerAddress::Port(address), None) = (&address, &state.peers) {
            other_servers::join(&state, &config, *address);
        }
        let (token, refusals) = (guard.token().cloned(), guard.refusals().clone());
        let routes = routes(&config, Arc::new(guard), state.clone());
        let (transport, base_path) = (config.transport, config.base_path.clone());
        Ok(Self { listener, address, transport, base_path, token, routes, refusals, state, tasks })
    }

    /// Returns the token that clients must send; `None` with `--no-auth`.
    pub fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Returns the URL for clients.
    pub fn url(&self) -> String {
        match (&self.address, self.transport) {
            (ServerAddress::Socket(path), _) => local::socket_url(path),
            (ServerAddress::Port(address), Transport::Websocket) => {
                format!("ws://{address}{}/ws", self.base_path)
            }
            (ServerAddress::Port(address), _) => format!("http://{address}{}/mcp", self.base_path),
        }
    }

    /// Creates a link that opens the dashboard, and returns its URL.
    pub fn dashboard_link(&self, read_only: bool, session: Option<Arc<str>>) -> String {
        let url = self.url();
        let page = url.strip_suffix("/mcp").unwrap_or(&url);
        let link = self.state.grants.create_link(read_only, session);
        format!("{page}/dashboard/#token={}", link.secret)
    }

    /// Serves until `stop` is canceled, then shuts the server down.
    pub async fn run(self, stop: CancellationToken) -> Result<()> {
        let _life = LifetimeLog::begin(Some(&self.url()));
        let Self { listener, address, routes, refusals, state, tasks, .. } = self;
        let manager = state.server.registry().manager().clone();
        // A dashboard of other servers needs no browser, and is not one of these servers.
        let _socket = state.peers.is_none().then(|| {
            manager.prepare();
            DashboardSocket::open(state.server.clone(), state.commands.clone())
        });
        let connections = TaskTracker::new();
        let limits = listen::ConnectionLimits {
            connections: manager.config().max_connections,
            head: state.request_timeout,
            idle: manager.config().socket.is_some().then_some(manager.config().daemon_idle),
        };
        let clients = state.clients.clone();
        let has_clients = move || clients.count() > 0;
        let closing = CancellationToken::new();
        let signals = StopSignals { stop: &closing, end: &state.stop };
        let accepting =
            listen::accept(listener, routes, limits, has_clients, refusals, &connections, signals);
        let mut accepting = pin!(accepting);
        // The listener of the daemon closes by itself when it has been idle.
        let is_closed = tokio::select! {
            () = &mut accepting => true,
            () = stop.cancelled() => false,
            () = state.draining.cancelled() => false,
        };
        if let ServerAddress::Socket(path) = address {
            // Without the socket, new clients start another server.
            let _ = std::fs::remove_file(path);
            closing.cancel();
        }
        state.draining.cancel();
        let draining = async {
            state.server.registry().drain().await;
            closing.cancel();
        };
        // On a port, new connections are accepted until the calls have finished: `/ready` answers.
        let closed = async {
            if !is_closed {
                accepting.await;
            }
        };
        tokio::join!(draining, closed);
        // Calls are canceled before the sessions end, so that they fail with the right reason.
        state.clients.cancel_calls().await;
        let others = async {
            state.stop.cancel();
            connections.close();
            if tokio::time::timeout(FLUSH_TIMEOUT, connections.wait()).await.is_err() {
                tracing::debug!(
                    open = connections.len(),
                    "closed connections with pending responses"
                );
            }
            state.end.cancel();
            manager.end_sessions().await;
        };
        // Both run concurrently, because the end of each session may take long.
        tokio::join!(state.clients.detach_all(), others);
        manager.shutdown().await;
        tasks.close();
        tasks.wait().await;
        Ok(())
    }
}

async fn bind_port(config: &Config) -> Result<(ServerListener, ServerAddress)> {
    let host = config.host.trim_matches(['[', ']']).to_owned();
    let bind_error = |error: std::io::Error| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("{host}:{} cannot be bound: {error}", config.port),
        )
        .suggestion("pass another --port, or 0 for a free one")
    };
    let listener = TcpListener::bind((host.as_str(), config.port)).await.map_err(bind_error)?;
    let address = listener.local_addr().map_err(bind_error)?;
    Ok((ServerListener::Tcp(listener), ServerAddress::Port(address)))
}

fn routes(config: &Config, guard: Arc<Guard>, state: ServerState) -> Router {
    let mut routes =
        Router::new().route("/ws", get(websocket::upgrade)).route(local::DRAIN_PATH, post(drain));
    if state.commands.is_some() {
        routes = routes.route(troupe_client::PATH, post(command::run));
    }
    let (mut api, mut public) = (Router::new(), Router::new());
    if state.peers.is_some() {
        routes = Router::new();
        public = dashboard::routes(&state);
    } else if config.transport == Transport::Http {
        routes = routes.route("/mcp", any(streamable::serve)).route("/metrics", get(metrics::show));
        api = api::routes(&state).merge(dashboard::link_routes());
        public = dashboard::routes(&state);
    }
    let cors = guard.cors();
    let routes = routes
        .layer(middleware::from_fn_with_state(guard.clone(), guard::authenticate))
        .merge(api.layer(middleware::from_fn_with_state(guard.clone(), guard::authenticate_api)))
        // People who open the dashboard have a cookie instead of the token.
        .merge(public)
        // Other servers send a secret instead of the token.
        .merge(other_servers::routes())
        .route(other_servers::MCP_PATH, any(streamable::serve_passed_on))
        // Load balancers need no token.
        .route("/health", get(health))
        .route("/ready", get(ready));
    let routes = if config.base_path.is_empty() {
        routes
    } else {
        Router::new().nest(&config.base_path, routes)
    };
    routes
        .fallback(not_served)
        .layer(cors)
        .layer(middleware::from_fn_with_state(guard, guard::admit))
        .layer(middleware::from_fn_with_state(state.clone(), metrics::count))
        .with_state(state)
}

/// Stops the server, as SIGTERM does. Running calls may still finish.
async fn drain(State(state): State<ServerState>) -> StatusCode {
    tracing::info!("the server is stopping: a client sent POST /admin/drain");
    state.draining.cancel();
    StatusCode::ACCEPTED
}

/// Responds whether the server accepts new sessions: 503 from the moment it begins to stop.
async fn ready(State(state): State<ServerState>) -> Response {
    if state.draining.is_cancelled() {
        let body = json!({"status": "draining"});
        return (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response();
    }
    Json(json!({"status": "ready"})).into_response()
}

async fn not_served() -> Response {
    problem(StatusCode::NOT_FOUND, "NOT_FOUND", "nothing is served at this path")
}

/// Responds whether the server can serve a session. A request with a foreign `Host` gets no further
/// information, because a web page may have sent it.
async fn health(
    State(state): State<ServerState>,
    foreign: Option<Extension<ForeignHost>>,
) -> Response {
    let manager = state.server.registry().manager();
    let sessions = manager.list().len();
    let store = manager.store().status();
    let failure = if state.draining.is_cancelled() {
        Some("the server is stopping".to_owned())
    } else if let Some(reason) = store.failure.as_ref().filter(|_| store.refuses) {
        Some(format!("the record cannot be written: {reason}"))
    } else {
        manager.browser_failure().map(|error| error.message)
    };
    let mut body =
        json!({"status": "ok", "version": crate::config::version(), "sessions": sessions});
    if let Some(upstreams) = state.server.registry().upstreams() {
        let states = upstreams.health_states();
        for state in &states {
            let count = body["upstreams"][state.as_str()].as_u64().unwrap_or_default();
            body["upstreams"][state.as_str()] = (count + 1).into();
        }
        // Some sessions can still be served.
        if states.contains(&UpstreamHealth::Degraded) {
            body["status"] = "degraded".into();
        }
    }
    if let Some(reason) = store.failure {
        body["status"] = "degraded".into();
        body["record"] = json!({"status": "unavailable", "reason": reason});
    }
    if foreign.is_some() {
        body = json!({"status": body["status"]});
    }
    match failure {
        Some(_) if foreign.is_some() => {
            (StatusCode::SERVICE_UNAVAILABLE, Json(json!({"status": "unavailable"})))
                .into_response()
        }
        None => Json(body).into_response(),
        Some(reason) => {
            body["status"] = "unavailable".into();
            body["reason"] = reason.into();
            (StatusCode::SERVICE_UNAVAILABLE, Json(body)).into_response()
        }
    }
}
