//! The requests of a page, the newest last. When the log is full, the oldest are removed.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use crate::engine::{
    FrameId,
    network::{
        RequestDetails, RequestEvent, ResourceType, ResponseDetails, SentDetails, WorkerKind,
    },
};

/// Maximum number of entries.
const MAX_REQUESTS: usize = 1000;
/// Maximum number of mocked requests whose start was not reported yet. Both events arrive almost
/// at the same time.
const MAX_EARLY_MOCKS: usize = 64;
/// Maximum characters of a URL.
const MAX_URL_LENGTH: usize = 2000;
/// Maximum bytes of the details of all entries. The oldest details are removed first.
const MAX_DETAILS_SIZE: usize = 16 * 1024 * 1024;

/// A request and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct LoggedRequest {
    pub url: String,
    pub method: String,
    pub kind: ResourceType,
    /// Milliseconds since 1970.
    pub started: f64,
    /// Milliseconds; `None` while it is in flight.
    pub duration: Option<f64>,
    pub status: Option<u16>,
    /// Bytes received over the network.
    pub size: Option<u64>,
    pub failure: Option<String>,
    pub from_mock: bool,
    /// The frame that sent it.
    pub frame: Option<FrameId>,
    pub worker: Option<WorkerKind>,
    /// `None` unless the configuration keeps them. Old ones are removed.
    pub request_details: Option<Arc<RequestDetails>>,
    /// `None` also if there is no response yet.
    pub response_details: Option<Arc<ResponseDetails>>,
    /// The engine's ID. `None` for a redirect: the request that it led to has the same ID.
    pub(in crate::page) id: Option<Arc<str>>,
    /// The start on the engine's clock, in milliseconds. Its origin is arbitrary.
    clock: Option<f64>,
}

impl LoggedRequest {
    /// Returns Playwright's name of its resource type.
    pub fn resource_type(&self) -> &'static str {
        self.kind.playwright_name()
    }

    /// Returns the approximate size of its details in bytes.
    fn details_size(&self) -> usize {
        let request = self.request_details.as_ref().map_or(0, |details| details.size());
        request + self.response_details.as_ref().map_or(0, |details| details.size())
    }

    /// Returns whether it matches `filter`: its type, its status (`404`, `4xx`), `failed`, or a
    /// part of its URL.
    pub fn fits(&self, filter: &str) -> bool {
        let filter = filter.to_lowercase();
        let status = self.status.map(|status| status.to_string()).unwrap_or_default();
        let class = status.get(..1).map(|first| format!("{first}xx"));
        self.url.to_lowercase().contains(&filter)
            || self.kind.as_str() == filter
            || status == filter
            || class.is_some_and(|class| class == filter)
            || (filter == "failed" && self.failure.is_some())
    }
}

/// Returns the time in milliseconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0
}

#[derive(Debug, Default)]
pub struct NetworkLog {
    entries: VecDeque<LoggedRequest>,
    /// The number of removed entries, which is the number of the first entry.
    removed: usize,
    /// The numbers of the in-flight requests, by ID.
    open: HashMap<Arc<str>, usize>,
    /// The IDs of mocked requests whose start was not reported yet.
    early_mocks: VecDeque<Arc<str>>,
    /// The approximate size of the details of all entries in bytes.
    details_size: usize,
    /// The number of the first entry that may have details.
    first_detailed: usize,
}

impl NetworkLog {
    /// Returns all entries, the oldest first.
    pub fn entries(&self) -> impl DoubleEndedIterator<Item = &LoggedRequest> {
        self.entries.iter()
    }

    /// Returns the number of all requests so far, including removed ones.
    pub fn count(&self) -> usize {
        self.removed + self.entries.len()
    }

    /// Returns the entries from `number` on, each with its number. The first request of the page
    /// has the number 0.
    pub fn since(&self, number: usize) -> impl Iterator<Item = (usize, &LoggedRequest)> {
        let entries = self.entries.iter().enumerate();
        entries
            .map(|(index, entry)| (self.removed + index, entry))
            .skip(number.saturating_sub(self.removed))
    }

