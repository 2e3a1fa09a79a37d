//! Waits until an element is actionable, and returns the point to act at.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{
    engine::FrameId,
    error::{ErrorCode, Result, TroupeError},
    page::{
        Page,
        query::{FrameElement, FrameTransform},
        script::millis,
    },
};

/// The point of an element to act at.
pub(in crate::page) struct ActionPoint {
    pub frame: FrameId,
    pub x: f64,
    pub y: f64,
    /// Maps the viewport of `frame` to the page's.
    pub transform: FrameTransform,
    pub reference: String,
    pub description: String,
    /// The element's name, in lower case.
    pub tag: String,
    /// The `type` of an input.
    pub kind: String,
    /// Whether it receives the key events of a code editor.
    pub is_editor: bool,
    /// Whether it received the focus, if that was requested.
    pub focused: bool,
    query: ActionabilityQuery,
}

/// The query that found an action point.
#[derive(Debug, Clone)]
pub(in crate::page) struct ActionabilityQuery {
    target: String,
    /// Arguments of `waitActionable`.
    arguments: Value,
    begun: Instant,
    timeout: Duration,
}

/// A point of a frame that is actionable through its parent frames.
pub(in crate::page) struct ReachedPoint {
    /// The point in the page's viewport.
    pub point: (f64, f64),
    /// Maps the frame's viewport to the page's.
    pub transform: FrameTransform,
    /// Whether a parent frame was not actionable at first.
    pub retried: bool,
}

impl ActionabilityQuery {
    /// Creates a query that begins now, with arguments of `waitActionable`.
    pub fn new(target: &str, arguments: Value, timeout: Duration) -> Self {
        Self { target: target.to_owned(), arguments, begun: Instant::now(), timeout }
    }

    fn remaining_time(&self) -> Duration {
        self.timeout.saturating_sub(self.begun.elapsed())
    }

    /// Returns the arguments of `waitActionable`.
    pub fn arguments(&self) -> Value {
        let mut arguments = self.arguments.clone();
        arguments["timeout"] = millis(self.timeout).into();
        arguments["waited"] = millis(self.begun.elapsed()).into();
        arguments
    }

    /// Returns the arguments for an iframe around the element, of which only the hit target is
    /// checked.
    pub fn frame_arguments(&self) -> Value {
        let Value::Object(mut arguments) = self.arguments() else { return json!({}) };
        let through = match self.arguments["action"].as_str() {
            Some("click" | "hover" | "check" | "drag" | "drop") => "hover",
            Some("upload") => "upload",
            _ => "scroll",
        };
        arguments.insert("action".into(), through.into());
        for name in ["focus", "position", "strict", "known"] {
            arguments.remove(name);
        }
        arguments.into()
    }
}

/// Returns the point in the answer of the injected script, in the element's frame.
pub(in crate::page) fn point_in(answer: &Value) -> (f64, f64) {
    let coordinate = |name: &str| answer[name].as_f64().unwrap_or_default();
    (coordinate("x"), coordinate("y"))
}

impl ActionPoint {
    /// Creates it from the answer for an element in `frame` and its position in the page's
    /// viewport.
    pub fn of(
        answer: &Value,
        reached: &ReachedPoint,
        frame: FrameId,
        query: ActionabilityQuery,
    ) -> Self {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Self {
            x: reached.point.0,
            y: reached.point.1,
            transform: reached.transform,
            reference: text("ref"),
            description: text("description"),
            tag: text("tag"),
            kind: text("type"),
            is_editor: answer["editor"] == true,
            focused: answer["focused"] == true,
            query,
            frame,
        }
    }

    /// Creates it from the answer for an element in the `main` frame.
    pub fn in_main_frame(answer: &Value, main: FrameId, query: ActionabilityQuery) -> Self {
        let (point, transform) = (point_in(answer), FrameTransform::default());
        Self::of(answer, &ReachedPoint { point, transform, retried: false }, main, query)
    }

    /// Creates a point of the main frame's viewport, where the page does not guard a press.
    pub fn in_viewport((x, y): (f64, f64), frame: FrameId, description: String) -> Self {
        Self {
            x,
            y,
            transform: FrameTransform::default(),
            reference: String::new(),
            description,
            tag: String::new(),
            kind: String::new(),
            is_editor: false,
            focused: false,
            query: ActionabilityQuery::new("", json!({}), Duration::ZERO),
            frame,
        }
    }

    /// Returns whether the page guards the press: it cancels a press that hits another element.
    pub fn is_guarded(&self) -> bool {
        self.query.arguments["guard"] == true
    }

    pub fn is_password(&self) -> bool {
        self.kind == "password"
    }
}

