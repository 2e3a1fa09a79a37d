//! The in-flight requests of a page, and how long to wait for each.
//!
//! The browser may never report the end of a fetch whose response the page's script does not read.
//! Such a response counts as finished shortly after all of its bytes have arrived. If its length is
//! unknown or the bytes do not arrive, it counts as finished when no data has arrived for a while.
//!
//! A message that the page sends over a WebSocket is a request too: many apps get all of their
//! content that way. The response is what arrives until the socket is quiet.

use std::{
    collections::{HashMap, hash_map::Entry},
    sync::Arc,
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    engine::{DocumentId, FrameId, ResourceKind, SocketActivity},
    page::state::EventSequence,
};

/// A page handles a complete response within this time.
const COMPLETE_TIME: Duration = Duration::from_millis(100);
/// A response that brings no data for this long counts as a stream. Equal to the time after which a
/// network is idle.
const STREAM_TIME: Duration = Duration::from_millis(500);

/// A WebSocket connection or message counts as unanswered after this time.
const MESSAGE_TIME: Duration = Duration::from_millis(250);
/// The response to a message is complete when the socket has received nothing for this long.
const SOCKET_QUIET: Duration = Duration::from_millis(80);
/// A socket that receives messages for longer than this after a message counts as a stream.
const SOCKET_STREAM: Duration = Duration::from_millis(1_000);

/// The last message that a WebSocket has sent, or its request for a connection.
#[derive(Debug)]
struct SocketMessage {
    sent: EventSequence,
    sent_at: Instant,
    received_at: Option<Instant>,
}

impl SocketMessage {
    /// Returns when the response counts as complete if nothing else arrives.
    fn ends_at(&self) -> Instant {
        match self.received_at {
            None => self.sent_at + MESSAGE_TIME,
            Some(at) => (at + SOCKET_QUIET).min(self.sent_at + SOCKET_STREAM),
        }
    }
}

#[derive(Debug)]
pub(in crate::page) struct InFlightRequest {
    pub kind: ResourceKind,
    pub started: EventSequence,
    pub frame: Option<FrameId>,
    pub document: Option<DocumentId>,
    response: Option<ResponseProgress>,
}

/// The progress of the response to a fetch.
#[derive(Debug)]
struct ResponseProgress {
    length: Option<u64>,
    received: u64,
    last_data_at: Instant,
}

impl ResponseProgress {
    fn is_complete(&self) -> bool {
        self.length.is_some_and(|length| self.received >= length)
    }

    /// Returns when the response counts as finished if no more data arrives.
    fn ends_at(&self) -> Instant {
        self.last_data_at + if self.is_complete() { COMPLETE_TIME } else { STREAM_TIME }
    }
}

impl InFlightRequest {
    pub fn new(
        kind: ResourceKind,
        started: EventSequence,
        frame: Option<FrameId>,
        document: Option<DocumentId>,
    ) -> Self {
        Self { kind, started, frame, document, response: None }
    }

    /// Returns when the request counts as finished without an event. `None` if only an event
    /// finishes it.
    fn ends_at(&self) -> Option<Instant> {
        self.response.as_ref().map(ResponseProgress::ends_at)
    }
}

/// The in-flight requests of a page.
#[derive(Debug, Default)]
pub(in crate::page) struct InFlightRequests {
    open: HashMap<Arc<str>, InFlightRequest>,
    /// The last message of each open WebSocket.
    sockets: HashMap<Arc<str>, SocketMessage>,
    /// Since when every request has its complete response, or there is none.
    quiet_since: Option<Instant>,
    /// Start and end of the document, script or fetch that ended last.
    last_ended: Option<(EventSequence, EventSequence)>,
}

impl InFlightRequests {
    pub fn started(&mut self, id: Arc<str>, request: InFlightRequest) {
        self.open.insert(id, request);
        self.update_quiet_since();
    }

