//! Maps browsing contexts to pages, and dispatches the browser's events to them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    Bidi, console,
    navigation_events::{NAVIGATION_STARTED, NavigationEvent, parse},
    network::{FirefoxNetwork, RequestInterception},
    network_events,
    page::{FirefoxPage, FirefoxPageSetup},
    pending_tabs::PendingTabs,
    privileged::{MESSAGE_EVENT, PrivilegedMessage, PrivilegedScript},
};
use crate::engine::{
    ContextObserver, EnginePage, PageEvent,
    connection::{Listener, read_json},
    page_registry::{ExpectedPage, PageRegistry},
    remote::GridFiles,
};

/// The channel on which frames report their URL.
pub(super) const CHANNEL: &str = "troupe";
/// Maximum number of tabs to remember before BiDi reports them.
const MAX_EARLY: usize = 32;

/// The state that the listener and the contexts share.
pub(super) struct FirefoxState {
    pub bidi: Bidi,
    pub privileged: PrivilegedScript,
    pub intercept: Arc<RequestInterception>,
    /// The files on the machine of a remote browser, if they can be transferred.
    pub files: Option<Arc<GridFiles>>,
    targets: Mutex<PageIndex>,
}

#[derive(Default)]
struct PageIndex {
    /// The contexts by user context.
    contexts: HashMap<Arc<str>, Arc<ContextHandles>>,
    pages: PageRegistry<FirefoxPage>,
    /// The page of each frame, including main frames.
    frames: HashMap<Arc<str>, Arc<FirefoxPage>>,
    /// First navigations of tabs that links opened: BiDi reports them before the tabs.
    early: VecDeque<NavigationEvent>,
    /// URLs of tabs that BiDi has not reported yet, by browsing context.
    window_urls: VecDeque<(Arc<str>, String)>,
}

pub(super) struct ContextHandles {
    pub observer: Arc<dyn ContextObserver>,
    pub network: Arc<FirefoxNetwork>,
    pub tabs: Arc<PendingTabs>,
}

impl FirefoxState {
    pub fn new(bidi: Bidi, privileged: PrivilegedScript, files: Option<Arc<GridFiles>>) -> Self {
        Self { bidi, privileged, intercept: Arc::default(), files, targets: Mutex::default() }
    }

    pub fn add_context(&self, id: &Arc<str>, context: ContextHandles) {
        self.targets().contexts.insert(id.clone(), Arc::new(context));
    }

    /// Removes a user context and returns its pages.
    pub fn remove_context(&self, id: &Arc<str>) -> Vec<Arc<FirefoxPage>> {
        let mut targets = self.targets();
        targets.contexts.remove(id);
        targets.pages.iter().filter(|page| page.user_context == *id).cloned().collect()
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
    let ContextInfo { context: id, parent, url, user_context, original_opener: opener } = info;
    let early = shared.take_early_navigation(&id);
    let window_url = early.as_ref().map(|early| early.url.clone()).or(shared.take_window_url(&id));
    if let Some(parent) = parent {
        let Some(page) = shared.page_of(&parent) else { return };
        shared.targets().frames.insert(id.clone(), page.clone());
        page.frame_attached(id, parent);
        return;
    }
    let context = shared.targets().contexts.get(&user_context).cloned();
    // The browser's initial tab belongs to no session.
    let Some(context) = context else { return };
    let setup = FirefoxPageSetup {
        id: id.clone(),
        user_context: user_context.clone(),
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
            page.opened_by(vec![opener]);
            context.tabs.reported();
        }
        // `noopener` hides the opener: it is one of these pages, unless Troupe itself opened the
        // tab.
        None if !context.tabs.has_requests() => {
            let mut others: Vec<_> = shared.targets().pages.iter().cloned().collect();
            others.retain(|other| other.user_context == user_context && other.id() != &*id);
            if let Some(opener) = others.iter().find(|other| context.tabs.is_selected(other.id())) {
                opener.stay_selected();
            }
            page.opened_by(others);
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
        PrivilegedMessage::Tab { user_context, context: id, url } => {
            let context = shared.targets().contexts.get(&user_context).cloned();
            let Some(context) = context else { return };
            context.tabs.opened();
            match (url, shared.page_of(&id)) {
                (None, _) => {}
                (Some(url), Some(page)) => page.window_url_known(&url),
                (Some(url), None) => shared.keep_window_url(id, url),
            }
        }
        PrivilegedMessage::Window { user_context } => {
            if let Some(context) = shared.targets().contexts.get(&user_context) {
                context.tabs.opened();
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
