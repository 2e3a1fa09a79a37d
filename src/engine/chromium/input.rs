//! Converts pointer and key events into CDP commands.

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    InsertTextParams, MouseButton as CdpButton,
};

use super::{mac_commands, session::CommandBatch};
use crate::engine::{EngineResult, KeyEvent, Modifiers, MouseButton, MouseEvent};

fn button(button: MouseButton) -> (CdpButton, i64) {
    match button {
        MouseButton::Left => (CdpButton::Left, 1),
        MouseButton::Right => (CdpButton::Right, 2),
        MouseButton::Middle => (CdpButton::Middle, 4),
    }
}

/// Adds `events` to `batch`. Updates `held`, the bit field of the pressed buttons.
pub(super) fn mouse(
    batch: &mut CommandBatch<'_>,
    events: &[MouseEvent],
    held: &mut i64,
) -> EngineResult<()> {
    for event in events {
        let params = match *event {
            MouseEvent::Move { x, y, modifiers } => {
                let mut params =
                    DispatchMouseEventParams::new(DispatchMouseEventType::MouseMoved, x, y);
                params.modifiers = Some(modifiers.into());
                params.button = Some(match *held {
                    held if held & 1 != 0 => CdpButton::Left,
                    held if held & 2 != 0 => CdpButton::Right,
                    held if held & 4 != 0 => CdpButton::Middle,
                    _ => CdpButton::None,
                });
                params.buttons = Some(*held);
                params
            }
            MouseEvent::Down { x, y, button: pressed, clicks, modifiers } => {
                let (name, bit) = button(pressed);
                *held |= bit;
                let kind = DispatchMouseEventType::MousePressed;
                button_event(kind, (x, y), (name, *held), clicks, modifiers)
            }
            MouseEvent::Up { x, y, button: released, clicks, modifiers } => {
                let (name, bit) = button(released);
                *held &= !bit;
                let kind = DispatchMouseEventType::MouseReleased;
                button_event(kind, (x, y), (name, *held), clicks, modifiers)
            }
        };
        batch.add(params)?;
    }
    Ok(())
}

/// Returns the event of a button that is pressed or released. `held` are the buttons that are held
/// after it.
fn button_event(
    kind: DispatchMouseEventType,
    (x, y): (f64, f64),
    (button, held): (CdpButton, i64),
    clicks: u32,
    modifiers: u8,
) -> DispatchMouseEventParams {
    let mut params = DispatchMouseEventParams::new(kind, x, y);
    params.modifiers = Some(modifiers.into());
    params.button = Some(button);
    params.buttons = Some(held);
    params.click_count = Some(clicks.into());
    params
}

/// Adds a wheel event at a point of the viewport to `batch`.
pub(super) fn wheel(
    batch: &mut CommandBatch<'_>,
    at: (f64, f64),
    by: (f64, f64),
) -> EngineResult<()> {
    let mut params = DispatchMouseEventParams::new(DispatchMouseEventType::MouseWheel, at.0, at.1);
    (params.delta_x, params.delta_y) = (Some(by.0), Some(by.1));
    batch.add(params).map(drop)
}

/// Adds `events` to `batch`.
pub(super) fn keyboard(batch: &mut CommandBatch<'_>, events: &[KeyEvent]) -> EngineResult<()> {
    for event in events {
        match event {
            KeyEvent::Down { text, key, code, key_code, location, modifiers } => {
                // Without text it is a raw key, or Chromium would send a `keypress`.
                let kind = match text {
                    Some(_) => DispatchKeyEventType::KeyDown,
                    None => DispatchKeyEventType::RawKeyDown,
                };
                let mut params = DispatchKeyEventParams::new(kind);
                params.text.clone_from(text);
                params.unmodified_text.clone_from(text);
                params.commands = commands(code, *modifiers, cfg!(target_os = "macos"));
                describe(&mut params, key, code, *key_code, *location, *modifiers);
                batch.add(params)?;
            }
            KeyEvent::Up { key, code, key_code, location, modifiers } => {
                let mut params = DispatchKeyEventParams::new(DispatchKeyEventType::KeyUp);
                describe(&mut params, key, code, *key_code, *location, *modifiers);
                batch.add(params)?;
            }
            KeyEvent::Insert { text } => batch.add(InsertTextParams::new(text))?,
        }
    }
    Ok(())
}

/// Returns the editing commands to send with a key: on macOS (`is_mac`), keys from the protocol
/// bypass the system's table.
fn commands(code: &str, modifiers: Modifiers, is_mac: bool) -> Option<Vec<String>> {
    let commands = if is_mac { mac_commands::commands(code, modifiers) } else { &[] };
    (!commands.is_empty()).then(|| commands.iter().map(|&command| command.to_owned()).collect())
}

fn describe(
    params: &mut DispatchKeyEventParams,
    key: &str,
    code: &str,
    key_code: u32,
    location: u32,
    modifiers: u8,
) {
    params.key = Some(key.to_owned());
    params.code = Some(code.to_owned());
    params.windows_virtual_key_code = Some(key_code.into());
    params.location = Some(location.into());
    params.modifiers = Some(modifiers.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_macos_gets_editing_commands_with_keys() {
        let (alt, meta, shift) = (1, 4, 8);
        for (code, modifiers, expected) in [
            ("Backspace", 0, vec!["deleteBackward"]),
            ("ArrowLeft", 0, vec!["moveLeft"]),
            ("ArrowUp", alt, vec!["moveBackward", "moveToBeginningOfParagraph"]),
            ("KeyA", meta, vec!["selectAll"]),
            ("KeyZ", meta | shift, vec!["redo"]),
        ] {
            let on_mac = commands(code, modifiers, true);
            assert_eq!(on_mac, Some(expected.into_iter().map(str::to_owned).collect()), "{code}");
            assert_eq!(commands(code, modifiers, false), None, "{code}");
        }
        // Their text is inserted by the event itself.
        for code in ["KeyA", "Enter", "Space"] {
            assert_eq!(commands(code, 0, true), None, "{code}");
        }
    }
}
