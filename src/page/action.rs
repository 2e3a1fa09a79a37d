//! The common steps of every action on a page: waits until the element is actionable, and describes the effects
//! afterwards.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    ANSWER, Page, SnapshotOptions,
    changes::{Before, Changes},
    frame_transform::FrameTransform,
    frames::Reached,
    settle::{Settled, Turning},
    state::Mark,
    waiting::millis,
};
use crate::{
    config::AfterAction,
    engine::{EngineError, EngineResult, FrameId},
    error::{ErrorCode, Result, TroupeError},
};

/// The fields that an action has entered something into.
#[derive(Debug, Clone, Default)]
pub struct Entered {
    /// Of each, whether it is for a password.
    pub passwords: Vec<bool>,
    /// The current value of a password field.
    pub secret: Option<String>,
}

/// A field whose value, after the page's handlers have run, is another than the text that was entered.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherValue {
    /// Which of the texts that were entered.
    pub index: usize,
    /// The field, as a snapshot shows it.
    pub description: String,
    /// `None` for a password.
    pub value: Option<String>,
    pub max_length: Option<u64>,
}

/// An action that was done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// The element, as a snapshot would show it.
    pub element: String,
    /// What became of the page.
    pub settled: Settled,
    /// The changes of its snapshot.
    pub changes: Option<String>,
    /// Changes of its snapshot between the client's last result and the action.
    pub earlier_changes: Option<String>,
    /// The page afterwards, where that is wanted after each action.
    pub snapshot: Option<String>,
    pub entered: Entered,
    pub other_values: Vec<OtherValue>,
}

/// A place to act on.
pub(super) struct Spot {
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
    /// Whether it took the focus, where that was to be given.
    pub focused: bool,
    sought: Sought,
}

/// How a place was looked for.
#[derive(Debug, Clone)]
pub(super) struct Sought {
    target: String,
    /// Arguments of the page's own wait.
    wanted: Value,
    begun: Instant,
    timeout: Duration,
}

impl Sought {
    /// From now on; `wanted` are arguments of the page's own wait.
    pub fn new(target: &str, wanted: Value, timeout: Duration) -> Self {
        Self { target: target.to_owned(), wanted, begun: Instant::now(), timeout }
    }

    fn left(&self) -> Duration {
        self.timeout.saturating_sub(self.begun.elapsed())
    }

    /// The arguments of the page's own wait.
    pub fn arguments(&self) -> Value {
        let mut arguments = self.wanted.clone();
        arguments["timeout"] = millis(self.timeout).into();
        arguments["waited"] = millis(self.begun.elapsed()).into();
        arguments
    }

    /// The same for a frame that the element is in: only the pointer has to get through it.
    pub fn through_frame(&self) -> Value {
        let Value::Object(mut arguments) = self.arguments() else { return json!({}) };
        let through = match self.wanted["action"].as_str() {
            Some("click" | "hover" | "check" | "drag" | "drop") => "hover",
            Some("upload") => "upload",
            _ => "scroll",
        };
        arguments.insert("action".into(), through.into());
        for of_the_element in ["focus", "position", "strict", "known"] {
            arguments.remove(of_the_element);
        }
        arguments.into()
    }
}

impl Done {
    /// Adds which of the entered fields are password fields.
    pub(super) fn entered(mut self, passwords: Vec<bool>) -> Self {
        let secret = self.settled.password.take().filter(|_| passwords.contains(&true));
        self.entered = Entered { passwords, secret };
        self
    }
}

/// Where the page says that an element is, in its own frame.
pub(super) fn place_in(answer: &Value) -> (f64, f64) {
    let coordinate = |name: &str| answer[name].as_f64().unwrap_or_default();
    (coordinate("x"), coordinate("y"))
}

impl Spot {
    /// The element that the page has found in `frame`, and its position in the page's viewport.
    pub fn of(answer: &Value, reached: &Reached, frame: FrameId, sought: Sought) -> Self {
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
            sought,
            frame,
        }
    }

    /// A point of the main frame's viewport. The page does not guard a press there.
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
            sought: Sought::new("", json!({}), Duration::ZERO),
            frame,
        }
    }

    /// Whether the page guards the press there.
    pub fn is_guarded(&self) -> bool {
        self.sought.wanted["guard"] == true
    }

    pub fn is_password(&self) -> bool {
        self.kind == "password"
    }
}

impl Page {
    /// Performs `work` on `element`, which is in `frame`, and describes its effects.
    pub(super) async fn act(
        &self,
        element: String,
        frame: &FrameId,
        work: impl AsyncFnOnce(Mark) -> Result<()>,
    ) -> Result<Done> {
        let before = self.before().await;
        let mark = self.state.mark();
        work(mark).await?;
        self.outcome(element, frame, mark, before, None).await
    }

    /// The page's text before an action; `None` also where the page takes too long to tell.
    pub(super) async fn before(&self) -> Option<Before> {
        self.within(self.config.timeout_settle, self.before_action()).await.flatten()
    }

