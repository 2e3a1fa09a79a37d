//! Firefox over WebDriver BiDi, with Troupe's own client. The existing crates are not suitable: one has a busy
//! loop, one panics, one needs a second program.
//!
//! One BiDi session drives the whole browser, and each Troupe session has a user context. For features that BiDi
//! lacks (titles of pages that a dialog blocks, pages that consider themselves focused), `system.js` runs in the
//! browser's own window. A Firefox that somebody else has started may not allow that.
//!
//! `launch` starts and ends the process with `preferences` and the cached files of `startup`. `browser`, `context`
//! and `page` implement the traits. `routing` dispatches events to pages. `events` and `requests` convert BiDi's
//! events into [`PageEvent`](super::PageEvent)s. `network` applies the rules of contexts. `value`, `emulation`,
//! `cookies` and `reasons` translate data.

mod browser;
mod console;
mod context;
mod cookies;
mod emulation;
mod events;
mod launch;
mod network;
mod page;
mod preferences;
mod reasons;
mod requests;
mod routing;
mod startup;
mod system;
mod tabs;
mod value;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Browser, Capabilities, Engine, EngineError, EngineResult,
    connection::{Sent, Wire, WireError},
    process,
};
use crate::config::Config;

const CAPABILITIES: Capabilities = Capabilities {
    mocks: true,
    closed_shadow_roots: true,
    calls_during_input: false,
    combined_clicks: true,
};

/// Starts Firefox, or attaches to one that runs.
pub struct Firefox {
    config: Arc<Config>,
}

impl Firefox {
    pub fn new(config: Arc<Config>) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Engine for Firefox {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let process = match &self.config.browser_endpoint {
            Some(endpoint) => launch::attach(endpoint).await?,
            None => process::beside_sweep(launch::launch(&self.config)).await?,
        };
        Ok(browser::FirefoxBrowser::open(process, self.config.clone()).await?)
    }
}

/// The connection to the browser, in BiDi's words.
#[derive(Clone)]
struct Bidi {
    wire: Wire,
}

impl Bidi {
    /// Writes a command and waits for its answer.
    async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize + Send,
    ) -> EngineResult<T> {
        self.post(method, params)?.read().await.map_err(meaning)
    }

    /// Writes a command and waits until it is done.
    async fn run(&self, method: &'static str, params: impl Serialize + Send) -> EngineResult<()> {
        self.post(method, params)?.raw().await.map_err(meaning)?;
        Ok(())
    }

    /// Writes a command; its answer may be dropped.
    fn post(&self, method: &'static str, params: impl Serialize) -> EngineResult<Sent> {
        self.wire.send(None, method, params).map_err(meaning)
    }
}

/// Converts an error for the layers above.
fn meaning(error: WireError) -> EngineError {
    match error {
        WireError::Closed => EngineError::BrowserGone,
        WireError::TargetGone { .. } => EngineError::PageGone,
        WireError::Refused { ref code, ref message, .. } if document_gone(code, message) => {
            EngineError::DocumentGone
        }
        other => EngineError::Refused(other.to_string()),
    }
}

/// Firefox's words for "a navigation took the document away under the call".
fn document_gone(code: &str, message: &str) -> bool {
    code == "no such frame"
        || [
            "AbortError",
            "DiscardedBrowsingContextError",
            "Actor ",
            "destroyed before query",
            "dead object",
        ]
        .iter()
        .any(|known| message.contains(known))
}
