//! JSON messages to and from a browser: ids, pending calls, events by session. It is independent of the browser,
//! because CDP and WebDriver BiDi share the envelope (`id`, `method`, `sessionId`, `params`, `result`, `error`).
//!
//! Only the envelope is parsed here. `params` and `result` stay raw until they are used, so an unknown event or
//! field costs nothing and causes no error. Events reach their [`Listener`] in the order in which they were read
//! and before any later answer. So a caller that awaits an answer sees the effects of all earlier events.

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

pub use json::{read_json, repair_json};
#[cfg(unix)]
pub use pipe::PipeEnds;
pub use websocket::debugger_url;

/// Why a call has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum WireError {
    #[error("the connection to the browser is closed")]
    Closed,
    #[error("the target of `{method}` is gone")]
    TargetGone { method: String },
    #[error("`{method}` was refused: {message}")]
    Refused { method: String, code: String, message: String },
    #[error("the answer to `{method}` could not be read: {source}")]
    Unreadable { method: String, source: Arc<serde_json::Error> },
    #[error("the browser does not read: {pending} bytes wait to be written")]
    Overflow { pending: usize },
}

/// Takes the events of one protocol session. Called on the reading task: it must not block.
pub trait Listener: Send + Sync {
    fn event(&self, method: &str, params: &RawValue);
}

/// Takes whole messages for the other side, in order, without waiting.
trait Outgoing: Send {
    fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), WireError>;
}

struct Pending {
    method: &'static str,
    session: Option<Arc<str>>,
    answer: oneshot::Sender<Result<Box<RawValue>, WireError>>,
}

#[derive(Default)]
struct Routes {
    pending: HashMap<u64, Pending>,
    /// By protocol session; `None` is the connection itself.
    listeners: HashMap<Option<Arc<str>>, Arc<dyn Listener>>,
    /// The session that reported each nested session, which ends with it.
    parents: HashMap<Arc<str>, Arc<str>>,
}

impl Routes {
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

struct Inner {
    next_id: AtomicU64,
    outgoing: Mutex<Box<dyn Outgoing>>,
    routes: Mutex<Routes>,
    closed: CancellationToken,
}

/// One connection to a browser; clones share it. Dropped by its last owner it closes.
#[derive(Clone)]
pub struct Wire {
    inner: Arc<Inner>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a, P> {
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
    #[serde(borrow)]
    message: Option<std::borrow::Cow<'a, str>>,
}

/// A call that is written and whose answer is on its way.
pub struct Sent {
    method: &'static str,
    answer: oneshot::Receiver<Result<Box<RawValue>, WireError>>,
}

impl Sent {
    /// The raw answer.
    pub async fn raw(self) -> Result<Box<RawValue>, WireError> {
        self.answer.await.unwrap_or(Err(WireError::Closed))
    }

    /// The answer as `T`.
    pub async fn read<T: DeserializeOwned>(self) -> Result<T, WireError> {
        let method = self.method;
        let raw = self.raw().await?;
        offload::in_place(raw.get().len(), || {
            read_json(raw.get()).map_err(|source| WireError::Unreadable {
                method: method.to_owned(),
                source: Arc::new(source),
            })
        })
    }
}

/// Several calls, written together when it is sent: the browser gets them in one read.
pub struct Batch<'a> {
    wire: &'a Wire,
    session: Option<Arc<str>>,
    messages: Vec<Vec<u8>>,
    calls: Vec<(u64, &'static str)>,
}

impl Batch<'_> {
    /// Adds a call. Nothing is written, and no answer is expected, before the batch is sent.
    pub fn add(&mut self, method: &'static str, params: impl Serialize) -> Result<(), WireError> {
        let (id, message) = self.wire.encode(method, params, self.session.as_deref())?;
        self.messages.push(message);
        self.calls.push((id, method));
        Ok(())
    }

    /// Writes all calls, and returns them in their order.
    pub fn send(self) -> Result<Vec<Sent>, WireError> {
        self.wire.write(&self.messages, &self.calls, self.session.as_ref())
    }

