//! The state of a client that is restored after a reconnect: its sessions, its subscriptions and
//! its log level.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use crate::tools::{LifecycleEffect, Registry};

/// Maximum number of the client's sessions that are resumed, the newest first.
const MAX_SESSIONS: usize = 1000;
/// Maximum number of subscriptions. A server does not accept more from one client.
const MAX_SUBSCRIPTIONS: usize = 500;
/// The prefix of the metadata in which a request of revision 2026-07-28 describes its client.
const CLIENT_METADATA: &str = "io.modelcontextprotocol/";

/// The parts of a request's parameters that determine its effect.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestParams<'a> {
    pub name: Option<String>,
    arguments: Option<CallArguments>,
    #[serde(borrow)]
    pub request_id: Option<&'a RawValue>,
    uri: Option<String>,
    level: Option<Value>,
    #[serde(rename = "_meta")]
    meta: Option<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
struct CallArguments {
    #[serde(rename = "sessionId", alias = "session_id")]
    session: Option<String>,
}

/// The change of the state after a request was answered.
pub(super) enum Effect {
    Creates,
    Closes(String),
    /// Uses the client's implicit session, or the only session that the client has created.
    Implicit,
    Subscribes(String),
    Unsubscribes(String),
    /// The log level of the client.
    SetsLevel(Value),
    None,
}

