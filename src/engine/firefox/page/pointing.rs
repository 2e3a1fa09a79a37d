//! Dispatches input to one frame: the frame at the action point, or the focused one.

use std::{collections::HashMap, time::Duration};

use futures_util::future::FutureExt as _;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{FirefoxPage, lock};
use crate::engine::{
    EngineError, EngineResult, FrameId, MouseButton, MouseEvent, Press, Pressing, ScriptCall,
    World, actions,
    firefox::{
        document_gone, meaning,
        system::Step,
        value::{Outcome, Remote},
    },
};

/// Frames within frames deeper than this get no input.
const MAX_DEPTH: usize = 8;

/// HTML's drag events, which the browser would give to the desktop.
pub(super) const DRAG: &str = include_str!("../drag.js");

/// The window of the frame that has the focus within this one.
const FOCUSED_FRAME: &str = "(() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element?.contentWindow ?? null;
})()";

/// The presses between two calls that are under way, by number.
#[derive(Default)]
pub(super) struct Presses {
    last: u64,
    under_way: HashMap<u64, UnderWay>,
}

struct UnderWay {
    looked: Option<oneshot::Sender<(String, bool)>>,
    pressed: oneshot::Sender<()>,
}

/// Removes a press when no caller waits for it any more.
struct Awaited<'a> {
    page: &'a FirefoxPage,
    number: u64,
}

impl Drop for Awaited<'_> {
    fn drop(&mut self) {
        lock(&self.page.presses).under_way.remove(&self.number);
    }
}