    /// Writes all and waits for every answer; the first refusal is the result.
    pub async fn run(self) -> Result<(), WireError> {
        for answer in join_all(self.send()?.into_iter().map(Sent::raw)).await {
            answer?;
        }
        Ok(())
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl Wire {
    fn new(outgoing: Box<dyn Outgoing>, closed: CancellationToken) -> Self {
        Self {
            inner: Arc::new(Inner {
                next_id: AtomicU64::new(1),
                outgoing: Mutex::new(outgoing),
                routes: Mutex::default(),
                closed,
            }),
        }
    }

    /// Cancelled when the connection is over, for whatever reason.
    pub fn closed(&self) -> CancellationToken {
        self.inner.closed.clone()
    }

    /// Routes the events of `session` (`None`: those of the connection itself).
    pub fn listen(&self, session: Option<Arc<str>>, listener: Arc<dyn Listener>) {
        lock(&self.inner.routes).listeners.insert(session, listener);
    }

    /// Routes the events of `session`, which `parent` has reported: it is forgotten with `parent`.
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

    /// Stops the events of `session` and of the sessions nested in it, and fails their pending calls.
    pub fn forget(&self, session: &Arc<str>) {
        let (listeners, pending) = {
            let mut routes = lock(&self.inner.routes);
            let tree = routes.tree(session);
            let mut listeners = Vec::with_capacity(tree.len());
            for session in &tree {
                routes.parents.remove(session);
                listeners.extend(routes.listeners.remove(&Some(session.clone())));
            }
            let is_gone =
                |pending: &Pending| pending.session.as_ref().is_some_and(|of| tree.contains(of));
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
                .send(Err(WireError::TargetGone { method: pending.method.to_owned() }));
        }
        drop(listeners);
    }

    /// Writes a call and waits for its answer.
    pub async fn call<T: DeserializeOwned>(
        &self,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<T, WireError> {
        self.send(session, method, params)?.read().await
    }

    /// Writes a call; its answer may be awaited or dropped.
    pub fn send(
        &self,
        session: Option<&Arc<str>>,
        method: &'static str,
        params: impl Serialize,
    ) -> Result<Sent, WireError> {
        let (id, message) = self.encode(method, params, session.map(|s| &**s))?;
        let mut sent = self.write(&[message], &[(id, method)], session)?;
        sent.pop().ok_or(WireError::Closed)
    }

    /// Expects the answers of `calls` and writes their messages. If they cannot be written, no answer is expected.
    fn write(
        &self,
        messages: &[Vec<u8>],
        calls: &[(u64, &'static str)],
        session: Option<&Arc<str>>,
    ) -> Result<Vec<Sent>, WireError> {
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
        Batch { wire: self, session, messages: Vec::new(), calls: Vec::new() }
    }

    fn encode(
        &self,
        method: &'static str,
        params: impl Serialize,
        session_id: Option<&str>,
    ) -> Result<(u64, Vec<u8>), WireError> {
        let id = self.inner.next_id.fetch_add(1, Ordering::Relaxed);
        let message =
            serde_json::to_vec(&Request { id, method, params, session_id }).map_err(|source| {
                WireError::Unreadable { method: method.to_owned(), source: Arc::new(source) }
            })?;
        Ok((id, message))
    }

    fn expect(&self, id: u64, method: &'static str, session: Option<Arc<str>>) -> Sent {
        let (answer, receiver) = oneshot::channel();
        let mut routes = lock(&self.inner.routes);
        // A closed CDP session never answers; `forget` has run already, so that this call would not be failed.
        let gone = session.is_some() && !routes.listeners.contains_key(&session);
        if self.inner.closed.is_cancelled() {
            let _ = answer.send(Err(WireError::Closed));
        } else if gone {
            let _ = answer.send(Err(WireError::TargetGone { method: method.to_owned() }));
        } else {
            routes.pending.insert(id, Pending { method, session, answer });
        }
        Sent { method, answer: receiver }
    }

    fn push(&self, messages: &[Vec<u8>]) -> Result<(), WireError> {
        if self.inner.closed.is_cancelled() {
            return Err(WireError::Closed);
        }
        for message in messages {
            tracing::trace!(target: "troupe::wire", message = %shown(message), "→");
        }
        lock(&self.inner.outgoing).push(messages)
    }

    /// Takes one message of the other side. A large answer is parsed on another thread, so that it does not delay what
    /// follows; events stay in their order.
    fn receive_owned(&self, message: Vec<u8>) {
        if message.len() < offload::LARGE || !is_answer(&message) {
            return self.receive(&message);
        }
        let wire = self.clone();
        // Ends by itself: it waits for nothing.
        tokio::task::spawn_blocking(move || wire.receive(&message));
    }

    /// Takes one message of the other side.
    fn receive(&self, message: &[u8]) {
        tracing::trace!(target: "troupe::wire", message = %shown(message), "←");
        let envelope: Envelope<'_> = match serde_json::from_slice(message) {
            Ok(envelope) => envelope,
            Err(error) => {
                tracing::warn!(%error, bytes = message.len(), "a message of the browser could not be read");
                return;
            }
        };
        match (envelope.id, envelope.method) {
            (Some(id), _) => {
                let Some(pending) = lock(&self.inner.routes).pending.remove(&id) else { return };
                let answer = match (envelope.error, envelope.result) {
                    (Some(error), _) => {
                        Err(refusal(pending.method, error, envelope.message.as_deref()))
                    }
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
            (None, None) => tracing::debug!("a message with neither id nor method was ignored"),
        }
    }

    /// Ends the connection: every pending call fails at once.
    pub fn close(&self) {
        self.inner.closed.cancel();
        let (pending, listeners) = {
            let mut routes = lock(&self.inner.routes);
            (std::mem::take(&mut routes.pending), std::mem::take(&mut routes.listeners))
        };
        for (_, call) in pending {
            let _ = call.answer.send(Err(WireError::Closed));
        }
        // Listeners hold the connection: without this the two would keep each other alive.
        drop(listeners);
    }
}

/// Whether `message` is the answer to a call, as far as its beginning shows it: browsers write the id (Chromium) or the
/// type (Firefox) first.
fn is_answer(message: &[u8]) -> bool {
    message.starts_with(br#"{"id":"#) || message.starts_with(br#"{"type":"success""#)
}

/// The beginning of a message, for the log.
fn shown(message: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(&message[..message.len().min(300)])
}

/// CDP sends an object, BiDi a name with the message beside it.
fn refusal(method: &str, error: &RawValue, message: Option<&str>) -> WireError {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Shape {
        Cdp { code: i64, message: String, data: Option<String> },
        Name(String),
    }
    let (code, message) = match serde_json::from_str(error.get()) {
        Ok(Shape::Cdp { code, message, data: Some(data) }) => {
            (code.to_string(), format!("{message} ({data})"))
        }
        Ok(Shape::Cdp { code, message, data: None }) => (code.to_string(), message),
        Ok(Shape::Name(name)) => (name, message.unwrap_or_default().to_owned()),
        Err(_) => (String::new(), error.get().to_owned()),
    };
    WireError::Refused { method: method.to_owned(), code, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nowhere;

    impl Outgoing for Nowhere {
        fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), WireError> {
            Err(WireError::Overflow { pending: messages.len() })
        }
    }

    #[test]
    fn a_batch_that_is_not_written_leaves_no_pending_call() {
        let wire = Wire::new(Box::new(Nowhere), CancellationToken::new());
        let mut batch = wire.batch(None);
        for _ in 0..3 {
            batch.add("Page.enable", ()).unwrap();
        }
        assert!(batch.send().is_err());
        let mut dropped = wire.batch(None);
        dropped.add("Page.enable", ()).unwrap();
        drop(dropped);
        assert_eq!(lock(&wire.inner.routes).pending.len(), 0);
    }

    struct Accepting;

    impl Outgoing for Accepting {
        fn push(&mut self, _messages: &[Vec<u8>]) -> Result<(), WireError> {
            Ok(())
        }
    }

    struct Silent;

    impl Listener for Silent {
        fn event(&self, _method: &str, _params: &RawValue) {}
    }

    #[tokio::test]
    async fn a_session_is_forgotten_with_the_sessions_nested_in_it() {
        let wire = Wire::new(Box::new(Accepting), CancellationToken::new());
        let [page, worker, nested, other]: [Arc<str>; 4] =
            ["page", "worker", "nested", "other"].map(Arc::from);
        let listener: Arc<dyn Listener> = Arc::new(Silent);
        wire.listen(Some(page.clone()), listener.clone());
        wire.listen_within(Some(&page), &worker, listener.clone());
        wire.listen_within(Some(&worker), &nested, listener.clone());
        wire.listen_within(Some(&page), &other, listener.clone());
        let call = wire.send(Some(&nested), "Network.enable", ()).unwrap();
        wire.forget(&worker);
        assert!(matches!(call.raw().await, Err(WireError::TargetGone { .. })));
        assert_eq!(
            Arc::strong_count(&listener),
            3,
            "those of the page and the other worker are left"
        );
        wire.forget(&page);
        assert_eq!(Arc::strong_count(&listener), 1);
        assert!(lock(&wire.inner.routes).parents.is_empty());
    }
}
