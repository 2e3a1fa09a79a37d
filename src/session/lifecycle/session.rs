//! One session: its context, its pages, its queue and its end.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use async_trait::async_trait;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::{
    OwnedMutexGuard, OwnedSemaphorePermit, Semaphore, broadcast::error::RecvError, watch,
};
use tokio_util::sync::CancellationToken;

use super::ended::EndReason;
use crate::{
    config::{Config, ContextConfig, Expiry, Viewport},
    engine::{Context, network::NetworkRules},
    error::{ErrorCode, Result, TroupeError},
    page::{ConsoleLog, Page, Revision, SessionEvent},
    policy::redaction::Secrets,
    session::{
        clock::{Clock, Millis},
        errors::{browser_died, engine_error},
        pages::Pages,
        persistence::{SessionOrigin, StateCache},
        results::{Results, Screenshot, Screenshots},
    },
    store::Store,
    upstream::{OnProgress, Passed, Replayed},
};

/// Maximum number of waits that run beside other calls of one session.
const MOST_WAITS: usize = 64;

/// Whether a session can be used yet.
#[derive(Clone)]
pub(in crate::session) enum Readiness {
    /// It is being made, or made again after its browser has died.
    Starting,
    /// Until this browser is gone.
    Ready(CancellationToken),
    /// It could not be made.
    Failed(TroupeError),
    /// It could not be made again: a call from then on tries it once more.
    Lost { error: TroupeError, again: Millis },
}

/// The parts of the server that a session uses.
pub(super) struct Services {
    pub config: Arc<Config>,
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub secrets: Secrets,
}

/// The identity and options of a new session.
pub(super) struct Identity {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: Millis,
    /// When its life begins, anew where it is resumed; none where its life is its connection's.
    pub lives_from: Option<Millis>,
    pub options: ContextConfig,
}

/// What `list_sessions` tells of one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct SessionInfo {
    pub session_id: String,
    pub state: String,
    /// Milliseconds since 1970.
    pub created_at: u64,
    /// Milliseconds since 1970; absent where the session lives as long as its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Milliseconds since 1970 when it was saved last, if it is not active.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saved_at: Option<u64>,
    pub pages: Vec<PageInfo>,
}

/// What is told of a page in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct PageInfo {
    pub page_id: String,
    pub url: String,
    /// Until it is led elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crashed: Option<bool>,
}

impl PageInfo {
    pub fn of(page: &Page) -> Self {
        let crashed = page.has_crashed().then_some(true);
        Self { page_id: page.id.clone(), url: page.url(), crashed }
    }
}

/// Who does the work of a new session.
pub struct AttachedWorker {
    pub worker: Arc<dyn Worker>,
    /// Its pages, where some were opened ahead.
    pub pages: Option<Arc<Pages>>,
}

/// What does the work of one session.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Creates `session`, and creates it again when its browser dies, until this future is dropped. Returns if it
    /// cannot be created at all.
    async fn live(&self, session: &Arc<Session>, birth: SessionOrigin) -> TroupeError;

    /// Starts what the first call needs, and returns what was restored of a resumed session. `None` means everything
    /// that was saved.
    async fn wake(&self) -> Result<Option<Replayed>>;

    /// Reads the state that the session can be resumed from, and saves it in its keeper and in the record. A
    /// `thorough` read includes everything; others omit data that is slow to read and was read recently. Returns
    /// false if something did not answer in time.
    async fn look(&self, session: &Session, thorough: bool) -> bool;

    /// Its pages, in order of opening.
    fn pages(&self, session: &Session) -> Vec<PageInfo>;

    /// Passes on a call that is none of our tools.
    async fn pass_through(
        &self,
        tool: &str,
        _: Map<String, Value>,
        _: OnProgress,
    ) -> Result<Passed> {
        Err(TroupeError::new(ErrorCode::InternalError, format!("no server stands behind `{tool}`")))
    }

    /// Ends the session's part of the backend.
    async fn close(&self, session: &Session);
}

