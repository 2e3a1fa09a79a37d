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
        query::{ActionPoint, ActionabilityQuery, FrameTransform, ReachedPoint, point_in},
        script::GRACE,
    },
};

/// How long after the input the document may receive the release. Some elements, such as frames,
/// receive the events instead.
const HEARD: Duration = Duration::from_millis(30);
/// How to click.
#[derive(Debug, Clone)]
pub struct ClickOptions {
    pub button: MouseButton,
    pub clicks: u32,
    /// Whether to skip the actionability checks.
    pub force: bool,
    pub timeout: Duration,
    pub modifiers: Modifiers,
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
        let action = if options.button == MouseButton::Left { "click" } else { "hover" };
        let wanted = json!({"action": action, "force": options.force, "guard": !options.force});
        let plain = options.button == MouseButton::Left && options.modifiers == 0 && !options.force;
        if let PointerTarget { selector: Some(selector), position: None } = target
            && plain
            && self.engine.capabilities().combined_clicks
            && let Some((spot, done)) =
                Box::pin(self.click_at_once(selector, &wanted, options)).await?
        {
            return self.click_on(spot, done, options).await;
        }
        let spot = self.await_pointer_target(target, wanted, options.timeout).await?;
        self.click_spot(spot, options).await
    }

    /// Clicks at `spot`. If another element covers it since the check, waits until the point is
    /// free, and clicks again.
    pub(in crate::page) async fn click_spot(
        &self,
        spot: ActionPoint,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        self.click_on(spot, None, options).await
    }

    /// Does the same. If `done` is given, the first click was made already.
    async fn click_on(
        &self,
        mut spot: ActionPoint,
        mut done: Option<ActionOutcome>,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        loop {
            let mut done = match done.take() {
                Some(done) => done,
                None => self.click_once(&spot, options).await?,
            };
            match done.settled.covered.take() {
                None => return Ok(done),
                Some(cover) => spot = self.await_uncovered(spot, &cover).await?,
            }
        }
    }

    /// Checks the element, clicks and waits for a tick in one round trip, if the engine supports
    /// that and the page has not changed since the last snapshot. Returns what was found and done.
    /// `None` if nothing was done or nothing was found yet.
    async fn click_at_once(
        &self,
        target: &str,
        wanted: &Value,
        options: &ClickOptions,
    ) -> Result<Option<(ActionPoint, Option<ActionOutcome>)>> {
        let Some(before) = self.as_last_seen() else { return Ok(None) };
        let place = self.locate(target).await?;
        let main = self.main_frame();
        let (true, Some(later_look)) = (place.frame == *main, before.later_look(main)) else {
            return Ok(None);
        };
        let sought = ActionabilityQuery::new(target, wanted.clone(), options.timeout);
        // The general path waits for an element that does not exist yet.
        let mut arguments = wanted.clone();
        arguments["target"] = place.target.into();
        arguments["timeout"] = 0.into();
        arguments["known"] = later_look["known"].clone();
        let look = self.script_call(main, "waitActionable", arguments);
        let turn = self.script_call(main, "turn", json!({"look": later_look, "tasks": 1}));
        let mark = self.state.mark();
        let pressing =
            self.engine.click_between_calls(&look, (options.clicks, options.timeout), &turn);
        let pressing = self.alive_for(options.timeout + GRACE, pressing).await?;
        let Some(CombinedClick { first_answer: looked, click: press }) = pressing else {
            return Ok(None);
        };
        let Ok(answer) = self.answer_of(main, &look, &looked) else { return Ok(None) };
        if answer["ok"] != true {
            return Ok(None);
        }
        let reached = ReachedPoint {
            point: point_in(&answer),
            transform: FrameTransform::default(),
            retried: false,
        };
        let spot = ActionPoint::of(&answer, &reached, place.frame, sought);
        let Some(press) = press else { return Ok(Some((spot, None))) };
        self.record_pointer((spot.x, spot.y));
        self.input(mark, press.done).await?;
        let turning =
            async { self.answer_of(main, &turn, &self.alive(press.second_answer).await?) };
        let element = spot.description.clone();
        let done =
            self.outcome(element, &spot.frame, mark, Some(before), Some(turning.boxed())).await?;
        Ok(Some((spot, Some(done))))
    }

    async fn click_once(
        &self,
        spot: &ActionPoint,
        options: &ClickOptions,
    ) -> Result<ActionOutcome> {
        let (x, y) = (spot.x, spot.y);
        let ClickOptions { button, modifiers, .. } = *options;
        let events = MouseEvent::clicks((x, y), button, options.clicks, modifiers);
        if self.engine.capabilities().calls_during_input
            && spot.is_guarded()
            && spot.frame == *self.main_frame()
        {
            return Box::pin(self.click_and_turn(spot, &events, options.clicks)).await;
        }
        let pressing = async |mark| self.input(mark, self.dispatch_mouse(&events)).await;
        self.act(spot.description.clone(), &spot.frame, pressing).await
    }

    /// Requests the tick after a press together with the press. The page starts the tick when it
    /// receives the release, so that no round trip is needed in between.
    async fn click_and_turn(
        &self,
        spot: &ActionPoint,
        events: &[MouseEvent],
        clicks: u32,
    ) -> Result<ActionOutcome> {
        let before = self.before().await;
        let main = self.main_frame();
        let look = before.as_ref().and_then(|before| before.later_look(main));
        let mark = self.state.mark();
        let mut turning =
            self.inject("turn", json!({"look": look, "tasks": 1, "releases": clicks})).boxed();
        let mut pressing = pin!(self.input(mark, self.dispatch_mouse(events)));
        // If the tick ends before the press is acknowledged, the document is gone, or the
        // acknowledgment is late.
        let turned = tokio::select! {
            biased;
            pressed = &mut pressing => pressed.map(|()| None),
            answer = &mut turning => pressing.await.map(|()| Some(answer)),
        }?;
        let turning = async {
            if let Some(answer) = turned {
                return answer;
            }
            if let Some(answer) = self.within(HEARD, &mut turning).await {
                return answer;
            }
            self.inject("giveUpRelease", json!({})).await?;
            turning.await
        };
        self.outcome(spot.description.clone(), &spot.frame, mark, before, Some(turning.boxed()))
            .await
    }

    /// Waits until `target` is actionable. `wanted` are arguments of `waitActionable`.
    pub(in crate::page) async fn await_pointer_target(
        &self,
        target: &PointerTarget,
        mut wanted: Value,
        timeout: Duration,
    ) -> Result<ActionPoint> {
        let PointerTarget { selector, position } = target;
        let Some(selector) = selector else {
            return self.viewport_point(position.unwrap_or(Point { x: 0.0, y: 0.0 })).await;
        };
        if let Some(position) = position {
            wanted["position"] = position.argument();
        }
        let mut spot = self.await_actionable_with(selector, wanted, timeout).await?;
        if let Some(Point { x, y }) = position {
            spot.description.push_str(&format!(" at {x}, {y}"));
        }
        Ok(spot)
    }

    /// Returns a position of the viewport, without an actionability check.
    async fn viewport_point(&self, point: Point) -> Result<ActionPoint> {
        let answer = self.inject("pointed", point.argument()).await?;
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
            format!("{what} at {x}, {y}"),
        ))
    }

    /// Moves the pointer to `target`.
    pub async fn hover(&self, target: &PointerTarget, timeout: Duration) -> Result<ActionOutcome> {
        let spot = self.await_pointer_target(target, json!({"action": "hover"}), timeout).await?;
        let events = [MouseEvent::Move { x: spot.x, y: spot.y, modifiers: 0 }];
        let moving = async |mark| self.input(mark, self.dispatch_mouse(&events)).await;
        self.act(spot.description, &spot.frame, moving).await
    }
}
