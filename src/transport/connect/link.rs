//! The WebSocket of a face to its server.

use std::{borrow::Cow, time::Duration};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        handshake::client::Request,
        http::{HeaderMap, HeaderName, HeaderValue, header},
        protocol::WebSocketConfig,
    },
};
use url::Url;

use super::memory::Greeting;
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    transport::network::{MESSAGES_READ, Token},
};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Results with pictures of whole pages are long.
const LONGEST_ANSWER: usize = 64 << 20;
/// How long connecting and shaking hands may take before it is tried again.
const ATTEMPT: Duration = Duration::from_secs(10);
/// The first pause between two attempts; each is twice the one before, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// What saying goodbye may take.
const GOODBYE: Duration = Duration::from_millis(500);
/// Ids of our own requests; a client would have to mean it.
const OUR_IDS: &str = "troupe-connect-";

/// A server and how it is asked.
#[derive(Clone)]
pub(super) struct Target {
    url: Url,
    headers: HeaderMap,
}

impl Target {
    pub async fn new(config: &Config) -> Result<Self> {
        let given = config.connect.as_deref().unwrap_or_default();
        let wrong =
            |why: &str| TroupeError::new(ErrorCode::InvalidParameters, format!("`--connect {given}`: {why}"));
        let mut url = Url::parse(given).map_err(|error| wrong(&error.to_string()))?;
        let scheme = match url.scheme() {
            "http" | "ws" => "ws",
            _ => return Err(wrong("only `http:` and `ws:` are built; put TLS in a tunnel")),
        };
        url.set_scheme(scheme).map_err(|()| wrong("another scheme was expected"))?;
        // The WebSocket stands beside Streamable HTTP.
        let path = url.path().trim_end_matches('/');
        let path = match path.strip_suffix("/mcp").unwrap_or(path) {
            path if path.ends_with("/ws") => Cow::from(path.to_owned()),
            path => Cow::from(format!("{path}/ws")),
        };
        url.set_path(&path);
        let mut headers = HeaderMap::new();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
        if let Some(token) = Token::configured(config).await? {
            headers.insert(
                header::AUTHORIZATION,
                token.header().ok_or_else(|| wrong("the token is no header"))?,
            );
        }
        Ok(Self { url, headers })
    }

    fn request(&self, name: Option<&str>) -> Result<Request, Error> {
        let mut request = self.url.as_str().into_client_request()?;
        request.headers_mut().extend(self.headers.clone());
        let name = name.and_then(|name| HeaderValue::from_str(name).ok());
        request.headers_mut().extend(name.map(|name| (SESSION_ID, name)));
        Ok(request)
    }
}

/// A link that is ready, and what the server has said meanwhile that is the client's.
pub(super) struct Established {
    pub link: Box<Link>,
    pub early: Vec<String>,
}

pub(super) struct Link {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The client's name there.
    name: Option<String>,
    /// How many messages the server had read from the client before; `None` where it did not know the client.
    pub had: Option<u64>,
    /// How many were sent since.
    pub sent: u64,
}

/// Connects and greets, again and again until it succeeds. An error is one that trying again cannot mend.
pub(super) async fn open(target: Target, greeting: Greeting) -> Result<Established> {
    let mut pause = FIRST_PAUSE;
    loop {
        match tokio::time::timeout(ATTEMPT, attempt(&target, &greeting)).await {
            Ok(Ok(established)) => return Ok(established),
            Ok(Err(Error::Http(response))) if response.status().is_client_error() => {
                let body = response.body().as_deref().unwrap_or_default();
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!(
                        "{} refused: {} {}",
                        target.url,
                        response.status(),
                        String::from_utf8_lossy(body)
                    ),
                ));
            }
            Ok(Err(error)) => tracing::debug!(%error, "no connection yet"),
            Err(_) => tracing::debug!("the server did not answer in time"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

async fn attempt(target: &Target, greeting: &Greeting) -> Result<Established, Error> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LONGEST_ANSWER))
        .max_frame_size(Some(LONGEST_ANSWER));
    let request = target.request(greeting.name.as_deref())?;
    let (socket, response) = connect_async_with_config(request, Some(config), true).await?;
    let name = response.headers().get(SESSION_ID).and_then(|name| name.to_str().ok()).map(str::to_owned);
    let known = name.is_some() && name == greeting.name;
    let read = response.headers().get(MESSAGES_READ).and_then(|read| read.to_str().ok()?.parse().ok());
    let mut link = Box::new(Link { socket, name, had: read.filter(|_| known), sent: 0 });
    let mut early = Vec::new();
    if let Some(initialize) = &greeting.initialize {
        let mut message: Value = serde_json::from_str(initialize).unwrap_or_default();
        message["id"] = json!(format!("{OUR_IDS}initialize"));
        link.ask(&message, &mut early).await?;
        link.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    }
    // A server that still knows the client has its sessions too.
    for session in greeting.sessions.iter().filter(|_| !known) {
        let message = json!({
            "jsonrpc": "2.0",
            "id": format!("{OUR_IDS}{session}"),
            "method": "tools/call",
            "params": {"name": "session_resume", "arguments": {"sessionId": session}},
        });
        let answer = link.ask(&message, &mut early).await?;
        if answer["result"]["isError"] == true || answer["error"].is_object() {
            tracing::warn!(session, %answer, "a session could not be resumed");
        }
    }
    Ok(Established { link, early })
}

impl Link {
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The next message; `None` when the server has gone.
    pub async fn receive(&mut self) -> Option<String> {
        loop {
            match self.socket.next().await? {
                Ok(Message::Text(text)) => return Some(text.to_string()),
                Ok(Message::Binary(bytes)) => return Some(String::from_utf8_lossy(&bytes).into_owned()),
                Ok(Message::Close(_)) => return None,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the link broke");
                    return None;
                }
            }
        }
    }

    /// Sends; that it cannot is told by `receive`.
    pub async fn send(&mut self, text: String) {
        self.sent += 1;
        if let Err(error) = self.socket.send(Message::text(text)).await {
            tracing::debug!(%error, "a message could not be sent");
        }
    }

    /// Sends a request of our own and waits for its answer; what else comes goes to `early`.
    async fn ask(&mut self, message: &Value, early: &mut Vec<String>) -> Result<Value, Error> {
        self.send(message.to_string()).await;
        while let Some(text) = self.receive().await {
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            if answer["id"] == message["id"] && answer["method"].is_null() {
                return Ok(answer);
            }
            early.push(text);
        }
        Err(Error::ConnectionClosed)
    }

    /// Leaves in order, so that the server ends what ends with the client.
    pub async fn close(mut self: Box<Self>) {
        let goodbye = async {
            self.socket.close(None).await?;
            while let Some(Ok(_)) = self.socket.next().await {}
            Ok::<(), Error>(())
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
}
