//! The contexts and targets of a browser.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

use super::{
    emulation::WindowMode, network::CdpContextNetwork, page::ChromiumPage, session::CdpSession,
};
use crate::{
    config::{Config, Viewport},
    engine::{
        ContextObserver, ContextOptions, network_policy::Gateway, page_registry::PageRegistry,
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
    /// Whether it is the user's own browser, in which sessions have only their tabs.
    pub has_default_context_only: bool,
    pub targets: Mutex<TargetRegistry>,
}

impl BrowserState {
    pub fn targets(&self) -> MutexGuard<'_, TargetRegistry> {
        self.targets.lock()
    }
}

#[derive(Default)]
pub(super) struct TargetRegistry {
    /// By browser context id. The default context has the empty id.
    pub contexts: HashMap<Arc<str>, Arc<ContextState>>,
    /// By target id, which is also the id of the page's main frame.
    pub pages: PageRegistry<ChromiumPage>,
    /// The tabs of sessions in the user's browser, by target id.
    pub tabs: HashMap<Arc<str>, SessionTab>,
    /// Target id by CDP session.
    pub sessions: HashMap<Arc<str>, Arc<str>>,
    /// The page that began each download; it may have closed since.
    pub downloading: HashMap<String, Arc<ChromiumPage>>,
    /// The networks that shared and service workers belong to, by CDP session.
    pub workers: HashMap<Arc<str>, Arc<CdpContextNetwork>>,
}

/// A context, or the tabs of one session in the user's browser.
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
}

/// A tab of a session.
#[derive(Clone)]
pub(super) struct SessionTab {
    pub context: Arc<ContextState>,
    /// Whether it is the user's.
    pub is_adopted: bool,
}
