//! Input goes to one frame: that at its place, or that with the focus.

use serde_json::{Value, json};

use super::{FirefoxPage, lock};
use crate::engine::{EngineError, EngineResult, FrameId, World, firefox::value::Remote};

/// Frames within frames deeper than this get no input.
const MAX_DEPTH: usize = 8;

/// HTML's drag events, which the browser would give to the desktop.
pub(super) const DRAG: &str = include_str!("../drag.js");

/// The window of the frame at a point, and where its corner is; nothing where there is no frame.
const FRAME_AT: &str = "(x, y) => {
  let element = document.elementFromPoint(x, y);
  while (element?.shadowRoot) {
    const inner = element.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === element) break;
    element = inner;
  }
  if (!element?.contentWindow) return [];
  const box = element.getBoundingClientRect(), style = getComputedStyle(element);
  return [element.contentWindow, box.left + element.clientLeft + parseFloat(style.paddingLeft),
    box.top + element.clientTop + parseFloat(style.paddingTop)];
}";

/// The window of the frame that has the focus within this one.
const FOCUSED_FRAME: &str = "(() => {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element?.contentWindow ?? null;
})()";

impl FirefoxPage {
    /// The innermost frame at a point of the viewport, and where its corner is: input does not find its way into
    /// frames of other processes.
    pub(super) async fn frame_at(&self, (x, y): (f64, f64)) -> EngineResult<(FrameId, (f64, f64))> {
        let (mut frame, mut corner) = (self.id.clone(), (0.0, 0.0));
        for _ in 0..MAX_DEPTH {
            if !lock(&self.state).frames.are_several() {
                break;
            }
            let look = format!("({FRAME_AT})({}, {})", x - corner.0, y - corner.1);
            let found = self.script(&frame, World::Isolated, &look).await?.items();
            let [window, left, top] = found.as_slice() else { break };
            let Some(inner) = window.window() else { break };
            let number = |remote: &Remote| remote.json().map(|number| number.as_f64().unwrap_or_default());
            corner = (corner.0 + number(left)?, corner.1 + number(top)?);
            frame = inner.into();
        }
        Ok((frame, corner))
    }

    /// The innermost frame that has the focus.
    async fn focused_frame(&self) -> EngineResult<FrameId> {
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

    /// Makes the page think itself in front: another one of its process may have done so since. The focus stays in
    /// the frame that has it, which is told. What is written is not awaited.
    pub(super) async fn focus(&self) -> EngineResult<FrameId> {
        let frame = self.focused_frame().await?;
        let _ = self.post_script(&frame, World::Isolated, "document.hasFocus() || void window.focus()");
        Ok(frame)
    }

    /// Moves what the page has begun to drag, or drops it. It stays in the frame where it began.
    pub(super) async fn drag(&self, step: &str, x: f64, y: f64) -> EngineResult<()> {
        let (frame, corner) = self.frame_at((x, y)).await?;
        let call = format!("__troupeDrags.{step}({}, {})", x - corner.0, y - corner.1);
        match self.script(&frame, World::Isolated, &call).await?.json()? {
            Value::Bool(true) => Ok(()),
            _ => Err(EngineError::Unsupported {
                what: "dragging from one frame into another with HTML's drag events",
                instead: "use --browser chromium",
            }),
        }
    }

    pub(super) async fn perform(&self, frame: &FrameId, actions: Value) -> EngineResult<()> {
        self.run("input.performActions", json!({"context": frame, "actions": actions})).await?;
        self.dialog_drawn().await;
        self.tabs.all_told().await;
        Ok(())
    }
}
