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
    WebSocketStream, client_async_with_config,
    tungstenite::{Error, Message, protocol::WebSocketConfig},
};
use tokio_util::sync::CancellationToken;

use super::{BrowserConnection, ConnectionError, MessageSink};

/// Maximum number of messages that wait to be written. More means that the browser hangs.
const QUEUE_SIZE: usize = 8192;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

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
    /// Connects to `url` (`ws://…`) within ten seconds.
    pub async fn connect(url: &str) -> Result<Self, String> {
        // Screenshots of whole pages exceed the default of 64 MiB for a message.
        let config = WebSocketConfig::default()
            .max_message_size(Some(1 << 30))
            .max_frame_size(Some(1 << 30));
        let parsed = url::Url::parse(url).map_err(|error| error.to_string())?;
        if parsed.scheme() != "ws" {
            return Err(format!("`{}:` is not supported, only `ws:`", parsed.scheme()));
        }
        let host = parsed.host_str().ok_or("the URL has no host")?.trim_matches(['[', ']']);
        let port = parsed.port_or_known_default().ok_or("the URL has no port")?;
        let connect = async {
            let stream =
                TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
            stream.set_nodelay(true).map_err(|error| error.to_string())?;
            let socket = client_async_with_config(url, QuickAckStream(stream), Some(config)).await;
            socket.map_err(|error| error.to_string())
        };
        let (socket, _) = tokio::time::timeout(CONNECT_TIMEOUT, connect)
            .await
            .map_err(|_| format!("no connection within {} s", CONNECT_TIMEOUT.as_secs()))??;
        let closed = CancellationToken::new();
        let (queue, outgoing) = mpsc::channel(QUEUE_SIZE);
        let connection = Self::new(Box::new(WebSocketSink { queue }), closed.clone());
        tokio::spawn(run_connection(socket, outgoing, connection.clone(), closed));
        Ok(connection)
    }
}

async fn run_connection(
    socket: WebSocketStream<QuickAckStream>,
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

/// Returns the WebSocket URL of a DevTools HTTP endpoint (`http://host:9222`).
pub async fn debugger_url(endpoint: &str) -> Result<String, String> {
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

    let url = url::Url::parse(endpoint).map_err(|error| error.to_string())?;
    let host = url.host_str().ok_or("the URL has no host")?;
    let port = url.port_or_known_default().ok_or("the URL has no port")?;
    // One small request does not justify an HTTP client. Chrome supports only HTTP/1.1 and keeps
    // the connection open.
    let ask = async {
        let mut stream = BufReader::new(TcpStream::connect((host, port)).await?);
        let request = format!(
            "GET /json/version HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        let mut length = 0;
        let mut header = String::new();
        while stream.read_line(&mut header).await? > 0 && !header.trim().is_empty() {
            if let Some((name, value)) = header.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
            header.clear();
        }
        let mut body = vec![0; usize::min(length, 1 << 20)];
        stream.read_exact(&mut body).await?;
        Ok::<_, std::io::Error>(body)
    };
    let body = tokio::time::timeout(CONNECT_TIMEOUT, ask)
        .await
        .map_err(|_| "no response".to_owned())?
        .map_err(|error| error.to_string())?;
    serde_json::from_slice::<serde_json::Value>(&body)
        .ok()
        .and_then(|version| version["webSocketDebuggerUrl"].as_str().map(str::to_owned))
        .ok_or_else(|| "the endpoint does not support the DevTools protocol".to_owned())
}
