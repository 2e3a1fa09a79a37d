//! The events of recent SSE streams. A client whose connection broke requests the missing events
//! with `Last-Event-ID`, also after the call has been answered. rmcp's own cache drops a stream
//! when its call is answered, so the answer could not be requested again.
//!
//! Each client has its own buffer, so that none evicts the events of another. There is also a total limit: beyond
//! it, the client with the largest buffer loses events first.

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
const KEPT: Duration = Duration::from_secs(60);
/// Maximum number of events of a stream and of streams of a client. The newest are kept.
const MOST_EVENTS: usize = 256;
const MOST_STREAMS: usize = 256;

/// Maximum numbers of bytes.
struct Limits {
    client: usize,
    all: usize,
}

/// The limit of a client has space for an answer with a large screenshot.
const LIMITS: Limits = Limits { client: 16 << 20, all: 128 << 20 };

/// The end of rmcp's name for the standalone stream.
const BESIDE: &str = ":common";

/// The events of all clients.
#[derive(Default)]
pub(super) struct Events {
    /// The number of the last event.
    told: AtomicU64,
    kept: Mutex<Kept>,
}

struct Kept {
    limits: Limits,
    /// By protocol session.
    clients: HashMap<Arc<str>, Streams>,
    /// Streams whose calls have been answered, in order: time, client and stream.
    over: VecDeque<(Instant, Arc<str>, Arc<str>)>,
    bytes: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self { limits: LIMITS, clients: HashMap::new(), over: VecDeque::new(), bytes: 0 }
    }
}

/// The streams of one client.
#[derive(Default)]
struct Streams {
    by_id: HashMap<Arc<str>, Told>,
    bytes: usize,
}

/// The stored events of one stream.
struct Told {
    events: Vec<Event>,
    at: Instant,
    /// The call has been answered, so no further events follow.
    over: bool,
    news: Arc<Notify>,
    /// Counts the requests for the rest of the stream: only the latest one gets the events.
    followers: u64,
}

struct Event {
    number: u64,
    bytes: usize,
    message: ServerSseMessage,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            events: Vec::new(),
            at: Instant::now(),
            over: false,
            news: Arc::default(),
            followers: 0,
        }
    }
}

impl Kept {
    fn stream(&self, session: &str, id: &str) -> Option<&Told> {
        self.clients.get(session)?.by_id.get(id)
    }

    fn remove(&mut self, session: &str, id: &str) {
        let Some(client) = self.clients.get_mut(session) else { return };
        if let Some(told) = client.by_id.remove(id) {
            let bytes = told.events.iter().map(|event| event.bytes).sum::<usize>();
            client.bytes -= bytes;
            self.bytes -= bytes;
            told.news.notify_waiters();
        }
        if client.by_id.is_empty() {
            self.clients.remove(session);
        }
    }

    /// Removes the oldest stream of a client, and answered ones before others. Returns false if the
    /// client has none.
    fn remove_one(&mut self, session: &str) -> bool {
        let streams = self.clients.get(session).into_iter().flat_map(|client| &client.by_id);
        let oldest =
            streams.min_by_key(|(_, told)| (!told.over, told.at)).map(|(id, _)| id.clone());
        match oldest {
            Some(id) => {
                self.remove(session, &id);
                true
            }
            None => false,
        }
    }

    /// Evicts streams until all limits hold, after an event for `session`.
    fn make_room(&mut self, session: &str, now: Instant) {
        while let Some((at, session, id)) = self.over.front().cloned()
            && at + KEPT < now
        {
            self.over.pop_front();
            self.remove(&session, &id);
        }
        let most = self.limits.client;
        let is_full = |client: &Streams| client.by_id.len() > MOST_STREAMS || client.bytes > most;
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

    /// Bounds the list of answered streams, from which those that the limits removed do not vanish by themselves.
    fn forget_removed(&mut self) {
        let streams: usize = self.clients.values().map(|client| client.by_id.len()).sum();
        if self.over.len() > 2 * streams + MOST_STREAMS {
            let clients = &self.clients;
            self.over.retain(|(_, session, id)| {
                clients.get(session).is_some_and(|client| client.by_id.contains_key(id))
            });
        }
    }
}

/// The next item of a stream.
enum Next {
    Event(u64, ServerSseMessage),
    Wait(Arc<Notify>),
    /// A newer request follows the stream. This one stays open without events, because a client
    /// whose stream ends would request it again.
    Quiet,
    Over,
}

/// Returns rmcp's name for the standalone stream, which has the messages outside of calls.
fn standalone(session: &str) -> String {
    format!("{session}{BESIDE}")
}

impl Events {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock()
    }

