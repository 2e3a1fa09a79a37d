//! Implements the [`Context`] trait with a user context.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;

use super::{cookies, network::ContextNetwork, routing::Shared, system::LET_US_IN, tabs::Tabs};
use crate::engine::{
    Context, EngineResult, Page,
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
