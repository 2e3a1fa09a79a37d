//! A minimal MCP client: requests, their responses and progress, pings, cancellation. Results stay
//! unparsed JSON, so that no field is lost.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

use crate::offload;

/// Capacity of the queue of outgoing messages.
const QUEUE_SIZE: usize = 64;
/// The requested protocol version. The server responds with its own.
const REVISION: &str = "2025-11-25";
/// The protocol version without a handshake.
const MODERN: &str = "2026-07-28";
/// Maximum number of pages of a list.
const MAX_PAGES: usize = 100;
const METHOD_NOT_FOUND: i64 = -32601;

/// The progress of a call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ProgressReport {
    pub progress: f64,
    pub total: Option<f64>,
    pub message: Option<String>,
}

/// Receives the progress of a call.
pub type OnProgress = Box<dyn Fn(ProgressReport) + Send + Sync>;

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(super) enum RequestFailure {
    #[error("the connection to the server has ended")]
    Gone,
    #[error("there was no answer within {0:?}")]
    TimedOut(Duration),
    #[error("the server responded with an error: {message} ({code})")]
    Refused { code: i64, message: String, data: Option<Value> },
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult {
    pub value: Value,
    /// The value as the server sent it, byte for byte.
    pub text: Box<str>,
}

/// A message to the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutgoingMessage {
    pub text: String,
    /// The id of a request.
    pub id: Option<u64>,
    /// The method. Modern servers over HTTP also get it in a header.
    pub method: String,
    pub name: Option<String>,
}

/// A client of a server.
pub(super) struct Client {
    outgoing: mpsc::Sender<OutgoingMessage>,
    pending: Mutex<HashMap<u64, UnansweredRequest>>,
    next: AtomicU64,
    /// The protocol version of the server, once it is known.
    revision: OnceLock<String>,
    gone: CancellationToken,
    shut: CancellationToken,
    /// Notified when the list of tools has changed.
    pub list_changed: Notify,
}

struct UnansweredRequest {
    answer: oneshot::Sender<Result<Box<RawValue>, RequestFailure>>,
    on_progress: Option<OnProgress>,
    /// Changes with each progress notification.
    progressed: watch::Sender<()>,
}

#[derive(Deserialize)]
struct RpcMessage {
    #[serde(default)]
    id: Value,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    /// Not parsed: parsing would lose the notation of numbers and characters.
    result: Option<Box<RawValue>>,
    error: Option<ErrorObject>,
}

#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    data: Option<Value>,
}