    /// Returns the entry `number`.
    pub fn entry(&self, number: usize) -> Option<&LoggedRequest> {
        self.entries.get(number.checked_sub(self.removed)?)
    }

    /// Adds the size of new details. Removes the oldest details if all of them are too large.
    fn add_details_size(&mut self, size: usize) {
        self.details_size += size;
        while self.details_size > MAX_DETAILS_SIZE && self.first_detailed < self.count() {
            let index = self.first_detailed.saturating_sub(self.removed);
            self.first_detailed = self.removed + index + 1;
            if let Some(entry) = self.entries.get_mut(index) {
                self.details_size -= entry.details_size();
                (entry.request_details, entry.response_details) = (None, None);
            }
        }
    }

    /// Returns the URL of the in-flight request `id`.
    pub fn url_of(&self, id: &str) -> Option<&str> {
        let at = self.open.get(id)?.checked_sub(self.removed)?;
        self.entries.get(at).map(|entry| entry.url.as_str())
    }

    fn open(&mut self, id: &str) -> Option<&mut LoggedRequest> {
        let at = self.open.get(id)?.checked_sub(self.removed)?;
        self.entries.get_mut(at)
    }

    fn end(&mut self, id: &str, clock: Option<f64>) -> Option<&mut LoggedRequest> {
        let at = self.open.remove(id)?.checked_sub(self.removed)?;
        let entry = self.entries.get_mut(at)?;
        let duration = match (entry.clock, clock) {
            (Some(begun), Some(ended)) => ended - begun,
            _ => now() - entry.started,
        };
        entry.duration = Some(duration.max(0.0));
        Some(entry)
    }

