//! Asks the user of an MCP client by elicitation, in the form of the client's protocol version.
//!
//! Until 2025-11-25 the server sends a request and waits for its answer. From 2026-07-28 on, the result of the call
//! describes what is needed, and the client repeats the call with the user's reply.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use parking_lot::Mutex;
use rmcp::{
    RoleServer,
    model::{
        CancelledNotificationParam, ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult,
        ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult, InputResponses,
        RequestId, ServerRequest,
    },
    service::{Peer, PeerRequestOptions, RequestContext, ServiceError},
};

use tokio::runtime::Handle;

use crate::{
    error::{ErrorCode, Result, TroupeError},
    tools::{Person, Question, Reply},
};

/// The name of the question among what a call needs.
const QUESTION: &str = "question";
/// A person who has gone to lunch does not come back to the question.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Who is behind one call.
pub(super) struct Elicited {
    context: RequestContext<RoleServer>,
    responses: InputResponses,
    /// What the call must be answered with instead of its result.
    needed: Mutex<Option<ElicitRequest>>,
}

impl Elicited {
    pub fn new(context: RequestContext<RoleServer>, responses: Option<InputResponses>) -> Self {
        Self { context, responses: responses.unwrap_or_default(), needed: Mutex::default() }
    }

    /// The question that the call must be answered with.
    pub fn needed(&self) -> Option<InputRequiredResult> {
        let asked = self.needed.lock().take()?;
        let requests = BTreeMap::from([(QUESTION.to_owned(), InputRequest::Elicitation(asked))]);
        Some(InputRequiredResult::from_input_requests(requests))
    }

    /// Whether the client can show a form.
    fn can_ask(&self) -> bool {
        let elicitation = self.context.client_capabilities().and_then(|client| client.elicitation);
        // One that names no mode means forms.
        elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    async fn send(&self, request: ElicitRequest) -> Result<ElicitResult> {
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let sent = self
            .context
            .peer
            .send_cancellable_request(ServerRequest::ElicitRequest(request), options)
            .await;
        let answer = match sent {
            Ok(handle) => {
                let mut asked =
                    Asked { peer: handle.peer.clone(), question: Some(handle.id.clone()) };
                let answer = handle.await_response().await;
                asked.question = None;
                answer
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(ClientResult::ElicitResult(result)) => Ok(result),
            Ok(_) => Err(TroupeError::new(
                ErrorCode::InternalError,
                "the client answered the question in another form",
            )),
            Err(ServiceError::Timeout { .. }) => Err(TroupeError::new(
                ErrorCode::Timeout,
                format!("the person did not answer within {} minutes", PATIENCE.as_secs() / 60),
            )
            .detail("timeout", PATIENCE.as_secs() * 1000)
            .suggestion("ask again, or ask the question in the text at the end of your turn")),
            Err(error) => Err(TroupeError::new(
                ErrorCode::InternalError,
                format!("the client did not put the question: {error}"),
            )
            .suggestion("put the question in your own words at the end of your turn")),
        }
    }
}

/// A question at the client; dropped before the answer it is taken back.
struct Asked {
    peer: Peer<RoleServer>,
    question: Option<RequestId>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let (Some(question), Ok(runtime)) = (self.question.take(), Handle::try_current()) else {
            return;
        };
        let peer = self.peer.clone();
        // Ends with the message, or with the connection.
        runtime.spawn(async move {
            let param = CancelledNotificationParam::new(
                Some(question),
                Some("no longer wanted".to_owned()),
            );
            let _ = peer.notify_cancelled(param).await;
        });
    }
}

#[async_trait]
impl Person for Elicited {
    async fn ask(&self, question: Question) -> Result<Reply> {
        let Question { message, schema } = question;
        let requested_schema: ElicitationSchema =
            serde_json::from_value(schema).map_err(|error| {
                TroupeError::new(
                    ErrorCode::InvalidParameters,
                    format!("`schema` is none of a form: {error}"),
                )
                .suggestion(
                    "give an object whose properties are strings, numbers, booleans or enums",
                )
            })?;
        if !self.can_ask() {
            return Ok(Reply::Unavailable("this client cannot put questions to its user"));
        }
        let params =
            ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        let request = ElicitRequest::new(params);
        let result = if is_stateless(&self.context) {
            match self.responses.get(QUESTION) {
                Some(answer) => serde_json::from_value(answer.clone()).map_err(|error| {
                    TroupeError::new(
                        ErrorCode::InvalidParameters,
                        format!("the reply to the question is none: {error}"),
                    )
                })?,
                None => {
                    *self.needed.lock() = Some(request);
                    // Seen by nobody: the question takes its place.
                    return Err(TroupeError::new(
                        ErrorCode::InternalError,
                        "the person must be asked first",
                    ));
                }
            }
        } else {
            self.send(request).await?
        };
        Ok(match result.action {
            ElicitationAction::Accept => {
                let content = result.content.and_then(|content| content.as_object().cloned());
                Reply::Accepted(content.unwrap_or_default())
            }
            ElicitationAction::Decline => Reply::Declined,
            // Or what a later protocol adds: no answer in any case.
            _ => Reply::Cancelled,
        })
    }
}

/// Whether the request is of the era in which a server sends none of its own.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}
