//! Clicks and hovers, and the points that the pointer acts at.

use std::{pin::pin, time::Duration};

use futures_util::FutureExt as _;
use serde_json::{Value, json};

use crate::{
    engine::{CombinedClick, Modifiers, MouseButton, MouseEvent},
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        act::ActionOutcome,
        query::{ActionPoint, ActionabilityQuery, PlaywrightTarget},
        script::GRACE,
    },
};

/// How long to wait until the main document receives the button release. It never does if another
/// document, such as that of a frame, receives the events.
const RELEASE_TIMEOUT: Duration = Duration::from_millis(30);

/// How to click.
#[derive(Debug, Clone)]
pub struct ClickOptions {
    pub button: MouseButton,
    pub clicks: u32,
    /// Whether to skip the actionability checks.
    pub force: bool,
    pub timeout: Duration,
    pub modifiers: Modifiers,
    /// Whether the outcome may contain a snapshot for the Playwright tool set. It does if the page
    /// has no frames and settles at once.
    pub aria_snapshot: bool,
}

impl ClickOptions {
    /// Returns the options of a single click with the left button.
    pub fn left_button(timeout: Duration) -> Self {
        Self {
            button: MouseButton::Left,
            clicks: 1,
            force: false,
            timeout,
            modifiers: 0,
            aria_snapshot: false,
        }
    }

    /// Returns the arguments of `waitActionable`.
    fn check(&self) -> Value {
        let action = if self.button == MouseButton::Left { "click" } else { "hover" };
        json!({"action": action, "force": self.force, "guard": !self.force})
    }
}

/// A position in CSS pixels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    /// Returns the point as an argument of the injected script.
    pub(in crate::page) fn argument(self) -> Value {
        json!({"x": self.x, "y": self.y})
    }
}

/// The target of a pointer action: an element, a position in it, or a position in the viewport.
#[derive(Debug, Clone)]
pub struct PointerTarget {
    pub selector: Option<String>,
    /// The position from the top left corner.
    pub position: Option<Point>,
}

impl PointerTarget {
    /// Targets the center of an element, or of its visible part.
    pub fn element(selector: &str) -> Self {
        Self { selector: Some(selector.to_owned()), position: None }
    }
}

impl Page {
    /// Waits until `target` is actionable, and clicks it.
    pub async fn click(
        &self,
        target: &PointerTarget,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        let arguments = options.check();
        let plain = options.button == MouseButton::Left && options.modifiers == 0 && !options.force;
        if let PointerTarget { selector: Some(selector), position: None } = target
            && plain
            && self.engine.capabilities().combined_clicks
            && let Some((action_point, done)) =
                Box::pin(self.click_in_one_call(selector, &arguments, options)).await?
        {
            return self.click_on(action_point, done, options).await;
        }
        let action_point = self.await_pointer_target(target, arguments, options.timeout).await?;
        self.click_action_point(action_point, options).await
    }

    /// Finds the element of a target of the Playwright tool set for a click. If possible, the same
    /// call checks whether it is actionable.
    pub async fn playwright_click_target(
        &self,
        target: &str,
        options: &ClickOptions,
    ) -> Result<PlaywrightTarget> {
        if self.engine.capabilities().combined_clicks {
            return self.playwright_target(target, None, false).await;
        }
        let mut check = options.check();
        check["timeout"] = 0.into();
        self.checked_playwright_target(target, check).await
    }

    /// Clicks the element of a [`Self::playwright_click_target`].
    pub async fn click_playwright_target(
        &self,
        target: &PlaywrightTarget,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        let reference = &target.reference;
        let Some(answer) = &target.actionable else {
            return self.click(&PointerTarget::element(reference), options).await;
        };
        let query = ActionabilityQuery::new(reference, options.check(), options.timeout);
        let action_point = ActionPoint::in_main_frame(answer, self.main_frame().clone(), query);
        self.click_action_point(action_point, options).await
    }