impl Page {
    /// Waits until `target` is actionable, and returns the point to act at.
    pub(in crate::page) async fn await_actionable(
        &self,
        target: &str,
        action: &str,
        force: bool,
        timeout: Duration,
    ) -> Result<ActionPoint> {
        self.await_actionable_with(target, json!({"action": action, "force": force}), timeout).await
    }

    /// Waits until `target` is actionable, with `arguments` for `waitActionable`, and returns the
    /// point to act at.
    pub(in crate::page) async fn await_actionable_with(
        &self,
        target: &str,
        arguments: Value,
        timeout: Duration,
    ) -> Result<ActionPoint> {
        self.run_query(ActionabilityQuery::new(target, arguments, timeout)).await
    }

    /// Waits until `action_point` is actionable again after a press has hit `cover` instead. Fails
    /// at the timeout.
    pub(in crate::page) async fn await_uncovered(
        &self,
        action_point: ActionPoint,
        cover: &str,
    ) -> Result<ActionPoint> {
        let ActionPoint { mut query, description, reference, .. } = action_point;
        if query.remaining_time().is_zero() {
            let millis = millis(query.timeout);
            return Err(TroupeError::new(
                ErrorCode::ElementNotClickable,
                format!("{description} was covered by {cover} at each attempt to click it (waited {millis} ms)"),
            )
            .detail("selector", query.target)
            .detail("reason", "covered")
            .detail("covering", cover)
            .detail("ref", reference)
            .detail("timeout", millis)
            .detail("page", self.url()));
        }
        query.arguments["guard"] = true.into();
        self.run_query(query).await
    }

    async fn run_query(&self, query: ActionabilityQuery) -> Result<ActionPoint> {
        let search = self.in_one_document(|| Box::pin(self.find_action_point(&query)));
        // The page has its own timeout. This one is for a page whose event loop is blocked.
        let found = self
            .within(query.remaining_time() + Duration::from_secs(2), search)
            .await
            .ok_or_else(|| {
                let what =
                    format!("`{}` could not be found: the page did not respond", query.target);
                self.timed_out(&what, query.timeout)
            });
        found.and_then(|found| found).map_err(|error| error.about(&query.target))
    }

    async fn find_action_point(&self, query: &ActionabilityQuery) -> Result<ActionPoint> {
        let resolved = self.locate(&query.target).await?;
        let mut last: Option<((f64, f64), ReachedPoint)> = None;
        loop {
            let mut arguments = query.arguments();
            arguments["target"] = resolved.target.as_str().into();
            let answer =
                self.call_injected_in(&resolved.frame, "waitActionable", arguments).await?;
            let point = point_in(&answer);
            let reached = match last.take() {
                // The element has not moved while its parent frames became actionable.
                Some((last_point, reached)) if last_point == point && answer["retried"] != true => {
                    reached
                }
                _ => {
                    let reached = self.reach_through(&resolved.owners, query, point).await;
                    let reached = reached.map_err(|error| unreachable_in_frame(&answer, error))?;
                    if reached.retried {
                        last = Some((point, reached));
                        continue;
                    }
                    reached
                }
            };
            return Ok(ActionPoint::of(&answer, &reached, resolved.frame, query.clone()));
        }
    }

    /// Waits until `point` of the innermost frame is actionable through its parent frames: they are
    /// scrolled into view, stable and not covered.
    pub(in crate::page) async fn reach_through(
        &self,
        owners: &[FrameElement],
        query: &ActionabilityQuery,
        point: (f64, f64),
    ) -> Result<ReachedPoint> {
        let mut reached =
            ReachedPoint { point, transform: FrameTransform::default(), retried: false };
        for owner in owners.iter().rev() {
            let (x, y) = reached.point;
            let mut arguments = query.frame_arguments();
            arguments["target"] = owner.reference.as_str().into();
            arguments["inside"] = json!({"x": x, "y": y});
            // Only the main frame can detect an element that moves over the point; the frames
            // between cannot.
            if arguments["guard"] == true && owner.frame != *self.main_frame() {
                arguments["guard"] = false.into();
            }
            let answer = self.call_injected_in(&owner.frame, "waitActionable", arguments).await?;
            reached.point = point_in(&answer);
            reached.transform = reached.transform.then(FrameTransform::read(&answer["matrix"]));
            reached.retried |= answer["retried"] == true;
        }
        Ok(reached)
    }
}

/// Adds the element's description to the error for a parent frame.
fn unreachable_in_frame(element: &Value, mut error: TroupeError) -> TroupeError {
    if matches!(error.code, ErrorCode::ElementNotClickable | ErrorCode::ElementNotEditable) {
        let description = element["description"].as_str().unwrap_or("the element");
        error.message = format!("{description} cannot be reached: {}", error.message);
    }
    error
}
