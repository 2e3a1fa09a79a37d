//! Maps browsing contexts to pages, and dispatches the browser's events to them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::OnceCell;

use super::{
    Bidi, console,
    navigation_events::{NAVIGATION_STARTED, NavigationEvent, parse},
    network::{FirefoxNetwork, RequestInterception},
    network_events,
    page::{FirefoxPage, FirefoxPageSetup},
    pending_tabs::PendingTabs,
    privileged::{MESSAGE_EVENT, PrivilegedMessage, PrivilegedScript},
    tab_settings::TabSettings,
};
use crate::engine::{
    ContextObserver, EnginePage, EngineResult, PageEvent,
    connection::{Listener, read_json},
    page_registry::{ExpectedPage, PageRegistry},
    remote::GridFiles,
};

/// The user context that has the cookies and the storage of the profile.
pub(super) const DEFAULT_USER_CONTEXT: &str = "default";

/// The channel on which frames report their URL.
pub(super) const CHANNEL: &str = "troupe";
/// Maximum number of tabs to remember before BiDi reports them, or that belong to no session.
const MAX_EARLY: usize = 32;

/// The state that the listener and the contexts share.
pub(super) struct FirefoxState {
    pub bidi: Bidi,
    pub privileged: PrivilegedScript,
    pub intercept: Arc<RequestInterception>,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    targets: Mutex<PageIndex>,
    /// Set when the default user context is ready for sessions.
    default_context: OnceCell<()>,
}

#[derive(Default)]
struct PageIndex {
    /// The contexts by key: the user context, or the key of a session's tabs in the default one.
    contexts: HashMap<Arc<str>, Arc<ContextHandles>>,
    /// The keys of the contexts of tabs in the default user context.
    owners: HashMap<Arc<str>, Arc<str>>,
    /// The latest tabs in the default user context that belong to no session so far.
    unassigned: VecDeque<ContextInfo>,
    pages: PageRegistry<FirefoxPage>,
    /// The page of each frame, including main frames.
    frames: HashMap<Arc<str>, Arc<FirefoxPage>>,
    /// First navigations of tabs that links opened: BiDi reports them before the tabs.
    early: VecDeque<NavigationEvent>,
    /// URLs of tabs that BiDi has not reported yet, by browsing context.
    window_urls: VecDeque<(Arc<str>, String)>,
}

impl PageIndex {
    /// Returns the key of the context of a tab, or `None` if the tab belongs to no session.
    fn context_key(&self, info: &ContextInfo) -> Option<Arc<str>> {
        if self.contexts.contains_key(&info.user_context) {
            return Some(info.user_context.clone());
        }
        let opener = info.original_opener.as_ref().and_then(|opener| self.frames.get(opener));
        let owner = self.owners.get(&info.context);
        opener.map(|opener| &opener.context_key).or(owner).cloned()
    }
}

pub(super) struct ContextHandles {
    pub observer: Arc<dyn ContextObserver>,
    pub network: Arc<FirefoxNetwork>,
    pub tabs: Arc<PendingTabs>,
    /// The settings for each tab, if the context has no user context of its own.
    pub tab_settings: Option<Arc<TabSettings>>,
}

impl FirefoxState {
    pub fn new(bidi: Bidi, privileged: PrivilegedScript, files: Option<Arc<GridFiles>>) -> Self {
        Self {
            bidi,
            privileged,
            intercept: Arc::default(),
            files,
            targets: Mutex::default(),
            default_context: OnceCell::new(),
        }
    }

    pub fn add_context(&self, key: &Arc<str>, context: ContextHandles) {
        self.targets().contexts.insert(key.clone(), Arc::new(context));
    }

    /// Removes a context and returns its pages.
    pub fn remove_context(&self, key: &Arc<str>) -> Vec<Arc<FirefoxPage>> {
        let mut targets = self.targets();
        targets.contexts.remove(key);
        targets.owners.retain(|_, owner| owner != key);
        targets.pages.iter().filter(|page| page.context_key == *key).cloned().collect()
    }

    /// Returns the ids of the pages of a context.
    pub fn page_ids(&self, key: &str) -> Vec<Arc<str>> {
        let targets = self.targets();
        let own = targets.pages.iter().filter(|page| *page.context_key == *key);
        own.map(|page| page.id().into()).collect()
    }

    /// Assigns a tab in the default user context to the context `key`. Returns false if the context
    /// is closed.
    pub fn assign_tab(self: &Arc<Self>, tab: &Arc<str>, key: &Arc<str>) -> bool {
        let (context, info) = {
            let mut targets = self.targets();
            let Some(context) = targets.contexts.get(key).cloned() else { return false };
            targets.owners.insert(tab.clone(), key.clone());
            let at = targets.unassigned.iter().position(|info| info.context == *tab);
            (context, at.and_then(|at| targets.unassigned.remove(at)))
        };
        // The privileged script's report did not count: it does not say which session opens a tab.
        context.tabs.opened();
        if let Some(info) = info {
            tab_created(self, key, &context, info);
        }
        true
    }

