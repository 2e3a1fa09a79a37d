//! The browser and its contexts. Assigns targets to contexts.

use std::{
    path::PathBuf,
    sync::{
        Arc, OnceLock, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use chromiumoxide::cdp::{
    browser_protocol::{
        browser::{
            BrowserContextId, CloseParams, GetVersionParams, PermissionDescriptor,
            PermissionSetting, SetDownloadBehaviorBehavior, SetDownloadBehaviorParams,
            SetPermissionParams,
        },
        target::{CreateBrowserContextParams, DetachFromTargetParams, DisposeBrowserContextParams},
    },
    js_protocol::runtime::RunIfWaitingForDebuggerParams,
};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    CAPABILITIES,
    browser_state::{BrowserState, ContextState, SessionPages, ready_page},
    cookies,
    launch::{self, ChromiumProcess, launch_error},
    network::CdpContextNetwork,
    page::{ChromiumPage, ChromiumPageSetup},
    session::{CdpSession, parse_event},
    session_tabs::{self, SessionTabs},
    targets::{AttachedToTarget, CreatedTarget, DetachedFromTarget, auto_attach},
    workers,
};
use crate::{
    config::{Config, Viewport},
    engine::{
        Browser, Capabilities, Context, ContextObserver, ContextOptions, DownloadStart,
        EngineError, EnginePage, EngineResult, PageEvent,
        connection::Listener,
        network::{Cookie, NetworkRules},
        network_policy::Egress,
        process::BrowserShutdown,
    },
};

const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A connected Chromium.
pub(super) struct ChromiumBrowser {
    version: String,
    pid: Option<u32>,
    state: Arc<BrowserState>,
    ending: BrowserShutdown,
}

/// An isolated browser context.
struct ChromiumContext {
    id: Arc<str>,
    state: Arc<BrowserState>,
    context: Arc<ContextState>,
    closed: AtomicBool,
}

impl ChromiumContext {
    fn browser_context_id(&self) -> Option<BrowserContextId> {
        Some(self.id.to_string().into())
    }
}

impl ChromiumBrowser {
    /// Attaches to the targets of the browser. Fails if the browser does not respond.
    pub async fn open(
        process: ChromiumProcess,
        config: Arc<Config>,
    ) -> EngineResult<Arc<dyn Browser>> {
        let cdp = CdpSession { connection: process.connection, id: None };
        let state = Arc::new(BrowserState {
            cdp: cdp.clone(),
            config,
            window_mode: process.window_mode,
            downloads: process.downloads,
            files: process.files,
            node_downloads: OnceLock::new(),
            gateway: process.gateway,
            session_pages: process.session_pages,
            opening_lock: tokio::sync::Mutex::default(),
            targets: Mutex::default(),
        });
        cdp.connection
            .listen(None, Arc::new(BrowserTargetListener { state: Arc::downgrade(&state) }));
        let handshake = async {
            let attached = if process.session_pages == SessionPages::UsersBrowser {
                session_tabs::prepare(&cdp).await?;
                None
            } else {
                // The sessions of pages attach to frames and dedicated workers.
                Some(cdp.post(auto_attach(&["page", "shared_worker", "service_worker"]))?)
            };
            let version: BrowserVersion = cdp.execute(GetVersionParams {}).await?;
            if let Some(attached) = attached {
                attached.raw().await?;
                if let Err(error) = state.find_node_downloads().await {
                    tracing::warn!(%error, "downloads stay on the node of the Selenium Grid");
                }
            }
            Ok::<_, EngineError>(version.product)
        };
        let version = match tokio::time::timeout(LAUNCH_TIMEOUT, handshake).await {
            Ok(Ok(version)) => version,
            Ok(Err(error)) => {
                let reason = match error {
                    EngineError::BrowserGone => "it exited before it was ready".to_owned(),
                    error => format!("the connection could not be set up: {error}"),
                };
                let exited = process.ending.exited();
                return Err(launch_error(&process.stderr, exited, &reason).await);
            }
            Err(_) => {
                return Err(launch_error(
                    &process.stderr,
                    process.ending.exited(),
                    "it did not respond within 30 s",
                )
                .await);
            }
        };
        tracing::info!(version, pid = process.pid, "the browser is ready");
        Ok(Arc::new(Self { version, pid: process.pid, state, ending: process.ending }))
    }
}

#[derive(Deserialize)]
struct BrowserVersion {
    product: String,
}

#[async_trait]
impl Browser for ChromiumBrowser {
    fn version(&self) -> &str {
        &self.version
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn gone(&self) -> CancellationToken {
        self.state.cdp.connection.closed()
    }

    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        let state = &self.state;
        if state.session_pages == SessionPages::UsersBrowser {
            let network = CdpContextNetwork::new(None, state.config.keeps_request_details);
            let options = Mutex::new(options.clone());
            let context = Arc::new(ContextState { options, observer, network });
            return Ok(Arc::new(SessionTabs::new(state.clone(), context)));
        }
        let is_profile = state.session_pages == SessionPages::Profile;
        let egress = Egress::of_context(options, state.gateway.as_ref(), is_profile).await?;
        let id: Option<Arc<str>> = if is_profile {
            None
        } else {
            let (proxy_server, proxy_bypass_list) = match &egress {
                Some(Egress { gateway, .. }) => {
                    (Some(gateway.url()), Some(launch::PROXY_LOOPBACK.to_owned()))
                }
                None => (options.config.proxy_server.clone(), options.config.proxy_bypass.clone()),
            };
            let created: CreatedBrowserContext = state
                .cdp
                .execute(CreateBrowserContextParams {
                    dispose_on_detach: Some(true),
                    proxy_server,
                    proxy_bypass_list,
                    origins_with_universal_network_access: None,
                })
                .await?;
            Some(created.browser_context_id.into())
        };
        let mut behavior =
            SetDownloadBehaviorParams::new(SetDownloadBehaviorBehavior::AllowAndName);
        behavior.browser_context_id = id.as_deref().map(|id| id.to_owned().into());
        behavior.download_path = Some(state.downloads().display().to_string());
        behavior.events_enabled = Some(true);
        drop(state.cdp.post(behavior)?);
        for name in &options.config.permissions {
            let mut grant = SetPermissionParams::new(
                PermissionDescriptor::new(name),
                PermissionSetting::Granted,
            );
            grant.browser_context_id = id.as_deref().map(|id| id.to_owned().into());
            state.cdp.run(grant).await?;
        }
        let network = CdpContextNetwork::new(egress, state.config.keeps_request_details);
        let context =
            Arc::new(ContextState { options: Mutex::new(options.clone()), observer, network });
        let Some(id) = id else { return Ok(Arc::new(SessionTabs::new(state.clone(), context))) };
        state.targets().contexts.insert(id.clone(), context.clone());
        Ok(Arc::new(ChromiumContext {
            id,
            state: state.clone(),
            context,
            closed: AtomicBool::new(false),
        }))
    }

    async fn close(&self) {
        let cdp = &self.state.cdp;
        let disconnect = async { cdp.connection.close() };
        self.ending.close(|| drop(cdp.post(CloseParams {})), disconnect).await;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedBrowserContext {
    browser_context_id: String,
}

#[async_trait]
impl Context for ChromiumContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn EnginePage>> {
        let mut create = self.context.new_window(self.state.window_mode);
        create.browser_context_id = self.browser_context_id();
        let created: CreatedTarget = self.state.cdp.execute(create).await?;
        let arrival = self.state.targets().pages.expect(created.target_id.into());
        Ok(ready_page(arrival).await?)
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
        cookies::get(&self.state.cdp, self.browser_context_id()).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.state.cdp, self.browser_context_id(), cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.state.targets().contexts.remove(&self.id);
        self.state.cdp.run(DisposeBrowserContextParams::new(self.id.to_string())).await
    }
}

/// Handles the events of the browser's own session.
struct BrowserTargetListener {
    state: Weak<BrowserState>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadWillBegin {
    frame_id: String,
    guid: String,
    url: String,
    suggested_filename: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DownloadProgress {
    guid: String,
    state: String,
    #[serde(default)]
    received_bytes: f64,
    /// 0 if unknown.
    #[serde(default)]
    total_bytes: f64,
    /// Not in every version.
    file_path: Option<PathBuf>,
}

impl DownloadProgress {
    /// Describes an incomplete download. The browser reports no reason, only the number of bytes.
    fn interruption(&self) -> String {
        let (received, total) = (self.received_bytes, self.total_bytes);
        let of = if total > 0.0 { format!(" of {total}") } else { String::new() };
        format!("the download was interrupted after {received}{of} bytes")
    }
}

impl Listener for BrowserTargetListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(state) = self.state.upgrade() else { return };
        match method {
            "Target.attachedToTarget" => {
                if let Some(event) = parse_event(method, params) {
                    attached(&state, event);
                }
            }
            "Target.targetCreated" if state.session_pages == SessionPages::UsersBrowser => {
                if let Some(event) = parse_event(method, params) {
                    session_tabs::target_created(&state, event);
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(DetachedFromTarget { session_id }) = parse_event(method, params) {
                    detached(&state, &session_id);
                }
            }
            "Browser.downloadWillBegin" => {
                if let Some(event) = parse_event::<DownloadWillBegin>(method, params) {
                    let pages: Vec<_> = state.targets().pages.iter().cloned().collect();
                    let frame: Arc<str> = event.frame_id.into();
                    if let Some(page) = pages.iter().find(|page| page.has_frame(&frame)) {
                        state.targets().downloading.insert(event.guid.clone(), page.clone());
                        page.emit(PageEvent::DownloadStarted(DownloadStart {
                            id: event.guid.into(),
                            url: event.url,
                            suggested_filename: event.suggested_filename,
                        }));
                    }
                }
            }
            "Browser.downloadProgress" => {
                if let Some(event) = parse_event::<DownloadProgress>(method, params)
                    && event.state != "inProgress"
                {
                    let page = state.targets().downloading.remove(&event.guid);
                    let file = match event.state.as_str() {
                        "completed" => {
                            let expected = || state.downloads().join(&event.guid);
                            Ok(event.file_path.clone().unwrap_or_else(expected))
                        }
                        _ => Err(event.interruption()),
                    };
                    if page.is_none()
                        && let Some(path) = event.file_path
                        && let Some(probe) = state.targets().folder_probe.take()
                    {
                        let _ = probe.send(path);
                    }
                    if let Some(page) = page {
                        page.emit(PageEvent::DownloadEnded { id: event.guid.into(), file });
                    }
                }
            }
            _ => {}
        }
    }
}

fn attached(state: &Arc<BrowserState>, event: AttachedToTarget) {
    let session = event.session_id;
    let info = event.target_info;
    let tab = match state.session_pages {
        SessionPages::Profile => state.targets().tab_in_profile(&info),
        _ => state.targets().tabs.get(&*info.target_id).cloned(),
    };
    let is_adopted = tab.as_ref().is_some_and(|tab| tab.is_adopted);
    let context = tab.map(|tab| tab.context).or_else(|| {
        let id = info.browser_context_id.as_deref().unwrap_or_default();
        state.targets().contexts.get(id).cloned()
    });
    let cdp = state.cdp.sibling(session.clone());
    if let (Some(context), Some(kind)) = (&context, workers::kind(&info.kind)) {
        state.targets().workers.insert(session, context.network.clone());
        workers::attach(cdp, None, kind, info, None, &context.network);
        return;
    }
    let Some(context) = context.filter(|_| info.kind == "page") else {
        // A page of another client, or a window of the browser itself.
        if event.waiting_for_debugger {
            cdp.connection.listen(Some(session.clone()), Arc::new(IgnoredTargetListener));
            drop(cdp.post(RunIfWaitingForDebuggerParams {}));
        }
        let detach = DetachFromTargetParams { session_id: Some(session.to_string().into()) };
        drop(state.cdp.post(detach));
        return;
    };
    let id: Arc<str> = info.target_id.into();
    let opener = info.opener_id.as_deref();
    let popup = opener.and_then(|opener| state.targets().pages.get(opener)?.take_popup_size());
    let setup = ChromiumPageSetup {
        id: id.clone(),
        cdp,
        options: context.options.lock().clone(),
        window_mode: state.window_mode,
        popup,
        network: context.network.clone(),
        files: state.files.clone(),
        is_adopted,
    };
    let page = ChromiumPage::attach(setup, |page| context.observer.page_opened(page, opener));
    let mut targets = state.targets();
    targets.sessions.insert(session, id.clone());
    targets.pages.insert(id, page);
}

fn detached(state: &Arc<BrowserState>, session: &Arc<str>) {
    state.cdp.connection.forget(session);
    let page = {
        let mut targets = state.targets();
        if let Some(network) = targets.workers.remove(session) {
            network.leave(session);
        }
        targets.sessions.remove(session).and_then(|id| {
            targets.tabs.remove(&id);
            targets.pages.remove(&id)
        })
    };
    if let Some(page) = page {
        page.gone();
    }
}

/// Ignores the events of a session that is about to detach.
struct IgnoredTargetListener;

impl Listener for IgnoredTargetListener {
    fn event(&self, _method: &str, _params: &RawValue) {}
}
