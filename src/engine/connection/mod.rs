//! The protocol connection to a browser: matches responses to calls and routes events to sessions.
//! It is independent of the browser, because CDP and WebDriver BiDi share the envelope (`id`,
//! `method`, `sessionId`, `params`, `result`, `error`).
//!
//! Only the envelope is parsed here. `params` and `result` stay raw until they are used, so an
//! unknown event or field costs nothing and causes no error. Events reach their [`Listener`] in the
//! order in which they were read and before any later response. So a caller that awaits a response
//! sees the effects of all earlier events.

mod address;
mod attach_failure;
mod endpoint_proxy;
mod http_client;
mod http_endpoint;
mod json;
mod pipe;
mod websocket;

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::join_all;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::offload;

pub use address::BrowserAddress;
pub use attach_failure::AttachFailure;
pub use http_endpoint::HttpEndpoint;
pub use json::{read_json, repair_json};
#[cfg(unix)]
pub use pipe::PipeEnds;

/// Why a call failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConnectionError {
    #[error("the connection to the browser is closed")]
    Closed,
    #[error("the target of `{method}` is gone")]
    TargetGone { method: String },
    #[error("`{method}` was refused: {message}")]
    Refused { method: String, code: String, message: String },
    #[error("cannot parse the response to `{method}`: {source}")]
    Unreadable { method: String, source: Arc<serde_json::Error> },
    #[error("the browser does not read its messages: {pending} bytes are unsent")]
    Overflow { pending: usize },
}

/// Handles the events of one protocol session. Called on the reading task: it must not block.
pub trait Listener: Send + Sync {
    fn event(&self, method: &str, params: &RawValue);
}

/// Sends whole messages to the browser, in order, without waiting.
trait MessageSink: Send {
    fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), ConnectionError>;
}

struct PendingResponse {
    method: &'static str,
    session: Option<Arc<str>>,
    answer: oneshot::Sender<Result<Box<RawValue>, ConnectionError>>,
}

#[derive(Default)]
struct RoutingTable {
    pending: HashMap<u64, PendingResponse>,
    /// By protocol session. `None` is the connection itself.
    listeners: HashMap<Option<Arc<str>>, Arc<dyn Listener>>,
    /// The session that reported each nested session, which ends with it.
    parents: HashMap<Arc<str>, Arc<str>>,
}

impl RoutingTable {
    /// `session` and all sessions nested in it.
    fn tree(&self, session: &Arc<str>) -> Vec<Arc<str>> {
        let mut tree = vec![session.clone()];
        let mut next = 0;
        while next < tree.len() {
            let inside = self.parents.iter().filter(|(_, parent)| **parent == tree[next]);
            let inside: Vec<_> = inside.map(|(child, _)| child.clone()).collect();
            tree.extend(inside);
            next += 1;
        }
        tree
    }
}

struct ConnectionState {
    next_id: AtomicU64,
    outgoing: Mutex<Box<dyn MessageSink>>,
    routes: Mutex<RoutingTable>,
    closed: CancellationToken,
}

/// One connection to a browser, shared by its clones.
#[derive(Clone)]
pub struct BrowserConnection {
    inner: Arc<ConnectionState>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallMessage<'a, P> {
    id: u64,
    method: &'a str,
    params: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    session_id: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    /// Unparsed: a message can contain lone surrogates.
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// A call whose response has not arrived yet.
pub struct PendingCall {
    method: &'static str,
    answer: oneshot::Receiver<Result<Box<RawValue>, ConnectionError>>,
}

impl PendingCall {
    /// Waits for the response and returns it unparsed.
    pub async fn raw(self) -> Result<Box<RawValue>, ConnectionError> {
        self.answer.await.unwrap_or(Err(ConnectionError::Closed))
    }

