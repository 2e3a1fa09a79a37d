//! The console messages of one page, each with the main frame's document that it belongs to.

use std::collections::VecDeque;

use crate::{
    engine::{ConsoleKind, ConsoleMessage, ConsoleSource, DocumentId},
    page::state::console::{MAX_ENTRIES, limit_texts},
};

/// The console messages of a page, the newest last. When the buffer is full, the oldest messages
/// are removed.
#[derive(Debug, Default)]
pub(super) struct PageConsole {
    entries: VecDeque<ConsoleEntry>,
    /// The number of removed entries.
    removed: usize,
    /// The number of documents that the main frame has committed.
    documents: u64,
    /// The number of entries since the pending navigation of the main frame has started. The next
    /// document may have logged them: its commit may be reported later.
    since_navigation_request: usize,
}

#[derive(Debug)]
struct ConsoleEntry {
    message: ConsoleMessage,
    source: Option<ConsoleSource>,
    /// The value of [`PageConsole::documents`].
    document: u64,
}

impl PageConsole {
    /// Adds a message.
    pub fn record(&mut self, message: ConsoleMessage, source: Option<ConsoleSource>) {
        let mut message = message.as_passed();
        limit_texts(&mut message);
        if self.entries.len() == MAX_ENTRIES {
            self.entries.pop_front();
            self.removed += 1;
        }
        self.entries.push_back(ConsoleEntry { message, source, document: self.documents });
        self.since_navigation_request = (self.since_navigation_request + 1).min(MAX_ENTRIES);
    }

    /// Records that a navigation of the main frame has started.
    pub fn navigation_requested(&mut self) {
        self.since_navigation_request = 0;
    }

    /// Records that the main frame has committed `document`.
    pub fn committed(&mut self, document: &DocumentId) {
        self.documents += 1;
        let start = self.entries.len() - self.since_navigation_request;
        self.since_navigation_request = 0;
        let (before, since) = self.entries.make_contiguous().split_at_mut(start);
        for entry in since {
            let is_of_document = match &entry.source {
                // Before the first document, there is only an empty one.
                _ if self.documents == 1 => true,
                Some(ConsoleSource::Request(request)) => request == document,
                // The former document logs in realms that it has already used.
                Some(ConsoleSource::Realm(_)) => {
                    !before.iter().any(|former| former.source == entry.source)
                }
                None => false,
            };
            if is_of_document {
                entry.document = self.documents;
            }
        }
    }

    /// Returns the number of all messages, including removed ones.
    pub fn count(&self) -> usize {
        self.removed + self.entries.len()
    }

    /// Returns the messages from the number `first` on, and the number of the next one.
    pub fn since(&self, first: usize) -> (Vec<ConsoleMessage>, usize) {
        let start = first.saturating_sub(self.removed);
        let messages = self.entries.iter().skip(start).map(|entry| entry.message.clone());
        (messages.collect(), self.count())
    }

    /// Returns how many messages the current document has, and how many of them are errors and
    /// warnings.
    pub fn counts(&self) -> (usize, usize, usize) {
        let current = || self.entries.iter().filter(|entry| entry.document == self.documents);
        let count = |kinds: &[ConsoleKind]| {
            current().filter(|entry| kinds.contains(&entry.message.kind)).count()
        };
        let errors = count(&[ConsoleKind::Error, ConsoleKind::PageError]);
        (current().count(), errors, count(&[ConsoleKind::Warning]))
    }

    /// Returns all messages, or those of the main frame's current document.
    pub fn messages(&self, since_navigation: bool) -> Vec<ConsoleMessage> {
        let is_requested =
            |entry: &&ConsoleEntry| !since_navigation || entry.document == self.documents;
        self.entries.iter().filter(is_requested).map(|entry| entry.message.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::ConsoleLevel;

    fn message(text: &str) -> ConsoleMessage {
        ConsoleMessage {
            level: ConsoleLevel::Info,
            kind: ConsoleKind::Log,
            text: text.into(),
            at: 0,
            url: None,
            line: None,
            column: None,
            stack: None,
        }
    }

    fn realm(name: &str) -> Option<ConsoleSource> {
        Some(ConsoleSource::Realm(name.into()))
    }

    fn since_navigation(console: &PageConsole) -> Vec<String> {
        console.messages(true).into_iter().map(|message| message.text).collect()
    }

    #[test]
    fn messages_since_the_navigation_are_those_of_the_current_document() {
        let mut console = PageConsole::default();
        console.committed(&"1".into());
        console.record(message("first"), None);
        console.navigation_requested();
        console.record(message("still the first"), None);
        console.committed(&"2".into());
        assert_eq!(since_navigation(&console), Vec::<String>::new());
        console.record(message("second"), None);
        assert_eq!(since_navigation(&console), ["second"]);
        assert_eq!(console.messages(false).len(), 3);
    }

    #[test]
    fn a_message_that_is_reported_before_the_commit_of_its_document_counts() {
        let mut console = PageConsole::default();
        console.committed(&"1".into());
        console.record(message("first"), realm("a"));
        console.navigation_requested();
        console.record(message("still the first"), realm("a"));
        console.record(message("404"), Some(ConsoleSource::Request("2".into())));
        console.record(message("404 of an image"), Some(ConsoleSource::Request("1.5".into())));
        console.record(message("second"), realm("b"));
        console.committed(&"2".into());
        assert_eq!(since_navigation(&console), ["404", "second"]);
    }

    #[test]
    fn messages_before_the_first_commit_count() {
        let mut console = PageConsole::default();
        console.record(message("early"), None);
        console.committed(&"1".into());
        assert_eq!(since_navigation(&console), ["early"]);
    }

    #[test]
    fn the_number_of_messages_is_limited() {
        let mut console = PageConsole::default();
        for number in 0..2 * MAX_ENTRIES {
            console.record(message(&number.to_string()), realm("a"));
        }
        console.committed(&"1".into());
        assert_eq!(console.messages(true).len(), MAX_ENTRIES);
        assert_eq!(console.messages(true)[0].text, MAX_ENTRIES.to_string());
    }
}