    pub fn response_begun(&mut self, id: &str, length: Option<u64>) {
        if let Some(request) = self.open.get_mut(id) {
            request.response =
                Some(ResponseProgress { length, received: 0, last_data_at: Instant::now() });
        }
        self.update_quiet_since();
    }

    pub fn response_received(&mut self, id: &str, bytes: u64) {
        let Some(response) = self.open.get_mut(id).and_then(|request| request.response.as_mut())
        else {
            return;
        };
        let was_complete = response.is_complete();
        response.received += bytes;
        response.last_data_at = Instant::now();
        if response.is_complete() && !was_complete {
            self.update_quiet_since();
        }
    }

    pub fn ended(&mut self, id: &str, now: EventSequence) {
        let ended = self.open.remove(id).filter(|request| request.kind != ResourceKind::Other);
        self.last_ended = ended.map(|request| (request.started, now)).or(self.last_ended);
        self.update_quiet_since();
    }

    pub fn remove_where(&mut self, is_removed: impl Fn(&InFlightRequest) -> bool) {
        self.open.retain(|_, request| !is_removed(request));
        self.update_quiet_since();
    }

    /// Records the activity of a WebSocket. A message that the page sends starts a wait for its
    /// response, which later messages prolong.
    pub fn socket_activity(&mut self, id: Arc<str>, activity: SocketActivity, now: EventSequence) {
        let message = self.sockets.entry(id);
        match (activity, message) {
            (SocketActivity::Sent, message) => {
                let sent_at = Instant::now();
                message.insert_entry(SocketMessage { sent: now, sent_at, received_at: None });
            }
            (SocketActivity::Received, Entry::Occupied(mut message)) => {
                message.get_mut().received_at = Some(Instant::now());
            }
            (SocketActivity::Closed, Entry::Occupied(message)) => drop(message.remove()),
            (_, Entry::Vacant(_)) => {}
        }
    }

    pub fn clear_sockets(&mut self) {
        self.sockets.clear();
    }

