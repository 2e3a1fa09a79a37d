//! The WebSocket at `/ws`. Each frame has one message. Implements rmcp's `Transport`.
//!
//! - The response to the upgrade has the client's id (`Mcp-Session-Id`). A disconnected client can
//!   reconnect with this id to its session. The response then has the number of its messages that
//!   have arrived (`Troupe-Messages-Read`), so that it can repeat the others.
//! - If a client closes the WebSocket, its session is released.
//! - A client that reconnects to another server sends the id of its implicit session
//!   (`Troupe-Own-Session`).

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message as Frame, WebSocket, close_code},
    },
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use futures_util::{
    SinkExt, StreamExt,
    stream::{SplitSink, SplitStream},
};
use rmcp::{RoleServer, ServiceExt, service::TxJsonRpcMessage, transport::Transport};
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    ServerState,
    clients::{AttachedClient, ClientSocket},
    dashboard::UserLinks,
    problem,
    request::MAX_BODY,
};
use crate::{
    server::Handler,
    session::Connection,
    transport::messages::{self, ClientMessage},
};

const PROTOCOL: &str = "mcp";
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(in crate::transport) const MESSAGES_READ: HeaderName =
    HeaderName::from_static("troupe-messages-read");
pub(in crate::transport) const OWN_SESSION: HeaderName =
    HeaderName::from_static("troupe-own-session");
/// Maximum number of unwritten messages. While there are more, the client's messages are not read.
const MAX_UNWRITTEN: usize = 256;
/// Time without a frame from the client after which it is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(15);
/// Time without a frame after a ping after which the client is disconnected.
const PONG_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout for the close frame, for clients that do not read.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// Handles a request to `/ws`.
pub(super) async fn upgrade(
    State(state): State<ServerState>,
    uri: Uri,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let requested_id = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    let known = requested_id.and_then(|id| Some((Arc::from(id), state.clients.get(id)?)));
    let (id, client) = match known {
        Some(known) => known,
        None => {
            let id: Arc<str> = uuid::Uuid::new_v4().to_string().into();
            let client = AttachedClient::new(Connection::stateless(), &state.stop, &state.end);
            if let Err(error) = state.clients.attach(&id, client.clone()) {
                return error.response();
            }
            let own = headers
                .get(OWN_SESSION)
                .and_then(|own| uuid::Uuid::parse_str(own.to_str().ok()?).ok());
            if let Some(own) = own {
                client
                    .connection
                    .adopt_implicit(state.server.registry().manager(), &own.to_string());
            }
            (id, client)
        }
    };
    let Some(socket) = client.new_socket().await else {
        let message = "the client's former WebSocket is still open; try again";
        return problem(StatusCode::SERVICE_UNAVAILABLE, "STILL_READ", message);
    };
    // The guard also cancels the token if the upgrade fails.
    let read_stopped = socket.read_stopped.clone().drop_guard();
    let read = HeaderValue::from(client.messages_read.load(Ordering::Acquire));
    let name = HeaderValue::from_str(&id);
    let links = UserLinks::of(&state, &uri, &headers);
    let mut response = upgrade
        .protocols([PROTOCOL])
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY)
        .on_upgrade(move |stream| {
            let handler = state.server.handler(client.connection.clone(), socket.ended.clone());
            serve(state, handler.with_links(links), id, client, socket, read_stopped, stream)
        })
        .into_response();
    response.headers_mut().insert(MESSAGES_READ, read);
    response.headers_mut().extend(name.map(|name| (SESSION_ID, name)));
    response
}

async fn serve(
    state: ServerState,
    handler: Handler,
    id: Arc<str>,
    client: Arc<AttachedClient>,
    ClientSocket { ended, .. }: ClientSocket,
    read_stopped: DropGuard,
    stream: WebSocket,
) {
    let _present = client.connection.mark_present();
    let closed_by_client = Arc::new(AtomicBool::new(false));
    let frames = FrameTransport::new(
        stream,
        client.clone(),
        ended.clone(),
        read_stopped,
        closed_by_client.clone(),
    );
    let ping = {
        let writer = frames.writer.clone();
        move || writer.clone().write(Frame::Ping(Default::default()))
    };
    // The task ends with the socket.
    tokio::spawn(ended.clone().run_until_cancelled_owned(watch(
        ping,
        frames.received.clone(),
        ended.clone(),
    )));
    match Box::pin(handler.serve_with_ct(frames, client.closed.child_token())).await {
        Ok(running) => {
            let reason = running.waiting().await;
            tracing::debug!(?reason, "a WebSocket has ended");
        }
        Err(error) => tracing::debug!(%error, "a WebSocket ended before its first request"),
    }
    ended.cancel();
    if closed_by_client.load(Ordering::Acquire) {
        state.clients.detach(&id).await;
    }
}

/// Pings a silent client, and cancels `ended` if it stays silent. `received` counts the frames
/// from it.
async fn watch<Written: Future<Output = io::Result<()>>>(
    ping: impl Fn() -> Written,
    received: Arc<AtomicU64>,
    ended: CancellationToken,
) {
    loop {
        let before = received.load(Ordering::Acquire);
        let is_silent = || received.load(Ordering::Acquire) == before;
        tokio::time::sleep(PING_INTERVAL).await;
        if !is_silent() {
            continue;
        }
        // A slow client may still be reading earlier messages. The system closes a connection that
        // does not acknowledge data.
        if ping().await.is_err() {
            return;
        }
        tokio::time::sleep(PONG_TIMEOUT).await;
        if is_silent() {
            tracing::debug!("a WebSocket client does not answer pings");
            return ended.cancel();
        }
    }
}

/// The writing half of a socket.
#[derive(Clone)]
struct FrameWriter {
    sink: Arc<Mutex<SplitSink<WebSocket, Frame>>>,
    unwritten: Arc<Semaphore>,
    ended: CancellationToken,
}

