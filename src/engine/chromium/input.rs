//! Pointer and key events in CDP's words.

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    InsertTextParams, MouseButton as CdpButton,
};

use super::CommandBatch;
use crate::engine::{EngineResult, KeyEvent, MouseButton, MouseEvent};

fn button(button: MouseButton) -> (CdpButton, i64) {
    match button {
        MouseButton::Left => (CdpButton::Left, 1),
        MouseButton::Right => (CdpButton::Right, 2),
        MouseButton::Middle => (CdpButton::Middle, 4),
    }
}

/// Adds `events` to `batch`; `held` are the buttons that are down, as a bit field, before and after.
pub(super) fn mouse(batch: &mut CommandBatch<'_>, events: &[MouseEvent], held: &mut i64) -> EngineResult<()> {
    for event in events {
        let params = match *event {
            MouseEvent::Move { x, y, modifiers } => {
                let mut params = DispatchMouseEventParams::new(DispatchMouseEventType::MouseMoved, x, y);
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
                let mut params = DispatchMouseEventParams::new(DispatchMouseEventType::MousePressed, x, y);
                params.modifiers = Some(modifiers.into());
                params.button = Some(name);
                params.buttons = Some(*held);
                params.click_count = Some(clicks.into());
                params
            }
            MouseEvent::Up { x, y, button: released, clicks, modifiers } => {
                let (name, bit) = button(released);
                *held &= !bit;
                let mut params = DispatchMouseEventParams::new(DispatchMouseEventType::MouseReleased, x, y);
                params.modifiers = Some(modifiers.into());
                params.button = Some(name);
                params.buttons = Some(*held);
                params.click_count = Some(clicks.into());
                params
            }
        };
        batch.add(params)?;
    }
    Ok(())
}

/// Adds `events` to `batch`.
pub(super) fn keyboard(batch: &mut CommandBatch<'_>, events: &[KeyEvent]) -> EngineResult<()> {
    for event in events {
        match event {
            KeyEvent::Down { key, code, key_code, text, location, modifiers } => {
                // A key that makes no text is a raw one, or Chromium would send a `keypress`.
                let kind = match text {
                    Some(_) => DispatchKeyEventType::KeyDown,
                    None => DispatchKeyEventType::RawKeyDown,
                };
                let mut params = DispatchKeyEventParams::new(kind);
                params.text.clone_from(text);
                params.unmodified_text.clone_from(text);
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
