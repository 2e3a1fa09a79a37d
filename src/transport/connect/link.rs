//! The WebSocket from `--connect` to the server.

use std::{borrow::Cow, fmt, path::PathBuf, pin::Pin, time::Duration};

use futures_util::{Sink, SinkExt, Stream, StreamExt};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
pub(super) use tokio_tungstenite::tungstenite::Error as SocketError;
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async_with_config,
    tungstenite::{
        Error, Message,
        client::IntoClientRequest,
        error::ProtocolError,
        handshake::client::Request,
        http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header},
        protocol::WebSocketConfig,
    },
};
use url::Url;

use super::{
    pending::{ConnectionReport, Handshake},
    restorable::RestoreRequest,
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TRUST_CERTIFICATE, TroupeError},
    transport::{
        Token, keep_alive, local,
        network::{MESSAGES_READ, OWN_SESSION},
    },
};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Maximum size of a message of the server: full-page screenshots are large.
const MAX_ANSWER_SIZE: usize = 64 << 20;
/// Timeout for one attempt to connect and to initialize.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(10);
/// The first pause between two attempts; each is twice the one before, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);
/// The maximum pause that the server can request.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// Timeout for closing the connection.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);
/// Maximum number of in-flight requests. More could deadlock, because a server whose answers are
/// not read stops reading.
const MAX_IN_FLIGHT: usize = 64;
/// The prefix of the ids of the proxy's own requests, which must differ from those of the client.
const ID_PREFIX: &str = "troupe-connect-";

/// The URL of a server and the headers of requests to it.
#[derive(Clone)]
pub(super) struct ConnectTarget {
    url: Url,
    /// The socket of a daemon, in place of the port of `url`.
    socket: Option<PathBuf>,
    /// The URL as it was given, for messages. It has no password.
    pub shown: String,
    headers: HeaderMap,
    /// Whether each attempt reads the user's token file, because the server is on this machine and
    /// no token is configured. The server may create the file later.
    reads_token_file: bool,
}

impl ConnectTarget {
    pub async fn new(config: &Config) -> Result<Self> {
        let given = config.connect.as_deref().unwrap_or_default();
        let wrong = |why: &str| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("`--connect {given}`: {why}"))
        };
        let mut url = Url::parse(given).map_err(|error| wrong(&error.to_string()))?;
        if url.scheme() == "unix" {
            return match local::socket_path(&url) {
                Some(socket) => Self::of_socket(socket, given).map_err(wrong),
                None => Err(wrong("unix: needs the path of a socket")),
            };
        }
        let mut shown = url.clone();
        let _ = (shown.set_username(""), shown.set_password(None));
        let scheme = match url.scheme() {
            "http" | "ws" => "ws",
            "https" | "wss" => {
                // Fails if it is installed already.
                let _ = rustls::crypto::ring::default_provider().install_default();
                "wss"
            }
            _ => return Err(wrong("the URL must begin with http:, https:, ws:, wss: or unix:")),
        };
        url.set_scheme(scheme).map_err(|()| wrong("the scheme is not valid"))?;
        // The path of the WebSocket, next to that of Streamable HTTP.
        let path = url.path().trim_end_matches('/');
        let path = match path.strip_suffix("/mcp").unwrap_or(path) {
            path if path.ends_with("/ws") => Cow::from(path.to_owned()),
            path => Cow::from(format!("{path}/ws")),
        };
        url.set_path(&path);
        let mut headers = HeaderMap::new();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
        let token = Token::configured(config).await?;
        let reads_token_file = token.is_none() && config.auth && is_loopback(&url);
        headers.extend(token.and_then(|token| Some((header::AUTHORIZATION, token.header()?))));
        Ok(Self { url, socket: None, shown: shown.into(), headers, reads_token_file })
    }

    fn of_socket(socket: PathBuf, given: &str) -> Result<Self, &'static str> {
        let url = Url::parse("ws://localhost/ws").map_err(|_| "the URL is not valid")?;
        let mut headers = HeaderMap::new();
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static("mcp"));
        let shown = given.to_owned();
        Ok(Self { url, socket: Some(socket), shown, headers, reads_token_file: false })
    }

    async fn request(&self, client_id: Option<&str>, own: Option<&str>) -> Result<Request, Error> {
        let mut request = self.url.as_str().into_client_request()?;
        request.headers_mut().extend(self.headers.clone());
        if self.reads_token_file
            && let Some(token) = Token::of_this_user().await
        {
            request
                .headers_mut()
                .extend(token.header().map(|value| (header::AUTHORIZATION, value)));
        }
        let named = [(SESSION_ID, client_id), (OWN_SESSION, own)].into_iter();
        let named =
            named.filter_map(|(header, id)| Some((header, HeaderValue::from_str(id?).ok()?)));
        request.headers_mut().extend(named);
        Ok(request)
    }
}

