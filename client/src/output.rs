//! Writes to stdout and stderr.

use std::io::{self, Write};

pub fn out(text: &str) {
    write(&mut io::stdout().lock(), text);
}

pub fn err(text: &str) {
    write(&mut io::stderr().lock(), text);
}

/// Writes a text. Ignores errors, because a reader may close the pipe (`troupe text | head -1`).
fn write(stream: &mut impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}
