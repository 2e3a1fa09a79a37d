//! The editing commands of key chords on macOS. There the system, not the page's engine, maps keys
//! to commands, and keys that are sent through the protocol bypass it. The table is that of
//! Playwright (Apache-2.0), without the commands that insert text (the key's own text does) and
//! without the keys of the numeric keypad.

use crate::engine::Modifiers;

const NONE: Modifiers = 0;
const ALT: Modifiers = 1;
const CONTROL: Modifiers = 2;
const META: Modifiers = 4;
const SHIFT: Modifiers = 8;

/// Modifiers, `KeyboardEvent.code`, and the commands in order.
#[rustfmt::skip]
const COMMANDS: &[(Modifiers, &str, &[&str])] = &[
    (NONE, "Backspace", &["deleteBackward"]),
    (NONE, "Escape", &["cancelOperation"]),
    (NONE, "ArrowUp", &["moveUp"]),
    (NONE, "ArrowDown", &["moveDown"]),
    (NONE, "ArrowLeft", &["moveLeft"]),
    (NONE, "ArrowRight", &["moveRight"]),
    (NONE, "F5", &["complete"]),
    (NONE, "Delete", &["deleteForward"]),
    (NONE, "Home", &["scrollToBeginningOfDocument"]),
    (NONE, "End", &["scrollToEndOfDocument"]),
    (NONE, "PageUp", &["scrollPageUp"]),
    (NONE, "PageDown", &["scrollPageDown"]),
    (SHIFT, "Backspace", &["deleteBackward"]),
    (SHIFT, "Escape", &["cancelOperation"]),
    (SHIFT, "ArrowUp", &["moveUpAndModifySelection"]),
    (SHIFT, "ArrowDown", &["moveDownAndModifySelection"]),
    (SHIFT, "ArrowLeft", &["moveLeftAndModifySelection"]),
    (SHIFT, "ArrowRight", &["moveRightAndModifySelection"]),
    (SHIFT, "F5", &["complete"]),
    (SHIFT, "Delete", &["deleteForward"]),
    (SHIFT, "Home", &["moveToBeginningOfDocumentAndModifySelection"]),
    (SHIFT, "End", &["moveToEndOfDocumentAndModifySelection"]),
    (SHIFT, "PageUp", &["pageUpAndModifySelection"]),
    (SHIFT, "PageDown", &["pageDownAndModifySelection"]),
    (CONTROL, "Tab", &["selectNextKeyView"]),
    (CONTROL, "KeyA", &["moveToBeginningOfParagraph"]),
    (CONTROL, "KeyB", &["moveBackward"]),
    (CONTROL, "KeyD", &["deleteForward"]),
    (CONTROL, "KeyE", &["moveToEndOfParagraph"]),
    (CONTROL, "KeyF", &["moveForward"]),
    (CONTROL, "KeyH", &["deleteBackward"]),
    (CONTROL, "KeyK", &["deleteToEndOfParagraph"]),
    (CONTROL, "KeyL", &["centerSelectionInVisibleArea"]),
    (CONTROL, "KeyN", &["moveDown"]),
    (CONTROL, "KeyO", &["moveBackward"]),
    (CONTROL, "KeyP", &["moveUp"]),
    (CONTROL, "KeyT", &["transpose"]),
    (CONTROL, "KeyV", &["pageDown"]),
    (CONTROL, "KeyY", &["yank"]),
    (CONTROL, "Backspace", &["deleteBackwardByDecomposingPreviousCharacter"]),
    (CONTROL, "ArrowUp", &["scrollPageUp"]),
    (CONTROL, "ArrowDown", &["scrollPageDown"]),
    (CONTROL, "ArrowLeft", &["moveToLeftEndOfLine"]),
    (CONTROL, "ArrowRight", &["moveToRightEndOfLine"]),
    (SHIFT | CONTROL, "Tab", &["selectPreviousKeyView"]),
    (SHIFT | CONTROL, "KeyA", &["moveToBeginningOfParagraphAndModifySelection"]),
    (SHIFT | CONTROL, "KeyB", &["moveBackwardAndModifySelection"]),
    (SHIFT | CONTROL, "KeyE", &["moveToEndOfParagraphAndModifySelection"]),
    (SHIFT | CONTROL, "KeyF", &["moveForwardAndModifySelection"]),
    (SHIFT | CONTROL, "KeyN", &["moveDownAndModifySelection"]),
    (SHIFT | CONTROL, "KeyP", &["moveUpAndModifySelection"]),
    (SHIFT | CONTROL, "KeyV", &["pageDownAndModifySelection"]),
    (SHIFT | CONTROL, "Backspace", &["deleteBackwardByDecomposingPreviousCharacter"]),
    (SHIFT | CONTROL, "ArrowUp", &["scrollPageUp"]),
    (SHIFT | CONTROL, "ArrowDown", &["scrollPageDown"]),
    (SHIFT | CONTROL, "ArrowLeft", &["moveToLeftEndOfLineAndModifySelection"]),
    (SHIFT | CONTROL, "ArrowRight", &["moveToRightEndOfLineAndModifySelection"]),
    (ALT, "Backspace", &["deleteWordBackward"]),
    (ALT, "Escape", &["complete"]),
    (ALT, "ArrowUp", &["moveBackward", "moveToBeginningOfParagraph"]),
    (ALT, "ArrowDown", &["moveForward", "moveToEndOfParagraph"]),
    (ALT, "ArrowLeft", &["moveWordLeft"]),
    (ALT, "ArrowRight", &["moveWordRight"]),
    (ALT, "Delete", &["deleteWordForward"]),
    (ALT, "PageUp", &["pageUp"]),
    (ALT, "PageDown", &["pageDown"]),
    (SHIFT | ALT, "Backspace", &["deleteWordBackward"]),
    (SHIFT | ALT, "Escape", &["complete"]),
    (SHIFT | ALT, "ArrowUp", &["moveParagraphBackwardAndModifySelection"]),
    (SHIFT | ALT, "ArrowDown", &["moveParagraphForwardAndModifySelection"]),
    (SHIFT | ALT, "ArrowLeft", &["moveWordLeftAndModifySelection"]),
    (SHIFT | ALT, "ArrowRight", &["moveWordRightAndModifySelection"]),
    (SHIFT | ALT, "Delete", &["deleteWordForward"]),
    (SHIFT | ALT, "PageUp", &["pageUp"]),
    (SHIFT | ALT, "PageDown", &["pageDown"]),
    (CONTROL | ALT, "KeyB", &["moveWordBackward"]),
    (CONTROL | ALT, "KeyF", &["moveWordForward"]),
    (CONTROL | ALT, "Backspace", &["deleteWordBackward"]),
    (SHIFT | CONTROL | ALT, "KeyB", &["moveWordBackwardAndModifySelection"]),
    (SHIFT | CONTROL | ALT, "KeyF", &["moveWordForwardAndModifySelection"]),
    (SHIFT | CONTROL | ALT, "Backspace", &["deleteWordBackward"]),
    (META, "Backspace", &["deleteToBeginningOfLine"]),
    (META, "ArrowUp", &["moveToBeginningOfDocument"]),
    (META, "ArrowDown", &["moveToEndOfDocument"]),
    (META, "ArrowLeft", &["moveToLeftEndOfLine"]),
    (META, "ArrowRight", &["moveToRightEndOfLine"]),
    (SHIFT | META, "Backspace", &["deleteToBeginningOfLine"]),
    (SHIFT | META, "ArrowUp", &["moveToBeginningOfDocumentAndModifySelection"]),
    (SHIFT | META, "ArrowDown", &["moveToEndOfDocumentAndModifySelection"]),
    (SHIFT | META, "ArrowLeft", &["moveToLeftEndOfLineAndModifySelection"]),
    (SHIFT | META, "ArrowRight", &["moveToRightEndOfLineAndModifySelection"]),
    (META, "KeyA", &["selectAll"]),
    (META, "KeyC", &["copy"]),
    (META, "KeyX", &["cut"]),
    (META, "KeyV", &["paste"]),
    (META, "KeyZ", &["undo"]),
    (SHIFT | META, "KeyZ", &["redo"]),
];

/// Returns the commands of the key `code` with `modifiers` held.
pub(super) fn commands(code: &str, modifiers: Modifiers) -> &'static [&'static str] {
    let row = COMMANDS.iter().find(|(held, key, _)| *held == modifiers && *key == code);
    row.map_or(&[], |(.., commands)| commands)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_chord_has_one_row() {
        let chords: HashSet<_> =
            COMMANDS.iter().map(|(modifiers, code, _)| (modifiers, code)).collect();
        assert_eq!(chords.len(), COMMANDS.len());
    }

    #[test]
    fn no_command_inserts_text() {
        let all = COMMANDS.iter().flat_map(|(.., commands)| *commands);
        for command in all {
            assert!(!command.starts_with("insert") && !command.ends_with(':'), "{command}");
        }
    }
}