impl FrameWriter {
    /// Writes `frame` after the earlier ones. Until then it counts as unwritten.
    async fn write(self, frame: Frame) -> io::Result<()> {
        let _permit = self.unwritten.acquire().await.map_err(io::Error::other)?;
        let writing = async { self.sink.lock().await.send(frame).await.map_err(io::Error::other) };
        tokio::select! {
            written = writing => written,
            // A client that does not read must not delay the end of its connection.
            () = self.ended.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Writes the close frame, unless the client does not read.
    async fn close(&self, frame: CloseFrame) {
        let closing = async { self.sink.lock().await.send(Frame::Close(Some(frame))).await };
        if tokio::time::timeout(CLOSE_TIMEOUT, closing).await.is_err() {
            tracing::debug!(
                "a WebSocket was closed without a close frame: its client does not read"
            );
        }
    }
}

/// Reads and writes the frames of a socket, as rmcp's transport.
struct FrameTransport {
    read: SplitStream<WebSocket>,
    writer: FrameWriter,
    /// Messages of one frame that `receive` has not returned yet.
    pending_messages: VecDeque<ClientMessage>,
    client: Arc<AttachedClient>,
    /// Counts the frames from the client.
    received: Arc<AtomicU64>,
    /// Canceled when this socket ends; the client may reconnect with another one.
    ended: CancellationToken,
    /// Dropped when the socket is no longer read.
    read_stopped: Option<DropGuard>,
    /// Whether the client has closed the socket with a close frame.
    closed_by_client: Arc<AtomicBool>,
}

impl FrameTransport {
    fn new(
        socket: WebSocket,
        client: Arc<AttachedClient>,
        ended: CancellationToken,
        read_stopped: DropGuard,
        closed_by_client: Arc<AtomicBool>,
    ) -> Self {
        let (sink, read) = socket.split();
        let writer = FrameWriter {
            sink: Arc::new(Mutex::new(sink)),
            unwritten: Arc::new(Semaphore::new(MAX_UNWRITTEN)),
            ended: ended.clone(),
        };
        Self {
            read,
            writer,
            pending_messages: VecDeque::new(),
            client,
            received: Arc::default(),
            ended,
            read_stopped: Some(read_stopped),
            closed_by_client,
        }
    }

    /// Handles the contents of a frame.
    fn handle_frame(&mut self, text: &[u8]) {
        self.client.messages_read.fetch_add(1, Ordering::AcqRel);
        for message in messages::read(text, &self.client.connection) {
            match message {
                Ok(message) => self.pending_messages.push_back(message),
                Err(answer) => {
                    tracing::debug!(%answer, "rejected a message");
                    // A task, because `receive` may be dropped at any await.
                    tokio::spawn(self.writer.clone().write(Frame::text(answer.to_string())));
                }
            }
        }
    }
}

impl Transport<RoleServer> for FrameTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let text = messages::write(&item).map_err(io::Error::from);
        let writing = text.map(|text| self.writer.clone().write(Frame::text(text)));
        async move { writing?.await }
    }

    async fn receive(&mut self) -> Option<ClientMessage> {
        loop {
            if let Some(message) = self.pending_messages.pop_front() {
                return Some(message);
            }
            // Back-pressure: if a client does not read its messages, the server does not read
            // either.
            let unwritten = self.writer.unwritten.clone();
            drop(unwritten.acquire().await);
            let frame = tokio::select! {
                biased;
                () = self.ended.cancelled() => break,
                frame = self.read.next() => frame,
            };
            self.received.fetch_add(1, Ordering::AcqRel);
            match frame {
                Some(Ok(Frame::Text(text))) => self.handle_frame(text.as_bytes()),
                Some(Ok(Frame::Binary(bytes))) => self.handle_frame(&bytes),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                Some(Ok(Frame::Close(_))) => {
                    self.closed_by_client.store(true, Ordering::Release);
                    break;
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "a WebSocket ended with an error");
                    let reason = "the frame could not be read, or it has more than 4 MiB";
                    let close = CloseFrame { code: close_code::SIZE, reason: reason.into() };
                    let writer = self.writer.clone();
                    tokio::spawn(async move { writer.close(close).await });
                    break;
                }
                None => break,
            }
        }
        // Stops the running calls, because no client reads their results.
        self.ended.cancel();
        self.read_stopped = None;
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        let reason = "the server has ended the session";
        self.writer.close(CloseFrame { code: close_code::AWAY, reason: reason.into() }).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Watches a client for `time` that answers only the first `answers` pings. Returns the number
    /// of pings, and whether the client was disconnected.
    async fn count_pings(answers: u64, time: Duration) -> (u64, bool) {
        let (received, pings) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let ended = CancellationToken::new();
        let ping = {
            let (received, pings) = (received.clone(), pings.clone());
            move || {
                if pings.fetch_add(1, Ordering::AcqRel) < answers {
                    received.fetch_add(1, Ordering::AcqRel);
                }
                std::future::ready(Ok(()))
            }
        };
        let watching = tokio::spawn(watch(ping, received, ended.clone()));
        let is_disconnected = tokio::time::timeout(time, ended.cancelled()).await.is_ok();
        watching.abort();
        (pings.load(Ordering::Acquire), is_disconnected)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_answers_no_ping_is_disconnected_within_a_minute() {
        assert_eq!(count_pings(0, Duration::from_secs(60)).await, (1, true));
        assert_eq!(count_pings(2, Duration::from_secs(600)).await, (3, true));
        let (pings, is_disconnected) = count_pings(u64::MAX, Duration::from_secs(600)).await;
        assert!(pings > 5 && !is_disconnected);
    }
}
