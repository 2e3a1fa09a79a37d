//! The `initialize` request of the client and its pending requests. `restorable` has the state that
//! results from them.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use super::{
    restorable::{Effect, RequestOutcome, RequestParams, RestorableState},
    unavailable,
};
use crate::tools::{Group, Registry};

/// How long a call waits for the next connection, which shows whether the call has arrived.
const UNCERTAIN_TIMEOUT: Duration = Duration::from_secs(1);
const UNKNOWN: &str = "disconnected during the call; the call may have run";

/// The parts of a message that `--connect` reads.
#[derive(Deserialize)]
struct MessageParts<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultParts {
    #[serde(rename = "_meta")]
    meta: Option<ResultMeta>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResultMeta {
    session_id: Option<String>,
}

/// The delivery state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Unsent,
    /// Sent as the client's message with this number.
    Sent(u64),
    /// The connection broke after it was sent. The server reports on reconnect whether it has
    /// arrived.
    Uncertain(u64),
}

/// A request without its answer.
struct PendingRequest {
    text: String,
    is_call: bool,
    /// Whether the request is idempotent.
    repeatable: bool,
    effect: Effect,
    delivery: Delivery,
    due: Instant,
}

/// The messages for a new server before the client's messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Handshake {
    /// The client's `initialize`, once it has been answered.
    pub initialize: Option<String>,
    /// The state of the client at the server.
    pub restorable: RestorableState,
    /// The id of the client at the server.
    pub client_id: Option<String>,
}

/// An established connection.
pub(super) struct ConnectionReport<'a> {
    /// The id of the client at the server.
    pub client_id: Option<&'a str>,
    /// Whether it is the same server as before.
    pub is_same_server: bool,
    /// How many of the client's messages the server had read before.
    pub read: u64,
    /// How many messages were sent since then.
    pub sent: u64,
}

/// The state of a `--connect` process.
#[derive(Default)]
pub(super) struct ConnectState {
    /// The URL of the server, for messages.
    server: String,
    initialize: Option<(String, String)>,
    is_initialized: bool,
    /// How many messages of this client the server has received, if all have arrived.
    sent: u64,
    /// By number of arrival, so that they are sent in order.
    waiting: BTreeMap<u64, (String, PendingRequest)>,
    arrived: u64,
    restorable: RestorableState,
    client_id: Option<String>,
}