/// An isolated browser context with its pages.
pub struct Session {
    pub id: Arc<str>,
    /// Milliseconds since 1970.
    pub created_at: Millis,
    /// 0: it has no expiry of its own.
    expires_at: AtomicU64,
    lifetime: Millis,
    pub(in crate::session) pages: Arc<Pages>,
    /// In the browser that runs now.
    pub(in crate::session) context: Mutex<Option<Arc<dyn Context>>>,
    /// What does its work.
    pub(super) worker: Arc<dyn Worker>,
    /// What its contexts are made with.
    options: Mutex<ContextConfig>,
    /// The state that the session is resumed from.
    pub(in crate::session) keeper: StateCache,
    pub(super) store: Store,
    /// What holds for its requests; locked while it is changed.
    pub(super) network: tokio::sync::Mutex<NetworkRules>,
    pub(in crate::session) readiness: watch::Sender<Readiness>,
    /// Calls take it in the order in which they were admitted.
    queue: Arc<tokio::sync::Mutex<()>>,
    running: AtomicUsize,
    /// Limits the waits that run beside other calls.
    pub(super) waits: Arc<Semaphore>,
    end: Mutex<Option<EndReason>>,
    pub(super) over: CancellationToken,
    /// Its end is done.
    pub(super) gone: CancellationToken,
    /// The text that was too long for one answer.
    pub results: Results,
    screenshots: Screenshots,
    /// The texts typed into password fields, which are never written.
    pub secrets: Arc<Secrets>,
    /// A notice that the next result of a call has in addition to its content.
    notice: Mutex<Option<String>>,
    /// Advanced when a page opens, closes or shows something else, when a picture is kept, and at the end.
    news: Revision,
    /// Its place under `--max-sessions`.
    pub(super) place: Mutex<Option<OwnedSemaphorePermit>>,
    pub(in crate::session) clock: Arc<dyn Clock>,
    pub(super) config: Arc<Config>,
}

impl Session {
    /// Creates the session `identity`, which runs in `attached`.
    pub(super) fn new(
        services: Services,
        identity: Identity,
        keeper: StateCache,
        attached: AttachedWorker,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let Identity { id, created_at, lives_from, options } = identity;
        let Services { config, clock, store, secrets } = services;
        let AttachedWorker { worker, pages } = attached;
        let lifetime = u64::try_from(config.session_timeout.as_millis()).unwrap_or(u64::MAX);
        let expires_at = lives_from.map_or(0, |from| from.saturating_add(lifetime));
        let new_pages = || Arc::new(Pages::new(config.clone(), clock.clone(), Revision::default()));
        let pages = pages.unwrap_or_else(new_pages);
        Self {
            id,
            created_at,
            expires_at: AtomicU64::new(expires_at),
            lifetime,
            news: pages.shared.news.clone(),
            pages,
            context: Mutex::default(),
            worker,
            options: Mutex::new(options),
            keeper,
            store,
            network: tokio::sync::Mutex::default(),
            readiness: watch::Sender::new(Readiness::Starting),
            queue: Arc::default(),
            running: AtomicUsize::new(0),
            waits: Arc::new(Semaphore::new(MOST_WAITS)),
            end: Mutex::new(None),
            over: CancellationToken::new(),
            gone: CancellationToken::new(),
            results: Results::default(),
            screenshots: Screenshots::default(),
            notice: Mutex::default(),
            secrets: Arc::new(secrets),
            place: Mutex::new(Some(place)),
            clock,
            config,
        }
    }

    /// What its contexts are made with.
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

    /// Gives all its pages this viewport, also future ones and those of the resumed session.
    pub async fn set_viewport(&self, size: Viewport) -> Result<()> {
        self.open_context()?.set_viewport(size).await.map_err(engine_error)?;
        self.options.lock().viewport = Some(size);
        for page in self.pages.all() {
            page.set_viewport(size).await?;
        }
        Ok(())
    }

