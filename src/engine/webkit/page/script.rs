//! Runs scripts in a page's frames. Each script also returns the document that it ran in, which is
//! the only source of events.
//!
//! A script that waits for a promise stays in the page and is polled, so that other commands can
//! run.

use std::{sync::atomic::Ordering, time::Duration};

use serde::Deserialize;
use serde_json::Value;
use thirtyfour::common::command::Command;

use super::{ELEMENT, WebkitPage, lock};
use crate::{
    engine::{
        EngineError, EngineResult, FrameId, PageEvent, ScriptFailure,
        webkit::{
            driver::{Trouble, Turn},
            frames::Where,
        },
    },
    offload,
};

const PAGE: &str = include_str!("page.js");
/// Only tells where it ran.
pub(super) const LOOK: &str = "return tell('');";
/// The same after a turn of the page's event loop.
pub(super) const TURN: &str = "return new Promise((resolve) => { const { port1, port2 } = new MessageChannel(); \
                               port1.onmessage = () => { port1.close(); setTimeout(() => resolve(tell('')), 0); }; \
                               port2.postMessage(0); });";
/// How long a script that waits holds up the others; milliseconds.
const SLICE: u32 = 30;
/// In a child frame it must not: the driver would never answer where the frame goes away.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
/// Lines before the expression of a script: the driver's, and the one that begins it.
const LINES_BEFORE: u64 = 2;
/// Frames within frames deeper than this are not looked into.
const MAX_DEPTH: usize = 6;

/// The result of a script.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(rename = "where")]
    place: Where,
    #[serde(default)]
    value: Value,
    thrown: Option<Thrown>,
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
struct Thrown {
    message: String,
    class: Option<String>,
    line: u64,
    column: u64,
}

impl Answer {
    /// The document's window is about to close.
    pub fn closing(&self) -> bool {
        self.place.closing
    }
}

/// The outcome of a script call.
pub(super) enum Asked {
    Told(Box<Answer>),
    /// A dialog was open already: nothing ran.
    Shut,
    /// A dialog opened meanwhile.
    HeldUp,
    /// It is no script.
    Unreadable(String),
}

impl WebkitPage {
    /// Evaluates `expression`, waits for it where it is a promise, gives a copy of its value.
    pub(super) async fn run(&self, frame: &FrameId, expression: &str) -> EngineResult<Value> {
        self.run_in(frame, expression, "__given").await
    }

    /// The number of the frame in the element that `expression` gives; 0 where it is none.
    pub(super) async fn frame_number(
        &self,
        frame: &FrameId,
        expression: &str,
    ) -> EngineResult<u64> {
        const NUMBER: &str = "() => { const element = __given(); return element?.contentWindow ? number(element) : 0; }";
        Ok(self.run_in(frame, expression, NUMBER).await?.as_u64().unwrap_or_default())
    }

