//! Raw mouse input at points of the viewport.

use std::time::Duration;

use futures_util::future::join_all;
use scopeguard::ScopeGuard;
use serde_json::{Value, json};

use crate::{
    engine::{EngineResult, FrameId, MouseButton, MouseEvent, World},
    error::Result,
    page::{
        Page,
        act::{ActionOutcome, ClickOptions, Point, PointerTarget},
    },
};

/// Makes a frame record whether a native drag begins.
pub(super) const WATCH_DRAG: &str = "(() => { globalThis.__troupeDrag = false; addEventListener('dragstart', event => \
     Promise.resolve().then(() => { globalThis.__troupeDrag = !event.defaultPrevented; }), \
     {capture: true, once: true}); })()";
/// Whether a native drag has begun since `WATCH_DRAG` ran.
pub(super) const HAS_DRAG: &str = "globalThis.__troupeDrag === true";

/// The pointer of a page.
#[derive(Debug, Default)]
pub(in crate::page) struct PointerState {
    at: Point,
    press: RawPress,
}

/// The state of the left button after [`Page::press_mouse`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum RawPress {
    #[default]
    None,
    Down,
    /// A native drag, whose events the engine dispatches.
    NativeDrag,
}

impl Page {
    /// Dispatches pointer events, and records the position of the last one.
    pub(super) async fn dispatch_mouse(&self, events: &[MouseEvent]) -> EngineResult<()> {
        if let Some(last) = events.last() {
            self.record_pointer(last.position());
        }
        self.engine.mouse(events).await
    }

    pub(super) fn record_pointer(&self, (x, y): (f64, f64)) {
        self.pointer.lock().at = Point { x, y };
    }

    /// Moves the pointer to a point of the viewport. Buttons that are down stay down. Moves a
    /// native drag that a press has started.
    pub async fn move_mouse(&self, to: Point) -> Result<()> {
        let Point { x, y } = to;
        let mark = self.state.mark();
        let press = self.pointer.lock().press;
        if press == RawPress::NativeDrag {
            self.record_pointer((x, y));
            return self.input(mark, self.engine.drag_over(x, y, false)).await;
        }
        self.input(mark, self.dispatch_mouse(&[MouseEvent::Move { x, y, modifiers: 0 }])).await?;
        if press == RawPress::Down && self.has_native_drag().await {
            self.pointer.lock().press = RawPress::NativeDrag;
            self.input(mark, self.engine.drag_over(x, y, true)).await?;
        }
        Ok(())
    }

    /// Presses a button at the last position of the pointer. It stays down until
    /// [`Self::release_mouse`].
    pub async fn press_mouse(&self, button: MouseButton) -> Result<()> {
        let mark = self.state.mark();
        if button == MouseButton::Left {
            // Errors are ignored: a frame that was detached meanwhile has no drags.
            let frames = self.frame_ids();
            let watch = frames.iter().map(|frame| {
                self.guarded(self.engine.evaluate(frame, World::Isolated, WATCH_DRAG))
            });
            join_all(watch).await;
            self.guarded(self.engine.intercept_drags(true)).await?;
            self.pointer.lock().press = RawPress::Down;
        }
        let Point { x, y } = self.pointer.lock().at;
        let press = [MouseEvent::Down { x, y, button, clicks: 1, modifiers: 0 }];
        self.input(mark, self.dispatch_mouse(&press)).await
    }

    /// Releases a button at the last position of the pointer. Drops a native drag there.
    pub async fn release_mouse(&self, button: MouseButton) -> Result<()> {
        let mark = self.state.mark();
        let Point { x, y } = self.pointer.lock().at;
        let press = match button {
            MouseButton::Left => std::mem::take(&mut self.pointer.lock().press),
            _ => RawPress::None,
        };
        let dropped = match press {
            RawPress::NativeDrag => self.input(mark, self.engine.drop_at(x, y)).await,
            _ => Ok(()),
        };
        let release = [MouseEvent::Up { x, y, button, clicks: 1, modifiers: 0 }];
        let released = self.input(mark, self.dispatch_mouse(&release)).await;
        if press != RawPress::None {
            // Fails if the release has opened a dialog or closed the page.
            drop(self.guarded(self.engine.intercept_drags(false)).await);
        }
        dropped.and(released)
    }

    /// Releases the left button without waiting, after a drag that was abandoned.
    pub fn cancel_press(&self) {
        let mut pointer = self.pointer.lock();
        pointer.press = RawPress::None;
        let Point { x, y } = pointer.at;
        drop(pointer);
        self.engine.cancel_drag(x, y);
    }

