//! Stores the events of recent SSE streams. A client whose connection broke requests the missing
//! events with `Last-Event-ID`, also after its call has been answered. rmcp's own cache is not
//! used, because it drops a stream when its call is answered.
//!
//! Each client has its own buffer, so that no client evicts the events of another. If the total
//! limit is exceeded, events of the client with the largest buffer are evicted first.

use std::{
    collections::{HashMap, VecDeque},
    pin::pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{Stream, stream};
use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    model::JsonRpcMessage,
    transport::streamable_http_server::session::{
        EventId, EventStore, EventStoreError, EventStream, ServerSseMessage,
    },
};
use tokio::{sync::Notify, time::Instant};

use crate::transport::messages;

/// How long a stream is kept after the answer of its call.
const RETENTION: Duration = Duration::from_secs(60);
/// Maximum number of events of a stream, and of streams of a client. The newest ones are kept.
const MAX_EVENTS: usize = 256;
const MAX_STREAMS: usize = 256;

/// Maximum numbers of bytes.
struct ByteLimits {
    client: usize,
    all: usize,
}

/// The limit of a client is large enough for an answer with a large screenshot.
const LIMITS: ByteLimits = ByteLimits { client: 16 << 20, all: 128 << 20 };

/// The suffix of rmcp's name for the standalone stream.
const STANDALONE_SUFFIX: &str = ":common";

/// The events of all clients.
#[derive(Default)]
pub(super) struct EventBuffers {
    /// The number of the last event.
    last_number: AtomicU64,
    buffers: Mutex<Buffers>,
}

struct Buffers {
    limits: ByteLimits,
    /// By protocol session.
    clients: HashMap<Arc<str>, ClientStreams>,
    /// Streams whose calls have been answered, in order: time, client and stream.
    answered: VecDeque<(Instant, Arc<str>, Arc<str>)>,
    bytes: usize,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { limits: LIMITS, clients: HashMap::new(), answered: VecDeque::new(), bytes: 0 }
    }
}

/// The streams of one client.
#[derive(Default)]
struct ClientStreams {
    by_id: HashMap<Arc<str>, StoredStream>,
    bytes: usize,
}

/// The stored events of one stream.
struct StoredStream {
    events: Vec<StoredEvent>,
    at: Instant,
    /// The call has been answered, so no further events follow.
    answered: bool,
    changed: Arc<Notify>,
    /// Counts the requests for the rest of the stream. Only the latest one receives the events.
    followers: u64,
}

struct StoredEvent {
    number: u64,
    bytes: usize,
    message: ServerSseMessage,
}

impl Default for StoredStream {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            at: Instant::now(),
            answered: false,
            changed: Arc::default(),
            followers: 0,
        }
    }
}

impl Buffers {
    fn stream(&self, session: &str, id: &str) -> Option<&StoredStream> {
        self.clients.get(session)?.by_id.get(id)
    }

    fn remove(&mut self, session: &str, id: &str) {
        let Some(client) = self.clients.get_mut(session) else { return };
        if let Some(stored) = client.by_id.remove(id) {
            let bytes = stored.events.iter().map(|event| event.bytes).sum::<usize>();
            client.bytes -= bytes;
            self.bytes -= bytes;
            stored.changed.notify_waiters();
        }
        if client.by_id.is_empty() {
            self.clients.remove(session);
        }
    }

    /// Removes one stream of a client: the oldest answered one, or else the oldest one. Returns
    /// false if the client has no stream.
    fn remove_one(&mut self, session: &str) -> bool {
        let streams = self.clients.get(session).into_iter().flat_map(|client| &client.by_id);
        let oldest = streams
            .min_by_key(|(_, stored)| (!stored.answered, stored.at))
            .map(|(id, _)| id.clone());
        match oldest {
            Some(id) => {
                self.remove(session, &id);
                true
            }
            None => false,
        }
    }

