//! Implements the [`Context`] trait with a user context.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::{
    CAPABILITIES, cookies, network::ContextNetwork, routing::Shared, system::LET_US_IN, tabs::Tabs,
};
use crate::config::Viewport;
use crate::engine::{
    Capabilities, Context, EngineResult, Page,
    network::{Cookie, NetworkRules},
};

/// The user context of a browser whose profile is the user's own.
pub(super) const DEFAULT: &str = "default";

#[derive(Deserialize)]
struct CreatedPage {
    context: Arc<str>,
}

pub(super) struct FirefoxContext {
    id: Arc<str>,
    shared: Arc<Shared>,
    network: Arc<ContextNetwork>,
    tabs: Arc<Tabs>,
    touch: bool,
    windowed: bool,
    closed: AtomicBool,
}

impl FirefoxContext {
    pub fn new(
        id: Arc<str>,
        shared: Arc<Shared>,
        network: Arc<ContextNetwork>,
        tabs: Arc<Tabs>,
        touch: bool,
        windowed: bool,
    ) -> Self {
        Self { id, shared, network, tabs, touch, windowed, closed: AtomicBool::new(false) }
    }
}

#[async_trait]
impl Context for FirefoxContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn Page>> {
        let params = json!({"type": "tab", "userContext": self.id, "background": true});
        let wanted = self.tabs.want();
        let created: CreatedPage = self.shared.bidi.call("browsingContext.create", params).await?;
        drop(wanted);
        let page = self.shared.arrival(&created.context).page().await?;
        if self.windowed {
            // Somebody can see it: a page that opens comes to the front. BiDi would wait for it to be painted there.
            let _ = self.shared.system.tell(&format!("select({})", json!(created.context)));
        }
        if self.touch {
            let call = format!("touch({})", json!(created.context));
            self.shared.system.ask("emulating touch", LET_US_IN, &call).await?;
        }
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, Viewport { width, height }: Viewport) -> EngineResult<()> {
        let size =
            json!({"viewport": {"width": width, "height": height}, "userContexts": [self.id]});
        self.shared.bidi.run("browsingContext.setViewport", size).await.map(drop)
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        let Shared { bidi, system, intercept, .. } = &*self.shared;
        intercept.set((bidi, system), &self.id, &self.network, rules).await
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
        let pages = self.shared.remove_context(&self.id);
        // Each step runs, also after one that failed: the pages and their data must go.
        let mut outcome = self.shared.intercept.remove(&self.shared.bidi, &self.network).await;
        if &*self.id == DEFAULT {
            for page in pages {
                outcome = outcome.and(page.close().await);
            }
            return outcome;
        }
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
        firefox::{Bidi, system::System},
        network::ResourceType,
    };

    /// A connection to a browser that refuses the commands in `refused`, and the commands that it has answered.
    fn browser(refused: &'static [&'static str]) -> (Bidi, Arc<Mutex<Vec<String>>>) {
        let (wire, reads, writes) = PipeEnds::new().unwrap().into_wire();
        let commands: Arc<Mutex<Vec<String>>> = Arc::default();
        let told = commands.clone();
        // Ends with the connection.
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
                told.lock().push(method);
                answers.write_all(format!("{answer}\0").as_bytes()).unwrap();
            }
        });
        (Bidi { wire }, commands)
    }

    #[tokio::test]
    async fn a_context_is_removed_although_an_earlier_step_fails() {
        let (bidi, commands) = browser(&["network.removeIntercept"]);
        let system = System::open(&bidi, true).await.unwrap();
        let shared = Arc::new(Shared::new(bidi.clone(), system));
        let network = ContextNetwork::new(bidi.clone(), &shared.intercept, None);
        let context =
            FirefoxContext::new("1".into(), shared, network, Arc::default(), false, false);
        let blocked = [ResourceType::Image].into_iter().collect();
        context.set_network(NetworkRules { blocked, ..NetworkRules::default() }).await.unwrap();
        assert!(context.close().await.is_err(), "the failure of the step is reported");
        let commands = commands.lock();
        assert_eq!(commands.last().unwrap(), "browser.removeUserContext", "{commands:?}");
    }
}
