//! stdout and stderr, or two buffers in their place (for tests).

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::{MissedTickBehavior, interval_at};
use troupe_client::Terminal;

type Stream = Mutex<Box<dyn Write + Send>>;

/// The output of a command: results go to `out`, messages to `err`.
pub(super) struct Screen {
    out: Stream,
    err: Stream,
    pub terminal: Terminal,
}

/// How long a command runs before the terminal shows that it does, and how often it is updated.
const PATIENCE: Duration = Duration::from_secs(1);
const FRAME: Duration = Duration::from_millis(100);
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Returns to the beginning of the line and clears it.
const CLEAR: &str = "\r\u{1b}[2K";

impl Screen {
    pub(super) fn of_this_process() -> Self {
        let streams = Self::new(Box::new(io::stdout()), Box::new(io::stderr()));
        streams.on(Terminal::of_this_process())
    }

    pub(super) fn on(self, terminal: Terminal) -> Self {
        Self { terminal, ..self }
    }

    pub(super) fn new(out: Box<dyn Write + Send>, err: Box<dyn Write + Send>) -> Self {
        Self { out: Mutex::new(out), err: Mutex::new(err), terminal: Terminal::default() }
    }

    /// Writes a text, with a line end if it has none.
    pub(super) fn out(&self, text: &str) {
        write(&self.out, text);
    }

    pub(super) fn err(&self, text: &str) {
        write(&self.err, text);
    }

    /// Shows on a terminal that `name` is running, until `work` has ended.
    pub(super) async fn while_running<T>(&self, name: &str, work: impl Future<Output = T>) -> T {
        if !self.terminal.colors.err {
            return work.await;
        }
        let begun = Instant::now();
        let mut frames = interval_at((begun + PATIENCE).into(), FRAME);
        frames.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut shown = FRAMES.iter().cycle();
        tokio::pin!(work);
        let mut is_shown = false;
        loop {
            tokio::select! {
                biased;
                done = &mut work => {
                    if is_shown {
                        write_all(&self.err, CLEAR.as_bytes());
                    }
                    return done;
                }
                _ = frames.tick() => {
                    is_shown = true;
                    let (frame, seconds) = (shown.next().unwrap_or(&""), begun.elapsed().as_secs());
                    write_all(&self.err, format!("{CLEAR}{frame} {name}, {seconds} s").as_bytes());
                }
            }
        }
    }
}

/// A reader that closes the pipe (`troupe --help | head -1`) is not an error, so write failures are
/// ignored.
fn write(stream: &Stream, text: &str) {
    let line = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    write_all(stream, line.as_bytes());
}

fn write_all(stream: &Stream, bytes: &[u8]) {
    let mut stream = stream.lock();
    let mut rest = bytes;
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
