//! The `initialize` request of the client and its pending requests. `standing` has the state that
//! results from them.

use std::{collections::BTreeMap, time::Duration};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use super::{
    standing::{Answered, Effect, Params, Standing},
    unavailable,
};
use crate::tools::{Group, Registry};

/// How long a call waits for the next connection, which shows whether the call has arrived.
const DOUBT: Duration = Duration::from_secs(1);
const UNKNOWN: &str = "disconnected during the call; the call may have run";

/// The parts of a message that `--connect` reads.
#[derive(Deserialize)]
struct Shape<'a> {
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
struct Outcome {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Meta {
    session_id: Option<String>,
}

/// The delivery state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unsent,
    /// Sent as the client's message with this number.
    Sent(u64),
    /// The connection broke after it was sent. The server reports on reconnect whether it has
    /// arrived.
    Doubtful(u64),
}

/// A request without its answer.
struct Waiting {
    text: String,
    is_call: bool,
    /// Whether the request is idempotent.
    repeatable: bool,
    effect: Effect,
    way: Way,
    due: Instant,
}

/// The messages for a new server before the client's messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Greeting {
    /// The client's `initialize`, once it has been answered.
    pub initialize: Option<String>,
    /// The state of the client at the server.
    pub standing: Standing,
    /// The id of the client at the server.
    pub name: Option<String>,
}

/// An established connection.
pub(super) struct Linked<'a> {
    /// The id of the client at the server.
    pub name: Option<&'a str>,
    /// Whether it is the same server as before.
    pub known: bool,
    /// How many of the client's messages the server had read before.
    pub read: u64,
    /// How many messages were sent since then.
    pub sent: u64,
}

/// The state of a `--connect` process.
#[derive(Default)]
pub(super) struct Memory {
    /// The URL of the server, for messages.
    server: String,
    initialize: Option<(String, String)>,
    greeted: bool,
    /// How many messages of this client the server has received, if all have arrived.
    sent: u64,
    /// By number of arrival, so that they are sent in order.
    waiting: BTreeMap<u64, (String, Waiting)>,
    arrived: u64,
    standing: Standing,
    name: Option<String>,
}

