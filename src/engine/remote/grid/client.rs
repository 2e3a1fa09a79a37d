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
/// The capability that requests a folder for the downloads of the session on the node.
pub(super) const DOWNLOADS_CAPABILITY: &str = "se:downloadsEnabled";

/// An HTTP client for a Selenium Grid.
pub(super) struct GridClient {
    endpoint: HttpEndpoint,
    /// The Grid's URL without credentials.
    pub redacted_url: String,
}

/// A session that the Grid has created.
pub(super) struct CreatedSession {
    pub id: String,
    pub capabilities: Map<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct GridResponse<T> {
    pub value: T,
}

/// The properties of the nodes that a request for a session depends on.
#[derive(Default)]
pub(super) struct GridProperties {
    /// The shortest time after which a node ends an idle session. `None` if it is unknown.
    pub session_timeout: Option<Duration>,
    stereotypes: Vec<Map<String, Value>>,
}

impl GridProperties {
    /// Returns whether each slot for the browser has managed downloads. Only then a request with
    /// that capability can get every slot.
    pub fn manages_downloads(&self, browser: &str) -> bool {
        let is_of_browser = |stereotype: &&Map<String, Value>| {
            let name = stereotype.get("browserName").and_then(Value::as_str);
            name.is_some_and(|name| name.eq_ignore_ascii_case(browser))
        };
        let mut slots = self.stereotypes.iter().filter(is_of_browser).peekable();
        slots.peek().is_some()
            && slots.all(|slot| slot.get(DOWNLOADS_CAPABILITY) == Some(&Value::Bool(true)))
    }
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
    /// The capabilities of the slot.
    #[serde(default)]
    stereotype: Map<String, Value>,
    session: Option<SessionValue>,
}

impl GridClient {
    pub fn new(url: &str, headers: &[String]) -> Result<Self, AttachFailure> {
        let endpoint = HttpEndpoint::new(BrowserAddress::new(url, headers)?)?;
        Ok(Self { endpoint, redacted_url: redacted_endpoint(url) })
    }

    /// Returns the address of a WebSocket that the Grid names.
    pub fn websocket(&self, url: &str) -> Result<BrowserAddress, AttachFailure> {
        self.endpoint.websocket(url)
    }

    /// Returns the properties of the nodes, as far as the Grid reports them.
    pub async fn properties(&self) -> Result<GridProperties, AttachFailure> {
        let nodes = self.status().await?.map(|status| status.nodes).unwrap_or_default();
        let timeouts = nodes.iter().filter_map(|node| node.session_timeout);
        let session_timeout = timeouts.min().map(Duration::from_millis);
        let slots = nodes.into_iter().flat_map(|node| node.slots);
        let stereotypes = slots.map(|slot| slot.stereotype).collect();
        Ok(GridProperties { session_timeout, stereotypes })
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
                .map_err(|_| {
                    self.with_grid_url(AttachFailure::new(
                        "its response to POST /session is not that of a Selenium Grid",
                    ))
                })?
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
            let shown = &self.redacted_url;
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
        let reason = format!("the Selenium Grid `{}`: {}", self.redacted_url, failure.reason);
        AttachFailure { reason, ..failure }
    }

    /// Sends a request to a file endpoint, and returns the response of up to `max_body` bytes.
    pub async fn transfer(
        &self,
        method: Method,
        path: &str,
        json: Option<String>,
        timeout: Duration,
        max_body: usize,
    ) -> Result<Vec<u8>, AttachFailure> {
        let sent = self.endpoint.transfer(method, path, json, timeout, max_body).await;
        let (status, body) = sent?;
        if status.is_success() {
            return Ok(body);
        }
        let error = serde_json::from_slice::<GridResponse<GridError>>(&body);
        let message = error.map(|response| response.value.message).unwrap_or_default();
        match message.lines().next().map(str::trim) {
            None | Some("") => Err(AttachFailure::status(status)),
            Some(message) => Err(AttachFailure::new(message)),
        }
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
