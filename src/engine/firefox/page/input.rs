//! Dispatches input to one frame: the frame at the action point, or the focused frame.

use std::{collections::HashMap, time::Duration};

use futures_util::future::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{FirefoxPage, lock};
use crate::engine::{
    ClickInProgress, CombinedClick, EngineError, EngineResult, FrameId, MouseButton, MouseEvent,
    ScriptCall, World, actions,
    firefox::{
        convert_error, document_gone,
        privileged::ClickProgress,
        remote_value::{RemoteValue, ScriptResult},
    },
};

/// Maximum nesting depth of frames that get input.
const MAX_DEPTH: usize = 8;

/// Emulates HTML drag and drop. Otherwise Firefox would start a native drag of the desktop.
pub(super) const DRAG: &str = include_str!("../drag.js");

/// Evaluates to the window of the focused child frame.
const FOCUSED_FRAME: &str = "(() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element?.contentWindow ?? null;
})()";

/// The checked clicks that are pending, by number.
#[derive(Default)]
pub(super) struct PendingClicks {
    last: u64,
    pending: HashMap<u64, PendingClick>,
}

struct PendingClick {
    checked: Option<oneshot::Sender<(String, bool)>>,
    pressed: oneshot::Sender<()>,
}

/// Removes a pending click when no caller waits for it any more.
struct PendingClickGuard<'a> {
    page: &'a FirefoxPage,
    number: u64,
}

impl Drop for PendingClickGuard<'_> {
    fn drop(&mut self) {
        lock(&self.page.clicks).pending.remove(&self.number);
    }
}