/// Returns whether `url` names this machine. The token file is used only for such URLs.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// An established connection, and the messages for the client that the server has sent meanwhile.
pub(super) struct EstablishedLink {
    pub link: Box<ServerLink>,
    pub early: Vec<String>,
}

/// The messages of a WebSocket, over TCP or a private socket.
trait MessageStream:
    Stream<Item = Result<Message, Error>> + Sink<Message, Error = Error> + Send
{
}

impl<S> MessageStream for WebSocketStream<S> where S: AsyncRead + AsyncWrite + Unpin + Send + 'static
{}

/// A connection to the server.
pub(super) struct ServerLink {
    socket: Pin<Box<dyn MessageStream>>,
    /// The id of the client at the server.
    client_id: Option<String>,
    /// Whether it is the same server as before.
    is_same_server: bool,
    /// How many of the client's messages the server had read before.
    read: u64,
    /// How many messages were sent since then.
    sent: u64,
}

/// Why an attempt to connect failed.
pub(super) enum ConnectFailure {
    Connection(Error),
    /// The server is not Troupe.
    NotTroupe(String),
    TimedOut,
}

impl From<Error> for ConnectFailure {
    fn from(error: Error) -> Self {
        Self::Connection(error)
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connection(error) => error.fmt(out),
            Self::NotTroupe(found) => out.write_str(found),
            Self::TimedOut => write!(out, "no answer within {} s", ATTEMPT_TIMEOUT.as_secs()),
        }
    }
}

impl ConnectFailure {
    /// Returns an error if further attempts would fail in the same way.
    pub fn final_error(&self, target: &ConnectTarget) -> Option<TroupeError> {
        let invalid = |message| TroupeError::new(ErrorCode::InvalidParameters, message);
        let not_troupe = |found: &str| {
            let message = format!("there is no Troupe server at {}: {found}", target.shown);
            invalid(message).suggestion("pass the URL that the server prints when it starts")
        };
        match self {
            Self::NotTroupe(found) => Some(not_troupe(found)),
            Self::TimedOut => None,
            Self::Connection(Error::Http(response)) => match response.status() {
                StatusCode::UNAUTHORIZED => Some(invalid(refusal(target, response)).suggestion(
                    "pass the file with the token of that server: --auth-token-file PATH",
                )),
                StatusCode::FORBIDDEN | StatusCode::BAD_REQUEST => {
                    Some(invalid(refusal(target, response)))
                }
                StatusCode::TOO_MANY_REQUESTS => None,
                status if status.is_server_error() => None,
                status => Some(not_troupe(&format!("it responds with {status}"))),
            },
            Self::Connection(Error::Protocol(error)) => match error {
                // The server ended during the handshake.
                ProtocolError::HandshakeIncomplete
                | ProtocolError::ResetWithoutClosingHandshake
                | ProtocolError::SendAfterClosing
                | ProtocolError::ReceivedAfterClosing => None,
                error => Some(not_troupe(&error.to_string())),
            },
            Self::Connection(Error::Io(error)) => {
                let tls =
                    error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>())?;
                Some(match tls {
                    rustls::Error::InvalidCertificate(_) => invalid(format!(
                        "the certificate of {} is not trusted: {tls}",
                        target.shown
                    ))
                    .suggestion(TRUST_CERTIFICATE),
                    tls => not_troupe(&format!("it does not speak TLS ({tls})")),
                })
            }
            Self::Connection(_) => None,
        }
    }
}

