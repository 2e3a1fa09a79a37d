//! A page, the same in every browser: targets, waits, actions, snapshots. Uses the engine's traits, `policy`,
//! `config` and `error`, and is independent of the browser.
//!
//! `state` tracks what the page does. `injected` calls Troupe's script in the page. `navigation`, `action` and
//! `script` implement the operations. `settle` waits for the effects of an action.

mod action;
mod changes;
mod console;
mod dialogs;
mod downloads;
mod dragging;
mod entering;
mod events;
mod finding;
mod frame_elements;
mod frame_transform;
mod frames;
mod injected;
mod keep;
mod keyboard;
mod markdown;
mod navigation;
mod network_log;
mod network_policy;
mod overview;
pub mod pictures;
mod pointer;
mod reading;
mod requests;
mod revision;
mod script;
mod scrolling;
mod settle;
mod snapshot;
mod state;
mod test_ids;
mod typed_secrets;
mod unresponsive_frames;
mod waiting;

use std::{
    future::Future,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::{
    config::{BrowserKind, Config},
    engine::{self, Dialog, EngineError, FrameId, PageObserver, World},
    error::{ErrorCode, Result, TroupeError},
};

use self::dialogs::Elsewhere;
pub use action::{Done, Entered, OtherValue};
pub use changes::Shown;
pub use console::ConsoleLog;
pub use dialogs::{Dialogs, OpenDialog};
pub use downloads::{Download, DownloadState, Downloads};
pub use entering::TypeOptions;
pub use events::{Events, SessionEvent};
pub use finding::{Found, MOST_MATCHES, Query};
pub use frames::RefCounter;
pub use injected::PRELUDE;
pub use keep::{
    DatabaseVersions, Databases, DocumentState, FrameState, Item, KeptOrigin, KeptPage,
    LOOK_TIMEOUT, OriginStorage, Scroll, Visited,
};
pub use markdown::markdown;
pub use navigation::{Navigation, WaitUntil, normalise_url};
pub use network_log::Logged;
pub use network_policy::Gate;
pub use pointer::{ClickOptions, Point, PointerTarget};
pub use reading::{Described, Elements, FieldValue, Html, Links, Listed, Metadata, Table};
pub use revision::Revision;
pub use scrolling::ScrollOptions;
pub use settle::Settled;
pub use snapshot::SnapshotOptions;
pub use state::PageState;
pub use waiting::{Element, ElementState, Patience};

/// Timeout for queries that do not wait for anything in the page.
const ANSWER: Duration = Duration::from_secs(20);

/// `details.reason` of a call whose document a navigation took away.
const DOCUMENT_GONE: &str = "document replaced";

/// Timeout for closing a page, which runs no `beforeunload` handlers.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for closing a dialog, which the browser does at once.
const DIALOG_TIMEOUT: Duration = Duration::from_secs(5);

/// The kind of dialog that asks whether to leave a page.
const LEAVING: &str = "beforeunload";

/// State that all pages of a session share.
#[derive(Clone)]
pub struct Shared {
    pub config: Arc<Config>,
    pub refs: Arc<RefCounter>,
    pub downloads: Arc<Downloads>,
    pub dialogs: Dialogs,
    pub visited: Arc<Visited>,
    pub console: Arc<ConsoleLog>,
    /// Asked where they may go; `None`: wherever they like.
    pub gate: Option<Arc<Gate>>,
    /// Advanced when one of them shows something else.
    pub news: Revision,
    pub events: Events,
}

/// A tab of a session.
pub struct Page {
    /// Something was not answered in time: a script may keep it busy.
    still: AtomicBool,
    /// `page-1`, `page-2`… in order of opening.
    pub id: String,
    /// The same, as a number.
    pub number: usize,
    /// Milliseconds since 1970.
    pub opened_at: u64,
    engine: Arc<dyn engine::Page>,
    state: Arc<PageState>,
    refs: frames::SharedRefs,
    frame_numbers: frames::FrameNumbers,
    frame_elements: frame_elements::FrameElements,
    unresponsive_frames: unresponsive_frames::UnresponsiveFrames,
    last_look: changes::LastLook,
    looks: keep::Looks,
    typed_secrets: typed_secrets::TypedSecrets,
    test_ids: test_ids::TestIds,
    config: Arc<Config>,
    gate: Option<Arc<Gate>>,
    main_frame: OnceLock<FrameId>,
}

impl Page {
    /// Wraps a page that the engine has opened at `opened_at`. `shared` is the state that all pages of its session
    /// share.
    pub fn new(
        number: usize,
        opened_at: u64,
        engine: Arc<dyn engine::Page>,
        shared: &Shared,
    ) -> Self {
        let id = format!("page-{number}");
        Self {
            still: AtomicBool::new(false),
            state: Arc::new(PageState::new(id.clone(), shared)),
            id,
            number,
            opened_at,
            engine,
            refs: shared.refs.clone(),
            frame_numbers: frames::FrameNumbers::default(),
            frame_elements: frame_elements::FrameElements::default(),
            unresponsive_frames: unresponsive_frames::UnresponsiveFrames::default(),
            last_look: changes::LastLook::default(),
            looks: keep::Looks::default(),
            typed_secrets: typed_secrets::TypedSecrets::default(),
            test_ids: test_ids::TestIds::default(),
            config: shared.config.clone(),
            gate: shared.gate.clone(),
            main_frame: OnceLock::new(),
        }
    }

    /// The observer that gets this page's events from the engine.
    pub fn observer(&self) -> Arc<dyn PageObserver> {
        self.state.clone()
    }

    /// The page's URL. If the browser shows an error page because a document failed to load, the URL of that
    /// document.
    pub fn url(&self) -> String {
        let shown = self.state.read(|facts| facts.main_frame().url.clone());
        self.unreachable(&shown)
            .map_or_else(|| shown.as_ref().to_owned(), |unreachable| unreachable.url)
    }

    /// Why the document that the page stands for could not be had.
    pub fn failure(&self) -> Option<String> {
        let shown = self.state.read(|facts| facts.main_frame().url.clone());
        self.unreachable(&shown).map(|unreachable| unreachable.reason)
    }

    /// Whether it has crashed, and has no document since.
    pub fn has_crashed(&self) -> bool {
        self.state.read(|facts| facts.crashed.is_some())
    }

    /// Another number whenever it has navigated, loaded, crashed or closed.
    pub fn revision(&self) -> u64 {
        self.state.read(state::Facts::revision)
    }

    /// Whether it can still be used.
    pub fn is_open(&self) -> bool {
        !self.state.read(|facts| facts.closed)
    }

    /// The dialog that holds the page up.
    pub fn dialog(&self) -> Option<Dialog> {
        self.state.read(|facts| facts.dialog.clone())
    }

    /// The engine's own id.
    pub fn engine_id(&self) -> &str {
        self.engine.id()
    }

    /// Fails if its browser does not report requests.
    pub fn check_requests(&self) -> Result<()> {
        check_log(self.config.browser, engine::Log::Requests)
    }

    /// The requests that `filter` means, the oldest first, each with the URL of its frame where that is not
    /// the main one.
    pub fn requests(&self, filter: Option<&str>) -> Vec<(Logged, Option<String>)> {
        let fits = |entry: &&Logged| filter.is_none_or(|filter| entry.fits(filter));
        let logged: Vec<Logged> =
            self.state.read_log(|log| log.entries().filter(fits).cloned().collect());
        self.state.read(|facts| {
            let frame = |id: &FrameId| {
                let known = facts.frames.get(id).map_or("detached", |frame| &*frame.url);
                (facts.main.as_ref() != Some(id)).then(|| known.to_owned())
            };
            logged
                .into_iter()
                .map(|entry| (entry.clone(), entry.frame.as_ref().and_then(frame)))
                .collect()
        })
    }

    /// Takes the changes of the session's downloads since the last answer that reported them.
    pub async fn download_news(&self) -> Vec<Download> {
        self.state.downloads().news(self.config.timeout_settle).await
    }

    fn main_frame(&self) -> &FrameId {
        self.main_frame.get_or_init(|| self.engine.main_frame())
    }

    /// The title, also while a dialog holds the page up.
    pub async fn title(&self) -> Result<String> {
        let told = async { self.engine.title().await.map_err(|error| self.error(error)) };
        self.taking_turns(ANSWER, told).await
    }

    /// Forgets where it was before.
    pub async fn forget_history(&self) -> Result<()> {
        self.alive(self.engine.forget_history()).await
    }

    /// Answers the open dialog, and waits for what that starts.
    pub async fn handle_dialog(&self, accept: bool, prompt_text: Option<&str>) -> Result<Settled> {
        let Some(dialog) = self.dialog() else {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                "no dialog is open in this page",
            ));
        };
        let mark = self.state.mark();
        // Like a user who presses OK without changing the default text.
        let text = prompt_text.or(dialog.default_value.as_deref()).filter(|_| accept);
        let handled = async {
            self.engine.handle_dialog(accept, text).await.map_err(|error| self.error(error))
        };
        self.taking_turns(ANSWER, handled).await?;
        // One dialog may come right after the other.
        let answered = self.state.until(|facts| {
            (facts.dialog.is_none() || facts.dialog_since(mark).is_some()).then_some(())
        });
        self.within(DIALOG_TIMEOUT, answered)
            .await
            .ok_or_else(|| self.timed_out("the dialog did not close", DIALOG_TIMEOUT))?;
        if accept && dialog.kind == LEAVING {
            self.gone_on(mark).await;
        }
        let mut settled = self.settle(mark, self.main_frame(), None, None).await?;
        // A dialog that came while the page loaded has held up the load.
        if settled.dialog.is_none()
            && !settled.closed
            && !self.state.read(|facts| facts.main_frame().loaded)
        {
            let loading = self.loaded(WaitUntil::Load, state::Mark::default());
            match self.within(self.config.timeout_settle, loading).await {
                Some(dialog) => settled.dialog = dialog?,
                None => settled.restless = true,
            }
        }
        Ok(settled)
    }

    /// Closes the page, and returns when it is no longer listed.
    pub async fn close(&self) -> Result<()> {
        let closing = async { self.engine.close().await.map_err(|error| self.error(error)) };
        self.taking_turns(ANSWER, closing).await?;
        let closed = self.state.until(|facts| facts.closed.then_some(()));
        self.within(CLOSE_TIMEOUT, closed)
            .await
            .ok_or_else(|| self.timed_out("the page did not close", CLOSE_TIMEOUT))
    }

    /// Waits until it is clear that the dialog of another page holds up this one.
    async fn held_up(&self) -> Elsewhere {
        let answers = |patience| -> BoxFuture<'_, bool> { Box::pin(self.answers(patience)) };
        self.state.dialogs().holding_up(&self.id, answers).await
    }

    /// Whether the page completes an event loop tick within `patience`.
    async fn answers(&self, patience: Duration) -> bool {
        let asked = self.engine.evaluate(self.main_frame(), World::Isolated, "0");
        self.within(patience, asked).await.is_some()
    }

    fn held_up_by(&self, other: &Elsewhere) -> TroupeError {
        let Elsewhere { page_id, dialog } = other;
        TroupeError::new(
            ErrorCode::DialogOpen,
            format!(
                "page `{}` is held up by the {} dialog of `{page_id}`: {:?}",
                self.id, dialog.kind, dialog.message
            ),
        )
        .detail("dialog", serde_json::to_value(dialog).unwrap_or(Value::Null))
        .detail("pageId", page_id.as_str())
        .suggestion(format!("answer it with handle_dialog {{pageId: \"{page_id}\"}}, then go on"))
    }

    /// Fails with `DIALOG_OPEN` where a dialog holds the page up: nothing else would be answered.
    pub fn check_no_dialog(&self) -> Result<()> {
        self.dialog().map_or(Ok(()), |dialog| Err(self.dialog_open(&dialog)))
    }

    fn dialog_open(&self, dialog: &Dialog) -> TroupeError {
        TroupeError::new(
            ErrorCode::DialogOpen,
            format!(
                "page `{}` waits for its {} dialog: {:?}",
                self.id, dialog.kind, dialog.message
            ),
        )
        .detail("dialog", serde_json::to_value(dialog).unwrap_or(Value::Null))
        .suggestion("answer it with handle_dialog, then go on")
    }

    /// Awaits `work`, but no longer than the page lives, no dialog holds it up, and it takes its turns.
    async fn alive<T>(&self, work: impl Future<Output = engine::EngineResult<T>>) -> Result<T> {
        self.alive_for(ANSWER, work).await
    }

    /// The same for what may take until `limit`.
    async fn alive_for<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = engine::EngineResult<T>>,
    ) -> Result<T> {
        // Told apart under the lock, worded outside it.
        let stopped = self.state.until(|facts| match &facts.dialog {
            _ if facts.crashed.is_some() => Some(Err(EngineError::PageCrashed)),
            _ if facts.closed => Some(Err(EngineError::PageGone)),
            dialog => dialog.clone().map(Ok),
        });
        let over = async {
            tokio::select! {
                biased;
                done = work => done.map_err(|error| self.error(error)),
                stopped = stopped => Err(match stopped {
                    Ok(dialog) => self.dialog_open(&dialog),
                    Err(error) => self.error(error),
                }),
                other = self.held_up() => Err(self.held_up_by(&other)),
            }
        };
        self.taking_turns(limit, over).await
    }

    /// Awaits work in the page. If the page does not complete a tick within `limit`, it is marked as unresponsive.
    async fn taking_turns<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        if let Some(done) = self.within(limit, work).await {
            return done;
        }
        self.still.store(true, Ordering::Relaxed);
        Err(self
            .timed_out("the page took no turn (a script of its own may keep it busy)", limit)
            .suggestion("wait and call again, or leave the page with `navigate`, or close it with `pages`, or close the session"))
    }

    async fn within<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(time, work).await.ok()
    }

    fn timed_out(&self, what: &str, timeout: Duration) -> TroupeError {
        let millis = timeout.as_millis();
        TroupeError::new(
            ErrorCode::Timeout,
            format!("{what} within {millis} ms on `{}`", self.url()),
        )
        .detail("timeout", u64::try_from(millis).unwrap_or(u64::MAX))
    }

    /// Words for what happened below, with this page's facts.
    fn error(&self, error: EngineError) -> TroupeError {
        let url = self.url();
        match error {
            EngineError::BrowserGone => TroupeError::new(
                ErrorCode::BrowserCrashed,
                format!("the browser died during the call; page `{}` was at `{url}`", self.id),
            )
            .suggestion("repeat the call: the browser is started again and the session resumed"),
            EngineError::PageCrashed => TroupeError::new(
                ErrorCode::BrowserCrashed,
                format!("page `{}` has crashed at `{url}`", self.id),
            )
            // Each call fails until the page has another document.
            .retryable(false)
            .suggestion("load the page again with `navigate`, or close it with `pages`"),
            EngineError::PageGone => TroupeError::new(
                ErrorCode::PageNotFound,
                format!("page `{}` has closed (it was at `{url}`)", self.id),
            )
            .suggestion("open another page, or go on in one that is still open"),
            EngineError::Script(failure) => {
                let code = match is_failed_request(&failure.message) {
                    true => ErrorCode::NetworkError,
                    false => ErrorCode::ScriptError,
                };
                let mut details = serde_json::Map::new();
                details.insert("message".into(), failure.message.clone().into());
                details.insert("line".into(), failure.line.into());
                details.insert("column".into(), failure.column.into());
                if let Some(class) = failure.class {
                    details.insert("class".into(), class.into());
                }
                let mut error = TroupeError::new(code, failure.message);
                error.details = details;
                error
            }
            EngineError::TimedOut(timeout) => self.timed_out("the browser did not answer", timeout),
            EngineError::Unsupported { what, instead } => unsupported(what, instead),
            EngineError::Launch { reason, suggestion } => {
                let mut error = TroupeError::new(ErrorCode::BrowserError, reason);
                error.suggestion = suggestion.or(error.suggestion);
                error
            }
            EngineError::DocumentGone => TroupeError::new(
                ErrorCode::BrowserError,
                format!("the document at `{url}` was replaced during the call"),
            )
            .detail("reason", DOCUMENT_GONE)
            .suggestion("call again: the page has navigated"),
            error @ (EngineError::Refused(_) | EngineError::UnknownSetting { .. }) => {
                TroupeError::new(ErrorCode::BrowserError, error.to_string())
            }
        }
    }
}

