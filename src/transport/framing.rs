//! Splits a stream into lines, and reports lines that are too long and the end of the stream.

use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::messages::refusal;

/// Bytes of both ends of a line that is too long, which are kept to find its id.
const KEPT_ENDS: usize = 1 << 10;

/// Splits the bytes from `R` into lines.
pub(super) struct LineReader<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Maximum length of a line in bytes.
    longest: usize,
    /// Number of discarded bytes of the current line, and the last of them.
    skipped: usize,
    tail: Vec<u8>,
}

/// The state of the reader after a line.
pub(super) enum LineStatus {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub fn new(read: R, longest: usize) -> Self {
        Self {
            read: BufReader::with_capacity(64 << 10, read),
            line: Vec::new(),
            longest,
            skipped: 0,
            tail: Vec::new(),
        }
    }

    /// Reads the rest of the current line. Cancel-safe, because rmcp polls it in a `select!`.
    pub async fn next(&mut self) -> io::Result<LineStatus> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(LineStatus::End);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.unwrap_or(available.len());
            let chunk = &available[..taken];
            if self.skipped > 0 || self.line.len() + chunk.len() > self.longest {
                if self.skipped == 0 {
                    self.line.truncate(KEPT_ENDS);
                    self.line.shrink_to_fit();
                }
                self.skipped += chunk.len();
                self.tail.extend_from_slice(&chunk[chunk.len().saturating_sub(KEPT_ENDS)..]);
                let surplus = self.tail.len().saturating_sub(KEPT_ENDS);
                self.tail.drain(..surplus);
            } else {
                self.line.extend_from_slice(chunk);
            }
            self.read.consume(newline.map_or(taken, |at| at + 1));
            if newline.is_some() {
                return Ok(if self.skipped > 0 { LineStatus::TooLong } else { LineStatus::Whole });
            }
        }
    }
}

impl<R> LineReader<R> {
    /// Returns the complete line.
    pub fn line(&self) -> &[u8] {
        &self.line
    }

    /// Begins the next line.
    pub fn start(&mut self) {
        self.line.clear();
        if self.line.capacity() > 1 << 20 {
            self.line.shrink_to(64 << 10);
        }
        self.tail.clear();
        self.skipped = 0;
    }

    /// Returns the error response to a line that is too long.
    pub fn too_long(&self) -> Value {
        let id = id_in(&self.tail).or_else(|| id_in(&self.line)).unwrap_or(Value::Null);
        let bytes = self.line.len() + self.skipped;
        refusal(
            id,
            -32600,
            &format!("the message has more than {bytes} bytes; the limit is {}", self.longest),
        )
    }
}

/// Returns the id in one end of a message that was not read completely, so that its sender gets an
/// error response.
fn id_in(end: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(end);
    let at = text.rfind("\"id\"")?;
    let rest = text[at + 4..].trim_start().strip_prefix(':')?.trim_start();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let id = values.next()?.ok()?;
    (id.is_string() || id.is_number()).then_some(id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_of_a_cut_message_is_found_at_either_end() {
        assert_eq!(id_in(br#"x"}},"jsonrpc":"2.0","id":12}"#), Some(json!(12)));
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","id":"a-1","method":"to"#), Some(json!("a-1")));
        assert_eq!(id_in(b"xxx"), None);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_does_not_affect_the_next_one() {
        let mut input = vec![b'x'; 5000];
        input.extend_from_slice(b"\"id\":5}\nnext\n");
        let mut lines = LineReader::new(&input[..], 4000);
        assert!(matches!(lines.next().await.unwrap(), LineStatus::TooLong));
        assert_eq!(lines.too_long()["id"], 5);
        lines.start();
        assert!(matches!(lines.next().await.unwrap(), LineStatus::Whole));
        assert_eq!(lines.line(), b"next");
    }
}
