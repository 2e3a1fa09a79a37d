//! Key names of UI Events, and the strokes that make a text. A US keyboard: what it has no key for is inserted.

use crate::engine::{KeyEvent, Modifiers};

/// `(key, code, keyCode)` of keys that make no text, or a text of another name.
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
];

/// `(unshifted, shifted, code, keyCode)` of the keys that make a character and are neither letter nor digit.
const PRINTED: &[(char, char, &str, u32)] = &[
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
    "KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI", "KeyJ", "KeyK", "KeyL", "KeyM",
    "KeyN", "KeyO", "KeyP", "KeyQ", "KeyR", "KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX", "KeyY", "KeyZ",
];

const DIGITS: [&str; 10] =
    ["Digit0", "Digit1", "Digit2", "Digit3", "Digit4", "Digit5", "Digit6", "Digit7", "Digit8", "Digit9"];

/// What Shift makes of the digits 0 to 9.
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
        let up = KeyEvent::Up { key: key.clone(), code, key_code, location: 0, modifiers };
        [KeyEvent::Down { key, code, key_code, text, location: 0, modifiers }, up]
    }
}

/// The key that makes `character`, if there is one.
fn printed(character: char) -> Option<Key> {
    let (code, key_code, shifted) = match character {
        'a'..='z' | 'A'..='Z' => {
            let upper = character.to_ascii_uppercase();
            (LETTERS[(upper as usize) - ('A' as usize)], upper as u32, character.is_ascii_uppercase())
        }
        '0'..='9' => (DIGITS[(character as usize) - ('0' as usize)], character as u32, false),
        _ => {
            if let Some(digit) = SHIFTED_DIGITS.find(character) {
                (DIGITS[digit], '0' as u32 + u32::try_from(digit).unwrap_or(0), true)
            } else {
                let (plain, _, code, key_code) = PRINTED
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

/// A key by its name, such as `Enter`.
pub(super) fn named(name: &str) -> Option<[KeyEvent; 2]> {
    let (key, code, key_code) = NAMED.iter().find(|(key, ..)| *key == name)?;
    let text = (*key == "Enter").then(|| "\r".to_owned());
    Some(Key { key: (*key).to_owned(), code, key_code: *key_code, text, modifiers: 0 }.stroke())
}

/// The strokes that type `text`, one group for each character.
pub(super) fn strokes(text: &str) -> Vec<Vec<KeyEvent>> {
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
            other => printed(other).map(Key::stroke),
        };
        groups.push(match stroke {
            Some(stroke) => stroke.into(),
            None => vec![KeyEvent::Insert { text: character.to_string() }],
        });
    }
    groups
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
    fn shift_is_held_for_what_needs_it() {
        let KeyEvent::Down { code, key_code, modifiers, .. } = strokes("!")[0][0].clone() else { panic!() };
        assert_eq!((code, key_code, modifiers), ("Digit1", 49, SHIFT));
        let KeyEvent::Down { code, modifiers, .. } = strokes("q")[0][0].clone() else { panic!() };
        assert_eq!((code, modifiers), ("KeyQ", 0));
    }

    proptest! {
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
