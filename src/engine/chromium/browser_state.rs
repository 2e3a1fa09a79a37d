//! The contexts and targets of a browser.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use chromiumoxide::cdp::browser_protocol::target::CreateTargetParams;
use parking_lot::{Mutex, MutexGuard};

use super::{
    emulation::{self, WindowMode},
    network::CdpContextNetwork,
    page::ChromiumPage,
    session::CdpSession,
    targets::TargetInfo,
};
use crate::{
    config::{Config, Viewport},
    engine::{
        ContextObserver, ContextOptions, EngineResult,
        network_policy::Gateway,
        page_registry::{ExpectedPage, PageRegistry},
    },
};

/// The state that a browser shares with its listener and its contexts.
pub(super) struct BrowserState {
    pub cdp: CdpSession,
    pub config: Arc<Config>,
    pub window_mode: WindowMode,
    /// The folder where downloads are stored under their ids until they are reported.
    pub downloads: PathBuf,
    /// The proxy for the browser itself and its default context, if connections are restricted.
    pub gateway: Option<Arc<Gateway>>,
    pub session_pages: SessionPages,
    /// Held while a session opens a page in a profile, see [`TargetRegistry::opening`].
    pub opening: tokio::sync::Mutex<()>,
    pub targets: Mutex<TargetRegistry>,
}

/// Where the pages of sessions are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionPages {
    /// Each session has its own context.
    OwnContext,
    /// They are tabs of the default context of a browser that Troupe has started with a profile
    /// (`--user-data-dir`).
    Profile,
    /// They are tabs of the default context of a browser that others use too. Troupe attaches to no
    /// other tab.
    UsersBrowser,
}

impl BrowserState {
    pub fn targets(&self) -> MutexGuard<'_, TargetRegistry> {
        self.targets.lock()
    }
}

#[derive(Default)]
pub(super) struct TargetRegistry {
    /// By browser context id.
    pub contexts: HashMap<Arc<str>, Arc<ContextState>>,
    /// By target id, which is also the id of the page's main frame.
    pub pages: PageRegistry<ChromiumPage>,
    /// The tabs of sessions that have no own context, by target id.
    pub tabs: HashMap<Arc<str>, SessionTab>,
    /// The session that is opening a page in a profile. The browser reports the page before it
    /// responds with its id.
    pub opening: Option<Arc<ContextState>>,
    /// Target id by CDP session.
    pub sessions: HashMap<Arc<str>, Arc<str>>,
    /// The page that began each download; it may have closed since.
    pub downloading: HashMap<String, Arc<ChromiumPage>>,
    /// The networks that shared and service workers belong to, by CDP session.
    pub workers: HashMap<Arc<str>, Arc<CdpContextNetwork>>,
}

impl TargetRegistry {
    /// Returns the tab that a new target in a profile belongs to. Registers it if it is a page.
    /// `None` if it is not a session's.
    pub fn tab_in_profile(&mut self, target: &TargetInfo) -> Option<SessionTab> {
        if target.kind != "page" {
            // All sessions share the workers.
            return self.tabs.values().next().cloned();
        }
        let tab = match &target.opener_id {
            _ if self.tabs.contains_key(&*target.target_id) => None,
            Some(opener) => self.tabs.get(&**opener).cloned(),
            None => self.opening.clone().map(|context| SessionTab { context, is_adopted: false }),
        };
        if let Some(tab) = tab {
            self.tabs.insert(target.target_id.as_str().into(), tab);
        }
        self.tabs.get(&*target.target_id).cloned()
    }
}

/// Waits until a page has arrived and can be used.
pub(super) async fn ready_page(
    arrival: ExpectedPage<ChromiumPage>,
) -> EngineResult<Arc<ChromiumPage>> {
    let page = arrival.page().await?;
    page.ready().await?;
    Ok(page)
}

/// A context, or the tabs of one session in the default context.
pub(super) struct ContextState {
    pub options: Mutex<ContextOptions>,
    pub observer: Arc<dyn ContextObserver>,
    pub network: Arc<CdpContextNetwork>,
}

impl ContextState {
    /// Sets the viewport of future pages.
    pub fn set_viewport(&self, size: Viewport) {
        self.options.lock().config.viewport = Some(size);
    }

    /// Returns the command that opens an empty page, in a new window if the browser has windows.
    pub fn new_window(&self, window_mode: WindowMode) -> CreateTargetParams {
        let mut create = CreateTargetParams::new("about:blank");
        create.new_window = (window_mode != WindowMode::None).then_some(true);
        let size = emulation::window_size(&self.options.lock(), window_mode);
        if let Some(Viewport { width, height }) = size {
            create.width = Some(width.into());
            create.height = Some(height.into());
        }
        create
    }
}

/// A tab of a session.
#[derive(Clone)]
pub(super) struct SessionTab {
    pub context: Arc<ContextState>,
    /// Whether it is the user's.
    pub is_adopted: bool,
}
