//! Implements the [`Context`] trait with tabs of the default user context, which the sessions of a
//! profile (`--user-data-dir`) share.
//!
//! A user context would have its own cookies and storage, so settings and events cannot be assigned
//! by user context here. A tab belongs to the session that opened it. A popup belongs to the
//! session of the page that opened it. The settings of a session are applied to a tab before its
//! first navigation, and to a popup when BiDi reports it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::json;

use super::{
    CAPABILITIES,
    context::{CreatedBrowsingContext, show_tab},
    cookies,
    emulation::{self, SettingsScope},
    network::FirefoxNetwork,
    pending_tabs::PendingTabs,
    routing::{ContextHandles, DEFAULT_USER_CONTEXT, FirefoxState},
    tab_settings::TabSettings,
};
use crate::{
    config::Viewport,
    engine::{
        Capabilities, Context, ContextObserver, ContextOptions, EngineError, EnginePage,
        EngineResult,
        network::{Cookie, NetworkRules},
    },
};

/// The tabs of one session.
pub(super) struct FirefoxSessionTabs {
    key: Arc<str>,
    shared: Arc<FirefoxState>,
    network: Arc<FirefoxNetwork>,
    tabs: Arc<PendingTabs>,
    settings: Arc<TabSettings>,
}

impl FirefoxSessionTabs {
    /// Registers a session without tabs. Returns an error if Firefox does not support one of its
    /// settings.
    pub fn open(
        shared: &Arc<FirefoxState>,
        observer: Arc<dyn ContextObserver>,
        options: &ContextOptions,
        network: Arc<FirefoxNetwork>,
        headed: bool,
    ) -> EngineResult<Self> {
        static LAST: AtomicU64 = AtomicU64::new(0);

        emulation::check(&options.config)?;
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        let key: Arc<str> = format!("{DEFAULT_USER_CONTEXT} {number}").into();
        let tabs: Arc<PendingTabs> = Arc::default();
        let settings = Arc::new(TabSettings::new(options, &network, headed));
        let handles = ContextHandles {
            observer,
            network: network.clone(),
            tabs: tabs.clone(),
            tab_settings: Some(settings.clone()),
        };
        shared.add_context(&key, handles);
        Ok(Self { key, shared: shared.clone(), network, tabs, settings })
    }
}

/// Opens an empty tab with the settings of the context `key`.
async fn open_tab(
    shared: Arc<FirefoxState>,
    key: Arc<str>,
    tabs: Arc<PendingTabs>,
    settings: Arc<TabSettings>,
) -> EngineResult<Arc<str>> {
    let request = tabs.request();
    let params = json!({"type": "tab", "userContext": DEFAULT_USER_CONTEXT, "background": true});
    let CreatedBrowsingContext { context: tab } =
        shared.bidi.call("browsingContext.create", params).await?;
    let applied = async {
        let FirefoxState { bidi, privileged, .. } = &*shared;
        let sent = settings.post((bidi, privileged), shared.page_ids(&key), &tab)?;
        emulation::await_applied(sent, &settings.config()).await?;
        // The session may have been closed meanwhile.
        shared.assign_tab(&tab, &key).then_some(()).ok_or(EngineError::PageGone)
    };
    let applied = applied.await;
    drop(request);
    if applied.is_err() {
        let _ = shared.bidi.run("browsingContext.close", json!({"context": tab})).await;
    }
    applied.map(|()| tab)
}

#[async_trait]
impl Context for FirefoxSessionTabs {
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        // A task, so that no tab is left if this future is dropped.
        let opened = tokio::spawn(open_tab(
            self.shared.clone(),
            self.key.clone(),
            self.tabs.clone(),
            self.settings.clone(),
        ));
        let tab = opened.await.unwrap_or(Err(EngineError::BrowserGone))?;
        let page = self.shared.arrival(&tab).page().await?;
        let touch = self.settings.config().has_touch;
        show_tab(&self.shared, &tab, self.settings.headed, touch).await?;
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.settings.set_viewport(size);
        let scope = SettingsScope::Tabs(self.shared.page_ids(&self.key));
        emulation::set_viewport(&self.shared.bidi, &scope, size).await
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        let FirefoxState { bidi, privileged, intercept, .. } = &*self.shared;
        let scope = SettingsScope::Tabs(self.shared.page_ids(&self.key));
        intercept.set((bidi, privileged), &scope, &self.network, rules).await
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        cookies::get(&self.shared.bidi, DEFAULT_USER_CONTEXT).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.shared.bidi, DEFAULT_USER_CONTEXT, cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        let pages = self.shared.remove_context(&self.key);
        // Run every step even if an earlier one fails: all pages must be closed.
        let removed = self.shared.intercept.remove(&self.shared.bidi, &self.network).await;
        let closed = join_all(pages.iter().map(|page| page.close())).await;
        closed.into_iter().fold(removed, Result::and)
    }
}
