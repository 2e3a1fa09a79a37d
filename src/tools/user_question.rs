//! `ask_user`: asks the user of the client for a log-in, a captcha or a decision.
//!
//! Each interface passes its own [`QuestionHandler`] with the call. Where the server has a
//! dashboard, the view of the session shows the question too, and its answer there ends the wait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::tool::{Group, ServerCall, Tool, tool};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    page::{Page, PersonSignals},
    session::{AskedQuestion, Session, SessionNotice},
};

/// How long a user may take to answer.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Maximum number of characters of a URL in a question.
const MAX_URL: usize = 300;
/// The field of a result with the notice that a person has been asked.
const HANDOFF: &str = "handoff";
/// The message of a result without an answer.
const PENDING: &str = "Nobody has answered yet. Give the user `url`, which works once and for ten \
     minutes. It opens the page of the session: there they can take control, and press Done. Then call \
     `ask_user` again with the same arguments, which waits for the answer.";

/// A question to the user.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub message: String,
    /// JSON Schema of the answer: an object of texts, numbers, choices and yes or no.
    pub schema: Value,
    pub place: Option<QuestionPlace>,
}

/// Asks a person in the dashboard if `page` shows something of `--handoff-on`. Returns a notice for
/// the agent if this is a new question. `can_wait`: whether the agent has `ask_user`.
pub(super) async fn hand_off(
    session: &Session,
    page: &Page,
    config: &Config,
    can_wait: bool,
) -> Option<SessionNotice> {
    if config.handoff_on.is_empty() {
        return None;
    }
    let signals = page.person_signals().await;
    let is_on = |signal: &str| config.handoff_on.iter().any(|on| on == signal);
    let url: String = page.document_url().chars().take(MAX_URL).collect();
    let mut message = match signals {
        PersonSignals { captcha: true, .. } if is_on("captcha") => {
            Some(format!("The page {url} shows a CAPTCHA. Take control, solve it, and press Done."))
        }
        PersonSignals { login: true, .. } if is_on("login") => Some(format!(
            "The page {url} asks for a password. Take control, log in, and press Done."
        )),
        _ => None,
    };
    if let Some(message) = &mut message {
        session.secrets.mask_text(message);
    }
    if !session.request_person(&page.id, message.as_deref()) {
        return None;
    }
    let next = if can_wait {
        "To wait for the person, call `ask_user` with exactly this message and the `sessionId`."
    } else {
        "While the person has control, the calls of this session wait."
    };
    let text = format!("The dashboard asks a person: {} {next}", message?);
    Some(SessionNotice { field: HANDOFF.into(), text })
}

/// Where the dashboard shows a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionPlace {
    /// The id of the question.
    pub id: String,
    /// Opens the view of the session. Works once.
    pub url: String,
}

/// The user's reply.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Accepted(Map<String, Value>),
    Declined,
    /// The user closed the question without a decision.
    Cancelled,
    /// The user opens the dashboard, and answers there.
    Opened,
    /// The client asks the user, and then repeats the call.
    Deferred,
    /// The user could not be asked, for this reason.
    Unavailable(&'static str),
}

/// Asks the user of a client.
#[async_trait]
pub trait QuestionHandler: Send + Sync {
    /// Asks the question and waits for the reply.
    async fn ask(&self, question: Question) -> Result<Reply>;

    /// Returns a new link to the view of a session in the dashboard. `None` if there is no
    /// dashboard that the user could open.
    fn dashboard_link(&self, _session: &str) -> Option<String> {
        None
    }

    /// Called when the user has answered the question `id` in the dashboard.
    async fn notify_answered_in_dashboard(&self, _id: &str) {}
}

/// The handler for clients that cannot ask their user.
pub struct NoQuestionHandler;

#[async_trait]
impl QuestionHandler for NoQuestionHandler {
    async fn ask(&self, _question: Question) -> Result<Reply> {
        Ok(Reply::Unavailable("the calling program provides no way to ask its user"))
    }
}

/// Returns the error for a user who does not answer.
pub fn no_answer() -> TroupeError {
    let minutes = ANSWER_TIMEOUT.as_secs() / 60;
    let message = format!("the user did not answer within {minutes} minutes");
    TroupeError::new(ErrorCode::Timeout, message)
        .detail("timeout", ANSWER_TIMEOUT.as_secs() * 1000)
        .suggestion("ask again, or ask the question in the text at the end of your turn")
}

