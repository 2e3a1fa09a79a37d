//! Key names of UI Events, and the keystrokes for a text. The layout is a US keyboard; characters
//! without a key are inserted.

use serde::Deserialize;

use crate::engine::{KeyEvent, Modifiers};

/// `(key, code, keyCode)` of keys that insert no text, or a text that is not their name.
const NAMED: &[(&str, &str, u32)] = &[
    ("Backspace", "Backspace", 8),
    ("Tab", "Tab", 9),
    ("Enter", "Enter", 13),
    ("Escape", "Escape", 27),
    ("PageUp", "PageUp", 33),
    ("PageDown", "PageDown", 34),
    ("End", "End", 35),
    ("Home", "Home", 36),
    ("ArrowLeft", "ArrowLeft", 37),
    ("ArrowUp", "ArrowUp", 38),
    ("ArrowRight", "ArrowRight", 39),
    ("ArrowDown", "ArrowDown", 40),
    ("Insert", "Insert", 45),
    ("Delete", "Delete", 46),
    ("Pause", "Pause", 19),
    ("CapsLock", "CapsLock", 20),
    ("PrintScreen", "PrintScreen", 44),
    ("ContextMenu", "ContextMenu", 93),
    ("NumLock", "NumLock", 144),
    ("ScrollLock", "ScrollLock", 145),
];

/// `(unshifted, shifted, code, keyCode)` of the keys that insert a character other than a letter or
/// digit.
const PUNCTUATION: &[(char, char, &str, u32)] = &[
    (' ', ' ', "Space", 32),
    (';', ':', "Semicolon", 186),
    ('=', '+', "Equal", 187),
    (',', '<', "Comma", 188),
    ('-', '_', "Minus", 189),
    ('.', '>', "Period", 190),
    ('/', '?', "Slash", 191),
    ('`', '~', "Backquote", 192),
    ('[', '{', "BracketLeft", 219),
    ('\\', '|', "Backslash", 220),
    (']', '}', "BracketRight", 221),
    ('\'', '"', "Quote", 222),
];

const LETTERS: [&str; 26] = [
    "KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI", "KeyJ", "KeyK", "KeyL",
    "KeyM", "KeyN", "KeyO", "KeyP", "KeyQ", "KeyR", "KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX",
    "KeyY", "KeyZ",
];

const DIGITS: [&str; 10] = [
    "Digit0", "Digit1", "Digit2", "Digit3", "Digit4", "Digit5", "Digit6", "Digit7", "Digit8",
    "Digit9",
];

/// The characters of the digit keys 0 to 9 with Shift.
const SHIFTED_DIGITS: &str = ")!@#$%^&*(";

const SHIFT: Modifiers = 8;

/// A key of the keyboard.
struct Key {
    key: String,
    code: &'static str,
    key_code: u32,
    text: Option<String>,
    modifiers: Modifiers,
}

impl Key {
    fn stroke(self) -> [KeyEvent; 2] {
        let Self { key, code, key_code, text, modifiers } = self;
        let up = KeyEvent::Up { key: key.clone(), code, key_code, location: STANDARD, modifiers };
        [KeyEvent::Down { key, code, key_code, text, location: STANDARD, modifiers }, up]
    }
}

/// `KeyboardEvent.location` of keys that exist once, and of left modifier keys.
const STANDARD: u32 = 0;
const LEFT: u32 = 1;

/// Returns the key that inserts `character`, if there is one.
fn character_key(character: char) -> Option<Key> {
    let (code, key_code, shifted) = match character {
        'a'..='z' | 'A'..='Z' => {
            let upper = character.to_ascii_uppercase();
            (
                LETTERS[(upper as usize) - ('A' as usize)],
                upper as u32,
                character.is_ascii_uppercase(),
            )
        }
        '0'..='9' => (DIGITS[(character as usize) - ('0' as usize)], character as u32, false),
        _ => {
            if let Some(digit) = SHIFTED_DIGITS.find(character) {
                (DIGITS[digit], '0' as u32 + u32::try_from(digit).unwrap_or(0), true)
            } else {
                let (plain, _, code, key_code) = PUNCTUATION
                    .iter()
                    .find(|(plain, shifted, ..)| *plain == character || *shifted == character)?;
                (*code, *key_code, *plain != character)
            }
        }
    };
    let text = character.to_string();
    Some(Key {
        key: text.clone(),
        code,
        key_code,
        text: Some(text),
        modifiers: if shifted { SHIFT } else { 0 },
    })
}