/// Connects and initializes, and retries until that succeeds. Returns an error if retries would
/// fail in the same way. Logs the first failure.
pub(super) async fn open(target: ConnectTarget, handshake: Handshake) -> Result<EstablishedLink> {
    let mut pause = FIRST_PAUSE;
    // An attempt that fails after the upgrade has an id already, which owns the client's implicit
    // session.
    let mut client_id = handshake.client_id.clone();
    let mut is_logged = false;
    loop {
        let failure = match attempt(&target, &handshake, &mut client_id).await {
            Ok(established) => return Ok(established),
            Err(failure) => failure,
        };
        if let Some(error) = failure.final_error(&target) {
            return Err(error);
        }
        if let ConnectFailure::Connection(Error::Http(response)) = &failure {
            // The limit of connections or of requests is reached, which is temporary.
            pause = pause.max(retry_after(response.headers()));
        }
        if is_logged {
            tracing::debug!(%failure, "no connection yet");
        } else {
            tracing::warn!("cannot connect to {}: {failure}; retrying", target.shown);
            is_logged = true;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
    }
}

/// Connects to `target` for the first time, in one attempt.
pub(super) async fn open_once(target: &ConnectTarget) -> Result<ServerLink> {
    match attempt(target, &Handshake::default(), &mut None).await {
        Ok(EstablishedLink { link, .. }) => Ok(*link),
        Err(failure) => Err(failure.final_error(target).unwrap_or_else(|| {
            let message = format!("cannot connect to {}: {failure}", target.shown);
            TroupeError::new(ErrorCode::ServerUnavailable, message)
        })),
    }
}

/// Returns the message of the server's rejection.
fn refusal(target: &ConnectTarget, response: &Response<Option<Vec<u8>>>) -> String {
    let body = String::from_utf8_lossy(response.body().as_deref().unwrap_or_default());
    format!("the server at {} rejected the connection: {} {body}", target.shown, response.status())
}

/// Returns the pause that the server requests, at most `MAX_WAIT`.
fn retry_after(headers: &HeaderMap) -> Duration {
    let seconds =
        headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    seconds.map_or(Duration::ZERO, Duration::from_secs).min(MAX_WAIT)
}

async fn attempt(
    target: &ConnectTarget,
    handshake: &Handshake,
    client_id: &mut Option<String>,
) -> Result<EstablishedLink, ConnectFailure> {
    let attempt = attempt_in_time(target, handshake, client_id);
    tokio::time::timeout(ATTEMPT_TIMEOUT, attempt).await.unwrap_or(Err(ConnectFailure::TimedOut))
}

async fn attempt_in_time(
    target: &ConnectTarget,
    handshake: &Handshake,
    client_id: &mut Option<String>,
) -> Result<EstablishedLink, ConnectFailure> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_ANSWER_SIZE))
        .max_frame_size(Some(MAX_ANSWER_SIZE));
    let request = target.request(client_id.as_deref(), handshake.restorable.implicit()).await?;
    let (socket, response) = open_socket(target, request, config).await?;
    *client_id =
        response.headers().get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let is_same_server = client_id.is_some() && *client_id == handshake.client_id;
    let Some(read) = response.headers().get(MESSAGES_READ) else {
        return Err(ConnectFailure::NotTroupe("the answer is not from Troupe".to_owned()));
    };
    let read = read.to_str().ok().and_then(|read| read.parse().ok());
    let mut link = Box::new(ServerLink {
        socket,
        client_id: client_id.clone(),
        is_same_server,
        read: read.unwrap_or_default(),
        sent: 0,
    });
    let mut early = Vec::new();
    if let Some(initialize) = &handshake.initialize {
        let mut message: Value = serde_json::from_str(initialize).unwrap_or_default();
        message["id"] = json!(format!("{ID_PREFIX}initialize"));
        link.ask(&[message], &mut early).await?;
        link.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string())
            .await;
    }
    for restore_requests in
        handshake.restorable.restore_requests(is_same_server, handshake.initialize.is_some())
    {
        for restore_requests in restore_requests.chunks(MAX_IN_FLIGHT) {
            let numbered = restore_requests.iter().enumerate();
            let messages: Vec<Value> = numbered
                .map(|(number, RestoreRequest { method, params })| {
                    json!({"jsonrpc": "2.0", "id": format!("{ID_PREFIX}{number}"), "method": method, "params": params})
                })
                .collect();
            for (request, answer) in
                restore_requests.iter().zip(link.ask(&messages, &mut early).await?)
            {
                if answer["result"]["isError"] == true || answer["error"].is_object() {
                    tracing::warn!(method = request.method, params = %request.params, %answer, "a request could not be repeated after the reconnect");
                }
            }
        }
    }
    Ok(EstablishedLink { link, early })
}