    /// Prepares the default user context with `prepare`, once.
    pub async fn prepare_default_context(
        &self,
        prepare: impl Future<Output = EngineResult<()>>,
    ) -> EngineResult<()> {
        self.default_context.get_or_try_init(|| prepare).await.copied()
    }

    /// Returns the page `id` as soon as it is reported.
    pub fn arrival(&self, id: &Arc<str>) -> ExpectedPage<FirefoxPage> {
        self.targets().pages.expect(id.clone())
    }

    fn targets(&self) -> MutexGuard<'_, PageIndex> {
        self.targets.lock()
    }

    fn keep_early_navigation(&self, event: NavigationEvent) {
        let mut targets = self.targets();
        if targets.early.len() == MAX_EARLY {
            targets.early.pop_front();
        }
        targets.early.push_back(event);
    }

    fn take_early_navigation(&self, context: &str) -> Option<NavigationEvent> {
        let mut targets = self.targets();
        let at = targets.early.iter().position(|early| *early.context == *context)?;
        targets.early.remove(at)
    }

    fn keep_window_url(&self, context: Arc<str>, url: String) {
        let mut targets = self.targets();
        if targets.window_urls.len() == MAX_EARLY {
            targets.window_urls.pop_front();
        }
        targets.window_urls.push_back((context, url));
    }

    fn take_window_url(&self, context: &str) -> Option<String> {
        let mut targets = self.targets();
        let at = targets.window_urls.iter().position(|(of, _)| **of == *context)?;
        targets.window_urls.remove(at).map(|(_, url)| url)
    }

    fn with_page(&self, frame: &str, work: impl FnOnce(&FirefoxPage)) {
        if let Some(page) = self.page_of(frame) {
            work(&page);
        }
    }

    fn page_of(&self, frame: &str) -> Option<Arc<FirefoxPage>> {
        self.targets().frames.get(frame).cloned()
    }
}

/// Listens to the events of the whole browser.
pub(super) struct FirefoxListener(pub Weak<FirefoxState>);

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
struct ChannelMessage {
    channel: String,
    data: Value,
    source: MessageSource,
}

