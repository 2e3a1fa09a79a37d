//! Notifies a client when the list of resources or a resource that it has subscribed to has
//! changed.
//!
//! Nothing is queued: the watch compares the current state with the state of its last notification.
//! A client that reads slowly gets one notification for several changes.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::select_all;

use super::list;
use crate::{
    page::ChangeCounter,
    session::{Connection, SessionManager},
    tools::{McpResourceKind, ResourceUri},
};

/// The revision of a resource at the last check; `None` if it does not exist.
pub(super) type ResourceRevision = Option<u64>;

/// A client that receives notifications.
pub(super) trait NotificationSink: Send + Sync {
    /// Returns the current subscriptions of the client, with the state of each resource when it was
    /// subscribed to.
    fn subscribed(&self) -> HashMap<String, ResourceRevision>;
    /// Counts the changes of the subscriptions.
    fn subscription_changes(&self) -> &ChangeCounter;
    fn wants_list_changes(&self) -> bool;
    /// Returns false if the client has disconnected.
    fn notify_list_changed(&self) -> impl Future<Output = bool> + Send;
    fn notify_updated(&self, uri: String) -> impl Future<Output = bool> + Send;
}

/// Notifies `sink` of changes until the client disconnects.
pub(super) async fn watch(
    connection: &Connection,
    manager: &Arc<SessionManager>,
    sink: &impl NotificationSink,
) {
    let mut listed = uris(connection, manager);
    let mut reported: HashMap<String, ResourceRevision> = HashMap::new();
    loop {
        // Subscribe before the state is read, so that no change is missed.
        let mut subscriptions = sink.subscription_changes().subscribe();
        let mut session_list = connection.change_counter().subscribe();
        let sessions = connection.sessions(manager);
        let mut changes: Vec<_> =
            sessions.iter().map(|session| session.change_counter().subscribe()).collect();

        let now = uris(connection, manager);
        if now != listed {
            listed = now;
            if sink.wants_list_changes() && !sink.notify_list_changed().await {
                return;
            }
        }
        let subscribed = sink.subscribed();
        reported.retain(|uri, _| subscribed.contains_key(uri));
        for (uri, at_first) in subscribed {
            let now = state(connection, manager, &uri);
            let before = reported.insert(uri.clone(), now).unwrap_or(at_first);
            if before != now && !sink.notify_updated(uri).await {
                return;
            }
        }

        let session_changed = async {
            if changes.is_empty() {
                return std::future::pending().await;
            }
            let _ = select_all(changes.iter_mut().map(|changes| Box::pin(changes.changed()))).await;
        };
        tokio::select! {
            _ = subscriptions.changed() => {}
            _ = session_list.changed() => {}
            () = session_changed => {}
        }
    }
}

fn uris(connection: &Connection, manager: &SessionManager) -> Vec<String> {
    list::all(connection, manager).into_iter().map(|resource| resource.uri).collect()
}

/// Returns a number that changes with the resource; `None` if the client of `connection` cannot
/// access it.
pub(super) fn state(
    connection: &Connection,
    manager: &SessionManager,
    uri: &str,
) -> ResourceRevision {
    let uri = ResourceUri::parse(uri).ok()?;
    let session = connection.find(manager, &uri.session)?;
    match &uri.kind {
        McpResourceKind::Session | McpResourceKind::Pages | McpResourceKind::Screenshots => {
            Some(session.change_counter().count())
        }
        // A picture never changes.
        McpResourceKind::Screenshot { .. } => Some(0),
        McpResourceKind::Page(_)
        | McpResourceKind::Element { .. }
        | McpResourceKind::Elements { .. }
        | McpResourceKind::NetworkLog(_) => {
            let page = session
                .open_pages()
                .into_iter()
                .find(|page| Some(page.id.as_str()) == uri.page())?;
            Some(page.revision())
        }
    }
}
