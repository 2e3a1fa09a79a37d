//! Chromium over the Chrome DevTools Protocol (CDP), with Troupe's own connection. `chromiumoxide`
//! has the types of the commands. Events and responses are parsed leniently into Troupe's own
//! structs, so that browsers newer than these types work.
//!
//! `launch` starts the process with the arguments of `switches`. `browser` assigns its targets to
//! contexts (`browser_state`), and `page/` implements pages. `events` and `requests` convert CDP's
//! events into [`PageEvent`](super::PageEvent)s. `network` applies a context's rules in all its CDP
//! sessions, and `workers` attaches workers to it. `input`, `mac_commands`, `emulation` and
//! `cookies` convert parameters. For `--attach`, `user_browser` connects to the user's own browser,
//! and `session_tabs` has the tabs of each session in it.

mod browser;
mod browser_state;
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
mod session_tabs;
mod switches;
mod targets;
mod user_browser;
mod workers;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::user_browser::find_user_browser;
use self::{browser_state::SessionPages, launch::ChromiumProcess, user_browser::UserBrowser};
use super::{
    Browser, Capabilities, Engine, EngineResult, locked_folder,
    remote::{RemoteBrowser, RemoteBrowsers, RemoteProtocol},
};
use crate::config::{Config, RemoteContext};

const CAPABILITIES: Capabilities = Capabilities {
    mocks: true,
    closed_shadow_roots: true,
    calls_during_input: true,
    combined_clicks: false,
};

/// Starts Chromium, Chrome or Edge, or connects to a running one.
pub struct Chromium {
    config: Arc<Config>,
    /// The browser of `--attach`.
    user_browser: Option<UserBrowser>,
    remote: Option<RemoteBrowsers>,
}

impl Chromium {
    pub fn new(config: Arc<Config>) -> Self {
        Self { user_browser: UserBrowser::of(&config), remote: RemoteBrowsers::of(&config), config }
    }
}

#[async_trait]
impl Engine for Chromium {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let process = match (&self.user_browser, &self.remote) {
            (Some(browser), _) => ChromiumProcess::users(browser.connection().await?),
            (None, Some(remote)) => {
                let RemoteBrowser { connection, ending, files, .. } =
                    remote.connect(RemoteProtocol::Cdp).await?;
                let session_pages = match self.config.remote_context {
                    RemoteContext::Default => SessionPages::UsersBrowser,
                    RemoteContext::New => SessionPages::OwnContext,
                };
                let process = ChromiumProcess::running(connection, ending, session_pages);
                ChromiumProcess { files, ..process }
            }
            (None, None) => locked_folder::with_sweep(launch::launch(&self.config)).await?,
        };
        Ok(browser::ChromiumBrowser::open(process, self.config.clone()).await?)
    }

    fn remote(&self) -> Option<&RemoteBrowsers> {
        self.remote.as_ref()
    }

    async fn await_consent(&self) -> EngineResult<()> {
        match &self.user_browser {
            Some(browser) => browser.connection().await.map(drop),
            None => Ok(()),
        }
    }

    fn wait_reason(&self) -> Option<&'static str> {
        if let Some(remote) = &self.remote {
            return remote.wait_reason();
        }
        self.user_browser.as_ref().filter(|browser| browser.awaits_consent())?;
        Some("waiting for your consent in the browser")
    }
}