#[derive(Deserialize)]
struct MessageSource {
    context: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct EventContext {
    context: Arc<str>,
}

impl Listener for FirefoxListener {
    fn event(&self, method: &str, params: &RawValue) {
        let Some(shared) = self.0.upgrade() else { return };
        match method {
            "browsingContext.contextCreated" => {
                if let Some(info) = parse(method, params) {
                    context_created(&shared, info);
                }
            }
            "browsingContext.contextDestroyed" => {
                if let Some(info) = parse(method, params) {
                    context_destroyed(&shared, &info);
                }
            }
            "input.fileDialogOpened" => {
                let placed = parse::<EventContext>(method, params);
                if let Some(page) = placed.and_then(|placed| shared.page_of(&placed.context)) {
                    page.chooser_opened(params);
                }
            }
            "log.entryAdded" => {
                let Some((frame, event)) = console::translate(method, params) else { return };
                if let Some(page) = shared.page_of(&frame) {
                    page.emit(event);
                }
            }
            MESSAGE_EVENT => {
                if let Some(message) = parse(method, params) {
                    handle_message(&shared, message);
                }
            }
            "script.message" => {
                // Scripts of the page can send other messages on their own channels.
                if let Ok(message) = read_json::<ChannelMessage>(params.get()) {
                    handle_channel_message(&shared, message);
                }
            }
            _ if method.starts_with("network.") => {
                let Some(step) = network_events::parse_event(method, params) else { return };
                match step.context.as_deref().and_then(|frame| shared.page_of(frame)) {
                    Some(page) => page.network_event(method, &step),
                    // A request of a worker that several pages share.
                    None if step.is_blocked => shared.intercept.decide(&shared.bidi, &step),
                    None => {}
                }
            }
            _ => {
                let Some(event) = parse::<NavigationEvent>(method, params) else { return };
                match shared.page_of(&event.context) {
                    Some(page) => page.navigation_event(method, event),
                    None if method == NAVIGATION_STARTED => shared.keep_early_navigation(event),
                    None => {}
                }
            }
        }
    }
}

fn context_created(shared: &Arc<FirefoxState>, info: ContextInfo) {
    if let Some(parent) = info.parent {
        let Some(page) = shared.page_of(&parent) else { return };
        shared.targets().frames.insert(info.context.clone(), page.clone());
        page.frame_attached(info.context, parent);
        return;
    }
    let mut targets = shared.targets();
    let key = targets.context_key(&info);
    let owner = key.and_then(|key| Some((targets.contexts.get(&key)?.clone(), key)));
    let Some((context, key)) = owner else {
        // The browser's initial tab, or a tab that the user or a session is opening.
        if *info.user_context == *DEFAULT_USER_CONTEXT {
            if targets.unassigned.len() == MAX_EARLY {
                targets.unassigned.pop_front();
            }
            targets.unassigned.push_back(info);
        }
        return;
    };
    drop(targets);
    // A tab that the session itself opens already has its settings.
    let settings = context.tab_settings.as_ref().filter(|_| !context.tabs.has_requests());
    if let Some(settings) = settings
        && let Err(error) =
            settings.post((&shared.bidi, &shared.privileged), shared.page_ids(&key), &info.context)
    {
        tracing::warn!(%error, "cannot apply the settings of a session to its popup");
    }
    tab_created(shared, &key, &context, info);
}

/// Handles a new tab of the context `key`.
fn tab_created(
    shared: &Arc<FirefoxState>,
    key: &Arc<str>,
    context: &ContextHandles,
    info: ContextInfo,
) {
    let ContextInfo { context: id, url, original_opener: opener, .. } = info;
    let early = shared.take_early_navigation(&id);
    let window_url = early.as_ref().map(|early| early.url.clone()).or(shared.take_window_url(&id));
    let setup = FirefoxPageSetup {
        id: id.clone(),
        context_key: key.clone(),
        bidi: shared.bidi.clone(),
        privileged: shared.privileged.clone(),
        network: context.network.clone(),
        tabs: context.tabs.clone(),
        files: shared.files.clone(),
    };
    let page =
        FirefoxPage::attach(setup, |page| context.observer.page_opened(page, opener.as_deref()));
    shared.targets().frames.insert(id.clone(), page.clone());
    match opener.and_then(|opener| shared.page_of(&opener)) {
        Some(opener) => {
            let url = window_url.unwrap_or(url);
            opener.emit(PageEvent::WindowOpening { window: Some(id.clone()), url });
            opener.stay_selected();
            page.set_openers(vec![opener]);
            context.tabs.reported();
        }
        // `noopener` hides the opener: it is one of these pages, unless Troupe itself opened the
        // tab.
        None if !context.tabs.has_requests() => {
            let mut others: Vec<_> = shared.targets().pages.iter().cloned().collect();
            others.retain(|other| other.context_key == *key && other.id() != &*id);
            if let Some(opener) = others.iter().find(|other| context.tabs.is_selected(other.id())) {
                opener.stay_selected();
            }
            page.set_openers(others);
        }
        None => context.tabs.reported(),
    }
    if let Some(early) = early {
        page.navigation_event(NAVIGATION_STARTED, early);
    }
    shared.targets().pages.insert(id, page);
}

fn context_destroyed(shared: &Arc<FirefoxState>, info: &ContextInfo) {
    let page = {
        let mut targets = shared.targets();
        targets.owners.remove(&info.context);
        targets.unassigned.retain(|tab| tab.context != info.context);
        let page = targets.frames.remove(&info.context);
        if targets.pages.remove(&info.context).is_some() {
            let gone = page.as_ref();
            targets.frames.retain(|_, of| gone.is_none_or(|gone| !Arc::ptr_eq(of, gone)));
        }
        page
    };
    let Some(page) = page else { return };
    if info.parent.is_some() {
        let detached = page.frame_detached(info.context.clone());
        let mut targets = shared.targets();
        for frame in &detached {
            targets.frames.remove(frame);
        }
    } else {
        page.closed();
    }
}

/// Handles the URL that a frame reports on the channel.
fn handle_channel_message(shared: &Arc<FirefoxState>, message: ChannelMessage) {
    let (CHANNEL, Some(frame), Some(url)) =
        (message.channel.as_str(), message.source.context, message.data["value"].as_str())
    else {
        return;
    };
    if let Some(page) = shared.page_of(&frame) {
        page.url_changed(&frame, url.to_owned());
    }
}

/// Handles a message from the privileged script.
fn handle_message(shared: &Arc<FirefoxState>, message: PrivilegedMessage) {
    match message {
        PrivilegedMessage::Tab { user_context, context: id, url, opener } => {
            let info = ContextInfo {
                context: id.clone(),
                parent: None,
                url: String::new(),
                user_context,
                original_opener: opener,
            };
            let context = {
                let mut targets = shared.targets();
                let Some(key) = targets.context_key(&info) else { return };
                let Some(context) = targets.contexts.get(&key).cloned() else { return };
                if context.tab_settings.is_some() {
                    // BiDi does not report the opener of a link with `noopener`.
                    targets.owners.insert(id.clone(), key);
                }
                context
            };
            context.tabs.opened();
            match (url, shared.page_of(&id)) {
                (None, _) => {}
                (Some(url), Some(page)) => page.window_url_known(&url),
                (Some(url), None) => shared.keep_window_url(id, url),
            }
        }
        PrivilegedMessage::Crashed { context } => shared.with_page(&context, FirefoxPage::crashed),
        PrivilegedMessage::Dialog { context } => {
            shared.with_page(&context, FirefoxPage::dialog_opening)
        }
        PrivilegedMessage::RequestSent { context, channel, kind } => {
            shared.with_page(&context, |page| page.request_sent(&context, channel, kind));
        }
        PrivilegedMessage::Click { context, click, progress } => {
            shared.with_page(&context, |page| page.click_progress(click, progress));
        }
        PrivilegedMessage::ResponseReceived { context, channel } => {
            shared.with_page(&context, |page| page.response_received(channel))
        }
        PrivilegedMessage::RequestFinished { context, channel } => {
            shared.with_page(&context, |page| page.request_finished(channel))
        }
    }
}
