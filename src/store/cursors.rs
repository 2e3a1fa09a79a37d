//! Stores cursors into records. With a cursor, the next read returns only what has changed.

use sha2::{Digest, Sha256};

use super::{Store, delta, records::Record, time::now};
use crate::{error::Result, offload};

/// The owner of a cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorOwner {
    /// A record.
    Record,
    /// All records of this session.
    Session(String),
}

/// The result of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CursorRead {
    /// The whole content, because nothing was read before.
    Whole(String),
    /// The changes since the last read.
    Changes(String),
}

/// The end of the last read.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    /// The SHA-256 of the content.
    pub hash: String,
    /// The record whose content was read.
    pub last_ref_id: String,
    /// The length of the content in bytes.
    pub position: usize,
    /// Milliseconds since 1970.
    pub read_at: u64,
}

impl Store {
    /// Returns the changes in `record` since the last read, and moves the cursor to the end of the
    /// record. Returns the whole content if the changes are longer, or if the content of the last
    /// read is not stored any more.
    pub async fn read_from_cursor(
        &self,
        record: &Record,
        cursor_of: CursorOwner,
        reset: bool,
    ) -> Result<CursorRead> {
        let key = match cursor_of {
            CursorOwner::Record => record.ref_id.clone(),
            CursorOwner::Session(id) => id,
        };
        let (content, hash) = offload::in_place(record.bytes(), || {
            let content = record.content();
            let hash = hash(&content);
            (content, hash)
        });
        let cursor = if reset { None } else { self.cursor(&key).await? };
        let position = content.len();
        let reading = match cursor {
            None => CursorRead::Whole(content),
            Some(cursor) if cursor.hash == hash => CursorRead::Changes(String::new()),
            Some(cursor) => match self.record(&cursor.last_ref_id).await? {
                None => CursorRead::Whole(content),
                Some(last) => offload::in_place(last.bytes() + content.len(), || {
                    let changes = delta(
                        &with_final_line_break(last.content()),
                        &with_final_line_break(content.clone()),
                    );
                    if changes.len() < content.len() {
                        CursorRead::Changes(changes)
                    } else {
                        CursorRead::Whole(content)
                    }
                }),
            },
        };
        let last_ref_id = record.ref_id.clone();
        self.move_cursor(key, Cursor { hash, last_ref_id, position, read_at: now() }).await;
        Ok(reading)
    }

    async fn cursor(&self, key: &str) -> Result<Option<Cursor>> {
        let key = key.to_owned();
        self.read(move |tables| tables.cursor(&key)).await
    }

    async fn move_cursor(&self, key: String, cursor: Cursor) {
        let write = self.0.writer.write(0, move |tables| tables.move_cursor(&key, &cursor));
        // The reading is returned in any case. Without the cursor, the next one repeats it.
        let _ = write.await;
    }
}

/// Appends a line break to the last line. Without it, the line would change when another follows.
fn with_final_line_break(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

fn hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
