//! Finds the server of a client that is not attached here. If that server has ended, attaches the
//! client here, in the state in which it was.

use std::{sync::Arc, time::Duration};

use axum::{
    body::Bytes,
    http::{StatusCode, request::Parts},
    response::Response,
};
use futures_util::future::BoxFuture;
use tokio::time::timeout;

use super::{
    ServerState,
    requests::{pass_on, unavailable},
};
use crate::{
    error::Result,
    session::{Connection, SavedClient},
    tools::{ClientServer, UnreachableServerWait},
    transport::network::{clients::AttachedClient, problem},
};

/// Timeout for the handshake with a restored client.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);

/// Repeats the handshake of an attached client, whose id and revision of the protocol are given.
/// Returns whether it succeeded.
pub(in crate::transport::network) type ReplayHandshake =
    fn(ServerState, Arc<AttachedClient>, Arc<str>, String) -> BoxFuture<'static, bool>;

/// Where a client is served.
pub(in crate::transport::network) enum ClientLocation {
    Here(Arc<AttachedClient>),
    /// The response to its request.
    Answered(Response),
}

/// Finds the client `id`, and attaches it if no other server serves it. `is_passed_on`: the request
/// is from another server.
pub(in crate::transport::network) async fn locate(
    state: &ServerState,
    id: &str,
    parts: &Parts,
    body: &Bytes,
    is_passed_on: bool,
    handshake: ReplayHandshake,
) -> ClientLocation {
    let store = state.server.registry().manager().store();
    let wait = UnreachableServerWait::begin();
    loop {
        let losses = store.losses();
        match store.server_of_client(id).await {
            Err(error) => return ClientLocation::Answered(unavailable(&error.message)),
            Ok(None) => {
                state.clients.give_up(id).await;
                let message = "unknown Mcp-Session-Id";
                let response = problem(StatusCode::NOT_FOUND, "SESSION_NOT_FOUND", message);
                return ClientLocation::Answered(response);
            }
            Ok(Some(ClientServer::Other(server))) => {
                state.clients.give_up(id).await;
                if is_passed_on {
                    let message = "the client has moved to another server; try again";
                    return ClientLocation::Answered(unavailable(message));
                }
                if let Some(response) = pass_on(state, &server, id, parts, body).await {
                    return ClientLocation::Answered(response);
                }
            }
            Ok(Some(ClientServer::Own | ClientServer::Ended)) => {
                // A server that cannot serve the client leaves it to the others.
                if state.clients.get(id).is_none()
                    && let Err(error) = state.clients.check_capacity()
                {
                    return ClientLocation::Answered(error.response());
                }
                match attach(state, id, losses, handshake).await {
                    Ok(Some(location)) => return location,
                    // Another server has claimed it in the meantime.
                    Ok(None) => {}
                    Err(error) => return ClientLocation::Answered(unavailable(&error.message)),
                }
            }
        }
        if !wait.pause().await {
            let message = "the server of this client cannot be reached; try again";
            return ClientLocation::Answered(unavailable(message));
        }
    }
}

/// Claims the client `id`, and attaches it unless it is attached. Returns `None` if another server
/// serves it or the handshake failed. `losses` is the number of lost leases before its holder was
/// read.
async fn attach(
    state: &ServerState,
    id: &str,
    losses: u64,
    handshake: ReplayHandshake,
) -> Result<Option<ClientLocation>> {
    let _lock = state.restoring.lock(id).await;
    let manager = state.server.registry().manager();
    let Some(saved) = manager.store().claim_client(id).await? else { return Ok(None) };
    if let Some(client) = state.clients.get(id) {
        client.set_verified(losses);
        return Ok(Some(ClientLocation::Here(client)));
    }
    let saved: SavedClient = match serde_json::from_str(&saved) {
        Ok(saved) => saved,
        Err(error) => {
            tracing::warn!(%error, "the saved state of a client cannot be read");
            SavedClient::default()
        }
    };
    let revision = saved.settings.initialize["protocolVersion"].as_str().unwrap_or_default().into();
    let connection = Connection::restored(manager, saved);
    let client = AttachedClient::new(connection, &state.stop, &state.end);
    client.set_verified(losses);
    let id: Arc<str> = id.into();
    if let Err(error) = state.clients.attach(&id, client.clone()) {
        return Ok(Some(ClientLocation::Answered(error.response())));
    }
    let shaken = handshake(state.clone(), client.clone(), id.clone(), revision);
    if !timeout(HANDSHAKE_TIMEOUT, shaken).await.unwrap_or(false) {
        state.clients.give_up(&id).await;
        return Ok(None);
    }
    tracing::info!(id = &*id, "continues to serve the client of a server that has ended");
    Ok(Some(ClientLocation::Here(client)))
}
