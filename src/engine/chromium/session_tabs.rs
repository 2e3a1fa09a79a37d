//! The tabs of one session in the default context of a browser: the user's own (`--attach`), a
//! remote one (`--remote-context default`), or one with a profile (`--user-data-dir`).
//!
//! A session has owned tabs, which it has opened, and adopted tabs, which are the user's. In the
//! user's browser, Troupe attaches to no other tab. Tabs are opened there in the background and
//! never activated: nothing here may take the focus from the user. In a profile, each page has its
//! own window.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use chromiumoxide::cdp::browser_protocol::{
    browser::{SetDownloadBehaviorBehavior, SetDownloadBehaviorParams},
    target::{
        AttachToTargetParams, CloseTargetParams, CreateTargetParams, FilterEntry, GetTargetsParams,
        SetDiscoverTargetsParams, TargetFilter,
    },
};
use futures_util::future::join_all;
use serde::Deserialize;

use super::{
    CAPABILITIES,
    browser_state::{BrowserState, ContextState, SessionPages, SessionTab, ready_page},
    cookies,
    page::ChromiumPage,
    session::CdpSession,
    targets::{CreatedTarget, TargetInfo},
};
use crate::{
    config::Viewport,
    engine::{
        Capabilities, Context, EngineError, EnginePage, EngineResult, UserTab,
        network::{Cookie, NetworkRules},
    },
};

/// The parameters of `Target.targetCreated`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TargetCreated {
    target_info: TargetInfo,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Targets {
    target_infos: Vec<TargetInfo>,
}

fn only_pages() -> TargetFilter {
    let entry = |kind: Option<&str>, exclude| FilterEntry {
        exclude: Some(exclude),
        r#type: kind.map(str::to_owned),
    };
    TargetFilter::new(vec![entry(Some("page"), false), entry(None, true)])
}

/// Prepares a connection to the user's browser. Attaches to no target.
pub(super) async fn prepare(cdp: &CdpSession) -> EngineResult<()> {
    // Reports popups with their opener.
    let discover =
        cdp.post(SetDiscoverTargetsParams { discover: true, filter: Some(only_pages()) })?;
    // Reports downloads. Their folder remains the user's.
    let mut downloads = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Default);
    downloads.events_enabled = Some(true);
    let downloads = cdp.post(downloads)?;
    discover.raw().await?;
    downloads.raw().await?;
    Ok(())
}

/// Attaches to a new tab if a tab of a session has opened it.
pub(super) fn target_created(state: &Arc<BrowserState>, event: TargetCreated) {
    let info = event.target_info;
    let Some(opener) = info.opener_id.filter(|_| info.kind == "page") else { return };
    let id: Arc<str> = info.target_id.into();
    {
        let mut targets = state.targets();
        // A tab that the user opens from an adopted tab remains the user's.
        let Some(tab) = targets.tabs.get(&*opener).cloned() else { return };
        if targets.tabs.contains_key(&id) {
            return;
        }
        targets.tabs.insert(id.clone(), tab);
    }
    drop(state.cdp.post(attach(&id)));
}

fn attach(id: &str) -> AttachToTargetParams {
    let mut attach = AttachToTargetParams::new(id.to_owned());
    attach.flatten = Some(true);
    attach
}

/// The tabs of one session.
pub(super) struct SessionTabs {
    state: Arc<BrowserState>,
    context: Arc<ContextState>,
    closed: Arc<AtomicBool>,
}

impl SessionTabs {
    pub fn new(state: Arc<BrowserState>, context: Arc<ContextState>) -> Self {
        Self { state, context, closed: Arc::default() }
    }

