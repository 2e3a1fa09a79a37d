//! The in-flight requests of a page, and how long to wait for each.
//!
//! The browser may never report the end of a fetch whose response nobody reads. Such a response
//! counts as finished shortly after all of its bytes have arrived. If its length is unknown or the
//! bytes do not arrive, it counts as finished when no data has arrived for a while.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tokio::time::Instant;

use crate::{
    engine::{DocumentId, FrameId, ResourceKind},
    page::state::Mark,
};

/// A page handles a complete response within this time.
const WHOLE: Duration = Duration::from_millis(100);
/// A response that brings no data for this long counts as a stream. Equal to the time after which a
/// network is idle.
const SILENCE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(in crate::page) struct Request {
    pub kind: ResourceKind,
    pub started: Mark,
    pub frame: Option<FrameId>,
    pub document: Option<DocumentId>,
    answer: Option<Answer>,
}

/// The progress of the response to a fetch.
#[derive(Debug)]
struct Answer {
    length: Option<u64>,
    received: u64,
    last_sign: Instant,
}

impl Answer {
    fn is_whole(&self) -> bool {
        self.length.is_some_and(|length| self.received >= length)
    }

    /// Returns when the response counts as finished if no more data arrives.
    fn over_at(&self) -> Instant {
        self.last_sign + if self.is_whole() { WHOLE } else { SILENCE }
    }
}

impl Request {
    pub fn new(
        kind: ResourceKind,
        started: Mark,
        frame: Option<FrameId>,
        document: Option<DocumentId>,
    ) -> Self {
        Self { kind, started, frame, document, answer: None }
    }

    /// Returns when the request counts as finished without an event. `None` if only an event
    /// finishes it.
    fn over_at(&self) -> Option<Instant> {
        self.answer.as_ref().map(Answer::over_at)
    }
}

/// The in-flight requests of a page.
#[derive(Debug, Default)]
pub(in crate::page) struct Requests {
    open: HashMap<Arc<str>, Request>,
    /// Since when every request has its complete response, or there is none.
    quiet_since: Option<Instant>,
    /// Start and end of the document, script or fetch that ended last.
    last_ended: Option<(Mark, Mark)>,
}

impl Requests {
    pub fn started(&mut self, id: Arc<str>, request: Request) {
        self.open.insert(id, request);
        self.note_quiet();
    }

    pub fn answer_begun(&mut self, id: &str, length: Option<u64>) {
        if let Some(request) = self.open.get_mut(id) {
            request.answer = Some(Answer { length, received: 0, last_sign: Instant::now() });
        }
        self.note_quiet();
    }

    /// Returns whether these bytes complete the response.
    pub fn answer_received(&mut self, id: &str, bytes: u64) -> bool {
        let Some(answer) = self.open.get_mut(id).and_then(|request| request.answer.as_mut()) else {
            return false;
        };
        let was_whole = answer.is_whole();
        answer.received += bytes;
        answer.last_sign = Instant::now();
        let is_whole = answer.is_whole() && !was_whole;
        if is_whole {
            self.note_quiet();
        }
        is_whole
    }

    pub fn ended(&mut self, id: &str, now: Mark) {
        let ended = self.open.remove(id).filter(|request| request.kind != ResourceKind::Other);
        self.last_ended = ended.map(|request| (request.started, now)).or(self.last_ended);
        self.note_quiet();
    }

    pub fn forget(&mut self, gone: impl Fn(&Request) -> bool) {
        self.open.retain(|_, request| !gone(request));
        self.note_quiet();
    }

    fn note_quiet(&mut self) {
        let whole = |request: &Request| request.answer.as_ref().is_some_and(Answer::is_whole);
        if !self.open.values().all(whole) {
            self.quiet_since = None;
        } else if self.quiet_since.is_none() {
            self.quiet_since = Some(Instant::now());
        }
    }

    pub fn quiet_since(&self) -> Option<Instant> {
        self.quiet_since
    }

    /// Returns the documents, scripts and fetches that were requested since `mark`.
    fn awaited(&self, mark: Mark) -> impl Iterator<Item = &Request> {
        self.open
            .values()
            .filter(move |request| request.started > mark && request.kind != ResourceKind::Other)
    }

    /// Whether a document, script or fetch since `mark` is in flight at `now`.
    pub fn busy(&self, mark: Mark, now: Instant) -> bool {
        self.awaited(mark).any(|request| request.over_at().is_none_or(|at| at > now))
    }

    /// Whether a document, script or fetch since `mark` has ended since `since`.
    pub fn ended_since(&self, mark: Mark, since: Mark) -> bool {
        self.last_ended.is_some_and(|(started, ended)| started > mark && ended > since)
    }

    /// Returns when the requests since `mark` count as finished without another event. `None` if
    /// one needs an event.
    pub fn over_at(&self, mark: Mark) -> Option<Instant> {
        let ends: Option<Vec<_>> = self.awaited(mark).map(Request::over_at).collect();
        ends?.into_iter().max()
    }

    /// Whether more data of a response to a request since `mark` may arrive.
    pub fn unfinished(&self, mark: Mark) -> bool {
        self.awaited(mark)
            .any(|request| request.answer.as_ref().is_none_or(|answer| !answer.is_whole()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch() -> Requests {
        let mut requests = Requests::default();
        let started = Mark::default().next();
        requests.started("1".into(), Request::new(ResourceKind::Fetch, started, None, None));
        requests
    }

    fn busy(requests: &Requests) -> bool {
        requests.busy(Mark::default(), Instant::now())
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_without_a_response_is_in_flight() {
        let requests = fetch();
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(busy(&requests));
        assert_eq!(requests.over_at(Mark::default()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_fetch_is_finished_shortly_after_its_complete_response() {
        let mut requests = fetch();
        requests.answer_begun("1", Some(10));
        requests.answer_received("1", 10);
        assert!(busy(&requests));
        tokio::time::advance(WHOLE).await;
        assert!(!busy(&requests));
        assert!(!requests.unfinished(Mark::default()));
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_keeps_coming_is_awaited() {
        let mut requests = fetch();
        requests.answer_begun("1", None);
        for _ in 0..5 {
            tokio::time::advance(SILENCE / 2).await;
            assert!(busy(&requests));
            requests.answer_received("1", 1);
        }
        tokio::time::advance(SILENCE).await;
        assert!(!busy(&requests));
        assert!(requests.unfinished(Mark::default()), "more of it may come");
    }

    #[tokio::test(start_paused = true)]
    async fn the_network_is_quiet_beside_an_answer_that_nobody_reads() {
        let mut requests = fetch();
        assert_eq!(requests.quiet_since(), None);
        requests.answer_begun("1", Some(10));
        assert_eq!(requests.quiet_since(), None);
        requests.answer_received("1", 10);
        assert_eq!(requests.quiet_since(), Some(Instant::now()));
    }
}
