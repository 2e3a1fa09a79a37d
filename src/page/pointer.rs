//! Pointer actions: click, hover, drag, scroll.

use std::{pin::pin, time::Duration};

use futures_util::FutureExt as _;
use scopeguard::ScopeGuard;
use serde_json::{Value, json};

use super::{
    Page,
    action::{Done, Sought, Spot, place_in},
    frame_transform::FrameTransform,
    frames::Reached,
    state::Mark,
    waiting::GRACE,
};
use crate::{
    engine::{Modifiers, MouseButton, MouseEvent, Pressing, World},
    error::Result,
};

/// Moves between the two ends of a drag: enough for libraries that follow the pointer.
const DRAG_STEPS: u32 = 8;

/// How often a target that moves away is followed.
const MOST_FOLLOWED: usize = 4;
/// Frames in which the pointer rests before a drop.
const RESTING_FRAMES: usize = 4;
/// Within this time, the document that was checked receives the release, if at all: some elements keep the events to
/// themselves, as frames do.
const HEARD: Duration = Duration::from_millis(30);
/// One frame; of a page that is not painted, its time.
const FRAME: &str = "new Promise(resolve => { requestAnimationFrame(() => resolve(null)); setTimeout(() => resolve(null), 50); })";

/// How to click.
#[derive(Debug, Clone)]
pub struct ClickOptions {
    pub button: MouseButton,
    pub clicks: u32,
    /// Without looking whether the element is visible, enabled and hit.
    pub force: bool,
    pub timeout: Duration,
    pub modifiers: Modifiers,
}

/// Where to scroll: by so much, or until an element is in view.
#[derive(Debug, Clone, Default)]
pub struct ScrollOptions {
    pub target: Option<String>,
    pub x: Option<f64>,
    pub y: Option<f64>,
}

impl Page {
    /// Clicks the element that `target` means, once it can be clicked.
    pub async fn click(&self, target: &str, options: &ClickOptions) -> Result<Done> {
        let action = if options.button == MouseButton::Left { "click" } else { "hover" };
        let wanted = json!({"action": action, "force": options.force, "guard": !options.force});
        let plain = options.button == MouseButton::Left && options.modifiers == 0 && !options.force;
        if plain
            && self.engine.presses_between()
            && let Some((spot, done)) = Box::pin(self.click_at_once(target, &wanted, options)).await?
        {
            return self.click_on(spot, done, options).await;
        }
        let spot = self.spot_with(target, wanted, options.timeout).await?;
        self.click_spot(spot, options).await
    }

    /// Clicks at `spot`. If something has moved over it since the check, waits until that is gone.
    pub(super) async fn click_spot(&self, spot: Spot, options: &ClickOptions) -> Result<Done> {
        self.click_on(spot, None, options).await
    }

    /// The same where the first click may be `done`.
    async fn click_on(&self, mut spot: Spot, mut done: Option<Done>, options: &ClickOptions) -> Result<Done> {
        loop {
            let mut done = match done.take() {
                Some(done) => done,
                None => self.click_once(&spot, options).await?,
            };
            match done.settled.covered.take() {
                None => return Ok(done),
                Some(cover) => spot = self.spot_uncovered(spot, &cover).await?,
            }
        }
    }

    /// Checks the element, clicks and waits for a tick in one round trip, if the engine supports that and the page
    /// has not changed since the last snapshot. Returns what was found and done. `None` if nothing was done or
    /// nothing was found yet.
    async fn click_at_once(
        &self,
        target: &str,
        wanted: &Value,
        options: &ClickOptions,
    ) -> Result<Option<(Spot, Option<Done>)>> {
        let Some(before) = self.as_last_seen() else { return Ok(None) };
        let place = self.locate(target).await?;
        let main = self.main_frame();
        let (true, Some(later_look)) = (place.frame == *main, before.later_look(main)) else {
            return Ok(None);
        };
        let sought = Sought::new(target, wanted.clone(), options.timeout);
        // An element that is not there yet is awaited by the ordinary path.
        let mut arguments = wanted.clone();
        arguments["target"] = place.target.into();
        arguments["timeout"] = 0.into();
        arguments["known"] = later_look["known"].clone();
        let look = self.script_call(main, "waitActionable", arguments);
        let turn = self.script_call(main, "turn", json!({"look": later_look, "tasks": 1}));
        let mark = self.state.mark();
        let pressing = self.engine.press_between(&look, (options.clicks, options.timeout), &turn);
        let pressing = self.alive_for(options.timeout + GRACE, pressing).await?;
        let Some(Pressing { looked, press }) = pressing else { return Ok(None) };
        let Ok(answer) = self.answer_of(main, &look, &looked) else { return Ok(None) };
        if answer["ok"] != true {
            return Ok(None);
        }
        let reached =
            Reached { point: place_in(&answer), transform: FrameTransform::default(), retried: false };
        let spot = Spot::of(&answer, &reached, place.frame, sought);
        let Some(press) = press else { return Ok(Some((spot, None))) };
        self.input(mark, press.over).await?;
        let turning = async { self.answer_of(main, &turn, &self.alive(press.then).await?) };
        let element = spot.description.clone();
        let done = self.outcome(element, &spot.frame, mark, Some(before), Some(turning.boxed())).await?;
        Ok(Some((spot, Some(done))))
    }