    /// Evicts streams until no limit is exceeded. Called after an event for `session` was stored.
    fn make_room(&mut self, session: &str, now: Instant) {
        while let Some((at, session, id)) = self.answered.front().cloned()
            && at + RETENTION < now
        {
            self.answered.pop_front();
            self.remove(&session, &id);
        }
        let max_bytes = self.limits.client;
        let is_full =
            |client: &ClientStreams| client.by_id.len() > MAX_STREAMS || client.bytes > max_bytes;
        while self.clients.get(session).is_some_and(is_full) && self.remove_one(session) {}
        while self.bytes > self.limits.all {
            let largest = self.clients.iter().max_by_key(|(_, client)| client.bytes);
            let Some(largest) = largest.map(|(session, _)| session.clone()) else { return };
            if !self.remove_one(&largest) {
                return;
            }
        }
        self.forget_removed();
    }

    /// Removes evicted streams from the list of answered streams, if the list has become long.
    fn forget_removed(&mut self) {
        let streams: usize = self.clients.values().map(|client| client.by_id.len()).sum();
        if self.answered.len() > 2 * streams + MAX_STREAMS {
            let clients = &self.clients;
            self.answered.retain(|(_, session, id)| {
                clients.get(session).is_some_and(|client| client.by_id.contains_key(id))
            });
        }
    }
}

/// The next item of a stream.
enum NextItem {
    Event(u64, ServerSseMessage),
    Wait(Arc<Notify>),
    /// A newer request follows the stream. This one stays open without events, because a client
    /// whose stream ends would request it again.
    Replaced,
    End,
}

/// Returns rmcp's name for the standalone stream, which has the messages that belong to no call.
fn standalone(session: &str) -> String {
    format!("{session}{STANDALONE_SUFFIX}")
}

impl EventBuffers {
    fn buffers(&self) -> MutexGuard<'_, Buffers> {
        self.buffers.lock()
    }

    /// Returns the standalone stream of a session: the stored events and those that follow.
    pub fn standalone_stream(
        self: &Arc<Self>,
        session: &str,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let id = standalone(session);
        let mut buffers = self.buffers();
        buffers
            .clients
            .entry(session.into())
            .or_default()
            .by_id
            .entry(id.as_str().into())
            .or_default();
        drop(buffers);
        self.follow(session, id, 0)
    }

    /// Returns the events that follow the event `last` in its stream; `None` if the stream of this
    /// client is not stored.
    pub fn resume_after(
        self: &Arc<Self>,
        session: &str,
        last: &str,
    ) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (number, id) = match last.split_once('/') {
            Some((number, id)) => (number, id.to_owned()),
            // rmcp's own first event of the standalone stream.
            None => (last, standalone(session)),
        };
        let number = number.parse().ok()?;
        let is_stored = self.buffers().stream(session, &id).is_some();
        is_stored.then(|| self.follow(session, id, number))
    }

    /// Removes the events of a client that has ended.
    pub fn forget(&self, session: &str) {
        let mut buffers = self.buffers();
        while buffers.remove_one(session) {}
    }

    fn follow(
        self: &Arc<Self>,
        session: &str,
        id: String,
        last: u64,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let session: Arc<str> = session.into();
        let follower = {
            let mut buffers = self.buffers();
            let client = buffers.clients.get_mut(&session);
            client.and_then(|client| client.by_id.get_mut(id.as_str())).map_or(0, |stored| {
                stored.followers += 1;
                stored.changed.notify_waiters();
                stored.followers
            })
        };
        stream::unfold(
            (self.clone(), session, id, last),
            move |(events, session, id, last)| async move {
                loop {
                    let changed = match events.next(&session, &id, last, follower) {
                        NextItem::Event(number, message) => {
                            return Some((message, (events, session, id, number)));
                        }
                        NextItem::Wait(changed) => changed,
                        NextItem::Replaced => std::future::pending().await,
                        NextItem::End => return None,
                    };
                    let mut stored = pin!(changed.notified());
                    stored.as_mut().enable();
                    // Checks again, because an event may have been stored before `enable`.
                    if matches!(events.next(&session, &id, last, follower), NextItem::Wait(_)) {
                        stored.await;
                    }
                }
            },
        )
    }

    fn next(&self, session: &str, id: &str, last: u64, follower: u64) -> NextItem {
        let buffers = self.buffers();
        let Some(stored) = buffers.stream(session, id) else { return NextItem::End };
        if stored.followers != follower {
            return NextItem::Replaced;
        }
        match stored.events.iter().find(|event| event.number > last) {
            Some(event) => NextItem::Event(event.number, event.message.clone()),
            None if stored.answered => NextItem::End,
            None => NextItem::Wait(stored.changed.clone()),
        }
    }

    /// Stores an event of a client, and returns the event's new id.
    fn store(&self, session: &Arc<str>, stream: &str, event: &ServerSseMessage) -> String {
        let number = self.last_number.fetch_add(1, Ordering::Relaxed) + 1;
        let event_id = format!("{number}/{stream}");
        let mut message = event.clone();
        message.event_id = Some(event_id.clone());
        let bytes = message.message.as_deref().map_or(0, messages::size)
            + 2 * event_id.len()
            + size_of::<StoredEvent>();
        let answers = matches!(
            event.message.as_deref(),
            Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
        );
        let answered = answers && !stream.ends_with(STANDALONE_SUFFIX);
        let now = Instant::now();
        let mut buffers = self.buffers();
        let client = buffers.clients.entry(session.clone()).or_default();
        let stored = client.by_id.entry(stream.into()).or_default();
        stored.events.push(StoredEvent { number, bytes, message });
        stored.at = now;
        stored.answered = answered;
        let surplus = stored.events.len().saturating_sub(MAX_EVENTS);
        let removed_bytes: usize = stored.events.drain(..surplus).map(|event| event.bytes).sum();
        stored.changed.notify_waiters();
        client.bytes = client.bytes + bytes - removed_bytes;
        buffers.bytes = buffers.bytes + bytes - removed_bytes;
        if answered {
            buffers.answered.push_back((now, session.clone(), stream.into()));
        }
        buffers.make_room(session, now);
        event_id
    }
}

