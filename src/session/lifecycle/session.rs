//! A session: its browser context, its pages, the queue of its calls, and its end.

use std::{
    any::Any,
    borrow::Cow,
    collections::BTreeMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::sync::{OwnedMutexGuard, Semaphore, broadcast::error::RecvError, watch};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{
    ended::EndReason,
    person_control::PersonControl,
    question::{HandoffRequest, SessionQuestion},
    slots::SessionSlot,
    uploads::Uploads,
};
use crate::{
    config::{Config, ContextConfig, Expiry, SecurityConfig, Viewport},
    engine::{
        Context, Dialog, FileChooser, UserTab,
        network::{NetworkRules, OriginRules},
    },
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    page::{ChangeCounter, ConsoleLog, Page, SessionEvent, SessionNetworkPolicy},
    policy::{check_navigation, redaction::Secrets},
    session::{
        clock::{Clock, Millis},
        errors::{browser_died, engine_error},
        pages::Pages,
        persistence::{SessionOrigin, StateCache},
        results::{Screenshot, StoredScreenshots, StoredTexts},
    },
    store::{SessionRow, Store},
    upstream::{ForwardedResult, OnProgress, ReplayReport},
};

/// Maximum number of waits that run concurrently with other calls of a session.
const MAX_WAITS: usize = 64;

/// Maximum number of tabs in an error.
const MAX_LISTED_TABS: usize = 10;

/// Whether a session can be used yet.
#[derive(Clone)]
pub(in crate::session) enum Readiness {
    /// It is being created, or restored after its browser died.
    Starting,
    /// It can be used until the token is canceled: then its browser is gone.
    Ready(CancellationToken),
    /// It could not be created.
    Failed(TroupeError),
    /// It could not be restored. A call at or after `retry_at` tries again.
    Lost { error: TroupeError, retry_at: Millis },
}

/// The parts of the server that a session uses.
pub(super) struct SessionServices {
    pub config: Arc<Config>,
    pub files: FileStore,
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub secrets: Secrets,
    /// The policy that all sessions share, because they are in one profile.
    pub network_policy: Option<Arc<SessionNetworkPolicy>>,
}

/// The identity and options of a new session.
pub(super) struct SessionIdentity {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: Millis,
    /// When its lifetime starts; a resumed session gets a new one. `None` for an implicit session,
    /// which has no expiry.
    pub lives_from: Option<Millis>,
    pub options: ContextConfig,
}

impl SessionIdentity {
    /// Sets its times when it begins.
    pub fn begin(&mut self, now: Millis) {
        self.created_at = now;
        self.lives_from = self.lives_from.map(|_| now);
    }
}

/// The session that needs a slot.
pub(super) enum SlotUse<'a> {
    /// Its times are set when it gets the slot.
    New(&'a mut SessionIdentity),
    /// A session that is to be resumed. It is claimed with the slot.
    Resumed(&'a SessionRow),
}

/// A session in the result of `list_sessions`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct SessionInfo {
    pub session_id: String,
    pub state: String,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// Milliseconds since 1970. Absent if the session lives as long as its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Milliseconds since 1970 when it was last saved. Only for sessions that are not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<u64>,
    pub pages: Vec<PageInfo>,
}

/// A page in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct PageInfo {
    pub page_id: String,
    pub url: String,
    /// True until the page navigates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashed: Option<bool>,
}

impl PageInfo {
    pub fn of(page: &Page) -> Self {
        let crashed = page.has_crashed().then_some(true);
        Self { page_id: page.id.clone(), url: page.url(), crashed }
    }
}

/// What happened to a session between two of its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionNotice {
    /// The field of the result that contains it.
    pub field: Cow<'static, str>,
    pub text: String,
}

/// The worker of a new session.
pub struct AttachedWorker {
    pub worker: Arc<dyn SessionWorker>,
    /// The pages of a context that was created in advance.
    pub pages: Option<Arc<Pages>>,
}

/// Runs one session in its backend.
#[async_trait]
pub trait SessionWorker: Send + Sync {
    /// Creates `session`, and restores it when its browser dies, until this future is dropped.
    /// Returns the error if the session cannot be created.
    async fn run_session(&self, session: &Arc<Session>, origin: SessionOrigin) -> TroupeError;

