//! The pipe: messages that end with NUL, over two file descriptors (`--remote-debugging-pipe`).
#![cfg(unix)]

use std::{io, os::fd::OwnedFd, sync::Arc};

use parking_lot::Mutex;
use tokio::{io::AsyncReadExt, net::unix::pipe, sync::Notify};
use tokio_util::sync::CancellationToken;

use super::{Outgoing, Wire, WireError, lock};
use crate::offload;

/// More than this unread by the browser means that it hangs.
const MAX_BACKLOG: usize = 256 << 20;
/// Nothing that the browser says is longer.
const LONGEST: usize = 1 << 30;
/// First size of the read buffer: most messages fit many times.
const READ_SIZE: usize = 64 << 10;

/// Our ends of the two pipes, and the child's ends to hand over as its fds 3 and 4.
pub struct PipeEnds {
    pub child_reads: OwnedFd,
    pub child_writes: OwnedFd,
    write: pipe::Sender,
    read: pipe::Receiver,
}

impl PipeEnds {
    /// Two fresh pipes. Ours are non-blocking, the child's blocking.
    pub fn new() -> io::Result<Self> {
        let (child_reads, ours) = io::pipe()?;
        let write = pipe::Sender::from_owned_fd(nonblocking(ours.into())?)?;
        let (ours, child_writes) = io::pipe()?;
        let read = pipe::Receiver::from_owned_fd(nonblocking(ours.into())?)?;
        Ok(Self { child_reads: child_reads.into(), child_writes: child_writes.into(), write, read })
    }

    /// The wire over our ends, and the child's ends, to be closed here after the spawn.
    pub fn into_wire(self) -> (Wire, OwnedFd, OwnedFd) {
        let closed = CancellationToken::new();
        let line =
            Arc::new(Line { write: self.write, backlog: Mutex::default(), wake: Notify::new() });
        let wire = Wire::new(Box::new(PipeWriter { line: line.clone() }), closed.clone());
        tokio::spawn(flush(line, closed.clone()));
        tokio::spawn(read(self.read, wire.clone(), closed));
        (wire, self.child_reads, self.child_writes)
    }
}

fn nonblocking(fd: OwnedFd) -> io::Result<OwnedFd> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(fd)
}

struct Line {
    write: pipe::Sender,
    /// The bytes that the pipe has not accepted yet.
    backlog: Mutex<Vec<u8>>,
    wake: Notify,
}

struct PipeWriter {
    line: Arc<Line>,
}

impl Outgoing for PipeWriter {
    /// Writes on the caller's thread: a hop to a writer task would cost more than the write.
    fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), WireError> {
        let mut bytes = Vec::with_capacity(messages.iter().map(|message| message.len() + 1).sum());
        for message in messages {
            bytes.extend_from_slice(message);
            bytes.push(0);
        }
        let mut backlog = lock(&self.line.backlog);
        if !backlog.is_empty() {
            let pending = backlog.len();
            if pending > MAX_BACKLOG {
                return Err(WireError::Overflow { pending });
            }
            backlog.extend_from_slice(&bytes);
            return Ok(());
        }
        let written = match self.line.write.try_write(&bytes) {
            Ok(written) => written,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            Err(_) => return Err(WireError::Closed),
        };
        if written < bytes.len() {
            backlog.extend_from_slice(&bytes[written..]);
            self.line.wake.notify_one();
        }
        Ok(())
    }
}

