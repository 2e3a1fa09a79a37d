//! Lists the resources of a connection: those of the sessions that it has created or used.

use std::sync::Arc;

use rmcp::model::{Resource, ResourceTemplate};
use serde_json::Value;

use super::read::{about, screenshot_uri};
use crate::{
    session::{Connection, Session, SessionManager},
    tools::{McpResourceKind, ResourceUri, TEMPLATES},
};

/// Maximum length of the list. If there are more entries, the newest ones are kept.
const MAX_ENTRIES: usize = 1000;

/// Returns all resources, those of the oldest session first.
pub(super) fn all(connection: &Connection, manager: &SessionManager) -> Vec<Resource> {
    let sessions = connection.sessions(manager);
    let mut resources: Vec<Resource> = sessions.iter().flat_map(of_session).collect();
    let surplus = resources.len().saturating_sub(MAX_ENTRIES);
    resources.drain(..surplus);
    resources
}

fn of_session(session: &Arc<Session>) -> Vec<Resource> {
    let uri = |kind: McpResourceKind| ResourceUri::new(&session.id, kind).to_string();
    let json =
        |uri: String, name: String| Resource::new(uri, name).with_mime_type("application/json");
    let short = session.id.split('-').next().unwrap_or_default();
    let mut resources = vec![json(uri(McpResourceKind::Session), format!("session {short}"))];
    for page in session.open_pages() {
        let id = page.id.clone();
        resources.push(
            json(uri(McpResourceKind::Page(id.clone())), format!("{id} of {short}"))
                .with_description(page.url()),
        );
        if page.check_requests().is_ok() {
            let log = uri(McpResourceKind::NetworkLog(id.clone()));
            resources.push(json(log, format!("network log of {id} of {short}")));
        }
    }
    for taken in session.screenshots() {
        let uri = screenshot_uri(session, &taken).to_string();
        let mut resource =
            Resource::new(uri, format!("screenshot of {} of {short}", taken.page_id))
                .with_mime_type(taken.mime_type)
                .with_size(taken.data.len() as u64 / 4 * 3);
        if let Value::Object(metadata) = about(&taken) {
            resource = resource.with_meta(rmcp::model::MetaObject(metadata));
        }
        resources.push(resource);
    }
    resources
}

pub(super) fn templates() -> Vec<ResourceTemplate> {
    TEMPLATES
        .iter()
        .map(|template| {
            let listed = ResourceTemplate::new(template.uri, template.name)
                .with_description(template.description);
            match template.mime_type {
                Some(mime_type) => listed.with_mime_type(mime_type),
                None => listed,
            }
        })
        .collect()
}
