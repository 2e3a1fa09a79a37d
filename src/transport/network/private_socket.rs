//! The private socket of a server, which `troupe dashboard` connects to. It serves only the
//! dashboard.

use std::{io, sync::Arc};

use axum::{Router, middleware};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle, task::TaskTracker};

use super::{
    CommandRunner, ServerState, dashboard,
    guard::{self, Guard},
    listen::{self, ConnectionLimits, ServerListener, StopSignals},
    not_served,
};
use crate::{
    server::Server,
    transport::local::{self, RegisteredServer, ServersFolder},
};

/// Maximum number of connections.
const MAX_CONNECTIONS: usize = 64;

/// The socket of this server. It closes when this value is dropped.
pub(in crate::transport) struct DashboardSocket {
    _task: AbortOnDropHandle<()>,
}

impl DashboardSocket {
    /// Registers `server` in the state directory of the user, and accepts connections of this user.
    /// `commands` knows the names of sessions. Returns immediately. A failure is only logged,
    /// because the server works without the socket.
    pub fn open(server: Arc<Server>, commands: Option<Arc<dyn CommandRunner>>) -> Self {
        let serving = async move {
            match register().await {
                Ok(Some(socket)) => serve(server, commands, socket).await,
                Ok(None) => {}
                Err(error) => tracing::debug!(%error, "`troupe dashboard` cannot find this server"),
            }
        };
        Self { _task: AbortOnDropHandle::new(tokio::spawn(serving)) }
    }
}

/// Registers this server. Returns `None` if the user has no state directory.
async fn register() -> io::Result<Option<(RegisteredServer, ServerListener)>> {
    let Some(folder) = ServersFolder::of_this_user() else { return Ok(None) };
    let registered = tokio::task::spawn_blocking(move || {
        folder.register(|path| local::listen(path).map_err(|error| io::Error::other(error.message)))
    });
    let (files, listener) = registered.await??;
    Ok(Some((files, ServerListener::Private(listener))))
}

async fn serve(
    server: Arc<Server>,
    commands: Option<Arc<dyn CommandRunner>>,
    (_files, listener): (RegisteredServer, ServerListener),
) {
    let stop = CancellationToken::new();
    let state = ServerState::new(server, TaskTracker::new(), commands);
    let state = ServerState { stop: stop.clone(), is_private: true, ..state };
    let config = state.server.registry().manager().config();
    let limits =
        ConnectionLimits { connections: MAX_CONNECTIONS, head: state.request_timeout, idle: None };
    let guard = Arc::new(Guard::without_token(config));
    let refusals = guard.refusals().clone();
    let routes: Router = dashboard::routes(&state)
        .fallback(not_served)
        .layer(middleware::from_fn_with_state(guard, guard::admit))
        .with_state(state);
    // Ends the connections when this future is dropped.
    let _end = stop.clone().drop_guard();
    let signals = StopSignals { stop: &stop, end: &stop };
    let connections = TaskTracker::new();
    listen::accept(listener, routes, limits, || true, refusals, &connections, signals).await;
}