/// The event store that rmcp uses for one client.
pub(super) struct ClientEvents {
    events: Arc<EventBuffers>,
    /// Set before the first event.
    session: OnceLock<Arc<str>>,
}

impl ClientEvents {
    pub fn new(events: Arc<EventBuffers>) -> Self {
        Self { events, session: OnceLock::new() }
    }

    /// Sets the protocol session of the client.
    pub fn set_session(&self, session: Arc<str>) {
        let _ = self.session.set(session);
    }
}

#[async_trait]
impl EventStore for ClientEvents {
    async fn store_event(
        &self,
        stream: &str,
        event: &ServerSseMessage,
    ) -> Result<EventId, EventStoreError> {
        let session = self.session.get().ok_or("the session has no id yet")?;
        Ok(self.events.store(session, stream, event))
    }

    /// Not used. [`EventBuffers::resume_after`] is used instead, because it knows the client.
    async fn replay_events_after(&self, _last: &str) -> Result<EventStream, EventStoreError> {
        Ok(Box::pin(stream::empty()))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use rmcp::model::{ErrorData, RequestId};

    use super::*;

    fn answer(text: &str) -> ServerSseMessage {
        let error = ErrorData::internal_error(text.to_owned(), None);
        ServerSseMessage::from_message(JsonRpcMessage::error(error, Some(RequestId::Number(1))))
    }

    fn priming() -> ServerSseMessage {
        ServerSseMessage::retry(Duration::from_secs(3))
    }

    async fn all(stream: impl Stream<Item = ServerSseMessage>) -> Vec<String> {
        let ids = stream.map(|event| event.event_id.unwrap());
        ids.collect().await
    }

    const SMALL: ByteLimits = ByteLimits { client: 160_000, all: 1_280_000 };

    /// Creates a store with small limits.
    fn with_small_limits() -> Arc<EventBuffers> {
        let buffers = Buffers { limits: SMALL, ..Buffers::default() };
        Arc::new(EventBuffers { buffers: Mutex::new(buffers), ..EventBuffers::default() })
    }

    fn session(name: &str) -> Arc<str> {
        name.into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_stored_for_a_minute() {
        let events = Arc::new(EventBuffers::default());
        let s = session("s");
        let first = events.store(&s, "a", &priming());
        events.store(&s, "other", &answer("no"));
        let second = events.store(&s, "a", &answer("yes"));
        assert_eq!(
            all(events.resume_after("s", &first).unwrap()).await,
            std::slice::from_ref(&second)
        );
        assert_eq!(all(events.resume_after("s", &second).unwrap()).await, Vec::<String>::new());
        assert!(
            events.resume_after("s", "1/unknown").is_none()
                && events.resume_after("s", "junk").is_none()
        );
        assert!(
            events.resume_after("stranger", &first).is_none(),
            "another client does not get its events"
        );
        tokio::time::advance(RETENTION * 2).await;
        events.store(&session("another"), "other", &priming());
        assert!(events.resume_after("s", &first).is_none());
    }

    #[tokio::test]
    async fn only_the_last_follower_of_a_stream_gets_its_events() {
        let events = Arc::new(EventBuffers::default());
        let s = session("s");
        let first = events.store(&s, "a", &priming());
        let mut replaced = std::pin::pin!(events.resume_after("s", &first).unwrap());
        let waiting = tokio::spawn(all(events.resume_after("s", &first).unwrap()));
        tokio::task::yield_now().await;
        let second = events.store(&s, "a", &answer("yes"));
        assert_eq!(waiting.await.unwrap(), [second]);
        assert!(futures_util::poll!(replaced.next()).is_pending());
    }

    #[tokio::test]
    async fn the_standalone_stream_begins_with_earlier_events_and_ends_with_the_session() {
        let events = Arc::new(EventBuffers::default());
        let id = events.store(&session("s"), &standalone("s"), &priming());
        let mut standalone_stream = std::pin::pin!(events.standalone_stream("s"));
        assert_eq!(standalone_stream.next().await.unwrap().event_id, Some(id));
        events.forget("s");
        assert!(standalone_stream.next().await.is_none());
        assert!(events.buffers().clients.is_empty());
    }

    #[test]
    fn a_client_with_many_events_evicts_none_of_another() {
        let events = with_small_limits();
        let (quiet, busy) = (session("quiet"), session("busy"));
        let first = events.store(&quiet, "call", &priming());
        events.store(&quiet, "call", &answer("kept"));
        let large = "x".repeat(SMALL.client / 3);
        for number in 0..8 {
            events.store(&busy, &format!("large-{number}"), &answer(&large));
        }
        for number in 0..MAX_STREAMS * 2 {
            events.store(&busy, &format!("with_small_limits-{number}"), &priming());
        }
        for _ in 0..MAX_EVENTS * 2 {
            events.store(&busy, "one", &priming());
        }
        assert!(events.resume_after("quiet", &first).is_some());
        let buffers = events.buffers();
        let client = &buffers.clients["busy"];
        assert!(client.bytes <= SMALL.client && client.by_id.len() <= MAX_STREAMS);
        assert_eq!(client.by_id["one"].events.len(), MAX_EVENTS);
    }

    #[test]
    fn the_list_of_answered_streams_is_bounded() {
        let events = with_small_limits();
        for number in 0..MAX_STREAMS * 8 {
            events.store(&session("busy"), &number.to_string(), &answer("short"));
        }
        let ended = session("ended");
        for number in 0..MAX_STREAMS * 8 {
            events.store(&ended, &number.to_string(), &answer("short"));
            events.forget("ended");
        }
        let buffers = events.buffers();
        assert!(buffers.answered.len() <= 3 * MAX_STREAMS + 1, "{}", buffers.answered.len());
        assert_eq!(buffers.clients["busy"].by_id.len(), MAX_STREAMS);
    }

    #[test]
    fn beyond_the_total_limit_the_largest_client_loses_events() {
        let events = with_small_limits();
        let quiet = events.store(&session("quiet"), "call", &answer("kept"));
        let large = "x".repeat(SMALL.client / 4);
        for client in 0..2 * SMALL.all / SMALL.client {
            for number in 0..3 {
                events.store(
                    &session(&format!("busy-{client}")),
                    &number.to_string(),
                    &answer(&large),
                );
            }
        }
        assert!(events.resume_after("quiet", &quiet).is_some());
        let buffers = events.buffers();
        assert!(buffers.bytes <= SMALL.all);
        let streams = buffers.clients.values().flat_map(|client| client.by_id.values());
        let counted: usize =
            streams.flat_map(|stored| &stored.events).map(|event| event.bytes).sum();
        assert_eq!(counted, buffers.bytes);
        assert_eq!(
            buffers.clients.values().map(|client| client.bytes).sum::<usize>(),
            buffers.bytes
        );
    }
}