    /// Describes the effects of an action on `element` since `mark`. A first tick of the page may be pending.
    pub(super) async fn outcome(
        &self,
        element: String,
        frame: &FrameId,
        mark: Mark,
        before: Option<Before>,
        turning: Option<Turning<'_>>,
    ) -> Result<Done> {
        let mut settled = self.settle(mark, frame, before.as_ref(), turning).await?;
        let seen = settled.seen.take();
        let mut done = Done { element, settled, ..Done::default() };
        if done.settled.dialog.is_some() || done.settled.closed {
            return Ok(done);
        }
        // The action is done: a look that is not answered must not make it fail, or last.
        let look = async {
            match self.config.after_action {
                AfterAction::None => {}
                AfterAction::Changes if done.settled.navigated => {}
                AfterAction::Changes => {
                    let Changes { earlier, made } = self.changes_since(before, seen).await;
                    (done.changes, done.earlier_changes) = (made, earlier);
                }
                AfterAction::Snapshot => {
                    done.snapshot = self.snapshot(&SnapshotOptions::default()).await.ok()
                }
            }
        };
        let _ = self.within(self.config.timeout_settle, look).await;
        self.last_look.forget_heard();
        Ok(done)
    }

    /// Waits until `target` can be acted on, and tells where.
    pub(super) async fn spot(
        &self,
        target: &str,
        action: &str,
        force: bool,
        timeout: Duration,
    ) -> Result<Spot> {
        self.spot_with(target, json!({"action": action, "force": force}), timeout).await
    }

    /// The same; `wanted` are arguments of the page's own wait.
    pub(super) async fn spot_with(
        &self,
        target: &str,
        wanted: Value,
        timeout: Duration,
    ) -> Result<Spot> {
        self.seek(Sought::new(target, wanted, timeout)).await
    }

    /// Looks for `spot` again after a press there has met `cover` instead; fails where its time is over.
    pub(super) async fn spot_uncovered(&self, spot: Spot, cover: &str) -> Result<Spot> {
        let Spot { mut sought, description, reference, .. } = spot;
        if sought.left().is_zero() {
            let millis = millis(sought.timeout);
            return Err(TroupeError::new(
                ErrorCode::ElementNotClickable,
                format!("{description} was covered by {cover} whenever it was pressed (waited {millis} ms)"),
            )
            .detail("selector", sought.target)
            .detail("reason", "covered")
            .detail("covering", cover)
            .detail("ref", reference)
            .detail("timeout", millis)
            .detail("page", self.url()));
        }
        sought.wanted["guard"] = true.into();
        self.seek(sought).await
    }

    async fn seek(&self, sought: Sought) -> Result<Spot> {
        let looking = self.in_one_document(|| Box::pin(self.look_for_spot(&sought)));
        // The page keeps the time itself; ours is for a page whose event loop stands still.
        let found =
            self.within(sought.left() + Duration::from_secs(2), looking).await.ok_or_else(|| {
                let what =
                    format!("`{}` could not be looked for: the page did not answer", sought.target);
                self.timed_out(&what, sought.timeout)
            });
        found.and_then(|found| found).map_err(|error| error.about(&sought.target))
    }

    async fn look_for_spot(&self, sought: &Sought) -> Result<Spot> {
        let place = self.locate(&sought.target).await?;
        let mut before: Option<((f64, f64), Reached)> = None;
        loop {
            let mut arguments = sought.arguments();
            arguments["target"] = place.target.as_str().into();
            let answer = self.inject_in(&place.frame, "waitActionable", arguments).await?;
            let point = place_in(&answer);
            let reached = match before.take() {
                // The element is where it was before the frames around it were waited for.
                Some((same, reached)) if same == point && answer["retried"] != true => reached,
                _ => {
                    let reached = self.reach_through(&place.owners, sought, point).await;
                    let reached = reached.map_err(|error| unreachable_in_frame(&answer, error))?;
                    if reached.retried {
                        before = Some((point, reached));
                        continue;
                    }
                    reached
                }
            };
            return Ok(Spot::of(&answer, &reached, place.frame, sought.clone()));
        }
    }

    /// Awaits input; a dialog that it opens, or a page that it closes, is an outcome, not a failure.
    pub(super) async fn input(
        &self,
        mark: Mark,
        work: impl Future<Output = EngineResult<()>>,
    ) -> Result<()> {
        let held_up = self.state.until(|facts| {
            if facts.crashed.is_some() {
                return Some(Err(EngineError::PageCrashed));
            }
            (facts.dialog_since(mark).is_some() || facts.closed).then_some(Ok(()))
        });
        let over = async {
            tokio::select! {
                biased;
                done = work => match done {
                    Err(EngineError::PageGone) => Ok(()),
                    other => other.map_err(|error| self.error(error)),
                },
                over = held_up => over.map_err(|error| self.error(error)),
                // The wait for the outcome of the action reports the dialog.
                _ = self.held_up() => Ok(()),
            }
        };
        self.taking_turns(ANSWER, over).await
    }
}

/// Says of which element a frame on the way cannot be reached.
fn unreachable_in_frame(element: &Value, mut error: TroupeError) -> TroupeError {
    if matches!(error.code, ErrorCode::ElementNotClickable | ErrorCode::ElementNotEditable) {
        let description = element["description"].as_str().unwrap_or("the element");
        error.message = format!("{description} cannot be reached: {}", error.message);
    }
    error
}
