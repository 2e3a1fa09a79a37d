//! Assigns browsing contexts to pages, and dispatches the browser's events to them.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};

use super::{
    Bidi, console,
    events::{Happening, NAVIGATION_STARTED, parse},
    network::{ContextNetwork, Intercept},
    page::{FirefoxPage, PageSetup},
    requests,
    system::{System, TOLD, Told},
    tabs::Tabs,
};
use crate::engine::{
    ContextObserver, Page, PageEvent,
    arrivals::{Arrival, Arrivals},
    connection::{Listener, read_json},
};

/// Frames tell under this name where they are.
pub(super) const CHANNEL: &str = "troupe";
/// Tabs that BiDi has not told of yet.
const MOST_EARLY: usize = 32;

/// State that the listener and the contexts share.
pub(super) struct Shared {
    pub bidi: Bidi,
    pub system: System,
    pub intercept: Arc<Intercept>,
    targets: Mutex<Targets>,
}

#[derive(Default)]
struct Targets {
    /// By user context.
    contexts: HashMap<Arc<str>, Arc<ContextShared>>,
    pages: Arrivals<FirefoxPage>,
    /// The pages of all frames, main frames included.
    frames: HashMap<Arc<str>, Arc<FirefoxPage>>,
    /// The first navigations of tabs that links have opened, which are reported before their tabs.
    early: VecDeque<Happening>,
    /// Where tabs lead that BiDi has not told of yet, by their names.
    leads: VecDeque<(Arc<str>, String)>,
}

pub(super) struct ContextShared {
    pub observer: Arc<dyn ContextObserver>,
    pub network: Arc<ContextNetwork>,
    pub tabs: Arc<Tabs>,
}

impl Shared {
    pub fn new(bidi: Bidi, system: System) -> Self {
        Self { bidi, system, intercept: Arc::default(), targets: Mutex::default() }
    }

    pub fn add_context(&self, id: &Arc<str>, context: ContextShared) {
        self.targets().contexts.insert(id.clone(), Arc::new(context));
    }

    /// Forgets a user context; its pages.
    pub fn remove_context(&self, id: &Arc<str>) -> Vec<Arc<FirefoxPage>> {
        let mut targets = self.targets();
        targets.contexts.remove(id);
        targets.pages.iter().filter(|page| page.user_context == *id).cloned().collect()
    }

    /// The page `id`, which may not be reported yet.
    pub fn arrival(&self, id: &Arc<str>) -> Arrival<FirefoxPage> {
        self.targets().pages.expect(id.clone())
    }

    fn targets(&self) -> MutexGuard<'_, Targets> {
        self.targets.lock()
    }

    fn note_early(&self, happening: Happening) {
        let mut targets = self.targets();
        if targets.early.len() == MOST_EARLY {
            targets.early.pop_front();
        }
        targets.early.push_back(happening);
    }

    fn early(&self, context: &str) -> Option<Happening> {
        let mut targets = self.targets();
        let at = targets.early.iter().position(|early| *early.context == *context)?;
        targets.early.remove(at)
    }

    fn note_leads(&self, context: Arc<str>, url: String) {
        let mut targets = self.targets();
        if targets.leads.len() == MOST_EARLY {
            targets.leads.pop_front();
        }
        targets.leads.push_back((context, url));
    }

    fn leads(&self, context: &str) -> Option<String> {
        let mut targets = self.targets();
        let at = targets.leads.iter().position(|(of, _)| **of == *context)?;
        targets.leads.remove(at).map(|(_, url)| url)
    }

    fn with_page(&self, frame: &str, tell: impl FnOnce(&FirefoxPage)) {
        if let Some(page) = self.page_of(frame) {
            tell(&page);
        }
    }

    fn page_of(&self, frame: &str) -> Option<Arc<FirefoxPage>> {
        self.targets().frames.get(frame).cloned()
    }
}

/// Follows the pages of the whole browser.
pub(super) struct BrowserListener(pub Weak<Shared>);

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
        let Some(shared) = self.0.upgrade() else { return };
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
            TOLD => {
                if let Some(told) = parse(method, params) {
                    hear(&shared, told);
                }
            }
            "script.message" => {
                // Scripts of the page can send anything over their own channels.
                if let Ok(message) = read_json::<Message>(params.get()) {
                    heard(&shared, message);
                }
            }
            _ if method.starts_with("network.") => {
                let Some(step) = requests::read(method, params) else { return };
                match step.context.as_deref().and_then(|frame| shared.page_of(frame)) {
                    Some(page) => page.requested(method, &step),
                    // A worker's of several pages.
                    None if step.is_blocked => shared.intercept.decide(&shared.bidi, &step),
                    None => {}
                }
            }
            _ => {
                let Some(happening) = parse::<Happening>(method, params) else { return };
                match shared.page_of(&happening.context) {
                    Some(page) => page.happened(method, happening),
                    None if method == NAVIGATION_STARTED => shared.note_early(happening),
                    None => {}
                }
            }
        }
    }
}

fn created(shared: &Arc<Shared>, info: ContextInfo) {
    let ContextInfo { context: id, parent, url, user_context, original_opener: opener } = info;
    let early = shared.early(&id);
    let leads = early.as_ref().map(|early| early.url.clone()).or(shared.leads(&id));
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
    let page =
        FirefoxPage::attach(setup, |page| context.observer.page_opened(page, opener.as_deref()));
    shared.targets().frames.insert(id.clone(), page.clone());
    match opener.and_then(|opener| shared.page_of(&opener)) {
        Some(opener) => {
            let url = leads.unwrap_or(url);
            opener.emit(PageEvent::WindowOpening { window: Some(id.clone()), url });
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
    if let Some(early) = early {
        page.happened(NAVIGATION_STARTED, early);
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

/// A frame tells where it is.
fn heard(shared: &Arc<Shared>, message: Message) {
    let (CHANNEL, Some(frame), Some(url)) =
        (message.channel.as_str(), message.source.context, message.data["value"].as_str())
    else {
        return;
    };
    if let Some(page) = shared.page_of(&frame) {
        page.moved(&frame, url.to_owned());
    }
}

/// The browser's window tells something.
fn hear(shared: &Arc<Shared>, told: Told) {
    match told {
        Told::Tab { user_context, context: id, leads } => {
            let context = shared.targets().contexts.get(&user_context).cloned();
            let Some(context) = context else { return };
            context.tabs.opens();
            match (leads, shared.page_of(&id)) {
                (None, _) => {}
                (Some(url), Some(page)) => page.leads_to(&url),
                (Some(url), None) => shared.note_leads(id, url),
            }
        }
        Told::Window { user_context } => {
            if let Some(context) = shared.targets().contexts.get(&user_context) {
                context.tabs.opens();
            }
        }
        Told::Crashed { context } => shared.with_page(&context, FirefoxPage::crashed),
        Told::Dialog { context } => shared.with_page(&context, FirefoxPage::dialog_opens),
        Told::Asks { context, channel, kind } => {
            shared.with_page(&context, |page| page.asks(&context, channel, kind));
        }
        Told::Step { context, press, step } => {
            shared.with_page(&context, |page| page.press_goes_on(press, step));
        }
        Told::Answered { context, channel } => {
            shared.with_page(&context, |page| page.answered(channel))
        }
        Told::Asked { context, channel } => shared.with_page(&context, |page| page.asked(channel)),
    }
}
