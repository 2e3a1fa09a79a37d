//! The state that all clients of a server share: the tools, the prompts, the sessions.

use std::sync::Arc;

use rmcp::model::Tool;

use super::{prompts::Prompts, render};
use crate::{config::Config, error::Result, tools::Registry};

/// A server, independent of its transports.
pub struct Server {
    pub(super) registry: Registry,
    pub(super) prompts: Prompts,
    /// The native tools, as `tools/list` returns them.
    tools: Vec<Tool>,
}

impl Server {
    /// Opens the record, the prompts and the tools of the configuration.
    pub fn open(config: Arc<Config>) -> Result<Arc<Self>> {
        let prompts = Prompts::load(config.prompts.as_deref())?;
        let registry = Registry::open(config)?;
        let listed = registry.tools().iter().map(|tool| render::tool(tool));
        #[cfg(feature = "testing")]
        let listed = listed.chain(super::fixtures::tools());
        let tools = listed.collect();
        Ok(Arc::new(Self { registry, prompts, tools }))
    }

    /// Returns the tools for `tools/list`. If the upstream server is not available, only the native
    /// tools.
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
}
