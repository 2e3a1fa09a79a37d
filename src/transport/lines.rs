//! One JSON message for each line, as in the stdio transport.
//!
//! rmcp's own reader silently drops lines that it cannot parse, and lets pipelined calls overtake
//! each other. This one answers an invalid line with -32700, and assigns each call its turn when
//! the line is read.

use std::{collections::VecDeque, io, sync::Arc};

use rmcp::{RoleServer, service::TxJsonRpcMessage, transport::Transport};
use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

use super::{
    framing::{LineReader, LineStatus},
    messages::{self, ClientMessage},
};
use crate::session::Connection;

/// Maximum length of a line in bytes. A message is in memory several times.
const MAX_LINE: usize = 16 << 20;

/// Reads lines from `R` and writes lines to `W`, as rmcp's transport.
pub(super) struct LineTransport<R, W> {
    read: LineReader<R>,
    /// Messages of one line that `receive` has not returned yet (2025-03-26 allows several).
    waiting: VecDeque<ClientMessage>,
    write: Arc<Mutex<W>>,
    connection: Arc<Connection>,
    client_gone: CancellationToken,
}

impl<R: AsyncRead + Unpin, W> LineTransport<R, W> {
    /// `client_gone` is canceled when the client has disconnected.
    pub fn new(
        read: R,
        write: W,
        connection: Arc<Connection>,
        client_gone: CancellationToken,
    ) -> Self {
        Self {
            read: LineReader::new(read, MAX_LINE),
            waiting: VecDeque::new(),
            write: Arc::new(Mutex::new(write)),
            connection,
            client_gone,
        }
    }
}

/// Writes one line. Not cancel-safe: a part of the line may have been written.
pub(super) async fn write_line<W: AsyncWrite + Unpin>(
    write: &Mutex<W>,
    mut line: Vec<u8>,
) -> io::Result<()> {
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = self.write.clone();
        async move { write_line(&write, messages::write(&item)?.into_bytes()).await }
    }

    async fn receive(&mut self) -> Option<ClientMessage> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            let refused: Vec<Value> = match self.read.next().await {
                Ok(LineStatus::Whole) => {
                    let mut refused = Vec::new();
                    for message in messages::read(self.read.line(), &self.connection) {
                        match message {
                            Ok(message) => self.waiting.push_back(message),
                            Err(answer) => refused.push(answer),
                        }
                    }
                    self.read.start();
                    refused
                }
                Ok(LineStatus::TooLong) => {
                    let answer = self.read.too_long();
                    self.read.start();
                    vec![answer]
                }
                Ok(LineStatus::End) => break,
                Err(error) => {
                    tracing::warn!(%error, "the client's messages could not be read");
                    break;
                }
            };
            for answer in refused {
                tracing::debug!(%answer, "rejected a message");
                // Not awaited here: `receive` may be dropped at any await, and a part of a line
                // would be written.
                let write = self.write.clone();
                tokio::spawn(async move {
                    if let Ok(line) = serde_json::to_vec(&answer) {
                        let _ = write_line(&write, line).await;
                    }
                });
            }
        }
        // rmcp waits for running calls at the end of input, but no client would read their results.
        self.client_gone.cancel();
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads the messages of a client that sends `input` in pieces and disconnects. Returns the
    /// number of messages. Does not return if the end of the input is missed.
    async fn read_all(input: Vec<u8>, pieces: usize) -> usize {
        let (mut client, read) = tokio::io::duplex(pieces.max(1));
        let mut lines =
            LineTransport::new(read, tokio::io::sink(), Arc::default(), CancellationToken::new());
        let sending = async move {
            let _ = client.write_all(&input).await;
        };
        let reading = async {
            let mut count = 0;
            while lines.receive().await.is_some() {
                count += 1;
            }
            count
        };
        tokio::join!(sending, reading).1
    }

    proptest! {
        #[test]
        fn any_input_is_read_to_its_end(
            chunks in proptest::collection::vec(
                prop_oneof![
                    proptest::collection::vec(any::<u8>(), 0..40),
                    Just(b"\n".to_vec()),
                    Just(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n".to_vec()),
                ],
                0..20,
            ),
            pieces in 1usize..64,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let whole = chunks.concat();
            let limit = std::time::Duration::from_secs(5);
            runtime.block_on(async { tokio::time::timeout(limit, read_all(whole, pieces)).await }).unwrap();
        }
    }
}