impl FirefoxPage {
    /// See [`crate::engine::EnginePage::click_between_calls`].
    pub(super) async fn dispatch_checked_click(
        &self,
        check: &ScriptCall,
        (clicks, time): (u32, Duration),
        then: &ScriptCall,
    ) -> EngineResult<Option<CombinedClick<'_>>> {
        // Another frame may be at the point or have the focus.
        if lock(&self.state).frames.has_children() {
            return Ok(None);
        }
        // The frame script sets the point.
        let Some(events) =
            self.synthesized_events(&MouseEvent::clicks((0.0, 0.0), MouseButton::Left, clicks, 0))
        else {
            return Ok(None);
        };
        let ((checked, check_received), (pressed, press_received)) =
            (oneshot::channel(), oneshot::channel());
        let number = {
            let mut clicks = lock(&self.clicks);
            clicks.last += 1;
            let number = clicks.last;
            clicks.pending.insert(number, PendingClick { checked: Some(checked), pressed });
            number
        };
        let awaited = PendingClickGuard { page: self, number };
        let Some(sent) = self.privileged.start_checked_click(
            &self.id,
            (number, time),
            (check, then),
            &events,
        )?
        else {
            return Ok(None);
        };
        let answer = async {
            let outcome: ScriptResult = sent.read().await.map_err(convert_error)?;
            match outcome.value() {
                Err(EngineError::Script(failure)) if document_gone("", &failure.message) => {
                    Err(EngineError::DocumentGone)
                }
                other => other,
            }
        };
        let answer = answer.boxed().shared();
        let checked = tokio::select! {
            biased;
            checked = check_received => checked.ok(),
            // The frame script is not loaded, or the document was gone before the press.
            _ = answer.clone() => None,
        };
        let Some((check_result, pressing)) = checked else { return Ok(None) };
        if !pressing {
            return Ok(Some(CombinedClick { first_answer: check_result, click: None }));
        }
        let over = answer.clone();
        let pressed = async move {
            let _awaited = awaited;
            tokio::select! {
                biased;
                _ = press_received => {}
                over = over => if let Err(error) = over {
                    return Err(self.classify_error(error).await);
                },
            }
            self.wait_until_reported().await
        };
        let then = async move {
            match answer.await {
                Ok(Value::String(answer)) => Ok(answer),
                Ok(_) => Err(EngineError::DocumentGone),
                Err(error) => Err(self.classify_error(error).await),
            }
        };
        let press = ClickInProgress { done: pressed.boxed(), second_answer: then.boxed() };
        Ok(Some(CombinedClick { first_answer: check_result, click: Some(press) }))
    }

    /// Handles a report about a pending click.
    pub fn click_progress(&self, number: u64, progress: ClickProgress) {
        let mut clicks = lock(&self.clicks);
        match progress {
            ClickProgress::Checked { result, pressing } => {
                let waiting =
                    clicks.pending.get_mut(&number).and_then(|press| press.checked.take());
                if let (Some(waiting), Some(result)) = (waiting, result) {
                    let _ = waiting.send((result, pressing));
                }
            }
            ClickProgress::Pressed {} => {
                if let Some(press) = clicks.pending.remove(&number) {
                    let _ = press.pressed.send(());
                }
            }
        }
    }

    /// Returns the frames at a point of the viewport, from the main frame inwards, each with the
    /// point in its own viewport. Troupe's script in each document finds them.
    async fn frames_at(&self, point: (f64, f64)) -> EngineResult<Vec<(FrameId, (f64, f64))>> {
        let mut frames = vec![(self.id.clone(), point)];
        while let Some((frame, (x, y))) = frames.last()
            && frames.len() <= MAX_DEPTH
            && lock(&self.state).frames.has_children()
        {
            let expression = format!("globalThis.__troupe?.frameAt({x}, {y}) ?? []");
            let found = self.script(frame, World::Isolated, &expression).await?.items();
            let [window, x, y] = found.as_slice() else { break };
            let Some(inner) = window.window() else { break };
            let number = |remote: &RemoteValue| {
                remote.json().map(|number| number.as_f64().unwrap_or_default())
            };
            frames.push((inner.into(), (number(x)?, number(y)?)));
        }
        Ok(frames)
    }

    /// Returns the frame to send input at a point of the viewport to, and the point in its
    /// viewport. It is the outermost frame in the process of the innermost frame: Firefox does not
    /// forward synthesized input to other processes, and within a process only the outermost
    /// frame's coordinates are free of CSS transforms.
    pub(super) async fn input_frame_at(
        &self,
        point: (f64, f64),
    ) -> EngineResult<(FrameId, (f64, f64))> {
        let mut frames = self.frames_at(point).await?;
        let Some(innermost) = frames.pop() else { return Ok((self.id.clone(), point)) };
        if frames.is_empty() {
            return Ok(innermost);
        }
        let Some(sent) = self.privileged.post(&format!("processRoot({})", json!(innermost.0)))?
        else {
            return Ok(innermost);
        };
        let root = sent.read::<ScriptResult>().await.map_err(convert_error)?.value()?;
        let root = frames.into_iter().find(|(frame, _)| root.as_str() == Some(frame));
        Ok(root.unwrap_or(innermost))
    }

    /// Returns the innermost focused frame.
    pub(super) async fn focused_frame(&self) -> EngineResult<FrameId> {
        let mut frame = self.id.clone();
        for _ in 0..MAX_DEPTH {
            if !lock(&self.state).frames.has_children() {
                break;
            }
            let inner = self.script(&frame, World::Isolated, FOCUSED_FRAME).await?;
            let Some(window) = inner.window() else { break };
            frame = window.into();
        }
        Ok(frame)
    }

    /// Focuses the page's window: another page in its process may have got the focus. The focus
    /// stays in the frame `focused`. Does not wait.
    pub(super) fn focus(&self, focused: &FrameId) {
        let _ = self.post_script(
            focused,
            World::Isolated,
            "document.hasFocus() || void window.focus()",
        );
    }

    /// Moves or drops the dragged data. The drag stays in the frame where it began.
    pub(super) async fn drag(&self, step: &str, x: f64, y: f64) -> EngineResult<()> {
        let frames = self.frames_at((x, y)).await?;
        let Some((frame, (x, y))) = frames.last() else { return Err(EngineError::DocumentGone) };
        let call = format!("__troupeDrags.{step}({x}, {y})");
        match self.script(frame, World::Isolated, &call).await?.json()? {
            Value::Bool(true) => Ok(()),
            _ => Err(EngineError::Unsupported {
                what: "dragging from one frame into another with HTML's drag events",
                instead: "use --browser chromium",
            }),
        }
    }

    /// Focuses the page in its frame `focused`, and dispatches mouse events in the main frame.
    pub(super) async fn dispatch_mouse(
        &self,
        events: &[MouseEvent],
        focused: &FrameId,
    ) -> EngineResult<()> {
        // Only BiDi can hold modifier keys.
        if let Some(events) = self.synthesized_events(events) {
            let in_front = *focused == self.id;
            if !in_front {
                self.focus(focused);
            }
            match self.privileged.dispatch_mouse(&self.id, in_front, &events).await {
                Ok(true) => return self.wait_until_reported().await,
                Ok(false) => {}
                Err(error) => return Err(self.classify_error(error).await),
            }
        }
        self.focus(focused);
        self.perform(&self.id, actions::mouse(events, (0.0, 0.0))).await
    }

    /// Sends the release of a button to the main frame. Does not wait.
    pub(super) fn post_release(&self, events: &[MouseEvent]) {
        if let Some(events) = self.synthesized_events(events) {
            let _ = self.privileged.post_mouse(&self.id, false, &events);
        }
    }

    /// Converts the events for `privileged.js`. Returns `None` if modifier keys are held.
    fn synthesized_events(&self, events: &[MouseEvent]) -> Option<Value> {
        let mut held = lock(&self.state).held;
        let mut synthesized = Vec::with_capacity(events.len());
        for event in events {
            let mut add = |kind: &str, (x, y): (f64, f64), button: u8, held: u8, clicks: u32| {
                synthesized.push(json!({
                    "type": kind, "x": x, "y": y, "button": button, "buttons": held, "clickCount": clicks,
                }));
            };
            match *event {
                MouseEvent::Move { modifiers: 0, .. } => {
                    add("mousemove", event.position(), 0, held, 0)
                }
                MouseEvent::Down { button, clicks, modifiers: 0, .. } => {
                    held |= flag(button);
                    add("mousedown", event.position(), actions::button(button), held, clicks);
                    if button == MouseButton::Right {
                        add("contextmenu", event.position(), actions::button(button), held, clicks);
                    }
                }
                MouseEvent::Up { button, clicks, modifiers: 0, .. } => {
                    held &= !flag(button);
                    add("mouseup", event.position(), actions::button(button), held, clicks);
                }
                _ => return None,
            }
        }
        lock(&self.state).held = held;
        Some(synthesized.into())
    }

    /// Performs WebDriver actions in `frame`.
    pub(super) async fn perform(&self, frame: &FrameId, actions: Value) -> EngineResult<()> {
        self.run("input.performActions", json!({"context": frame, "actions": actions})).await?;
        self.wait_until_reported().await
    }

    /// Waits until all dialogs and tabs that input opened are reported.
    async fn wait_until_reported(&self) -> EngineResult<()> {
        self.wait_for_dialog().await;
        self.tabs.wait_until_reported().await;
        Ok(())
    }
}

/// Returns the button's bit in `MouseEvent.buttons`.
fn flag(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 1,
        MouseButton::Right => 2,
        MouseButton::Middle => 4,
    }
}
