//! The HTTP interface of the dashboard. Responses are JSON with camelCase fields.
//!
//! A browser also sends the cookie with requests of pages on other ports of the same host. So
//! requests that change something, and the WebSocket, need an `Origin` header of the dashboard. For
//! other requests, `Sec-Fetch-Site` must not name another site, if the browser sends it.

use std::sync::Arc;

use axum::{
    Extension, Json, Router,
    body::Body,
    extract::{FromRequestParts, Path, Query, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use futures_util::StreamExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    super::{ServerState, metrics, request},
    figures::Figures,
    files,
    links::Access,
    live,
    peers::{self, CALLS, UPLOAD_TIMEOUT},
};
use crate::{
    config::version,
    dashboard::{CallFilter, UploadError},
    error::{HttpStatus, TroupeError},
};

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Returns the routes of the dashboard.
pub(in crate::transport::network) fn routes(state: &ServerState) -> Router<ServerState> {
    let api = Router::new()
        .route("/me", get(me))
        .route("/sessions", get(sessions))
        .route("/sessions/{id}", get(session).delete(delete_session))
        .route("/sessions/{id}/files", post(upload))
        .route("/sessions/{id}/calls", get(calls_of_session))
        .route(
            "/sessions/{id}/report",
            get(async |from: OfSession| export(from, Export::Report).await),
        )
        .route(
            "/sessions/{id}/script",
            get(async |from: OfSession| export(from, Export::Script).await),
        )
        .route("/calls/{id}", get(call))
        .route("/calls/{id}/pictures/{number}", get(picture))
        .route("/search", get(search))
        .route("/metrics", get(figures))
        .route("/live", get(live::upgrade))
        .fallback(async || not_found("the dashboard has no such path"))
        .method_not_allowed_fallback(async || {
            let message = "the path does not have this method";
            failure(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message, "use GET")
        })
        .layer(middleware::from_fn_with_state(state.clone(), peers::include_peers))
        .layer(middleware::from_fn_with_state(state.clone(), authorize));
    Router::new()
        .route("/", get(to_page))
        .route("/dashboard", get(to_page))
        .route("/dashboard/", get(async || file_at("")))
        .route("/dashboard/{*path}", get(async |Path(path): Path<String>| file_at(&path)))
        .route("/dashboard/login", post(log_in))
        .nest("/dashboard/api", api)
}

/// Responds with a file of the page.
fn file_at(path: &str) -> Response {
    files::file(path).unwrap_or_else(|| {
        failure(
            StatusCode::NOT_FOUND,
            "NOT_FOUND",
            "the dashboard has no such file",
            "open `/dashboard/`",
        )
    })
}

/// Returns the route that creates links. It requires the token of the server.
pub(in crate::transport::network) fn link_routes() -> Router<ServerState> {
    Router::new().route("/dashboard/links", post(create_link))
}

/// The body of an error response.
#[derive(Serialize)]
struct Failure<'a> {
    code: &'a str,
    message: &'a str,
    suggestion: &'a str,
}

pub(super) fn failure(status: StatusCode, code: &str, message: &str, suggestion: &str) -> Response {
    (status, Json(json!({"error": Failure { code, message, suggestion }}))).into_response()
}

fn not_found(message: &str) -> Response {
    failure(StatusCode::NOT_FOUND, "NOT_FOUND", message, "open `/dashboard/`")
}

fn no_session(id: &str) -> Response {
    let message = format!("the server and its record have no session `{id}`");
    let suggestion = "reload the list of sessions";
    failure(StatusCode::NOT_FOUND, "SESSION_NOT_FOUND", &message, suggestion)
}

fn failed(error: &TroupeError) -> Response {
    let (HttpStatus::Refused(status) | HttpStatus::Failed(status)) = error.code.row().status;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let suggestion = error.suggestion.as_deref().unwrap_or_default();
    failure(status, error.code.as_str(), &error.message, suggestion)
}

/// Redirects browsers to the page.
async fn to_page(State(state): State<ServerState>) -> Redirect {
    let base = &state.server.registry().manager().config().base_path;
    Redirect::to(&format!("{base}/dashboard/"))
}

/// Returns the name of the cookie. It contains the port, because all ports of a host share cookies.
fn cookie_name(state: &ServerState) -> String {
    format!("troupe-dashboard-{}", state.port)
}

/// Returns the access of the sender of a request; `None` without a valid cookie.
fn access(state: &ServerState, headers: &HeaderMap) -> Option<Access> {
    if state.is_private {
        return Some(peers::forwarded_access(headers));
    }
    let name = cookie_name(state);
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut values = cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(given, _)| *given == name);
    values.find_map(|(_, value)| state.grants.access(value))
}