    /// Returns when the responses to messages since `mark` count as complete, for those that do not
    /// yet at `now`.
    fn socket_ends(&self, mark: EventSequence, now: Instant) -> impl Iterator<Item = Instant> + '_ {
        let since = self.sockets.values().filter(move |message| message.sent > mark);
        since.map(SocketMessage::ends_at).filter(move |at| *at > now)
    }

    fn update_quiet_since(&mut self) {
        let is_complete = |request: &InFlightRequest| {
            request.response.as_ref().is_some_and(ResponseProgress::is_complete)
        };
        if !self.open.values().all(is_complete) {
            self.quiet_since = None;
        } else if self.quiet_since.is_none() {
            self.quiet_since = Some(Instant::now());
        }
    }

    pub fn quiet_since(&self) -> Option<Instant> {
        self.quiet_since
    }

    /// Returns the documents, scripts and fetches that were requested since `mark`.
    fn awaited(&self, mark: EventSequence) -> impl Iterator<Item = &InFlightRequest> {
        self.open
            .values()
            .filter(move |request| request.started > mark && request.kind != ResourceKind::Other)
    }

    /// Returns whether a document, script, fetch or message since `mark` is in flight at `now`.
    pub fn busy(&self, mark: EventSequence, now: Instant) -> bool {
        self.awaited(mark).any(|request| request.ends_at().is_none_or(|at| at > now))
            || self.socket_ends(mark, now).next().is_some()
    }

    /// Returns whether a document, script or fetch since `mark` has ended since `since`.
    pub fn ended_since(&self, mark: EventSequence, since: EventSequence) -> bool {
        self.last_ended.is_some_and(|(started, ended)| started > mark && ended > since)
    }

    /// Returns when the requests since `mark` count as finished without another event. `None` if
    /// one needs an event.
    pub fn ends_at(&self, mark: EventSequence) -> Option<Instant> {
        let requests: Option<Vec<_>> = self.awaited(mark).map(InFlightRequest::ends_at).collect();
        requests?.into_iter().chain(self.socket_ends(mark, Instant::now())).max()
    }

    /// Returns whether more data of a response to a request since `mark` may arrive.
    pub fn unfinished(&self, mark: EventSequence) -> bool {
        self.awaited(mark)
            .any(|request| request.response.as_ref().is_none_or(|response| !response.is_complete()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch() -> InFlightRequests {
        let mut requests = InFlightRequests::default();
        let started = EventSequence::default().next();
        requests
            .started("1".into(), InFlightRequest::new(ResourceKind::Fetch, started, None, None));
        requests
    }

    fn busy(requests: &InFlightRequests) -> bool {
        requests.busy(EventSequence::default(), Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_without_a_response_is_in_flight() {
        let requests = fetch();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(busy(&requests));
        assert_eq!(requests.ends_at(EventSequence::default()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_is_finished_shortly_after_its_complete_response() {
        let mut requests = fetch();
        requests.response_begun("1", Some(10));
        requests.response_received("1", 10);
        assert!(busy(&requests));
        tokio::time::advance(COMPLETE_TIME).await;
        assert!(!busy(&requests));
        assert!(!requests.unfinished(EventSequence::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_response_that_keeps_receiving_data_is_awaited() {
        let mut requests = fetch();
        requests.response_begun("1", None);
        for _ in 0..5 {
            tokio::time::advance(STREAM_TIME / 2).await;
            assert!(busy(&requests));
            requests.response_received("1", 1);
        }
        tokio::time::advance(STREAM_TIME).await;
        assert!(!busy(&requests));
        assert!(requests.unfinished(EventSequence::default()), "more data may arrive");
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_is_in_flight_until_its_socket_is_quiet() {
        let mut requests = InFlightRequests::default();
        let sent = EventSequence::default().next();
        let report = |requests: &mut InFlightRequests, activity| {
            requests.socket_activity("1".into(), activity, sent)
        };
        report(&mut requests, SocketActivity::Received);
        assert!(!busy(&requests), "nothing was sent");
        report(&mut requests, SocketActivity::Sent);
        assert!(busy(&requests));
        assert!(!requests.busy(sent, Instant::now()), "it was sent before");
        report(&mut requests, SocketActivity::Received);
        for _ in 0..3 {
            tokio::time::advance(SOCKET_QUIET / 2).await;
            assert!(busy(&requests));
            report(&mut requests, SocketActivity::Received);
        }
        assert_eq!(requests.ends_at(EventSequence::default()), Some(Instant::now() + SOCKET_QUIET));
        tokio::time::advance(SOCKET_QUIET).await;
        assert!(!busy(&requests));
        assert!(!requests.unfinished(EventSequence::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_without_a_response_and_a_stream_are_awaited_for_a_limited_time() {
        let mut requests = InFlightRequests::default();
        let sent = EventSequence::default().next();
        requests.socket_activity("1".into(), SocketActivity::Sent, sent);
        tokio::time::advance(MESSAGE_TIME).await;
        assert!(!busy(&requests));
        requests.socket_activity("1".into(), SocketActivity::Sent, sent);
        let begun = Instant::now();
        while busy(&requests) {
            requests.socket_activity("1".into(), SocketActivity::Received, sent);
            tokio::time::advance(SOCKET_QUIET / 2).await;
        }
        assert_eq!(begun.elapsed(), SOCKET_STREAM);
    }

    #[tokio::test(start_paused = true)]
    async fn the_network_is_quiet_when_a_response_is_complete_and_not_read() {
        let mut requests = fetch();
        assert_eq!(requests.quiet_since(), None);
        requests.response_begun("1", Some(10));
        assert_eq!(requests.quiet_since(), None);
        requests.response_received("1", 10);
        assert_eq!(requests.quiet_since(), Some(Instant::now()));
    }
}