    /// Clicks at `action_point`. If another element covers it since the check, waits until the
    /// point is free, and clicks again.
    pub(in crate::page) async fn click_action_point(
        &self,
        action_point: ActionPoint,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        self.click_on(action_point, None, options).await
    }

    /// Clicks at `action_point` until no other element covers it. `done` is the outcome of the
    /// first click, if it was already made.
    async fn click_on(
        &self,
        mut action_point: ActionPoint,
        mut done: Option<ActionOutcome>,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        loop {
            let mut done = match done.take() {
                Some(done) => done,
                None => self.click_once(&action_point, options).await?,
            };
            match done.settled.covered.take() {
                None => return Ok(done),
                Some(cover) => action_point = self.await_uncovered(action_point, &cover).await?,
            }
        }
    }

    /// Checks the element, clicks and waits for a tick in one round trip, if a snapshot is cached.
    /// Returns the point of the element, and the outcome of the click if the page has not changed
    /// since the snapshot. `None` if the element is not actionable yet.
    async fn click_in_one_call(
        &self,
        target: &str,
        arguments: &Value,
        options: &ClickOptions,
    ) -> Result<Option<(ActionPoint, Option<ActionOutcome>)>> {
        let Some(before) = self.cached_before() else { return Ok(None) };
        let resolved = self.locate(target).await?;
        let main = self.main_frame();
        let (true, Some(snapshot)) = (resolved.frame == *main, before.options_if_changed(main))
        else {
            return Ok(None);
        };
        let query = ActionabilityQuery::new(target, arguments.clone(), options.timeout);
        // The general path waits for an element that does not exist yet.
        let mut arguments = arguments.clone();
        arguments["target"] = resolved.target.into();
        arguments["timeout"] = 0.into();
        arguments["known"] = snapshot["known"].clone();
        let check = self.script_call(main, "waitActionable", arguments);
        let tick = self.script_call(main, "awaitTick", json!({"snapshot": snapshot, "tasks": 1}));
        let mark = self.state.mark();
        let click =
            self.engine.click_between_calls(&check, (options.clicks, options.timeout), &tick);
        let click = self.guarded_for(options.timeout + GRACE, click).await?;
        let Some(CombinedClick { first_answer, click: press }) = click else {
            return Ok(None);
        };
        let Ok(answer) = self.answer_of(main, &check, &first_answer) else { return Ok(None) };
        if answer["ok"] != true {
            return Ok(None);
        }
        let action_point = ActionPoint::in_main_frame(&answer, resolved.frame, query);
        let Some(press) = press else { return Ok(Some((action_point, None))) };
        self.record_pointer((action_point.x, action_point.y));
        self.input(mark, press.done).await?;
        let pending_tick =
            async { self.answer_of(main, &tick, &self.guarded(press.second_answer).await?) };
        let element = action_point.description.clone();
        let done = self
            .outcome(element, &action_point.frame, mark, Some(before), Some(pending_tick.boxed()))
            .await?;
        Ok(Some((action_point, Some(done))))
    }

    async fn click_once(
        &self,
        action_point: &ActionPoint,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        let (x, y) = (action_point.x, action_point.y);
        let ClickOptions { button, modifiers, .. } = *options;
        let events = MouseEvent::clicks((x, y), button, options.clicks, modifiers);
        if self.engine.capabilities().calls_during_input
            && action_point.is_guarded()
            && action_point.frame == *self.main_frame()
        {
            return Box::pin(self.click_with_tick(action_point, &events, options)).await;
        }
        let pressing = async |mark| self.input(mark, self.dispatch_mouse(&events)).await;
        self.act(action_point.description.clone(), &action_point.frame, pressing).await
    }

