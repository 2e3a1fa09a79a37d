//! Links to the dashboard, which questions to the user of a client contain.

use std::sync::Arc;

use axum::http::{HeaderMap, HeaderName, Uri};

use super::{
    super::{ServerState, guard},
    links::AccessGrants,
};
use crate::{config::Transport, server::DashboardLinks};

const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Creates links with the host name by which a client reaches the server.
pub(in crate::transport::network) struct UserLinks {
    grants: Arc<AccessGrants>,
    /// The URL of the dashboard.
    page: String,
}

impl UserLinks {
    /// Returns the links for the sender of a request. `None` if browsers cannot open the dashboard.
    pub fn of(
        state: &ServerState,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Arc<dyn DashboardLinks>> {
        let config = state.server.registry().manager().config();
        if state.is_private || config.transport != Transport::Http {
            return None;
        }
        let host = guard::host(uri, headers)?;
        let is_https = headers.get(FORWARDED_PROTO).is_some_and(|scheme| scheme == "https");
        let scheme = if is_https { "https" } else { "http" };
        let page = format!("{scheme}://{host}{}/dashboard/", config.base_path);
        Some(Arc::new(Self { grants: state.grants.clone(), page }))
    }
}

impl DashboardLinks for UserLinks {
    fn link(&self, session: &str) -> String {
        let link = self.grants.create_link(false, Some(session.into()));
        format!("{}#token={}&view=/session/{session}", self.page, link.secret)
    }
}