pub(super) fn no_question_handler() -> Arc<dyn QuestionHandler> {
    Arc::new(NoQuestionHandler)
}

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("ask_user", Group::Person, "Ask the user for a login, a captcha or a decision.")
            .read_only()
            // A client may reply by repeating the call, and the earlier steps of a batch would run
            // twice.
            .not_in_batch("`ask_user` cannot be a step of a batch: make it a separate call")
            .not_replayed()
            // A link gives its owner control of the session, also in a record that others may read.
            .unrecorded(&["url"])
            .server(ask_user),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AskParameters {
    message: String,
    /// JSON Schema of the answer, flat
    schema: Option<Map<String, Value>>,
    session_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum ReplyAction {
    Accept,
    Decline,
    Cancel,
    Pending,
    Unavailable,
}

#[derive(Serialize, JsonSchema)]
struct AskUserResult {
    action: ReplyAction,
    /// The reply, which fits the schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Map<String, Value>>,
    /// Set if a person has controlled the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    person: Option<String>,
    /// Link for the user, while the action is `pending`.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    message: String,
}

impl AskUserResult {
    fn new(action: ReplyAction, message: impl Into<String>) -> Self {
        Self { action, content: None, person: None, url: None, message: message.into() }
    }

    fn of(reply: Reply) -> Result<Self> {
        Ok(match reply {
            Reply::Accepted(content) => Self {
                content: Some(content),
                ..Self::new(ReplyAction::Accept, "The user has answered.")
            },
            Reply::Declined => Self::new(ReplyAction::Decline, "The user declined to answer."),
            Reply::Cancelled => {
                let message = "The user closed the question without an answer.";
                Self::new(ReplyAction::Cancel, message)
            }
            Reply::Unavailable(reason) => {
                let message = format!(
                    "The user could not be asked: {reason}. Ask the question in the text at the end of your turn."
                );
                Self::new(ReplyAction::Unavailable, message)
            }
            // Not visible to the client: the question replaces this error.
            Reply::Deferred | Reply::Opened => {
                let message = "the user must be asked first";
                return Err(TroupeError::new(ErrorCode::InternalError, message));
            }
        })
    }
}

async fn ask_user(call: ServerCall, given: AskParameters) -> Result<AskUserResult> {
    let AskParameters { message, schema, session_id } = given;
    let shown = match session_id {
        Some(id) => Some(call.connection.session(&call.manager, &id).await?),
        None => None,
    };
    let schema = schema.map(Value::Object);
    let form = Question {
        message: message.clone(),
        schema: schema.clone().unwrap_or_else(|| {
            json!({"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]})
        }),
        place: None,
    };
    // The user may log in meanwhile, so the client's sessions must not expire before the reply.
    let sessions = call.connection.sessions(&call.manager);
    let _in_use: Vec<_> = sessions.iter().map(|session| session.start_use()).collect();
    let last_used = || sessions.iter().max_by_key(|session| session.last_used_at()).cloned();
    let handler = &*call.question_handler;
    let place = shown.or_else(last_used).and_then(|session| {
        let url = handler.dashboard_link(&session.id)?;
        Some((session, url))
    });
    let Some((session, url)) = place else {
        return AskUserResult::of(handler.ask(form).await?);
    };
    let question = DashboardQuestion {
        asked: session.ask_person(message, schema),
        session,
        url,
        repeat_timeout: call.manager.config().takeover_timeout,
    };
    question.ask(handler, form).await
}

/// A question that the dashboard shows too.
struct DashboardQuestion {
    session: Arc<Session>,
    asked: AskedQuestion,
    /// Opens the view of the session.
    url: String,
    /// How long a repeated call waits if only the dashboard shows the question.
    repeat_timeout: Duration,
}

impl DashboardQuestion {
    async fn ask(mut self, handler: &dyn QuestionHandler, form: Question) -> Result<AskUserResult> {
        let id = self.asked.id().to_owned();
        let place = Some(QuestionPlace { id: id.clone(), url: self.url.clone() });
        let in_dashboard = async {
            match self.asked.wait_answer().await {
                Ok(Some(answer)) => answer,
                // The client still shows the question.
                _ => std::future::pending().await,
            }
        };
        let reply = tokio::select! {
            biased;
            answer = in_dashboard => Err(answer),
            reply = handler.ask(Question { place, ..form }) => Ok(reply?),
        };
        // How long the dashboard alone shows the question, and the result after this time.
        let (limit, unanswered) = match reply {
            Err(answer) => {
                handler.notify_answered_in_dashboard(&id).await;
                return Ok(self.answered(answer));
            }
            Ok(Reply::Opened) => (ANSWER_TIMEOUT, Err(no_answer())),
            Ok(Reply::Unavailable(_)) => {
                self.asked.keep();
                // The user gets the link with the result of the first call.
                let limit = if self.asked.is_new { Duration::ZERO } else { self.repeat_timeout };
                let pending = AskUserResult::new(ReplyAction::Pending, PENDING);
                (limit, Ok(AskUserResult { url: Some(self.url.clone()), ..pending }))
            }
            Ok(reply) => {
                if reply == Reply::Deferred {
                    self.asked.keep();
                }
                let result = AskUserResult::of(reply)?;
                return Ok(AskUserResult { person: self.session.take_person_notice(), ..result });
            }
        };
        match tokio::time::timeout(limit, self.asked.wait_answer()).await {
            Ok(Ok(Some(answer))) => {
                handler.notify_answered_in_dashboard(&id).await;
                Ok(self.answered(answer))
            }
            Ok(Ok(None)) => {
                let message = "Another question in the same session has replaced this one.";
                Ok(AskUserResult::new(ReplyAction::Cancel, message))
            }
            Ok(Err(ended)) => Err(ended),
            Err(_) => unanswered,
        }
    }

    fn answered(&self, content: Map<String, Value>) -> AskUserResult {
        AskUserResult {
            content: Some(content).filter(|content| !content.is_empty()),
            person: self.session.take_person_notice(),
            ..AskUserResult::new(ReplyAction::Accept, "A person answered in the dashboard.")
        }
    }
}
