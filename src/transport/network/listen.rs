//! Accepts connections. Limits their number and the time for the head of a request.

use std::{convert::Infallible, io, net::SocketAddr, pin::pin, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::{IntoResponse, Response},
};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{Notify, OwnedSemaphorePermit, Semaphore},
    time::Instant,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tower::ServiceExt;

use super::{problem, refusals::RefusalLog};
use crate::transport::{keep_alive, local::PrivateListener};

/// Maximum number of connections over the limit that receive an error response. Further connections
/// are closed without a response.
const MAX_REJECTIONS: usize = 64;
/// Timeout for that response.
const REJECTION_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum time between a failed accept and the next attempt.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The limits for connections.
#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    pub connections: usize,
    /// Timeout for the head of a request, and between two requests.
    pub head: Duration,
    /// How long the server waits without a connection before it stops.
    pub idle: Option<Duration>,
}

/// The signals that stop the server.
pub(super) struct StopSignals<'a> {
    /// Canceled to stop accepting connections.
    pub stop: &'a CancellationToken,
    /// Canceled to end the open connections.
    pub end: &'a CancellationToken,
}

/// The port or the private socket that the server listens on.
pub(super) enum ServerListener {
    Tcp(TcpListener),
    Private(PrivateListener),
}

impl ServerListener {
    async fn accept(&self) -> io::Result<(Box<dyn Duplex>, SocketAddr)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                prepare(&stream);
                Ok((Box::new(stream), address))
            }
            Self::Private(listener) => {
                let stream = listener.accept().await?;
                Ok((Box::new(stream), (std::net::Ipv4Addr::LOCALHOST, 0).into()))
            }
        }
    }
}

/// A connection of either kind.
trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Duplex for S {}

/// The address of the peer that sent a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerAddress(pub SocketAddr);

/// Serves connections to `listener` until `signals.stop` or until the server has been idle for too
/// long. Open connections continue until `signals.end`.
pub(super) async fn accept(
    listener: ServerListener,
    routes: Router,
    limits: ConnectionLimits,
    has_clients: impl Fn() -> bool,
    log: Arc<RefusalLog>,
    connections: &TaskTracker,
    signals: StopSignals<'_>,
) {
    let StopSignals { stop, end } = signals;
    let free_slots = Arc::new(Semaphore::new(limits.connections));
    let rejection_slots = Arc::new(Semaphore::new(MAX_REJECTIONS));
    let ended = Arc::new(Notify::new());
    let mut last_use = Instant::now();
    loop {
        let idle = limits.idle.filter(|_| free_slots.available_permits() == limits.connections);
        let (stream, address) = tokio::select! {
            biased;
            () = stop.cancelled() => return,
            () = ended.notified() => {
                last_use = Instant::now();
                continue;
            }
            () = until_idle(last_use, idle) => {
                // A connection that became a WebSocket has released its slot.
                if has_clients() {
                    last_use = Instant::now();
                    continue;
                }
                tracing::info!("the server stops: no client has connected for --daemon-idle");
                return;
            }
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    // An immediate retry would fail again, for example if no file descriptors are
                    // free.
                    let _ = tokio::time::timeout(RETRY_INTERVAL, ended.notified()).await;
                    continue;
                }
            },
        };
        if let Ok(slot) = free_slots.clone().try_acquire_owned() {
            let connection = serve(stream, address, routes.clone(), limits.head, end.clone());
            let ended = ended.clone();
            connections.spawn(async move {
                connection.await;
                drop(slot);
                ended.notify_one();
            });
        } else if let Ok(slot) = rejection_slots.clone().try_acquire_owned() {
            let log = log.clone();
            connections.spawn(async move {
                let _ = tokio::time::timeout(REJECTION_TIMEOUT, reject(stream, address, slot, log))
                    .await;
            });
        }
    }
}

async fn until_idle(last_use: Instant, idle: Option<Duration>) {
    match idle {
        Some(idle) => tokio::time::sleep_until(last_use + idle).await,
        None => std::future::pending().await,
    }
}

fn prepare(stream: &TcpStream) {
    // Without this, a small response waits for the acknowledgment of earlier ones.
    let _ = stream.set_nodelay(true);
    keep_alive::watch(stream);
}

async fn serve(
    stream: Box<dyn Duplex>,
    address: SocketAddr,
    routes: Router,
    head: Duration,
    end: CancellationToken,
) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(PeerAddress(address));
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
        tracing::debug!(%error, %address, "a connection ended with an error");
    }
}

/// Responds to one request with 429.
async fn reject(
    stream: Box<dyn Duplex>,
    address: SocketAddr,
    _slot: OwnedSemaphorePermit,
    log: Arc<RefusalLog>,
) {
    let log = &*log;
    let service = service_fn(move |request: Request<Incoming>| async move {
        let (method, path) = (request.method().as_str(), request.uri().path());
        log.write(Some(address.ip()), method, path, &"the limit of connections is reached");
        let response = problem(
            StatusCode::TOO_MANY_REQUESTS,
            "TOO_MANY_CONNECTIONS",
            "the limit of connections is reached; --max-connections sets it",
        );
        Ok::<Response, Infallible>(
            ([(header::RETRY_AFTER, "1"), (header::CONNECTION, "close")], response).into_response(),
        )
    });
    let connection =
        http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection over the limit ended with an error");
    }
}