/// The beginnings of the messages with which Chromium, Firefox and WebKit report that a request of a script failed.
const FAILED_REQUESTS: [&str; 6] = [
    "TypeError: Failed to fetch",
    "TypeError: NetworkError when attempting to fetch resource",
    "TypeError: error loading dynamically imported module",
    "TypeError: Load failed",
    "TypeError: Importing a module script failed.",
    "NetworkError: ",
];

/// Whether a script that failed with `message` did not catch the failure of one of its requests.
fn is_failed_request(message: &str) -> bool {
    let message = match message.strip_prefix("Uncaught ") {
        Some(thrown) => thrown.strip_prefix("(in promise) ").unwrap_or(thrown),
        None => message,
    };
    FAILED_REQUESTS.iter().any(|beginning| message.starts_with(beginning))
}

/// Fails where pages of `browser` tell nothing that `log` could hold.
pub fn check_log(browser: BrowserKind, log: engine::Log) -> Result<()> {
    engine::check_log(browser, log).map_err(|error| match error {
        EngineError::Unsupported { what, instead } => unsupported(what, instead),
        other => TroupeError::new(ErrorCode::BrowserError, other.to_string()),
    })
}

/// What this browser has no way to do.
pub fn unsupported(what: &str, instead: &str) -> TroupeError {
    TroupeError::new(ErrorCode::BrowserError, format!("{what} cannot be done in this browser"))
        .detail("unsupported", what)
        .suggestion(instead)
}

#[cfg(test)]
mod tests {
    use super::is_failed_request;

    #[test]
    fn a_failed_request_is_recognized_at_the_beginning_of_a_message() {
        for message in [
            "TypeError: Failed to fetch",
            "TypeError: Failed to fetch dynamically imported module: http://a/module.js",
            "TypeError: NetworkError when attempting to fetch resource.",
            "TypeError: error loading dynamically imported module: http://a/module.js",
            "TypeError: Load failed",
            "TypeError: Importing a module script failed.",
            "NetworkError: A network error occurred.",
            "Uncaught TypeError: Failed to fetch",
            "Uncaught (in promise) TypeError: Failed to fetch",
        ] {
            assert!(is_failed_request(message), "{message}");
        }
        for message in [
            "Error: MyNetworkError: x",
            "MyNetworkError: x",
            "Error: the test expects `TypeError: Failed to fetch`",
            "Error: Uncaught TypeError: Failed to fetch",
            "TypeError: no list",
            "",
        ] {
            assert!(!is_failed_request(message), "{message}");
        }
    }
}