    async fn click_once(&self, spot: &Spot, options: &ClickOptions) -> Result<Done> {
        let (x, y) = (spot.x, spot.y);
        let ClickOptions { button, modifiers, .. } = *options;
        let events = MouseEvent::clicks((x, y), button, options.clicks, modifiers);
        if self.engine.asks_beside_input() && spot.is_guarded() && spot.frame == *self.main_frame() {
            return Box::pin(self.click_and_turn(spot, &events, options.clicks)).await;
        }
        let pressing = async |mark| self.input(mark, self.engine.mouse(&events)).await;
        self.act(spot.description.clone(), &spot.frame, pressing).await
    }

    /// Requests the tick after a press together with the press. The page starts the tick when it receives the
    /// release, so that no round trip is needed in between.
    async fn click_and_turn(&self, spot: &Spot, events: &[MouseEvent], clicks: u32) -> Result<Done> {
        let before = self.before().await;
        let main = self.main_frame();
        let look = before.as_ref().and_then(|before| before.later_look(main));
        let mark = self.state.mark();
        let mut turning = self.inject("turn", json!({"look": look, "tasks": 1, "releases": clicks})).boxed();
        let mut pressing = pin!(self.input(mark, self.engine.mouse(events)));
        // If the tick ends before the press is acknowledged, the document is gone, or the acknowledgment is late.
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
        self.outcome(spot.description.clone(), &spot.frame, mark, before, Some(turning.boxed())).await
    }

    /// Moves the pointer over the element that `target` means.
    pub async fn hover(&self, target: &str, timeout: Duration) -> Result<Done> {
        let spot = self.spot(target, "hover", false, timeout).await?;
        let events = [MouseEvent::Move { x: spot.x, y: spot.y, modifiers: 0 }];
        let moving = async |mark| self.input(mark, self.engine.mouse(&events)).await;
        self.act(spot.description, &spot.frame, moving).await
    }

    /// Drags the element `source` onto the element `target`, whichever way the page listens: by HTML's drag
    /// events where the browser starts a drag of its own, else by the pointer's.
    pub async fn drag(&self, source: &str, target: &str, timeout: Duration) -> Result<Done> {
        let from = self.spot(source, "drag", false, timeout).await?;
        let element = format!(
            "{} onto {}",
            from.description,
            self.spot(target, "drop", false, timeout).await?.description
        );
        self.act(element, &from.frame, async |mark| {
            // Looking at the target may have scrolled the source away.
            let from = self.spot(&from.reference, "drag", false, timeout).await?;
            // Where it fails or its call is canceled: the button is released where it was pressed.
            let give_up = scopeguard::guard((), |()| self.engine.give_up_drag(from.x, from.y));
            let started = self.watch_drag(&from).await?;
            self.alive(self.engine.intercept_drags(true)).await?;
            self.drag_from(&from, target, timeout, mark, started).await?;
            self.alive(self.engine.intercept_drags(false)).await?;
            ScopeGuard::into_inner(give_up);
            Ok(())
        })
        .await
    }

    /// Has the frame of `spot` note whether a drag of the browser's own begins; gives how to ask.
    async fn watch_drag(&self, spot: &Spot) -> Result<String> {
        let watch = "(() => { globalThis.__troupeDrag = false; addEventListener('dragstart', event => \
                     Promise.resolve().then(() => { globalThis.__troupeDrag = !event.defaultPrevented; }), \
                     {capture: true, once: true}); })()";
        self.alive(self.engine.evaluate(&spot.frame, World::Isolated, watch)).await?;
        Ok("globalThis.__troupeDrag".to_owned())
    }

