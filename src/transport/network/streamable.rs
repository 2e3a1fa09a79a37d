//! Streamable HTTP at `/mcp`, based on rmcp's service.
//!
//! rmcp creates a handler before it has identified the client. So each request has its own service,
//! which consists of a few pointers, with its client: the one with its `Mcp-Session-Id`, or a new
//! one. rmcp's timer for idle sessions is disabled, because it also ends sessions in a long call
//! without output. `clients` has Troupe's own timer.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use async_trait::async_trait;
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::{Stream, StreamExt, future::BoxFuture, stream};
use http_body_util::{BodyExt, Full};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        WorkerTransport,
        common::server_side_http::ServerSseMessage,
        streamable_http_server::{
            SessionId, SessionManager, StreamableHttpServerConfig, StreamableHttpService,
            session::{
                RestoreOutcome, SessionState, SessionStore, SessionStoreError,
                local::{LocalSessionManager, LocalSessionManagerError, LocalSessionWorker},
            },
        },
    },
};
use serde_json::{Value, json};

use super::{
    ServerState, batch,
    clients::{AttachError, AttachedClient, Clients},
    dashboard::UserLinks,
    events::{ClientEvents, EventBuffers},
    forwarded::ClientAddress,
    other_servers::{self, ClientLocation, locate},
    problem, request,
};
use crate::{
    server::{DashboardLinks, Handler},
    session::Connection,
    transport::{local::COMMAND_HEADER, messages},
};

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");
/// Interval of writes to a stream without events. Without them, a proxy may close the connection.
const STREAM_KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Events within this time are sent together with the head of the response. Most calls are answered
/// within it.
const FIRST_EVENTS_TIMEOUT: Duration = Duration::from_millis(10);
/// Maximum number of events that are sent together with the head.
const MAX_FIRST_EVENTS: usize = 16;

/// Handles a request to `/mcp`.
pub(super) async fn serve(State(state): State<ServerState>, request: Request) -> Response {
    serve_client(state, request, false).await
}

/// Handles a request to `/mcp` that another server has passed on.
pub(super) async fn serve_passed_on(
    State(state): State<ServerState>,
    mut request: Request,
) -> Response {
    if let Some(refusal) = other_servers::refusal(&state, request.headers()) {
        return refusal;
    }
    request.headers_mut().remove(other_servers::SECRET);
    serve_client(state, request, true).await
}

async fn serve_client(state: ServerState, request: Request, is_passed_on: bool) -> Response {
    let (mut parts, body) = request.into_parts();
    move_session_id_to_header(&mut parts);
    let id = parts.headers.get(SESSION_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let mut known = id.as_deref().and_then(|id| state.clients.get_verified(id));
    let mut body = body;
    if let (Some(id), None) = (&id, &known) {
        if !state.server.registry().manager().store().is_shared() {
            return problem(StatusCode::NOT_FOUND, "SESSION_NOT_FOUND", "unknown Mcp-Session-Id");
        }
        let read = match request::body(&parts.headers, body, state.request_timeout).await {
            Ok(read) => read,
            Err(error) => return error.into_response(),
        };
        let located = locate(&state, id, &parts, &read, is_passed_on, shake_hands);
        match Box::pin(located).await {
            ClientLocation::Here(client) => known = Some(client),
            ClientLocation::Answered(response) => return response,
        }
        body = Body::from(read);
    }
    if let (&Method::DELETE, Some(id)) = (&parts.method, &id) {
        // A task, so that it completes even if the client disconnects.
        let (clients, id) = (state.clients.clone(), id.clone());
        let _ = tokio::spawn(async move { clients.detach(&id).await }).await;
        return StatusCode::NO_CONTENT.into_response();
    }
    // The client counts as present until the response has been sent or the client has disconnected.
    let presence = known.as_ref().map(|client| client.connection.mark_present());
    let body = match request::body(&parts.headers, body, state.request_timeout).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let is_post = parts.method == Method::POST;
    let client = known.clone().unwrap_or_else(|| {
        // The clients of a socket all belong to its owner.
        let connection = match state.is_private {
            true if parts.headers.contains_key(COMMAND_HEADER) => Connection::command(),
            true => Connection::monitor(),
            false => {
                let address = parts.extensions.get::<ClientAddress>().map(|client| client.0);
                Connection::stateless().with_address(address)
            }
        };
        AttachedClient::new(connection, &state.stop, &state.end)
    });
    let batch = if is_post && known.is_some() { batch::of(&parts.headers, &body) } else { None };
    let response = match batch {
        Some(batch) => {
            let handle_one = |body| {
                let (state, client, parts) = (state.clone(), client.clone(), parts.clone());
                async move { handle(&state, client, parts, body).await }
            };
            batch::answer(batch, handle_one).await
        }
        None => handle(&state, client, parts, body).await,
    };
    let answer = known.filter(|_| is_post).map(|client| client.pending_answers.token());
    disable_proxy_buffering(response).map(|body| {
        Body::new(body.map_frame(move |frame| {
            let _until_sent = (&presence, &answer);
            frame
        }))
    })
}

/// Adds the header that keeps NGINX and other proxies from buffering an event stream.
fn disable_proxy_buffering(mut response: Response) -> Response {
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream")) {
        response.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    }
    response
}