    /// Returns the standalone stream of a session: the stored events and those that follow.
    pub fn beside(
        self: &Arc<Self>,
        session: &str,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let id = standalone(session);
        let mut kept = self.kept();
        kept.clients
            .entry(session.into())
            .or_default()
            .by_id
            .entry(id.as_str().into())
            .or_default();
        drop(kept);
        self.follow(session, id, 0)
    }

    /// Returns the stream of the event `last` of this client from that event on. `None` if its
    /// stream is not stored.
    pub fn after(
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
        let is_kept = self.kept().stream(session, &id).is_some();
        is_kept.then(|| self.follow(session, id, number))
    }

    /// Removes the events of a client that has ended.
    pub fn forget(&self, session: &str) {
        let mut kept = self.kept();
        while kept.remove_one(session) {}
    }

    fn follow(
        self: &Arc<Self>,
        session: &str,
        id: String,
        last: u64,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let session: Arc<str> = session.into();
        let follower = {
            let mut kept = self.kept();
            let client = kept.clients.get_mut(&session);
            client.and_then(|client| client.by_id.get_mut(id.as_str())).map_or(0, |told| {
                told.followers += 1;
                told.news.notify_waiters();
                told.followers
            })
        };
        stream::unfold(
            (self.clone(), session, id, last),
            move |(events, session, id, last)| async move {
                loop {
                    let news = match events.next(&session, &id, last, follower) {
                        Next::Event(number, message) => {
                            return Some((message, (events, session, id, number)));
                        }
                        Next::Wait(news) => news,
                        Next::Quiet => std::future::pending().await,
                        Next::Over => return None,
                    };
                    let mut told = pin!(news.notified());
                    told.as_mut().enable();
                    // Checks again for an event that was stored before it listened.
                    if matches!(events.next(&session, &id, last, follower), Next::Wait(_)) {
                        told.await;
                    }
                }
            },
        )
    }

    fn next(&self, session: &str, id: &str, last: u64, follower: u64) -> Next {
        let kept = self.kept();
        let Some(told) = kept.stream(session, id) else { return Next::Over };
        if told.followers != follower {
            return Next::Quiet;
        }
        match told.events.iter().find(|event| event.number > last) {
            Some(event) => Next::Event(event.number, event.message.clone()),
            None if told.over => Next::Over,
            None => Next::Wait(told.news.clone()),
        }
    }

    /// Stores an event of a client, and returns the event's new id.
    fn keep(&self, session: &Arc<str>, stream: &str, event: &ServerSseMessage) -> String {
        let number = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let event_id = format!("{number}/{stream}");
        let mut message = event.clone();
        message.event_id = Some(event_id.clone());
        let bytes = message.message.as_deref().map_or(0, messages::size)
            + 2 * event_id.len()
            + size_of::<Event>();
        let answers = matches!(
            event.message.as_deref(),
            Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_))
        );
        let over = answers && !stream.ends_with(BESIDE);
        let now = Instant::now();
        let mut kept = self.kept();
        let client = kept.clients.entry(session.clone()).or_default();
        let told = client.by_id.entry(stream.into()).or_default();
        told.events.push(Event { number, bytes, message });
        told.at = now;
        told.over = over;
        let surplus = told.events.len().saturating_sub(MOST_EVENTS);
        let gone: usize = told.events.drain(..surplus).map(|event| event.bytes).sum();
        told.news.notify_waiters();
        client.bytes = client.bytes + bytes - gone;
        kept.bytes = kept.bytes + bytes - gone;
        if over {
            kept.over.push_back((now, session.clone(), stream.into()));
        }
        kept.make_room(session, now);
        event_id
    }
}

/// The event store that rmcp uses for one client.
pub(super) struct ClientEvents {
    events: Arc<Events>,
    /// Set before the first event.
    session: OnceLock<Arc<str>>,
}

impl ClientEvents {
    pub fn new(events: Arc<Events>) -> Self {
        Self { events, session: OnceLock::new() }
    }

    /// Sets the protocol session of the client.
    pub fn belong_to(&self, session: Arc<str>) {
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
        Ok(self.events.keep(session, stream, event))
    }

    /// Not used. [`Events::after`] takes its place, because it gets the client.
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

    const SMALL: Limits = Limits { client: 160_000, all: 1_280_000 };

    /// Creates a store with small limits.
    fn small() -> Arc<Events> {
        let kept = Kept { limits: SMALL, ..Kept::default() };
        Arc::new(Events { kept: Mutex::new(kept), ..Events::default() })
    }

