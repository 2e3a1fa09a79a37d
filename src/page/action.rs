//! What every action on a page has in common: the wait until it can be done, and the look at what came of it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    ANSWER, Page, SnapshotOptions,
    changes::Before,
    settle::{Settled, Turning},
    state::Mark,
    waiting::millis,
};
use crate::{
    config::AfterAction,
    engine::{EngineError, EngineResult, FrameId},
    error::{ErrorCode, Result, TroupeError},
};

/// What an action has entered into fields.
#[derive(Debug, Clone, Default)]
pub struct Entered {
    /// Of each, whether it is for a password.
    pub passwords: Vec<bool>,
    /// What stands in one for a password now.
    pub secret: Option<String>,
}

/// An action that was done.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// The element, as a snapshot would show it.
    pub element: String,
    /// What became of the page.
    pub settled: Settled,
    /// What is other than before in its snapshot.
    pub changes: Option<String>,
    /// The page afterwards, where that is wanted after each action.
    pub snapshot: Option<String>,
    pub entered: Entered,
}

/// A place to act on.
pub(super) struct Spot {
    pub frame: FrameId,
    pub x: f64,
    pub y: f64,
    pub reference: String,
    pub description: String,
    /// The element's name, in lower case.
    pub tag: String,
    /// The `type` of an input.
    pub kind: String,
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
}

impl Done {
    /// With what is known of the fields that it entered something into.
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
    /// What the page has found in `frame`; `(x, y)` is where it is in the viewport.
    pub fn of(answer: &Value, (x, y): (f64, f64), frame: FrameId, sought: Sought) -> Self {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        Self {
            x,
            y,
            reference: text("ref"),
            description: text("description"),
            tag: text("tag"),
            kind: text("type"),
            focused: answer["focused"] == true,
            sought,
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
    /// Does `work` on `element`, which is in `frame`, and tells what came of it.
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

    /// What came of what was done on `element` since `mark`; a first turn of the page may be under way.
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
                AfterAction::Changes => done.changes = self.changes_since(before, seen).await,
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
    pub(super) async fn spot_with(&self, target: &str, wanted: Value, timeout: Duration) -> Result<Spot> {
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
        self.within(sought.left() + Duration::from_secs(2), looking).await.ok_or_else(|| {
            let what = format!("`{}` could not be looked for: the page did not answer", sought.target);
            self.timed_out(&what, sought.timeout)
        })?
    }

    async fn look_for_spot(&self, sought: &Sought) -> Result<Spot> {
        let mut arguments = sought.wanted.clone();
        let force = arguments["force"] == true;
        let place = self.locate(&sought.target).await?;
        arguments["target"] = place.target.into();
        arguments["timeout"] = millis(sought.timeout).into();
        arguments["waited"] = millis(sought.begun.elapsed()).into();
        let answer = self.inject_in(&place.frame, "waitActionable", arguments).await?;
        let (x, y) = place_in(&answer);
        let at = self.to_viewport(&place.owners, x, y, force).await?;
        Ok(Spot::of(&answer, at, place.frame, sought.clone()))
    }

    /// Awaits input; a dialog that it opens, or a page that it closes, is an outcome, not a failure.
    pub(super) async fn input(&self, mark: Mark, work: impl Future<Output = EngineResult<()>>) -> Result<()> {
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
                // What is told of it is what the wait for the action's outcome finds.
                _ = self.held_up() => Ok(()),
            }
        };
        self.taking_turns(ANSWER, over).await
    }
}
