//! What a user does to a page: click, type.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Page, keyboard, settle::Settled, state::Mark};
use crate::{
    engine::{EngineError, EngineResult, KeyEvent, Modifiers, MouseButton, MouseEvent},
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
}

/// A place to act on.
struct Spot {
    x: f64,
    y: f64,
    reference: String,
    description: String,
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
        let mark = self.state.mark();
        self.input(mark, self.engine.mouse(&events)).await?;
        Ok(Done { element: spot.description, settled: self.settle(mark).await? })
    }

    /// Types `text` by key strokes into the element that `target` means, once it can be edited.
    pub async fn type_text(&self, target: &str, text: &str, options: &TypeOptions) -> Result<Done> {
        let spot = self.spot(target, "type", false, options.timeout).await?;
        let prepared =
            self.inject("prepareType", json!({"ref": spot.reference, "clear": options.clear})).await?;
        if prepared["focused"] == false {
            return Err(TroupeError::new(
                ErrorCode::ElementNotEditable,
                format!("{} does not take the focus", spot.description),
            )
            .detail("reason", "not focusable"));
        }
        let mark = self.state.mark();
        let mut groups = keyboard::strokes(text);
        if options.clear && groups.is_empty() {
            groups.extend(keyboard::named("Delete").map(Vec::from));
        }
        if options.submit {
            groups.extend(keyboard::named("Enter").map(Vec::from));
        }
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
        Ok(Done { element: spot.description, settled: self.settle(mark).await? })
    }

    /// Waits until `target` can be acted on, and tells where.
    async fn spot(&self, target: &str, action: &str, force: bool, timeout: Duration) -> Result<Spot> {
        let arguments = json!({
            "target": target, "action": action, "force": force,
            "timeout": u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
        });
        // The page keeps the time itself; ours is for a page whose event loop stands still.
        let limit = timeout + Duration::from_secs(2);
        let answer = self
            .within(limit, self.inject_until_settled("waitActionable", arguments))
            .await
            .ok_or_else(|| {
                self.timed_out(
                    &format!("`{target}` could not be looked for: the page did not answer"),
                    timeout,
                )
            })??;
        let coordinate = |name: &str| answer[name].as_f64().unwrap_or_default();
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        debug_assert!(matches!(answer["ok"], Value::Bool(true)), "{answer}");
        Ok(Spot {
            x: coordinate("x"),
            y: coordinate("y"),
            reference: text("ref"),
            description: text("description"),
        })
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
