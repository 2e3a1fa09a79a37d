//! `ask_user`: asks the user of the client for a log-in, a captcha or a decision.
//!
//! Each interface passes its own [`QuestionHandler`] with the call.

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
    /// The user closed the question without a decision.
    Cancelled,
    /// The user could not be asked, for this reason.
    Unavailable(&'static str),
}

/// Asks the user of a client.
#[async_trait]
pub trait QuestionHandler: Send + Sync {
    /// Asks the question and waits for the reply.
    async fn ask(&self, question: Question) -> Result<Reply>;
}

/// The handler for clients that cannot ask their user.
pub struct NoQuestionHandler;

#[async_trait]
impl QuestionHandler for NoQuestionHandler {
    async fn ask(&self, _question: Question) -> Result<Reply> {
        Ok(Reply::Unavailable("the calling program provides no way to ask its user"))
    }
}

pub(super) fn no_question_handler() -> Arc<dyn QuestionHandler> {
    Arc::new(NoQuestionHandler)
}

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "ask_user",
            Group::Person,
            "Ask the user for what only they know or may do: a login, a captcha, a decision.",
        )
        .read_only()
        // A client may reply by repeating the call, and the earlier steps of a batch would run
        // twice.
        .not_in_batch("`ask_user` cannot be a step of a batch: make it a separate call")
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
enum ReplyAction {
    Accept,
    Decline,
    Cancel,
    Unavailable,
}

#[derive(Serialize, JsonSchema)]
struct AskUserResult {
    action: ReplyAction,
    /// The reply, which fits the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Map<String, Value>>,
    message: String,
}

async fn ask_user(call: ServerCall, given: AskParameters) -> Result<AskUserResult> {
    let schema = given.schema.map_or_else(
        || json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}),
        Value::Object,
    );
    // The user may log in meanwhile, so the client's sessions must not expire before the reply.
    let sessions = call.connection.sessions(&call.manager);
    let _in_use: Vec<_> = sessions.iter().map(|session| session.start_use()).collect();
    let reply = call.question_handler.ask(Question { message: given.message, schema }).await?;
    let result = |action, message: &str| AskUserResult {
        action,
        content: None,
        message: message.to_owned(),
    };
    Ok(match reply {
        Reply::Accepted(content) => AskUserResult {
            content: Some(content),
            ..result(ReplyAction::Accept, "The user has answered.")
        },
        Reply::Declined => result(ReplyAction::Decline, "The user declined to answer."),
        Reply::Cancelled => {
            result(ReplyAction::Cancel, "The user closed the question without an answer.")
        }
        Reply::Unavailable(reason) => result(
            ReplyAction::Unavailable,
            &format!(
                "The user could not be asked: {reason}. Ask the question in the text at the end of your turn."
            ),
        ),
    })
}