    async fn drag_from(
        &self,
        from: &Spot,
        target: &str,
        timeout: Duration,
        mark: Mark,
        started: String,
    ) -> Result<()> {
        let (x, y) = (from.x, from.y);
        let press = [
            MouseEvent::Move { x, y, modifiers: 0 },
            MouseEvent::Down { x, y, button: MouseButton::Left, clicks: 1, modifiers: 0 },
        ];
        self.input(mark, self.engine.mouse(&press)).await?;
        // The first moves begin the drag; only then may the page show where it can be dropped.
        for step in 1..=2 {
            let nudge = f64::from(step) * 4.0;
            let event = [MouseEvent::Move { x: x + nudge, y: y + nudge, modifiers: 0 }];
            self.input(mark, self.engine.mouse(&event)).await?;
        }
        let native = self.alive(self.engine.evaluate(&from.frame, World::Isolated, &started)).await?;
        let native = native == Value::Bool(true);
        let mut at = (x, y);
        // Cards make room as one is dragged past them: where the target has moved away meanwhile, it is followed.
        for round in 0..MOST_FOLLOWED {
            let to = self.spot(target, "drop", true, timeout).await?;
            let off = (to.x - at.0).abs().max((to.y - at.1).abs());
            if round > 0 && (off < 2.0 || self.is_under(from, at).await) {
                break;
            }
            for step in 1..=DRAG_STEPS {
                let part = f64::from(step) / f64::from(DRAG_STEPS);
                let place = (x + (to.x - x) * part, y + (to.y - y) * part);
                // In later rounds only the last stretch is gone.
                if round == 0 || step == DRAG_STEPS {
                    self.drag_to(place, native, round == 0 && step == 1, mark).await?;
                }
            }
            at = (to.x, to.y);
            // A hand is never quite at rest.
            for frame in 0..RESTING_FRAMES {
                let sway = if frame % 2 == 0 { 2.0 } else { 0.0 };
                self.drag_to((at.0 + sway, at.1 + sway), native, false, mark).await?;
            }
        }
        if native {
            self.input(mark, self.engine.drop_at(at.0, at.1)).await?;
        }
        let release =
            [MouseEvent::Up { x: at.0, y: at.1, button: MouseButton::Left, clicks: 1, modifiers: 0 }];
        self.input(mark, self.engine.mouse(&release)).await
    }

    /// Whether the dragged element is already under the pointer.
    async fn is_under(&self, dragged: &Spot, point: (f64, f64)) -> bool {
        let Some((x, y)) = dragged.transform.invert(point) else { return false };
        let hit = self.inject_in(&dragged.frame, "hit", json!({"ref": dragged.reference, "x": x, "y": y}));
        hit.await.is_ok_and(|hit| hit["ok"] == true)
    }

    /// Moves the dragged element, and waits for a frame of the page as with a user's hand: libraries ignore faster
    /// moves, and settle only while the pointer rests.
    async fn drag_to(&self, (x, y): (f64, f64), native: bool, enters: bool, mark: Mark) -> Result<()> {
        if native {
            self.input(mark, self.engine.drag_over(x, y, enters)).await?;
        } else {
            self.input(mark, self.engine.mouse(&[MouseEvent::Move { x, y, modifiers: 0 }])).await?;
        }
        self.alive(self.engine.evaluate(self.main_frame(), World::Isolated, FRAME)).await.map(drop)
    }

    /// Scrolls the page or an element by CSS pixels, or an element into view.
    pub async fn scroll(&self, options: &ScrollOptions) -> Result<(Done, Value)> {
        let place = self.locate(options.target.as_deref().unwrap_or("")).await?;
        let mut arguments = json!({});
        if options.target.is_some() {
            arguments["target"] = place.target.into();
        }
        for (name, value) in [("x", options.x), ("y", options.y)] {
            if let Some(value) = value {
                arguments[name] = value.into();
            }
        }
        let mut position = Value::Null;
        let element = options.target.clone().map_or("the page".to_owned(), |target| format!("`{target}`"));
        let done = self
            .act(element, &place.frame, async |_mark| {
                position = self.inject_in(&place.frame, "scroll", arguments).await?;
                Ok(())
            })
            .await?;
        Ok((done, position))
    }
}