impl ConnectState {
    /// Creates the state of a client of the server at this URL.
    pub fn of(server: String) -> Self {
        Self { server, ..Self::default() }
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn handshake(&self) -> Handshake {
        Handshake {
            initialize: self
                .initialize
                .as_ref()
                .filter(|_| self.is_initialized)
                .map(|(_, text)| text.clone()),
            restorable: self.restorable.clone(),
            client_id: self.client_id.clone(),
        }
    }

    /// Handles a new connection. Returns the answers to calls that had arrived or may have arrived;
    /// the others are sent again. Also returns notifications that subscribed resources may have
    /// changed.
    pub fn record_connect(&mut self, link: ConnectionReport<'_>) -> Vec<Value> {
        self.client_id = link.client_id.map(str::to_owned);
        self.sent = link.read + link.sent;
        for (_, waiting) in self.waiting.values_mut() {
            if let Delivery::Uncertain(number) = waiting.delivery
                && link.is_same_server
                && number > link.read
            {
                waiting.delivery = Delivery::Unsent;
            }
        }
        let mut messages =
            self.give_up(UNKNOWN, |waiting| matches!(waiting.delivery, Delivery::Uncertain(_)));
        messages.extend(self.restorable.change_notifications());
        messages
    }

    /// Returns the first deadline of the requests that wait for a connection.
    pub fn due(&self) -> Option<Instant> {
        let linkless = self
            .waiting
            .values()
            .filter(|(_, waiting)| !matches!(waiting.delivery, Delivery::Sent(_)));
        linkless.map(|(_, waiting)| waiting.due).min()
    }

    /// Records a message of the client. Returns whether it must be sent now.
    pub fn record_client_message(&mut self, text: &str, open: bool, timeout: Duration) -> bool {
        self.sent += u64::from(open);
        let Ok(parts) = serde_json::from_str::<MessageParts<'_>>(text) else { return open };
        let params = parts
            .params
            .and_then(|params| serde_json::from_str::<RequestParams<'_>>(params.get()).ok());
        match (parts.id, parts.method) {
            (Some(id), Some(method)) => {
                if method == "initialize" {
                    self.initialize = Some((id.get().to_owned(), text.to_owned()));
                }
                let is_call = method == "tools/call";
                params.iter().for_each(|params| self.restorable.record_request(params));
                let tool = params.as_ref().and_then(|params| params.name.as_deref());
                let repeatable = !is_call || tool.is_some_and(is_repeatable);
                let effect = Effect::of(&method, params);
                let delivery = if open { Delivery::Sent(self.sent) } else { Delivery::Unsent };
                let due = Instant::now() + timeout;
                let waiting = PendingRequest {
                    text: text.to_owned(),
                    is_call,
                    repeatable,
                    effect,
                    delivery,
                    due,
                };
                self.arrived += 1;
                self.waiting.insert(self.arrived, (id.get().to_owned(), waiting));
            }
            (None, Some(method)) if method == "notifications/cancelled" && !open => {
                let cancelled = params.and_then(|params| Some(params.request_id?.get().to_owned()));
                self.waiting.retain(|_, (id, _)| Some(&*id) != cancelled.as_ref());
            }
            // The next server does not need answers and notifications for the former one.
            _ => {}
        }
        open
    }

    /// Handles a message of the server.
    pub fn record_server_message(&mut self, text: &str) {
        let Ok(parts) = serde_json::from_str::<MessageParts<'_>>(text) else { return };
        let (Some(id), None) = (parts.id, parts.method) else { return };
        let answered =
            self.waiting.iter().find(|(_, (waiting, _))| waiting == id.get()).map(|(at, _)| *at);
        let Some((id, waiting)) = answered.and_then(|at| self.waiting.remove(&at)) else { return };
        if self.initialize.as_ref().is_some_and(|(initialize, _)| *initialize == id) {
            self.is_initialized = parts.result.is_some();
        }
        let outcome =
            parts.result.and_then(|result| serde_json::from_str::<ResultParts>(result.get()).ok());
        let succeeded = outcome.as_ref().is_some_and(|outcome| !outcome.is_error);
        let session = outcome.and_then(|outcome| outcome.meta?.session_id);
        self.restorable.record_outcome(waiting.effect, RequestOutcome { succeeded, session });
    }

    /// Handles the end of the connection. Idempotent requests are sent again. Other calls fail
    /// sooner, so that the client can check whether they have run.
    pub fn record_disconnect(&mut self, timeout: Duration) {
        let now = Instant::now();
        for (_, waiting) in self.waiting.values_mut() {
            if let Delivery::Sent(number) = waiting.delivery {
                let repeatable = waiting.repeatable;
                waiting.delivery =
                    if repeatable { Delivery::Unsent } else { Delivery::Uncertain(number) };
                waiting.due =
                    now + if repeatable { timeout } else { UNCERTAIN_TIMEOUT.min(timeout) };
            }
        }
    }

    /// Returns the errors for the requests whose deadline has passed.
    pub fn fail_expired(&mut self) -> Vec<Value> {
        let now = Instant::now();
        let mut messages = self.give_up(UNKNOWN, |waiting| {
            matches!(waiting.delivery, Delivery::Uncertain(_)) && waiting.due <= now
        });
        messages.extend(self.give_up("could not be reached in time", |waiting| {
            waiting.delivery == Delivery::Unsent && waiting.due <= now
        }));
        messages
    }

    fn give_up(&mut self, message: &str, which: impl Fn(&PendingRequest) -> bool) -> Vec<Value> {
        let message = format!("the server at {} {message}", self.server);
        let given_up = self.waiting.extract_if(.., |_, (_, waiting)| which(waiting));
        given_up
            .map(|(_, (id, waiting))| {
                unavailable(
                    &serde_json::from_str(&id).unwrap_or_default(),
                    waiting.is_call,
                    &message,
                )
            })
            .collect()
    }

    /// Returns the requests that were not sent yet, in order, and marks them as sent.
    pub fn take_unsent(&mut self) -> Vec<String> {
        let Self { waiting, sent, .. } = self;
        let unsent =
            waiting.values_mut().filter(|(_, waiting)| waiting.delivery == Delivery::Unsent);
        unsent
            .map(|(_, waiting)| {
                *sent += 1;
                waiting.delivery = Delivery::Sent(*sent);
                waiting.text.clone()
            })
            .collect()
    }
}

/// Returns whether calls of the tool `name` are idempotent. Tools that read the record are not,
/// because they move a cursor, nor are tools that write a new file or ask a person.
fn is_repeatable(name: &str) -> bool {
    Registry::all().iter().any(|tool| {
        tool.name == name
            && tool.properties.hints.read_only
            && !matches!(tool.group, Group::Record | Group::Person)
            && !tool.takes("path")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn call(id: u32, tool: &str, arguments: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
        )
    }

    fn answer(id: u32, session: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[],"_meta":{{"sessionId":"{session}"}}}}}}"#
        )
    }

    fn connected(client_id: &str, is_same_server: bool, read: u64) -> ConnectionReport<'_> {
        ConnectionReport { client_id: Some(client_id), is_same_server, read, sent: 2 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_running_call_fails_and_other_requests_are_sent_again_in_order() {
        let mut pending = ConnectState::default();
        let list = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        assert!(pending.record_client_message(&call(1, "click", "{}"), true, LONG));
        assert!(pending.record_client_message(list, true, LONG));
        pending.record_disconnect(LONG);
        tokio::time::sleep_until(pending.due().unwrap()).await;
        let messages = pending.fail_expired();
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["id"], 1);
        assert!(
            messages[0]["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains(r#""retryable":true"#)
        );
        assert!(!pending.record_client_message(&call(2, "click", "{}"), false, LONG));
        assert!(!pending.record_client_message(&call(3, "click", "{}"), false, LONG));
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        pending.record_client_message(cancel, false, LONG);
        assert_eq!(pending.take_unsent(), [list.to_owned(), call(2, "click", "{}")]);
        assert!(pending.due().is_none());
    }

    #[test]
    fn calls_that_have_not_arrived_or_only_read_are_sent_again() {
        let mut pending = ConnectState::default();
        assert!(pending.record_connect(connected("client", false, 0)).is_empty());
        let arrived = call(1, "click", "{}");
        let reads = call(2, "snapshot", "{}");
        let lost = call(3, "click", "{}");
        for text in [&arrived, &reads, &lost] {
            assert!(pending.record_client_message(text, true, LONG));
        }
        pending.record_disconnect(LONG);
        // The server has read 4 messages: two of the handshake, and the first two of these.
        let messages = pending.record_connect(connected("client", true, 4));
        assert_eq!(messages.len(), 1);
        assert_eq!(messages[0]["id"], 1);
        assert_eq!(pending.take_unsent(), [reads.clone(), lost.clone()]);
        pending.record_disconnect(LONG);
        // The server has read 3 more messages: two of the handshake, and the first that was sent
        // again.
        assert_eq!(pending.record_connect(connected("client", true, 7)).len(), 0);
        assert_eq!(pending.take_unsent(), [reads.clone(), lost]);
        pending.record_disconnect(LONG);
        assert_eq!(
            pending.record_connect(connected("another", false, 0)).len(),
            1,
            "a new server has not received the call"
        );
        assert_eq!(pending.take_unsent(), [reads]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_waits_too_long_fails() {
        let mut pending = ConnectState::default();
        pending.record_client_message(
            r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#,
            false,
            LONG,
        );
        tokio::time::sleep_until(pending.due().unwrap()).await;
        let messages = pending.fail_expired();
        assert_eq!(messages[0]["error"]["data"]["retryable"], true);
        assert_eq!(pending.waiting(), 0);
    }

    #[test]
    fn the_handshake_restores_sessions_and_subscriptions() {
        let mut pending = ConnectState::default();
        pending.record_client_message(&call(1, "navigate", "{}"), true, LONG);
        pending.record_server_message(&answer(1, "own"));
        pending.record_client_message(&call(2, "create_session", "{}"), true, LONG);
        pending.record_server_message(&answer(2, "made"));
        pending.record_client_message(
            &call(3, "click", r#"{"sessionId":"elsewhere"}"#),
            true,
            LONG,
        );
        pending.record_server_message(&answer(3, "elsewhere"));
        let subscribe =
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
        pending.record_client_message(subscribe, true, LONG);
        pending.record_server_message(r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
        let [sessions, messages] = pending.handshake().restorable.restore_requests(false, true);
        let ids: Vec<_> =
            sessions.iter().map(|request| &request.params["arguments"]["sessionId"]).collect();
        assert_eq!(ids, ["made", "own"]);
        assert_eq!(pending.handshake().restorable.implicit(), Some("own"));
        assert_eq!(messages.len(), 1);
        assert_eq!(
            pending.record_connect(connected("client", true, 0)).len(),
            1,
            "the error asks the client to check whether the call has run"
        );
    }

    #[test]
    fn the_handshake_is_repeated_once_it_was_answered() {
        let mut pending = ConnectState::default();
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        pending.record_client_message(initialize, true, LONG);
        assert!(pending.handshake().initialize.is_none());
        pending.record_server_message(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
        assert_eq!(pending.handshake().initialize.as_deref(), Some(initialize));
    }
}