impl Memory {
    /// Creates the memory of a client of the server at this URL.
    pub fn of(server: String) -> Self {
        Self { server, ..Self::default() }
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn greeting(&self) -> Greeting {
        Greeting {
            initialize: self
                .initialize
                .as_ref()
                .filter(|_| self.greeted)
                .map(|(_, text)| text.clone()),
            standing: self.standing.clone(),
            name: self.name.clone(),
        }
    }

    /// Handles a new connection. Returns the answers to calls that had arrived or may have arrived; the others are
    /// sent again. Also returns notifications that subscribed resources may have changed.
    pub fn linked(&mut self, link: Linked<'_>) -> Vec<Value> {
        self.name = link.name.map(str::to_owned);
        self.sent = link.read + link.sent;
        for (_, waiting) in self.waiting.values_mut() {
            if let Way::Doubtful(number) = waiting.way
                && link.known
                && number > link.read
            {
                waiting.way = Way::Unsent;
            }
        }
        let mut told = self.give_up(UNKNOWN, |waiting| matches!(waiting.way, Way::Doubtful(_)));
        told.extend(self.standing.news());
        told
    }

    /// Returns the first deadline of the requests that wait for a connection.
    pub fn due(&self) -> Option<Instant> {
        let linkless =
            self.waiting.values().filter(|(_, waiting)| !matches!(waiting.way, Way::Sent(_)));
        linkless.map(|(_, waiting)| waiting.due).min()
    }

    /// Records a message of the client. Returns whether it must be sent now.
    pub fn asks(&mut self, text: &str, open: bool, patience: Duration) -> bool {
        self.sent += u64::from(open);
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(text) else { return open };
        let params =
            shape.params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
        match (shape.id, shape.method) {
            (Some(id), Some(method)) => {
                if method == "initialize" {
                    self.initialize = Some((id.get().to_owned(), text.to_owned()));
                }
                let is_call = method == "tools/call";
                params.iter().for_each(|params| self.standing.asks(params));
                let tool = params.as_ref().and_then(|params| params.name.as_deref());
                let repeatable = !is_call || tool.is_some_and(is_repeatable);
                let effect = Effect::of(&method, params);
                let way = if open { Way::Sent(self.sent) } else { Way::Unsent };
                let due = Instant::now() + patience;
                let waiting =
                    Waiting { text: text.to_owned(), is_call, repeatable, effect, way, due };
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
    pub fn hears(&mut self, text: &str) {
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(text) else { return };
        let (Some(id), None) = (shape.id, shape.method) else { return };
        let answered =
            self.waiting.iter().find(|(_, (waiting, _))| waiting == id.get()).map(|(at, _)| *at);
        let Some((id, waiting)) = answered.and_then(|at| self.waiting.remove(&at)) else { return };
        if self.initialize.as_ref().is_some_and(|(initialize, _)| *initialize == id) {
            self.greeted = shape.result.is_some();
        }
        let outcome =
            shape.result.and_then(|result| serde_json::from_str::<Outcome>(result.get()).ok());
        let succeeded = outcome.as_ref().is_some_and(|outcome| !outcome.is_error);
        let session = outcome.and_then(|outcome| outcome.meta?.session_id);
        self.standing.hears(waiting.effect, Answered { succeeded, session });
    }

    /// Handles the end of the connection. Idempotent requests are sent again. Other calls fail
    /// sooner, so that the client can check whether they have run.
    pub fn broken(&mut self, patience: Duration) {
        let now = Instant::now();
        for (_, waiting) in self.waiting.values_mut() {
            if let Way::Sent(number) = waiting.way {
                let repeatable = waiting.repeatable;
                waiting.way = if repeatable { Way::Unsent } else { Way::Doubtful(number) };
                waiting.due = now + if repeatable { patience } else { DOUBT.min(patience) };
            }
        }
    }

    /// Returns the errors for the requests whose deadline has passed.
    pub fn too_late(&mut self) -> Vec<Value> {
        let now = Instant::now();
        let mut told = self.give_up(UNKNOWN, |waiting| {
            matches!(waiting.way, Way::Doubtful(_)) && waiting.due <= now
        });
        told.extend(self.give_up("could not be reached in time", |waiting| {
            waiting.way == Way::Unsent && waiting.due <= now
        }));
        told
    }

    fn give_up(&mut self, message: &str, which: impl Fn(&Waiting) -> bool) -> Vec<Value> {
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
    pub fn unsent(&mut self) -> Vec<String> {
        let Self { waiting, sent, .. } = self;
        let unsent = waiting.values_mut().filter(|(_, waiting)| waiting.way == Way::Unsent);
        unsent
            .map(|(_, waiting)| {
                *sent += 1;
                waiting.way = Way::Sent(*sent);
                waiting.text.clone()
            })
            .collect()
    }
}

/// Whether calls of the tool `name` are idempotent. Tools that read the record are not: they move a
/// cursor.
fn is_repeatable(name: &str) -> bool {
    let rows = Registry::all().iter().filter(|tool| tool.name == name);
    rows.filter(|tool| tool.group != Group::Record).any(|tool| tool.properties.hints.read_only)
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

    fn linked(name: &str, known: bool, read: u64) -> Linked<'_> {
        Linked { name: Some(name), known, read, sent: 2 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_under_way_gets_an_error_and_the_rest_is_asked_again_in_order() {
        let mut memory = Memory::default();
        let list = r#"{"jsonrpc":"2.0","id":"a","method":"tools/list"}"#;
        assert!(memory.asks(&call(1, "click", "{}"), true, LONG));
        assert!(memory.asks(list, true, LONG));
        memory.broken(LONG);
        tokio::time::sleep_until(memory.due().unwrap()).await;
        let told = memory.too_late();
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["id"], 1);
        assert!(
            told[0]["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .contains(r#""retryable":true"#)
        );
        assert!(!memory.asks(&call(2, "click", "{}"), false, LONG));
        assert!(!memory.asks(&call(3, "click", "{}"), false, LONG));
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        memory.asks(cancel, false, LONG);
        assert_eq!(memory.unsent(), [list.to_owned(), call(2, "click", "{}")]);
        assert!(memory.due().is_none());
    }

    #[test]
    fn a_call_that_has_not_arrived_is_sent_again_and_one_that_only_reads_too() {
        let mut memory = Memory::default();
        assert!(memory.linked(linked("client", false, 0)).is_empty());
        let arrived = call(1, "click", "{}");
        let reads = call(2, "snapshot", "{}");
        let lost = call(3, "click", "{}");
        for text in [&arrived, &reads, &lost] {
            assert!(memory.asks(text, true, LONG));
        }
        memory.broken(LONG);
        // Two of the greeting, and the first two of these.
        let told = memory.linked(linked("client", true, 4));
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["id"], 1);
        assert_eq!(memory.unsent(), [reads.clone(), lost.clone()]);
        memory.broken(LONG);
        // The same once more: 4 were read, 2 of the greeting and the two have followed.
        assert_eq!(memory.linked(linked("client", true, 7)).len(), 0);
        assert_eq!(memory.unsent(), [reads.clone(), lost]);
        memory.broken(LONG);
        assert_eq!(
            memory.linked(linked("another", false, 0)).len(),
            1,
            "the new server knows nothing of it"
        );
        assert_eq!(memory.unsent(), [reads]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_waits_too_long_gets_an_error() {
        let mut memory = Memory::default();
        memory.asks(r#"{"jsonrpc":"2.0","id":9,"method":"tools/list"}"#, false, LONG);
        tokio::time::sleep_until(memory.due().unwrap()).await;
        let told = memory.too_late();
        assert_eq!(told[0]["error"]["data"]["retryable"], true);
        assert_eq!(memory.waiting(), 0);
    }

    #[test]
    fn what_follows_from_the_answers_goes_into_the_greeting() {
        let mut memory = Memory::default();
        memory.asks(&call(1, "navigate", "{}"), true, LONG);
        memory.hears(&answer(1, "own"));
        memory.asks(&call(2, "create_session", "{}"), true, LONG);
        memory.hears(&answer(2, "made"));
        memory.asks(&call(3, "click", r#"{"sessionId":"elsewhere"}"#), true, LONG);
        memory.hears(&answer(3, "elsewhere"));
        let subscribe =
            r#"{"jsonrpc":"2.0","id":4,"method":"resources/subscribe","params":{"uri":"a:b"}}"#;
        memory.asks(subscribe, true, LONG);
        memory.hears(r#"{"jsonrpc":"2.0","id":4,"result":{}}"#);
        let [sessions, told] = memory.greeting().standing.wishes(false, true);
        let ids: Vec<_> =
            sessions.iter().map(|wish| &wish.params["arguments"]["sessionId"]).collect();
        assert_eq!(ids, ["made", "own"]);
        assert_eq!(memory.greeting().standing.own(), Some("own"));
        assert_eq!(told.len(), 1);
        assert_eq!(memory.linked(linked("client", true, 0)).len(), 1, "the client is told to look");
    }

    #[test]
    fn the_handshake_is_repeated_once_it_was_answered() {
        let mut memory = Memory::default();
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#;
        memory.asks(initialize, true, LONG);
        assert!(memory.greeting().initialize.is_none());
        memory.hears(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#);
        assert_eq!(memory.greeting().initialize.as_deref(), Some(initialize));
    }
}
