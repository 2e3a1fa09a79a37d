//! What a face remembers: the handshake, the requests that wait for answers, the sessions that the client has.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use super::unavailable;
use crate::tools::{Group, Registry};

/// How long a call waits to hear whether it has arrived.
const DOUBT: Duration = Duration::from_secs(1);
const UNKNOWN: &str = "the server went away during the call: whether it was done is not known";

/// The parts of a message that a face looks at.
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
struct Params<'a> {
    name: Option<String>,
    arguments: Option<Arguments>,
    #[serde(borrow)]
    request_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
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

/// What a call does to the sessions that the client has.
enum Effect {
    Creates,
    Closes(String),
    /// It works in the session that is the client's own, or the one that it has created.
    Implicit,
    None,
}

/// How far a request has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unsent,
    /// As this message of the client.
    Sent(u64),
    /// The link broke after it: whether it has arrived, the server tells when it is there again.
    Doubtful(u64),
}

/// A request without its answer.
struct Waiting {
    text: String,
    is_call: bool,
    /// To do it twice is as good as once.
    repeatable: bool,
    effect: Effect,
    way: Way,
    due: Instant,
}

/// What has to be said to a new server before the client's messages.
#[derive(Debug, Clone, Default)]
pub(super) struct Greeting {
    /// The client's `initialize`, once it has been answered.
    pub initialize: Option<String>,
    /// The sessions to bring back.
    pub sessions: Vec<String>,
    /// The name of the client at the server.
    pub name: Option<String>,
}

/// The state of a face.
#[derive(Default)]
pub(super) struct Memory {
    initialize: Option<(String, String)>,
    greeted: bool,
    /// How many messages the server has got of this client, if all have arrived.
    sent: u64,
    /// By number of arrival, so that they are sent in order.
    waiting: BTreeMap<u64, (String, Waiting)>,
    arrived: u64,
    created: BTreeSet<String>,
    own: Option<String>,
    name: Option<String>,
}

impl Memory {
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn greeting(&self) -> Greeting {
        // The server takes the one session that a client has created for the one that it means.
        let own = self.own.iter().filter(|_| self.created.is_empty());
        Greeting {
            initialize: self.initialize.as_ref().filter(|_| self.greeted).map(|(_, text)| text.clone()),
            sessions: self.created.iter().chain(own).cloned().collect(),
            name: self.name.clone(),
        }
    }

    /// Takes note of a new link: how the server calls the client, how many of its messages it `had` read before (`None`
    /// where it does not know the client any more), how many were sent since. Tells what to answer to the calls that had
    /// arrived; those that had not are sent again.
    pub fn linked(&mut self, name: Option<&str>, had: Option<u64>, since: u64) -> Vec<Value> {
        self.name = name.map(str::to_owned);
        self.sent = had.unwrap_or(0) + since;
        for (_, waiting) in self.waiting.values_mut() {
            if let (Way::Doubtful(number), Some(had)) = (waiting.way, had)
                && number > had
            {
                waiting.way = Way::Unsent;
            }
        }
        self.give_up(UNKNOWN, |waiting| matches!(waiting.way, Way::Doubtful(_)))
    }

    /// When the first of the requests that wait for a link has waited long enough.
    pub fn due(&self) -> Option<Instant> {
        let linkless = self.waiting.values().filter(|(_, waiting)| !matches!(waiting.way, Way::Sent(_)));
        linkless.map(|(_, waiting)| waiting.due).min()
    }

