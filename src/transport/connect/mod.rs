//! `--connect`: a stdio proxy for a server that runs elsewhere. It reads messages only as far as necessary to
//! survive a restart of that server.
//!
//! `link` is the WebSocket to the server, and reconnects when the connection breaks. `memory` has the client's
//! pending requests, `standing` its sessions and subscriptions. While there is no connection, requests wait for a
//! limited time and then fail with a retryable error. A call that was running when the connection broke is sent
//! again if that is safe: it only reads, or the server reports that it has not received the call. Otherwise the
//! call may have run, and it soon fails with that error.

mod link;
mod memory;
mod once;
mod standing;

use std::{pin::Pin, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

pub use self::once::call_connected;
use self::{
    link::{Established, Link, Target},
    memory::Memory,
};
use super::{
    framing::{Line, LineReader},
    lines::write_line,
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// The longest message that a server on a port accepts.
const LONGEST: usize = 4 << 20;
/// So many requests may wait for their answers; with more the client is not read on.
const MOST_WAITING: usize = 1024;
/// How long a request waits for the server to come back.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the client on stdin and stdout with the server that `config` names, until the client goes.
pub(super) async fn serve_connected(config: Config, stop: CancellationToken) -> Result<()> {
    let target = Target::new(&config).await?;
    let (read, write) = super::stdio::streams();
    let memory = Memory::of(target.shown.clone());
    let mut face = Face { lines: LineReader::new(read, LONGEST), write: Mutex::new(write), memory };
    tokio::select! {
        ended = face.run(&target) => ended,
        () = stop.cancelled() => Ok(()),
    }
}

/// The client on this side.
struct Face<R, W> {
    lines: LineReader<R>,
    write: Mutex<W>,
    memory: Memory,
}

type Connecting = Pin<Box<dyn Future<Output = Result<Established>> + Send>>;

/// Where the way to the server stands.
enum Way {
    Open(Box<Link>),
    Opening(Connecting),
}

/// What happened.
enum Event {
    Line(std::io::Result<Line>),
    Message(Option<String>),
    Opened(Result<Established>),
    TooLate,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Face<R, W> {
    async fn run(&mut self, target: &Target) -> Result<()> {
        let mut way = Way::Opening(Box::pin(link::open(target.clone(), self.memory.greeting())));
        loop {
            let due = self.memory.due();
            let room = self.memory.waiting() < MOST_WAITING;
            let event = tokio::select! {
                line = self.lines.next(), if room => Event::Line(line),
                event = way.event() => event,
                () = until(due) => Event::TooLate,
            };
            match event {
                Event::Line(Ok(Line::Whole)) => {
                    let text = String::from_utf8_lossy(self.lines.line()).trim().to_owned();
                    self.lines.start();
                    self.take(text, &mut way).await?;
                }
                Event::Line(Ok(Line::TooLong)) => {
                    let answer = self.lines.too_long();
                    self.lines.start();
                    self.tell(&answer.to_string()).await?;
                }
                Event::Line(Ok(Line::End)) => break,
                Event::Line(Err(error)) => {
                    tracing::warn!(%error, "the client could not be read");
                    break;
                }
                Event::Message(Some(text)) => {
                    self.memory.hears(&text);
                    self.tell(&text).await?;
                }
                Event::Message(None) => {
                    tracing::warn!("the server is gone; waiting for it to come back");
                    self.memory.broken(PATIENCE);
                    way =
                        Way::Opening(Box::pin(link::open(target.clone(), self.memory.greeting())));
                }
                Event::Opened(Ok(Established { link, early })) => {
                    tracing::info!("connected");
                    for answer in self.memory.linked(link.linked()) {
                        self.tell(&answer.to_string()).await?;
                    }
                    way = Way::Open(link);
                    for text in early {
                        self.memory.hears(&text);
                        self.tell(&text).await?;
                    }
                    for text in self.memory.unsent() {
                        way.send(text).await;
                    }
                }
                Event::Opened(Err(error)) => return Err(error),
                Event::TooLate => {
                    for answer in self.memory.too_late() {
                        self.tell(&answer.to_string()).await?;
                    }
                }
            }
        }
        if let Way::Open(link) = way {
            link.close().await;
        }
        Ok(())
    }

    async fn take(&mut self, text: String, way: &mut Way) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let open = matches!(way, Way::Open(_));
        if self.memory.asks(&text, open, PATIENCE) {
            way.send(text).await;
        }
        Ok(())
    }

    async fn tell(&mut self, text: &str) -> Result<()> {
        write_line(&self.write, text.as_bytes().to_vec()).await.map_err(|error| {
            TroupeError::new(ErrorCode::InternalError, format!("the client reads no more: {error}"))
        })
    }
}

impl Way {
    async fn event(&mut self) -> Event {
        match self {
            Self::Open(link) => Event::Message(link.receive().await),
            Self::Opening(connecting) => Event::Opened(connecting.await),
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

/// An answer that says that the same may work later.
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
