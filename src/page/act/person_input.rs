//! Input of a person who controls the page: sent to the browser as it is, without waits, targets or
//! effects.

use std::{future::ready, time::Duration};

use futures_util::future::{BoxFuture, join_all};
use serde::Deserialize;

use crate::{
    engine::{FrameId, KeyEvent, Modifiers, MouseButton, MouseEvent, World},
    error::Result,
    page::{
        Page,
        act::keyboard::{self, KeyAction},
    },
};

/// How long the page may take to return the values of its password fields. While the page is busy,
/// it would not process the next event either.
const PASSWORDS_TIMEOUT: Duration = Duration::from_secs(2);
/// The expression for the values of the password fields of a frame.
const PASSWORDS: &str = "Array.from(document.querySelectorAll('input[type=password]'), \
     (field) => field.value).filter((value) => value !== '')";

/// The Alt and the Control key in [`Modifiers`].
const ALT: Modifiers = 1;
const CONTROL: Modifiers = 2;

/// An input event. Positions are in CSS pixels of the viewport.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum PersonInput {
    Mouse {
        action: MouseAction,
        x: f64,
        y: f64,
        #[serde(default)]
        button: MouseButton,
        #[serde(default = "one_click")]
        clicks: u32,
        #[serde(default)]
        modifiers: Modifiers,
    },
    Wheel {
        x: f64,
        y: f64,
        dx: f64,
        dy: f64,
    },
    Key {
        action: KeyAction,
        /// `KeyboardEvent.key`.
        key: String,
        /// The text that the key inserts.
        #[serde(default)]
        text: Option<String>,
        #[serde(default)]
        modifiers: Modifiers,
    },
    /// A text of an input method or of the clipboard.
    Text {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MouseAction {
    Move,
    Down,
    Up,
}

fn one_click() -> u32 {
    1
}

impl PersonInput {
    /// Returns whether it only moves the mouse. A later move replaces it.
    pub fn is_move(&self) -> bool {
        matches!(self, Self::Mouse { action: MouseAction::Move, .. })
    }

    /// Returns the position of a press of the left mouse button.
    pub fn left_press(&self) -> Option<(f64, f64)> {
        match self {
            Self::Mouse { action: MouseAction::Down, button: MouseButton::Left, x, y, .. } => {
                Some((*x, *y))
            }
            _ => None,
        }
    }

    /// Returns whether it releases the left mouse button.
    pub fn is_left_release(&self) -> bool {
        matches!(self, Self::Mouse { action: MouseAction::Up, button: MouseButton::Left, .. })
    }

    /// Returns the key of a press that opens the native popup of a dropdown list with the focus.
    pub fn list_key(&self) -> Option<&str> {
        match self {
            Self::Key { action: KeyAction::Down, key, modifiers, .. } => {
                opens_list(key, *modifiers, cfg!(target_os = "macos")).then_some(key)
            }
            _ => None,
        }
    }

    /// Returns the key of a release.
    pub fn released_key(&self) -> Option<&str> {
        match self {
            Self::Key { action: KeyAction::Up, key, .. } => Some(key),
            _ => None,
        }
    }

    /// Returns whether it may send what was typed into the page's fields.
    pub fn may_submit(&self) -> bool {
        match self {
            Self::Mouse { action, .. } => *action == MouseAction::Down,
            Self::Key { action, key, .. } => {
                *action == KeyAction::Down && matches!(key.as_str(), "Enter" | "Tab" | " ")
            }
            Self::Wheel { .. } | Self::Text { .. } => false,
        }
    }
}

/// Returns whether a key opens the dropdown list with the focus. On macOS (`is_mac`), the arrow
/// keys open it. Elsewhere, they select another option.
fn opens_list(key: &str, modifiers: Modifiers, is_mac: bool) -> bool {
    match key {
        "ArrowDown" | "ArrowUp" => is_mac || modifiers & ALT != 0,
        "F4" => modifiers & (ALT | CONTROL) == 0,
        " " | "Enter" => modifiers == 0,
        _ => false,
    }
}

impl Page {
    /// Sends an input event to the browser. Returns a future that ends when the browser has
    /// processed it. Later input comes after it.
    pub async fn person_input(&self, input: PersonInput) -> Result<BoxFuture<'static, ()>> {
        let sent = match input {
            PersonInput::Mouse { action, x, y, button, clicks, modifiers } => {
                let event = match action {
                    MouseAction::Move => {
                        let event = MouseEvent::Move { x, y, modifiers };
                        let sent = self.engine.send_mouse(&[event]).await;
                        return sent.map_err(|error| self.error(error));
                    }
                    MouseAction::Down => MouseEvent::Down { x, y, button, clicks, modifiers },
                    MouseAction::Up => MouseEvent::Up { x, y, button, clicks, modifiers },
                };
                self.engine.mouse(&[event]).await
            }
            PersonInput::Wheel { x, y, dx, dy } => self.engine.wheel((x, y), (dx, dy)).await,
            PersonInput::Key { action, key, text, modifiers } => {
                match keyboard::key_event(action, &key, text, modifiers) {
                    Some(event) => self.engine.keyboard(&[event]).await,
                    None => Ok(()),
                }
            }
            PersonInput::Text { text } => self.engine.keyboard(&[KeyEvent::Insert { text }]).await,
        };
        sent.map_err(|error| self.error(error))?;
        Ok(Box::pin(ready(())))
    }

    /// Returns the values of the page's password fields. A frame that does not respond is omitted.
    pub async fn password_values(&self) -> Vec<String> {
        // A dialog blocks the page; the values were read before the event that opened it.
        if self.dialog().is_some() {
            return Vec::new();
        }
        let frames: Vec<FrameId> = self.state.read(|facts| facts.frames.keys().cloned().collect());
        let values = frames.iter().map(async |frame| {
            let read = self.engine.evaluate(frame, World::Isolated, PASSWORDS);
            let read = tokio::time::timeout(PASSWORDS_TIMEOUT, read).await;
            let values = read.ok().and_then(std::result::Result::ok).unwrap_or_default();
            let values = values.as_array().into_iter().flatten();
            values.filter_map(|value| value.as_str().map(str::to_owned)).collect::<Vec<_>>()
        });
        join_all(values).await.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macos_opens_a_dropdown_list_with_an_arrow_key_alone() {
        for key in ["ArrowDown", "ArrowUp"] {
            assert!(opens_list(key, 0, true), "{key}");
            assert!(!opens_list(key, 0, false), "{key}");
            assert!(opens_list(key, ALT, false), "Alt+{key}");
        }
    }

    #[test]
    fn f4_opens_a_dropdown_list_but_alt_f4_and_control_f4_close_windows() {
        assert!(opens_list("F4", 0, false));
        assert!(!opens_list("F4", ALT, false));
        assert!(!opens_list("F4", CONTROL, false));
    }
}
