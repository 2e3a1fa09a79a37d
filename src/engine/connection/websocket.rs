//! The WebSocket transport, for running browsers (`--browser-endpoint`) and for browsers without
//! pipes.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    sync::mpsc,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async_tls_with_config,
    tungstenite::{Error, Message, protocol::WebSocketConfig},
};
use tokio_util::sync::CancellationToken;

use super::{AttachFailure, BrowserAddress, BrowserConnection, ConnectionError, MessageSink};

/// Maximum number of messages that wait to be written. More means that the browser hangs.
const QUEUE_SIZE: usize = 8192;
/// Hosted browsers start when a client connects.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// A TCP connection that acknowledges data at once. A browser that writes a message in several
/// pieces waits for the acknowledgment (Nagle's algorithm), which the system delays by 40 ms.
struct QuickAckStream(TcpStream);

impl AsyncRead for QuickAckStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let outcome = ready!(Pin::new(&mut self.0).poll_read(context, into));
        // The option applies only to the next acknowledgment.
        #[cfg(target_os = "linux")]
        let _ = self.0.set_quickack(true);
        Poll::Ready(outcome)
    }
}

impl AsyncWrite for QuickAckStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

struct WebSocketSink {
    queue: mpsc::Sender<Vec<u8>>,
}

impl MessageSink for WebSocketSink {
    fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), ConnectionError> {
        for message in messages {
            self.queue.try_send(message.clone()).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => {
                    ConnectionError::Overflow { pending: QUEUE_SIZE }
                }
                mpsc::error::TrySendError::Closed(_) => ConnectionError::Closed,
            })?;
        }
        Ok(())
    }
}

impl BrowserConnection {
    /// Connects to a WebSocket, or to the one that an HTTP endpoint names.
    pub async fn connect(address: BrowserAddress) -> Result<Self, AttachFailure> {
        let address = address.resolve(CONNECT_TIMEOUT).await?;
        let seconds = CONNECT_TIMEOUT.as_secs();
        tokio::time::timeout(CONNECT_TIMEOUT, Box::pin(Self::upgrade(address)))
            .await
            .map_err(|_| AttachFailure::new(format!("no connection within {seconds} s")))?
    }

    /// Connects to a WebSocket. Waits without a limit for the response.
    pub async fn upgrade(address: BrowserAddress) -> Result<Self, AttachFailure> {
        // Screenshots of whole pages exceed the default of 64 MiB for a message.
        let config = WebSocketConfig::default()
            .max_message_size(Some(1 << 30))
            .max_frame_size(Some(1 << 30));
        let request = address.upgrade_request()?;
        let io = |error: io::Error| AttachFailure::new(error.to_string());
        let stream = address.open_stream().await?;
        stream.set_nodelay(true).map_err(io)?;
        let (socket, _) =
            client_async_tls_with_config(request, QuickAckStream(stream), Some(config), None)
                .await
                .map_err(AttachFailure::handshake)?;
        let closed = CancellationToken::new();
        let (queue, outgoing) = mpsc::channel(QUEUE_SIZE);
        let connection = Self::new(Box::new(WebSocketSink { queue }), closed.clone());
        tokio::spawn(run_connection(socket, outgoing, connection.clone(), closed));
        Ok(connection)
    }
}

async fn run_connection(
    socket: WebSocketStream<MaybeTlsStream<QuickAckStream>>,
    mut outgoing: mpsc::Receiver<Vec<u8>>,
    connection: BrowserConnection,
    closed: CancellationToken,
) {
    let (mut write, mut read) = socket.split();
    let writing = async {
        while let Some(message) = outgoing.recv().await {
            let text =
                String::from_utf8(message).map_err(|error| Error::Utf8(error.to_string()))?;
            write.send(Message::text(text)).await?;
        }
        Ok::<(), Error>(())
    };
    let reading = async {
        while let Some(message) = read.next().await {
            match message {
                Ok(message @ (Message::Text(_) | Message::Binary(_))) => {
                    connection.receive_owned(message.into_data().into());
                }
                Ok(Message::Close(_)) | Err(_) => return,
                Ok(_) => {}
            }
        }
    };
    tokio::select! {
        _ = writing => {}
        () = reading => {}
        () = closed.cancelled() => {}
    }
    connection.close();
}
