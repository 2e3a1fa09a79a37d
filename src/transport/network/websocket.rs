//! The WebSocket at `/ws`: one message a frame, as rmcp's `Transport`.
//!
//! The answer to the upgrade names the client (`Mcp-Session-Id`). One that is cut off may come back with that name
//! and finds its session; it is told how many of its messages have arrived (`Troupe-Messages-Read`), so that it can
//! repeat what has not. One that says goodbye takes the session along. One that comes back to another server than it had
//! tells which session was its own (`Troupe-Own-Session`).

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use axum::{
    extract::{
        State, WebSocketUpgrade,
        ws::{CloseFrame, Message as Frame, WebSocket, close_code},
    },
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
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
    Shared,
    clients::{Client, Socket},
    problem,
    request::MAX_BODY,
};
use crate::{
    session::Connection,
    transport::messages::{self, Message},
};

const PROTOCOL: &str = "mcp";
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
pub(in crate::transport) const MESSAGES_READ: HeaderName = HeaderName::from_static("troupe-messages-read");
pub(in crate::transport) const OWN_SESSION: HeaderName = HeaderName::from_static("troupe-own-session");
/// Messages that wait to be written; with so many the client is not read any further.
const UNWRITTEN: usize = 256;

/// A request to `/ws`.
pub(super) async fn upgrade(
    State(shared): State<Shared>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let named = headers.get(SESSION_ID).and_then(|id| id.to_str().ok());
    let known = named.and_then(|id| Some((Arc::from(id), shared.clients.get(id)?)));
    let (id, client) = match known {
        Some(known) => known,
        None => {
            let id: Arc<str> = uuid::Uuid::new_v4().to_string().into();
            let client = Client::new(Connection::stateless(), &shared.stop, &shared.end);
            if let Err(too_many) = shared.clients.attach(&id, client.clone()) {
                return problem(StatusCode::TOO_MANY_REQUESTS, "too_many_clients", too_many.to_string());
            }
            let own = headers.get(OWN_SESSION).and_then(|own| uuid::Uuid::parse_str(own.to_str().ok()?).ok());
            if let Some(own) = own {
                client.connection.claim(shared.server.registry().manager(), &own.to_string());
            }
            (id, client)
        }
    };
    let Some(socket) = client.new_socket().await else {
        let message = "the WebSocket that the client had before is still read; try again";
        return problem(StatusCode::SERVICE_UNAVAILABLE, "still_read", message);
    };
    // A socket that no upgrade makes is not read either.
    let unread = socket.unread.clone().drop_guard();
    let read = HeaderValue::from(client.read.load(Ordering::Acquire));
    let name = HeaderValue::from_str(&id);
    let mut response = upgrade
        .protocols([PROTOCOL])
        .max_message_size(MAX_BODY)
        .max_frame_size(MAX_BODY)
        .on_upgrade(move |stream| serve(shared, id, client, socket, unread, stream))
        .into_response();
    response.headers_mut().insert(MESSAGES_READ, read);
    response.headers_mut().extend(name.map(|name| (SESSION_ID, name)));
    response
}

async fn serve(
    shared: Shared,
    id: Arc<str>,
    client: Arc<Client>,
    Socket { over, .. }: Socket,
    unread: DropGuard,
    stream: WebSocket,
) {
    let _present = client.connection.hold();
    let goodbye = Arc::new(AtomicBool::new(false));
    let frames = Frames::new(stream, client.clone(), over.clone(), unread, goodbye.clone());
    let handler = shared.server.handler(client.connection.clone(), over.clone());
    match Box::pin(handler.serve_with_ct(frames, client.closed.child_token())).await {
        Ok(running) => {
            let reason = running.waiting().await;
            tracing::debug!(?reason, "a WebSocket has ended");
        }
        Err(error) => tracing::debug!(%error, "a WebSocket ended before its first request"),
    }
    over.cancel();
    if goodbye.load(Ordering::Acquire) {
        shared.clients.detach(&id).await;
    }
}

/// Frames from and to a socket.
struct Frames {
    read: SplitStream<WebSocket>,
    write: Arc<Mutex<SplitSink<WebSocket, Frame>>>,
    unwritten: Arc<Semaphore>,
    /// Messages of one frame that wait to be taken.
    waiting: VecDeque<Message>,
    client: Arc<Client>,
    /// Of this socket; the client itself may come back on another.
    over: CancellationToken,
    /// Held as long as it is read from.
    unread: Option<DropGuard>,
    /// Whether the client has closed the socket in order.
    goodbye: Arc<AtomicBool>,
}

impl Frames {
    fn new(
        socket: WebSocket,
        client: Arc<Client>,
        over: CancellationToken,
        unread: DropGuard,
        goodbye: Arc<AtomicBool>,
    ) -> Self {
        let (write, read) = socket.split();
        Self {
            read,
            write: Arc::new(Mutex::new(write)),
            unwritten: Arc::new(Semaphore::new(UNWRITTEN)),
            waiting: VecDeque::new(),
            client,
            over,
            unread: Some(unread),
            goodbye,
        }
    }

    /// Writes `frame` when its turn comes. Until then it counts as unwritten.
    fn write(&self, frame: Frame) -> impl Future<Output = io::Result<()>> + Send + use<> {
        let (write, unwritten, over) = (self.write.clone(), self.unwritten.clone(), self.over.clone());
        async move {
            let _place = unwritten.acquire().await.map_err(io::Error::other)?;
            let writing = async { write.lock().await.send(frame).await.map_err(io::Error::other) };
            tokio::select! {
                written = writing => written,
                // A client that reads no more must not hold up its own end.
                () = over.cancelled() => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    /// Takes in what a frame holds.
    fn take(&mut self, text: &[u8]) {
        self.client.read.fetch_add(1, Ordering::AcqRel);
        for message in messages::read(text, &self.client.connection) {
            match message {
                Ok(message) => self.waiting.push_back(message),
                Err(answer) => {
                    tracing::debug!(%answer, "a message was refused");
                    // Not awaited here: `receive` may be dropped at any await.
                    tokio::spawn(self.write(Frame::text(answer.to_string())));
                }
            }
        }
    }
}

impl Transport<RoleServer> for Frames {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let text = serde_json::to_string(&item).map_err(io::Error::from);
        let writing = text.map(|text| self.write(Frame::text(text)));
        async move { writing?.await }
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            // A client that sends without reading is not read either.
            let room = self.unwritten.clone();
            drop(room.acquire().await);
            let frame = tokio::select! {
                biased;
                () = self.over.cancelled() => break,
                frame = self.read.next() => frame,
            };
            match frame {
                Some(Ok(Frame::Text(text))) => self.take(text.as_bytes()),
                Some(Ok(Frame::Binary(bytes))) => self.take(&bytes),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                Some(Ok(Frame::Close(_))) => {
                    self.goodbye.store(true, Ordering::Release);
                    break;
                }
                Some(Err(error)) => {
                    tracing::debug!(%error, "a WebSocket broke off");
                    let reason = "the frame could not be read, or it has more than 4 MiB";
                    let close = CloseFrame { code: close_code::SIZE, reason: reason.into() };
                    tokio::spawn(self.write(Frame::Close(Some(close))));
                    break;
                }
                None => break,
            }
        }
        // Nobody is there to read the answers to what still runs.
        self.over.cancel();
        self.unread = None;
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        let close = CloseFrame { code: close_code::AWAY, reason: "the server has ended the session".into() };
        let _ = self.write.lock().await.send(Frame::Close(Some(close))).await;
        Ok(())
    }
}