    pub fn apply(&mut self, event: RequestEvent) {
        match event {
            RequestEvent::Sent {
                id,
                mut url,
                method,
                kind,
                at,
                clock,
                frame,
                worker,
                redirected,
                details,
            } => {
                let (request, redirect) = match details {
                    Some(details) => {
                        let SentDetails { request, redirect } = *details;
                        (Some(request), redirect)
                    }
                    None => (None, None),
                };
                let former = self.end(&id, clock);
                let mut from_mock = false;
                let mut redirect_size = 0;
                if let Some(former) = former {
                    former.status = redirected.or(former.status);
                    former.id = None;
                    // Firefox has reported it as a response, too.
                    if let Some(redirect) = redirect.filter(|_| former.response_details.is_none()) {
                        redirect_size = redirect.size();
                        former.response_details = Some(Arc::new(redirect));
                    }
                } else if let Some(at) = self.early_mocks.iter().position(|mock| *mock == id) {
                    self.early_mocks.remove(at);
                    from_mock = true;
                }
                self.add_details_size(redirect_size);
                if let Some((end, _)) = url.char_indices().nth(MAX_URL_LENGTH) {
                    url.truncate(end);
                    url.push('…');
                }
                if self.entries.len() == MAX_REQUESTS
                    && let Some(oldest) = self.entries.pop_front()
                {
                    self.details_size -= oldest.details_size();
                    self.removed += 1;
                    let first = self.removed;
                    self.open.retain(|_, number| *number >= first);
                }
                let request_size = request.as_ref().map_or(0, RequestDetails::size);
                self.open.insert(id.clone(), self.count());
                self.entries.push_back(LoggedRequest {
                    url,
                    method,
                    kind,
                    started: at,
                    duration: None,
                    status: None,
                    size: None,
                    failure: None,
                    from_mock,
                    frame,
                    worker,
                    request_details: request.map(Arc::new),
                    response_details: None,
                    id: Some(id),
                    clock,
                });
                self.add_details_size(request_size);
            }
            RequestEvent::Begun { id, at, clock } => {
                if let Some(entry) = self.open(&id) {
                    (entry.started, entry.clock) = (at, Some(clock));
                }
            }
            RequestEvent::Answered { id, status, details } => {
                let mut added = 0;
                if let Some(entry) = self.open(&id) {
                    entry.status = Some(status);
                    // A WebSocket or a response from the cache may be reported twice.
                    if let Some(details) = details.filter(|_| entry.response_details.is_none()) {
                        added = details.size();
                        entry.response_details = Some(Arc::new(*details));
                    }
                }
                self.add_details_size(added);
            }
            RequestEvent::Mocked { id } => match self.open(&id) {
                Some(entry) => entry.from_mock = true,
                None => {
                    if self.early_mocks.len() == MAX_EARLY_MOCKS {
                        self.early_mocks.pop_front();
                    }
                    self.early_mocks.push_back(id);
                }
            },
            RequestEvent::Finished { id, clock, size } => {
                if let Some(entry) = self.end(&id, Some(clock)) {
                    entry.size = size.or(entry.size);
                }
            }
            RequestEvent::Failed { id, clock, reason } => {
                if let Some(entry) = self.end(&id, Some(clock)) {
                    entry.failure = Some(reason);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(id: &str, url: &str, clock: f64, redirected: Option<u16>) -> RequestEvent {
        RequestEvent::Sent {
            id: id.into(),
            url: url.into(),
            method: "GET".into(),
            kind: ResourceType::Fetch,
            at: clock,
            clock: Some(clock),
            frame: None,
            worker: None,
            redirected,
            details: None,
        }
    }

    fn log(events: impl IntoIterator<Item = RequestEvent>) -> NetworkLog {
        let mut log = NetworkLog::default();
        events.into_iter().for_each(|event| log.apply(event));
        log
    }

    fn only(log: &NetworkLog) -> &LoggedRequest {
        let entries: Vec<_> = log.entries().collect();
        assert_eq!(entries.len(), 1);
        entries[0]
    }

    #[test]
    fn an_entry_has_status_size_and_duration() {
        let log = log([
            sent("1", "http://a/", 10.0, None),
            RequestEvent::Answered { id: "1".into(), status: 404, details: None },
            RequestEvent::Finished { id: "1".into(), clock: 15.0, size: Some(120) },
        ]);
        let entry = only(&log);
        assert_eq!((entry.status, entry.duration, entry.size), (Some(404), Some(5.0), Some(120)));
        for filter in ["//A", "fetch", "404", "4xx"] {
            assert!(entry.fits(filter), "{filter}");
        }
        for filter in ["//b", "xhr", "200", "failed"] {
            assert!(!entry.fits(filter), "{filter}");
        }
    }

    #[test]
    fn a_request_that_fails_without_timing_has_a_start_and_a_duration() {
        let RequestEvent::Sent {
            id, url, method, kind, frame, worker, redirected, details, ..
        } = sent("1", "ws://a/", 0.0, None)
        else {
            unreachable!("`sent` makes nothing else")
        };
        let started = now() - 50.0;
        let sent = RequestEvent::Sent {
            id,
            url,
            method,
            kind,
            at: started,
            clock: None,
            frame,
            worker,
            redirected,
            details,
        };
        let log = log([
            sent,
            RequestEvent::Failed { id: "1".into(), clock: 1e9, reason: "refused".into() },
        ]);
        let entry = only(&log);
        assert!((entry.started - started).abs() < 1.0);
        assert!((50.0..60_000.0).contains(&entry.duration.unwrap()), "{:?}", entry.duration);
    }

    #[test]
    fn each_redirect_has_its_own_entry() {
        let log =
            log([sent("1", "http://a/", 10.0, None), sent("1", "http://b/", 12.0, Some(302))]);
        let logged: Vec<_> =
            log.entries().map(|entry| (entry.url.as_str(), entry.status, entry.duration)).collect();
        assert_eq!(logged, [("http://a/", Some(302), Some(2.0)), ("http://b/", None, None)]);
    }

    /// Returns a request with `size` bytes of data, which follows a redirect if `redirected`.
    fn detailed(id: &str, size: usize, redirected: bool) -> RequestEvent {
        let mut event = sent(id, "http://a/", 1.0, redirected.then_some(302));
        let RequestEvent::Sent { details, .. } = &mut event else { unreachable!("it is sent") };
        let post_data = Some(vec![0; size]);
        *details = Some(Box::new(SentDetails {
            request: RequestDetails { headers: Vec::new(), post_data },
            redirect: redirected.then(|| ResponseDetails {
                status_text: "Found".into(),
                ..ResponseDetails::default()
            }),
        }));
        event
    }

    #[test]
    fn requests_have_numbers_over_the_life_of_the_page() {
        let events = (0..MAX_REQUESTS + 5).map(|at| sent(&at.to_string(), "http://a/", 1.0, None));
        let log = log(events);
        assert_eq!(log.count(), MAX_REQUESTS + 5);
        let numbers = |since| log.since(since).map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers(MAX_REQUESTS + 3), [MAX_REQUESTS + 3, MAX_REQUESTS + 4]);
        assert_eq!(numbers(0).first(), Some(&5), "the others are removed");
        assert_eq!(numbers(MAX_REQUESTS + 5), Vec::<usize>::new());
        assert_eq!(log.entry(7).unwrap().id.as_deref(), Some("7"));
        assert_eq!(log.entry(4), None);
    }

    #[test]
    fn a_redirect_has_its_response_and_no_body() {
        let log = log([detailed("1", 1, false), detailed("1", 1, true)]);
        let redirect = log.entry(0).unwrap();
        assert_eq!(redirect.response_details.as_ref().unwrap().status_text, "Found");
        assert_eq!(
            (redirect.id.as_deref(), log.entry(1).unwrap().id.as_deref()),
            (None, Some("1"))
        );
    }

    #[test]
    fn a_redirect_whose_request_is_removed_next_leaves_no_details() {
        let mut log =
            log((0..MAX_REQUESTS).map(|at| sent(&at.to_string(), "http://a/", 1.0, None)));
        log.apply(detailed("0", 1, true));
        assert_eq!(log.details_size, 1);
    }

    #[test]
    fn the_oldest_details_are_removed_if_all_of_them_are_too_large() {
        let half = MAX_DETAILS_SIZE / 2;
        let mut log = log((0..3).map(|at| detailed(&at.to_string(), half, false)));
        let has_details = |log: &NetworkLog| {
            log.entries().map(|entry| entry.request_details.is_some()).collect::<Vec<_>>()
        };
        assert_eq!(has_details(&log), [false, true, true]);
        (3..MAX_REQUESTS + 5).for_each(|at| log.apply(detailed(&at.to_string(), 1, false)));
        assert_eq!(log.details_size, log.entries().map(LoggedRequest::details_size).sum::<usize>());
        log.apply(detailed("x", MAX_DETAILS_SIZE, false));
        assert_eq!(has_details(&log).iter().filter(|has| **has).count(), 1);
    }

    #[test]
    fn a_mock_is_recorded_whichever_event_comes_first() {
        let mocked = || RequestEvent::Mocked { id: "1".into() };
        assert!(only(&log([sent("1", "http://a/", 1.0, None), mocked()])).from_mock);
        assert!(only(&log([mocked(), sent("1", "http://a/", 1.0, None)])).from_mock);
    }

    #[test]
    fn the_oldest_entries_are_removed_and_late_events_for_them_are_ignored() {
        let mut log = log((0..MAX_REQUESTS + 5)
            .map(|at| sent(&at.to_string(), &format!("http://a/{at}"), 1.0, None)));
        log.apply(RequestEvent::Failed { id: "0".into(), clock: 2.0, reason: "late".into() });
        log.apply(RequestEvent::Failed { id: "5".into(), clock: 2.0, reason: "right".into() });
        let entries: Vec<_> = log.entries().collect();
        assert_eq!(entries.len(), MAX_REQUESTS);
        assert_eq!(entries[0].url, "http://a/5");
        assert_eq!(entries[0].failure.as_deref(), Some("right"));
        assert!(entries[1..].iter().all(|entry| entry.failure.is_none()));
    }

    #[test]
    fn a_long_url_is_truncated_at_a_character_boundary() {
        let log = log([sent("1", &format!("http://a/{}", "ü".repeat(5000)), 1.0, None)]);
        assert_eq!(only(&log).url.chars().count(), MAX_URL_LENGTH + 1);
    }
}
