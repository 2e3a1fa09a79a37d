//! Reads lines of limited length from a pipe, because a child can write anything.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line of a pipe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PipeLine {
    pub text: Vec<u8>,
    /// Whether it was truncated.
    pub cut: bool,
}

/// Reads the next line, without its line break and truncated to `max_length` bytes. Returns `None`
/// at the end.
pub(super) async fn next_line(
    from: &mut (impl AsyncBufRead + Unpin),
    max_length: usize,
) -> io::Result<Option<PipeLine>> {
    let mut line = PipeLine { text: Vec::new(), cut: false };
    let mut any = false;
    loop {
        let read = from.fill_buf().await?;
        if read.is_empty() {
            return Ok(any.then_some(line));
        }
        any = true;
        let end = read.iter().position(|byte| *byte == b'\n');
        let part = &read[..end.unwrap_or(read.len())];
        let room = max_length - line.text.len();
        line.text.extend_from_slice(&part[..part.len().min(room)]);
        line.cut |= part.len() > room;
        let used = end.map_or(read.len(), |end| end + 1);
        from.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::BufReader;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_read_and_truncated(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..200),
            max_length in 1..20_usize,
            buffer in 1..10_usize,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let read = runtime.block_on(async {
                let mut from = BufReader::with_capacity(buffer, text.as_slice());
                let mut lines = Vec::new();
                while let Some(line) = next_line(&mut from, max_length).await.unwrap() {
                    lines.push(line);
                }
                lines
            });
            let mut expected: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
            // An empty text after the last line break is not a line.
            expected.pop_if(|last| last.is_empty());
            let expected: Vec<PipeLine> = expected
                .into_iter()
                .map(|line| PipeLine { text: line[..line.len().min(max_length)].to_vec(), cut: line.len() > max_length })
                .collect();
            prop_assert_eq!(read, expected);
        }
    }
}
