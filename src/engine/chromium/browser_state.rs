//! The contexts and targets of a browser.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Duration,
};

use chromiumoxide::cdp::browser_protocol::{
    browser::{SetDownloadBehaviorBehavior, SetDownloadBehaviorParams},
    target::{CloseTargetParams, CreateTargetParams},
};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::{
    emulation::{self, WindowMode},
    network::CdpContextNetwork,
    page::ChromiumPage,
    session::CdpSession,
    targets::{CreatedTarget, TargetInfo},
};
use crate::{
    config::{Config, Viewport},
    engine::{
        ContextObserver, ContextOptions, EngineResult,
        network_policy::Gateway,
        page_registry::{ExpectedPage, PageRegistry},
        remote::GridFiles,
    },
};

/// A file that the browser downloads into its default folder.
const PROBE_URL: &str = "data:application/octet-stream,troupe";
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The state that a browser shares with its listener and its contexts.
pub(super) struct BrowserState {
    pub cdp: CdpSession,
    pub config: Arc<Config>,
    pub window_mode: WindowMode,
    /// The folder where downloads are stored under their ids until they are reported.
    pub downloads: PathBuf,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    /// The folder on the node of a Selenium Grid that replaces `downloads`.
    pub node_downloads: OnceLock<PathBuf>,
    /// The proxy for the browser itself and its default context, if connections are restricted.
    pub gateway: Option<Arc<Gateway>>,
    pub session_pages: SessionPages,
    /// Held while a session opens a page in a profile, see [`TargetRegistry::opening_context`].
    pub opening_lock: tokio::sync::Mutex<()>,
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

    /// Returns the folder where downloads are stored under their ids until they are reported.
    pub fn downloads(&self) -> &Path {
        self.node_downloads.get().unwrap_or(&self.downloads)
    }

    /// Finds the folder from which the Grid transfers downloads. It is the default folder of the
    /// browser, but only the default context uses it, and no command returns it.
    pub async fn find_node_downloads(&self) -> EngineResult<()> {
        let Some(files) = self.files.as_ref().filter(|files| files.has_download_folder()) else {
            return Ok(());
        };
        let (sender, receiver) = oneshot::channel();
        self.targets().folder_probe = Some(sender);
        let mut behavior = SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::Default);
        behavior.events_enabled = Some(true);
        self.cdp.run(behavior).await?;
        let page: CreatedTarget = self.cdp.execute(CreateTargetParams::new(PROBE_URL)).await?;
        let path = tokio::time::timeout(PROBE_TIMEOUT, receiver).await.ok().and_then(Result::ok);
        self.targets().folder_probe = None;
        drop(self.cdp.post(CloseTargetParams::new(page.target_id))?);
        // The node may run Windows.
        let path = path.map(|path| path.to_string_lossy().into_owned());
        match path.as_deref().and_then(|path| path.rsplit_once(['/', '\\'])) {
            Some((folder, _)) => drop(self.node_downloads.set(folder.into())),
            None => tracing::warn!(
                "the browser has not reported its download folder: downloads stay on its node"
            ),
        }
        files.delete_downloads().await;
        Ok(())
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
    pub opening_context: Option<Arc<ContextState>>,
    /// Target id by CDP session.
    pub sessions: HashMap<Arc<str>, Arc<str>>,
    /// The page that began each download; it may have closed since.
    pub downloading: HashMap<String, Arc<ChromiumPage>>,
    /// Receives the path of the next file that no page has downloaded.
    pub folder_probe: Option<oneshot::Sender<PathBuf>>,
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
            None => self
                .opening_context
                .clone()
                .map(|context| SessionTab { context, is_adopted: false }),
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
    page.await_setup().await?;
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