/// Handles one message of `client`.
async fn handle(
    state: &ServerState,
    client: Arc<AttachedClient>,
    parts: Parts,
    body: Bytes,
) -> Response {
    let sessions = Arc::new(ProtocolSessions::new(state, client));
    let links = UserLinks::of(state, &parts.uri, &parts.headers);
    let service = service(state, sessions.clone(), links);
    let response = service.handle(Request::from_parts(parts, Full::new(body.clone()))).await;
    if let Some(error) = sessions.rejection.get() {
        return error.response();
    }
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(refusal) = invalid_body(&body)
    {
        return refusal;
    }
    response.map(Body::new)
}

/// Repeats the handshake of the client `id` with rmcp, by a ping in the name of the client.
fn shake_hands(
    state: ServerState,
    client: Arc<AttachedClient>,
    id: Arc<str>,
    revision: String,
) -> BoxFuture<'static, bool> {
    let ping = json!({"jsonrpc": "2.0", "id": "restore", "method": "ping"});
    let request = Request::builder()
        .method(Method::POST)
        .uri("/mcp")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json, text/event-stream")
        .header(SESSION_ID, &*id)
        .header("mcp-protocol-version", revision)
        .body(Body::empty());
    Box::pin(async move {
        let Ok(request) = request else { return false };
        let (parts, _) = request.into_parts();
        let response = handle(&state, client, parts, ping.to_string().into()).await;
        response.status().is_success() && response.into_body().collect().await.is_ok()
    })
}

/// Moves the session id of a DELETE from the query to the header.
fn move_session_id_to_header(parts: &mut Parts) {
    if parts.method != Method::DELETE || parts.headers.contains_key(SESSION_ID) {
        return;
    }
    let named = parts.uri.query().and_then(|query| {
        url::form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| name == "session")
            .map(|(_, id)| id)
    });
    let named = named.and_then(|id| HeaderValue::from_str(&id).ok());
    parts.headers.extend(named.map(|id| (SESSION_ID, id)));
}

/// Returns the error response to a body that is not exactly one message.
fn invalid_body(body: &[u8]) -> Option<Response> {
    let refusal = match &messages::read(body, &Connection::default())[..] {
        [Err(refusal)] => refusal.clone(),
        [] => messages::refusal(Value::Null, -32600, "the body contains no request"),
        [_, _, ..] => {
            messages::refusal(Value::Null, -32600, "the body must contain exactly one message")
        }
        // The message is valid, so the media type is wrong.
        [Ok(_)] => return None,
    };
    let json = [(header::CONTENT_TYPE, "application/json")];
    Some((StatusCode::BAD_REQUEST, json, refusal.to_string()).into_response())
}

/// rmcp's service for one request.
fn service(
    state: &ServerState,
    sessions: Arc<ProtocolSessions>,
    links: Option<Arc<dyn DashboardLinks>>,
) -> StreamableHttpService<Handler, ProtocolSessions> {
    let client = &sessions.client;
    let handler = state.server.handler(client.connection.clone(), client.ended.clone());
    let handler = handler.with_links(links);
    // The guard checks `Host` and `Origin`.
    let mut config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    config.max_request_body_bytes = request::MAX_BODY;
    config.sse_keep_alive = Some(STREAM_KEEP_ALIVE);
    config.cancellation_token = client.closed.clone();
    if state.server.registry().manager().store().is_shared() {
        config.session_store = Some(Arc::new(InitializeStore(sessions.clone())));
    }
    StreamableHttpService::new(move || Ok(handler.clone()), sessions, config)
}

/// Returns a manager of protocol sessions whose events are stored in `events`.
fn protocol(events: Arc<ClientEvents>) -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default().with_event_store(events);
    sessions.session_config.keep_alive = None;
    // `events` stores the responses. rmcp would iterate over all its copies for each message.
    sessions.session_config.completed_cache_ttl = Duration::ZERO;
    sessions
}