/// Connects to the port or the socket of `target`, and upgrades to a WebSocket.
async fn open_socket(
    target: &ConnectTarget,
    request: Request,
    config: WebSocketConfig,
) -> Result<(Pin<Box<dyn MessageStream>>, Response<Option<Vec<u8>>>), Error> {
    if let Some(path) = &target.socket {
        let stream = local::connect(path).await?;
        let (socket, response) =
            tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await?;
        return Ok((Box::pin(socket), response));
    }
    let (socket, response) = connect_async_with_config(request, Some(config), true).await?;
    if let Some(stream) = tcp_stream(socket.get_ref()) {
        keep_alive::watch(stream);
    }
    Ok((Box::pin(socket), response))
}

/// Returns the TCP connection below TLS.
fn tcp_stream(stream: &MaybeTlsStream<TcpStream>) -> Option<&TcpStream> {
    match stream {
        MaybeTlsStream::Plain(stream) => Some(stream),
        MaybeTlsStream::Rustls(stream) => Some(stream.get_ref().0),
        _ => None,
    }
}

impl ServerLink {
    pub fn report(&self) -> ConnectionReport<'_> {
        ConnectionReport {
            client_id: self.client_id.as_deref(),
            is_same_server: self.is_same_server,
            read: self.read,
            sent: self.sent,
        }
    }

    /// Returns the next message; `None` if the connection is closed.
    pub async fn receive(&mut self) -> Option<String> {
        loop {
            match self.socket.next().await? {
                Ok(Message::Text(text)) => return Some(text.to_string()),
                Ok(Message::Binary(bytes)) => {
                    return Some(String::from_utf8_lossy(&bytes).into_owned());
                }
                Ok(Message::Close(_)) => return None,
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "the connection to the server broke");
                    return None;
                }
            }
        }
    }

    /// Sends a message. A failure is reported by `receive`.
    pub async fn send(&mut self, text: String) {
        self.sent += 1;
        if let Err(error) = self.socket.send(Message::text(text)).await {
            tracing::debug!(%error, "a message could not be sent");
        }
    }

    /// Sends the proxy's own requests and waits for their responses. Adds all other messages to
    /// `early`.
    pub async fn ask(
        &mut self,
        messages: &[Value],
        early: &mut Vec<String>,
    ) -> Result<Vec<Value>, Error> {
        for message in messages {
            self.send(message.to_string()).await;
        }
        let mut answers = vec![Value::Null; messages.len()];
        while answers.iter().any(Value::is_null) {
            let text = self.receive().await.ok_or(Error::ConnectionClosed)?;
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            let index = messages.iter().position(|message| answer["id"] == message["id"]);
            match index.filter(|_| answer["method"].is_null()) {
                Some(at) => answers[at] = answer,
                None => early.push(text),
            }
        }
        Ok(answers)
    }

    /// Closes the WebSocket with a handshake, so that the server releases the sessions of the
    /// client.
    pub async fn close(mut self) {
        let closing = async {
            self.socket.close().await?;
            while let Some(Ok(_)) = self.socket.next().await {}
            Ok::<(), Error>(())
        };
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_token_file_is_used_only_for_loopback_urls() {
        for (url, reads) in [
            ("http://127.0.0.1:4000", true),
            ("ws://localhost:4000/ws", true),
            ("http://[::1]:4000/mcp", true),
            ("http://192.0.2.1:4000", false),
            ("https://localhost.example", false),
            ("http://127.0.0.1.example", false),
        ] {
            let config = Config { connect: Some(url.to_owned()), ..Config::default() };
            assert_eq!(ConnectTarget::new(&config).await.unwrap().reads_token_file, reads, "{url}");
        }
        let config = Config {
            connect: Some("http://localhost:1".to_owned()),
            auth_token: Some(crate::config::Masked("given".to_owned())),
            ..Config::default()
        };
        let target = ConnectTarget::new(&config).await.unwrap();
        assert!(!target.reads_token_file);
        assert_eq!(target.headers[header::AUTHORIZATION], "Bearer given");
    }

    #[test]
    fn the_server_can_set_the_retry_pause_up_to_a_limit() {
        let after = |text: &'static str| {
            retry_after(&HeaderMap::from_iter([(
                header::RETRY_AFTER,
                HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(after("2"), Duration::from_secs(2));
        assert_eq!(after("86400"), MAX_WAIT);
        assert_eq!(after("Wed, 21 Oct 2026 07:28:00 GMT"), Duration::ZERO);
        assert_eq!(retry_after(&HeaderMap::new()), Duration::ZERO);
    }
}