    /// Runs the function `made`, in which `__given()` is `expression`. Only this function can
    /// access Troupe's names.
    async fn run_in(&self, frame: &FrameId, expression: &str, made: &str) -> EngineResult<Value> {
        let slot = self.slots.fetch_add(1, Ordering::AcqRel);
        let wait = if *frame == self.handle { SLICE } else { 0 };
        let poll = format!("return poll({slot}, {wait});");
        let run = format!("return run({slot}, {wait}, {made});");
        let (mut given, mut body) =
            (format!("const __given = () => (\n{expression}\n); "), run.as_str());
        // Why it is no expression, where it may be statements.
        let mut unreadable: Option<String> = None;
        let shared = self.shared()?;
        loop {
            let asked = {
                let mut turn = shared.driver.turn().await;
                self.ask_of(&mut turn, frame, &given, body).await?
            };
            match asked {
                Asked::Told(answer) if answer.pending => {
                    (given, body) = (String::new(), &poll);
                    if wait == 0 {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
                Asked::Told(answer) => return answer.outcome(unreadable),
                Asked::Shut => shared.no_dialog().await,
                Asked::HeldUp => {
                    shared.no_dialog().await;
                    (given, body) = (String::new(), &poll);
                }
                Asked::Unreadable(message) if unreadable.is_none() => {
                    let script = Value::from(expression);
                    given = format!("const __given = () => (0, eval)({script}); ");
                    unreadable = Some(message);
                }
                Asked::Unreadable(message) => return Err(EngineError::Refused(message)),
            }
        }
    }

    /// Runs `body` in `frame`, and applies the state of the page that it returns.
    pub(super) async fn ask(
        &self,
        turn: &mut Turn<'_>,
        frame: &FrameId,
        body: &str,
    ) -> EngineResult<Asked> {
        self.ask_of(turn, frame, "", body).await
    }

    /// The same, where `body` uses what `given` declares, which sees none of our own names.
    async fn ask_of(
        &self,
        turn: &mut Turn<'_>,
        frame: &FrameId,
        given: &str,
        body: &str,
    ) -> EngineResult<Asked> {
        if self.shared()?.is_held_up() {
            return Ok(Asked::Shut);
        }
        let way = lock(&self.frames).way_to(frame).ok_or(EngineError::DocumentGone)?;
        let ran = async {
            turn.at(&self.handle, &way).await?;
            turn.script(format!("{given}return (() => {{ {PAGE}{body} }})();")).await
        };
        match ran.await {
            Ok(Value::String(told)) => {
                let answer: Answer = offload::in_place(told.len(), || serde_json::from_str(&told))
                    .map_err(|error| EngineError::Refused(format!("{error} in {told}")))?;
                if answer.focused {
                    *lock(&self.focus) = frame.clone();
                }
                self.saw(turn, frame, &answer.place).await?;
                self.give_focus_back(turn, frame).await;
                Ok(Asked::Told(Box::new(answer)))
            }
            Ok(_) => {
                let text = turn.send(Command::GetAlertText).await;
                match text {
                    Ok(text) => self.dialog_opened(text.as_str().unwrap_or_default()),
                    Err(trouble) => return Err(trouble.error()),
                }
                Ok(Asked::HeldUp)
            }
            Err(Trouble::Dialog(text)) => {
                self.dialog_opened(&text);
                Ok(Asked::Shut)
            }
            Err(Trouble::Script(message)) => Ok(Asked::Unreadable(message)),
            Err(Trouble::Failed(error)) => {
                // Where it goes is to be seen soon.
                if matches!(error, EngineError::DocumentGone)
                    && let Some(shared) = self.shared.upgrade()
                {
                    shared.wake();
                }
                Err(error)
            }
        }
    }

    /// Takes in where a script ran.
    async fn saw(&self, turn: &mut Turn<'_>, frame: &FrameId, place: &Where) -> EngineResult<()> {
        if *frame == self.handle {
            // Only the browser knows the URL that the page is navigating to. It is read first, so
            // that it is not confused with the former URL.
            let heading = match turn.send(Command::GetCurrentUrl).await {
                Ok(url) => url.as_str().map(str::to_owned),
                Err(_) => None,
            };
            let events = lock(&self.frames).seen_at_top(place, heading.as_deref());
            let stopped =
                events.iter().any(|event| matches!(event, PageEvent::LoadingStopped { .. }));
            if stopped && let Some(shared) = self.shared.upgrade() {
                // The navigation became a download.
                shared.tell_downloads();
            }
            let begun =
                events.iter().any(|event| matches!(event, PageEvent::NavigationRequested { .. }));
            self.emit_all(events);
            if begun && let Some(shared) = self.shared.upgrade() {
                shared.wake();
            }
        } else {
            let events = lock(&self.frames).seen(frame, place);
            self.emit_all(events);
        }
        let unknown = lock(&self.frames).has_unknown(frame, place);
        if unknown {
            Box::pin(self.look_into_frames(turn, frame)).await?;
        }
        Ok(())
    }

    pub(super) fn emit_all(&self, events: impl IntoIterator<Item = PageEvent>) {
        for event in events {
            self.emit(event);
        }
    }

    /// A look into a child frame has taken the focus along.
    async fn give_focus_back(&self, turn: &mut Turn<'_>, visited: &FrameId) {
        let focus = lock(&self.focus).clone();
        if *visited == focus || *visited == self.handle {
            return;
        }
        let way = lock(&self.frames).way_to(&focus).unwrap_or_default();
        if turn.focus(&self.handle, &way).await.is_err() {
            tracing::debug!("the focus could not be given back");
        }
    }

    /// Finds out which frame input has left the focus in.
    pub(super) async fn note_focus(&self, turn: &mut Turn<'_>) -> EngineResult<()> {
        if !lock(&self.frames).are_several() {
            return Ok(());
        }
        let mut frame = self.handle.clone();
        for _ in 0..MAX_DEPTH {
            *lock(&self.focus) = frame.clone();
            let Asked::Told(answer) =
                self.ask(turn, &frame, "return tell(value(focusedFrame()));").await?
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

    /// Gets to know the frames in `frame`.
    async fn look_into_frames(&self, turn: &mut Turn<'_>, frame: &FrameId) -> EngineResult<()> {
        let Some(way) = lock(&self.frames).way_to(frame).filter(|way| way.len() < MAX_DEPTH) else {
            return Ok(());
        };
        let listed = async {
            turn.at(&self.handle, &way).await?;
            turn.script(format!(
                "{PAGE}return windows().map((element) => [number(element), element]);"
            ))
            .await
        };
        let Ok(listed) = listed.await else { return Ok(()) };
        for entry in listed.as_array().into_iter().flatten() {
            if let Some(number) = entry[0].as_u64() {
                // One that goes away meanwhile is none.
                let _ = self.enter(turn, frame, number, &entry[1]).await;
            }
        }
        Ok(())
    }

    /// Enters the iframe `number` of `parent`, which is `element`, and reads its state.
    pub(super) async fn enter(
        &self,
        turn: &mut Turn<'_>,
        parent: &FrameId,
        number: u64,
        element: &Value,
    ) -> EngineResult<Option<FrameId>> {
        let Some(name) = element[ELEMENT].as_str() else { return Ok(None) };
        let known = lock(&self.frames).inside(parent, number, name);
        let Some((frame, event)) = known else { return Ok(None) };
        self.emit_all(event);
        Box::pin(self.ask(turn, &frame, LOOK)).await?;
        Ok(Some(frame))
    }
}

impl Answer {
    /// Returns the script's value. `unreadable` is why it could only run as statements.
    fn outcome(self, unreadable: Option<String>) -> EngineResult<Value> {
        if self.lost {
            return Err(EngineError::DocumentGone);
        }
        if self.circular {
            // The words that the page layer knows from Chromium.
            return Err(EngineError::Refused("Object reference chain is too long".to_owned()));
        }
        let Some(thrown) = self.thrown else { return Ok(self.value) };
        let Thrown { message, class, line, column } = thrown;
        let failure = match unreadable {
            Some(first) if class.as_deref() == Some("EvalError") => ScriptFailure {
                message: format!(
                    "SyntaxError: {first} (the policy of this page forbids statements here: give an expression or a function)"
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