/// Returns whether a page of this server sent the request. The guard accepts requests of the
/// `--allowed-origins` too, but their pages may not use the dashboard.
fn is_same_origin(headers: &HeaderMap, requires_origin: bool) -> bool {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    match text(&header::ORIGIN) {
        Some(origin) => {
            let host = text(&header::HOST).unwrap_or_default();
            let name = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
            name.is_some_and(|name| name.eq_ignore_ascii_case(host))
        }
        None => {
            !requires_origin
                && text(&FETCH_SITE).is_none_or(|site| matches!(site, "same-origin" | "none"))
        }
    }
}

fn reject_foreign_page() -> Response {
    let message = "the request was not sent by a page of the dashboard";
    failure(StatusCode::FORBIDDEN, "FOREIGN_ORIGIN", message, "open the dashboard with its link")
}

/// Rejects requests of foreign pages, requests without a valid cookie, and changes through
/// read-only links. Adds the `Access` to the other requests.
async fn authorize(State(state): State<ServerState>, mut request: Request, next: Next) -> Response {
    let headers = request.headers();
    let is_change = request.method() != Method::GET && request.method() != Method::HEAD;
    let requires_origin = is_change || headers.contains_key(header::UPGRADE);
    if !state.is_private && !is_same_origin(headers, requires_origin) {
        return reject_foreign_page();
    }
    let Some(access) = access(&state, headers) else {
        let message = "this browser has not opened a valid link of the dashboard";
        return failure(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            message,
            "run `troupe dashboard`, which prints a link that works once",
        );
    };
    if is_change && access.read_only {
        let message = "this link can only show sessions";
        let suggestion = "open a link of `troupe dashboard` without --read-only";
        return failure(StatusCode::FORBIDDEN, "READ_ONLY", message, suggestion);
    }
    request.extensions_mut().insert(access);
    next.run(request).await
}

/// Reads the JSON of a request.
async fn json_body<T: DeserializeOwned>(
    state: &ServerState,
    headers: &HeaderMap,
    body: Body,
) -> Result<T, Response> {
    let bytes = request::body(headers, body, state.request_timeout).await;
    let bytes = bytes.map_err(IntoResponse::into_response)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the body is not the JSON object that the path requires: {error}");
        let suggestion = "see `docs/dashboard.md`";
        failure(StatusCode::BAD_REQUEST, "INVALID_REQUEST", &message, suggestion)
    })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LinkRequest {
    #[serde(default)]
    read_only: bool,
    session: Option<Arc<str>>,
}

async fn create_link(State(state): State<ServerState>, headers: HeaderMap, body: Body) -> Response {
    let request = match json_body::<LinkRequest>(&state, &headers, body).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    if let Some(id) = request.session.as_deref() {
        match state.dashboard.session(id).await {
            Ok(Some(_)) => {}
            Ok(None) => return no_session(id),
            Err(error) => return failed(&error),
        }
    }
    let link = state.grants.create_link(request.read_only, request.session);
    let base = &state.server.registry().manager().config().base_path;
    let valid = link.expires_at.saturating_duration_since(Instant::now());
    Json(json!({
        "path": format!("{base}/dashboard/#token={}", link.secret),
        "validMs": u64::try_from(valid.as_millis()).unwrap_or(u64::MAX),
    }))
    .into_response()
}

#[derive(Deserialize)]
struct Login {
    token: String,
}

async fn log_in(State(state): State<ServerState>, headers: HeaderMap, body: Body) -> Response {
    if !is_same_origin(&headers, true) {
        return reject_foreign_page();
    }
    let login = match json_body::<Login>(&state, &headers, body).await {
        Ok(login) => login,
        Err(response) => return response,
    };
    let Some(granted) = state.grants.open(&login.token) else {
        let message = "the link has been used, or has expired";
        let suggestion = "run `troupe dashboard`, which prints a new link";
        return failure(StatusCode::UNAUTHORIZED, "LINK_INVALID", message, suggestion);
    };
    // A link to one session must not replace a cookie for all sessions.
    if access(&state, &headers).is_some_and(|known| known.covers(&granted)) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let cookie = state.grants.create_cookie(granted);
    let base = &state.server.registry().manager().config().base_path;
    let age = cookie.expires_at.saturating_duration_since(Instant::now()).as_secs();
    let origin = headers.get(header::ORIGIN);
    let is_https = origin.is_some_and(|origin| origin.as_bytes().starts_with(b"https:"));
    let secure = if is_https { "; Secure" } else { "" };
    let cookie = format!(
        "{}={}; HttpOnly; SameSite=Strict; Path={base}/dashboard; Max-Age={age}{secure}",
        cookie_name(&state),
        cookie.secret
    );
    match HeaderValue::from_str(&cookie) {
        Ok(mut value) => {
            value.set_sensitive(true);
            (StatusCode::NO_CONTENT, [(header::SET_COOKIE, value)]).into_response()
        }
        Err(_) => failure(
            StatusCode::INTERNAL_SERVER_ERROR,
            "INTERNAL_ERROR",
            "the cookie cannot be written",
            "check --base-path",
        ),
    }
}