    /// Turns the mouse wheel at the last position of the pointer. `by` is in CSS pixels, to the
    /// right and down.
    pub async fn turn_wheel(&self, by: Point) -> Result<()> {
        let Point { x, y } = self.pointer.lock().at;
        self.input(self.state.mark(), self.engine.wheel((x, y), (by.x, by.y))).await
    }

    /// Clicks at a point of the viewport, and waits for the effects. The button stays down for
    /// `delay`.
    pub async fn click_at(
        &self,
        at: Point,
        button: MouseButton,
        clicks: u32,
        delay: Duration,
    ) -> Result<ActionOutcome> {
        let target = PointerTarget { selector: None, position: Some(at) };
        let timeout = self.config.timeout_action;
        if delay.is_zero() {
            let options = ClickOptions { button, clicks, ..ClickOptions::left_button(timeout) };
            return self.click(&target, &options).await;
        }
        let action_point =
            self.await_pointer_target(&target, json!({"action": "click"}), timeout).await?;
        let (x, y) = (action_point.x, action_point.y);
        self.act(action_point.description, &action_point.frame, async |mark| {
            // If the call is canceled, the button is released.
            let cancel_on_drop = scopeguard::guard((), |()| self.engine.cancel_drag(x, y));
            let moves = [MouseEvent::Move { x, y, modifiers: 0 }];
            self.input(mark, self.dispatch_mouse(&moves)).await?;
            for clicks in 1..=clicks {
                let press = [MouseEvent::Down { x, y, button, clicks, modifiers: 0 }];
                self.input(mark, self.dispatch_mouse(&press)).await?;
                tokio::time::sleep(delay).await;
                let release = [MouseEvent::Up { x, y, button, clicks, modifiers: 0 }];
                self.input(mark, self.dispatch_mouse(&release)).await?;
            }
            ScopeGuard::into_inner(cancel_on_drop);
            Ok(())
        })
        .await
    }

    fn frame_ids(&self) -> Vec<FrameId> {
        self.state.read(|facts| facts.frames.keys().cloned().collect())
    }

    /// Returns whether a native drag has begun in a frame.
    async fn has_native_drag(&self) -> bool {
        let frames = self.frame_ids();
        let reads = frames
            .iter()
            .map(|frame| self.guarded(self.engine.evaluate(frame, World::Isolated, HAS_DRAG)));
        join_all(reads).await.into_iter().any(|has| matches!(has, Ok(Value::Bool(true))))
    }
}

#[cfg(feature = "testing")]
#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use super::*;
    use crate::{
        engine::{
            self, ContextObserver, ContextOptions, Engine as _, PageObserver, memory::MemoryEngine,
        },
        page::SessionContext,
    };

    /// Keeps the page that opens.
    #[derive(Default)]
    struct OpenedPage(OnceLock<Arc<Page>>);

    impl ContextObserver for OpenedPage {
        fn page_opened(
            &self,
            page: Arc<dyn engine::EnginePage>,
            _opener: Option<&str>,
        ) -> Arc<dyn PageObserver> {
            let shared = SessionContext {
                config: Arc::default(),
                files: Default::default(),
                refs: Arc::default(),
                downloads: Arc::default(),
                dialogs: Default::default(),
                choosers: Default::default(),
                visited: Arc::default(),
                console: Arc::default(),
                network_policy: None,
                change_counter: Default::default(),
                events: Default::default(),
            };
            self.0.get_or_init(|| Arc::new(Page::new(1, 0, page, &shared))).observer()
        }
    }

    async fn page() -> Arc<Page> {
        let opened = Arc::new(OpenedPage::default());
        let browser = MemoryEngine::default().launch().await.unwrap();
        let context = browser.new_context(&ContextOptions::default(), opened.clone()).await;
        context.unwrap().new_page().await.unwrap();
        opened.0.get().unwrap().clone()
    }

    #[tokio::test]
    async fn a_button_stays_down_at_the_pointer_until_it_is_released() {
        let page = page().await;
        let state = || {
            let pointer = page.pointer.lock();
            ((pointer.at.x, pointer.at.y), pointer.press)
        };
        assert_eq!(state(), ((0.0, 0.0), RawPress::None));
        page.press_mouse(MouseButton::Left).await.unwrap();
        page.move_mouse(Point { x: 3.0, y: 4.0 }).await.unwrap();
        page.release_mouse(MouseButton::Right).await.unwrap();
        assert_eq!(state(), ((3.0, 4.0), RawPress::Down));
        page.release_mouse(MouseButton::Left).await.unwrap();
        page.turn_wheel(Point { x: 0.0, y: 50.0 }).await.unwrap();
        assert_eq!(state(), ((3.0, 4.0), RawPress::None));
    }
}
