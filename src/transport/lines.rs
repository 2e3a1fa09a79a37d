//! One JSON message a line, as the stdio transport has it.
//!
//! rmcp's own reader drops what it cannot parse without a word and lets pipelined calls overtake each other;
//! this one answers a broken line with -32700 and gives each call its turn as it is read.

use std::{collections::VecDeque, io, sync::Arc};

use rmcp::{
    RoleServer,
    model::{ClientRequest, JsonRpcMessage},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    sync::Mutex,
};
use tokio_util::sync::CancellationToken;

use crate::{server::TurnSlot, session::Connection};

/// A longer line is refused: it would be held in memory several times.
const MAX_LINE: usize = 16 << 20;
/// Of a line that is too long this much of both ends is kept, to find its id.
const KEPT_ENDS: usize = 1 << 10;

/// Lines from `R`, lines to `W`.
pub(super) struct Lines<R, W> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// Messages of one line that wait to be taken (2025-03-26 allows several).
    waiting: VecDeque<RxJsonRpcMessage<RoleServer>>,
    /// Bytes of the present line that were passed over, and the last of them.
    skipped: usize,
    tail: Vec<u8>,
    write: Arc<Mutex<W>>,
    connection: Arc<Connection>,
    over: CancellationToken,
}

enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    /// `over` is cancelled when the client has gone.
    pub fn new(read: R, write: W, connection: Arc<Connection>, over: CancellationToken) -> Self {
        Self {
            read: BufReader::with_capacity(64 << 10, read),
            line: Vec::new(),
            waiting: VecDeque::new(),
            skipped: 0,
            tail: Vec::new(),
            write: Arc::new(Mutex::new(write)),
            connection,
            over,
        }
    }

    /// Reads on in the present line. Cancelled, it goes on where it was: rmcp polls it in a `select!`.
    async fn next_line(&mut self) -> io::Result<Line> {
        loop {
            let available = self.read.fill_buf().await?;
            if available.is_empty() {
                return Ok(Line::End);
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let taken = newline.unwrap_or(available.len());
            let chunk = &available[..taken];
            if self.skipped > 0 || self.line.len() + chunk.len() > MAX_LINE {
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
                return Ok(if self.skipped > 0 { Line::TooLong } else { Line::Whole });
            }
        }
    }
}

impl<R, W> Lines<R, W> {
    fn start_line(&mut self) {
        self.line.clear();
        if self.line.capacity() > 1 << 20 {
            self.line.shrink_to(64 << 10);
        }
        self.tail.clear();
        self.skipped = 0;
    }

    /// What the present line says, each message or what to answer to it.
    fn messages(&self) -> Vec<Result<RxJsonRpcMessage<RoleServer>, Value>> {
        let line = self.line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.line).trim_ascii();
        if line.first() == Some(&b'[')
            && let Ok(batch) = serde_json::from_slice::<Vec<&RawValue>>(line)
            && !batch.is_empty()
        {
            return batch.iter().filter_map(|message| self.parse(message.get().as_bytes())).collect();
        }
        self.parse(line).into_iter().collect()
    }

    /// What one message says, or what to answer to it; `None` for an empty one.
    fn parse(&self, line: &[u8]) -> Option<Result<RxJsonRpcMessage<RoleServer>, Value>> {
        if line.is_empty() {
            return None;
        }
        let error = match serde_json::from_slice::<RxJsonRpcMessage<RoleServer>>(line) {
            Ok(mut message) => {
                if let JsonRpcMessage::Request(request) = &mut message
                    && let ClientRequest::CallToolRequest(call) = &mut request.request
                {
                    call.extensions.insert(TurnSlot::new(self.connection.arrive()));
                }
                return Some(Ok(message));
            }
            Err(error) => error,
        };
        let Ok(shape) = serde_json::from_slice::<Shape<'_>>(line) else {
            if serde_json::from_slice::<&RawValue>(line).is_ok() {
                return Some(Err(refusal(Value::Null, -32600, "not a JSON-RPC request")));
            }
            return Some(Err(refusal(Value::Null, -32700, &format!("the line is not JSON: {error}"))));
        };
        let id = shape.id.and_then(|id| serde_json::from_str(id.get()).ok()).unwrap_or(Value::Null);
        let valid_id = id.is_string() || id.is_i64() || id.is_u64();
        if serde_json::from_slice::<Value>(line).is_err() {
            // Well-formed at first sight only: an escape that is no character (`\ud800` alone).
            return Some(Err(refusal(id, -32700, &format!("the line is not valid JSON: {error}"))));
        }
        if shape.method.is_none() || !valid_id {
            // A notification or an answer that we do not know is passed over, as JSON-RPC wants it.
            if shape.id.is_none() && shape.method.is_some() || shape.result.is_some() || shape.error.is_some()
            {
                return None;
            }
            return Some(Err(refusal(
                Value::Null,
                -32600,
                "not a JSON-RPC request: `method` or `id` does not fit",
            )));
        }
        Some(Err(refusal(id, -32600, &format!("not a request of this protocol: {error}"))))
    }

    fn too_long(&self) -> Value {
        let id = id_in(&self.tail).or_else(|| id_in(&self.line)).unwrap_or(Value::Null);
        let bytes = self.line.len() + self.skipped;
        refusal(id, -32600, &format!("the message has more than {bytes} bytes; the limit is {MAX_LINE}"))
    }
}

