//! Implements the [`Context`] trait with a user context.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::{
    CAPABILITIES, cookies,
    emulation::{self, SettingsScope},
    network::FirefoxNetwork,
    pending_tabs::PendingTabs,
    privileged::SYSTEM_ACCESS_HINT,
    routing::FirefoxState,
};
use crate::config::Viewport;
use crate::engine::{
    Capabilities, Context, EnginePage, EngineResult,
    network::{Cookie, NetworkRules},
};

#[derive(Deserialize)]
pub(super) struct CreatedBrowsingContext {
    pub context: Arc<str>,
}

pub(super) struct FirefoxContext {
    id: Arc<str>,
    shared: Arc<FirefoxState>,
    network: Arc<FirefoxNetwork>,
    tabs: Arc<PendingTabs>,
    touch: bool,
    headed: bool,
    closed: AtomicBool,
}

impl FirefoxContext {
    pub fn new(
        id: Arc<str>,
        shared: Arc<FirefoxState>,
        network: Arc<FirefoxNetwork>,
        tabs: Arc<PendingTabs>,
        touch: bool,
        headed: bool,
    ) -> Self {
        Self { id, shared, network, tabs, touch, headed, closed: AtomicBool::new(false) }
    }

    fn scope(&self) -> SettingsScope {
        SettingsScope::UserContext(self.id.clone())
    }
}

/// Brings a new tab to the front if the browser has a window. With `touch`, emulates a touch
/// screen.
pub(super) async fn show_tab(
    shared: &FirefoxState,
    tab: &str,
    headed: bool,
    touch: bool,
) -> EngineResult<()> {
    if headed {
        // BiDi's own command would wait until the tab is painted.
        let _ = shared.privileged.post(&format!("select({})", json!(tab)));
    }
    if touch {
        let call = format!("touch({})", json!(tab));
        shared.privileged.call("emulating touch", SYSTEM_ACCESS_HINT, &call).await?;
    }
    Ok(())
}

#[async_trait]
impl Context for FirefoxContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        // Without the privileged script, only the selected tab of each window is active.
        let kind = if self.shared.privileged.is_open() { "tab" } else { "window" };
        let params = json!({"type": kind, "userContext": self.id, "background": true});
        let request = self.tabs.request();
        let created: CreatedBrowsingContext =
            self.shared.bidi.call("browsingContext.create", params).await?;
        drop(request);
        let page = self.shared.arrival(&created.context).page().await?;
        show_tab(&self.shared, &created.context, self.headed, self.touch).await?;
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        emulation::set_viewport(&self.shared.bidi, &self.scope(), size).await
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        let FirefoxState { bidi, privileged, intercept, .. } = &*self.shared;
        intercept.set((bidi, privileged), &self.scope(), &self.network, rules).await
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        cookies::get(&self.shared.bidi, &self.id).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.shared.bidi, &self.id, cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.shared.remove_context(&self.id);
        // Run every step even if an earlier one fails: the pages and their data must be removed.
        let outcome = self.shared.intercept.remove(&self.shared.bidi, &self.network).await;
        let context = json!({"userContext": self.id});
        outcome.and(self.shared.bidi.run("browser.removeUserContext", context).await)
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        io::{BufRead as _, BufReader, Write as _},
        thread,
    };

    use parking_lot::Mutex;
    use serde_json::Value;

    use super::*;
    use crate::engine::{
        connection::PipeEnds,
        firefox::{Bidi, privileged::PrivilegedScript},
        network::ResourceType,
    };

    /// Returns a connection to a fake browser that rejects the commands in `refused`, and the
    /// commands that it answered.
    fn browser(refused: &'static [&'static str]) -> (Bidi, Arc<Mutex<Vec<String>>>) {
        let (connection, reads, writes) = PipeEnds::new().unwrap().into_connection();
        let commands: Arc<Mutex<Vec<String>>> = Arc::default();
        let sent = commands.clone();
        // The thread ends with the connection.
        thread::spawn(move || {
            let mut answers = File::from(writes);
            for message in BufReader::new(File::from(reads)).split(0) {
                let command: Value = serde_json::from_slice(&message.unwrap()).unwrap();
                let method = command["method"].as_str().unwrap().to_owned();
                let answer = if refused.contains(&method.as_str()) {
                    json!({"type": "error", "id": command["id"], "error": "unknown error", "message": "refused"})
                } else {
                    json!({"type": "success", "id": command["id"], "result": {"intercept": "1", "contexts": []}})
                };
                sent.lock().push(method);
                answers.write_all(format!("{answer}\0").as_bytes()).unwrap();
            }
        });
        (Bidi { connection }, commands)
    }

    #[tokio::test]
    async fn a_context_is_removed_even_if_an_earlier_step_fails() {
        let (bidi, commands) = browser(&["network.removeIntercept"]);
        let privileged = PrivilegedScript::open(&bidi, true).await.unwrap();
        let shared = Arc::new(FirefoxState::new(bidi.clone(), privileged, None));
        let network = FirefoxNetwork::new(bidi.clone(), &shared.intercept, None, false);
        let context =
            FirefoxContext::new("1".into(), shared, network, Arc::default(), false, false);
        let blocked = [ResourceType::Image].into_iter().collect();
        context.set_network(NetworkRules { blocked, ..NetworkRules::default() }).await.unwrap();
        assert!(context.close().await.is_err(), "the failure of the step is reported");
        let commands = commands.lock();
        assert_eq!(commands.last().unwrap(), "browser.removeUserContext", "{commands:?}");
    }
}