impl Effect {
    pub fn of(method: &str, params: Option<RequestParams<'_>>) -> Self {
        let Some(params) = params else { return Self::None };
        match (method, params.uri, params.level) {
            ("tools/call", ..) => {
                let session = params.arguments.and_then(|arguments| arguments.session);
                let tool = params.name.as_deref().and_then(Registry::row);
                match (tool.and_then(|tool| tool.properties.lifecycle), session) {
                    (Some(LifecycleEffect::Create | LifecycleEffect::Resume), _) => Self::Creates,
                    (Some(LifecycleEffect::Close), Some(session)) => Self::Closes(session),
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

/// The outcome of a request.
pub(super) struct RequestOutcome {
    pub succeeded: bool,
    /// The session of the request.
    pub session: Option<String>,
}

/// A request that restores a part of the state. It has no id yet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RestoreRequest {
    pub method: &'static str,
    pub params: Value,
}

/// The state of a client at its server.
#[derive(Debug, Clone, Default)]
pub(super) struct RestorableState {
    /// The sessions that the client created or resumed and has not closed, in order.
    created: Vec<String>,
    implicit: Option<String>,
    /// By resource, with the sequence number of the subscription.
    subscriptions: BTreeMap<String, u64>,
    subscribed: u64,
    level: Option<Value>,
    /// The metadata of a client that sends no `initialize` request.
    meta: Option<Value>,
}

impl RestorableState {
    /// Records the client metadata of a request.
    pub fn record_request(&mut self, params: &RequestParams<'_>) {
        let Some(meta) = params.meta.as_ref().filter(|_| self.meta.is_none()) else { return };
        let metadata: serde_json::Map<_, _> = meta
            .iter()
            .filter(|(key, _)| key.starts_with(CLIENT_METADATA))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        self.meta = (!metadata.is_empty()).then(|| metadata.into());
    }

    /// Records the outcome of a request.
    pub fn record_outcome(&mut self, effect: Effect, answered: RequestOutcome) {
        match (effect, answered) {
            // A failed call has also created its session.
            (Effect::Implicit, RequestOutcome { session: Some(session), .. })
                if !self.created.contains(&session) =>
            {
                self.implicit = Some(session);
            }
            (_, RequestOutcome { succeeded: false, .. }) => {}
            (Effect::Creates, RequestOutcome { session: Some(session), .. })
                if self.implicit.as_ref() != Some(&session) && !self.created.contains(&session) =>
            {
                self.created.push(session);
                let surplus = self.created.len().saturating_sub(MAX_SESSIONS);
                self.created.drain(..surplus);
            }
            (Effect::Closes(session), _) => {
                self.created.retain(|created| *created != session);
                self.implicit = self.implicit.take().filter(|implicit| *implicit != session);
            }
            (Effect::Subscribes(uri), _) => {
                self.subscribed += 1;
                self.subscriptions.entry(uri).or_insert(self.subscribed);
                if self.subscriptions.len() > MAX_SUBSCRIPTIONS {
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

    /// Returns the client's implicit session.
    pub fn implicit(&self) -> Option<&str> {
        self.implicit.as_deref()
    }

    /// Returns the requests that restore the state on a new connection, in two steps: each begins
    /// when the one before has been answered. A server that still has the client (`is_same_server`)
    /// has its sessions, but its subscriptions ended with the connection.
    pub fn restore_requests(
        &self,
        is_same_server: bool,
        initializes: bool,
    ) -> [Vec<RestoreRequest>; 2] {
        let request = |method, mut params: Value| {
            if let Some(meta) = self.meta.as_ref().filter(|_| !initializes) {
                params["_meta"] = meta.clone();
            }
            RestoreRequest { method, params }
        };
        let resumed = |session: &String| {
            let resume = Registry::of_lifecycle(LifecycleEffect::Resume);
            request("tools/call", json!({"name": resume, "arguments": {"sessionId": session}}))
        };
        let sessions =
            self.created.iter().chain(&self.implicit).filter(|_| !is_same_server).map(resumed);
        let level =
            self.level.iter().map(|level| request("logging/setLevel", json!({"level": level})));
        let subscriptions = self
            .subscriptions
            .keys()
            .map(|uri| request("resources/subscribe", json!({"uri": uri})));
        [sessions.collect(), level.chain(subscriptions).collect()]
    }

    /// Notifications for the client after a reconnect, because changes in between were not
    /// reported.
    pub fn change_notifications(&self) -> impl Iterator<Item = Value> {
        let notification = |uri| json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}});
        self.subscriptions.keys().map(notification)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(session: &str) -> RequestOutcome {
        RequestOutcome { succeeded: true, session: Some(session.to_owned()) }
    }

    fn sessions(state: &RestorableState) -> Vec<String> {
        let [sessions, _] = state.restore_requests(false, true);
        sessions
            .iter()
            .map(|request| request.params["arguments"]["sessionId"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_sessions_of_the_client_and_its_implicit_session_are_recorded() {
        let mut state = RestorableState::default();
        state.record_outcome(Effect::Implicit, RequestOutcome { succeeded: false, ..done("own") });
        assert_eq!(sessions(&state), ["own"]);
        state.record_outcome(Effect::Creates, done("made"));
        state.record_outcome(Effect::Creates, done("made"));
        state.record_outcome(Effect::Creates, done("own"));
        state
            .record_outcome(Effect::Creates, RequestOutcome { succeeded: false, ..done("failed") });
        state.record_outcome(Effect::Implicit, done("made"));
        state.record_outcome(Effect::None, done("elsewhere"));
        assert_eq!(sessions(&state), ["made", "own"]);
        assert_eq!(state.implicit(), Some("own"));
        assert_eq!(state.restore_requests(true, true), [Vec::new(), Vec::new()]);
        state.record_outcome(
            Effect::Closes("made".to_owned()),
            RequestOutcome { succeeded: true, session: None },
        );
        assert_eq!(sessions(&state), ["own"]);
        state.record_outcome(
            Effect::Closes("own".to_owned()),
            RequestOutcome { succeeded: true, session: None },
        );
        assert_eq!(state.implicit(), None);
        for number in 0..=MAX_SESSIONS {
            state.record_outcome(Effect::Creates, done(&number.to_string()));
        }
        assert_eq!(sessions(&state).len(), MAX_SESSIONS);
        assert_eq!(sessions(&state)[0], "1", "the oldest is omitted");
    }

    #[test]
    fn subscriptions_and_the_log_level_are_restored() {
        let mut state = RestorableState::default();
        let done = || RequestOutcome { succeeded: true, session: None };
        let params = |text| serde_json::from_str(text).ok();
        let effect = |method, text| Effect::of(method, params(text));
        state.record_outcome(effect("resources/subscribe", r#"{"uri":"a"}"#), done());
        state.record_outcome(effect("resources/subscribe", r#"{"uri":"b"}"#), done());
        state.record_outcome(effect("resources/unsubscribe", r#"{"uri":"a"}"#), done());
        state.record_outcome(
            effect("resources/subscribe", r#"{"uri":"c"}"#),
            RequestOutcome { succeeded: false, ..done() },
        );
        state.record_outcome(effect("logging/setLevel", r#"{"level":"info"}"#), done());
        let [_, restore_requests] = state.restore_requests(true, true);
        let request = |method, params| RestoreRequest { method, params };
        let expected = [
            request("logging/setLevel", json!({"level": "info"})),
            request("resources/subscribe", json!({"uri": "b"})),
        ];
        assert_eq!(restore_requests, expected);
        assert_eq!(
            state
                .change_notifications()
                .map(|notification| notification["params"]["uri"].clone())
                .collect::<Vec<_>>(),
            ["b"]
        );
        for number in 0..MAX_SUBSCRIPTIONS {
            state.record_outcome(Effect::Subscribes(format!("{number:04}")), done());
        }
        let [_, restore_requests] = state.restore_requests(true, true);
        assert_eq!(restore_requests.len(), 1 + MAX_SUBSCRIPTIONS);
        assert!(
            !restore_requests.iter().any(|request| request.params["uri"] == "b"),
            "the oldest is omitted"
        );
    }

    #[test]
    fn requests_for_a_stateless_client_have_its_metadata() {
        let mut state = RestorableState::default();
        let version = "io.modelcontextprotocol/protocolVersion";
        let text = json!({"_meta": {version: "2026-07-28", "progressToken": 1}}).to_string();
        state.record_request(&serde_json::from_str(&text).unwrap());
        state.record_outcome(Effect::Creates, done("made"));
        let [sessions, _] = state.restore_requests(false, false);
        assert_eq!(sessions[0].params["_meta"], json!({version: "2026-07-28"}));
        let [sessions, _] = state.restore_requests(false, true);
        assert!(sessions[0].params["_meta"].is_null());
    }
}
