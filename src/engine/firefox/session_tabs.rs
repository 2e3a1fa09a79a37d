//! Implements the [`Context`] trait with tabs of the default user context, which the sessions of a
//! profile (`--user-data-dir`) share.
//!
//! A user context would have its own cookies and storage, so settings and events cannot be assigned
//! by user context here. A tab belongs to the session that has opened it, or whose page has. Its
//! settings are applied before its first navigation. A popup gets them when BiDi reports it.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::Mutex;
use serde_json::json;

use super::{
    CAPABILITIES,
    context::{CreatedBrowsingContext, DEFAULT, show_tab},
    cookies,
    emulation::{self, ContextSetting, SettingsScope},
    network::FirefoxNetwork,
    pending_tabs::PendingTabs,
    routing::{ContextHandles, FirefoxState},
};
use crate::{
    config::Viewport,
    engine::{
        Capabilities, Context, ContextObserver, ContextOptions, EngineError, EnginePage,
        EngineResult,
        connection::PendingCall,
        network::{Cookie, NetworkRules},
    },
};

/// The settings of a session for each of its tabs.
pub(super) struct TabSettings {
    options: Mutex<ContextOptions>,
    network: Arc<FirefoxNetwork>,
    headed: bool,
}

impl TabSettings {
    /// Sends the settings to `tab`, a new tab of the context `key`. Returns the pending responses.
    pub fn post(
        &self,
        shared: &FirefoxState,
        key: &str,
        tab: &Arc<str>,
    ) -> EngineResult<Vec<(ContextSetting, PendingCall)>> {
        let options = self.options.lock().clone();
        let scope = SettingsScope::Tabs(vec![tab.clone()]);
        let mut sent = emulation::apply(&shared.bidi, &scope, &options, self.headed)?;
        let mut tabs = shared.page_ids(key);
        tabs.push(tab.clone());
        let rules = self.network.post_tab_rules(&shared.privileged, tabs)?;
        sent.extend(rules.into_iter().map(|sent| (ContextSetting::Other, sent)));
        Ok(sent)
    }
}

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
        let key: Arc<str> = format!("{DEFAULT} {number}").into();
        let tabs: Arc<PendingTabs> = Arc::default();
        let settings = Arc::new(TabSettings {
            options: Mutex::new(options.clone()),
            network: network.clone(),
            headed,
        });
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
    let params = json!({"type": "tab", "userContext": DEFAULT, "background": true});
    let CreatedBrowsingContext { context: tab } =
        shared.bidi.call("browsingContext.create", params).await?;
    let config = settings.options.lock().config.clone();
    let applied = async {
        emulation::await_applied(settings.post(&shared, &key, &tab)?, &config).await?;
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
        let touch = self.settings.options.lock().config.has_touch;
        show_tab(&self.shared, &tab, self.settings.headed, touch).await?;
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.settings.options.lock().config.viewport = Some(size);
        let scope = SettingsScope::Tabs(self.shared.page_ids(&self.key));
        emulation::set_viewport(&self.shared.bidi, &scope, size).await
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        let FirefoxState { bidi, privileged, intercept, .. } = &*self.shared;
        let scope = SettingsScope::Tabs(self.shared.page_ids(&self.key));
        intercept.set((bidi, privileged), &scope, &self.network, rules).await
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        cookies::get(&self.shared.bidi, DEFAULT).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.shared.bidi, DEFAULT, cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        let pages = self.shared.remove_context(&self.key);
        // Run every step even if an earlier one fails: all pages must be closed.
        let removed = self.shared.intercept.remove(&self.shared.bidi, &self.network).await;
        let closed = join_all(pages.iter().map(|page| page.close())).await;
        closed.into_iter().fold(removed, Result::and)
    }
}
