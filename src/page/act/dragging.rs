//! Drags from one element or point to another, and along a path.

use std::time::Duration;

use scopeguard::ScopeGuard;
use serde_json::{Value, json};

use crate::{
    engine::{MouseButton, MouseEvent, World},
    error::Result,
    page::{
        Page,
        act::{
            ActionOutcome, Point, PointerTarget,
            mouse::{HAS_DRAG, WATCH_DRAG},
        },
        query::ActionPoint,
        state::EventSequence,
    },
};

/// Number of pointer moves of a drag. Libraries that track the pointer need several.
const DRAG_STEPS: u32 = 8;
/// Number of pointer moves to each point of a path.
const STEPS_TO_POINT: u32 = 4;
/// Maximum number of times that the pointer moves to the target, which may move away each time.
const MAX_ROUNDS: usize = 4;
/// Number of animation frames in which the pointer rests before a drop.
const STABLE_FRAMES: usize = 4;
/// Waits for an animation frame, or for 50 ms if the page is not painted.
const FRAME: &str = "new Promise(resolve => { requestAnimationFrame(() => resolve(null)); setTimeout(() => resolve(null), 50); })";

/// Returns the point at the fraction `part` of the line between two points.
fn between(from: (f64, f64), to: (f64, f64), part: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part)
}

impl Page {
    /// Drags from `source` to `target`. The page gets HTML drag events if the browser starts a
    /// native drag, else pointer events.
    pub async fn drag(
        &self,
        source: &PointerTarget,
        target: &PointerTarget,
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let from = self.await_pointer_target(source, json!({"action": "drag"}), timeout).await?;
        let onto = self
            .await_pointer_target(target, json!({"action": "drop"}), timeout)
            .await?
            .description;
        let element = format!("{} onto {onto}", from.description);
        // A later search must find the same element.
        let source = PointerTarget {
            selector: source.selector.as_ref().map(|_| from.reference.clone()),
            ..*source
        };
        let mut dropped = (0.0, 0.0);
        let mut done = self
            .act(element, &from.frame, async |mark| {
                // The search for the target may have scrolled the source.
                let from =
                    self.await_pointer_target(&source, json!({"action": "drag"}), timeout).await?;
                // If the drag fails or the call is canceled, the button is released where it was
                // pressed.
                let cancel_on_drop =
                    scopeguard::guard((), |()| self.engine.cancel_drag(from.x, from.y));
                self.watch_drag(&from).await?;
                self.guarded(self.engine.intercept_drags(true)).await?;
                dropped = self.drag_from(&from, target, timeout, mark).await?;
                self.guarded(self.engine.intercept_drags(false)).await?;
                ScopeGuard::into_inner(cancel_on_drop);
                Ok(())
            })
            .await?;
        done.element.push_str(&format!(
            ", dropped at {}, {}",
            dropped.0.round(),
            dropped.1.round()
        ));
        Ok(done)
    }

    /// Presses the left button at the first point of `path` and moves along it to the last. The
    /// points are relative to the element `selector`, or to the viewport.
    pub async fn draw(
        &self,
        selector: Option<String>,
        path: &[Point],
        timeout: Duration,
    ) -> Result<ActionOutcome> {
        let start = PointerTarget { selector, position: path.first().copied() };
        let from = self.await_pointer_target(&start, json!({"action": "drag"}), timeout).await?;
        let element = format!("{} along {} points", from.description, path.len());
        // A path in a transformed frame is transformed with it.
        let inside = from.transform.invert((from.x, from.y)).unwrap_or((from.x, from.y));
        let points: Vec<(f64, f64)> = path
            .iter()
            .map(|point| {
                let (x, y) = (inside.0 + point.x - path[0].x, inside.1 + point.y - path[0].y);
                from.transform.apply((x, y))
            })
            .collect();
        self.act(element, &from.frame, async |mark| {
            let cancel_on_drop =
                scopeguard::guard((), |()| self.engine.cancel_drag(from.x, from.y));
            self.press_at((from.x, from.y), mark).await?;
            for ends in points.windows(2) {
                let moves: Vec<MouseEvent> = (1..=STEPS_TO_POINT)
                    .map(|step| {
                        let (x, y) =
                            between(ends[0], ends[1], f64::from(step) / f64::from(STEPS_TO_POINT));
                        MouseEvent::Move { x, y, modifiers: 0 }
                    })
                    .collect();
                self.input(mark, self.dispatch_mouse(&moves)).await?;
                self.await_animation_frame().await?;
            }
            let (x, y) = points.last().copied().unwrap_or((from.x, from.y));
            // Without a rest, pages that measure the speed, such as maps, keep moving.
            for _ in 0..STABLE_FRAMES {
                let hold = [MouseEvent::Move { x, y, modifiers: 0 }];
                self.input(mark, self.dispatch_mouse(&hold)).await?;
                self.await_animation_frame().await?;
            }
            self.release_at((x, y), mark).await?;
            ScopeGuard::into_inner(cancel_on_drop);
            Ok(())
        })
        .await
    }

