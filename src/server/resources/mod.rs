//! Resources: the contents of a client's sessions, to list, read and subscribe to.
//!
//! `list` lists them, `read` reads one, `watch` sends notifications of changes.
//! `tools::ResourceUri` has their URIs.

mod list;
mod read;
mod watch;

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        MetaObject, ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
        SubscriptionFilter,
    },
    service::{Peer, SubscriptionContext},
};
use serde_json::{Value, json};

use self::{
    read::ResourceBody,
    watch::{NotificationSink, ResourceRevision, state, watch},
};
use crate::{
    error::{ErrorCode, TroupeError},
    page::ChangeCounter,
    session::{Connection, SessionManager},
    tools::{Registry, ResourceUri},
};

/// Maximum number of subscriptions of a client.
const MAX_SUBSCRIPTIONS: usize = 500;

pub(super) fn list(connection: &Connection, manager: &SessionManager) -> Vec<Resource> {
    list::all(connection, manager)
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    list::templates()
}

/// Reads a resource. A session id is a capability token, so the URI is sufficient to read it.
pub(super) async fn read(
    connection: &Connection,
    registry: &Registry,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let parsed = ResourceUri::parse(uri).map_err(|error| not_found(uri, &error.to_string()))?;
    let refused = |error: TroupeError| refusal(uri, &registry.with_offered_tools(error));
    let session = connection.session(registry.manager(), &parsed.session).await.map_err(refused)?;
    let contents = match read::read(&session, &parsed).await.map_err(refused)? {
        ResourceBody::Json(json) => {
            ResourceContents::text(json, uri).with_mime_type("application/json")
        }
        ResourceBody::Picture(taken) => {
            let contents =
                ResourceContents::blob(taken.data.clone(), uri).with_mime_type(taken.mime_type);
            match read::about(&taken) {
                Value::Object(metadata) => contents.with_meta(MetaObject(metadata)),
                _ => contents,
            }
        }
    };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn not_found(uri: &str, problem: &str) -> ErrorData {
    ErrorData::resource_not_found(problem.to_owned(), Some(json!({"uri": uri})))
}

/// Returns the error for a resource that does not exist or cannot be read now.
fn refusal(uri: &str, error: &TroupeError) -> ErrorData {
    let data = json!({"uri": uri, "error": error});
    match error.code {
        ErrorCode::SessionNotFound
        | ErrorCode::SessionExpired
        | ErrorCode::PageNotFound
        | ErrorCode::RecordNotFound
        | ErrorCode::ElementNotFound => {
            ErrorData::resource_not_found(error.message.clone(), Some(data))
        }
        ErrorCode::InvalidSelector | ErrorCode::InvalidParameters => {
            ErrorData::invalid_params(error.message.clone(), Some(data))
        }
        _ => ErrorData::internal_error(error.message.clone(), Some(data)),
    }
}

/// The subscriptions of a connection's client (until 2025-11-25).
#[derive(Default)]
pub(super) struct Subscriptions {
    watched: Mutex<HashMap<String, ResourceRevision>>,
    change_counter: ChangeCounter,
}

impl Subscriptions {
    /// Creates the subscriptions of a client that had these ones at another server. The resources
    /// count as changed.
    pub fn new(uris: &BTreeSet<String>) -> Self {
        let watched = uris.iter().map(|uri| (uri.clone(), None)).collect();
        Self { watched: Mutex::new(watched), ..Self::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, ResourceRevision>> {
        self.watched.lock()
    }

    pub async fn add(
        &self,
        connection: &Connection,
        manager: &Arc<SessionManager>,
        uri: String,
    ) -> Result<(), ErrorData> {
        let parsed =
            ResourceUri::parse(&uri).map_err(|error| not_found(&uri, &error.to_string()))?;
        connection
            .session(manager, &parsed.session)
            .await
            .map_err(|error| refusal(&uri, &error))?;
        let state = state(connection, manager, &uri);
        let mut watched = self.lock();
        if watched.len() >= MAX_SUBSCRIPTIONS && !watched.contains_key(&uri) {
            let problem = format!("the limit of {MAX_SUBSCRIPTIONS} subscriptions is reached");
            return Err(ErrorData::invalid_params(problem, None));
        }
        watched.entry(uri).or_insert(state);
        drop(watched);
        self.change_counter.increment();
        Ok(())
    }

    pub fn remove(&self, uri: &str) {
        self.lock().remove(uri);
        self.change_counter.increment();
    }
}

/// A client that uses `initialize`. It receives list changes without a subscription.
struct Subscriber<'a> {
    peer: Peer<RoleServer>,
    subscriptions: &'a Subscriptions,
}

impl NotificationSink for Subscriber<'_> {
    fn subscribed(&self) -> HashMap<String, ResourceRevision> {
        self.subscriptions.lock().clone()
    }

    fn subscription_changes(&self) -> &ChangeCounter {
        &self.subscriptions.change_counter
    }

    fn wants_list_changes(&self) -> bool {
        true
    }

    async fn notify_list_changed(&self) -> bool {
        self.peer.notify_resource_list_changed().await.is_ok()
    }

    async fn notify_updated(&self, uri: String) -> bool {
        let param = rmcp::model::ResourceUpdatedNotificationParam::new(uri);
        self.peer.notify_resource_updated(param).await.is_ok()
    }
}

/// Notifies the client of `peer` of changes until it disconnects.
pub(super) async fn serve_subscriber(
    connection: Arc<Connection>,
    manager: Arc<SessionManager>,
    peer: Peer<RoleServer>,
    subscriptions: Arc<Subscriptions>,
) {
    watch(&connection, &manager, &Subscriber { peer, subscriptions: &subscriptions }).await;
}

/// Returns the part of a `subscriptions/listen` that is granted: only resources with a valid URI.
pub(super) fn granted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut granted = requested.clone();
    if let Some(uris) = &mut granted.resource_subscriptions {
        uris.retain(|uri| ResourceUri::parse(uri).is_ok());
        uris.truncate(MAX_SUBSCRIPTIONS);
    }
    granted
}

/// A client of 2026-07-28, which requests each kind of notification.
struct StatelessListener<'a> {
    context: &'a SubscriptionContext,
    watched: HashMap<String, ResourceRevision>,
    change_counter: ChangeCounter,
}

impl NotificationSink for StatelessListener<'_> {
    fn subscribed(&self) -> HashMap<String, ResourceRevision> {
        self.watched.clone()
    }

    fn subscription_changes(&self) -> &ChangeCounter {
        &self.change_counter
    }

    fn wants_list_changes(&self) -> bool {
        self.context.accepted().resources_list_changed == Some(true)
    }

    async fn notify_list_changed(&self) -> bool {
        self.context.sink().notify_resource_list_changed().await.is_ok()
    }

    async fn notify_updated(&self, uri: String) -> bool {
        self.context.sink().notify_resource_updated(uri).await.is_ok()
    }
}

/// Notifies the client of `context` of changes until it disconnects or unsubscribes.
pub(super) async fn serve_listener(
    connection: &Connection,
    manager: &Arc<SessionManager>,
    context: &SubscriptionContext,
) {
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let mut watched = HashMap::with_capacity(uris.len());
    for uri in uris {
        // This makes the session known to the connection.
        if let Ok(parsed) = ResourceUri::parse(&uri) {
            let _ = connection.session(manager, &parsed.session).await;
        }
        let state = state(connection, manager, &uri);
        watched.insert(uri, state);
    }
    let listener = StatelessListener { context, watched, change_counter: ChangeCounter::default() };
    watch(connection, manager, &listener).await;
}
