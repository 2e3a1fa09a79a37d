//! Sends calls to the daemon: each is one stateless request of Streamable HTTP.

use std::{io, path::Path};

use async_trait::async_trait;
use http_body_util::{BodyExt, Full};
use hyper::{
    Request,
    body::Bytes,
    client::conn::http1::{self, SendRequest},
    header,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::socket::connect;
use crate::{
    config::version,
    error::{ErrorCode, Result, TroupeError},
};

/// The revision of MCP whose requests need no handshake.
const REVISION: &str = "2026-07-28";

/// The header of a call that a command makes. MCP clients that join the daemon do not send it.
pub(in crate::transport) const COMMAND_HEADER: &str = "troupe-command";

/// A `POST` to this path stops a server.
pub(in crate::transport) const DRAIN_PATH: &str = "/admin/drain";

/// Makes the calls of a command.
#[async_trait]
pub trait CommandCalls: Send {
    /// Calls a tool.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<DaemonResult>;
}

/// A connection to the daemon.
pub struct DaemonClient {
    requests: SendRequest<Full<Bytes>>,
    /// The version of the daemon.
    pub version: String,
    _connection: AbortOnDropHandle<()>,
}

/// The result of a call as agents get it.
#[derive(Debug)]
pub struct DaemonResult {
    /// MCP's content blocks.
    pub content: Vec<Value>,
    pub ref_id: String,
}

impl DaemonResult {
    /// Reads the result of `tools/call`.
    pub(in crate::transport) fn of_call(mut result: Value) -> Result<Self> {
        let content = match result.get_mut("content").map(Value::take) {
            Some(Value::Array(content)) => content,
            _ => Vec::new(),
        };
        let done = Self {
            ref_id: result["_meta"]["refId"].as_str().unwrap_or_default().to_owned(),
            content,
        };
        if result["isError"] != true {
            return Ok(done);
        }
        let text = done.text().unwrap_or_default();
        let error = serde_json::from_str(text);
        Err(error.unwrap_or_else(|_| TroupeError::new(ErrorCode::BrowserError, text)))
    }

    /// Returns the first text.
    fn text(&self) -> Option<&str> {
        self.content.iter().find_map(|part| part["text"].as_str())
    }

    /// Returns the result as JSON; `null` if it is a text.
    pub fn parsed_text(&self) -> Value {
        self.text().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }
}

impl DaemonClient {
    /// Connects to the daemon; `None` if none accepts connections.
    pub async fn connect(socket: &Path) -> Option<Self> {
        Self::try_connect(socket).await.ok()
    }

    async fn try_connect(socket: &Path) -> io::Result<Self> {
        let stream = connect(socket).await?;
        let (requests, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
        // Owned by the client. An error of the connection is reported by its request.
        let connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let mut client = Self { requests, version: String::new(), _connection: connection };
        let request = Request::get("/health").header(header::HOST, "localhost");
        let request = request.body(Full::default()).map_err(io::Error::other)?;
        let health: Value = serde_json::from_slice(&client.send(request).await?)?;
        client.version = health["version"].as_str().unwrap_or_default().to_owned();
        Ok(client)
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> io::Result<Bytes> {
        // Without this, hyper cancels a request that follows the previous response too closely.
        self.requests.ready().await.map_err(io::Error::other)?;
        let response = self.requests.send_request(request).await.map_err(io::Error::other)?;
        let body = response.into_body().collect().await.map_err(io::Error::other)?;
        Ok(body.to_bytes())
    }

    /// Asks the daemon to save its sessions and to stop.
    pub async fn drain(&mut self) -> io::Result<()> {
        let request = Request::post(DRAIN_PATH).header(header::HOST, "localhost");
        let request = request.body(Full::default()).map_err(io::Error::other)?;
        self.send(request).await.map(drop)
    }
}

#[async_trait]
impl CommandCalls for DaemonClient {
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<DaemonResult> {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": REVISION,
            "io.modelcontextprotocol/clientInfo": {"name": "troupe", "version": version()},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let request = Request::post("/mcp")
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::ACCEPT, "application/json, text/event-stream")
            .header("mcp-protocol-version", REVISION)
            .header("mcp-method", "tools/call")
            .header("mcp-name", tool)
            .header(COMMAND_HEADER, "1")
            .body(Full::from(message.to_string()));
        let body = match request {
            Ok(request) => self.send(request).await,
            Err(error) => Err(io::Error::other(error)),
        };
        let body = body.map_err(|error| {
            TroupeError::new(
                ErrorCode::ServerUnavailable,
                format!("the daemon ended during the command, which may have run: {error}"),
            )
            .suggestion("look at the page with `troupe snapshot`, and at `troupe daemon logs`")
        })?;
        of_response(answer(&body))
    }
}

/// Finds the response in a body: one JSON object, or the events of a stream.
fn answer(body: &[u8]) -> Value {
    if let Ok(answer) = serde_json::from_slice(body) {
        return answer;
    }
    let text = String::from_utf8_lossy(body);
    let events = text.lines().filter_map(|line| line.strip_prefix("data:"));
    let mut messages = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    messages.find(|message| message["id"] == 1).unwrap_or_default()
}

/// Reads a response of JSON-RPC.
fn of_response(mut answer: Value) -> Result<DaemonResult> {
    match answer.get_mut("result").map(Value::take) {
        Some(result @ Value::Object(_)) => DaemonResult::of_call(result),
        _ => {
            let message = answer["error"]["message"].as_str();
            let message = message.unwrap_or("the daemon's answer is not valid");
            Err(TroupeError::new(ErrorCode::InvalidParameters, message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::local::PrivateListener;

    /// Answers every request of every connection with an empty object.
    async fn serve(listener: PrivateListener) {
        while let Ok(stream) = listener.accept().await {
            let service = hyper::service::service_fn(async |_| {
                Ok::<_, std::convert::Infallible>(hyper::Response::new(Full::<Bytes>::from("{}")))
            });
            let serving = hyper::server::conn::http1::Builder::new();
            let _ = serving.serve_connection(TokioIo::new(stream), service).await;
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_request_directly_after_another_is_sent() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let listener = PrivateListener::bind(&socket).unwrap();
        let _server = AbortOnDropHandle::new(tokio::spawn(serve(listener)));
        let mut client = DaemonClient::connect(&socket).await.unwrap();
        for _ in 0..5_000 {
            let request = Request::get("/").header(header::HOST, "localhost");
            client.send(request.body(Full::default()).unwrap()).await.unwrap();
        }
    }

    #[test]
    fn the_response_is_found_in_a_stream_with_other_messages() {
        let stream = "id: 0\ndata: {\"method\":\"notifications/progress\"}\n\nid: 1\n\
                      data: {\"id\":1,\"result\":{\"content\":[]}}\n\n";
        assert_eq!(answer(stream.as_bytes())["result"]["content"], json!([]));
        assert_eq!(answer(b"{\"id\":1,\"result\":{}}")["id"], 1);
        assert!(of_response(answer(b"garbage")).is_err());
    }
}