/// Returns the character that the key of `character` inserts with Shift.
fn with_shift(character: char) -> char {
    if let Some(digit) = character.to_digit(10) {
        return SHIFTED_DIGITS.chars().nth(digit as usize).unwrap_or(character);
    }
    let shifted = PUNCTUATION.iter().find(|(plain, ..)| *plain == character);
    shifted.map_or_else(|| character.to_ascii_uppercase(), |(_, shifted, ..)| *shifted)
}

/// Returns a key by its name, such as `Enter`.
pub(in crate::page) fn named(name: &str) -> Option<[KeyEvent; 2]> {
    let (key, code, key_code) = NAMED.iter().find(|(key, ..)| *key == name)?;
    let text = (*key == "Enter").then(|| "\r".to_owned());
    Some(Key { key: (*key).to_owned(), code, key_code: *key_code, text, modifiers: 0 }.stroke())
}

/// `(name, code, keyCode, bit)` of the modifier keys.
const MODIFIERS: &[(&str, &str, u32, Modifiers)] = &[
    ("Alt", "AltLeft", 18, 1),
    ("Control", "ControlLeft", 17, 2),
    ("Meta", "MetaLeft", 91, 4),
    ("Shift", "ShiftLeft", 16, SHIFT),
];

/// The bit of `ControlOrMeta`: the key of shortcuts on this platform.
pub const CONTROL_OR_META: Modifiers = if cfg!(target_os = "macos") { 4 } else { 2 };

const FUNCTION_KEYS: [&str; 24] = [
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15",
    "F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24",
];

/// Other names of keys.
const ALIASES: &[(&str, &str)] = &[
    ("Ctrl", "Control"),
    ("Command", "Meta"),
    ("Cmd", "Meta"),
    ("Option", "Alt"),
    ("CommandOrControl", "ControlOrMeta"),
    ("Space", " "),
    ("Esc", "Escape"),
    ("Return", "Enter"),
    ("Del", "Delete"),
];

/// Returns the name of the key that `name` is an alias of, or `name` itself.
fn without_alias(name: &str) -> &str {
    let alias = ALIASES.iter().find(|(alias, _)| alias.eq_ignore_ascii_case(name));
    alias.map_or(name, |(_, name)| name)
}

/// Returns the bit of a modifier key by one of its names. The case does not matter.
fn modifier(name: &str) -> Option<Modifiers> {
    let name = without_alias(name);
    if name.eq_ignore_ascii_case("ControlOrMeta") {
        return Some(CONTROL_OR_META);
    }
    let found = MODIFIERS.iter().find(|(modifier, ..)| modifier.eq_ignore_ascii_case(name));
    found.map(|(.., bit)| *bit)
}

/// Returns the key with this name (in any case) or this character. A key that a modifier makes a
/// command has no text.
fn key(name: &str, modifiers: Modifiers) -> Option<Key> {
    let name = without_alias(name);
    let mut characters = name.chars();
    if let (Some(character), None) = (characters.next(), characters.next()) {
        let mut key = character_key(character)?;
        // The capital letter in `Control+A` does not imply Shift.
        key.modifiers = if modifiers & !SHIFT == 0 { key.modifiers | modifiers } else { modifiers };
        if modifiers & SHIFT != 0 {
            key.key = with_shift(character).to_string();
            key.text = Some(key.key.clone());
        }
        // With one of these modifiers, a key is a command and inserts no text.
        if modifiers & !SHIFT != 0 {
            key.text = None;
        }
        return Some(key);
    }
    let is_named = |key: &str| key.eq_ignore_ascii_case(name);
    if let Some(at) = FUNCTION_KEYS.iter().position(|function| is_named(function)) {
        let key_code = 112 + u32::try_from(at).ok()?;
        return Some(Key {
            key: FUNCTION_KEYS[at].to_owned(),
            code: FUNCTION_KEYS[at],
            key_code,
            text: None,
            modifiers,
        });
    }
    let (key, code, key_code) = NAMED.iter().find(|(key, ..)| is_named(key))?;
    let text = (*key == "Enter" && modifiers & !SHIFT == 0).then(|| "\r".to_owned());
    Some(Key { key: (*key).to_owned(), code, key_code: *key_code, text, modifiers })
}

