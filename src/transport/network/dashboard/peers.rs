//! Shows other servers of this user in one dashboard. Requests for their sessions are sent to their
//! private sockets, with the viewer's access in headers. Each server enforces it like that of a
//! cookie.

use std::{
    cmp::Reverse,
    collections::HashSet,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::{
    Extension, Json,
    body::{Body, to_bytes},
    extract::{Query, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::future::join_all;
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::{super::ServerState, figures::Figures, links::Access};
use crate::{
    dashboard::MAX_CALLS,
    transport::local::{self, ServersFolder},
};

/// The default number of calls in a page.
pub(super) const CALLS: usize = 50;
/// Timeout for a response of another server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum duration of an upload.
pub(super) const UPLOAD_TIMEOUT: Duration = Duration::from_secs(1800);
/// Maximum size of a response in bytes.
const MAX_RESPONSE: usize = 64 << 20;
/// The path of the dashboard's API.
const API: &str = "/dashboard/api";
/// The headers with the viewer's access in requests to a private socket.
const READ_ONLY: HeaderName = HeaderName::from_static("troupe-read-only");
const SESSION: HeaderName = HeaderName::from_static("troupe-session");
const PERSON: HeaderName = HeaderName::from_static("troupe-person");
/// The headers of a response that are sent to the viewer.
const FORWARDED_HEADERS: [HeaderName; 3] =
    [header::CONTENT_TYPE, header::CONTENT_DISPOSITION, header::CACHE_CONTROL];

/// Returns the access of the sender of a request to a private socket: that of its headers, or full
/// access without them.
pub(super) fn forwarded_access(headers: &HeaderMap) -> Access {
    let text = |name: &HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    Access {
        read_only: headers.contains_key(READ_ONLY),
        person: text(&PERSON).unwrap_or("local").into(),
        session: text(&SESSION).map(Into::into),
        expires_at: None,
    }
}

/// The other running servers of this user.
pub(in crate::transport::network) struct PeerServers(ServersFolder);

impl PeerServers {
    pub fn of_this_user() -> Option<Self> {
        ServersFolder::of_this_user().map(Self)
    }

    /// Returns the sockets of the running servers.
    pub async fn sockets(&self) -> Vec<PathBuf> {
        let folder = self.0.clone();
        tokio::task::spawn_blocking(move || folder.running()).await.unwrap_or_default()
    }

    /// Sends a request to all servers, and returns the successful responses.
    async fn request_all(
        &self,
        access: &Access,
        method: &Method,
        path: &str,
    ) -> Vec<(PathBuf, Response)> {
        let sockets = self.sockets().await;
        let requests = sockets.into_iter().map(async |socket| {
            let response = forward(&socket, access, method, path, Body::empty()).await.ok()?;
            response.status().is_success().then_some((socket, response))
        });
        join_all(requests).await.into_iter().flatten().collect()
    }

    async fn read_all(&self, access: &Access, path: &str) -> Vec<(PathBuf, Value)> {
        let responses = self.request_all(access, &Method::GET, path).await;
        join_all(
            responses.into_iter().map(async |(socket, response)| (socket, body(response).await)),
        )
        .await
    }

    /// Returns whether the session `id` is running, and the servers that know it. If it is running,
    /// returns only its server.
    async fn owners(&self, access: &Access, id: &str) -> (bool, Vec<PathBuf>) {
        let known = self.read_all(access, &format!("/sessions/{id}")).await;
        match known.iter().find(|(_, session)| session["state"] == "active") {
            Some((socket, _)) => (true, vec![socket.clone()]),
            None => (false, known.into_iter().map(|(socket, _)| socket).collect()),
        }
    }
}

/// Adds the headers with the access of the viewer.
pub(super) fn add_access(headers: &mut HeaderMap, access: &Access) {
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    if access.read_only {
        headers.insert(READ_ONLY, HeaderValue::from_static("1"));
    }
    for (name, text) in [(PERSON, Some(&access.person)), (SESSION, access.session.as_ref())] {
        // No session has an id that is not a valid header value.
        let value = |text: &str| HeaderValue::from_str(text).ok();
        let value = text.map(|text| value(text).unwrap_or(HeaderValue::from_static("invalid")));
        headers.extend(value.map(|value| (name, value)));
    }
}

/// Sends a request to the server at `socket`.
async fn forward(
    socket: &Path,
    access: &Access,
    method: &Method,
    path: &str,
    body: Body,
) -> io::Result<Response> {
    let work = async {
        let stream = local::connect(socket).await?;
        let handshake = http1::handshake(TokioIo::new(stream)).await;
        let (mut requests, connection) = handshake.map_err(io::Error::other)?;
        // An error of the connection is reported by its request.
        let _connection = AbortOnDropHandle::new(tokio::spawn(async move {
            let _ = connection.await;
        }));
        let mut request = hyper::Request::new(body);
        *request.method_mut() = method.clone();
        *request.uri_mut() = format!("{API}{path}").parse().map_err(io::Error::other)?;
        add_access(request.headers_mut(), access);
        let (head, body) =
            requests.send_request(request).await.map_err(io::Error::other)?.into_parts();
        let body = Limited::new(body, MAX_RESPONSE).collect().await.map_err(io::Error::other)?;
        let mut response = Response::new(Body::from(body.to_bytes()));
        *response.status_mut() = head.status;
        for name in FORWARDED_HEADERS {
            response.headers_mut().extend(head.headers.get(&name).map(|v| (name, v.clone())));
        }
        Ok(response)
    };
    let is_upload = *method == Method::POST;
    let timeout = if is_upload { UPLOAD_TIMEOUT } else { TIMEOUT };
    tokio::time::timeout(timeout, work).await?
}

/// Returns the JSON of a response.
async fn body(response: Response) -> Value {
    let bytes = to_bytes(response.into_body(), MAX_RESPONSE).await;
    bytes.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Merges the responses of other servers into the response of this one. Without other servers,
/// returns the response unchanged.
pub(super) async fn include_peers(
    State(state): State<ServerState>,
    Extension(access): Extension<Access>,
    request: Request,
    next: Next,
) -> Response {
    let Some(peers) = &state.peers else { return next.run(request).await };
    let method = request.method().clone();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let path = path.rsplit_once(API).map_or(&*path, |(_, path)| path).to_owned();
    let steps = path.split('?').next().unwrap_or_default().split('/').skip(1);
    match *steps.collect::<Vec<_>>() {
        ["sessions"] => merged(peers, &access, &path, "sessions", next.run(request).await).await,
        ["search"] => merged(peers, &access, &path, "calls", next.run(request).await).await,
        ["metrics"] if access.session.is_none() => {
            let mut sum = Figures::default();
            for (_, figures) in peers.read_all(&access, &path).await {
                sum.include(serde_json::from_value(figures).unwrap_or_default());
            }
            Json(sum).into_response()
        }
        ["sessions", id, ..] => {
            let (is_running, owners) = peers.owners(&access, id).await;
            if let Some(socket) = owners.first().filter(|_| is_running) {
                let body = request.into_body();
                let response = forward(socket, &access, &method, &path, body).await;
                return response.unwrap_or_else(unavailable);
            }
            // The record of this dashboard has the sessions that have ended, unless the server has
            // another record.
            let known = state.dashboard.session(id).await;
            match (known, owners.first()) {
                (Ok(None), Some(socket)) => {
                    let body = request.into_body();
                    let response = forward(socket, &access, &method, &path, body).await;
                    response.unwrap_or_else(unavailable)
                }
                _ => next.run(request).await,
            }
        }
        ["calls", ..] => {
            let response = next.run(request).await;
            if response.status() != StatusCode::NOT_FOUND {
                return response;
            }
            let found = peers.request_all(&access, &method, &path).await.into_iter().next();
            found.map_or(response, |(_, response)| response)
        }
        _ => next.run(request).await,
    }
}

fn unavailable(error: io::Error) -> Response {
    let message = format!("the server of this session does not respond: {error}");
    let error = json!({"code": "SERVER_UNAVAILABLE", "message": message,
        "suggestion": "reload the list of sessions"});
    (StatusCode::BAD_GATEWAY, Json(json!({ "error": error }))).into_response()
}

/// Merges the list `field` of the response with those of other servers.
async fn merged(
    peers: &PeerServers,
    access: &Access,
    path: &str,
    field: &str,
    response: Response,
) -> Response {
    if !response.status().is_success() {
        return response;
    }
    let others = peers.read_all(access, path).await.into_iter().map(|(_, found)| found);
    let own_response = body(response).await;
    let lists = others.chain([own_response]).filter_map(|mut list| match list[field].take() {
        Value::Array(list) => Some(list),
        _ => None,
    });
    let mut list: Vec<Value> = lists.flatten().collect();
    if field == "sessions" {
        sort_sessions(&mut list);
    } else {
        list.sort_by_key(|call| Reverse(text(&call["startedAt"])));
    }
    // Servers with the same record list the same ended sessions and calls.
    let mut seen = HashSet::new();
    list.retain(|entry| seen.insert(text(&entry["id"])));
    if field == "calls" {
        list.truncate(limit(path));
    }
    Json(json!({ field: list })).into_response()
}

/// Returns the maximum number of calls that a request for `path` asks for.
fn limit(path: &str) -> usize {
    let query = path.parse().ok().and_then(|uri| Query::<Limit>::try_from_uri(&uri).ok());
    query.and_then(|Query(Limit { limit })| limit).unwrap_or(CALLS).clamp(1, MAX_CALLS)
}

#[derive(Deserialize)]
struct Limit {
    limit: Option<usize>,
}

/// Sorts sessions as one server does: running ones first, and new ones before old ones.
pub(super) fn sort_sessions(sessions: &mut [Value]) {
    sessions.sort_by_key(|session| {
        let is_active = session["state"] == "active";
        let at = if is_active { "createdAt" } else { "lastUsedAt" };
        Reverse((is_active, text(&session[at])))
    });
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_socket_gets_the_access_of_the_viewer() {
        for (read_only, session) in [(false, None), (true, Some("one"))] {
            let person = "p".into();
            let session = session.map(Into::into);
            let access = Access { read_only, person, session, expires_at: None };
            let mut headers = HeaderMap::new();
            add_access(&mut headers, &access);
            assert_eq!(forwarded_access(&headers), access);
        }
    }

    #[test]
    fn the_limit_of_merged_calls_is_that_of_the_request() {
        assert_eq!(limit("/search?text=a"), CALLS);
        assert_eq!(limit("/search?text=a&limit=2"), 2);
        assert_eq!(limit("/search?text=a&limit=0"), 1);
        assert_eq!(limit("/search?text=a&limit=5000"), MAX_CALLS);
    }

    #[test]
    fn a_session_that_is_no_header_value_grants_no_other_session() {
        let session = Some("a\nb".into());
        let access = Access { read_only: false, person: "p".into(), session, expires_at: None };
        let mut headers = HeaderMap::new();
        add_access(&mut headers, &access);
        assert!(forwarded_access(&headers).session.is_some());
    }
}
