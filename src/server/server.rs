//! The state that all clients of one server share: the tools, the prompts, the sessions.

use std::sync::Arc;

use rmcp::model::Tool;
use tokio_util::sync::CancellationToken;

use super::{handler::Handler, prompts::Prompts, render};
use crate::{config::Config, error::Result, session::Connection, tools::Registry};

/// A server behind its transports.
pub struct Server {
    pub(super) registry: Registry,
    pub(super) prompts: Prompts,
    /// Those of the tools that are always there, as `tools/list` shows them.
    tools: Vec<Tool>,
}

impl Server {
    /// Opens everything that the configuration names, and returns its errors.
    pub fn open(config: Arc<Config>) -> Result<Arc<Self>> {
        let prompts = Prompts::load(config.prompts.as_deref())?;
        let registry = Registry::open(config)?;
        let listed = registry.tools().iter().map(|tool| render::tool(tool));
        #[cfg(feature = "testing")]
        let listed = listed.chain(super::fixtures::tools());
        let tools = listed.collect();
        Ok(Arc::new(Self { registry, prompts, tools }))
    }

    /// What `tools/list` shows. Where the upstream server is not to be had, ours are: what it said before can be read.
    pub(super) async fn tools(&self) -> Vec<Tool> {
        let passed = self.registry.passed_tools_of_first_attempt().await;
        if let Err(error) = &passed {
            tracing::warn!(%error, "the tools of the upstream server are not listed");
        }
        let passed = passed.unwrap_or_default();
        self.tools.iter().cloned().chain(passed.iter().map(|tool| render::tool(tool))).collect()
    }

    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// What answers the client of `connection` until `over` is cancelled.
    pub fn handler(
        self: &Arc<Self>,
        connection: Arc<Connection>,
        over: CancellationToken,
    ) -> Handler {
        Handler::new(self.clone(), connection, over)
    }
}
