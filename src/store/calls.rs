//! Lists recorded calls for the dashboard: newest first, in pages, with a search. Also reports
//! calls when they begin and end.

use std::{collections::HashMap, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::broadcast::{self, error::RecvError};

use super::{
    NewAnswer, NewRequest, Store,
    records::{FIRST_PICTURE, PAGE_PICTURE},
};
use crate::error::Result;

/// Maximum number of characters of a result in a list.
pub(super) const MAX_RESULT: usize = 64 * 1024;
/// The number of newest calls that a search reads, which limits how long it takes.
pub(super) const SEARCH_LIMIT: u64 = 20_000;
/// Maximum number of queued calls for each receiver. A receiver that is too slow loses the oldest.
const MAX_QUEUED_CALLS: usize = 256;

/// A call in a page of the record.
#[derive(Debug, Clone)]
pub struct RecordedCall {
    /// Its number in the order of the calls, for the next page; 0 until the call is in the
    /// record.
    pub number: u64,
    pub ref_id: String,
    pub session_id: Option<String>,
    pub tool: String,
    /// JSON.
    pub params: String,
    /// Milliseconds since 1970.
    pub at: u64,
    /// `None` while it runs.
    pub end: Option<CallEnd>,
}

/// The end of a call in a page of the record.
#[derive(Debug, Clone)]
pub struct CallEnd {
    pub success: bool,
    /// The beginning of the result (JSON). `None` if the server died during the call.
    pub result: Option<String>,
    pub error_message: Option<String>,
    /// The number of the picture that shows the call best: the first image of its result, or else
    /// the page after the call.
    pub picture: Option<u64>,
    /// Milliseconds since 1970.
    pub at: u64,
}

/// Selects a page of calls.
#[derive(Debug, Clone, Default)]
pub struct CallFilter {
    /// Only the call with this id.
    pub id: Option<String>,
    /// Only the calls of this session.
    pub session: Option<String>,
    /// Only calls that contain this text, in any case of ASCII letters.
    pub text: Option<String>,
    /// Only calls before the one with this number.
    pub before: Option<u64>,
    pub limit: usize,
}

/// The running calls, and the receivers of calls that begin or end.
pub(super) struct CallFeed {
    running: Mutex<HashMap<Arc<str>, Arc<NewRequest>>>,
    events: broadcast::Sender<Arc<RecordedCall>>,
}

impl Default for CallFeed {
    fn default() -> Self {
        Self { running: Mutex::default(), events: broadcast::Sender::new(MAX_QUEUED_CALLS) }
    }
}

impl CallFeed {
    pub fn record_call_begin(&self, request: &Arc<NewRequest>) {
        self.running.lock().insert(request.ref_id.clone(), request.clone());
        self.report(request, || None);
    }

    pub fn record_call_end(&self, request: &NewRequest, answer: &NewAnswer, at: u64) {
        self.running.lock().remove(&request.ref_id);
        self.report(request, || {
            Some(CallEnd {
                success: answer.error_message.is_none(),
                result: Some(answer.result.chars().take(MAX_RESULT).collect()),
                error_message: answer.error_message.clone(),
                picture: match &*answer.pictures {
                    [] => answer.page_picture.as_ref().map(|_| PAGE_PICTURE),
                    [..] => Some(FIRST_PICTURE),
                },
                at,
            })
        });
    }

    /// Copies the call for the receivers, if there are any.
    fn report(&self, request: &NewRequest, end: impl FnOnce() -> Option<CallEnd>) {
        if self.events.receiver_count() == 0 {
            return;
        }
        // Fails if the last receiver has been dropped meanwhile.
        let _ = self.events.send(Arc::new(RecordedCall {
            number: 0,
            ref_id: request.ref_id.to_string(),
            session_id: request.session_id.as_deref().map(str::to_owned),
            tool: request.tool.clone().into_owned(),
            params: request.params.clone(),
            at: request.at,
            end: end(),
        }));
    }
}

impl Store {
    /// Returns a receiver of all later calls. It receives each call when it begins and when it
    /// ends.
    pub fn call_events(&self) -> broadcast::Receiver<Arc<RecordedCall>> {
        self.0.calls.events.subscribe()
    }

    /// Waits until no call runs.
    pub async fn wait_idle(&self) {
        let mut events = self.call_events();
        while !self.0.calls.running.lock().is_empty() {
            // A receiver that has lost events checks again.
            if let Err(RecvError::Closed) = events.recv().await {
                return;
            }
        }
    }

    /// Returns the latest running call of each session.
    pub fn running_calls(&self) -> HashMap<Arc<str>, Arc<NewRequest>> {
        let mut latest: HashMap<Arc<str>, Arc<NewRequest>> = HashMap::new();
        for request in self.0.calls.running.lock().values() {
            let Some(session) = &request.session_id else { continue };
            let known = latest.entry(session.clone()).or_insert_with(|| request.clone());
            if known.at < request.at {
                *known = request.clone();
            }
        }
        latest
    }

    /// Returns the calls that `filter` selects, newest first.
    pub async fn calls(&self, filter: CallFilter) -> Result<Vec<RecordedCall>> {
        self.read(move |tables| tables.calls(&filter)).await
    }
}
