//! Passes the requests of a client on to the server that serves it.

use std::{io, time::Duration};

use axum::{
    body::{Body, BodyDataStream, Bytes},
    extract::Request,
    http::{HeaderName, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use tokio::time::timeout;

use super::{MCP_PATH, ServerError, ServerState};
use crate::{
    tools::{ClientServer, ServerEndpoint},
    transport::network::problem,
};

/// The headers that concern one connection (RFC 9110, section 7.6.1), and the token, which is
/// replaced by the secret.
const NOT_PASSED_ON: [HeaderName; 6] = [
    header::AUTHORIZATION,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// The time without a part of a response after which the lease of its server is checked.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(3);

/// Sends a request of `client` to `server`, and returns its response. `None` if the server cannot
/// be reached.
pub(super) async fn pass_on(
    state: &ServerState,
    server: &ServerEndpoint,
    client: &str,
    parts: &Parts,
    body: &Bytes,
) -> Option<Response> {
    let mut request = Request::new(Body::from(body.clone()));
    *request.method_mut() = parts.method.clone();
    let headers = request.headers_mut();
    headers.clone_from(&parts.headers);
    for name in NOT_PASSED_ON {
        headers.remove(name);
    }
    match state.others.send(server, MCP_PATH, request).await {
        Ok(response) if response.status() == StatusCode::UNAUTHORIZED => None,
        Ok(mut response) => {
            response.headers_mut().remove(header::CONNECTION);
            response.headers_mut().remove(header::TRANSFER_ENCODING);
            let (state, client, server) = (state.clone(), client.to_owned(), server.clone());
            Some(response.map(|body| {
                let body = PassedBody { frames: body.into_data_stream(), state, client, server };
                Body::from_stream(stream::unfold(Some(body), PassedBody::next))
            }))
        }
        Err(ServerError::Unreachable(why)) => {
            tracing::debug!(server = server.url, why, "a request waits for its client's server");
            None
        }
        Err(ServerError::NoResponse(why)) => Some(unavailable(&format!(
            "the server at {} failed during the request: {why}",
            server.url
        ))),
    }
}

/// The body of a response, which another server sends.
struct PassedBody {
    frames: BodyDataStream,
    state: ServerState,
    client: String,
    server: ServerEndpoint,
}

impl PassedBody {
    /// Returns the next part. Fails if the other server is silent and no longer serves the client:
    /// it is frozen, for example.
    async fn next(body: Option<Self>) -> Option<(io::Result<Bytes>, Option<Self>)> {
        let mut body = body?;
        loop {
            match timeout(SILENCE_TIMEOUT, body.frames.next()).await {
                Ok(None) => return None,
                Ok(Some(Ok(bytes))) => return Some((Ok(bytes), Some(body))),
                Ok(Some(Err(error))) => return Some((Err(io::Error::other(error)), None)),
                Err(_) if is_served(&body.state, &body.client, &body.server).await => {}
                Err(_) => return Some((Err(io::ErrorKind::ConnectionReset.into()), None)),
            }
        }
    }
}

/// Returns whether `server` still serves `client`.
async fn is_served(state: &ServerState, client: &str, server: &ServerEndpoint) -> bool {
    match state.server.registry().manager().store().server_of_client(client).await {
        Ok(Some(ClientServer::Other(holder))) => holder == *server,
        Ok(_) => false,
        // Unknown during an outage of the record.
        Err(_) => true,
    }
}

/// Returns the response to a request that may be repeated.
pub(super) fn unavailable(message: &str) -> Response {
    let response = problem(StatusCode::SERVICE_UNAVAILABLE, "SERVER_UNAVAILABLE", message);
    ([(header::RETRY_AFTER, "1")], response).into_response()
}