impl FirefoxPage {
    /// See [`crate::engine::Page::press_between`].
    pub(super) async fn press_there(
        &self,
        look: &ScriptCall,
        (clicks, time): (u32, Duration),
        then: &ScriptCall,
    ) -> EngineResult<Option<Pressing<'_>>> {
        // Another frame may be at the point, or have the focus.
        if lock(&self.state).frames.are_several() {
            return Ok(None);
        }
        // The place is filled in there.
        let Some(events) =
            self.as_seen_there(&MouseEvent::clicks((0.0, 0.0), MouseButton::Left, clicks, 0))
        else {
            return Ok(None);
        };
        let ((looked, have_looked), (pressed, have_pressed)) =
            (oneshot::channel(), oneshot::channel());
        let number = {
            let mut presses = lock(&self.presses);
            presses.last += 1;
            let number = presses.last;
            presses.under_way.insert(number, UnderWay { looked: Some(looked), pressed });
            number
        };
        let awaited = Awaited { page: self, number };
        let Some(sent) = self.system.press(&self.id, (number, time), (look, then), &events)? else {
            return Ok(None);
        };
        let answer = async {
            let outcome: Outcome = sent.read().await.map_err(meaning)?;
            match outcome.value() {
                Err(EngineError::Script(failure)) if document_gone("", &failure.message) => {
                    Err(EngineError::DocumentGone)
                }
                other => other,
            }
        };
        let answer = answer.boxed().shared();
        let looked = tokio::select! {
            biased;
            looked = have_looked => looked.ok(),
            // Nobody is there for it, or the document went before anything was pressed.
            _ = answer.clone() => None,
        };
        let Some((looked, pressing)) = looked else { return Ok(None) };
        if !pressing {
            return Ok(Some(Pressing { looked, press: None }));
        }
        let over = answer.clone();
        let pressed = async move {
            let _awaited = awaited;
            tokio::select! {
                biased;
                _ = have_pressed => {}
                over = over => if let Err(error) = over {
                    return Err(self.end_of(error).await);
                },
            }
            self.all_told().await
        };
        let then = async move {
            match answer.await {
                Ok(Value::String(answer)) => Ok(answer),
                Ok(_) => Err(EngineError::DocumentGone),
                Err(error) => Err(self.end_of(error).await),
            }
        };
        let press = Press { over: pressed.boxed(), then: then.boxed() };
        Ok(Some(Pressing { looked, press: Some(press) }))
    }

    /// Handles a report about a press between two calls.
    pub fn press_goes_on(&self, number: u64, step: Step) {
        let mut presses = lock(&self.presses);
        match step {
            Step::Looked { looked, pressing } => {
                let looking =
                    presses.under_way.get_mut(&number).and_then(|press| press.looked.take());
                if let (Some(looking), Some(looked)) = (looking, looked) {
                    let _ = looking.send((looked, pressing));
                }
            }
            Step::Pressed {} => {
                if let Some(press) = presses.under_way.remove(&number) {
                    let _ = press.pressed.send(());
                }
            }
        }
    }

    /// The frames at a point of the viewport, from the main frame inwards, each with the point in its own viewport. They
    /// are found by our script, which runs in each document.
    async fn frames_at(&self, point: (f64, f64)) -> EngineResult<Vec<(FrameId, (f64, f64))>> {
        let mut frames = vec![(self.id.clone(), point)];
        while let Some((frame, (x, y))) = frames.last()
            && frames.len() <= MAX_DEPTH
            && lock(&self.state).frames.are_several()
        {
            let look = format!("globalThis.__troupe?.frameAt({x}, {y}) ?? []");
            let found = self.script(frame, World::Isolated, &look).await?.items();
            let [window, x, y] = found.as_slice() else { break };
            let Some(inner) = window.window() else { break };
            let number =
                |remote: &Remote| remote.json().map(|number| number.as_f64().unwrap_or_default());
            frames.push((inner.into(), (number(x)?, number(y)?)));
        }
        Ok(frames)
    }

    /// The frame that input at a point of the viewport is sent to, and the point in its viewport: the outermost frame of the
    /// process that has the innermost one. Input does not find its way into frames of other processes, and within a process
    /// only that frame's coordinates are free of transforms.
    pub(super) async fn input_frame_at(
        &self,
        point: (f64, f64),
    ) -> EngineResult<(FrameId, (f64, f64))> {
        let mut frames = self.frames_at(point).await?;
        let Some(innermost) = frames.pop() else { return Ok((self.id.clone(), point)) };
        if frames.is_empty() {
            return Ok(innermost);
        }
        let Some(sent) = self.system.tell(&format!("processRoot({})", json!(innermost.0)))? else {
            return Ok(innermost);
        };
        let root = sent.read::<Outcome>().await.map_err(meaning)?.value()?;
        let root = frames.into_iter().find(|(frame, _)| root.as_str() == Some(frame));
        Ok(root.unwrap_or(innermost))
    }

    /// The innermost frame that has the focus.
    pub(super) async fn focused_frame(&self) -> EngineResult<FrameId> {
        let mut frame = self.id.clone();
        for _ in 0..MAX_DEPTH {
            if !lock(&self.state).frames.are_several() {
                break;
            }
            let inner = self.script(&frame, World::Isolated, FOCUSED_FRAME).await?;
            let Some(window) = inner.window() else { break };
            frame = window.into();
        }
        Ok(frame)
    }

    /// Makes the page consider itself active, because another page in its process may have become active since. The
    /// focus stays in `focused`, the frame that has it. The command is not awaited.
    pub(super) fn focus(&self, focused: &FrameId) {
        let _ = self.post_script(
            focused,
            World::Isolated,
            "document.hasFocus() || void window.focus()",
        );
    }

    /// Moves or drops the dragged data of the page. The drag stays in the frame where it began.
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

    /// Moves and presses the pointer in the main frame; before, the page has the focus, in its frame `focused`.
    pub(super) async fn point(&self, events: &[MouseEvent], focused: &FrameId) -> EngineResult<()> {
        // Keys that are held meanwhile are BiDi's.
        if let Some(seen) = self.as_seen_there(events) {
            let in_front = *focused == self.id;
            if !in_front {
                self.focus(focused);
            }
            match self.system.point(&self.id, in_front, &seen).await {
                Ok(true) => return self.all_told().await,
                Ok(false) => {}
                Err(error) => return Err(self.end_of(error).await),
            }
        }
        self.focus(focused);
        self.perform(&self.id, actions::mouse(events, (0.0, 0.0))).await
    }

    /// Sends input to the main frame without waiting for it.
    pub(super) fn release_at_once(&self, events: &[MouseEvent]) {
        if let Some(seen) = self.as_seen_there(events) {
            let _ = self.system.tell(&format!("point({}, false, {seen})", json!(self.id)));
        }
    }

    /// The events in the browser's form, if no keys are held meanwhile.
    fn as_seen_there(&self, events: &[MouseEvent]) -> Option<Value> {
        let mut held = lock(&self.state).held;
        let mut seen = Vec::with_capacity(events.len());
        for event in events {
            let mut add = |kind: &str, (x, y): (f64, f64), button: u8, held: u8, clicks: u32| {
                seen.push(json!({
                    "type": kind, "x": x, "y": y, "button": button, "buttons": held, "clickCount": clicks,
                }));
            };
            match *event {
                MouseEvent::Move { modifiers: 0, .. } => {
                    add("mousemove", actions::place(event), 0, held, 0)
                }
                MouseEvent::Down { button, clicks, modifiers: 0, .. } => {
                    held |= flag(button);
                    add("mousedown", actions::place(event), actions::button(button), held, clicks);
                    if button == MouseButton::Right {
                        add(
                            "contextmenu",
                            actions::place(event),
                            actions::button(button),
                            held,
                            clicks,
                        );
                    }
                }
                MouseEvent::Up { button, clicks, modifiers: 0, .. } => {
                    held &= !flag(button);
                    add("mouseup", actions::place(event), actions::button(button), held, clicks);
                }
                _ => return None,
            }
        }
        lock(&self.state).held = held;
        Some(seen.into())
    }

    /// Does `actions` in `frame`.
    pub(super) async fn perform(&self, frame: &FrameId, actions: Value) -> EngineResult<()> {
        self.run("input.performActions", json!({"context": frame, "actions": actions})).await?;
        self.all_told().await
    }

    /// Waits until everything that input has opened was reported.
    async fn all_told(&self) -> EngineResult<()> {
        self.dialog_drawn().await;
        self.tabs.all_told().await;
        Ok(())
    }
}

/// A button among those that are held.
fn flag(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 1,
        MouseButton::Right => 2,
        MouseButton::Middle => 4,
    }
}
