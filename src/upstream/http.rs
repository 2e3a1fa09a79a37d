//! The connection to a server on a local port, over Streamable HTTP.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{ACCEPT, CONTENT_TYPE, HeaderValue},
};
use hyper_util::{
    client::legacy::{Client as Web, connect::HttpConnector},
    rt::TokioExecutor,
};
use tokio::{net::TcpStream, sync::mpsc, task::JoinSet};

use super::client::{Client, OutgoingMessage};

const SESSION_ID: &str = "mcp-session-id";
const REVISION: &str = "mcp-protocol-version";
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// Maximum size of an event in bytes. Results with screenshots are large.
const MAX_EVENT_SIZE: usize = 64 << 20;
/// The pause between two attempts to reach a starting server, and between two streams of its
/// notifications.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(250);
/// Timeout for ending the session.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// Waits until a process listens on `port`.
pub(super) async fn wait_for_listener(port: u16) {
    let mut pause = FIRST_PAUSE;
    // It may listen on the IPv4 or the IPv6 address of `localhost`.
    while TcpStream::connect(("localhost", port)).await.is_err() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Transfers messages in both directions until the connection ends. The task ends with `gone` or
/// `shut` of the client.
pub(super) fn connect(client: &Arc<Client>, mut queue: mpsc::Receiver<OutgoingMessage>, port: u16) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let link = Arc::new(HttpUpstream {
        client: client.clone(),
        web: Web::builder(TokioExecutor::new()).build(connector),
        url: format!("http://localhost:{port}/mcp"),
        session: OnceLock::new(),
    });
    tokio::spawn(async move {
        let mut exchanges = JoinSet::new();
        loop {
            let message = tokio::select! {
                biased;
                message = queue.recv() => message,
                () = link.client.shut().cancelled() => None,
                () = link.client.gone().cancelled() => return,
            };
            let Some(message) = message else {
                link.leave().await;
                return link.client.gone().cancel();
            };
            let opens = message.method == "notifications/initialized";
            if message.id.is_some() {
                let link = link.clone();
                exchanges.spawn(async move { link.exchange(message).await });
            } else {
                // The next message may depend on this one.
                link.exchange(message).await;
            }
            if opens {
                let link = link.clone();
                exchanges.spawn(async move { link.listen().await });
            }
            while exchanges.try_join_next().is_some() {}
        }
    });
}

struct HttpUpstream {
    client: Arc<Client>,
    web: Web<HttpConnector, Full<Bytes>>,
    url: String,
    session: OnceLock<HeaderValue>,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

impl HttpUpstream {
    fn request(&self, method: Method, body: String) -> Result<Request<Full<Bytes>>, BoxError> {
        let mut request = Request::builder().method(method).uri(&self.url);
        if let Some(session) = self.session.get() {
            request = request.header(SESSION_ID, session);
        }
        if let Some(revision) = self.client.revision() {
            request = request.header(REVISION, revision);
        }
        Ok(request.body(Full::new(body.into()))?)
    }

    /// Sends a message, and handles the response.
    async fn exchange(&self, message: OutgoingMessage) {
        let id = message.id;
        if let Err(error) = self.post(message).await {
            tracing::debug!(%error, url = self.url, "the upstream server does not respond over HTTP");
            return self.client.gone().cancel();
        }
        if let Some(id) = id {
            self.client.fail_unanswered(id);
        }
    }

    async fn post(&self, message: OutgoingMessage) -> Result<(), BoxError> {
        let OutgoingMessage { text, method, name, .. } = message;
        let mut request = self.request(Method::POST, text)?;
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if self.client.is_modern() {
            headers.insert("mcp-method", method.parse()?);
            if let Some(name) = name.and_then(|name| name.parse().ok()) {
                headers.insert("mcp-name", name);
            }
        }
        let response = self.web.request(request).await?;
        if let Some(session) = response.headers().get(SESSION_ID) {
            let _ = self.session.set(session.clone());
        }
        let (status, is_events) = (response.status(), is_events(&response));
        if is_events {
            return self.read_events(response).await;
        }
        let body = response.into_body().collect().await?.to_bytes();
        // A JSON-RPC error is a response. Any other error status means that the server is gone.
        if !status.is_success() && !body.trim_ascii_start().starts_with(b"{\"jsonrpc\"") {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
        if status == StatusCode::NOT_FOUND && self.session.get().is_some() {
            return Err("the server does not know the session".into());
        }
        self.client.receive(&body);
        Ok(())
    }

    /// Receives the server's notifications if it has a stream for them; some servers assume that a
    /// client without one has disconnected.
    async fn listen(&self) {
        loop {
            let streamed = async {
                let mut request = self.request(Method::GET, String::new())?;
                request.headers_mut().insert(ACCEPT, HeaderValue::from_static(EVENTS));
                let response = self.web.request(request).await?;
                if !is_events(&response) {
                    return Ok(false);
                }
                self.read_events(response).await?;
                Ok::<_, BoxError>(true)
            };
            match streamed.await {
                Ok(true) => tokio::time::sleep(LAST_PAUSE).await,
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(%error, "the stream of the upstream server ended with an error");
                    tokio::time::sleep(LAST_PAUSE).await;
                }
            }
        }
    }

    async fn read_events(&self, response: Response<Incoming>) -> Result<(), BoxError> {
        let mut body = response.into_body();
        let mut events = ServerSentEvents::default();
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                events.feed(&data, |message| self.client.receive(message));
                if events.kept() > MAX_EVENT_SIZE {
                    return Err("an event is too large".into());
                }
            }
        }
        Ok(())
    }

    /// Ends the session.
    async fn leave(&self) {
        let Ok(request) = self.request(Method::DELETE, String::new()) else { return };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.web.request(request)).await;
    }
}

fn is_events(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    response.status().is_success() && kind.is_some_and(|kind| kind.starts_with(EVENTS))
}

/// A parser of server-sent events, which reads only their data.
#[derive(Default)]
struct ServerSentEvents {
    line: Vec<u8>,
    data: Vec<u8>,
}

impl ServerSentEvents {
    fn feed(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.pop_if(|last| *last == b'\n').is_none() {
                return;
            }
            self.line.pop_if(|last| *last == b'\r');
            if self.line.is_empty() {
                if !self.data.is_empty() {
                    take(&self.data);
                }
                self.data.clear();
            } else if let Some(data) = self.line.strip_prefix(b"data:") {
                if !self.data.is_empty() {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(data.strip_prefix(b" ").unwrap_or(data));
            }
            self.line.clear();
        }
    }

    fn kept(&self) -> usize {
        self.line.len() + self.data.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn events_are_parsed_from_chunks_of_any_size(
            messages in proptest::collection::vec("[a-z{}\": ]{1,20}", 0..10),
            returns in any::<bool>(),
            size in 1..30_usize,
        ) {
            let end = if returns { "\r\n" } else { "\n" };
            let events = messages.iter().map(|data| format!("event: message{end}id: 7{end}data: {data}{end}{end}"));
            let stream = format!(":ping{end}{end}{}", events.collect::<String>());
            let (mut parser, mut taken) = (ServerSentEvents::default(), Vec::new());
            for part in stream.as_bytes().chunks(size) {
                parser.feed(part, |message| taken.push(String::from_utf8(message.to_vec()).unwrap()));
            }
            prop_assert_eq!(taken, messages);
        }
    }
}