/// Returns the key events of a key or a combination such as `Control+Shift+A`. `held` are
/// additional modifiers.
pub(in crate::page) fn chord(chord: &str, held: Modifiers) -> Option<Vec<KeyEvent>> {
    let (names, last) = match chord.strip_suffix("++") {
        // The plus key itself, alone or at the end.
        Some(names) => (names, "+"),
        None if chord == "+" => ("", "+"),
        None => chord.rsplit_once('+').unwrap_or(("", chord)),
    };
    let mut modifiers = held;
    for name in names.split('+').filter(|name| !name.is_empty()) {
        modifiers |= modifier(name)?;
    }
    // A modifier alone is pressed and released, without another key.
    let last_modifier = modifier(last);
    modifiers |= last_modifier.unwrap_or(0);
    let key_events =
        if last_modifier.is_some() { Vec::new() } else { key(last, modifiers)?.stroke().into() };
    let pressed: Vec<_> = MODIFIERS.iter().filter(|(.., bit)| modifiers & bit != 0).collect();
    let mut events = Vec::new();
    let mut down = 0;
    for (name, code, key_code, bit) in &pressed {
        down |= bit;
        let (key, text) = ((*name).to_owned(), None);
        events.push(KeyEvent::Down {
            key,
            code,
            key_code: *key_code,
            text,
            location: LEFT,
            modifiers: down,
        });
    }
    events.extend(key_events);
    for (name, code, key_code, bit) in pressed.iter().rev() {
        down &= !bit;
        let key = (*name).to_owned();
        events.push(KeyEvent::Up {
            key,
            code,
            key_code: *key_code,
            location: LEFT,
            modifiers: down,
        });
    }
    Some(events)
}

/// Whether a key is pressed or released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyAction {
    Down,
    Up,
}

/// Returns the event of a key that a person presses or releases, by its `KeyboardEvent.key`. `text`
/// is the text that it inserts. `None` if there is no event to send.
pub(super) fn key_event(
    action: KeyAction,
    name: &str,
    text: Option<String>,
    modifiers: Modifiers,
) -> Option<KeyEvent> {
    let text = text.filter(|text| !text.is_empty());
    if let Some((key, code, key_code, _)) = MODIFIERS.iter().find(|(key, ..)| *key == name) {
        let (key, key_code) = ((*key).to_owned(), *key_code);
        return Some(match action {
            KeyAction::Down => {
                KeyEvent::Down { key, code, key_code, text: None, location: LEFT, modifiers }
            }
            KeyAction::Up => KeyEvent::Up { key, code, key_code, location: LEFT, modifiers },
        });
    }
    let found = key(name, modifiers);
    // The person's keyboard has another layout, or the text was typed with AltGr.
    let is_other_layout = found.as_ref().is_none_or(|found| found.text.is_none());
    if let Some(text) = text.filter(|_| is_other_layout) {
        return (action == KeyAction::Down).then_some(KeyEvent::Insert { text });
    }
    let Key { key, code, key_code, text, .. } = found?;
    let location = STANDARD;
    Some(match action {
        KeyAction::Down => KeyEvent::Down { key, code, key_code, text, location, modifiers },
        KeyAction::Up => KeyEvent::Up { key, code, key_code, location, modifiers },
    })
}

