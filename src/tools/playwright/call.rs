//! A call of a tool of the set, and the functions that all handlers use.

use std::{
    sync::{Arc, OnceLock},
    time::SystemTime,
};

use futures_util::future::{BoxFuture, join_all};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::{
    response::Response,
    state::{self, PlaywrightState},
};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    files::FileStore,
    page::{ActionOutcome, ChangedFields, Page, PlaywrightMatch, PlaywrightTarget, WaitUntil},
    session::Session,
    tools::{parameters, tool::ServerCall},
};

/// A call of a tool of the set.
#[derive(Clone)]
pub(in crate::tools) struct PlaywrightCall {
    pub session: Arc<Session>,
    /// The page that the client names.
    pub page_id: Option<String>,
    pub config: Arc<Config>,
    pub server: ServerCall,
    /// Set by calls that enter text: for each field, whether it is for a password.
    pub entered: Arc<OnceLock<ChangedFields>>,
    pub begun: SystemTime,
}

/// The open dialog or file chooser that a tool handles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModalState {
    /// The tool does not work on a page: it can always be called.
    Any,
    /// The tool works only while neither is open.
    None,
    Dialog,
    FileChooser,
}

/// The arguments of a tool without parameters.
#[derive(Deserialize)]
pub(super) struct NoArguments {}

type ToolFunction = Box<
    dyn Fn(PlaywrightCall, Value) -> Result<BoxFuture<'static, Result<Response>>> + Send + Sync,
>;

/// Runs a tool and renders its result.
pub(in crate::tools) struct PlaywrightHandler {
    modal_state: ModalState,
    work: ToolFunction,
}

impl PlaywrightHandler {
    pub(super) fn new<P, F>(modal_state: ModalState, work: fn(PlaywrightCall, P) -> F) -> Self
    where
        P: DeserializeOwned + 'static,
        F: Future<Output = Result<Response>> + Send + 'static,
    {
        let work = move |call, given| {
            let work = work(call, parameters::read("this tool", given)?);
            Ok(Box::pin(work) as BoxFuture<'static, _>)
        };
        Self { modal_state, work: Box::new(work) }
    }

    /// Runs the tool `name` with checked arguments.
    pub async fn run(
        &self,
        name: &str,
        call: PlaywrightCall,
        given: Map<String, Value>,
    ) -> Result<Response> {
        match self.refusal(name, &call).await? {
            Some(refusal) => Ok(refusal),
            None => (self.work)(call, Value::Object(given))?.await,
        }
    }

    /// Returns the response if an open dialog or file chooser, or its absence, prevents the call.
    async fn refusal(&self, name: &str, call: &PlaywrightCall) -> Result<Option<Response>> {
        if self.modal_state == ModalState::Any {
            return Ok(None);
        }
        let page = call.page().await?;
        let open = state::modal_states(&page);
        let handles = match self.modal_state {
            ModalState::Dialog => Some(page.dialog().is_some()),
            ModalState::FileChooser => Some(page.open_file_chooser().is_some()),
            ModalState::Any | ModalState::None => None,
        };
        Ok(match handles {
            Some(true) => None,
            Some(false) => Some(Response::error(format!(
                "Error: The tool \"{name}\" can only be used when there is related modal state present."
            ))),
            None if open.is_empty() => None,
            None => Some(Response::error(format!(
                "Error: Tool \"{name}\" does not handle the modal state."
            ))),
        })
    }
}

impl PlaywrightCall {
    /// Returns the files that tools write and read, with the client's working directory.
    pub fn files(&self) -> FileStore {
        self.session.files().with_config(&self.config)
    }

    /// Returns the page of the call. Opens one if there is none, and replaces a crashed one.
    pub async fn page(&self) -> Result<Arc<Page>> {
        let page = self.session.page(self.page_id.as_deref()).await?;
        if !page.has_crashed() {
            return Ok(page);
        }
        page.close().await?;
        self.session.new_page().await
    }

    /// Returns the set's state for the session.
    pub fn state(&self) -> Arc<PlaywrightState> {
        self.session.tool_state()
    }

    /// Finds the element of a ref, selector or locator.
    pub async fn target(&self, page: &Page, target: &str) -> Result<PlaywrightTarget> {
        page.playwright_target(target, None, false).await
    }