    /// Starts what the first call needs. Returns what was restored of a resumed session; `None`
    /// means everything that was saved.
    async fn activate(&self) -> Result<Option<ReplayReport>>;

    /// Reads the state of the session, and saves it in the cache and in the store. A `thorough`
    /// read includes everything; other reads omit data that is slow to read and was read recently.
    /// Returns false if something did not answer in time.
    async fn save_state(&self, session: &Session, thorough: bool) -> bool;

    /// Returns the pages of the session, in the order in which they were opened.
    fn pages(&self, session: &Session) -> Vec<PageInfo>;

    /// Forwards a call of a tool that Troupe does not have.
    async fn pass_through(
        &self,
        tool: &str,
        _: Map<String, Value>,
        _: OnProgress,
    ) -> Result<ForwardedResult> {
        Err(TroupeError::new(
            ErrorCode::InternalError,
            format!("no upstream server has the tool `{tool}`"),
        ))
    }

    /// Releases what the session has in the backend.
    async fn close(&self, session: &Session);
}

/// An isolated browser context with its pages.
pub struct Session {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: Millis,
    /// Milliseconds since 1970; 0 if it has no expiry.
    expires_at: AtomicU64,
    lifetime: Millis,
    pub(in crate::session) pages: Arc<Pages>,
    /// The context in the current browser.
    pub(in crate::session) context: Mutex<Option<Arc<dyn Context>>>,
    pub(super) worker: Arc<dyn SessionWorker>,
    /// The options of its contexts.
    options: Mutex<ContextConfig>,
    /// The state to resume the session from.
    pub(in crate::session) cache: StateCache,
    pub(super) store: Store,
    /// Locked while the rules are changed.
    pub(super) network: tokio::sync::Mutex<NetworkRules>,
    pub(in crate::session) readiness: watch::Sender<Readiness>,
    /// Calls lock it in the order in which they were admitted.
    queue: Arc<tokio::sync::Mutex<()>>,
    running: AtomicUsize,
    /// Who controls it in place of its agents.
    pub(super) person_control: PersonControl,
    /// The question that a person answers in the dashboard.
    pub(super) question: SessionQuestion,
    pub(super) uploads: Uploads,
    /// The last request for a person without the agent.
    pub(super) handoff: Mutex<Option<HandoffRequest>>,
    /// The number of calls so far.
    calls: AtomicU64,
    /// When the last call began or ended, in milliseconds since 1970.
    last_used_at: AtomicU64,
    /// Limits the waits that run concurrently with other calls.
    pub(super) waits: Arc<Semaphore>,
    end: Mutex<Option<EndReason>>,
    /// Canceled when the session begins to end.
    pub(super) ended: CancellationToken,
    /// Canceled when its end is complete.
    pub(super) end_complete: CancellationToken,
    /// Texts that were too long for one result.
    pub results: StoredTexts,
    screenshots: StoredScreenshots,
    /// Texts that were typed into password fields, which are never written to disk or logs.
    pub secrets: Arc<Secrets>,
    /// The state that a set of tools keeps for the session.
    tool_state: OnceLock<Arc<dyn Any + Send + Sync>>,
    /// Notices to add to the result of the next call.
    notices: Mutex<Vec<SessionNotice>>,
    /// Advanced when a page opens, closes or changes, when a screenshot is stored, and when the
    /// session ends.
    change_counter: ChangeCounter,
    /// Its slot within the limits of sessions.
    pub(super) slot: Mutex<Option<SessionSlot>>,
    pub(in crate::session) clock: Arc<dyn Clock>,
    pub(super) config: Arc<Config>,
}