/// Writes the backlog as the pipe takes it; ends with the connection.
async fn flush(line: Arc<Line>, closed: CancellationToken) {
    let work = async {
        loop {
            line.wake.notified().await;
            loop {
                if line.write.writable().await.is_err() {
                    return;
                }
                let mut backlog = lock(&line.backlog);
                match line.write.try_write(&backlog) {
                    Ok(written) => {
                        backlog.drain(..written);
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
                if backlog.is_empty() {
                    break;
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = closed.cancelled() => {}
    }
}

async fn read(mut pipe: pipe::Receiver, wire: Wire, closed: CancellationToken) {
    let mut buffer: Vec<u8> = Vec::with_capacity(READ_SIZE);
    let mut searched = 0;
    let work = async {
        loop {
            if buffer.capacity() - buffer.len() < READ_SIZE / 4 {
                buffer.reserve(buffer.len().max(READ_SIZE));
            }
            match pipe.read_buf(&mut buffer).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let mut start = 0;
            while let Some(end) = memchr::memchr(0, &buffer[searched..]) {
                let end = searched + end;
                if start == 0 && end >= offload::LARGE {
                    // Not copied: what follows it is shorter.
                    let rest = buffer.split_off(end + 1);
                    let mut message = std::mem::replace(&mut buffer, rest);
                    message.truncate(end);
                    wire.receive_owned(message);
                    searched = 0;
                    continue;
                }
                wire.receive(&buffer[start..end]);
                start = end + 1;
                searched = start;
            }
            buffer.drain(..start);
            searched = buffer.len();
            if searched > LONGEST {
                tracing::warn!(
                    "the browser does not come to the end of a message: the pipe is closed"
                );
                return;
            }
            // One huge picture must not keep its memory for good.
            if buffer.is_empty() && buffer.capacity() > 16 * READ_SIZE {
                buffer.shrink_to(READ_SIZE);
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = closed.cancelled() => {}
    }
    wire.close();
}

#[cfg(test)]
mod tests {
    use std::{fs::File, io::Write, time::Duration};

    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    /// Invalid messages, and almost valid ones.
    fn junk() -> impl Strategy<Value = Vec<u8>> {
        let answer = json!({"id": 1, "result": {"answered": true}}).to_string();
        let cut =
            (0..answer.len() - 1).prop_map(move |end| [&answer.as_bytes()[..end], &[0]].concat());
        let others = prop::sample::select(vec![
            "null\0",
            "[]\0",
            "{}\0",
            "{\"id\":-1}\0",
            "{\"id\":99,\"result\":{}}\0",
            "{\"method\":7}\0",
            "{\"method\":\"Page.x\",\"params\":null,\"sessionId\":\"no\"}\0",
            "{\"id\":2,\"error\":{}}\0",
            "\0\0",
        ]);
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            cut,
            others.prop_map(|text| text.as_bytes().to_vec()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn whatever_the_browser_says_the_next_answer_arrives(
            said in prop::collection::vec(junk(), 0..20),
            chunk in 1usize..64,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let answer: Value = runtime.block_on(async {
                let (wire, _reads, writes) = PipeEnds::new().unwrap().into_wire();
                let call = tokio::spawn(async move { wire.call(None, "Browser.getVersion", json!({})).await });
                tokio::task::yield_now().await;
                let mut browser = File::from(writes);
                let answer = json!({"id": 1, "result": {"answered": true}}).to_string();
                let all = [said.concat(), [b"\0", answer.as_bytes(), b"\0"].concat()].concat();
                for bytes in all.chunks(chunk) {
                    browser.write_all(bytes).unwrap();
                }
                tokio::time::timeout(Duration::from_secs(5), call).await.unwrap().unwrap().unwrap()
            });
            prop_assert_eq!(answer, json!({"answered": true}));
        }
    }

    #[test]
    fn a_large_answer_arrives_whole_between_small_ones() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (wire, _reads, writes) = PipeEnds::new().unwrap().into_wire();
            let calls: Vec<_> =
                (0..3).map(|_| wire.send(None, "Browser.getVersion", json!({})).unwrap()).collect();
            let large = "x".repeat(3 * offload::LARGE);
            let said: String = [json!("small"), json!(large), json!("last")]
                .iter()
                .zip(1..)
                .map(|(result, id)| format!("{}\0", json!({"id": id, "result": result})))
                .collect();
            let writing = std::thread::spawn(move || {
                let mut browser = File::from(writes);
                browser.write_all(said.as_bytes()).map(|()| browser)
            });
            let mut answers = Vec::new();
            for call in calls {
                let answer = tokio::time::timeout(Duration::from_secs(5), call.read::<String>())
                    .await
                    .unwrap();
                answers.push(answer.unwrap().len());
            }
            assert_eq!(answers, ["small".len(), large.len(), "last".len()]);
            // Until here the browser must not seem to be gone.
            drop(writing.join().unwrap().unwrap());
        });
    }
}
