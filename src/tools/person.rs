//! `ask_user`: asks the user of the client for a log-in, a captcha or a decision.
//!
//! How the user is asked depends on the interface, which passes a [`Person`] with the call.

use std::sync::Arc;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tool::{Group, ServerCall, Tool, tool};
use crate::error::Result;

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub message: String,
    /// JSON Schema of the answer: an object of texts, numbers, choices and yes or no.
    pub schema: Value,
}

/// The user's reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Accepted(Map<String, Value>),
    Declined,
    /// Closed without a decision.
    Cancelled,
    /// Nobody could be asked, for this reason.
    Unavailable(&'static str),
}

/// The person behind a client.
#[async_trait]
pub trait Person: Send + Sync {
    /// Puts the question and waits for the answer.
    async fn ask(&self, question: Question) -> Result<Reply>;
}

/// A client that has no way to ask.
pub struct Nobody;

#[async_trait]
impl Person for Nobody {
    async fn ask(&self, _question: Question) -> Result<Reply> {
        Ok(Reply::Unavailable("the caller is a program that has not said how to ask its user"))
    }
}

pub(super) fn nobody() -> Arc<dyn Person> {
    Arc::new(Nobody)
}

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "ask_user",
            Group::Person,
            "Ask the person what only they know or may do: a log-in, a captcha, a decision.",
        )
        .read_only()
        // A client may answer by making the call again: the steps before it would run twice.
        .not_in_batch("a question to the person is a call of its own, not a step of a batch")
        .not_replayed()
        .server(ask_user),
    ]
}

#[derive(Deserialize, JsonSchema)]
struct AskParameters {
    message: String,
    /// JSON Schema of the answer, flat
    schema: Option<Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    Accept,
    Decline,
    Cancel,
    Unavailable,
}

#[derive(Serialize, JsonSchema)]
struct Asked {
    action: Action,
    /// The answer, as the schema has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Map<String, Value>>,
    message: String,
}

async fn ask_user(call: ServerCall, given: AskParameters) -> Result<Asked> {
    let schema = given.schema.map_or_else(
        || json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}),
        Value::Object,
    );
    // The answer may be that the person has logged in: the client's sessions do not expire before it.
    let sessions = call.connection.sessions(&call.manager);
    let _in_use: Vec<_> = sessions.iter().map(|session| session.start_use()).collect();
    let reply = call.person.ask(Question { message: given.message, schema }).await?;
    let told = |action, message: &str| Asked { action, content: None, message: message.to_owned() };
    Ok(match reply {
        Reply::Accepted(content) => {
            Asked { content: Some(content), ..told(Action::Accept, "The person has answered.") }
        }
        Reply::Declined => told(Action::Decline, "The person does not want to answer."),
        Reply::Cancelled => {
            told(Action::Cancel, "The person has closed the question without an answer.")
        }
        Reply::Unavailable(reason) => told(
            Action::Unavailable,
            &format!(
                "Nobody was asked: {reason}. Put the question in your own words at the end of your turn."
            ),
        ),
    })
}