    fn session(name: &str) -> Arc<str> {
        name.into()
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_kept_for_a_minute() {
        let events = Arc::new(Events::default());
        let s = session("s");
        let first = events.keep(&s, "a", &priming());
        events.keep(&s, "other", &answer("no"));
        let second = events.keep(&s, "a", &answer("yes"));
        assert_eq!(all(events.after("s", &first).unwrap()).await, std::slice::from_ref(&second));
        assert_eq!(all(events.after("s", &second).unwrap()).await, Vec::<String>::new());
        assert!(events.after("s", "1/unknown").is_none() && events.after("s", "junk").is_none());
        assert!(
            events.after("stranger", &first).is_none(),
            "another client does not get its events"
        );
        tokio::time::advance(KEPT * 2).await;
        events.keep(&session("another"), "other", &priming());
        assert!(events.after("s", &first).is_none());
    }

    #[tokio::test]
    async fn only_the_last_follower_of_a_stream_gets_its_events() {
        let events = Arc::new(Events::default());
        let s = session("s");
        let first = events.keep(&s, "a", &priming());
        let mut replaced = std::pin::pin!(events.after("s", &first).unwrap());
        let waiting = tokio::spawn(all(events.after("s", &first).unwrap()));
        tokio::task::yield_now().await;
        let second = events.keep(&s, "a", &answer("yes"));
        assert_eq!(waiting.await.unwrap(), [second]);
        assert!(futures_util::poll!(replaced.next()).is_pending());
    }

    #[tokio::test]
    async fn the_standalone_stream_begins_with_earlier_events_and_ends_with_the_session() {
        let events = Arc::new(Events::default());
        let id = events.keep(&session("s"), &standalone("s"), &priming());
        let mut beside = std::pin::pin!(events.beside("s"));
        assert_eq!(beside.next().await.unwrap().event_id, Some(id));
        events.forget("s");
        assert!(beside.next().await.is_none());
        assert!(events.kept().clients.is_empty());
    }

    #[test]
    fn a_client_with_many_events_displaces_none_of_another() {
        let events = small();
        let (quiet, busy) = (session("quiet"), session("busy"));
        let first = events.keep(&quiet, "call", &priming());
        events.keep(&quiet, "call", &answer("kept"));
        let large = "x".repeat(SMALL.client / 3);
        for number in 0..8 {
            events.keep(&busy, &format!("large-{number}"), &answer(&large));
        }
        for number in 0..MOST_STREAMS * 2 {
            events.keep(&busy, &format!("small-{number}"), &priming());
        }
        for _ in 0..MOST_EVENTS * 2 {
            events.keep(&busy, "one", &priming());
        }
        assert!(events.after("quiet", &first).is_some());
        let kept = events.kept();
        let client = &kept.clients["busy"];
        assert!(client.bytes <= SMALL.client && client.by_id.len() <= MOST_STREAMS);
        assert_eq!(client.by_id["one"].events.len(), MOST_EVENTS);
    }

    #[test]
    fn the_list_of_answered_streams_is_bounded() {
        let events = small();
        for number in 0..MOST_STREAMS * 8 {
            events.keep(&session("busy"), &number.to_string(), &answer("short"));
        }
        let ended = session("ended");
        for number in 0..MOST_STREAMS * 8 {
            events.keep(&ended, &number.to_string(), &answer("short"));
            events.forget("ended");
        }
        let kept = events.kept();
        assert!(kept.over.len() <= 3 * MOST_STREAMS + 1, "{}", kept.over.len());
        assert_eq!(kept.clients["busy"].by_id.len(), MOST_STREAMS);
    }

    #[test]
    fn beyond_the_limit_of_all_the_largest_client_loses_events() {
        let events = small();
        let quiet = events.keep(&session("quiet"), "call", &answer("kept"));
        let large = "x".repeat(SMALL.client / 4);
        for client in 0..2 * SMALL.all / SMALL.client {
            for number in 0..3 {
                events.keep(
                    &session(&format!("busy-{client}")),
                    &number.to_string(),
                    &answer(&large),
                );
            }
        }
        assert!(events.after("quiet", &quiet).is_some());
        let kept = events.kept();
        assert!(kept.bytes <= SMALL.all);
        let streams = kept.clients.values().flat_map(|client| client.by_id.values());
        let counted: usize = streams.flat_map(|told| &told.events).map(|event| event.bytes).sum();
        assert_eq!(counted, kept.bytes);
        assert_eq!(kept.clients.values().map(|client| client.bytes).sum::<usize>(), kept.bytes);
    }
}
