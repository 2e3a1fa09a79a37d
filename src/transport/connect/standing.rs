//! The state of a client that the next server gets again: its sessions, its subscriptions and its log level.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::tools::{Lifecycle, Registry};

/// Maximum number of the client's sessions that are resumed, the newest first.
const MOST_SESSIONS: usize = 1000;
/// As many as a server lets a client watch.
const MOST_SUBSCRIPTIONS: usize = 500;
/// The prefix of the fields in which a request of 2026-07-28 describes its client.
const ERA: &str = "io.modelcontextprotocol/";

/// The parts of a request's parameters that determine its effect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    pub name: Option<String>,
    arguments: Option<Arguments>,
    #[serde(borrow)]
    pub request_id: Option<&'a RawValue>,
    uri: Option<String>,
    level: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Option<String>,
}

/// The change of the state after a request was answered.
pub(super) enum Effect {
    Creates,
    Closes(String),
    /// It works in the session that is the client's own, or the one that it has created.
    Implicit,
    Subscribes(String),
    Unsubscribes(String),
    /// The log level of the client.
    SetsLevel(Value),
    None,
}

impl Effect {
    pub fn of(method: &str, params: Option<Params<'_>>) -> Self {
        let Some(params) = params else { return Self::None };
        match (method, params.uri, params.level) {
            ("tools/call", ..) => {
                let session = params.arguments.and_then(|arguments| arguments.session);
                let tool = params.name.as_deref().and_then(Registry::row);
                match (tool.and_then(|tool| tool.properties.lifecycle), session) {
                    (Some(Lifecycle::Create | Lifecycle::Resume), _) => Self::Creates,
                    (Some(Lifecycle::Close), Some(session)) => Self::Closes(session),
                    (_, Some(_)) => Self::None,
                    (_, None) => Self::Implicit,
                }
            }
            ("resources/subscribe", Some(uri), _) => Self::Subscribes(uri),
            ("resources/unsubscribe", Some(uri), _) => Self::Unsubscribes(uri),
            ("logging/setLevel", _, Some(level)) => Self::SetsLevel(level),
            _ => Self::None,
        }
    }
}

/// How a request was answered.
pub(super) struct Answered {
    pub succeeded: bool,
    /// The session that it was in.
    pub session: Option<String>,
}

/// A request of ours, to be numbered.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    pub method: &'static str,
    pub params: Value,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Standing {
    /// Made or resumed by the client and not closed since, in order.
    created: Vec<String>,
    own: Option<String>,
    /// By resource; the number tells which is the oldest.
    subscriptions: BTreeMap<String, u64>,
    subscribed: u64,
    level: Option<Value>,
    /// The metadata of a client that sends no `initialize` request.
    meta: Option<Value>,
}

impl Standing {
    /// Takes note of how a request says which era its client is of.
    pub fn asks(&mut self, params: &Params<'_>) {
        let Some(meta) = params.meta.as_ref().filter(|_| self.meta.is_none()) else { return };
        let era: serde_json::Map<_, _> = meta
            .iter()
            .filter(|(key, _)| key.starts_with(ERA))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.meta = (!era.is_empty()).then(|| era.into());
    }

    /// Takes note of an answer.
    pub fn hears(&mut self, effect: Effect, answered: Answered) {
        match (effect, answered) {
            // A call that failed has made its session as well.
            (Effect::Implicit, Answered { session: Some(session), .. })
                if !self.created.contains(&session) =>
            {
                self.own = Some(session);
            }
            (_, Answered { succeeded: false, .. }) => {}
            (Effect::Creates, Answered { session: Some(session), .. })
                if self.own.as_ref() != Some(&session) && !self.created.contains(&session) =>
            {
                self.created.push(session);
                let surplus = self.created.len().saturating_sub(MOST_SESSIONS);
                self.created.drain(..surplus);
            }
            (Effect::Closes(session), _) => {
                self.created.retain(|created| *created != session);
                self.own = self.own.take().filter(|own| *own != session);
            }
            (Effect::Subscribes(uri), _) => {
                self.subscribed += 1;
                self.subscriptions.entry(uri).or_insert(self.subscribed);
                if self.subscriptions.len() > MOST_SUBSCRIPTIONS {
                    let oldest = self.subscriptions.iter().min_by_key(|(_, at)| **at);
                    let oldest = oldest.map(|(uri, _)| uri.clone()).unwrap_or_default();
                    self.subscriptions.remove(&oldest);
                }
            }
            (Effect::Unsubscribes(uri), _) => {
                self.subscriptions.remove(&uri);
            }
            (Effect::SetsLevel(level), _) => self.level = Some(level),
            _ => {}
        }
    }

    /// The session that is the client's own.
    pub fn own(&self) -> Option<&str> {
        self.own.as_deref()
    }