async fn me(Extension(access): Extension<Access>) -> Json<Value> {
    Json(json!({
        "readOnly": access.read_only, "session": access.session, "version": version(),
    }))
}

async fn sessions(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
) -> Response {
    match state.dashboard.sessions().await {
        Ok(mut sessions) => {
            sessions.retain(|session| access.includes(&session.id));
            Json(json!({"sessions": sessions})).into_response()
        }
        Err(error) => failed(&error),
    }
}

/// The id of the session in the path. Requests for a session that `Access` excludes are rejected.
struct AccessibleSession(String);

impl FromRequestParts<ServerState> for AccessibleSession {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, state: &ServerState) -> Result<Self, Response> {
        let (Extension(access), Path(id)) =
            <(Extension<Access>, Path<String>)>::from_request_parts(parts, state).await?;
        if access.includes(&id) { Ok(Self(id)) } else { Err(no_session(&id)) }
    }
}

async fn session(
    State(state): State<ServerState>,
    AccessibleSession(id): AccessibleSession,
) -> Response {
    match state.dashboard.session(&id).await {
        Ok(Some(session)) => Json(session).into_response(),
        Ok(None) => no_session(&id),
        Err(error) => failed(&error),
    }
}

/// Gives the files in the body to the page of a session that has opened a file chooser.
async fn upload(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    AccessibleSession(id): AccessibleSession,
    body: Body,
) -> Response {
    let pause = state.request_timeout;
    let chunks = futures_util::stream::unfold(body.into_data_stream(), async |mut data| {
        let next = tokio::time::timeout(pause, data.next()).await;
        let broken = |what: &str| UploadError::Invalid(what.to_owned());
        let chunk = next.map_err(|_| broken("its sender has paused for too long")).transpose()?;
        let chunk = chunk.and_then(|chunk| chunk.map_err(|_| broken("the connection has ended")));
        Some((chunk, data))
    });
    let uploading = state.dashboard.upload(&id, &access.person, chunks);
    let uploaded = tokio::time::timeout(UPLOAD_TIMEOUT, uploading).await;
    let uploaded =
        uploaded.unwrap_or_else(|_| Err(UploadError::Invalid("it has taken too long".to_owned())));
    let (status, code, suggestion) = match &uploaded {
        Ok(()) => return StatusCode::NO_CONTENT.into_response(),
        Err(UploadError::Page(error)) => return failed(error),
        Err(UploadError::NotHeld) => (StatusCode::CONFLICT, "NOT_HELD", "take control first"),
        Err(UploadError::NoChooser) => {
            (StatusCode::CONFLICT, "NO_CHOOSER", "click the button that opens it")
        }
        Err(UploadError::TooLarge) => {
            (StatusCode::PAYLOAD_TOO_LARGE, "FILES_TOO_LARGE", "choose smaller files")
        }
        Err(UploadError::Invalid(_)) => {
            (StatusCode::BAD_REQUEST, "INVALID_REQUEST", "see `docs/dashboard.md`")
        }
        Err(UploadError::Unwritable(_)) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "FILE_ERROR",
            "check the temporary folder of the server",
        ),
    };
    let message = uploaded.err().map(|error| error.to_string()).unwrap_or_default();
    // The rest of the body is not read.
    ([(header::CONNECTION, "close")], failure(status, code, &message, suggestion)).into_response()
}

async fn delete_session(
    State(state): State<ServerState>,
    AccessibleSession(id): AccessibleSession,
) -> Response {
    match state.dashboard.delete(&id).await {
        Ok(Some(deleted)) if deleted.sessions == 0 => {
            let message = format!("session `{id}` is in use by a running server");
            let suggestion = "close the session first, or wait until it has ended";
            failure(StatusCode::CONFLICT, "SESSION_IN_USE", &message, suggestion)
        }
        Ok(Some(deleted)) => Json(deleted).into_response(),
        Ok(None) => no_session(&id),
        Err(error) => failed(&error),
    }
}