/// Returns the key events that type `text`, one group for each character.
pub(in crate::page) fn strokes(text: &str) -> Vec<Vec<KeyEvent>> {
    let mut groups: Vec<Vec<KeyEvent>> = Vec::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let stroke = match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                named("Enter")
            }
            '\n' => named("Enter"),
            '\t' => named("Tab"),
            other => character_key(other).map(Key::stroke),
        };
        groups.push(match stroke {
            Some(stroke) => stroke.into(),
            None => vec![KeyEvent::Insert { text: character.to_string() }],
        });
    }
    groups
}

/// Returns the key events that select everything in an editor.
pub(in crate::page) fn select_all() -> Vec<KeyEvent> {
    chord("ControlOrMeta+A", 0).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn typed(text: &str) -> String {
        strokes(text)
            .into_iter()
            .flatten()
            .filter_map(|event| match event {
                KeyEvent::Down { text, .. } => text,
                KeyEvent::Insert { text } => Some(text),
                KeyEvent::Up { .. } => None,
            })
            .collect()
    }

    #[test]
    fn shift_is_pressed_for_characters_that_need_it() {
        let KeyEvent::Down { code, key_code, modifiers, .. } = strokes("!")[0][0].clone() else {
            panic!()
        };
        assert_eq!((code, key_code, modifiers), ("Digit1", 49, SHIFT));
        let KeyEvent::Down { code, modifiers, .. } = strokes("q")[0][0].clone() else { panic!() };
        assert_eq!((code, modifiers), ("KeyQ", 0));
    }

    #[test]
    fn shift_in_a_combination_selects_the_other_character_of_the_key() {
        for (name, expected) in
            [("Shift+1", "!"), ("Shift+;", ":"), ("Shift+a", "A"), ("Shift+!", "!")]
        {
            let text = chord(name, 0).unwrap().into_iter().find_map(|event| match event {
                KeyEvent::Down { text, .. } => text,
                _ => None,
            });
            assert_eq!(text.as_deref(), Some(expected), "{name}");
        }
    }

    #[test]
    fn a_key_combination_holds_its_modifiers_while_its_key_is_pressed() {
        let events: Vec<String> = chord("Control+Shift+a", 0)
            .unwrap()
            .into_iter()
            .map(|event| match event {
                KeyEvent::Down { key, text, modifiers, .. } => {
                    format!("{key} down {modifiers} {text:?}")
                }
                KeyEvent::Up { key, modifiers, .. } => format!("{key} up {modifiers}"),
                KeyEvent::Insert { text } => text,
            })
            .collect();
        insta::assert_debug_snapshot!(events, @r#"
        [
            "Control down 2 None",
            "Shift down 10 None",
            "A down 10 None",
            "A up 10",
            "Shift up 2",
            "Control up 0",
        ]
        "#);
    }

    #[test]
    fn keys_are_found_by_all_their_names() {
        for name in
            ["a", "?", "+", "Enter", "Shift", "F5", "Space", "Control++", "ArrowDown", "Cmd+C"]
        {
            assert!(chord(name, 0).is_some(), "{name}");
        }
        // A single letter has a case, the name of a key has not.
        for (name, same) in [
            ("enter", "Enter"),
            ("f5", "F5"),
            ("ctrl+pagedown", "Control+PageDown"),
            ("DEL", "Delete"),
        ] {
            assert_eq!(format!("{:?}", chord(name, 0)), format!("{:?}", chord(same, 0)));
        }
        for name in ["", "Foo", "Foo+a", "Control+", "aa", "é"] {
            assert!(chord(name, 0).is_none(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_key_name_causes_a_panic(name in ".*") {
            let _ = chord(&name, 0);
        }

        #[test]
        fn every_character_of_a_text_is_typed_once(text in "[^\r\n\t]*") {
            prop_assert_eq!(typed(&text), text);
        }

        #[test]
        fn every_ascii_character_is_a_key(character in proptest::char::range(' ', '~')) {
            let is_key = matches!(strokes(&character.to_string())[0][0], KeyEvent::Down { .. });
            prop_assert!(is_key);
        }
    }
}