    /// When it expires, in milliseconds since 1970.
    pub fn expires_at(&self) -> Option<Millis> {
        Some(self.expires_at.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    /// Whether its time is up now. With idle expiry, not while a call runs.
    pub(super) fn is_due(&self) -> bool {
        let waits =
            self.config.session_expiry == Expiry::Idle && self.running.load(Ordering::Acquire) > 0;
        !waits && self.expires_at().is_some_and(|at| at <= self.clock.now())
    }

    /// Keeps a fixed expiry after a rest.
    pub(super) fn keep_expiry(&self, at: Option<Millis>) {
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

    /// Ends it for `reason`; false where it has ended before.
    pub(super) fn finish(&self, reason: EndReason) -> bool {
        let mut end = self.end.lock();
        if end.is_some() {
            return false;
        }
        *end = Some(reason);
        drop(end);
        self.over.cancel();
        true
    }

    /// Why it is over, if it is.
    pub fn end_reason(&self) -> Option<EndReason> {
        *self.end.lock()
    }

    /// A place in its queue, taken at the first poll: calls run in the order in which they asked.
    pub(super) fn turn(&self) -> impl Future<Output = OwnedMutexGuard<()>> + use<> {
        self.queue.clone().lock_owned()
    }

    /// Waits until it can be used. Creating a session is no use of it, so this does not renew it.
    pub(super) async fn created(&self) -> Result<()> {
        let created = tokio::select! {
            biased;
            () = self.over.cancelled() => Err(self.ended_during_call()),
            ready = self.ready() => ready.map(drop),
        };
        self.keeper.touch();
        created.map_err(|error| self.named(error))
    }

    /// Adds the id of the session to an error that has none.
    fn named(&self, error: TroupeError) -> TroupeError {
        match error.session_id {
            None => error.session(&*self.id),
            Some(_) => error,
        }
    }

    /// Runs `work` once it is ready and as long as it lives.
    pub async fn run<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let _running = Running::new(self);
        self.renew();
        let outcome = tokio::select! {
            biased;
            () = self.over.cancelled() => Err(self.ended_during_call()),
            outcome = async {
                let gone = self.ready().await?;
                tokio::select! {
                    biased;
                    outcome = work => outcome,
                    // The session is resumed, but the state of the browser is lost.
                    () = gone.cancelled() => Err(browser_died()),
                }
            } => outcome,
        };
        outcome.map_err(|error| self.named(error))
    }

    pub(super) fn ended_during_call(&self) -> TroupeError {
        self.end_reason().unwrap_or(EndReason::Closed).during_call(&self.id)
    }

    /// Returns when it turns out that it cannot be made.
    pub(super) async fn failure(&self) {
        let mut readiness = self.readiness.subscribe();
        if readiness.wait_for(|readiness| matches!(readiness, Readiness::Failed(_))).await.is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Whether it could not be made.
    pub(super) fn failed(&self) -> bool {
        matches!(*self.readiness.borrow(), Readiness::Failed(_))
    }

    /// Waits until it can be used; the token is cancelled when its browser is gone.
    async fn ready(&self) -> Result<CancellationToken> {
        // If the start was given up, a call retries it.
        self.readiness.send_if_modified(|readiness| {
            let due =
                matches!(readiness, Readiness::Lost { again, .. } if *again <= self.clock.now());
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
                TroupeError::new(ErrorCode::InternalError, "the session's maker has gone")
            })?;
        match &*ready {
            Readiness::Ready(gone) => Ok(gone.clone()),
            Readiness::Failed(error) | Readiness::Lost { error, .. } => Err(error.clone()),
            Readiness::Starting => {
                Err(TroupeError::new(ErrorCode::InternalError, "the session is not made"))
            }
        }
    }

    /// Whether it can be used now.
    pub(super) fn is_ready(&self) -> bool {
        matches!(&*self.readiness.borrow(), Readiness::Ready(gone) if !gone.is_cancelled())
    }

    /// Counts a call that uses the session without its browser, until the result is dropped: with idle expiry, the session
    /// does not expire meanwhile.
    pub fn in_use(&self) -> Running<'_> {
        Running::new(self)
    }

    /// Whether a call runs in it.
    pub(super) fn is_running(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }

    /// A call begins or ends that may change what its page has stored.
    pub fn may_change(&self) {
        self.keeper.may_change();
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

    /// Opens a page that is hidden from clients. The caller closes it.
    pub(super) async fn hidden_page(&self) -> Result<Arc<Page>> {
        self.pages.open_hidden_in(&*self.open_context()?).await
    }

    /// What its pages have logged.
    pub fn console(&self) -> &ConsoleLog {
        self.pages.console()
    }

    /// The pages that are open, in order of opening.
    pub fn open_pages(&self) -> Vec<Arc<Page>> {
        self.pages.all()
    }

    /// The page for calls without a page id. `None` if no page is open.
    pub fn current_page(&self) -> Option<Arc<Page>> {
        self.pages.get(None).ok().flatten()
    }

    /// Makes `id` the current page. Each page is painted and has the focus as far as it knows: none need be in front.
    pub async fn select_page(&self, id: &str) -> Result<()> {
        let page = self.page(Some(id)).await?;
        self.pages.select(&page.id);
        Ok(())
    }

    /// How many pages it has opened in its life.
    pub fn pages_opened(&self) -> usize {
        self.pages.opened()
    }

    /// The pages that opened after the first `before`. So many as a page has `asked` for are on their way: they are
    /// waited for as long as requests are.
    pub async fn pages_opened_since(&self, before: usize, asked: usize) -> Vec<Arc<Page>> {
        if asked > 0 {
            let _ = tokio::time::timeout(
                self.config.timeout_settle,
                self.pages.opened_since(before, asked),
            )
            .await;
        }
        self.pages.since(before)
    }

    /// Lets the next result of a call say `notice`.
    pub(super) fn notify(&self, notice: String) {
        *self.notice.lock() = Some(notice);
    }

    /// Takes the notice for the result of this call. Later calls get none.
    pub fn take_notice(&self) -> Option<String> {
        self.notice.lock().take()
    }

    /// Stores a screenshot of one of its pages, so that it can be read again.
    pub fn keep_screenshot(&self, taken: Screenshot) {
        self.screenshots.keep(taken, self.clock.now());
        self.news.advance();
    }

    /// The last pictures, the oldest first.
    pub fn screenshots(&self) -> Vec<Arc<Screenshot>> {
        self.screenshots.all()
    }

    /// A counter of its changes, which tasks can wait for.
    pub fn news(&self) -> &Revision {
        &self.news
    }

    /// Calls `listener` with each event from now on; the last one is the end of the session. Returns after it.
    pub async fn listen(self: Arc<Self>, listener: impl Fn(SessionEvent)) {
        let mut events = self.pages.shared.events.subscribe();
        loop {
            let event = tokio::select! {
                biased;
                event = events.recv() => event,
                () = self.over.cancelled() => break,
            };
            match event {
                Ok(event) => listener(event),
                Err(RecvError::Lagged(lost)) => {
                    tracing::warn!(session = &*self.id, lost, "a listener is too slow")
                }
                Err(RecvError::Closed) => break,
            }
        }
        let reason = self.end_reason().unwrap_or(EndReason::Closed);
        listener(SessionEvent::Close { reason: reason.as_str().to_owned() });
    }

    /// The session's entry in a list.
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

    /// Passes a call on to its server.
    pub async fn pass_through(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        on_progress: OnProgress,
    ) -> Result<Passed> {
        let passed = self.worker.pass_through(tool, arguments, on_progress).await?;
        for message in &passed.found.console {
            self.console().note(message.clone());
        }
        Ok(passed)
    }

    /// What its server restored at its latest start. `None` if the session has no server.
    pub async fn replayed(&self) -> Option<Replayed> {
        self.worker.wake().await.ok().flatten()
    }
}

/// Counts a running call, and renews the session when it ends.
pub struct Running<'a>(&'a Session);

impl<'a> Running<'a> {
    fn new(session: &'a Session) -> Self {
        session.running.fetch_add(1, Ordering::AcqRel);
        Self(session)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
        self.0.renew();
        self.0.keeper.touch();
    }
}