/// The parts of a message, unread.
#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// The id in one end of a message that cannot be read whole, so that its sender does not wait for ever.
fn id_in(end: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(end);
    let at = text.rfind("\"id\"")?;
    let rest = text[at + 4..].trim_start().strip_prefix(':')?.trim_start();
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let id = values.next()?.ok()?;
    (id.is_string() || id.is_number()).then_some(id)
}

fn refusal(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

async fn write_line<W: AsyncWrite + Unpin>(write: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = self.write.clone();
        async move { write_line(&write, serde_json::to_vec(&item)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            let refused: Vec<Value> = match self.next_line().await {
                Ok(Line::Whole) => {
                    let mut refused = Vec::new();
                    for message in self.messages() {
                        match message {
                            Ok(message) => self.waiting.push_back(message),
                            Err(answer) => refused.push(answer),
                        }
                    }
                    self.start_line();
                    refused
                }
                Ok(Line::TooLong) => {
                    let answer = self.too_long();
                    self.start_line();
                    vec![answer]
                }
                Ok(Line::End) => break,
                Err(error) => {
                    tracing::warn!(%error, "the client could not be read");
                    break;
                }
            };
            for answer in refused {
                tracing::debug!(%answer, "a message was refused");
                // Not awaited here: `receive` may be dropped at any await, and half a line would be written.
                let write = self.write.clone();
                tokio::spawn(async move {
                    if let Ok(line) = serde_json::to_vec(&answer) {
                        let _ = write_line(&write, line).await;
                    }
                });
            }
        }
        // rmcp waits for running calls at the end of input; nobody is there to read their answers.
        self.over.cancel();
        None
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lines() -> Lines<io::Cursor<Vec<u8>>, Vec<u8>> {
        Lines::new(io::Cursor::default(), Vec::new(), Arc::default(), CancellationToken::new())
    }

    fn answer(line: &str) -> Option<Value> {
        let mut lines = lines();
        lines.line = line.as_bytes().to_vec();
        lines.messages().into_iter().find_map(Result::err)
    }

    #[test]
    fn what_cannot_be_read_is_answered() {
        for (line, code, id) in [
            ("{", -32700, Value::Null),
            ("hello", -32700, Value::Null),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":"\ud800"}}"#, -32700, json!(7)),
            ("[]", -32600, Value::Null),
            ("17", -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, Value::Null),
        ] {
            let answer = answer(line).unwrap_or_else(|| panic!("{line} was not answered"));
            assert_eq!(answer["error"]["code"], code, "{line}: {answer}");
            assert_eq!(answer["id"], id, "{line}: {answer}");
        }
        assert_eq!(answer(""), None);
        assert_eq!(answer(r#"{"jsonrpc":"2.0","method":"window/logMessage"}"#), None);
    }

    #[test]
    fn the_id_of_a_cut_message_is_found_at_either_end() {
        assert_eq!(id_in(br#"x"}},"jsonrpc":"2.0","id":12}"#), Some(json!(12)));
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","id":"a-1","method":"to"#), Some(json!("a-1")));
        assert_eq!(id_in(b"xxx"), None);
    }

    #[tokio::test]
    async fn a_line_that_is_too_long_does_not_hurt_the_next() {
        let mut input = vec![b'x'; MAX_LINE + 10];
        input.extend_from_slice(b"\"id\":5}\n{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\"}\n");
        let mut lines = Lines::new(&input[..], Vec::<u8>::new(), Arc::default(), CancellationToken::new());
        assert!(matches!(lines.next_line().await.unwrap(), Line::TooLong));
        assert_eq!(lines.too_long()["id"], 5);
        lines.start_line();
        assert!(matches!(lines.next_line().await.unwrap(), Line::Whole));
        assert!(matches!(lines.messages()[..], [Ok(JsonRpcMessage::Request(_))]));
    }

    #[test]
    fn several_messages_in_a_line_are_each_taken() {
        let mut lines = lines();
        lines.line =
            br#"[{"jsonrpc":"2.0","id":1,"method":"ping"}, 5, {"jsonrpc":"2.0","id":2,"method":"ping"}]"#
                .to_vec();
        let messages = lines.messages();
        assert!(matches!(messages[..], [Ok(_), Err(_), Ok(_)]), "{messages:?}");
    }

    proptest! {
        #[test]
        fn no_line_makes_it_panic(line in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut lines = lines();
            lines.line = line;
            let _ = lines.messages();
        }
    }
}
