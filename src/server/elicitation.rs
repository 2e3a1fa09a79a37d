//! Asks the user of an MCP client by elicitation, in the form of the client's protocol version.
//!
//! Until 2025-11-25 the server sends a request and waits for its answer. From 2026-07-28 on, the
//! result of the call describes what is needed, and the client repeats the call with the user's
//! reply.
//!
//! Where the server has a dashboard, a client that supports the URL mode opens the question there.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, CustomNotification, ElicitRequest,
        ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest,
        InputRequiredResult, InputResponses, RequestId, ServerNotification, ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext, ServiceError},
};
use serde_json::json;
use tokio::runtime::Handle;

use crate::{
    error::{ErrorCode, Result, TroupeError},
    tools::{ANSWER_TIMEOUT, Question, QuestionHandler, QuestionPlace, Reply, no_answer},
};

/// The key of the question among the inputs that a call requires.
const QUESTION: &str = "question";
/// Notifies the client that the user has answered at the URL.
const COMPLETE: &str = "notifications/elicitation/complete";

/// Creates links to the dashboard for the user of a client.
pub trait DashboardLinks: Send + Sync {
    /// Returns a new link to the view of a session, which works once.
    fn link(&self, session: &str) -> String;
}

/// The forms of elicitation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ElicitationMode {
    Form,
    Url,
}

/// Asks the user of one call's client by elicitation.
pub(super) struct ElicitationHandler {
    context: RequestContext<RoleServer>,
    responses: InputResponses,
    /// The question that the call returns instead of its result.
    needed: Mutex<Option<ElicitRequest>>,
    links: Option<Arc<dyn DashboardLinks>>,
}

impl ElicitationHandler {
    pub fn new(
        context: RequestContext<RoleServer>,
        responses: Option<InputResponses>,
        links: Option<Arc<dyn DashboardLinks>>,
    ) -> Self {
        Self { context, responses: responses.unwrap_or_default(), needed: Mutex::default(), links }
    }

    /// Returns the question that the call must return instead of its result.
    pub fn needed(&self) -> Option<InputRequiredResult> {
        let question = self.needed.lock().take()?;
        let requests = BTreeMap::from([(QUESTION.to_owned(), InputRequest::Elicitation(question))]);
        Some(InputRequiredResult::from_input_requests(requests))
    }

    /// Returns how the client can ask its user. The URL mode is preferred.
    fn mode(&self, has_url: bool) -> Option<ElicitationMode> {
        let modes = self.context.client_capabilities()?.elicitation?;
        if has_url && modes.url.is_some() {
            return Some(ElicitationMode::Url);
        }
        // A client that declares no mode supports forms.
        (modes.form.is_some() || modes.url.is_none()).then_some(ElicitationMode::Form)
    }

    async fn send(&self, request: ElicitRequest) -> Result<ElicitResult> {
        let options = PeerRequestOptions::with_timeout(ANSWER_TIMEOUT);
        let sent = self
            .context
            .peer
            .send_cancellable_request(ServerRequest::ElicitRequest(request), options)
            .await;
        let answer = match sent {
            Ok(handle) => {
                let mut pending = PendingQuestion {
                    peer: handle.peer.clone(),
                    question: Some(handle.id.clone()),
                };
                let answer = handle.await_response().await;
                pending.question = None;
                answer
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) => Ok(result),
            Ok(_) => Err(TroupeError::new(
                ErrorCode::InternalError,
                "the client's reply to the question has an unexpected form",
            )),
            Err(ServiceError::Timeout { .. }) => Err(no_answer()),
            Err(error) => Err(TroupeError::new(
                ErrorCode::InternalError,
                format!("the client did not show the question: {error}"),
            )
            .suggestion("ask the question in the text at the end of your turn")),
        }
    }
}

/// A question that the client shows. If it is dropped before the answer, the client is asked to
/// cancel it.
struct PendingQuestion {
    peer: Peer<RoleServer>,
    question: Option<RequestId>,
}

impl Drop for PendingQuestion {
    fn drop(&mut self) {
        let (Some(question), Ok(runtime)) = (self.question.take(), Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        // The task ends when the message is sent or the connection closes.
        runtime.spawn(async move {
            let param = CancelledNotificationParam::new(
                Some(question),
                Some("the call was canceled".to_owned()),
            );
            let _ = peer.notify_cancelled(param).await;
        });
    }
}

#[async_trait]
impl QuestionHandler for ElicitationHandler {
    async fn ask(&self, question: Question) -> Result<Reply> {
        let Question { message, schema, place } = question;
        let requested_schema: ElicitationSchema =
            serde_json::from_value(schema).map_err(|error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`schema` is not the schema of a form: {error}"),
                )
                .suggestion(
                    "pass an object schema whose properties are strings, numbers, booleans or enums",
                )
            })?;
        let Some(mode) = self.mode(place.is_some()) else {
            return Ok(Reply::Unavailable("this client does not support elicitation"));
        };
        let params = match (mode, place) {
            (ElicitationMode::Url, Some(QuestionPlace { id, url })) => {
                let elicitation_id = id;
                ElicitRequestParams::UrlElicitationParams {
                    meta: None,
                    message,
                    url,
                    elicitation_id,
                }
            }
            (_, place) => {
                let message = match place {
                    Some(QuestionPlace { url, .. }) => format!(
                        "{message}\n\nYou can also answer in the dashboard, which shows the page: {url}"
                    ),
                    None => message,
                };
                ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema }
            }
        };
        let request = ElicitRequest::new(params);
        let result = if is_stateless(&self.context) {
            match self.responses.get(QUESTION) {
                Some(answer) => serde_json::from_value(answer.clone()).map_err(|error| {
                    TroupeError::new(
                        ErrorCode::InvalidParameters,
                        format!("the reply to the question is not valid: {error}"),
                    )
                })?,
                None => {
                    *self.needed.lock() = Some(request);
                    return Ok(Reply::Deferred);
                }
            }
        } else {
            self.send(request).await?
        };
        Ok(match result.action {
            ElicitationAction::Accept if mode == ElicitationMode::Url => Reply::Opened,
            ElicitationAction::Accept => {
                let content = result.content.and_then(|content| content.as_object().cloned());
                Reply::Accepted(content.unwrap_or_default())
            }
            ElicitationAction::Decline => Reply::Declined,
            // Also for actions that a later revision adds.
            _ => Reply::Cancelled,
        })
    }

    fn dashboard_link(&self, session: &str) -> Option<String> {
        self.links.as_ref().map(|links| links.link(session))
    }

    async fn notify_answered_in_dashboard(&self, id: &str) {
        if is_stateless(&self.context) || self.mode(true) != Some(ElicitationMode::Url) {
            return;
        }
        let complete = CustomNotification::new(COMPLETE, Some(json!({"elicitationId": id})));
        // Fails only if the client has disconnected.
        let _ = self
            .context
            .peer
            .send_notification(ServerNotification::CustomNotification(complete))
            .await;
    }
}

/// Returns whether the client uses a stateless revision, in which a server sends no requests.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}
