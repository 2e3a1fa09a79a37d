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

use super::{
    memory::{Greeting, Linked},
    standing::Wish,
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    transport::network::{MESSAGES_READ, OWN_SESSION, Token},
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
/// So many requests of our own are under way at once: a server that waits for us to read does not read.
const AT_ONCE: usize = 64;
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
            "https" | "wss" => {
                // Whoever was first has installed it.
                let _ = rustls::crypto::ring::default_provider().install_default();
                "wss"
            }
            _ => return Err(wrong("a server is reached by http:, https:, ws: or wss:")),
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

    fn request(&self, name: Option<&str>, own: Option<&str>) -> Result<Request, Error> {
        let mut request = self.url.as_str().into_client_request()?;
        request.headers_mut().extend(self.headers.clone());
        let named = [(SESSION_ID, name), (OWN_SESSION, own)].into_iter();
        let named = named.filter_map(|(header, id)| Some((header, HeaderValue::from_str(id?).ok()?)));
        request.headers_mut().extend(named);
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
    /// Whether it is the server that the link before led to.
    known: bool,
    /// How many messages it had read of the client before.
    read: u64,
    /// How many were sent since.
    sent: u64,
}

/// Connects and greets, again and again until it succeeds. An error is one that trying again cannot mend.
pub(super) async fn open(target: Target, greeting: Greeting) -> Result<Established> {
    let mut pause = FIRST_PAUSE;
    // An attempt that fails half-way has a name there already, to which the client's own session belongs.
    let mut name = greeting.name.clone();
    loop {
        match tokio::time::timeout(ATTEMPT, attempt(&target, &greeting, &mut name)).await {
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
            Ok(Err(error)) if is_untrusted(&error) => {
                return Err(TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("{} is not trusted: {error}", target.url),
                )
                .suggestion("SSL_CERT_FILE names a file with the certificates of an own authority"));
            }
            Ok(Err(error)) => tracing::debug!(%error, "no connection yet"),
            Err(_) => tracing::debug!("the server did not answer in time"),
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Whether the certificate is why it failed.
fn is_untrusted(error: &Error) -> bool {
    let Error::Io(error) = error else { return false };
    let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(tls, Some(rustls::Error::InvalidCertificate(_)))
}

async fn attempt(
    target: &Target,
    greeting: &Greeting,
    name: &mut Option<String>,
) -> Result<Established, Error> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(LONGEST_ANSWER))
        .max_frame_size(Some(LONGEST_ANSWER));
    let request = target.request(name.as_deref(), greeting.standing.own())?;
    let (socket, response) = connect_async_with_config(request, Some(config), true).await?;
    *name = response.headers().get(SESSION_ID).and_then(|name| name.to_str().ok()).map(str::to_owned);
    let known = name.is_some() && *name == greeting.name;
    let read = response.headers().get(MESSAGES_READ).and_then(|read| read.to_str().ok()?.parse().ok());
    let mut link =
        Box::new(Link { socket, name: name.clone(), known, read: read.unwrap_or_default(), sent: 0 });
    let mut early = Vec::new();
    if let Some(initialize) = &greeting.initialize {
        let mut message: Value = serde_json::from_str(initialize).unwrap_or_default();
        message["id"] = json!(format!("{OUR_IDS}initialize"));
        link.ask(&[message], &mut early).await?;
        link.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    }
    for wishes in greeting.standing.wishes(known, greeting.initialize.is_some()) {
        for wishes in wishes.chunks(AT_ONCE) {
            let numbered = wishes.iter().enumerate();
            let messages: Vec<Value> = numbered
                .map(|(number, Wish { method, params })| {
                    json!({"jsonrpc": "2.0", "id": format!("{OUR_IDS}{number}"), "method": method, "params": params})
                })
                .collect();
            for (wish, answer) in wishes.iter().zip(link.ask(&messages, &mut early).await?) {
                if answer["result"]["isError"] == true || answer["error"].is_object() {
                    tracing::warn!(method = wish.method, params = %wish.params, %answer, "it could not be repeated");
                }
            }
        }
    }
    Ok(Established { link, early })
}

impl Link {
    pub fn linked(&self) -> Linked<'_> {
        Linked { name: self.name.as_deref(), known: self.known, read: self.read, sent: self.sent }
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

    /// Sends requests of our own and waits for their answers; what else comes goes to `early`.
    async fn ask(&mut self, messages: &[Value], early: &mut Vec<String>) -> Result<Vec<Value>, Error> {
        for message in messages {
            self.send(message.to_string()).await;
        }
        let mut answers = vec![Value::Null; messages.len()];
        while answers.iter().any(Value::is_null) {
            let text = self.receive().await.ok_or(Error::ConnectionClosed)?;
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            let asked = messages.iter().position(|message| answer["id"] == message["id"]);
            match asked.filter(|_| answer["method"].is_null()) {
                Some(at) => answers[at] = answer,
                None => early.push(text),
            }
        }
        Ok(answers)
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
