//! The browser and its contexts, and the assignment of targets to contexts.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Weak,
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
        target::{
            CreateBrowserContextParams, CreateTargetParams, DetachFromTargetParams,
            DisposeBrowserContextParams, FilterEntry, SetAutoAttachParams, TargetFilter,
        },
    },
    js_protocol::runtime::RunIfWaitingForDebuggerParams,
};
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{
    CAPABILITIES, Link, cookies, emulation,
    launch::{self, Process, Windows},
    network::ContextNetwork,
    page::{ChromiumPage, PageSetup},
    workers,
};
use crate::{
    config::{Config, Viewport},
    engine::{
        Browser, Capabilities, Context, ContextObserver, ContextOptions, DownloadStart,
        EngineError, EngineResult, Page, PageEvent,
        arrivals::Arrivals,
        connection::{Listener, read_json},
        network::{Cookie, NetworkRules},
        network_policy::{Egress, Gateway},
        process::{Ending, Stderr},
    },
};

const LAUNCH_TIMEOUT: Duration = Duration::from_secs(30);

/// A Chromium that answers.
pub(super) struct ChromiumBrowser {
    version: String,
    pid: Option<u32>,
    shared: Arc<Shared>,
    ending: Ending,
}

/// State that the listener and the contexts share.
pub(super) struct Shared {
    pub link: Link,
    pub config: Arc<Config>,
    windows: Windows,
    /// The folder where downloads are stored under their ids until they are reported.
    downloads: PathBuf,
    /// The proxy for the browser itself and its default context, if pages may not connect everywhere.
    gateway: Option<Arc<Gateway>>,
    targets: Mutex<Targets>,
}

#[derive(Default)]
struct Targets {
    /// By browser context id; the default context is there under the empty name.
    contexts: HashMap<Arc<str>, Arc<ContextShared>>,
    /// By target id, which is also the id of the page's main frame.
    pages: Arrivals<ChromiumPage>,
    /// Target id by CDP session.
    sessions: HashMap<Arc<str>, Arc<str>>,
    /// The page that began each download; it may have closed since.
    downloading: HashMap<String, Arc<ChromiumPage>>,
    /// The networks that shared and service workers belong to, by CDP session.
    workers: HashMap<Arc<str>, Arc<ContextNetwork>>,
}

struct ContextShared {
    options: Mutex<ContextOptions>,
    observer: Arc<dyn ContextObserver>,
    network: Arc<ContextNetwork>,
}

/// An isolated browser context.
struct ChromiumContext {
    id: Option<Arc<str>>,
    shared: Arc<Shared>,
    context: Arc<ContextShared>,
    closed: AtomicBool,
}

impl ChromiumContext {
    fn browser_context_id(&self) -> Option<BrowserContextId> {
        self.id.as_deref().map(|id| id.to_owned().into())
    }
}

impl Shared {
    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock()
    }
}

impl ChromiumBrowser {
    /// Greets the browser and starts to follow its targets.
    pub async fn open(process: Process, config: Arc<Config>) -> EngineResult<Arc<dyn Browser>> {
        let link = Link { wire: process.wire, session: None };
        let shared = Arc::new(Shared {
            link: link.clone(),
            config,
            windows: process.windows,
            downloads: process.downloads,
            gateway: process.gateway,
            targets: Mutex::default(),
        });
        link.wire.listen(None, Arc::new(BrowserListener { shared: Arc::downgrade(&shared) }));
        let greeting = async {
            // Frames and dedicated workers are followed page by page.
            let mut attach = SetAutoAttachParams::new(true, true);
            attach.flatten = Some(true);
            attach.filter = Some(only(&["page", "shared_worker", "service_worker"]));
            let attached = link.post(attach)?;
            let version: Version = link.execute(GetVersionParams {}).await?;
            attached.raw().await?;
            Ok::<_, EngineError>(version.product)
        };
        let version = match tokio::time::timeout(LAUNCH_TIMEOUT, greeting).await {
            Ok(Ok(version)) => version,
            Ok(Err(_)) => {
                return Err(
                    died(&process.stderr, process.ending.exited(), "it ended at once").await
                );
            }
            Err(_) => {
                return Err(died(
                    &process.stderr,
                    process.ending.exited(),
                    "it did not answer within 30 s",
                )
                .await);
            }
        };
        tracing::info!(version, pid = process.pid, "the browser is ready");
        Ok(Arc::new(Self { version, pid: process.pid, shared, ending: process.ending }))
    }
}

