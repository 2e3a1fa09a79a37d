//! Runs scripts in a page's frames. Each script also returns the state of the document in which it
//! ran, which is the only source of events.
//!
//! If a script returns a promise, its result stays in the page and is polled. Other commands can
//! run meanwhile.

use std::{sync::atomic::Ordering, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use thirtyfour::common::command::Command;

use super::{ELEMENT, WebkitPage, lock};
use crate::{
    engine::{
        EngineError, EngineResult, FrameId, PageEvent, ScriptFailure,
        connection::read_json,
        webkit::{
            driver::{CommandGuard, DriverError},
            frames::DocumentReport,
        },
    },
    offload,
};

const PAGE_SCRIPT: &str = include_str!("page.js");
/// A script body that only reports the state of its document.
pub(super) const REPORT_STATE: &str = "return report('');";
/// A script body that reports the state of its document after an event loop tick.
pub(super) const REPORT_AFTER_TICK: &str = "return new Promise((resolve) => { const { port1, port2 } = new MessageChannel(); \
                               port1.onmessage = () => { port1.close(); setTimeout(() => resolve(report('')), 0); }; \
                               port2.postMessage(0); });";
/// How long a script that waits for a promise blocks other commands, in milliseconds.
const SLICE: u32 = 30;
/// Polling interval for a script in a child frame. A command must not wait in a child frame,
/// because the driver never responds if the frame is detached meanwhile.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// The number of lines before the expression of a script: one line that the driver adds, and the
/// line that begins the function.
const LINES_BEFORE: u64 = 2;
/// Frames that are nested deeper than this are ignored.
const MAX_DEPTH: usize = 6;

/// The result of a script.
#[derive(Deserialize)]
pub(super) struct ScriptReply {
    state: DocumentReport,
    #[serde(default)]
    value: Value,
    thrown: Option<WebkitException>,
    #[serde(default)]
    circular: bool,
    #[serde(default)]
    focused: bool,
    #[serde(default)]
    pending: bool,
    #[serde(default)]
    lost: bool,
}

#[derive(Deserialize)]
struct WebkitException {
    message: String,
    class: Option<String>,
    line: u64,
    column: u64,
}

impl ScriptReply {
    /// Returns whether the document's window is about to close.
    pub fn closing(&self) -> bool {
        self.state.closing
    }
}

/// The outcome of a script call.
pub(super) enum ScriptOutcome {
    Returned(Box<ScriptReply>),
    /// A dialog was already open: the script did not run.
    Blocked,
    /// A dialog opened while the script ran.
    Interrupted,
    /// The script has a syntax error.
    SyntaxError(String),
}

impl WebkitPage {
    /// Evaluates `expression`, awaits it if it is a promise, and returns a copy of its value.
    pub(super) async fn run(&self, frame: &FrameId, expression: &str) -> EngineResult<Value> {
        self.evaluate_in(frame, expression, "__expression").await
    }

    /// Returns the number of the iframe that `expression` evaluates to; 0 if it evaluates to
    /// another element.
    pub(super) async fn frame_number(
        &self,
        frame: &FrameId,
        expression: &str,
    ) -> EngineResult<u64> {
        const NUMBER: &str = "() => { const element = __expression(); return element?.contentWindow ? number(element) : 0; }";
        Ok(self.evaluate_in(frame, expression, NUMBER).await?.as_u64().unwrap_or_default())
    }

    /// Runs `function`, in which `__expression()` evaluates `expression`. The code of `expression`
    /// has no access to Troupe's names.
    async fn evaluate_in(
        &self,
        frame: &FrameId,
        expression: &str,
        function: &str,
    ) -> EngineResult<Value> {
        let slot = self.script_count.fetch_add(1, Ordering::AcqRel);
        let wait = if *frame == self.handle { SLICE } else { 0 };
        let poll = format!("return poll({slot}, {wait});");
        let run = format!("return run({slot}, {wait}, {function});");
        let (mut declarations, mut body) =
            (format!("const __expression = () => (\n{expression}\n); "), run.as_str());
        // The syntax error of `expression`, which then runs again as statements.
        let mut syntax_error: Option<String> = None;
        let windows = self.windows()?;
        loop {
            let outcome = {
                let mut commands = windows.driver.commands().await;
                self.run_body_with(&mut commands, frame, &declarations, body).await?
            };
            match outcome {
                ScriptOutcome::Returned(answer) if answer.pending => {
                    (declarations, body) = (String::new(), &poll);
                    if wait == 0 {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
                ScriptOutcome::Returned(answer) => return answer.outcome(syntax_error),
                ScriptOutcome::Blocked => windows.wait_until_dialog_closes().await,
                ScriptOutcome::Interrupted => {
                    windows.wait_until_dialog_closes().await;
                    (declarations, body) = (String::new(), &poll);
                }
                ScriptOutcome::SyntaxError(message) if syntax_error.is_none() => {
                    let script = Value::from(expression);
                    declarations = format!("const __expression = () => (0, eval)({script}); ");
                    syntax_error = Some(message);
                }
                ScriptOutcome::SyntaxError(message) => return Err(EngineError::Refused(message)),
            }
        }
    }

    /// Runs `body` in `frame`, and applies the state of the document that it returns.
    pub(super) async fn run_body(
        &self,
        commands: &mut CommandGuard<'_>,
        frame: &FrameId,
        body: &str,
    ) -> EngineResult<ScriptOutcome> {
        self.run_body_with(commands, frame, "", body).await
    }

    /// Like [`Self::run_body`], but runs `declarations` first. `body` can use them. They cannot
    /// access the functions of `page.js`.
    async fn run_body_with(
        &self,
        commands: &mut CommandGuard<'_>,
        frame: &FrameId,
        declarations: &str,
        body: &str,
    ) -> EngineResult<ScriptOutcome> {
        if self.windows()?.is_blocked_by_dialog() {
            return Ok(ScriptOutcome::Blocked);
        }
        let path = lock(&self.frames).path_to(frame).ok_or(EngineError::DocumentGone)?;
        let ran = async {
            commands.select_frame(&self.handle, &path).await?;
            commands
                .script(format!("{declarations}return (() => {{ {PAGE_SCRIPT}{body} }})();"))
                .await
        };
        match ran.await {
            Ok(Value::String(json)) => {
                let answer: ScriptReply = offload::in_place(json.len(), || read_json(&json))
                    .map_err(|error| {
                        EngineError::Refused(format!(
                            "cannot parse the result of a script: {error}"
                        ))
                    })?;
                if answer.focused {
                    *lock(&self.focus) = frame.clone();
                }
                self.apply_report(commands, frame, &answer.state).await?;
                self.restore_focus(commands, frame).await;
                Ok(ScriptOutcome::Returned(Box::new(answer)))
            }
            Ok(_) => {
                let text = commands.send(Command::GetAlertText).await;
                match text {
                    Ok(text) => self.report_dialog(text.as_str().unwrap_or_default()),
                    Err(error) => return Err(error.into_engine_error()),
                }
                Ok(ScriptOutcome::Interrupted)
            }
            Err(DriverError::Dialog(text)) => {
                self.report_dialog(&text);
                Ok(ScriptOutcome::Blocked)
            }
            Err(DriverError::Script(message)) => Ok(ScriptOutcome::SyntaxError(message)),
            Err(DriverError::Failed(error)) => {
                // A navigation is pending, so the next poll should be soon.
                if matches!(error, EngineError::DocumentGone)
                    && let Some(windows) = self.windows.upgrade()
                {
                    windows.wake();
                }
                Err(error)
            }
        }
    }

    /// Applies the state of the document in which a script ran.
    async fn apply_report(
        &self,
        commands: &mut CommandGuard<'_>,
        frame: &FrameId,
        report: &DocumentReport,
    ) -> EngineResult<()> {
        if *frame == self.handle {
            // Only the browser knows the URL that the page is navigating to. It is read before the
            // report is applied, so that the URL of the former document is not taken for it.
            let browser_url = match commands.send(Command::GetCurrentUrl).await {
                Ok(url) => url.as_str().map(str::to_owned),
                Err(_) => None,
            };
            let events = lock(&self.frames).apply_main(report, browser_url.as_deref());
            let stopped =
                events.iter().any(|event| matches!(event, PageEvent::LoadingStopped { .. }));
            if stopped && let Some(windows) = self.windows.upgrade() {
                // The navigation became a download.
                windows.report_downloads();
            }
            let begun =
                events.iter().any(|event| matches!(event, PageEvent::NavigationRequested { .. }));
            self.emit_all(events);
            if begun && let Some(windows) = self.windows.upgrade() {
                windows.wake();
            }
        } else {
            let events = lock(&self.frames).apply(frame, report);
            self.emit_all(events);
        }
        let unknown = lock(&self.frames).has_unknown(frame, report);
        if unknown {
            Box::pin(self.discover_frames(commands, frame)).await?;
        }
        Ok(())
    }

    pub(super) fn emit_all(&self, events: impl IntoIterator<Item = PageEvent>) {
        for event in events {
            self.emit(event);
        }
    }

    /// Restores the focus after a poll of a child frame, which moves the focus there.
    async fn restore_focus(&self, commands: &mut CommandGuard<'_>, visited: &FrameId) {
        let focus = lock(&self.focus).clone();
        if *visited == focus || *visited == self.handle {
            return;
        }
        let path = lock(&self.frames).path_to(&focus).unwrap_or_default();
        if commands.focus(&self.handle, &path).await.is_err() {
            tracing::debug!("could not restore the focus");
        }
    }

    /// Finds out which frame has the focus after input.
    pub(super) async fn update_focus(&self, commands: &mut CommandGuard<'_>) -> EngineResult<()> {
        if !lock(&self.frames).has_child_frames() {
            return Ok(());
        }
        let mut frame = self.handle.clone();
        for _ in 0..MAX_DEPTH {
            *lock(&self.focus) = frame.clone();
            let ScriptOutcome::Returned(answer) =
                self.run_body(commands, &frame, "return report(value(focusedFrame()));").await?
            else {
                break;
            };
            let child = answer.value.as_u64().filter(|number| *number > 0);
            let child = child.and_then(|number| lock(&self.frames).child(&frame, number));
            let Some(child) = child else { break };
            frame = child;
        }
        Ok(())
    }

    /// Adds the child frames of `frame`.
    async fn discover_frames(
        &self,
        commands: &mut CommandGuard<'_>,
        frame: &FrameId,
    ) -> EngineResult<()> {
        let Some(path) = lock(&self.frames).path_to(frame).filter(|path| path.len() < MAX_DEPTH)
        else {
            return Ok(());
        };
        let listed = async {
            commands.select_frame(&self.handle, &path).await?;
            commands
                .script(format!(
                    "{PAGE_SCRIPT}return windows().map((element) => [number(element), element]);"
                ))
                .await
        };
        let Ok(listed) = listed.await else { return Ok(()) };
        for entry in listed.as_array().into_iter().flatten() {
            if let Some(number) = entry[0].as_u64() {
                // Ignores a frame that is detached meanwhile.
                let _ = self.enter(commands, frame, number, &entry[1]).await;
            }
        }
        Ok(())
    }

    /// Enters the iframe `number` of `parent`, which is `element`, and reads its state.
    pub(super) async fn enter(
        &self,
        commands: &mut CommandGuard<'_>,
        parent: &FrameId,
        number: u64,
        element: &Value,
    ) -> EngineResult<Option<FrameId>> {
        let Some(name) = element[ELEMENT].as_str() else { return Ok(None) };
        let known = lock(&self.frames).attach_child(parent, number, name);
        let Some((frame, event)) = known else { return Ok(None) };
        self.emit_all(event);
        Box::pin(self.run_body(commands, &frame, REPORT_STATE)).await?;
        Ok(Some(frame))
    }
}

impl ScriptReply {
    /// Returns the script's value. `syntax_error` is the reason why it only ran as statements.
    fn outcome(self, syntax_error: Option<String>) -> EngineResult<Value> {
        if self.lost {
            return Err(EngineError::DocumentGone);
        }
        if self.circular {
            // Chromium's message, which the page layer recognizes.
            return Err(EngineError::Refused("Object reference chain is too long".to_owned()));
        }
        let Some(thrown) = self.thrown else { return Ok(self.value) };
        let WebkitException { message, class, line, column } = thrown;
        let failure = match syntax_error {
            Some(first) if class.as_deref() == Some("EvalError") => ScriptFailure {
                message: format!(
                    "SyntaxError: {first} (the page's Content Security Policy forbids statements: pass an expression or a function)"
                ),
                line: 1,
                column: 1,
                class: Some("SyntaxError".to_owned()),
            },
            Some(_) => ScriptFailure { message, line: line.max(1), column: column.max(1), class },
            None => ScriptFailure {
                message,
                line: line.saturating_sub(LINES_BEFORE).max(1),
                column: column.max(1),
                class,
            },
        };
        Err(EngineError::Script(failure))
    }
}
