//! Forwards a call to the server that holds its session, if servers share the record.

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    answer::CallOutcome,
    batch,
    invocation::Invocation,
    progress::Progress,
    tool::{Group, Tool, ToolRunner},
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    session::{CallTurn, Connection, SessionManager},
    store::{ServerEndpoint, UnreachableServerWait},
};

/// A call that another server runs.
#[derive(Debug, Serialize, Deserialize)]
pub struct ForwardedCall {
    /// The id of the client's connection.
    connection: Arc<str>,
    sees_all: bool,
    tool: String,
    arguments: Value,
    ref_id: Option<String>,
    whole: bool,
    overview: Option<bool>,
}

impl ForwardedCall {
    fn new(invocation: &Invocation, session: &str) -> Self {
        let mut arguments = invocation.arguments.clone();
        match &mut arguments {
            Value::Object(named) if batch::named_session(named).is_none() => {
                named.insert("sessionId".to_owned(), session.into());
            }
            Value::Null => arguments = json!({"sessionId": session}),
            // The other server rejects arguments that are not valid.
            _ => {}
        }
        let connection = &invocation.connection;
        Self {
            connection: connection.id().clone(),
            sees_all: connection.sees_all(),
            tool: invocation.tool.clone(),
            arguments,
            ref_id: invocation.ref_id.clone(),
            whole: invocation.full_result,
            overview: invocation.overview,
        }
    }

    /// Returns the call as it arrives at the server that runs it.
    pub fn into_invocation(self) -> Invocation {
        let connection = Arc::new(Connection::forwarded(self.connection, self.sees_all));
        Invocation {
            ref_id: self.ref_id,
            full_result: self.whole,
            overview: self.overview,
            ..Invocation::new(connection, self.tool, self.arguments)
        }
    }
}

/// Sends calls to other servers.
#[async_trait]
pub trait CallForwarder: Send + Sync {
    /// Returns the outcome of a call; `None` if the server cannot be reached, so that the call did
    /// not run. Reports the call's stages to `progress`. Drops `turn` when the call is in the
    /// queue of its session.
    async fn forward(
        &self,
        server: &ServerEndpoint,
        call: &ForwardedCall,
        progress: &Progress,
        turn: &mut Option<CallTurn>,
    ) -> Result<Option<CallOutcome>>;
}

/// Forwards a call if another server holds its session. Returns `None` if this server runs the
/// call.
pub(super) async fn forward(
    forwarder: &dyn CallForwarder,
    manager: &SessionManager,
    tool: &Tool,
    invocation: &mut Invocation,
) -> Option<Result<CallOutcome>> {
    let connection = &invocation.connection;
    if connection.is_forwarded() || !invocation.batch_sessions.is_empty() {
        return None;
    }
    let named = invocation.arguments.as_object().and_then(batch::named_session);
    // Every server can read the record. Other tools of the server may end a session.
    let is_of_server = matches!(tool.run, ToolRunner::Server(_));
    if tool.group == Group::Record || is_of_server && named.is_none() {
        return None;
    }
    let session = connection.session_elsewhere(manager, named)?;
    // If the lease of an unreachable server expires, the session is resumed here.
    let wait = UnreachableServerWait::begin();
    loop {
        let server = match manager.store().server_of_session(&session).await {
            Ok(server) => server?,
            Err(error) => return Some(Err(error.session(&*session))),
        };
        // The next call of the client waits until this one is in the queue of its session.
        if let Some(turn) = &invocation.turn {
            turn.wait().await;
        }
        let call = ForwardedCall::new(invocation, &session);
        let Invocation { progress, turn, .. } = &mut *invocation;
        match forwarder.forward(&server, &call, progress, turn).await {
            Ok(Some(outcome)) => return Some(Ok(outcome)),
            Ok(None) if wait.pause().await => {}
            Ok(None) => return Some(Err(unreachable(&session, &server))),
            Err(error) => return Some(Err(error.session(&*session))),
        }
    }
}

fn unreachable(session: &str, server: &ServerEndpoint) -> TroupeError {
    TroupeError::new(
        ErrorCode::ServerUnavailable,
        format!(
            "session `{session}` is in use by the server at {}, which cannot be reached; the call did not run",
            server.url
        ),
    )
    .suggestion("call again; check that the servers can reach each other at --advertise-url")
    .session(session)
}