    /// The requests that restore the state on a new connection, in two steps: each begins when the one before has
    /// been answered. A server that still has the client (`known`) has its sessions, but its subscriptions ended with
    /// the connection.
    pub fn wishes(&self, known: bool, initializes: bool) -> [Vec<Wish>; 2] {
        let wish = |method, mut params: Value| {
            if let Some(meta) = self.meta.as_ref().filter(|_| !initializes) {
                params["_meta"] = meta.clone();
            }
            Wish { method, params }
        };
        let resumed = |session: &String| {
            let resume = Registry::of_lifecycle(Lifecycle::Resume);
            wish("tools/call", json!({"name": resume, "arguments": {"sessionId": session}}))
        };
        let sessions = self.created.iter().chain(&self.own).filter(|_| !known).map(resumed);
        let level =
            self.level.iter().map(|level| wish("logging/setLevel", json!({"level": level})));
        let subscriptions =
            self.subscriptions.keys().map(|uri| wish("resources/subscribe", json!({"uri": uri})));
        [sessions.collect(), level.chain(subscriptions).collect()]
    }

    /// Notifications for the client after a reconnect, because changes in between were not reported.
    pub fn news(&self) -> impl Iterator<Item = Value> {
        let told = |uri| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        self.subscriptions.keys().map(told)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(session: &str) -> Answered {
        Answered { succeeded: true, session: Some(session.to_owned()) }
    }

    fn sessions(standing: &Standing) -> Vec<String> {
        let [sessions, _] = standing.wishes(false, true);
        sessions
            .iter()
            .map(|wish| wish.params["arguments"]["sessionId"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_sessions_of_the_client_are_known_and_which_is_its_own() {
        let mut standing = Standing::default();
        standing.hears(Effect::Implicit, Answered { succeeded: false, ..done("own") });
        assert_eq!(sessions(&standing), ["own"]);
        standing.hears(Effect::Creates, done("made"));
        standing.hears(Effect::Creates, done("made"));
        standing.hears(Effect::Creates, done("own"));
        standing.hears(Effect::Creates, Answered { succeeded: false, ..done("failed") });
        standing.hears(Effect::Implicit, done("made"));
        standing.hears(Effect::None, done("elsewhere"));
        assert_eq!(sessions(&standing), ["made", "own"]);
        assert_eq!(standing.own(), Some("own"));
        assert_eq!(standing.wishes(true, true), [Vec::new(), Vec::new()]);
        standing
            .hears(Effect::Closes("made".to_owned()), Answered { succeeded: true, session: None });
        assert_eq!(sessions(&standing), ["own"]);
        standing
            .hears(Effect::Closes("own".to_owned()), Answered { succeeded: true, session: None });
        assert_eq!(standing.own(), None);
        for number in 0..=MOST_SESSIONS {
            standing.hears(Effect::Creates, done(&number.to_string()));
        }
        assert_eq!(sessions(&standing).len(), MOST_SESSIONS);
        assert_eq!(sessions(&standing)[0], "1", "the oldest is left out");
    }

    #[test]
    fn what_the_client_is_told_unasked_is_asked_for_again() {
        let mut standing = Standing::default();
        let done = || Answered { succeeded: true, session: None };
        let params = |text| serde_json::from_str(text).ok();
        let effect = |method, text| Effect::of(method, params(text));
        standing.hears(effect("resources/subscribe", r#"{"uri":"a"}"#), done());
        standing.hears(effect("resources/subscribe", r#"{"uri":"b"}"#), done());
        standing.hears(effect("resources/unsubscribe", r#"{"uri":"a"}"#), done());
        standing.hears(
            effect("resources/subscribe", r#"{"uri":"c"}"#),
            Answered { succeeded: false, ..done() },
        );
        standing.hears(effect("logging/setLevel", r#"{"level":"info"}"#), done());
        let [_, wishes] = standing.wishes(true, true);
        let wish = |method, params| Wish { method, params };
        let expected = [
            wish("logging/setLevel", json!({"level": "info"})),
            wish("resources/subscribe", json!({"uri": "b"})),
        ];
        assert_eq!(wishes, expected);
        assert_eq!(
            standing.news().map(|told| told["params"]["uri"].clone()).collect::<Vec<_>>(),
            ["b"]
        );
        for number in 0..MOST_SUBSCRIPTIONS {
            standing.hears(Effect::Subscribes(format!("{number:04}")), done());
        }
        let [_, wishes] = standing.wishes(true, true);
        assert_eq!(wishes.len(), 1 + MOST_SUBSCRIPTIONS);
        assert!(!wishes.iter().any(|wish| wish.params["uri"] == "b"), "the oldest is left out");
    }

    #[test]
    fn a_client_that_does_not_shake_hands_is_spoken_for_as_it_speaks() {
        let mut standing = Standing::default();
        let version = "io.modelcontextprotocol/protocolVersion";
        let text = json!({"_meta": {version: "2026-07-28", "progressToken": 1}}).to_string();
        standing.asks(&serde_json::from_str(&text).unwrap());
        standing.hears(Effect::Creates, done("made"));
        let [sessions, _] = standing.wishes(false, false);
        assert_eq!(sessions[0].params["_meta"], json!({version: "2026-07-28"}));
        let [sessions, _] = standing.wishes(false, true);
        assert!(sessions[0].params["_meta"].is_null());
    }
}