    /// Takes note of a message; true where it is to be sent now.
    pub fn asks(&mut self, text: &str, open: bool, patience: Duration) -> bool {
        self.sent += u64::from(open);
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(text) else { return open };
        let params = shape.params.and_then(|params| serde_json::from_str::<Params<'_>>(params.get()).ok());
        match (shape.id, shape.method) {
            (Some(id), Some(method)) => {
                if method == "initialize" {
                    self.initialize = Some((id.get().to_owned(), text.to_owned()));
                }
                let is_call = method == "tools/call";
                let params = params.filter(|_| is_call);
                let tool = params.as_ref().and_then(|params| params.name.as_deref());
                let repeatable = !is_call || tool.is_some_and(is_repeatable);
                let effect = params.map_or(Effect::None, effect);
                let way = if open { Way::Sent(self.sent) } else { Way::Unsent };
                let due = Instant::now() + patience;
                let waiting = Waiting { text: text.to_owned(), is_call, repeatable, effect, way, due };
                self.arrived += 1;
                self.waiting.insert(self.arrived, (id.get().to_owned(), waiting));
            }
            (None, Some(method)) if method == "notifications/cancelled" && !open => {
                let cancelled = params.and_then(|params| Some(params.request_id?.get().to_owned()));
                self.waiting.retain(|_, (id, _)| Some(&*id) != cancelled.as_ref());
            }
            // Answers to a server that is gone and news for it are of no use to the next.
            _ => {}
        }
        open
    }

    /// Takes note of what the server says.
    pub fn hears(&mut self, text: &str) {
        let Ok(shape) = serde_json::from_str::<Shape<'_>>(text) else { return };
        let (Some(id), None) = (shape.id, shape.method) else { return };
        let answered = self.waiting.iter().find(|(_, (waiting, _))| waiting == id.get()).map(|(at, _)| *at);
        let Some((id, waiting)) = answered.and_then(|at| self.waiting.remove(&at)) else { return };
        if self.initialize.as_ref().is_some_and(|(initialize, _)| *initialize == id) {
            self.greeted = shape.result.is_some();
        }
        let result = shape.result.and_then(|result| serde_json::from_str::<Answered>(result.get()).ok());
        let Some(result) = result.filter(|result| !result.is_error) else { return };
        let session = result.meta.and_then(|meta| meta.session_id);
        match (waiting.effect, session) {
            (Effect::Creates, Some(session)) => {
                self.created.insert(session);
            }
            (Effect::Closes(session), _) => {
                self.created.remove(&session);
                self.own = self.own.take().filter(|own| *own != session);
            }
            (Effect::Implicit, Some(session)) if !self.created.contains(&session) => self.own = Some(session),
            _ => {}
        }
    }

    /// The link broke. What can be asked twice is asked again; whether a call has arrived is not waited for as long as
    /// for other things: its client should rather look.
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

    /// What to answer to the requests that have waited long enough.
    pub fn too_late(&mut self) -> Vec<Value> {
        let now = Instant::now();
        let mut told =
            self.give_up(UNKNOWN, |waiting| matches!(waiting.way, Way::Doubtful(_)) && waiting.due <= now);
        told.extend(self.give_up("the server did not come back in time", |waiting| {
            waiting.way == Way::Unsent && waiting.due <= now
        }));
        told
    }

    fn give_up(&mut self, message: &str, which: impl Fn(&Waiting) -> bool) -> Vec<Value> {
        let given_up = self.waiting.extract_if(.., |_, (_, waiting)| which(waiting));
        given_up
            .map(|(_, (id, waiting))| {
                unavailable(&serde_json::from_str(&id).unwrap_or_default(), waiting.is_call, message)
            })
            .collect()
    }

    /// The requests that were not sent yet, in order; they count as sent.
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

/// Whether calling the tool `name` twice is as good as once. What reads the record moves on in it.
fn is_repeatable(name: &str) -> bool {
    let rows = Registry::all().iter().filter(|tool| tool.name == name);
    rows.filter(|tool| tool.group != Group::Record).any(|tool| tool.hints.read_only)
}

fn effect(params: Params<'_>) -> Effect {
    let session = params.arguments.and_then(|arguments| arguments.session);
    match (params.name.as_deref(), session) {
        (Some("create_session" | "create_new_session" | "session_resume"), _) => Effect::Creates,
        (Some("close_session"), Some(session)) => Effect::Closes(session),
        (_, Some(_)) => Effect::None,
        (_, None) => Effect::Implicit,
    }
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
        assert!(told[0]["result"]["content"][0]["text"].as_str().unwrap().contains(r#""retryable":true"#));
        assert!(!memory.asks(&call(2, "click", "{}"), false, LONG));
        assert!(!memory.asks(&call(3, "click", "{}"), false, LONG));
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#;
        memory.asks(cancel, false, LONG);
        assert_eq!(memory.unsent(), [list.to_owned(), call(2, "click", "{}")]);
        assert!(memory.due().is_none());
    }

    #[test]
    fn a_call_that_has_not_arrived_is_sent_again_and_one_that_only_reads_too() {
        let mut memory = Memory::default();
        assert!(memory.linked(Some("client"), None, 2).is_empty());
        let arrived = call(1, "click", "{}");
        let reads = call(2, "snapshot", "{}");
        let lost = call(3, "click", "{}");
        for text in [&arrived, &reads, &lost] {
            assert!(memory.asks(text, true, LONG));
        }
        memory.broken(LONG);
        // Two of the greeting, and the first two of these.
        let told = memory.linked(Some("client"), Some(4), 2);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["id"], 1);
        assert_eq!(memory.unsent(), [reads.clone(), lost.clone()]);
        memory.broken(LONG);
        // The same once more: 4 were read, 2 of the greeting and the two have followed.
        assert_eq!(memory.linked(Some("client"), Some(7), 2).len(), 0);
        assert_eq!(memory.unsent(), [reads.clone(), lost]);
        memory.broken(LONG);
        assert_eq!(memory.linked(Some("another"), None, 2).len(), 1, "the new server knows nothing of it");
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
    fn the_sessions_of_the_client_are_known() {
        let mut memory = Memory::default();
        memory.asks(&call(1, "navigate", "{}"), true, LONG);
        memory.hears(&answer(1, "own"));
        assert_eq!(memory.greeting().sessions, ["own"]);
        memory.asks(&call(2, "create_session", "{}"), true, LONG);
        memory.hears(&answer(2, "made"));
        assert_eq!(memory.greeting().sessions, ["made"]);
        memory.asks(&call(3, "click", r#"{"sessionId":"elsewhere"}"#), true, LONG);
        memory.hears(&answer(3, "elsewhere"));
        memory.asks(&call(4, "close_session", r#"{"sessionId":"made"}"#), true, LONG);
        memory.hears(&answer(4, "made"));
        assert_eq!(memory.greeting().sessions, ["own"]);
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