/// A filter that lets these types of target through.
pub(super) fn only(kinds: &[&str]) -> TargetFilter {
    let through = kinds
        .iter()
        .map(|kind| FilterEntry { exclude: Some(false), r#type: Some((*kind).to_owned()) });
    TargetFilter::new(
        through.chain([FilterEntry { exclude: Some(true), r#type: None }]).collect::<Vec<_>>(),
    )
}

/// Why a browser did not come up, in its own last words.
pub(super) async fn died(stderr: &Stderr, exited: &CancellationToken, what: &str) -> EngineError {
    let _ = tokio::time::timeout(Duration::from_millis(500), exited.cancelled()).await;
    let said = stderr.text();
    let suggestion = if said.contains("--no-sandbox") {
        Some(
            "root cannot use the browser's sandbox: pass --no-sandbox, or run as another user"
                .to_owned(),
        )
    } else if said.contains("sandbox") {
        Some("the browser's sandbox does not work here: pass --no-sandbox".to_owned())
    } else {
        Some("troupe doctor tells what is missing".to_owned())
    };
    // The line that ended it, or else the last ones; without the time and the place in its sources.
    let fatal: Vec<&str> = said.lines().filter(|line| line.contains(":FATAL:")).collect();
    let lines = if fatal.is_empty() { said.lines().collect() } else { fatal };
    let lines: Vec<&str> = lines
        .into_iter()
        .filter(|line| !line.contains("crashpad") && !line.contains("zygote"))
        .map(|line| {
            line.rsplit_once(")] ")
                .or_else(|| line.split_once("] "))
                .map_or(line, |(_, text)| text)
                .trim()
        })
        .filter(|line| !line.is_empty())
        .collect();
    let said = lines[lines.len().saturating_sub(3)..].join("; ");
    let reason = if said.is_empty() { what.to_owned() } else { format!("{what}: {said}") };
    EngineError::Launch { reason, suggestion }
}

#[derive(Deserialize)]
struct Version {
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
        self.shared.link.wire.closed()
    }

    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        let shared = &self.shared;
        let own = shared.config.user_data_dir.is_some();
        let egress = Egress::of_context(options, shared.gateway.as_ref(), own).await?;
        let id: Option<Arc<str>> = if own {
            None
        } else {
            let (proxy_server, proxy_bypass_list) = match &egress {
                Some(Egress { gateway, .. }) => {
                    (Some(gateway.url()), Some(launch::NO_BYPASS.to_owned()))
                }
                None => (options.config.proxy_server.clone(), options.config.proxy_bypass.clone()),
            };
            let created: CreatedContext = shared
                .link
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
        behavior.download_path = Some(shared.downloads.display().to_string());
        behavior.events_enabled = Some(true);
        drop(shared.link.post(behavior)?);
        for name in &options.config.permissions {
            let mut grant = SetPermissionParams::new(
                PermissionDescriptor::new(name),
                PermissionSetting::Granted,
            );
            grant.browser_context_id = id.as_deref().map(|id| id.to_owned().into());
            shared.link.run(grant).await?;
        }
        let network = ContextNetwork::new(egress);
        let context =
            Arc::new(ContextShared { options: Mutex::new(options.clone()), observer, network });
        shared.targets().contexts.insert(id.clone().unwrap_or_default(), context.clone());
        Ok(Arc::new(ChromiumContext {
            id,
            shared: shared.clone(),
            context,
            closed: AtomicBool::new(false),
        }))
    }

    async fn close(&self) {
        let link = &self.shared.link;
        let leave = async { link.wire.close() };
        self.ending.close(|| drop(link.post(CloseParams {})), leave).await;
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedContext {
    browser_context_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedTarget {
    target_id: String,
}

#[async_trait]
impl Context for ChromiumContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn Page>> {
        let mut create = CreateTargetParams::new("about:blank");
        create.browser_context_id = self.browser_context_id();
        create.new_window = (self.shared.windows != Windows::None).then_some(true);
        let size = emulation::window_size(&self.context.options.lock(), self.shared.windows);
        if let Some(Viewport { width, height }) = size {
            create.width = Some(width.into());
            create.height = Some(height.into());
        }
        let created: CreatedTarget = self.shared.link.execute(create).await?;
        let arrival = self.shared.targets().pages.expect(created.target_id.into());
        let page = arrival.page().await?;
        page.ready().await?;
        Ok(page)
    }

    fn capabilities(&self) -> Capabilities {
        CAPABILITIES
    }

    async fn set_viewport(&self, size: Viewport) -> EngineResult<()> {
        self.context.options.lock().config.viewport = Some(size);
        Ok(())
    }

    async fn set_network(&self, rules: NetworkRules) -> EngineResult<()> {
        self.context.network.set(rules).await;
        Ok(())
    }

    async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        cookies::get(&self.shared.link, self.browser_context_id()).await
    }

    async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        cookies::set(&self.shared.link, self.browser_context_id(), cookies).await
    }

    async fn close(&self) -> EngineResult<()> {
        if self.closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let pages: Vec<Arc<ChromiumPage>> = {
            let mut targets = self.shared.targets();
            targets.contexts.remove(&self.id.clone().unwrap_or_default());
            match &self.id {
                Some(_) => Vec::new(),
                None => targets.pages.iter().cloned().collect(),
            }
        };
        match &self.id {
            Some(id) => {
                self.shared.link.run(DisposeBrowserContextParams::new(id.to_string())).await
            }
            None => {
                let mut outcome = Ok(());
                for page in pages {
                    outcome = outcome.and(page.close().await);
                }
                outcome
            }
        }
    }
}

/// Follows the targets of the whole browser.
struct BrowserListener {
    shared: Weak<Shared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attached {
    session_id: String,
    target_info: TargetInfo,
    #[serde(default)]
    waiting_for_debugger: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TargetInfo {
    target_id: String,
    #[serde(rename = "type")]
    kind: String,
    browser_context_id: Option<String>,
    opener_id: Option<String>,
    #[serde(default)]
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detached {
    session_id: String,
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
}

impl DownloadProgress {
    /// The browser does not tell why, only how far it came.
    fn broken_off(&self) -> String {
        let (received, total) = (self.received_bytes, self.total_bytes);
        let of = if total > 0.0 { format!(" of {total}") } else { String::new() };
        format!("it was broken off after {received}{of} bytes")
    }
}

/// Parses `params`. If they do not match, logs that and ignores the event.
pub(super) fn parse<T: DeserializeOwned>(method: &str, params: &RawValue) -> Option<T> {
    read_json(params.get())
        .inspect_err(
            |error| tracing::warn!(method, %error, "an event of the browser could not be read"),
        )
        .ok()
}

impl Listener for BrowserListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(shared) = self.shared.upgrade() else { return };
        match method {
            "Target.attachedToTarget" => {
                if let Some(event) = parse(method, params) {
                    attached(&shared, event);
                }
            }
            "Target.detachedFromTarget" => {
                if let Some(Detached { session_id }) = parse(method, params) {
                    detached(&shared, &session_id.into());
                }
            }
            "Browser.downloadWillBegin" => {
                if let Some(event) = parse::<DownloadWillBegin>(method, params) {
                    let pages: Vec<_> = shared.targets().pages.iter().cloned().collect();
                    let frame: Arc<str> = event.frame_id.into();
                    if let Some(page) = pages.iter().find(|page| page.has_frame(&frame)) {
                        shared.targets().downloading.insert(event.guid.clone(), page.clone());
                        page.emit(PageEvent::DownloadStarted(DownloadStart {
                            id: event.guid.into(),
                            url: event.url,
                            suggested_filename: event.suggested_filename,
                        }));
                    }
                }
            }
            "Browser.downloadProgress" => {
                if let Some(event) = parse::<DownloadProgress>(method, params)
                    && event.state != "inProgress"
                {
                    let page = shared.targets().downloading.remove(&event.guid);
                    let file = match event.state.as_str() {
                        "completed" => Ok(shared.downloads.join(&event.guid)),
                        _ => Err(event.broken_off()),
                    };
                    if let Some(page) = page {
                        page.emit(PageEvent::DownloadEnded { id: event.guid.into(), file });
                    }
                }
            }
            _ => {}
        }
    }
}

fn attached(shared: &Arc<Shared>, event: Attached) {
    let session: Arc<str> = event.session_id.into();
    let info = event.target_info;
    let context = {
        let targets = shared.targets();
        let id = info.browser_context_id.as_deref().unwrap_or_default();
        targets.contexts.get(id).or_else(|| targets.contexts.get("")).cloned()
    };
    let link = Link { wire: shared.link.wire.clone(), session: Some(session.clone()) };
    if let (Some(context), Some(kind)) = (&context, workers::kind(&info.kind)) {
        shared.targets().workers.insert(session, context.network.clone());
        let target = workers::Target { target_id: info.target_id, url: info.url };
        workers::attach(link, None, kind, target, None, &context.network);
        return;
    }
    let Some(context) = context.filter(|_| info.kind == "page") else {
        // Not ours (another client's page, a window of the browser itself): let it run without us.
        if event.waiting_for_debugger {
            link.wire.listen(Some(session.clone()), Arc::new(Deaf));
            drop(link.post(RunIfWaitingForDebuggerParams {}));
        }
        let detach = DetachFromTargetParams { session_id: Some(session.to_string().into()) };
        drop(shared.link.post(detach));
        return;
    };
    let id: Arc<str> = info.target_id.into();
    let opener = info.opener_id.as_deref();
    let popup = opener.and_then(|opener| shared.targets().pages.get(opener)?.popup_size());
    let setup = PageSetup {
        id: id.clone(),
        link,
        options: context.options.lock().clone(),
        windows: shared.windows,
        popup,
        network: context.network.clone(),
    };
    let page = ChromiumPage::attach(setup, |page| context.observer.page_opened(page, opener));
    let mut targets = shared.targets();
    targets.sessions.insert(session, id.clone());
    targets.pages.arrive(id, page);
}

fn detached(shared: &Arc<Shared>, session: &Arc<str>) {
    shared.link.wire.forget(session);
    let page = {
        let mut targets = shared.targets();
        if let Some(network) = targets.workers.remove(session) {
            network.leave(session);
        }
        targets.sessions.remove(session).and_then(|id| targets.pages.remove(&id))
    };
    if let Some(page) = page {
        page.gone();
    }
}

/// Listens to a session that is let go.
struct Deaf;

impl Listener for Deaf {
    fn event(&self, _method: &str, _params: &RawValue) {}
}
