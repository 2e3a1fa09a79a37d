//! What streams have told, kept for a while: a client whose connection broke asks for the rest (`Last-Event-ID`), also
//! where the call has been answered meanwhile.
//!
//! rmcp's own cache forgets a stream with its answer, which is when it is wanted most.

use std::{
    collections::{HashMap, VecDeque},
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use futures_util::{Stream, stream};
use rmcp::{
    model::{JsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        EventId, EventStore, EventStoreError, EventStream, ServerSseMessage,
    },
};
use tokio::{sync::Notify, time::Instant};

/// How long the answer of a call is kept.
const KEPT: Duration = Duration::from_secs(60);
/// Of one stream the newest; of all streams so many and so many bytes: the one goes that has been quiet longest.
const MOST_EVENTS: usize = 256;
const MOST_STREAMS: usize = 4096;
const MOST_BYTES: usize = 16 << 20;

/// How rmcp ends the name of a stream of no call.
const BESIDE: &str = ":common";

/// The events of all streams.
#[derive(Default)]
pub(super) struct Events {
    /// Every event has a number of its own.
    told: AtomicU64,
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    by_id: HashMap<Arc<str>, Told>,
    /// Those whose calls have been answered, in order.
    over: VecDeque<(Instant, Arc<str>)>,
    bytes: usize,
}

/// What one stream has told.
struct Told {
    events: Vec<Event>,
    at: Instant,
    /// The call has been answered: nothing follows.
    over: bool,
    news: Arc<Notify>,
    /// Counts those that have asked for the rest: only the last of them is told.
    followers: u64,
}

struct Event {
    number: u64,
    bytes: usize,
    message: ServerSseMessage,
}

impl Default for Told {
    fn default() -> Self {
        Self { events: Vec::new(), at: Instant::now(), over: false, news: Arc::default(), followers: 0 }
    }
}

impl Streams {
    fn remove(&mut self, id: &str) {
        if let Some(told) = self.by_id.remove(id) {
            self.bytes -= told.events.iter().map(|event| event.bytes).sum::<usize>();
            told.news.notify_waiters();
        }
    }

    fn make_room(&mut self, now: Instant) {
        let full = |streams: &Self| streams.by_id.len() > MOST_STREAMS || streams.bytes > MOST_BYTES;
        while let Some((at, id)) = self.over.front().cloned()
            && (at + KEPT < now || full(self))
        {
            self.over.pop_front();
            self.remove(&id);
        }
        while full(self) {
            let quiet = self.by_id.iter().min_by_key(|(_, told)| told.at).map(|(id, _)| id.clone());
            let Some(quiet) = quiet else { return };
            self.remove(&quiet);
        }
    }
}

/// What comes next in a stream.
enum Next {
    Event(u64, ServerSseMessage),
    Wait(Arc<Notify>),
    /// Somebody else follows now: this one stays quiet, for a client that is cut off would only ask again.
    Quiet,
    Over,
}

/// The stream of what concerns no call, as rmcp names it.
fn standalone(session: &str) -> String {
    format!("{session}{BESIDE}")
}

impl Events {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a session is told beside its calls' answers, from now on and what is kept of it.
    pub fn beside(
        self: &Arc<Self>,
        session: &str,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let id = standalone(session);
        self.streams().by_id.entry(id.as_str().into()).or_default();
        self.follow(id, 0)
    }

    /// What came after the event `last`, and what comes; `None` where nothing is kept of its stream.
    pub fn after(
        self: &Arc<Self>,
        session: &str,
        last: &str,
    ) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + use<>> {
        let (number, id) = match last.split_once('/') {
            Some((number, id)) => (number, id.to_owned()),
            // What rmcp itself begins that stream with.
            None => (last, standalone(session)),
        };
        let number = number.parse().ok()?;
        let kept = self.streams().by_id.contains_key(id.as_str());
        kept.then(|| self.follow(id, number))
    }

    /// Forgets what concerned no call: the session is over.
    pub fn forget(&self, session: &str) {
        self.streams().remove(&standalone(session));
    }

    fn follow(
        self: &Arc<Self>,
        id: String,
        last: u64,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + use<> {
        let follower = self.streams().by_id.get_mut(id.as_str()).map_or(0, |told| {
            told.followers += 1;
            told.news.notify_waiters();
            told.followers
        });
        stream::unfold((self.clone(), id, last), move |(events, id, last)| async move {
            loop {
                let news = match events.next(&id, last, follower) {
                    Next::Event(number, message) => return Some((message, (events, id, number))),
                    Next::Wait(news) => news,
                    Next::Quiet => std::future::pending().await,
                    Next::Over => return None,
                };
                let mut told = pin!(news.notified());
                told.as_mut().enable();
                // Whatever came before it listened is there now.
                if matches!(events.next(&id, last, follower), Next::Wait(_)) {
                    told.await;
                }
            }
        })
    }

    fn next(&self, id: &str, last: u64, follower: u64) -> Next {
        let streams = self.streams();
        let Some(told) = streams.by_id.get(id) else { return Next::Over };
        if told.followers != follower {
            return Next::Quiet;
        }
        match told.events.iter().find(|event| event.number > last) {
            Some(event) => Next::Event(event.number, event.message.clone()),
            None if told.over => Next::Over,
            None => Next::Wait(told.news.clone()),
        }
    }

    /// Keeps an event, and gives it its id.
    fn keep(&self, stream: &str, event: &ServerSseMessage) -> String {
        let number = self.told.fetch_add(1, Ordering::Relaxed) + 1;
        let event_id = format!("{number}/{stream}");
        let mut message = event.clone();
        message.event_id = Some(event_id.clone());
        let bytes = message.message.as_deref().map_or(0, length) + event_id.len();
        let answers =
            matches!(event.message.as_deref(), Some(JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)));
        let over = answers && !stream.ends_with(BESIDE);
        let now = Instant::now();
        let mut streams = self.streams();
        streams.bytes += bytes;
        let told = streams.by_id.entry(stream.into()).or_default();
        told.events.push(Event { number, bytes, message });
        told.at = now;
        told.over = over;
        let surplus = told.events.len().saturating_sub(MOST_EVENTS);
        let gone: usize = told.events.drain(..surplus).map(|event| event.bytes).sum();
        told.news.notify_waiters();
        streams.bytes -= gone;
        if over {
            streams.over.push_back((now, stream.into()));
        }
        streams.make_room(now);
        event_id
    }
}

/// Bytes of a message as it is sent.
fn length(message: &ServerJsonRpcMessage) -> usize {
    struct Count(usize);
    impl io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // It only counts: this cannot fail.
    let _ = serde_json::to_writer(&mut count, message);
    count.0
}

#[async_trait]
impl EventStore for Events {
    async fn store_event(&self, stream: &str, event: &ServerSseMessage) -> Result<EventId, EventStoreError> {
        Ok(self.keep(stream, event))
    }

    /// Who asks is known by its session only: see `after`.
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

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_there_for_a_minute_after_it_was_given() {
        let events = Arc::new(Events::default());
        let first = events.keep("a", &priming());
        events.keep("other", &answer("no"));
        let second = events.keep("a", &answer("yes"));
        assert_eq!(all(events.after("s", &first).unwrap()).await, std::slice::from_ref(&second));
        assert_eq!(all(events.after("s", &second).unwrap()).await, Vec::<String>::new());
        assert!(events.after("s", "1/unknown").is_none() && events.after("s", "junk").is_none());
        tokio::time::advance(KEPT * 2).await;
        events.keep("other", &priming());
        assert!(events.after("s", &first).is_none());
    }

    #[tokio::test]
    async fn what_is_still_to_come_is_waited_for_by_the_last_who_asks() {
        let events = Arc::new(Events::default());
        let first = events.keep("a", &priming());
        let mut replaced = std::pin::pin!(events.after("s", &first).unwrap());
        let waiting = tokio::spawn(all(events.after("s", &first).unwrap()));
        tokio::task::yield_now().await;
        let second = events.keep("a", &answer("yes"));
        assert_eq!(waiting.await.unwrap(), [second]);
        assert!(futures_util::poll!(replaced.next()).is_pending());
    }

    #[tokio::test]
    async fn a_session_is_told_what_came_before_it_listened_until_it_is_over() {
        let events = Arc::new(Events::default());
        let id = events.keep(&standalone("s"), &priming());
        let mut beside = std::pin::pin!(events.beside("s"));
        assert_eq!(beside.next().await.unwrap().event_id, Some(id));
        events.forget("s");
        assert!(beside.next().await.is_none());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let events = Arc::new(Events::default());
        let large = "x".repeat(MOST_BYTES / 3);
        for number in 0..8 {
            events.keep(&format!("large-{number}"), &answer(&large));
        }
        for number in 0..MOST_STREAMS * 2 {
            events.keep(&format!("small-{number}"), &priming());
        }
        for _ in 0..MOST_EVENTS * 2 {
            events.keep("one", &priming());
        }
        let streams = events.streams();
        assert!(streams.bytes <= MOST_BYTES && streams.by_id.len() <= MOST_STREAMS);
        assert_eq!(streams.by_id["one"].events.len(), MOST_EVENTS);
        let counted: usize =
            streams.by_id.values().flat_map(|told| &told.events).map(|event| event.bytes).sum();
        assert_eq!(counted, streams.bytes);
    }
}
