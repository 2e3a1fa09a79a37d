//! The saved form of a client, with which another server continues to serve it.

use std::{collections::BTreeSet, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The state of a client of an HTTP server.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedClient {
    /// The id of its connection in the record.
    pub connection: Arc<str>,
    /// Its implicit session.
    pub own: Option<Arc<str>>,
    /// The sessions that it created, in order.
    pub created: Vec<Arc<str>>,
    /// The sessions that its calls have named.
    pub named: BTreeSet<Arc<str>>,
    pub settings: ClientSettings,
}

/// The settings that a client has sent in the MCP protocol.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientSettings {
    /// The parameters of its `initialize`.
    pub initialize: Value,
    /// The level of its log messages.
    pub log_level: Option<String>,
    /// The URIs of the resources that it has subscribed to.
    pub subscriptions: BTreeSet<String>,
}
