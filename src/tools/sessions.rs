//! Tools that make, end and list sessions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tool::{Group, ServerCall, Tool, tool};
use crate::{
    config::Viewport,
    error::Result,
    session::{CreateOptions, SessionInfo},
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "create_session",
            Group::Session,
            "Open an isolated browser session. Use one for each task or identity; its id goes into later calls.",
        )
        .server(create),
        tool("close_session", Group::Session, "End a session and everything in it, when its task is done.")
            .destructive()
            .server(close),
        tool("list_sessions", Group::Session, "List your sessions with their pages and expiry.").read_only().server(list),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CreateParameters {
    user_agent: Option<String>,
    viewport: Option<ViewportParameters>,
    /// BCP 47, such as de-DE
    locale: Option<String>,
    /// IANA, such as Europe/Berlin
    timezone: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct ViewportParameters {
    #[schemars(range(min = 1, max = 10000))]
    width: u32,
    #[schemars(range(min = 1, max = 10000))]
    height: u32,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Created {
    session_id: String,
    /// Milliseconds since 1970.
    expires_at: u64,
    message: String,
}

async fn create(call: ServerCall, given: CreateParameters) -> Result<Created> {
    let mut context = call.manager.config().context.clone();
    if let Some(ViewportParameters { width, height }) = given.viewport {
        context.viewport = Some(Viewport { width, height });
    }
    context.user_agent = given.user_agent.or(context.user_agent);
    context.locale = given.locale.or(context.locale);
    context.timezone = given.timezone.or(context.timezone);
    let session = call.manager.create(CreateOptions { context: Some(context) }).await?;
    call.connection.note_created(session.id.clone());
    Ok(Created {
        session_id: session.id.to_string(),
        expires_at: session.expires_at().unwrap_or_default(),
        message: "The session is open. Pass its sessionId in later calls, and close it when done.".to_owned(),
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct CloseParameters {
    session_id: String,
}

#[derive(Serialize, JsonSchema)]
struct Closed {
    success: bool,
    message: String,
}

async fn close(call: ServerCall, given: CloseParameters) -> Result<Closed> {
    call.manager.close(&given.session_id).await?;
    call.connection.note_closed(&given.session_id);
    Ok(Closed { success: true, message: format!("Session {} is closed.", given.session_id) })
}

#[derive(Deserialize, JsonSchema)]
struct ListParameters {}

#[derive(Serialize, JsonSchema)]
struct Sessions {
    sessions: Vec<SessionInfo>,
}

async fn list(call: ServerCall, _given: ListParameters) -> Result<Sessions> {
    let sessions = call.manager.list();
    let known = sessions.iter().filter(|session| call.connection.knows(&session.id));
    Ok(Sessions { sessions: known.map(|session| session.info()).collect() })
}