    async fn press_at(&self, (x, y): (f64, f64), mark: EventSequence) -> Result<()> {
        let press = [
            MouseEvent::Move { x, y, modifiers: 0 },
            MouseEvent::Down { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 },
        ];
        self.input(mark, self.dispatch_mouse(&press)).await
    }

    async fn release_at(&self, (x, y): (f64, f64), mark: EventSequence) -> Result<()> {
        let release = [MouseEvent::Up { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 }];
        self.input(mark, self.dispatch_mouse(&release)).await
    }

    /// Makes the frame of `action_point` record whether a native drag begins.
    async fn watch_drag(&self, action_point: &ActionPoint) -> Result<()> {
        self.guarded(self.engine.evaluate(&action_point.frame, World::Isolated, WATCH_DRAG))
            .await
            .map(drop)
    }

    /// Drags from `from` to `target`. Returns the point of the drop.
    async fn drag_from(
        &self,
        from: &ActionPoint,
        target: &PointerTarget,
        timeout: Duration,
        mark: EventSequence,
    ) -> Result<(f64, f64)> {
        let (x, y) = (from.x, from.y);
        self.press_at((x, y), mark).await?;
        // The first moves start the drag. Some pages show their drop targets only then.
        for step in 1..=2 {
            let offset = f64::from(step) * 4.0;
            let event = [MouseEvent::Move { x: x + offset, y: y + offset, modifiers: 0 }];
            self.input(mark, self.dispatch_mouse(&event)).await?;
        }
        let is_native =
            self.guarded(self.engine.evaluate(&from.frame, World::Isolated, HAS_DRAG)).await?;
        let is_native = is_native == Value::Bool(true);
        let mut at = (x, y);
        // The page may move the target during the drag, for example to make room in a list. The
        // pointer follows it.
        for round in 0..MAX_ROUNDS {
            let to = self
                .await_pointer_target(target, json!({"action": "drop", "force": true}), timeout)
                .await?;
            let distance = (to.x - at.0).abs().max((to.y - at.1).abs());
            if round > 0 && (distance < 2.0 || self.is_under(from, at).await) {
                break;
            }
            for step in 1..=DRAG_STEPS {
                let point = between((x, y), (to.x, to.y), f64::from(step) / f64::from(DRAG_STEPS));
                // Later rounds only move along the last part.
                if round == 0 || step == DRAG_STEPS {
                    self.drag_to(point, is_native, round == 0 && step == 1, mark).await?;
                }
            }
            at = (to.x, to.y);
            // Small moves, as those of a user who holds the pointer still.
            for frame in 0..STABLE_FRAMES {
                let shift = if frame % 2 == 0 { 2.0 } else { 0.0 };
                self.drag_to((at.0 + shift, at.1 + shift), is_native, false, mark).await?;
            }
        }
        if is_native {
            self.input(mark, self.engine.drop_at(at.0, at.1)).await?;
        }
        self.release_at(at, mark).await?;
        Ok(at)
    }

    /// Returns whether the dragged element is already under the pointer.
    async fn is_under(&self, dragged: &ActionPoint, point: (f64, f64)) -> bool {
        let Some((x, y)) = dragged.transform.invert(point) else { return false };
        let hit = self.call_injected_in(
            &dragged.frame,
            "hit",
            json!({"ref": dragged.reference, "x": x, "y": y}),
        );
        hit.await.is_ok_and(|hit| hit["ok"] == true)
    }

    /// Moves the dragged element, and waits for an animation frame: libraries ignore faster moves,
    /// and update only while the pointer rests. `enters`: this is the first move of a native drag.
    async fn drag_to(
        &self,
        (x, y): (f64, f64),
        is_native: bool,
        enters: bool,
        mark: EventSequence,
    ) -> Result<()> {
        if is_native {
            self.input(mark, self.engine.drag_over(x, y, enters)).await?;
        } else {
            self.input(mark, self.dispatch_mouse(&[MouseEvent::Move { x, y, modifiers: 0 }]))
                .await?;
        }
        self.await_animation_frame().await
    }

    async fn await_animation_frame(&self) -> Result<()> {
        self.guarded(self.engine.evaluate(self.main_frame(), World::Isolated, FRAME))
            .await
            .map(drop)
    }
}
