//! The browser and its user contexts: which page belongs to whom, and who hears of what.

use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio_util::sync::CancellationToken;

use super::{
    Bidi, console, cookies, emulation,
    events::{Happening, parse},
    launch::Process,
    network::{ContextNetwork, Intercept, go_on},
    page::{FirefoxPage, PageSetup, WORLD},
    requests,
    system::{self, LET_US_IN, System},
    tabs::Tabs,
};
use crate::{
    config::{Config, display_present},
    engine::{
        Browser, Context, ContextObserver, ContextOptions, EngineError, EngineResult, Page, PageEvent,
        arrivals::Arrivals,
        network::{Cookie, NetworkRules},
        process::Ending,
        wire::{Listener, read_json},
    },
};

const LAUNCH_TIMEOUT: Duration = Duration::from_secs(45);

/// Everything that is listened to; answers carry the rest.
const EVENTS: &[&str] = &[
    "browsingContext",
    "input.fileDialogOpened",
    "log.entryAdded",
    "network.beforeRequestSent",
    "network.fetchError",
    "network.responseCompleted",
    "network.responseStarted",
    "script.message",
];

/// Frames tell under this name where they are.
const CHANNEL: &str = "troupe";
/// Runs in our world of each document, before its scripts: the page is in front as far as it knows, and it says
/// where it is where BiDi does not (back from `#hash`).
const TELLING: &str = "
  if (window === top) window.focus();
  for (const event of ['hashchange', 'popstate']) addEventListener(event, () => tell(location.href), true);
";

/// The user context of a browser whose profile is the user's own.
const DEFAULT: &str = "default";

/// A Firefox that answers.
pub(super) struct FirefoxBrowser {
    version: String,
    pid: Option<u32>,
    shared: Arc<Shared>,
    ending: Ending,
}

/// What the listener and the contexts share.
struct Shared {
    bidi: Bidi,
    system: System,
    config: Arc<Config>,
    windowed: bool,
    downloads: PathBuf,
    intercept: Intercept,
    targets: Mutex<Targets>,
}

#[derive(Default)]
struct Targets {
    /// By user context.
    contexts: HashMap<Arc<str>, Arc<ContextShared>>,
    pages: Arrivals<FirefoxPage>,
    /// The pages of all frames, main frames included.
    frames: HashMap<Arc<str>, Arc<FirefoxPage>>,
}

struct ContextShared {
    observer: Arc<dyn ContextObserver>,
    network: Arc<ContextNetwork>,
    tabs: Arc<Tabs>,
}

/// A user context.
struct FirefoxContext {
    id: Arc<str>,
    shared: Arc<Shared>,
    network: Arc<ContextNetwork>,
    tabs: Arc<Tabs>,
    touch: bool,
    closed: AtomicBool,
}

impl Shared {
    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn page_of(&self, frame: &str) -> Option<Arc<FirefoxPage>> {
        self.targets().frames.get(frame).cloned()
    }
}

