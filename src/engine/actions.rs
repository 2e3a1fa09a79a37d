//! Pointer and key events as WebDriver actions, for classic WebDriver and BiDi. All events for one
//! frame are one message.

use serde_json::{Value, json};

use super::{KeyEvent, Modifiers, MouseButton, MouseEvent};

/// Keys and their WebDriver code points.
const KEYS: &[(&str, char)] = &[
    ("Alt", '\u{e00a}'),
    ("ArrowDown", '\u{e015}'),
    ("ArrowLeft", '\u{e012}'),
    ("ArrowRight", '\u{e014}'),
    ("ArrowUp", '\u{e013}'),
    ("Backspace", '\u{e003}'),
    ("Control", '\u{e009}'),
    ("Delete", '\u{e017}'),
    ("End", '\u{e010}'),
    ("Enter", '\u{e006}'),
    ("Escape", '\u{e00c}'),
    ("F1", '\u{e031}'),
    ("F2", '\u{e032}'),
    ("F3", '\u{e033}'),
    ("F4", '\u{e034}'),
    ("F5", '\u{e035}'),
    ("F6", '\u{e036}'),
    ("F7", '\u{e037}'),
    ("F8", '\u{e038}'),
    ("F9", '\u{e039}'),
    ("F10", '\u{e03a}'),
    ("F11", '\u{e03b}'),
    ("F12", '\u{e03c}'),
    ("Home", '\u{e011}'),
    ("Insert", '\u{e016}'),
    ("Meta", '\u{e03d}'),
    ("PageDown", '\u{e00f}'),
    ("PageUp", '\u{e00e}'),
    ("Shift", '\u{e008}'),
    ("Tab", '\u{e004}'),
];

/// The modifiers by their bits.
const MODIFIERS: &[(Modifiers, &str)] = &[(1, "Alt"), (2, "Control"), (4, "Meta"), (8, "Shift")];

fn key(name: &str) -> String {
    KEYS.iter()
        .find(|(key, _)| *key == name)
        .map_or_else(|| name.to_owned(), |(_, code)| code.to_string())
}

/// Returns the number of a button in WebDriver and in DOM events.
pub(super) fn button(button: MouseButton) -> u8 {
    match button {
        MouseButton::Left => 0,
        MouseButton::Middle => 1,
        MouseButton::Right => 2,
    }
}

/// Returns the actions for `events` in a frame whose top left corner is at `corner` of the page's
/// viewport.
pub(super) fn mouse(events: &[MouseEvent], corner: (f64, f64)) -> Value {
    let (mut pointer, mut keys): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
    let pause = || json!({"type": "pause", "duration": 0});
    let mut held: Modifiers = 0;
    let mut hold = |modifiers: Modifiers, pointer: &mut Vec<Value>, keys: &mut Vec<Value>| {
        for (bit, name) in MODIFIERS {
            if (held ^ modifiers) & bit != 0 {
                let kind = if modifiers & bit == 0 { "keyUp" } else { "keyDown" };
                keys.push(json!({"type": kind, "value": key(name)}));
                pointer.push(pause());
            }
        }
        held = modifiers;
    };
    for event in events {
        let (MouseEvent::Move { modifiers, .. }
        | MouseEvent::Down { modifiers, .. }
        | MouseEvent::Up { modifiers, .. }) = *event;
        hold(modifiers, &mut pointer, &mut keys);
        pointer.push(match *event {
            MouseEvent::Move { x, y, .. } => {
                json!({"type": "pointerMove", "x": x - corner.0, "y": y - corner.1, "duration": 0})
            }
            MouseEvent::Down { button: pressed, .. } => {
                json!({"type": "pointerDown", "button": button(pressed)})
            }
            MouseEvent::Up { button: released, .. } => {
                json!({"type": "pointerUp", "button": button(released)})
            }
        });
        keys.push(pause());
    }
    hold(0, &mut pointer, &mut keys);
    let mouse = json!({
        "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": pointer,
    });
    // A source with only pauses takes as much time as one with actions.
    if keys.iter().all(|action| action["type"] == "pause") {
        return json!([mouse]);
    }
    json!([{"type": "key", "id": "keyboard", "actions": keys}, mouse])
}

/// Returns the action that turns the wheel `id` at a point of a frame's viewport.
pub(super) fn wheel(id: &str, (x, y): (f64, f64), by: (f64, f64)) -> Value {
    let [x, y, right, down] = [x, y, by.0, by.1].map(|length| length.round() as i64);
    let scroll = json!({
        "type": "scroll", "origin": "viewport", "duration": 0, "x": x, "y": y, "deltaX": right, "deltaY": down,
    });
    json!([{"type": "wheel", "id": id, "actions": [scroll]}])
}

/// A part of a keyboard input.
pub(super) enum KeyboardInput {
    /// Key actions.
    Keys(Value),
    /// Text that has no keys.
    Text(String),
}

/// Converts `events` into parts, in order.
pub(super) fn keyboard(events: &[KeyEvent]) -> Vec<KeyboardInput> {
    let mut parts = Vec::new();
    let mut actions: Vec<Value> = Vec::new();
    let flush = |actions: &mut Vec<Value>, parts: &mut Vec<KeyboardInput>| {
        if !actions.is_empty() {
            let actions = std::mem::take(actions);
            parts.push(KeyboardInput::Keys(
                json!([{"type": "key", "id": "keyboard", "actions": actions}]),
            ));
        }
    };
    for event in events {
        match event {
            KeyEvent::Down { key: name, .. } => {
                actions.push(json!({"type": "keyDown", "value": key(name)}));
            }
            KeyEvent::Up { key: name, .. } => {
                actions.push(json!({"type": "keyUp", "value": key(name)}))
            }
            KeyEvent::Insert { text } => {
                flush(&mut actions, &mut parts);
                match parts.last_mut() {
                    Some(KeyboardInput::Text(before)) => before.push_str(text),
                    _ => parts.push(KeyboardInput::Text(text.clone())),
                }
            }
        }
    }
    flush(&mut actions, &mut parts);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modifiers_are_held_around_a_click() {
        let click = [
            MouseEvent::Move { x: 10.0, y: 20.0, modifiers: 8 },
            MouseEvent::Down {
                x: 10.0,
                y: 20.0,
                button: MouseButton::Left,
                clicks: 1,
                modifiers: 8,
            },
            MouseEvent::Up { x: 10.0, y: 20.0, button: MouseButton::Left, clicks: 1, modifiers: 8 },
        ];
        let actions = mouse(&click, (1.0, 2.0));
        let kinds = |source: usize| {
            let actions = actions[source]["actions"].as_array().unwrap();
            actions
                .iter()
                .map(|action| action["type"].as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(0), ["keyDown", "pause", "pause", "pause", "keyUp"]);
        assert_eq!(kinds(1), ["pause", "pointerMove", "pointerDown", "pointerUp", "pause"]);
        assert_eq!(actions[1]["actions"][1]["x"], 9.0);
    }
}