/// Finds the tab that `name` identifies. Errors show only tabs that match it.
fn find_tab<'a>(tabs: &'a [UserTab], name: &str) -> Result<&'a UserTab> {
    let part = name.to_lowercase();
    let equals = |tab: &&UserTab| tab.url == name || tab.title == name;
    let contains = |tab: &&UserTab| {
        tab.url.to_lowercase().contains(&part) || tab.title.to_lowercase().contains(&part)
    };
    let mut found: Vec<&UserTab> = tabs.iter().filter(|tab| tab.id == name).collect();
    if found.is_empty() {
        found = tabs.iter().filter(equals).collect();
    }
    if found.is_empty() {
        found = tabs.iter().filter(contains).collect();
    }
    match *found {
        [tab] => Ok(tab),
        [] => Err(TroupeError::new(
            ErrorCode::PageNotFound,
            format!("none of the {} other tabs of the browser matches `{name}`", tabs.len()),
        )
        .suggestion("ask the user for the title or the URL of the tab")),
        _ => {
            let shown = found.iter().take(MAX_LISTED_TABS);
            let shown: Vec<_> = shown
                .map(|tab| json!({"tab": tab.id, "title": tab.title, "url": tab.url}))
                .collect();
            let message = format!("{} tabs match `{name}`", found.len());
            Err(TroupeError::new(ErrorCode::InvalidParameters, message)
                .detail("matches", shown)
                .suggestion("pass the `tab` of one of details.matches"))
        }
    }
}

/// Returns the network rules of a new session.
fn initial_rules(config: &Config) -> NetworkRules {
    let SecurityConfig { request_origins, blocked_origins, .. } = &config.security;
    NetworkRules {
        origins: OriginRules::new(request_origins, blocked_origins),
        ..NetworkRules::default()
    }
}

impl Session {
    /// Creates the session `identity`, which runs in `attached`.
    pub(super) fn new(
        services: SessionServices,
        identity: SessionIdentity,
        cache: StateCache,
        attached: AttachedWorker,
        slot: SessionSlot,
    ) -> Self {
        let SessionIdentity { id, created_at, lives_from, options } = identity;
        let SessionServices { config, files, clock, store, secrets, network_policy } = services;
        let AttachedWorker { worker, pages } = attached;
        let lifetime = u64::try_from(config.session_timeout.as_millis()).unwrap_or(u64::MAX);
        let expires_at = lives_from.map_or(0, |from| from.saturating_add(lifetime));
        let pages = pages.unwrap_or_else(|| {
            let (config, clock) = (config.clone(), clock.clone());
            Arc::new(Pages::new(config, files, clock, ChangeCounter::default(), network_policy))
        });
        Self {
            id,
            created_at,
            expires_at: AtomicU64::new(expires_at),
            lifetime,
            change_counter: pages.shared.change_counter.clone(),
            pages,
            context: Mutex::default(),
            worker,
            options: Mutex::new(options),
            cache,
            store,
            network: tokio::sync::Mutex::new(initial_rules(&config)),
            readiness: watch::Sender::new(Readiness::Starting),
            queue: Arc::default(),
            running: AtomicUsize::new(0),
            person_control: PersonControl::default(),
            question: SessionQuestion::default(),
            uploads: Uploads::default(),
            handoff: Mutex::default(),
            calls: AtomicU64::new(0),
            last_used_at: AtomicU64::new(clock.now()),
            waits: Arc::new(Semaphore::new(MAX_WAITS)),
            end: Mutex::new(None),
            ended: CancellationToken::new(),
            end_complete: CancellationToken::new(),
            results: StoredTexts::default(),
            screenshots: StoredScreenshots::default(),
            tool_state: OnceLock::new(),
            notices: Mutex::default(),
            secrets: Arc::new(secrets),
            slot: Mutex::new(Some(slot)),
            clock,
            config,
        }
    }

    /// Returns the options of its contexts.
    pub(in crate::session) fn options(&self) -> ContextConfig {
        self.options.lock().clone()
    }

    /// Returns the browser context.
    pub(super) fn open_context(&self) -> Result<Arc<dyn Context>> {
        let context = self.context.lock().clone();
        context.ok_or_else(|| {
            TroupeError::new(ErrorCode::InternalError, "the session has no context yet")
        })
    }

    /// Sets the viewport of all pages, including future pages and those of the resumed session.
    pub async fn set_viewport(&self, size: Viewport) -> Result<()> {
        self.open_context()?.set_viewport(size).await.map_err(engine_error)?;
        self.options.lock().viewport = Some(size);
        for page in self.pages.all() {
            page.set_viewport(size).await?;
        }
        Ok(())
    }