/// Waits shortly for the first events of a stream. Returns the stream.
async fn with_first_events<Item: Send + Sync + 'static>(
    items: impl Stream<Item = Item> + Send + Sync + 'static,
) -> impl Stream<Item = Item> + Send + Sync + 'static {
    let mut items = Box::pin(items.fuse());
    let mut first = Vec::new();
    let gathering = async {
        while first.len() < MAX_FIRST_EVENTS
            && let Some(event) = items.next().await
        {
            first.push(event);
        }
    };
    // Later events are sent when they arrive.
    let _ = tokio::time::timeout(FIRST_EVENTS_TIMEOUT, gathering).await;
    stream::iter(first).chain(items)
}

/// Stores the parameters of `initialize` with which rmcp restores a session.
struct InitializeStore(Arc<ProtocolSessions>);

#[async_trait]
impl SessionStore for InitializeStore {
    async fn load(&self, _id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let parameters =
            self.0.client.connection.read_settings(|settings| settings.initialize.clone());
        Ok(Some(SessionState::new(serde_json::from_value(parameters)?)))
    }

    async fn store(&self, _id: &str, state: &SessionState) -> Result<(), SessionStoreError> {
        let parameters = serde_json::to_value(&state.initialize_params)?;
        let connection = &self.0.client.connection;
        connection.change_settings(|settings| settings.initialize = parameters);
        // The client gets its id only when another server could continue to serve it.
        self.0.clients.flush().await;
        Ok(())
    }

    async fn delete(&self, _id: &str) -> Result<(), SessionStoreError> {
        Ok(())
    }
}

/// The protocol sessions for one request.
struct ProtocolSessions {
    protocol: Arc<LocalSessionManager>,
    events: Arc<EventBuffers>,
    clients: Arc<Clients>,
    /// The client of the request.
    client: Arc<AttachedClient>,
    /// Why no session was created.
    rejection: OnceLock<AttachError>,
}

impl ProtocolSessions {
    fn new(state: &ServerState, client: Arc<AttachedClient>) -> Self {
        Self {
            protocol: state.protocol.clone(),
            events: state.events.clone(),
            clients: state.clients.clone(),
            client,
            rejection: OnceLock::new(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum ProtocolSessionsError {
    #[error(transparent)]
    Protocol(#[from] LocalSessionManagerError),
    #[error(transparent)]
    Attach(#[from] AttachError),
    #[error("the events of that stream are no longer stored")]
    Forgotten,
}

impl SessionManager for ProtocolSessions {
    type Error = ProtocolSessionsError;
    type Transport = WorkerTransport<LocalSessionWorker>;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), ProtocolSessionsError> {
        // rmcp's event store does not know which session an event belongs to. So each session is
        // created in a manager with its own store, and then moved to the manager of all sessions.
        let events = Arc::new(ClientEvents::new(self.events.clone()));
        let creator = protocol(events.clone());
        let (id, transport) = creator.create_session().await?;
        events.set_session(id.clone());
        self.protocol.sessions.write().await.extend(creator.sessions.write().await.drain());
        if let Err(error) = self.clients.attach(&id, self.client.clone()) {
            self.protocol.close_session(&id).await?;
            let _ = self.rejection.set(error.clone());
            return Err(error.into());
        }
        Ok((id, transport))
    }

    async fn restore_session(
        &self,
        id: SessionId,
    ) -> Result<RestoreOutcome<Self::Transport>, ProtocolSessionsError> {
        let client = self.clients.get(&id);
        if !client.is_some_and(|client| Arc::ptr_eq(&client, &self.client)) {
            return Ok(RestoreOutcome::NotSupported);
        }
        let events = Arc::new(ClientEvents::new(self.events.clone()));
        let creator = protocol(events.clone());
        let restored = creator.restore_session(id.clone()).await?;
        events.set_session(id);
        self.protocol.sessions.write().await.extend(creator.sessions.write().await.drain());
        Ok(restored)
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, ProtocolSessionsError> {
        Ok(self.protocol.initialize_session(id, message).await?)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, ProtocolSessionsError> {
        Ok(self.protocol.has_session(id).await?)
    }

    /// Called when the protocol session has ended for any reason.
    async fn close_session(&self, id: &SessionId) -> Result<(), ProtocolSessionsError> {
        self.clients.detach(id).await;
        self.events.forget(id);
        Ok(self.protocol.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, ProtocolSessionsError>
    {
        messages::take_turn(&mut message, &self.client.connection);
        Ok(with_first_events(self.protocol.create_stream(id, message).await?).await)
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), ProtocolSessionsError> {
        Ok(self.protocol.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, ProtocolSessionsError>
    {
        Ok(self.events.standalone_stream(id))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, ProtocolSessionsError>
    {
        self.events.resume_after(id, &last_event_id).ok_or(ProtocolSessionsError::Forgotten)
    }
}