    /// Requests the tick after a press together with the press. The page starts the tick when it
    /// receives the release, so that no round trip is needed in between.
    async fn click_with_tick(
        &self,
        action_point: &ActionPoint,
        events: &[MouseEvent],
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        let before = self.snapshot_before_action().await;
        let main = self.main_frame();
        let snapshot = before.as_ref().and_then(|before| before.options_if_changed(main));
        let mark = self.state.mark();
        let mut arguments = json!({"snapshot": snapshot, "tasks": 1, "releases": options.clicks});
        let name = if options.aria_snapshot { "playwrightTick" } else { "awaitTick" };
        if options.aria_snapshot {
            let boxes = self.config.snapshot_boxes;
            arguments["ariaSnapshot"] = self.aria_arguments(main, None, boxes);
        }
        let mut tick = self.call_injected(name, arguments).boxed();
        let mut pressing = pin!(self.input(mark, self.dispatch_mouse(events)));
        // If the tick ends before the press is acknowledged, the document is gone, or the
        // acknowledgment is late.
        let ticked = tokio::select! {
            biased;
            pressed = &mut pressing => pressed.map(|()| None),
            answer = &mut tick => pressing.await.map(|()| Some(answer)),
        }?;
        let pending_tick = async {
            if let Some(answer) = ticked {
                return answer;
            }
            if let Some(answer) = self.within(RELEASE_TIMEOUT, &mut tick).await {
                return answer;
            }
            self.call_injected("cancelReleaseWait", json!({})).await?;
            tick.await
        };
        self.outcome(
            action_point.description.clone(),
            &action_point.frame,
            mark,
            before,
            Some(pending_tick.boxed()),
        )
        .await
    }

    /// Waits until `target` is actionable. `arguments` are those of `waitActionable`.
    pub(in crate::page) async fn await_pointer_target(
        &self,
        target: &PointerTarget,
        mut arguments: Value,
        timeout: Duration,
    ) -> Result<ActionPoint> {
        let PointerTarget { selector, position } = target;
        let Some(selector) = selector else {
            return self.viewport_point(position.unwrap_or(Point { x: 0.0, y: 0.0 })).await;
        };
        if let Some(position) = position {
            arguments["position"] = position.argument();
        }
        let mut action_point = self.await_actionable_with(selector, arguments, timeout).await?;
        if let Some(Point { x, y }) = position {
            action_point.description.push_str(&format!(" at {x}, {y}"));
        }
        Ok(action_point)
    }

    /// Returns a position of the viewport, without an actionability check.
    async fn viewport_point(&self, point: Point) -> Result<ActionPoint> {
        let answer = self.call_injected("elementAtPoint", point.argument()).await?;
        let Point { x, y } = point;
        let (width, height) = (answer["width"].as_f64(), answer["height"].as_f64());
        let (width, height) = (width.unwrap_or_default(), height.unwrap_or_default());
        if !(0.0..width).contains(&x) || !(0.0..height).contains(&y) {
            return Err(TroupeError::new(
                ErrorCode::InvalidParameters,
                format!(
                    "the position {x}, {y} is outside of the viewport, which is {width}×{height} px"
                ),
            )
            .detail("reason", "position")
            .suggestion("pass the `selector` of an element: it is scrolled into view"));
        }
        let what = answer["description"].as_str().unwrap_or("the page");
        Ok(ActionPoint::in_viewport(
            (x, y),
            self.main_frame().clone(),
            format!("{what} at {x}, {y} in the viewport"),
        ))
    }

    /// Moves the pointer to `target`.
    pub async fn hover(&self, target: &PointerTarget, timeout: Duration) -> Result<ActionOutcome> {
        let action_point =
            self.await_pointer_target(target, json!({"action": "hover"}), timeout).await?;
        let events = [MouseEvent::Move { x: action_point.x, y: action_point.y, modifiers: 0 }];
        let moving = async |mark| self.input(mark, self.dispatch_mouse(&events)).await;
        self.act(action_point.description, &action_point.frame, moving).await
    }
}