    /// Opens an empty tab, in the user's browser in the background. Returns its id.
    async fn open(&self) -> EngineResult<Arc<str>> {
        let in_profile = self.state.session_pages == SessionPages::Profile;
        let create = if in_profile {
            self.context.new_window(self.state.window_mode)
        } else {
            let mut create = CreateTargetParams::new("about:blank");
            // In the live view of a remote browser, the newest tab is visible.
            create.background = Some(self.state.config.attach.is_some());
            create
        };
        let (state, context, closed) =
            (self.state.clone(), self.context.clone(), self.closed.clone());
        // A task, so that the tab belongs to the session even if this future is dropped. It ends
        // with the response.
        let registered = tokio::spawn(async move {
            let _turn = if in_profile { Some(state.opening_lock.lock().await) } else { None };
            if in_profile {
                state.targets().opening_context = Some(context.clone());
            }
            let created: EngineResult<CreatedTarget> = state.cdp.execute(create).await;
            let id: Arc<str> = {
                let mut targets = state.targets();
                targets.opening_context = None;
                let id: Arc<str> = created?.target_id.into();
                targets.tabs.insert(id.clone(), SessionTab { context, is_adopted: false });
                id
            };
            if closed.load(Ordering::Acquire) {
                close(&state, &id).await?;
                return Err(EngineError::PageGone);
            }
            Ok(id)
        });
        registered.await.unwrap_or(Err(EngineError::BrowserGone))
    }

    async fn attach(&self, id: Arc<str>) -> EngineResult<Arc<ChromiumPage>> {
        let arrival = self.state.targets().pages.expect(id.clone());
        if let Err(error) = self.state.cdp.run(attach(&id)).await {
            self.state.targets().tabs.remove(&id);
            return Err(match error {
                EngineError::Refused(_) => EngineError::PageGone,
                other => other,
            });
        }
        ready_page(arrival).await
    }

    fn tab_ids(&self) -> Vec<Arc<str>> {
        let targets = self.state.targets();
        let own = targets.tabs.iter().filter(|(_, tab)| Arc::ptr_eq(&tab.context, &self.context));
        own.map(|(id, _)| id.clone()).collect()
    }
}

/// Closes an owned tab, or releases an adopted one.
async fn close(state: &BrowserState, id: &Arc<str>) -> EngineResult<()> {
    let (tab, page) = {
        let mut targets = state.targets();
        (targets.tabs.remove(id), targets.pages.get(id).cloned())
    };
    match (page, tab) {
        (Some(page), _) => page.close().await,
        (None, Some(SessionTab { is_adopted: false, .. })) => {
            state.cdp.run(CloseTargetParams::new(id.to_string())).await
        }
        _ => Ok(()),
    }
}

#[async_trait]
impl Context for SessionTabs {
    async fn user_tabs(&self) -> EngineResult<Vec<UserTab>> {
        let list = GetTargetsParams { filter: Some(only_pages()) };
        let Targets { target_infos } = self.state.cdp.execute(list).await?;
        let targets = self.state.targets();
        let free =
            target_infos.into_iter().filter(|info| !targets.tabs.contains_key(&*info.target_id));
        Ok(free
            .map(|info| UserTab { id: info.target_id, title: info.title, url: info.url })
            .collect())
    }

    async fn adopt(&self, id: &str) -> EngineResult<Arc<dyn EnginePage>> {
        let id: Arc<str> = id.into();
        let tab = SessionTab { context: self.context.clone(), is_adopted: true };
        {
            let mut targets = self.state.targets();
            if targets.tabs.contains_key(&id) {
                return Err(EngineError::PageGone);
            }
            targets.tabs.insert(id.clone(), tab);
        }
        let attached = self.attach(id.clone()).await;
        if attached.is_err() {
            close(&self.state, &id).await?;
        }
        Ok(attached?)
    }

    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        let id = self.open().await?;
        if self.state.session_pages == SessionPages::Profile {
            // The browser attaches to each new page.
            let arrival = self.state.targets().pages.expect(id);
            return Ok(ready_page(arrival).await?);
        }
        Ok(self.attach(id).await?)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.context.set_viewport(size);
        Ok(())
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        self.context.network.set(rules).await;
        Ok(())
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        cookies::get(&self.state.cdp, None).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.state.cdp, None, cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        self.closed.store(true, Ordering::Release);
        let ids = self.tab_ids();
        let closes = join_all(ids.iter().map(|id| close(&self.state, id))).await;
        closes.into_iter().fold(Ok(()), Result::and)
    }
}
