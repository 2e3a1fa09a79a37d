//! Sends requests to a Selenium Grid.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    config::redacted_endpoint,
    engine::{
        connection::{AttachFailure, BrowserAddress, HttpEndpoint},
        remote::connect_failure::RemoteConnectFailure,
    },
};

/// Timeout for a response, except for the response to a request for a session.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Timeout in the queue of the Grid. The Grid has its own limit, which is 5 minutes by default.
pub(super) const QUEUE_TIMEOUT: Duration = Duration::from_secs(600);
/// The capability that identifies a request for a session.
const REQUEST_CAPABILITY: &str = "troupe:request";

/// An HTTP client for a Selenium Grid.
pub(super) struct GridClient {
    endpoint: HttpEndpoint,
    /// The Grid's URL without credentials.
    pub shown: String,
}

/// A session that the Grid has created.
pub(super) struct CreatedSession {
    pub id: String,
    pub capabilities: Map<String, Value>,
}

#[derive(Deserialize)]
struct GridResponse<T> {
    value: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionValue {
    session_id: String,
    capabilities: Map<String, Value>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct GridError {
    error: String,
    message: String,
}

#[derive(Deserialize)]
struct GridStatus {
    #[serde(default)]
    nodes: Vec<GridNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GridNode {
    /// Milliseconds.
    session_timeout: Option<u64>,
    #[serde(default)]
    slots: Vec<GridSlot>,
}

#[derive(Deserialize)]
struct GridSlot {
    session: Option<SessionValue>,
}

impl GridClient {
    pub fn new(url: &str, headers: &[String]) -> Result<Self, AttachFailure> {
        let endpoint = HttpEndpoint::new(BrowserAddress::new(url, headers)?)?;
        Ok(Self { endpoint, shown: redacted_endpoint(url) })
    }

    /// Returns the address of a WebSocket that the Grid names.
    pub fn websocket(&self, url: &str) -> Result<BrowserAddress, AttachFailure> {
        self.endpoint.websocket(url)
    }

    /// Returns the shortest time after which a node ends an idle session. `None` if it is unknown.
    pub async fn session_timeout(&self) -> Result<Option<Duration>, AttachFailure> {
        let status = self.status().await?;
        let timeouts = status.iter().flat_map(|status| &status.nodes);
        Ok(timeouts.filter_map(|node| node.session_timeout).min().map(Duration::from_millis))
    }

    /// Returns the id of the session that `request` created.
    pub async fn find_session(&self, request: &str) -> Result<Option<String>, AttachFailure> {
        let nodes = self.status().await?.map(|status| status.nodes).unwrap_or_default();
        let sessions =
            nodes.into_iter().flat_map(|node| node.slots).filter_map(|slot| slot.session);
        let is_requested = |session: &SessionValue| {
            session.capabilities.get(REQUEST_CAPABILITY).is_some_and(|value| value == request)
        };
        Ok(sessions.into_iter().find(is_requested).map(|session| session.session_id))
    }

    /// Reads the state of the Grid. Returns `None` if the service does not report it.
    async fn status(&self) -> Result<Option<GridStatus>, AttachFailure> {
        let (status, body) =
            self.endpoint.send(Method::GET, "/status", None, RESPONSE_TIMEOUT).await?;
        let read = || serde_json::from_slice::<GridResponse<GridStatus>>(&body).ok();
        Ok(status.is_success().then(read).flatten().map(|response| response.value))
    }

    /// Creates a session. Waits in the queue of the Grid.
    pub async fn create(
        &self,
        mut capabilities: Map<String, Value>,
        request: &str,
    ) -> Result<CreatedSession, RemoteConnectFailure> {
        capabilities.insert(REQUEST_CAPABILITY.to_owned(), json!(request));
        let body = json!({"capabilities": {"alwaysMatch": capabilities}}).to_string();
        let sent = self.endpoint.send(Method::POST, "/session", Some(body), QUEUE_TIMEOUT).await;
        let (status, body) = sent.map_err(|failure| self.with_grid_url(failure))?;
        if status.is_success() {
            let read = serde_json::from_slice::<GridResponse<SessionValue>>(&body);
            let SessionValue { session_id, capabilities } = read
                .map_err(|_| self.with_grid_url(AttachFailure::new("it is not a Selenium Grid")))?
                .value;
            return Ok(CreatedSession { id: session_id, capabilities });
        }
        let error = serde_json::from_slice::<GridResponse<GridError>>(&body);
        Err(self.refusal(status, error.map(|response| response.value).unwrap_or_default()))
    }

    fn refusal(&self, status: StatusCode, error: GridError) -> RemoteConnectFailure {
        let message = error.message.lines().next().unwrap_or_default().trim();
        let is_overload =
            matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE);
        if is_overload || error.error == "session not created" && is_queue_message(message) {
            let shown = &self.shown;
            let message = if message.is_empty() { status.to_string() } else { message.to_owned() };
            return RemoteConnectFailure::NoFreeSlot { reason: format!("`{shown}`: {message}") };
        }
        if message.is_empty() {
            return self.with_grid_url(AttachFailure::status(status)).into();
        }
        let failure = self.with_grid_url(AttachFailure::new(message));
        RemoteConnectFailure::Unreachable(AttachFailure {
            suggestion: Some(
                "look at the log of the Grid's node, and check --browser and --grid-capability"
                    .to_owned(),
            ),
            is_permanent: true,
            ..failure
        })
    }

    /// Adds the URL of the Grid to the reason.
    fn with_grid_url(&self, failure: AttachFailure) -> AttachFailure {
        let reason = format!("the Selenium Grid `{}`: {}", self.shown, failure.reason);
        AttachFailure { reason, ..failure }
    }

    /// Sends a command that changes nothing, so that the Grid does not end the idle session.
    /// Returns whether the session exists.
    pub async fn keep_alive(&self, id: &str) -> Result<bool, AttachFailure> {
        self.command(Method::GET, &format!("/session/{id}/timeouts")).await
    }

    /// Deletes a session. Also succeeds if the session does not exist.
    pub async fn delete(&self, id: &str) -> Result<(), AttachFailure> {
        self.command(Method::DELETE, &format!("/session/{id}")).await.map(drop)
    }

    async fn command(&self, method: Method, path: &str) -> Result<bool, AttachFailure> {
        let (status, _) = self.endpoint.send(method, path, None, RESPONSE_TIMEOUT).await?;
        match status {
            StatusCode::NOT_FOUND => Ok(false),
            status if status.is_success() => Ok(true),
            status => Err(self.with_grid_url(AttachFailure::status(status))),
        }
    }
}

/// Returns whether the Grid's message is about its queue. Other messages come from a browser's
/// driver, or name capabilities that no node has.
fn is_queue_message(message: &str) -> bool {
    let is_of_driver = message.contains("Response code") || message.contains("driver service");
    let is_unknown = message.contains("No nodes support");
    !is_of_driver && !is_unknown
}