    /// Waits for the response and parses it.
    pub async fn read<T: DeserializeOwned>(self) -> Result<T, ConnectionError> {
        let method = self.method;
        let raw = self.raw().await?;
        offload::in_place(raw.get().len(), || {
            read_json(raw.get()).map_err(|source| ConnectionError::Unreadable {
                method: method.to_owned(),
                source: Arc::new(source),
            })
        })
    }
}

/// Several calls that are written together.
pub struct Batch<'a> {
    connection: &'a BrowserConnection,
    session: Option<Arc<str>>,
    messages: Vec<Vec<u8>>,
    calls: Vec<(u64, &'static str)>,
}

impl Batch<'_> {
    /// Adds a call. Nothing is written before the batch is sent.
    pub fn add(
        &mut self,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<(), ConnectionError> {
        let (id, message) = self.connection.encode(method, params, self.session.as_deref())?;
        self.messages.push(message);
        self.calls.push((id, method));
        Ok(())
    }

    /// Writes all calls and returns them in order.
    pub fn send(self) -> Result<Vec<PendingCall>, ConnectionError> {
        self.connection.write(&self.messages, &self.calls, self.session.as_ref())
    }

    /// Writes all calls and waits for every response. Fails with the first error.
    pub async fn run(self) -> Result<(), ConnectionError> {
        for answer in join_all(self.send()?.into_iter().map(PendingCall::raw)).await {
            answer?;
        }
        Ok(())
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl BrowserConnection {
    fn new(outgoing: Box<dyn MessageSink>, closed: CancellationToken) -> Self {
        Self {
            inner: Arc::new(ConnectionState {
                next_id: AtomicU64::new(1),
                outgoing: Mutex::new(outgoing),
                routes: Mutex::default(),
                closed,
            }),
        }
    }

    /// Returns a token that is canceled when the connection has ended.
    pub fn closed(&self) -> CancellationToken {
        self.inner.closed.clone()
    }

    /// Routes the events of `session` to `listener`. `None` means the events of the connection
    /// itself.
    pub fn listen(&self, session: Option<Arc<str>>, listener: Arc<dyn Listener>) {
        lock(&self.inner.routes).listeners.insert(session, listener);
    }

    /// Routes the events of `session`, which `parent` has reported. The session is removed with
    /// `parent`.
    pub fn listen_within(
        &self,
        parent: Option<&Arc<str>>,
        session: &Arc<str>,
        listener: Arc<dyn Listener>,
    ) {
        let mut routes = lock(&self.inner.routes);
        routes.listeners.insert(Some(session.clone()), listener);
        if let Some(parent) = parent {
            routes.parents.insert(session.clone(), parent.clone());
        }
    }

    /// Stops the events of `session` and of the sessions nested in it, and fails their pending
    /// calls.
    pub fn forget(&self, session: &Arc<str>) {
        let (listeners, pending) = {
            let mut routes = lock(&self.inner.routes);
            let tree = routes.tree(session);
            let mut listeners = Vec::with_capacity(tree.len());
            for session in &tree {
                routes.parents.remove(session);
                listeners.extend(routes.listeners.remove(&Some(session.clone())));
            }
            let is_gone = |pending: &PendingResponse| {
                pending.session.as_ref().is_some_and(|of| tree.contains(of))
            };
            let ids: Vec<u64> = routes
                .pending
                .iter()
                .filter(|(_, pending)| is_gone(pending))
                .map(|(id, _)| *id)
                .collect();
            let pending: Vec<_> =
                ids.into_iter().filter_map(|id| routes.pending.remove(&id)).collect();
            (listeners, pending)
        };
        for pending in pending {
            let _ = pending
                .answer
                .send(Err(ConnectionError::TargetGone { method: pending.method.to_owned() }));
        }
        drop(listeners);
    }

    /// Writes a call and returns its response.
    pub async fn call<T: DeserializeOwned>(
        &self,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<T, ConnectionError> {
        self.send(session, method, params)?.read().await
    }

    /// Writes a call. The caller may await or drop its response.
    pub fn send(
        &self,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<PendingCall, ConnectionError> {
        let (id, message) = self.encode(method, params, session.map(|s| &**s))?;
        let mut sent = self.write(&[message], &[(id, method)], session)?;
        sent.pop().ok_or(ConnectionError::Closed)
    }

    /// Registers `calls` and writes their messages. If that fails, unregisters them.
    fn write(
        &self,
        messages: &[Vec<u8>],
        calls: &[(u64, &'static str)],
        session: Option<&Arc<str>>,
    ) -> Result<Vec<PendingCall>, ConnectionError> {
        let sent =
            calls.iter().map(|(id, method)| self.expect(*id, method, session.cloned())).collect();
        if let Err(error) = self.push(messages) {
            let mut routes = lock(&self.inner.routes);
            for (id, _) in calls {
                routes.pending.remove(id);
            }
            return Err(error);
        }
        Ok(sent)
    }

    /// Starts a batch of calls to `session`.
    pub fn batch(&self, session: Option<Arc<str>>) -> Batch<'_> {
        Batch { connection: self, session, messages: Vec::new(), calls: Vec::new() }
    }

    fn encode(
        &self,
        method: &'static str,
        params: impl Serialize,
        session_id: Option<&str>,
    ) -> Result<(u64, Vec<u8>), ConnectionError> {
        let id = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        let message = serde_json::to_vec(&CallMessage { id, method, params, session_id }).map_err(
            |source| ConnectionError::Unreadable {
                method: method.to_owned(),
                source: Arc::new(source),
            },
        )?;
        Ok((id, message))
    }

    fn expect(&self, id: u64, method: &'static str, session: Option<Arc<str>>) -> PendingCall {
        let (answer, receiver) = oneshot::channel();
        let mut routes = lock(&self.inner.routes);
        // A closed CDP session never responds, and `forget` has already failed its other calls.
        let gone = session.is_some() && !routes.listeners.contains_key(&session);
        if self.inner.closed.is_cancelled() {
            let _ = answer.send(Err(ConnectionError::Closed));
        } else if gone {
            let _ = answer.send(Err(ConnectionError::TargetGone { method: method.to_owned() }));
        } else {
            routes.pending.insert(id, PendingResponse { method, session, answer });
        }
        PendingCall { method, answer: receiver }
    }

    fn push(&self, messages: &[Vec<u8>]) -> Result<(), ConnectionError> {
        if self.inner.closed.is_cancelled() {
            return Err(ConnectionError::Closed);
        }
        for message in messages {
            tracing::trace!(target: "troupe::connection", message = %shown(message), "→");
        }
        lock(&self.inner.outgoing).push(messages)
    }

    /// Handles one message of the browser. Parses a large response on another thread, so that it
    /// does not delay later messages. Events stay in order.
    fn receive_owned(&self, message: Vec<u8>) {
        if message.len() < offload::LARGE || !is_response(&message) {
            return self.receive(&message);
        }
        let connection = self.clone();
        // Ends soon, because it waits for nothing.
        tokio::task::spawn_blocking(move || connection.receive(&message));
    }

    /// Handles one message of the browser.
    fn receive(&self, message: &[u8]) {
        tracing::trace!(target: "troupe::connection", message = %shown(message), "←");
        let envelope: Envelope<'_> = match serde_json::from_slice(message) {
            Ok(envelope) => envelope,
            Err(error) => {
                tracing::warn!(%error, bytes = message.len(), "cannot parse a message of the browser");
                return;
            }
        };
        match (envelope.id, envelope.method) {
            (Some(id), _) => {
                let Some(pending) = lock(&self.inner.routes).pending.remove(&id) else { return };
                let answer = match (envelope.error, envelope.result) {
                    (Some(error), _) => Err(refusal(pending.method, error, envelope.message)),
                    (None, Some(result)) => Ok(result.to_owned()),
                    (None, None) => Ok(RawValue::NULL.to_owned()),
                };
                let _ = pending.answer.send(answer);
            }
            (None, Some(method)) => {
                let session = envelope.session_id.map(|session| Arc::<str>::from(&*session));
                let listener = lock(&self.inner.routes).listeners.get(&session).cloned();
                if let Some(listener) = listener {
                    listener.event(&method, envelope.params.unwrap_or(RawValue::NULL));
                }
            }
            (None, None) => tracing::debug!("ignored a message with neither id nor method"),
        }
    }

    /// Ends the connection and fails every pending call.
    pub fn close(&self) {
        self.inner.closed.cancel();
        let (pending, listeners) = {
            let mut routes = lock(&self.inner.routes);
            (std::mem::take(&mut routes.pending), std::mem::take(&mut routes.listeners))
        };
        for (_, call) in pending {
            let _ = call.answer.send(Err(ConnectionError::Closed));
        }
        // Listeners own clones of the connection: this breaks the reference cycle.
        drop(listeners);
    }
}

/// Returns whether `message` begins like the response to a call. Chromium writes the id first,
/// Firefox the type.
fn is_response(message: &[u8]) -> bool {
    message.starts_with(br#"{"id":"#) || message.starts_with(br#"{"type":"success""#)
}

/// Returns the beginning of a message, for the log.
fn shown(message: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(300)])
}

/// Converts the error of a call. CDP sends an object, BiDi a name and a separate message.
fn refusal(method: &str, error: &RawValue, message: Option<&RawValue>) -> ConnectionError {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum ErrorPayload {
        Cdp { code: i64, message: String, data: Option<String> },
        Name(String),
    }
    let (code, message) = match read_json(error.get()) {
        Ok(ErrorPayload::Cdp { code, message, data: Some(data) }) => {
            (code.to_string(), format!("{message} ({data})"))
        }
        Ok(ErrorPayload::Cdp { code, message, data: None }) => (code.to_string(), message),
        Ok(ErrorPayload::Name(name)) => {
            (name, message.and_then(|text| read_json(text.get()).ok()).unwrap_or_default())
        }
        Err(_) => (String::new(), error.get().to_owned()),
    };
    ConnectionError::Refused { method: method.to_owned(), code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct FailingSink;

    impl MessageSink for FailingSink {
        fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), ConnectionError> {
            Err(ConnectionError::Overflow { pending: messages.len() })
        }
    }

    #[test]
    fn a_batch_that_cannot_be_written_leaves_no_pending_call() {
        let connection = BrowserConnection::new(Box::new(FailingSink), CancellationToken::new());
        let mut batch = connection.batch(None);
        for _ in 0..3 {
            batch.add("Page.enable", ()).unwrap();
        }
        assert!(batch.send().is_err());
        let mut dropped = connection.batch(None);
        dropped.add("Page.enable", ()).unwrap();
        drop(dropped);
        assert_eq!(lock(&connection.inner.routes).pending.len(), 0);
    }

    struct DiscardingSink;

    impl MessageSink for DiscardingSink {
        fn push(&mut self, _messages: &[Vec<u8>]) -> Result<(), ConnectionError> {
            Ok(())
        }
    }

    struct IgnoringListener;

    impl Listener for IgnoringListener {
        fn event(&self, _method: &str, _params: &RawValue) {}
    }

    #[tokio::test]
    async fn an_error_with_a_lone_surrogate_ends_its_call() {
        let connection = BrowserConnection::new(Box::new(DiscardingSink), CancellationToken::new());
        let call = connection.send(None, "script.evaluate", ()).unwrap();
        let id = *lock(&connection.inner.routes).pending.keys().next().unwrap();
        let response = format!(r#"{{"id":{id},"error":"unknown error","message":"a \ud83d b"}}"#);
        connection.receive(response.as_bytes());
        let error = call.raw().await.unwrap_err().to_string();
        assert!(error.contains("a \u{fffd} b"), "{error}");
    }

    #[tokio::test]
    async fn a_session_is_removed_with_its_nested_sessions() {
        let connection = BrowserConnection::new(Box::new(DiscardingSink), CancellationToken::new());
        let [page, worker, nested, other]: [Arc<str>; 4] =
            ["page", "worker", "nested", "other"].map(Arc::from);
        let listener: Arc<dyn Listener> = Arc::new(IgnoringListener);
        connection.listen(Some(page.clone()), listener.clone());
        connection.listen_within(Some(&page), &worker, listener.clone());
        connection.listen_within(Some(&worker), &nested, listener.clone());
        connection.listen_within(Some(&page), &other, listener.clone());
        let call = connection.send(Some(&nested), "Network.enable", ()).unwrap();
        connection.forget(&worker);
        assert!(matches!(call.raw().await, Err(ConnectionError::TargetGone { .. })));
        assert_eq!(Arc::strong_count(&listener), 3, "the page and the other worker keep theirs");
        connection.forget(&page);
        assert_eq!(Arc::strong_count(&listener), 1);
        assert!(lock(&connection.inner.routes).parents.is_empty());
    }
}
