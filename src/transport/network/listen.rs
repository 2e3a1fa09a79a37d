//! Accepts connections. Their number is limited, and so is the time for the head of a request.

use std::{convert::Infallible, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use super::{problem, refusals::RefusalLog};
use crate::transport::keep_alive;

/// Number of connections over the limit that get an error; further ones are closed without an answer.
const TOLD: usize = 64;
/// What telling them may take.
const TELLING: Duration = Duration::from_secs(2);
/// How long to wait for a connection to end before another is tried to be taken.
const PAUSE: Duration = Duration::from_secs(1);

/// The limits for a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub connections: usize,
    /// For the head of a request, and between two of them.
    pub head: Duration,
}

/// The address that a request came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller(pub SocketAddr);

/// Serves connections to `listener` until `stop`; open connections go on until `end`.
pub(super) async fn accept(
    listener: TcpListener,
    routes: Router,
    limits: Limits,
    log: Arc<RefusalLog>,
    connections: &TaskTracker,
    stop: &CancellationToken,
    end: &CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let refusals = Arc::new(Semaphore::new(TOLD));
    let ended = Arc::new(Notify::new());
    loop {
        let (stream, address) = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    // Out of descriptors, say: trying again at once would only burn time.
                    let _ = tokio::time::timeout(PAUSE, ended.notified()).await;
                    continue;
                }
            },
        };
        prepare(&stream);
        if let Ok(place) = places.clone().try_acquire_owned() {
            let connection = serve(stream, address, routes.clone(), limits.head, end.clone());
            let ended = ended.clone();
            connections.spawn(async move {
                connection.await;
                drop(place);
                ended.notify_one();
            });
        } else if let Ok(place) = refusals.clone().try_acquire_owned() {
            let log = log.clone();
            connections.spawn(async move {
                let _ = tokio::time::timeout(TELLING, turn_away(stream, address, place, log)).await;
            });
        }
    }
}

fn prepare(stream: &TcpStream) {
    // Small answers must not wait for the client's acknowledgement of the ones before.
    let _ = stream.set_nodelay(true);
    keep_alive::watch(stream);
}

async fn serve(
    stream: TcpStream,
    address: SocketAddr,
    routes: Router,
    head: Duration,
    end: CancellationToken,
) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(Caller(address));
        routes.clone().oneshot(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(head)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = end.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %address, "a connection broke off");
    }
}

/// Answers one request with 429.
async fn turn_away(
    stream: TcpStream,
    address: SocketAddr,
    _place: OwnedSemaphorePermit,
    log: Arc<RefusalLog>,
) {
    let log = &*log;
    let service = service_fn(move |request: Request<Incoming>| async move {
        let (method, path) = (request.method().as_str(), request.uri().path());
        log.write(Some(address.ip()), method, path, &"all connections are in use");
        let told = problem(
            StatusCode::TOO_MANY_REQUESTS,
            "TOO_MANY_CONNECTIONS",
            "all connections are in use; --max-connections sets how many there are",
        );
        Ok::<Response, Infallible>(
            ([(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")], told).into_response(),
        )
    });
    let connection =
        http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection over the limit broke off");
    }
}
