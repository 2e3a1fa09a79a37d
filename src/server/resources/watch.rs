//! Notifies a client when the list of resources or a resource that it has subscribed to has changed.
//!
//! Nothing is queued: the watch compares the current state with the state of its last notification.
//! A client that reads slowly gets one notification for several changes.

use std::{collections::HashMap, sync::Arc};

use futures_util::future::select_all;

use super::list;
use crate::{
    page::Revision,
    session::{Connection, SessionManager},
    tools::{ResourceKind, ResourceUri},
};

/// The revision of a resource at the last check; `None` if it does not exist.
pub(super) type State = Option<u64>;

/// Where notifications go.
pub(super) trait Outlet: Send + Sync {
    /// The current subscriptions of the client, with the state of each resource when it was subscribed to.
    fn subscribed(&self) -> HashMap<String, State>;
    /// Advanced when that has become something else.
    fn resubscribed(&self) -> &Revision;
    fn wants_list_changes(&self) -> bool;
    /// False where the client has gone.
    fn list_changed(&self) -> impl Future<Output = bool> + Send;
    fn updated(&self, uri: String) -> impl Future<Output = bool> + Send;
}

/// Tells `outlet` of changes until the client has gone. Whoever starts it ends it.
pub(super) async fn watch(
    connection: &Connection,
    manager: &Arc<SessionManager>,
    outlet: &impl Outlet,
) {
    let mut listed = uris(connection, manager);
    let mut told: HashMap<String, State> = HashMap::new();
    loop {
        // Listening before looking: no change falls between.
        let mut resubscribed = outlet.resubscribed().changes();
        let mut acquainted = connection.news().changes();
        let sessions = connection.sessions(manager);
        let mut changes: Vec<_> = sessions.iter().map(|session| session.news().changes()).collect();

        let now = uris(connection, manager);
        if now != listed {
            listed = now;
            if outlet.wants_list_changes() && !outlet.list_changed().await {
                return;
            }
        }
        let subscribed = outlet.subscribed();
        told.retain(|uri, _| subscribed.contains_key(uri));
        for (uri, at_first) in subscribed {
            let now = state(connection, manager, &uri);
            let before = told.insert(uri.clone(), now).unwrap_or(at_first);
            if before != now && !outlet.updated(uri).await {
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
            _ = resubscribed.changed() => {}
            _ = acquainted.changed() => {}
            () = session_changed => {}
        }
    }
}

fn uris(connection: &Connection, manager: &SessionManager) -> Vec<String> {
    list::all(connection, manager).into_iter().map(|resource| resource.uri).collect()
}

/// A number that is another when the resource is, as far as the client of `connection` may know of it.
pub(super) fn state(connection: &Connection, manager: &SessionManager, uri: &str) -> State {
    let uri = ResourceUri::parse(uri).ok()?;
    let session = connection.find(manager, &uri.session)?;
    match &uri.kind {
        ResourceKind::Session | ResourceKind::Pages | ResourceKind::Screenshots => {
            Some(session.news().now())
        }
        // A picture never changes.
        ResourceKind::Screenshot { .. } => Some(0),
        ResourceKind::Page(_)
        | ResourceKind::Element { .. }
        | ResourceKind::Elements { .. }
        | ResourceKind::NetworkLog(_) => {
            let page = session
                .open_pages()
                .into_iter()
                .find(|page| Some(page.id.as_str()) == uri.page())?;
            Some(page.revision())
        }
    }
}