    /// Returns the files that tools write and read.
    pub fn files(&self) -> &FileStore {
        &self.pages.shared.files
    }

    /// Returns when it expires, in milliseconds since 1970.
    pub fn expires_at(&self) -> Option<Millis> {
        Some(self.expires_at.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// Returns whether it has expired. With idle expiry, it does not expire while a call runs.
    pub(super) fn has_expired(&self) -> bool {
        let is_postponed = self.config.session_expiry == Expiry::Idle && self.is_running();
        !is_postponed && self.expires_at().is_some_and(|at| at <= self.clock.now())
    }

    /// Restores a fixed expiry after a suspension.
    pub(super) fn restore_expiry(&self, at: Option<Millis>) {
        if let (Expiry::Fixed, Some(at)) = (self.config.session_expiry, at) {
            self.expires_at.store(at, Ordering::Release);
        }
    }

    fn renew(&self) {
        if self.config.session_expiry == Expiry::Idle && self.expires_at().is_some() {
            self.expires_at
                .store(self.clock.now().saturating_add(self.lifetime), Ordering::Release);
        }
    }

    /// Marks it as ended for `reason`. Returns false if it had ended before.
    pub(super) fn mark_ended(&self, reason: EndReason) -> bool {
        let mut end = self.end.lock();
        if end.is_some() {
            return false;
        }
        *end = Some(reason);
        drop(end);
        self.ended.cancel();
        true
    }

    /// Returns why it ended, if it has.
    pub fn end_reason(&self) -> Option<EndReason> {
        *self.end.lock()
    }

    /// Waits for a turn in its queue. The first poll of the future enters the queue.
    pub(super) fn turn(&self) -> impl Future<Output = OwnedMutexGuard<()>> + use<> {
        self.queue.clone().lock_owned()
    }

    /// Waits until it can be used. Does not renew its expiry.
    pub(super) async fn wait_created(&self) -> Result<()> {
        let created = tokio::select! {
            biased;
            () = self.ended.cancelled() => Err(self.ended_during_call_error()),
            wait_usable = self.wait_usable() => wait_usable.map(drop),
        };
        self.cache.record_call();
        created.map_err(|error| self.named(error))
    }

    /// Adds the id of the session to an error that has none.
    fn named(&self, error: TroupeError) -> TroupeError {
        match error.session_id {
            None => error.session(&*self.id),
            Some(_) => error,
        }
    }

    /// Runs `work` when the session is ready, until the session ends.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let _running = ActiveCall::new(self);
        self.renew();
        let outcome = tokio::select! {
            biased;
            () = self.ended.cancelled() => Err(self.ended_during_call_error()),
            outcome = async {
                let gone = self.wait_usable().await?;
                tokio::select! {
                    biased;
                    outcome = work => outcome,
                    // The session is restored in another browser, but the call is not repeated.
                    () = gone.cancelled() => Err(browser_died()),
                }
            } => outcome,
        };
        outcome.map_err(|error| self.named(error))
    }

    pub(super) fn ended_during_call_error(&self) -> TroupeError {
        self.end_reason().unwrap_or(EndReason::Closed).during_call(&self.id)
    }

    /// Waits until it begins to end.
    pub async fn wait_ended(&self) {
        self.ended.cancelled().await;
    }

    /// Waits until its creation fails.
    pub(super) async fn wait_failed(&self) {
        let mut readiness = self.readiness.subscribe();
        if readiness.wait_for(|readiness| matches!(readiness, Readiness::Failed(_))).await.is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Returns whether its creation failed.
    pub(super) fn has_failed(&self) -> bool {
        matches!(*self.readiness.borrow(), Readiness::Failed(_))
    }

    /// Waits until it can be used. The token is canceled when its browser is gone.
    async fn wait_usable(&self) -> Result<CancellationToken> {
        // The session was lost: this call retries the start.
        self.readiness.send_if_modified(|readiness| {
            let due =
                matches!(readiness, Readiness::Lost { retry_at, .. } if *retry_at <= self.clock.now());
            if due {
                *readiness = Readiness::Starting;
            }
            due
        });
        let mut readiness = self.readiness.subscribe();
        let ready = readiness
            .wait_for(|readiness| !matches!(readiness, Readiness::Starting))
            .await
            .map_err(|_| {
                TroupeError::new(ErrorCode::InternalError, "the task of the session has ended")
            })?;
        match &*ready {
            Readiness::Ready(gone) => Ok(gone.clone()),
            Readiness::Failed(error) | Readiness::Lost { error, .. } => Err(error.clone()),
            Readiness::Starting => {
                Err(TroupeError::new(ErrorCode::InternalError, "the session has not started"))
            }
        }
    }

    /// Returns whether it can be used now.
    pub(super) fn is_ready(&self) -> bool {
        matches!(&*self.readiness.borrow(), Readiness::Ready(gone) if !gone.is_cancelled())
    }

    /// Counts a call that uses the session without its browser, until the result is dropped. With
    /// idle expiry, the session does not expire in that time.
    pub fn start_use(&self) -> ActiveCall<'_> {
        ActiveCall::new(self)
    }

    /// Returns the number of calls since it was opened here.
    pub fn call_count(&self) -> u64 {
        self.calls.load(Ordering::Acquire)
    }

    /// Returns when its last call began or ended, in milliseconds since 1970.
    pub fn last_used_at(&self) -> Millis {
        self.last_used_at.load(Ordering::Acquire)
    }

    fn mark_used(&self) {
        self.last_used_at.store(self.clock.now(), Ordering::Release);
    }

    /// Returns whether a call runs in it.
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// Marks the storage as possibly changed. Called when a call that may change it begins or ends.
    pub fn mark_storage_changed(&self) {
        self.cache.mark_storage_changed();
    }

    /// Returns the page `id`, or the current one. Opens a page if none is open.
    pub async fn page(&self, id: Option<&str>) -> Result<Arc<Page>> {
        match self.pages.get(id)? {
            Some(page) => Ok(page),
            None => self.new_page().await,
        }
    }

    /// Opens a page and makes it the current one.
    pub async fn new_page(&self) -> Result<Arc<Page>> {
        self.pages.open_in(&*self.open_context()?).await
    }

    /// Adopts the tab of the user that `name` identifies: by its id, its URL or its title, or else
    /// by a part of its URL or title.
    pub async fn adopt_tab(&self, name: &str) -> Result<Arc<Page>> {
        let context = self.open_context()?;
        let mut tabs = context.user_tabs().await.map_err(engine_error)?;
        // Among others, the browser's own pages, such as that of the consent.
        tabs.retain(|tab| {
            Url::parse(&tab.url).is_ok_and(|url| check_navigation(&self.config, &url).is_ok())
        });
        let tab = find_tab(&tabs, name)?;
        self.pages.adopt_in(&*context, &tab.id).await
    }

    /// Opens a page that is hidden from clients. The caller closes it.
    pub(super) async fn hidden_page(&self) -> Result<Arc<Page>> {
        self.pages.open_hidden_in(&*self.open_context()?).await
    }

    /// Returns the console messages of its pages.
    pub fn console(&self) -> &ConsoleLog {
        self.pages.console()
    }

    /// Returns a receiver of the open dialogs of its pages, by page id.
    pub fn dialog_changes(&self) -> watch::Receiver<BTreeMap<String, Dialog>> {
        self.pages.shared.dialogs.changes()
    }

    /// Returns a receiver of the open file choosers of its pages, by page id.
    pub fn chooser_changes(&self) -> watch::Receiver<BTreeMap<String, FileChooser>> {
        self.pages.shared.choosers.changes()
    }

    /// Returns the open pages, in the order in which they were opened.
    pub fn open_pages(&self) -> Vec<Arc<Page>> {
        self.pages.all()
    }

    /// Returns the page for calls without a page id. `None` if no page is open.
    pub fn current_page(&self) -> Option<Arc<Page>> {
        self.pages.get(None).ok().flatten()
    }

    /// Makes `id` the current page. It is not brought to the front: background pages render and
    /// behave as if focused.
    pub async fn select_page(&self, id: &str) -> Result<()> {
        let page = self.page(Some(id)).await?;
        self.pages.select(&page.id);
        Ok(())
    }

    /// Returns how many pages have been opened in total.
    pub fn pages_opened(&self) -> usize {
        self.pages.opened()
    }

    /// Returns the pages that opened after the first `before` pages. Waits until `expected` of them
    /// have opened, at most as long as an action waits for requests.
    pub async fn pages_opened_since(&self, before: usize, expected: usize) -> Vec<Arc<Page>> {
        if expected > 0 {
            let _ = tokio::time::timeout(
                self.config.timeout_settle,
                self.pages.opened_since(before, expected),
            )
            .await;
        }
        self.pages.since(before)
    }

    /// Adds a notice to the result of the next call, in place of an earlier one with the same
    /// field.
    pub(super) fn notify(&self, field: &'static str, text: String) {
        let mut notices = self.notices.lock();
        notices.retain(|notice| notice.field != field);
        notices.push(SessionNotice { field: field.into(), text });
    }

    /// Takes the notice of `field`, if there is one.
    pub(super) fn take_notice(&self, field: &str) -> Option<String> {
        let mut notices = self.notices.lock();
        let at = notices.iter().position(|notice| notice.field == field)?;
        Some(notices.remove(at).text)
    }

    /// Takes the notices for the result of this call. Later calls get none.
    pub fn take_notices(&self) -> Vec<SessionNotice> {
        std::mem::take(&mut self.notices.lock())
    }

    /// Stores a screenshot of one of its pages, so that it can be read again.
    pub fn keep_screenshot(&self, taken: Screenshot) {
        self.screenshots.keep(taken, self.clock.now());
        self.change_counter.increment();
    }

    /// Returns the state that a set of tools keeps for the session. Only one set can have such a
    /// state.
    pub fn tool_state<T: Any + Default + Send + Sync>(&self) -> Arc<T> {
        let state = self.tool_state.get_or_init(|| Arc::new(T::default())).clone();
        state.downcast().unwrap_or_default()
    }

    /// Returns the stored screenshots, oldest first.
    pub fn screenshots(&self) -> Vec<Arc<Screenshot>> {
        self.screenshots.all()
    }

    /// Returns a counter of its changes, which tasks can wait for.
    pub fn change_counter(&self) -> &ChangeCounter {
        &self.change_counter
    }

    /// Calls `listener` with each event from now on. The last one is the end of the session; then
    /// this returns.
    pub async fn listen(self: Arc<Self>, listener: impl Fn(SessionEvent)) {
        let mut events = self.pages.shared.events.subscribe();
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = self.ended.cancelled() => break,
            };
            match event {
                Ok(event) => listener(event),
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(
                        session = &*self.id,
                        lost,
                        "a listener is too slow: events are lost"
                    )
                }
                Err(RecvError::Closed) => break,
            }
        }
        let reason = self.end_reason().unwrap_or(EndReason::Closed);
        listener(SessionEvent::Close { reason: reason.as_str().to_owned() });
    }

    /// Returns the session's entry in a list.
    pub fn info(&self) -> SessionInfo {
        SessionInfo {
            session_id: self.id.to_string(),
            state: "active".to_owned(),
            created_at: self.created_at,
            expires_at: self.expires_at(),
            saved_at: None,
            pages: self.worker.pages(self),
        }
    }

    /// Forwards a call to its upstream server.
    pub async fn pass_through(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        on_progress: OnProgress,
    ) -> Result<ForwardedResult> {
        let passed = self.worker.pass_through(tool, arguments, on_progress).await?;
        for message in &passed.found.console {
            self.console().record(message.clone());
        }
        Ok(passed)
    }

    /// Returns what its upstream server restored at its latest start. `None` if the session has no
    /// such server.
    pub async fn replayed(&self) -> Option<ReplayReport> {
        self.worker.activate().await.ok().flatten()
    }
}

/// Counts a running call, and renews the expiry of the session when the call ends.
pub struct ActiveCall<'a>(&'a Session);

impl<'a> ActiveCall<'a> {
    fn new(session: &'a Session) -> Self {
        session.running.fetch_add(1, Ordering::AcqRel);
        session.calls.fetch_add(1, Ordering::AcqRel);
        session.mark_used();
        Self(session)
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.mark_used();
        self.0.renew();
        self.0.cache.record_call();
    }
}
