//! Firefox over WebDriver BiDi, with Troupe's own client.
//!
//! One BiDi session drives the whole browser, and each Troupe session has a user context. The
//! sessions of a profile share the default user context, see `session_tabs`. For features that BiDi
//! lacks (titles of pages that a dialog blocks, pages that consider themselves focused),
//! `privileged.js` runs in the browser's chrome window. A Firefox that Troupe attaches to may not
//! allow that.
//!
//! `launch` starts and ends the process with `preferences` and `startup_cache`. `browser`,
//! `context`, `session_tabs` and `page` implement the traits. `routing` dispatches events to pages.
//! `navigation_events` and `network_events` convert BiDi's events into
//! [`PageEvent`](super::PageEvent)s. `network` applies the rules of contexts. `remote_value`,
//! `emulation`, `cookies` and `network_errors` convert data.

mod browser;
mod console;
mod context;
mod cookies;
mod emulation;
mod launch;
mod navigation_events;
mod network;
mod network_errors;
mod network_events;
mod page;
mod pending_tabs;
mod preferences;
mod privileged;
mod remote_value;
mod routing;
mod session_tabs;
mod startup_cache;
mod tab_settings;

use std::sync::Arc;

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};

use super::{
    Browser, Capabilities, Engine, EngineError, EngineResult,
    connection::{BrowserConnection, ConnectionError, PendingCall},
    locked_folder,
    remote::RemoteBrowsers,
};
use crate::config::Config;

const CAPABILITIES: Capabilities = Capabilities {
    mocks: true,
    closed_shadow_roots: true,
    calls_during_input: false,
    combined_clicks: true,
};

/// Starts Firefox, or attaches to a running Firefox.
pub struct Firefox {
    config: Arc<Config>,
    remote: Option<RemoteBrowsers>,
}

impl Firefox {
    pub fn new(config: Arc<Config>) -> Self {
        Self { remote: RemoteBrowsers::of(&config), config }
    }
}

#[async_trait]
impl Engine for Firefox {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let process = match &self.remote {
            Some(remote) => launch::attach(remote).await?,
            None => locked_folder::with_sweep(launch::launch(&self.config)).await?,
        };
        Ok(browser::FirefoxBrowser::open(process, self.config.clone()).await?)
    }

    fn remote(&self) -> Option<&RemoteBrowsers> {
        self.remote.as_ref()
    }
}

/// A BiDi connection to the browser.
#[derive(Clone)]
struct Bidi {
    connection: BrowserConnection,
}

impl Bidi {
    /// Sends a command and waits for its result.
    async fn call<T: DeserializeOwned>(
        &self,
        method: &'static str,
        params: impl Serialize + Send,
    ) -> EngineResult<T> {
        self.post(method, params)?.read().await.map_err(convert_error)
    }

    /// Sends a command and waits until it is done.
    async fn run(&self, method: &'static str, params: impl Serialize + Send) -> EngineResult<()> {
        self.post(method, params)?.raw().await.map_err(convert_error)?;
        Ok(())
    }

    /// Sends a command. The caller may drop the response.
    fn post(&self, method: &'static str, params: impl Serialize) -> EngineResult<PendingCall> {
        self.connection.send(None, method, params).map_err(convert_error)
    }
}

/// Converts an error for the layers above.
fn convert_error(error: ConnectionError) -> EngineError {
    match error {
        ConnectionError::Closed => EngineError::BrowserGone,
        ConnectionError::TargetGone { .. } => EngineError::PageGone,
        ConnectionError::Refused { ref code, ref message, .. } if document_gone(code, message) => {
            EngineError::DocumentGone
        }
        other => EngineError::Refused(other.to_string()),
    }
}

/// Returns whether an error means that a navigation removed the document during the command.
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