    /// Finds the only element of a ref, selector or locator.
    pub async fn strict_target(&self, page: &Page, target: &str) -> Result<PlaywrightTarget> {
        Self::only_match(self.target(page, target).await?)
    }

    /// Returns an error if there are several matches.
    pub fn only_match(found: PlaywrightTarget) -> Result<PlaywrightTarget> {
        if found.count > 1 {
            let PlaywrightTarget { count, shown, matches, .. } = &found;
            let mut message = format!(
                "{API}: Error: strict mode violation: {shown} resolved to {count} elements:"
            );
            for (index, PlaywrightMatch { tag, locator }) in (1..).zip(matches) {
                message.push_str(&format!("\n    {index}) {tag} aka {locator}"));
            }
            if *count > matches.len() as u64 {
                message.push_str("\n    ...");
            }
            message.push('\n');
            return Err(error(with_log(&message, &[&format!("waiting for {shown}")])));
        }
        Ok(found)
    }

    /// Acts on the page, and waits until the pages that this opens have their documents.
    pub async fn act(
        &self,
        action: impl Future<Output = Result<ActionOutcome>>,
    ) -> Result<ActionOutcome> {
        let before = self.session.pages_opened();
        let done = action.await?;
        let opened = self.session.pages_opened_since(before, done.settled.windows.len()).await;
        let timeout = self.config.timeout_settle;
        join_all(opened.iter().map(async |page| {
            page.await_first_document().await;
            // A page that is still loading is shown as it is.
            let _ = page.wait_for_load(WaitUntil::DomContentLoaded, timeout).await;
        }))
        .await;
        Ok(done)
    }

    /// Records which fields the call has typed into.
    pub fn record_entered(&self, entered: &ChangedFields) {
        let _ = self.entered.set(entered.clone());
    }

    /// Adds a typed text to the session's secrets if it is a password, before a snapshot can show
    /// it.
    pub fn record_typed(&self, text: &str, entered: &ChangedFields) {
        let secrets = &self.session.secrets;
        if entered.passwords.contains(&true) {
            secrets.add(text);
        }
        entered.secret.iter().for_each(|secret| secrets.add(secret));
    }
}

/// Returns an error with a message for the agent, as Playwright words it.
pub(super) fn error(message: impl Into<String>) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, message)
}

/// The name of the function in messages of @playwright/mcp.
pub(super) const API: &str = "browserBackend.callTool";

/// Returns a message with a call log, in Playwright's format: a terminal shows its lines dimmed.
pub(super) fn with_log(message: &str, lines: &[&str]) -> String {
    let lines: String =
        lines.iter().map(|line| format!("\u{1b}[2m  - {line}\u{1b}[22m\n")).collect();
    format!("{message}\nCall log:\n{lines}")
}

/// Returns the error of an action on `target` as Playwright reports it.
pub(super) fn action_error(
    call: &PlaywrightCall,
    target: &PlaywrightTarget,
    error: TroupeError,
) -> TroupeError {
    const NO_TEXT_FIELD: &str = "Element is not an <input>, <textarea>, <select> or [contenteditable] and does not have a role allowing [aria-readonly]";
    let reason = error.details.get("reason").and_then(Value::as_str).unwrap_or_default();
    let waited = matches!(
        error.code,
        ErrorCode::Timeout
            | ErrorCode::ElementNotFound
            | ErrorCode::ElementNotClickable
            | ErrorCode::ElementAmbiguous
    ) || matches!(reason, "read-only" | "disabled" | "hidden" | "option");
    let waiting = format!("waiting for {}", target.shown);
    if waited {
        let timeout = call.config.timeout_action.as_millis();
        let message = format!("{API}: Timeout {timeout}ms exceeded.");
        let message = with_log(&message, &[&waiting, &error.message]);
        return TroupeError::new(error.code, message).detail("class", "TimeoutError");
    }
    let problem = if reason == "not-a-text-field" { NO_TEXT_FIELD } else { &error.message };
    let message = with_log(&format!("{API}: Error: {problem}"), &[&waiting]);
    TroupeError { message, ..error }
}
