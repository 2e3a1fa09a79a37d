//! The lines that disappeared from a page, such as those behind a dialog.

use std::collections::HashSet;

use crate::engine::DocumentId;

/// Maximum number of lines that are remembered.
const MAX_LINES: usize = 2_000;

/// Lines of a document that the client received, and that a later result reported as removed.
#[derive(Debug, Default, Clone)]
pub(in crate::page) struct HiddenLines {
    document: Option<DocumentId>,
    lines: HashSet<Box<str>>,
}

impl HiddenLines {
    /// Returns those of `document`: none if these are of another one.
    pub fn of(&self, document: Option<&DocumentId>) -> Self {
        match self.document.as_ref() == document {
            true => self.clone(),
            false => Self { document: document.cloned(), lines: HashSet::new() },
        }
    }

    pub fn add(&mut self, line: &str) {
        if self.lines.len() < MAX_LINES {
            self.lines.insert(without_focus(line).into());
        }
    }

    /// Returns whether the line is hidden, with or without the focus.
    pub fn contains(&self, line: &str) -> bool {
        self.lines.contains(&*without_focus(line))
    }
}

/// Returns the line without the mark of the focus.
pub(in crate::page) fn without_focus(line: &str) -> String {
    line.replacen(" [active]", "", 1)
}