#[derive(Deserialize)]
struct NewSession {
    capabilities: Capabilities,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Capabilities {
    browser_name: String,
    browser_version: String,
}

impl FirefoxBrowser {
    /// Greets the browser and starts to follow its pages.
    pub async fn open(process: Process, config: Arc<Config>) -> EngineResult<Arc<dyn Browser>> {
        let bidi = Bidi { wire: process.wire };
        let greeting = async {
            // Dialogs wait for us; so do those that ask whether to leave a page.
            let capabilities = json!({"alwaysMatch": {"unhandledPromptBehavior": {"default": "ignore", "beforeUnload": "ignore"}}});
            let session: NewSession = bidi.call("session.new", json!({"capabilities": capabilities})).await?;
            let system = System::open(&bidi).await?;
            Ok::<_, EngineError>((session.capabilities, system))
        };
        let (capabilities, system) = match tokio::time::timeout(LAUNCH_TIMEOUT, greeting).await {
            Ok(Ok(greeted)) => greeted,
            Ok(Err(error)) => return Err(unwilling(&error.to_string())),
            Err(_) => return Err(unwilling("no answer within 45 s")),
        };
        let headless = config.effective_headless(display_present()).is_ok_and(|(headless, _)| headless);
        let shared = Arc::new(Shared {
            bidi: bidi.clone(),
            system,
            windowed: !headless,
            downloads: process.downloads,
            intercept: Intercept::default(),
            targets: Mutex::default(),
            config,
        });
        bidi.wire.listen(None, Arc::new(BrowserListener { shared: Arc::downgrade(&shared) }));
        bidi.run("session.subscribe", json!({"events": EVENTS})).await?;
        let name = capabilities.browser_name;
        let (first, rest) = name.split_at(name.len().min(1));
        let version = format!("{}{rest}/{}", first.to_uppercase(), capabilities.browser_version);
        tracing::info!(version, pid = process.pid, "the browser is ready");
        Ok(Arc::new(Self { version, pid: process.pid, shared, ending: process.ending }))
    }
}

fn unwilling(reason: &str) -> EngineError {
    EngineError::Launch {
        reason: format!("Firefox could not be spoken to: {reason}"),
        suggestion: Some("troupe doctor tells what is missing".to_owned()),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CreatedContext {
    user_context: Arc<str>,
}

#[derive(Deserialize)]
struct CreatedPage {
    context: Arc<str>,
}

#[async_trait]
impl Browser for FirefoxBrowser {
    fn version(&self) -> &str {
        &self.version
    }

    fn pid(&self) -> Option<u32> {
        self.pid
    }

    fn gone(&self) -> CancellationToken {
        self.shared.bidi.wire.closed()
    }

    async fn new_context(
        &self,
        options: &ContextOptions,
        observer: Arc<dyn ContextObserver>,
    ) -> EngineResult<Arc<dyn Context>> {
        let shared = &self.shared;
        let bidi = &shared.bidi;
        let id = if shared.config.user_data_dir.is_some() {
            DEFAULT.into()
        } else {
            let params = emulation::user_context(&options.config)?;
            bidi.call::<CreatedContext>("browser.createUserContext", params).await?.user_context
        };
        let settings = emulation::apply(bidi, &id, options, shared.windowed)?;
        let downloads = json!({
            "downloadBehavior": {"type": "allowed", "destinationFolder": shared.downloads},
            "userContexts": [id],
        });
        let downloads = bidi.post("browser.setDownloadBehavior", downloads)?;
        let prelude = json!({
            "functionDeclaration": format!("(tell) => {{ {TELLING}{} }}", options.prelude),
            "arguments": [{"type": "channel", "value": {"channel": CHANNEL}}],
            "sandbox": WORLD,
            "userContexts": [id],
        });
        let prelude = bidi.post("script.addPreloadScript", prelude)?;
        for (setting, sent) in settings {
            sent.raw().await.map_err(|error| emulation::refused(setting, error, &options.config))?;
        }
        for sent in [downloads, prelude] {
            sent.raw().await.map_err(super::meaning)?;
        }
        let network: Arc<ContextNetwork> = Arc::default();
        shared.intercept.add(&network);
        let tabs: Arc<Tabs> = Arc::default();
        let context = ContextShared { observer, network: network.clone(), tabs: tabs.clone() };
        shared.targets().contexts.insert(id.clone(), Arc::new(context));
        Ok(Arc::new(FirefoxContext {
            id,
            shared: shared.clone(),
            network,
            tabs,
            touch: options.config.has_touch,
            closed: AtomicBool::new(false),
        }))
    }

    async fn close(&self) {
        let bidi = &self.shared.bidi;
        let leave = async {
            let _ = bidi.run("session.end", json!({})).await;
            bidi.wire.close();
        };
        self.ending.close(|| drop(bidi.post("browser.close", json!({}))), leave).await;
    }
}

#[async_trait]
impl Context for FirefoxContext {
    async fn new_page(&self) -> EngineResult<Arc<dyn Page>> {
        let params = json!({"type": "tab", "userContext": self.id, "background": true});
        let wanted = self.tabs.want();
        let created: CreatedPage = self.shared.bidi.call("browsingContext.create", params).await?;
        drop(wanted);
        let arrival = self.shared.targets().pages.expect(created.context.clone());
        let page = arrival.page().await?;
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
        let pages: Vec<Arc<FirefoxPage>> = {
            let mut targets = self.shared.targets();
            targets.contexts.remove(&self.id);
            targets.pages.iter().filter(|page| page.user_context == self.id).cloned().collect()
        };
        self.shared.intercept.remove(&self.shared.bidi, &self.network).await?;
        if &*self.id == DEFAULT {
            for page in pages {
                page.close().await?;
            }
            return Ok(());
        }
        self.shared.bidi.run("browser.removeUserContext", json!({"userContext": self.id})).await
    }
}

/// Follows the pages of the whole browser.
struct BrowserListener {
    shared: Weak<Shared>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ContextInfo {
    context: Arc<str>,
    parent: Option<Arc<str>>,
    url: String,
    user_context: Arc<str>,
    original_opener: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Message {
    channel: String,
    data: Value,
    source: Source,
}

#[derive(Deserialize)]
struct Source {
    context: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Placed {
    context: Arc<str>,
}

impl Listener for BrowserListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(shared) = self.shared.upgrade() else { return };
        match method {
            "browsingContext.contextCreated" => {
                if let Some(info) = parse(method, params) {
                    created(&shared, info);
                }
            }
            "browsingContext.contextDestroyed" => {
                if let Some(info) = parse(method, params) {
                    destroyed(&shared, &info);
                }
            }
            "input.fileDialogOpened" => {
                let placed = parse::<Placed>(method, params);
                if let Some(page) = placed.and_then(|placed| shared.page_of(&placed.context)) {
                    page.chooser_opened(params);
                }
            }
            "log.entryAdded" => {
                let Some((frame, message)) = console::translate(method, params) else { return };
                if let Some(page) = shared.page_of(&frame) {
                    page.emit(PageEvent::Console(message));
                }
            }
            "script.message" => {
                // Scripts of the page may send what they like over channels of their own.
                if let Ok(message) = read_json::<Message>(params.get()) {
                    heard(&shared, message);
                }
            }
            _ if method.starts_with("network.") => {
                let Some(step) = requests::read(method, params) else { return };
                match step.context.as_deref().and_then(|frame| shared.page_of(frame)) {
                    Some(page) => page.requested(method, &step),
                    None if step.is_blocked => go_on(&shared.bidi, &step),
                    None => {}
                }
            }
            _ => {
                let Some(happening) = parse::<Happening>(method, params) else { return };
                if let Some(page) = shared.page_of(&happening.context) {
                    page.happened(method, happening);
                }
            }
        }
    }
}

fn created(shared: &Arc<Shared>, info: ContextInfo) {
    let ContextInfo { context: id, parent, url, user_context, original_opener: opener } = info;
    if let Some(parent) = parent {
        let Some(page) = shared.page_of(&parent) else { return };
        shared.targets().frames.insert(id.clone(), page.clone());
        page.frame_attached(id, parent);
        return;
    }
    let context = shared.targets().contexts.get(&user_context).cloned();
    // Not ours: the browser's own first tab.
    let Some(context) = context else { return };
    let setup = PageSetup {
        id: id.clone(),
        user_context: user_context.clone(),
        bidi: shared.bidi.clone(),
        system: shared.system.clone(),
        network: context.network.clone(),
        tabs: context.tabs.clone(),
    };
    let page = FirefoxPage::attach(setup, |page| context.observer.page_opened(page, opener.as_deref()));
    shared.targets().frames.insert(id.clone(), page.clone());
    match opener.and_then(|opener| shared.page_of(&opener)) {
        Some(opener) => {
            opener.emit(PageEvent::WindowOpening { url });
            page.opened_by(vec![opener]);
            context.tabs.told();
        }
        // A window that must not know its opener: it was one of these pages, unless we have asked for it.
        None if !context.tabs.are_wanted() => {
            let mut others: Vec<_> = shared.targets().pages.iter().cloned().collect();
            others.retain(|other| other.user_context == user_context && other.id() != &*id);
            page.opened_by(others);
        }
        None => context.tabs.told(),
    }
    shared.targets().pages.arrive(id, page);
}

fn destroyed(shared: &Arc<Shared>, info: &ContextInfo) {
    let page = {
        let mut targets = shared.targets();
        let page = targets.frames.remove(&info.context);
        if targets.pages.remove(&info.context).is_some() {
            let gone = page.as_ref();
            targets.frames.retain(|_, of| gone.is_none_or(|gone| !Arc::ptr_eq(of, gone)));
        }
        page
    };
    let Some(page) = page else { return };
    if info.parent.is_some() {
        page.frame_detached(info.context.clone());
    } else {
        page.gone();
    }
}

fn heard(shared: &Arc<Shared>, message: Message) {
    match message.channel.as_str() {
        CHANNEL => {
            let (Some(frame), Some(url)) = (message.source.context, message.data["value"].as_str()) else {
                return;
            };
            if let Some(page) = shared.page_of(&frame) {
                page.moved(&frame, url.to_owned());
            }
        }
        system::CHANNEL => {
            // `{crashed: id}`, as the browser describes an object.
            let [what, of] = &message.data["value"][0]
                .as_array()
                .map_or([Value::Null, Value::Null], |entry| [entry[0].clone(), entry[1]["value"].clone()]);
            if what == "tab" {
                let context = of.as_str().and_then(|id| shared.targets().contexts.get(id).cloned());
                if let Some(context) = context {
                    context.tabs.opens();
                }
                return;
            }
            let Some(page) = of.as_str().and_then(|id| shared.page_of(id)) else { return };
            match what.as_str() {
                Some("crashed") => page.emit(PageEvent::Crashed),
                Some("dialog") => page.dialog_opens(),
                _ => {}
            }
        }
        _ => {}
    }
}
