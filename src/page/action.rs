//! What a user does to a page: click, type.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::{Page, keyboard, settle::Settled, state::Mark};
use crate::{
    engine::{EngineError, EngineResult, FrameId, KeyEvent, Modifiers, MouseButton, MouseEvent},
    error::{ErrorCode, Result, TroupeError},
};

/// A text of more characters than this is inserted in groups of as many keys, each group awaited: nothing
/// overflows the browser's input queue.
const KEYS_AT_ONCE: usize = 256;

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

/// How to type.
#[derive(Debug, Clone)]
pub struct TypeOptions {
    /// Between two characters.
    pub delay: Duration,
    /// Whether the field is emptied first.
    pub clear: bool,
    /// Whether Enter is pressed at the end.
    pub submit: bool,
    pub timeout: Duration,
}

/// An action that was done.
#[derive(Debug, Clone)]
pub struct Done {
    /// The element, as a snapshot would show it.
    pub element: String,
    /// What became of the page.
    pub settled: Settled,
    /// What is other than before in its snapshot.
    pub changes: Option<String>,
}

/// A place to act on.
pub(super) struct Spot {
    pub frame: FrameId,
    pub x: f64,
    pub y: f64,
    pub reference: String,
    pub description: String,
    #[expect(dead_code, reason = "what is typed into it is kept out of the record")]
    pub password: bool,
}

impl Page {
    /// Clicks the element that `target` means, once it can be clicked.
    pub async fn click(&self, target: &str, options: &ClickOptions) -> Result<Done> {
        let action = if options.button == MouseButton::Left { "click" } else { "hover" };
        let spot = self.spot(target, action, options.force, options.timeout).await?;
        let (x, y) = (spot.x, spot.y);
        let ClickOptions { button, modifiers, .. } = *options;
        let mut events = vec![MouseEvent::Move { x, y, modifiers }];
        for clicks in 1..=options.clicks {
            events.push(MouseEvent::Down { x, y, button, clicks, modifiers });
            events.push(MouseEvent::Up { x, y, button, clicks, modifiers });
        }
        self.act(spot.description, async |mark| self.input(mark, self.engine.mouse(&events)).await).await
    }

    /// Types `text` by key strokes into the element that `target` means, once it can be edited.
    pub async fn type_text(&self, target: &str, text: &str, options: &TypeOptions) -> Result<Done> {
        let spot = self.spot(target, "type", false, options.timeout).await?;
        let prepared = self
            .inject_in(&spot.frame, "prepareType", json!({"ref": spot.reference, "clear": options.clear}))
            .await?;
        if prepared["focused"] == false {
            return Err(TroupeError::new(
                ErrorCode::ElementNotEditable,
                format!("{} does not take the focus", spot.description),
            )
            .detail("reason", "not focusable"));
        }
        let mut groups = keyboard::strokes(text);
        if options.clear && groups.is_empty() {
            groups.extend(keyboard::named("Delete").map(Vec::from));
        }
        if options.submit {
            groups.extend(keyboard::named("Enter").map(Vec::from));
        }
        self.act(spot.description, async |mark| {
            if options.delay.is_zero() {
                for keys in groups.chunks(KEYS_AT_ONCE) {
                    let keys: Vec<KeyEvent> = keys.concat();
                    self.input(mark, self.engine.keyboard(&keys)).await?;
                }
            } else {
                for (index, keys) in groups.iter().enumerate() {
                    if index > 0 {
                        tokio::time::sleep(options.delay).await;
                    }
                    self.input(mark, self.engine.keyboard(keys)).await?;
                }
            }
            Ok(())
        })
        .await
    }

    /// Does `work` on `element`, and tells what came of it.
    pub(super) async fn act(
        &self,
        element: String,
        work: impl AsyncFnOnce(Mark) -> Result<()>,
    ) -> Result<Done> {
        let before = self.before_action().await;
        let mark = self.state.mark();
        work(mark).await?;
        let settled = self.settle(mark).await?;
        let changes = match settled.dialog {
            None if !settled.closed && !settled.navigated => self.changes_since(before).await,
            _ => None,
        };
        Ok(Done { element, settled, changes })
    }

    /// Waits until `target` can be acted on, and tells where.
    pub(super) async fn spot(
        &self,
        target: &str,
        action: &str,
        force: bool,
        timeout: Duration,
    ) -> Result<Spot> {
        let deadline = Instant::now() + timeout;
        let looking = self.in_one_document(|| Box::pin(self.look_for_spot(target, action, force, deadline)));
        // The page keeps the time itself; ours is for a page whose event loop stands still.
        self.within(timeout + Duration::from_secs(2), looking).await.ok_or_else(|| {
            let what = format!("`{target}` could not be looked for: the page did not answer");
            self.timed_out(&what, timeout)
        })?
    }

    async fn look_for_spot(
        &self,
        target: &str,
        action: &str,
        force: bool,
        deadline: Instant,
    ) -> Result<Spot> {
        let place = self.locate(target).await?;
        let left = deadline.saturating_duration_since(Instant::now());
        let arguments = json!({
            "target": place.target, "action": action, "force": force,
            "timeout": u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
        });
        let answer = self.inject_in(&place.frame, "waitActionable", arguments).await?;
        let coordinate = |name: &str| answer[name].as_f64().unwrap_or_default();
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        let (x, y) = self.to_viewport(&place.owners, coordinate("x"), coordinate("y"), force).await?;
        let (reference, description) = (text("ref"), text("description"));
        Ok(Spot { frame: place.frame, x, y, reference, description, password: answer["password"] == true })
    }

    /// Awaits input; a dialog that it opens, or a page that it closes, is an outcome, not a failure.
    async fn input(&self, mark: Mark, work: impl Future<Output = EngineResult<()>>) -> Result<()> {
        let held_up =
            self.state.until(|facts| (facts.dialog_since(mark).is_some() || facts.closed).then_some(()));
        tokio::select! {
            biased;
            done = work => match done {
                Err(EngineError::PageGone) => Ok(()),
                other => other.map_err(|error| self.error(error)),
            },
            () = held_up => Ok(()),
        }
    }
}