impl Client {
    /// Creates a client, and the queue of its outgoing messages.
    pub fn new() -> (Arc<Self>, mpsc::Receiver<OutgoingMessage>) {
        let (outgoing, queue) = mpsc::channel(QUEUE_SIZE);
        let client = Self {
            outgoing,
            pending: Mutex::default(),
            next: AtomicU64::new(1),
            revision: OnceLock::new(),
            gone: CancellationToken::new(),
            shut: CancellationToken::new(),
            list_changed: Notify::new(),
        };
        (Arc::new(client), queue)
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, UnansweredRequest>> {
        self.pending.lock()
    }

    /// Returns the token that is canceled when the connection to the server has ended.
    pub fn gone(&self) -> &CancellationToken {
        &self.gone
    }

    /// Returns the token that ends the connection when it is canceled: nothing more is sent.
    pub fn shut(&self) -> &CancellationToken {
        &self.shut
    }

    /// Returns the protocol version of the server, once it is known.
    pub fn revision(&self) -> Option<&str> {
        self.revision.get().map(String::as_str)
    }

    pub fn is_modern(&self) -> bool {
        self.revision() == Some(MODERN)
    }

    /// Fails the request `id`, because the HTTP response ended without the result.
    pub fn fail_unanswered(&self, id: u64) {
        if let Some(pending) = self.pending().remove(&id) {
            let message = "the response ended before the result".to_owned();
            let _ =
                pending.answer.send(Err(RequestFailure::Refused { code: 0, message, data: None }));
        }
    }

    /// Performs the handshake, in the protocol version that the server supports.
    pub async fn handshake(&self, timeout: Duration) -> Result<(), RequestFailure> {
        let params =
            json!({"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client_info()});
        match self.request("initialize", params, timeout, None).await {
            Ok(answer) => {
                let revision = value_of(&answer);
                let revision = revision["protocolVersion"].as_str().unwrap_or(REVISION);
                let _ = self.revision.set(revision.to_owned());
                self.notify("notifications/initialized", json!({}));
                Ok(())
            }
            Err(refused @ RequestFailure::Refused { .. }) => {
                let _ = self.revision.set(MODERN.to_owned());
                let discovered = self.request("server/discover", json!({}), timeout, None).await;
                // If it supports neither version, report the error of the first.
                discovered.map(drop).map_err(|_| refused)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Sends a ping, and returns whether the server answers. An error response counts as an answer.
    pub async fn ping(&self, timeout: Duration) -> bool {
        let method = if self.is_modern() { "server/discover" } else { "ping" };
        let answered = self.request(method, json!({}), timeout, None).await;
        matches!(answered, Ok(_) | Err(RequestFailure::Refused { .. }))
    }

    /// Lists all tools.
    pub async fn list_tools(&self, timeout: Duration) -> Result<Vec<Value>, RequestFailure> {
        let (mut tools, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..MAX_PAGES {
            let params =
                cursor.take().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let mut page = value_of(&self.request("tools/list", params, timeout, None).await?);
            if let Value::Array(listed) = page["tools"].take() {
                tools.extend(listed);
            }
            cursor = Some(page["nextCursor"].take()).filter(Value::is_string);
            if cursor.is_none() {
                break;
            }
        }
        Ok(tools)
    }

    /// Calls a tool. If the future is dropped, or nothing arrives within `timeout`, the call is
    /// canceled on the server. Each progress notification restarts the timeout.
    pub async fn call_tool(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        timeout: Duration,
        on_progress: Option<OnProgress>,
    ) -> Result<ToolResult, RequestFailure> {
        let params = json!({"name": name, "arguments": arguments});
        let result = self.request("tools/call", params, timeout, on_progress).await?;
        let value = offload::in_place(result.get().len(), || value_of(&result));
        Ok(ToolResult { value, text: result.into() })
    }

    /// Sends a request and waits for its result.
    async fn request(
        &self,
        method: &str,
        mut params: Value,
        timeout: Duration,
        on_progress: Option<OnProgress>,
    ) -> Result<Box<RawValue>, RequestFailure> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        if on_progress.is_some() {
            params["_meta"]["progressToken"] = id.into();
        }
        let (answer, mut answered) = oneshot::channel();
        let (progressed, mut progress) = watch::channel(());
        self.pending().insert(id, UnansweredRequest { answer, on_progress, progressed });
        let in_flight = UpstreamRequest { client: self, id, method };
        let message = self.message(method, params, Some(id));
        let work = async {
            self.outgoing.send(message).await.map_err(|_| RequestFailure::Gone)?;
            (&mut answered).await.unwrap_or(Err(RequestFailure::Gone))
        };
        let late = async {
            while let Ok(changed) = tokio::time::timeout(timeout, progress.changed()).await {
                if changed.is_err() {
                    // No longer pending: the result is about to arrive.
                    std::future::pending::<()>().await;
                }
            }
        };
        let outcome = tokio::select! {
            biased;
            outcome = work => outcome,
            () = self.gone.cancelled() => Err(RequestFailure::Gone),
            () = late => Err(RequestFailure::TimedOut(timeout)),
        };
        drop(in_flight);
        outcome
    }

    fn notify(&self, method: &str, params: Value) {
        // Notifications are dropped when the queue is full.
        let _ = self.outgoing.try_send(self.message(method, params, None));
    }

    fn message(&self, method: &str, mut params: Value, id: Option<u64>) -> OutgoingMessage {
        if self.is_modern() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = MODERN.into();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client_info();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let name = params["name"].as_str().map(str::to_owned);
        let mut message = json!({"jsonrpc": "2.0"});
        if let Some(id) = id {
            message["id"] = id.into();
        }
        message["method"] = method.into();
        message["params"] = params;
        OutgoingMessage { text: message.to_string(), id, method: method.to_owned(), name }
    }

    /// Handles data from the server: a message or a list of messages. Other data is ignored.
    pub fn receive(&self, text: &[u8]) {
        offload::in_place(text.len(), || self.receive_here(text));
    }

    fn receive_here(&self, text: &[u8]) {
        if let Ok(message) = serde_json::from_slice::<RpcMessage>(text) {
            return self.handle(message);
        }
        match serde_json::from_slice::<Vec<RpcMessage>>(text) {
            Ok(messages) => messages.into_iter().for_each(|message| self.handle(message)),
            Err(error) if !text.trim_ascii().is_empty() => {
                let begin = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
                tracing::debug!(%error, begin, "the upstream server wrote an invalid message");
            }
            Err(_) => {}
        }
    }

    fn handle(&self, message: RpcMessage) {
        let RpcMessage { id, method, params, result, error } = message;
        match method {
            Some(method) if id.is_null() => self.handle_notification(&method, params),
            Some(method) => {
                let answer = match method.as_str() {
                    "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
                    _ => json!({"jsonrpc": "2.0", "id": id,
                        "error": {"code": METHOD_NOT_FOUND, "message": format!("unknown method `{method}`")}}),
                };
                let (text, method) = (answer.to_string(), String::new());
                let answer = OutgoingMessage { text, id: None, method, name: None };
                let _ = self.outgoing.try_send(answer);
            }
            None => {
                let Some(pending) = id.as_u64().and_then(|id| self.pending().remove(&id)) else {
                    return;
                };
                let _ = pending.answer.send(match error {
                    Some(ErrorObject { code, message, data }) => {
                        Err(RequestFailure::Refused { code, message, data })
                    }
                    None => Ok(result.unwrap_or_else(|| RawValue::NULL.to_owned())),
                });
            }
        }
    }

    fn handle_notification(&self, method: &str, params: Value) {
        match method {
            "notifications/progress" => {
                let Some(id) = params["progressToken"].as_u64() else { return };
                let Ok(report) = serde_json::from_value(params) else { return };
                if let Some(UnansweredRequest { on_progress, progressed, .. }) =
                    self.pending().get(&id)
                {
                    progressed.send_replace(());
                    if let Some(on_progress) = on_progress {
                        on_progress(report);
                    }
                }
            }
            "notifications/tools/list_changed" => self.list_changed.notify_one(),
            "notifications/message" => {
                tracing::debug!(target: "troupe::upstream", "{}", params["data"]);
            }
            _ => {}
        }
    }
}

/// Parses a value that was valid JSON when it was received.
fn value_of(raw: &RawValue) -> Value {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

/// A request in flight. Dropping it cancels the call on the server.
struct UpstreamRequest<'a> {
    client: &'a Client,
    id: u64,
    method: &'a str,
}

impl Drop for UpstreamRequest<'_> {
    fn drop(&mut self) {
        let waited = self.client.pending().remove(&self.id).is_some();
        // The protocol does not allow canceling a handshake.
        if waited && self.method == "tools/call" && !self.client.gone.is_cancelled() {
            let params = json!({"requestId": self.id, "reason": "the client canceled the call"});
            self.client.notify("notifications/cancelled", params);
        }
    }
}

fn client_info() -> Value {
    json!({"name": "troupe", "version": env!("CARGO_PKG_VERSION")})
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn sent(queue: &mut mpsc::Receiver<OutgoingMessage>) -> Value {
        serde_json::from_str(&queue.recv().await.unwrap().text).unwrap()
    }

    #[tokio::test]
    async fn results_are_matched_to_requests_in_any_order_and_invalid_data_is_ignored() {
        let (client, mut queue) = Client::new();
        let call = |name: &'static str| {
            let client = client.clone();
            async move { client.call_tool(name, Map::new(), Duration::from_secs(60), None).await }
        };
        let calls = async { tokio::join!(call("a"), call("b")) };
        let server = async {
            let (one, two) = (sent(&mut queue).await, sent(&mut queue).await);
            client.receive(b"Debugger listening on ws://");
            client.receive(b"{\"jsonrpc\": 2}\xff");
            client.receive(json!({"id": 999, "result": {}}).to_string().as_bytes());
            for request in [two, one] {
                let answer = json!({"id": request["id"], "result": request["params"]["name"]});
                client.receive(answer.to_string().as_bytes());
            }
        };
        let ((a, b), ()) = tokio::join!(calls, server);
        assert_eq!((a.unwrap().value, b.unwrap().value), ("a".into(), "b".into()));
    }

    #[tokio::test]
    async fn a_timed_out_call_is_canceled_on_the_server() {
        let (client, mut queue) = Client::new();
        let call = client.call_tool("slow", Map::new(), Duration::from_millis(1), None).await;
        assert!(matches!(call, Err(RequestFailure::TimedOut(_))), "{call:?}");
        let request = sent(&mut queue).await;
        let cancelled = sent(&mut queue).await;
        assert_eq!(cancelled["method"], "notifications/cancelled");
        assert_eq!(cancelled["params"]["requestId"], request["id"]);
        assert!(client.pending().is_empty());
    }

    #[tokio::test]
    async fn a_server_without_a_handshake_gets_modern_requests() {
        let (client, mut queue) = Client::new();
        let server = async {
            let initialize = sent(&mut queue).await;
            let error = json!({"id": initialize["id"], "error": {"code": METHOD_NOT_FOUND, "message": "no"}});
            client.receive(error.to_string().as_bytes());
            let discover = sent(&mut queue).await;
            assert_eq!(discover["method"], "server/discover");
            assert_eq!(
                discover["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
                MODERN
            );
            client.receive(json!({"id": discover["id"], "result": {}}).to_string().as_bytes());
            let ping = sent(&mut queue).await;
            assert_eq!(
                ping["method"], "server/discover",
                "this version has no ping; a cheap request replaces it"
            );
            client.receive(json!({"id": ping["id"], "result": {}}).to_string().as_bytes());
        };
        let us = async {
            client.handshake(Duration::from_secs(5)).await.unwrap();
            assert!(client.ping(Duration::from_secs(5)).await);
        };
        tokio::join!(us, server);
    }

    #[tokio::test]
    async fn pending_calls_fail_at_once_when_the_server_is_gone() {
        let (client, _queue) = Client::new();
        let call = client.call_tool("slow", Map::new(), Duration::from_secs(60), None);
        let end = async { client.gone().cancel() };
        assert_eq!(tokio::join!(call, end).0, Err(RequestFailure::Gone));
    }

    #[tokio::test]
    async fn a_result_is_kept_byte_for_byte() {
        let (client, mut queue) = Client::new();
        let result = r#"{ "n":1.50e+2,  "text":"\u00fc\/", "n":7 }"#;
        let server = async {
            let id = sent(&mut queue).await["id"].clone();
            client.receive(
                format!(r#"{{"jsonrpc":"2.0","id":{id},"result": {result} }}"#).as_bytes(),
            );
        };
        let call = client.call_tool("a", Map::new(), Duration::from_secs(5), None);
        assert_eq!(&*tokio::join!(call, server).0.unwrap().text, result);
    }
}
