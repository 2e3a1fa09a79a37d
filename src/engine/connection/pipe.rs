//! The pipe transport (`--remote-debugging-pipe`): messages that end with NUL, over two file
//! descriptors.
#![cfg(unix)]

use std::{io, os::fd::OwnedFd, sync::Arc};

use parking_lot::Mutex;
use tokio::{io::AsyncReadExt, net::unix::pipe, sync::Notify};
use tokio_util::sync::CancellationToken;

use super::{BrowserConnection, ConnectionError, MessageSink, lock};
use crate::offload;

/// Maximum number of bytes that wait to be written. More means that the browser hangs.
const MAX_BACKLOG_SIZE: usize = 256 << 20;
/// Maximum size of a message of the browser.
const MAX_MESSAGE_SIZE: usize = 1 << 30;
/// Initial size of the read buffer. Most messages are much smaller.
const READ_SIZE: usize = 64 << 10;

/// The parent's ends of the two pipes, and the child's ends, which become its file descriptors 3
/// and 4.
pub struct PipeEnds {
    pub child_reads: OwnedFd,
    pub child_writes: OwnedFd,
    write: pipe::Sender,
    read: pipe::Receiver,
}

impl PipeEnds {
    /// Creates two pipes. The parent's ends are non-blocking, the child's ends are blocking.
    pub fn new() -> io::Result<Self> {
        let (child_reads, own_end) = io::pipe()?;
        let write = pipe::Sender::from_owned_fd(nonblocking(own_end.into())?)?;
        let (own_end, child_writes) = io::pipe()?;
        let read = pipe::Receiver::from_owned_fd(nonblocking(own_end.into())?)?;
        Ok(Self { child_reads: child_reads.into(), child_writes: child_writes.into(), write, read })
    }

    /// Returns the connection, and the child's ends. The parent must close those after the spawn.
    pub fn into_connection(self) -> (BrowserConnection, OwnedFd, OwnedFd) {
        let closed = CancellationToken::new();
        let state = Arc::new(PipeState {
            write: self.write,
            backlog: Mutex::default(),
            wake: Notify::new(),
        });
        let connection =
            BrowserConnection::new(Box::new(PipeSink { state: state.clone() }), closed.clone());
        tokio::spawn(flush(state, closed.clone()));
        tokio::spawn(read(self.read, connection.clone(), closed));
        (connection, self.child_reads, self.child_writes)
    }
}

fn nonblocking(fd: OwnedFd) -> io::Result<OwnedFd> {
    use nix::fcntl::{FcntlArg, OFlag, fcntl};
    fcntl(&fd, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    Ok(fd)
}

struct PipeState {
    write: pipe::Sender,
    backlog: Mutex<Backlog>,
    wake: Notify,
}

/// The bytes to write. Those that the pipe has accepted are removed when it has accepted all:
/// removing them one part after the other would move the rest of a large message each time.
#[derive(Default)]
struct Backlog {
    bytes: Vec<u8>,
    written: usize,
}

impl Backlog {
    fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    fn accepted(&mut self, count: usize) {
        self.written += count;
        if self.pending().is_empty() {
            self.bytes.clear();
            self.written = 0;
        }
    }
}

struct PipeSink {
    state: Arc<PipeState>,
}

impl MessageSink for PipeSink {
    /// Adds the messages to the backlog, which [`flush`] writes.
    fn push(&mut self, messages: &[Vec<u8>]) -> Result<(), ConnectionError> {
        let mut backlog = lock(&self.state.backlog);
        let pending = backlog.pending().len();
        if pending > MAX_BACKLOG_SIZE {
            return Err(ConnectionError::Overflow { pending });
        }
        for message in messages {
            backlog.bytes.extend_from_slice(message);
            backlog.bytes.push(0);
        }
        self.state.wake.notify_one();
        Ok(())
    }
}

/// Writes the backlog when the pipe accepts data. Ends with the connection.
async fn flush(state: Arc<PipeState>, closed: CancellationToken) {
    let work = async {
        loop {
            state.wake.notified().await;
            while !lock(&state.backlog).pending().is_empty() {
                if state.write.writable().await.is_err() {
                    return;
                }
                let mut backlog = lock(&state.backlog);
                match state.write.try_write(backlog.pending()) {
                    Ok(written) => backlog.accepted(written),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(_) => return,
                }
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = closed.cancelled() => {}
    }
}

async fn read(mut pipe: pipe::Receiver, connection: BrowserConnection, closed: CancellationToken) {
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
                    // Copies the shorter rest instead of the large message.
                    let rest = buffer.split_off(end + 1);
                    let mut message = std::mem::replace(&mut buffer, rest);
                    message.truncate(end);
                    connection.receive_owned(message);
                    searched = 0;
                    continue;
                }
                connection.receive(&buffer[start..end]);
                start = end + 1;
                searched = start;
            }
            buffer.drain(..start);
            searched = buffer.len();
            if searched > MAX_MESSAGE_SIZE {
                tracing::warn!("closed the pipe: a message of the browser is too large");
                return;
            }
            // Releases the memory of a very large message.
            if buffer.is_empty() && buffer.capacity() > 16 * READ_SIZE {
                buffer.shrink_to(READ_SIZE);
            }
        }
    };
    tokio::select! {
        () = work => {}
        () = closed.cancelled() => {}
    }
    connection.close();
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
        fn the_next_response_arrives_after_any_invalid_messages(
            said in prop::collection::vec(junk(), 0..20),
            chunk in 1usize..64,
        ) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let answer: Value = runtime.block_on(async {
                let (connection, _reads, writes) = PipeEnds::new().unwrap().into_connection();
                let call = tokio::spawn(async move { connection.call(None, "Browser.getVersion", json!({})).await });
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
    fn a_large_response_arrives_unchanged_between_small_ones() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (connection, _reads, writes) = PipeEnds::new().unwrap().into_connection();
            let calls: Vec<_> = (0..3)
                .map(|_| connection.send(None, "Browser.getVersion", json!({})).unwrap())
                .collect();
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
            // Keeps the pipe open until here.
            drop(writing.join().unwrap().unwrap());
        });
    }
}
