//! `--connect`: a stdio proxy for a running server. It parses messages only as far as necessary to
//! survive a restart of that server.
//!
//! `dashboard` creates links of the dashboard of a server, and `once` makes one call.
//!
//! `link` is the WebSocket to the server, and reconnects when the connection breaks. `pending` has
//! the client's pending requests, `restorable` its sessions and subscriptions. While there is no
//! connection, requests wait for a limited time and then fail with a retryable error. A call that
//! was running when the connection broke is sent again if that is safe: it only reads, or the
//! server reports that it has not received the call. Otherwise the call may have run, and it soon
//! fails with that error.

mod dashboard;
mod link;
mod once;
mod pending;
mod restorable;

use std::{pin::Pin, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

pub use self::{
    dashboard::{DashboardLink, create_dashboard_link},
    once::call_connected,
};
use self::{
    link::{ConnectTarget, EstablishedLink, ServerLink},
    pending::ConnectState,
};
use super::{
    framing::{LineReader, LineStatus},
    lines::write_line,
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// Maximum size of a message that a server accepts over the network.
const MAX_MESSAGE_SIZE: usize = 4 << 20;
/// Maximum number of pending requests; beyond it, the client's messages are not read.
const MAX_WAITING: usize = 1024;
/// How long a request waits for a new connection to the server.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Connects the client on stdin and stdout to the server of `config` until the client disconnects.
pub(super) async fn serve_connected(config: Config, stop: CancellationToken) -> Result<()> {
    let target = ConnectTarget::new(&config).await?;
    let (read, write) = super::stdio::streams();
    let pending = ConnectState::of(target.shown.clone());
    let mut proxy = StdioProxy {
        lines: LineReader::new(read, MAX_MESSAGE_SIZE),
        write: Mutex::new(write),
        pending,
    };
    tokio::select! {
        ended = proxy.run(&target) => ended,
        () = stop.cancelled() => Ok(()),
    }
}

/// A proxy between a stdio client and a server.
struct StdioProxy<R, W> {
    lines: LineReader<R>,
    write: Mutex<W>,
    pending: ConnectState,
}

type ConnectFuture = Pin<Box<dyn Future<Output = Result<EstablishedLink>> + Send>>;

/// The state of the connection to the server.
enum LinkState {
    Open(Box<ServerLink>),
    Opening(ConnectFuture),
}

/// An event that the proxy handles.
enum ProxyEvent {
    Line(std::io::Result<LineStatus>),
    Message(Option<String>),
    Opened(Result<EstablishedLink>),
    DeadlinePassed,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> StdioProxy<R, W> {
    async fn run(&mut self, target: &ConnectTarget) -> Result<()> {
        let mut link_state =
            LinkState::Opening(Box::pin(link::open(target.clone(), self.pending.handshake())));
        loop {
            let due = self.pending.due();
            let room = self.pending.waiting() < MAX_WAITING;
            let event = tokio::select! {
                line = self.lines.next(), if room => ProxyEvent::Line(line),
                event = link_state.event() => event,
                () = until(due) => ProxyEvent::DeadlinePassed,
            };
            match event {
                ProxyEvent::Line(Ok(LineStatus::Whole)) => {
                    let text = String::from_utf8_lossy(self.lines.line()).trim().to_owned();
                    self.lines.start();
                    self.forward(text, &mut link_state).await?;
                }
                ProxyEvent::Line(Ok(LineStatus::TooLong)) => {
                    let answer = self.lines.too_long();
                    self.lines.start();
                    self.send_to_client(&answer.to_string()).await?;
                }
                ProxyEvent::Line(Ok(LineStatus::End)) => break,
                ProxyEvent::Line(Err(error)) => {
                    tracing::warn!(%error, "the client's messages could not be read");
                    break;
                }
                ProxyEvent::Message(Some(text)) => {
                    self.pending.record_server_message(&text);
                    self.send_to_client(&text).await?;
                }
                ProxyEvent::Message(None) => {
                    tracing::warn!("the server has disconnected; reconnecting");
                    self.pending.record_disconnect(RECONNECT_TIMEOUT);
                    link_state = LinkState::Opening(Box::pin(link::open(
                        target.clone(),
                        self.pending.handshake(),
                    )));
                }
                ProxyEvent::Opened(Ok(EstablishedLink { link, early })) => {
                    tracing::info!("connected");
                    for answer in self.pending.record_connect(link.report()) {
                        self.send_to_client(&answer.to_string()).await?;
                    }
                    link_state = LinkState::Open(link);
                    for text in early {
                        self.pending.record_server_message(&text);
                        self.send_to_client(&text).await?;
                    }
                    for text in self.pending.take_unsent() {
                        link_state.send(text).await;
                    }
                }
                ProxyEvent::Opened(Err(error)) => return Err(error),
                ProxyEvent::DeadlinePassed => {
                    for answer in self.pending.fail_expired() {
                        self.send_to_client(&answer.to_string()).await?;
                    }
                }
            }
        }
        if let LinkState::Open(link) = link_state {
            link.close().await;
        }
        Ok(())
    }

    async fn forward(&mut self, text: String, link_state: &mut LinkState) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let open = matches!(link_state, LinkState::Open(_));
        if self.pending.record_client_message(&text, open, RECONNECT_TIMEOUT) {
            link_state.send(text).await;
        }
        Ok(())
    }

    async fn send_to_client(&mut self, text: &str) -> Result<()> {
        write_line(&self.write, text.as_bytes().to_vec()).await.map_err(|error| {
            TroupeError::new(
                ErrorCode::InternalError,
                format!("the client does not read messages: {error}"),
            )
        })
    }
}

impl LinkState {
    async fn event(&mut self) -> ProxyEvent {
        match self {
            Self::Open(link) => ProxyEvent::Message(link.receive().await),
            Self::Opening(connecting) => ProxyEvent::Opened(connecting.await),
        }
    }

    /// If a message cannot be sent, the end of the connection reports it.
    async fn send(&mut self, text: String) {
        if let Self::Open(link) = self {
            link.send(text).await;
        }
    }
}

async fn until(due: Option<tokio::time::Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// Returns a retryable error response.
fn unavailable(id: &Value, is_call: bool, message: &str) -> Value {
    let error = TroupeError::new(ErrorCode::ServerUnavailable, message);
    let error = serde_json::to_value(error).unwrap_or_default();
    if is_call {
        let content = serde_json::json!([{"type": "text", "text": error.to_string()}]);
        return serde_json::json!({"jsonrpc": "2.0", "id": id, "result": {"content": content, "isError": true}});
    }
    let error = serde_json::json!({"code": -32000, "message": message, "data": error});
    serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error})
}