/// The parts of a request for a session.
type OfSession = (State<ServerState>, AccessibleSession);

/// The format in which a session is exported.
enum Export {
    Report,
    Script,
}

/// Responds with the report or the script of a session as a file, which the browser saves and does
/// not render.
async fn export((State(state), AccessibleSession(id)): OfSession, export: Export) -> Response {
    let (extension, kind, exported) = match export {
        Export::Report => ("md", "text/markdown", state.dashboard.report(&id).await),
        Export::Script => ("sh", "text/x-shellscript", state.dashboard.script(&id).await),
    };
    let text = match exported {
        Ok(Some(text)) => text,
        Ok(None) => return no_session(&id),
        Err(error) => return failed(&error),
    };
    let name: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
    let file = format!("attachment; filename=\"troupe-session-{name}.{extension}\"");
    let headers = [
        (header::CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (header::CONTENT_DISPOSITION, file),
    ];
    (headers, text).into_response()
}

#[derive(Deserialize)]
struct CallsQuery {
    before: Option<u64>,
    limit: Option<usize>,
    search: Option<String>,
}

async fn calls_of_session(
    State(state): State<ServerState>,
    AccessibleSession(id): AccessibleSession,
    Query(query): Query<CallsQuery>,
) -> Response {
    let filter = CallFilter {
        session: Some(id),
        text: query.search.filter(|text| !text.is_empty()),
        before: query.before,
        limit: query.limit.unwrap_or(CALLS),
        ..CallFilter::default()
    };
    match state.dashboard.calls(filter).await {
        Ok(page) => Json(page).into_response(),
        Err(error) => failed(&error),
    }
}

#[derive(Deserialize)]
struct SearchQuery {
    text: String,
    limit: Option<usize>,
}

async fn search(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    Query(SearchQuery { text, limit }): Query<SearchQuery>,
) -> Response {
    let session = access.session.as_deref().map(str::to_owned);
    let limit = limit.unwrap_or(CALLS);
    let filter = CallFilter { session, text: Some(text), limit, ..CallFilter::default() };
    match state.dashboard.calls(filter).await {
        Ok(page) => Json(page).into_response(),
        Err(error) => failed(&error),
    }
}

async fn figures(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
) -> Response {
    if access.session.is_some() {
        let message = "this link shows one session, but not the metrics of the server";
        let suggestion = "open a link of `troupe dashboard` without --session";
        return failure(StatusCode::FORBIDDEN, "ONE_SESSION", message, suggestion);
    }
    match metrics::text(&state).await {
        Ok(text) => Json(Figures::of(&text)).into_response(),
        Err(error) => {
            let message = format!("the metrics could not be written: {error}");
            let suggestion = "read the log of the server";
            failure(StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR", &message, suggestion)
        }
    }
}

/// Returns an error response unless the call `id` is recorded, in a session that `access` includes.
async fn check_call(state: &ServerState, access: &Access, id: &str) -> Result<(), Response> {
    let session = state.dashboard.session_of(id).await.map_err(|error| failed(&error))?;
    let is_included = |session: Option<String>| match (session, &access.session) {
        (Some(session), _) => access.includes(&session),
        (None, only) => only.is_none(),
    };
    if session.is_some_and(is_included) {
        return Ok(());
    }
    let message = format!("no recorded call has the id `{id}`");
    let suggestion = "reload the calls of the session";
    Err(failure(StatusCode::NOT_FOUND, "RECORD_NOT_FOUND", &message, suggestion))
}

async fn call(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    Path(id): Path<String>,
) -> Result<Response, Response> {
    check_call(&state, &access, &id).await?;
    Ok(match state.dashboard.call(&id).await {
        Ok(Some(call)) => Json(call).into_response(),
        Ok(None) => not_found("the call has just been deleted"),
        Err(error) => failed(&error),
    })
}

async fn picture(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    Path((id, number)): Path<(String, u64)>,
) -> Result<Response, Response> {
    check_call(&state, &access, &id).await?;
    Ok(match state.dashboard.picture(&id, number).await {
        // Another type could be a document, which the browser would render.
        Ok(Some(picture))
            if matches!(&*picture.mime_type, "image/png" | "image/jpeg" | "image/webp") =>
        {
            ([(header::CONTENT_TYPE, picture.mime_type)], picture.data).into_response()
        }
        Ok(_) => not_found("the call has no such image"),
        Err(error) => failed(&error),
    })
}
