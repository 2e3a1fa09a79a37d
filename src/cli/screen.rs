//! stdout and stderr, or two buffers in their place (for tests).

use std::io::{self, ErrorKind, Write};
use std::time::Duration;

use parking_lot::Mutex;

type Stream = Mutex<Box<dyn Write + Send>>;

/// The output of a command: results go to `out`, messages to `err`.
pub(super) struct Screen {
    out: Stream,
    err: Stream,
}

impl Screen {
    pub(super) fn of_this_process() -> Self {
        Self::new(Box::new(io::stdout()), Box::new(io::stderr()))
    }

    pub(super) fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self { out: Mutex::new(out), err: Mutex::new(err) }
    }

    /// Writes a text, with a line end if it has none.
    pub(super) fn out(&self, text: &str) {
        write(&self.out, text);
    }

    pub(super) fn err(&self, text: &str) {
        write(&self.err, text);
    }
}

/// A reader that closes the pipe (`troupe --help | head -1`) is not an error, so write failures are
/// ignored.
fn write(stream: &Stream, text: &str) {
    let mut stream = stream.lock();
    let line = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let mut rest = line.as_bytes();
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return,
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // Node may have made a pipe non-blocking; `write_all` would lose the rest.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                std::thread::sleep(Duration::from_millis(1))
            }
            Err(_) => return,
        }
    }
    let _ = stream.flush();
}
