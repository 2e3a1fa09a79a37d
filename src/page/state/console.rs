//! The console messages of a session's pages, until a caller takes them. When the buffer is full,
//! the oldest messages are removed.

use std::collections::VecDeque;

use parking_lot::{Mutex, MutexGuard};

use crate::engine::ConsoleMessage;

/// Maximum number of messages in a buffer.
pub(super) const MAX_ENTRIES: usize = 1000;
/// Maximum bytes of a message's text, and of its stack.
const MAX_TEXT_LENGTH: usize = 10_000;
/// Maximum bytes of the URL of a message whose URL is too long: a `data:` URL contains a whole
/// document.
const MAX_URL_LENGTH: usize = 200;

/// The console of a session's pages.
#[derive(Debug, Default)]
pub struct ConsoleLog(Mutex<ConsoleBuffer>);

#[derive(Debug, Default)]
struct ConsoleBuffer {
    kept: VecDeque<ConsoleMessage>,
    /// The number of messages at the end of `kept` that were not taken yet.
    new: usize,
}

impl ConsoleLog {
    fn lock(&self) -> MutexGuard<'_, ConsoleBuffer> {
        self.0.lock()
    }

    /// Adds a message.
    pub fn record(&self, mut message: ConsoleMessage) {
        limit_texts(&mut message);
        let mut log = self.lock();
        if log.kept.len() == MAX_ENTRIES {
            log.kept.pop_front();
        }
        log.kept.push_back(message);
        log.new = (log.new + 1).min(MAX_ENTRIES);
    }

    /// Returns the messages since the last call.
    pub fn take(&self) -> Vec<ConsoleMessage> {
        let mut log = self.lock();
        let from = log.kept.len() - log.new;
        log.new = 0;
        log.kept.iter().skip(from).cloned().collect()
    }

    /// Returns the messages that were not taken yet.
    pub fn untaken(&self) -> Vec<ConsoleMessage> {
        let log = self.lock();
        log.kept.iter().skip(log.kept.len() - log.new).cloned().collect()
    }

    /// Returns all messages in the buffer, taken or not.
    pub fn all(&self) -> Vec<ConsoleMessage> {
        self.lock().kept.iter().cloned().collect()
    }
}

/// Truncates the texts of a message.
pub(super) fn limit_texts(message: &mut ConsoleMessage) {
    let truncate = |text: &mut String, max_length: usize| {
        text.truncate(text.floor_char_boundary(max_length));
        text.push('…');
    };
    for text in [Some(&mut message.text), message.stack.as_mut()].into_iter().flatten() {
        if text.len() > MAX_TEXT_LENGTH {
            truncate(text, MAX_TEXT_LENGTH);
        }
    }
    if let Some(url) = message.url.as_mut().filter(|url| url.len() > MAX_TEXT_LENGTH) {
        truncate(url, MAX_URL_LENGTH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{ConsoleKind, ConsoleLevel};

    fn message(text: &str) -> ConsoleMessage {
        ConsoleMessage {
            level: ConsoleLevel::Info,
            kind: ConsoleKind::Info,
            text: text.into(),
            at: 0,
            url: None,
            line: None,
            column: None,
            stack: None,
        }
    }

    #[test]
    fn each_message_is_taken_once() {
        let log = ConsoleLog::default();
        log.record(message("a"));
        assert_eq!(log.take(), [message("a")]);
        assert_eq!(log.take(), []);
        log.record(message("b"));
        assert_eq!(log.untaken(), [message("b")]);
        assert_eq!(log.take(), [message("b")]);
        assert_eq!(log.all(), [message("a"), message("b")]);
    }

    #[test]
    fn the_size_of_the_console_buffer_is_limited() {
        let log = ConsoleLog::default();
        for number in 0..3 * MAX_ENTRIES {
            log.record(message(&number.to_string()));
        }
        log.record(message(&"ä".repeat(MAX_TEXT_LENGTH)));
        let taken = log.take();
        assert_eq!((taken.len(), taken[0].text.as_str()), (MAX_ENTRIES, "2001"));
        assert!(taken[MAX_ENTRIES - 1].text.len() <= MAX_TEXT_LENGTH + 3);
    }
}
