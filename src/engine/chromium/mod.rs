//! Chromium over the Chrome DevTools Protocol (CDP), with Troupe's own connection. `chromiumoxide`
//! has the types of the commands. Events and responses are parsed leniently into Troupe's own
//! structs, so that browsers newer than these types work.
//!
//! `launch` starts the process with the arguments of `switches`. `browser` assigns its targets to
//! contexts, and `page/` implements pages. `events` and `requests` convert CDP's events into
//! [`PageEvent`](super::PageEvent)s. `network` applies a context's rules in all its CDP sessions,
//! and `workers` attaches workers to it. `input`, `mac_commands`, `emulation` and `cookies` convert
//! parameters.

mod browser;
mod console;
mod cookies;
mod emulation;
mod events;
mod input;
mod launch;
mod mac_commands;
mod network;
mod page;
mod requests;
mod session;
mod switches;
mod targets;
mod workers;

use std::sync::Arc;

use async_trait::async_trait;

use super::{Browser, Capabilities, Engine, EngineResult, process};
use crate::config::Config;

const CAPABILITIES: Capabilities = Capabilities {
    mocks: true,
    closed_shadow_roots: true,
    calls_during_input: true,
    combined_clicks: false,
};

/// Starts Chromium, Chrome or Edge, or connects to a running one.
pub struct Chromium {
    config: Arc<Config>,
}

impl Chromium {
    pub fn new(config: Arc<Config>) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Engine for Chromium {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let process = match &self.config.browser_endpoint {
            Some(endpoint) => launch::attach(endpoint, &self.config.browser_headers).await?,
            None => process::with_sweep(launch::launch(&self.config)).await?,
        };
        Ok(browser::ChromiumBrowser::open(process, self.config.clone()).await?)
    }
}
