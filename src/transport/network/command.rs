//! Runs commands that the native client of the command line sends to the daemon's socket.
//!
//! `troupe_client` defines the protocol. The body of the response owns the command, so the command
//! is dropped if the client disconnects.

use std::{collections::HashMap, io, mem, pin::Pin, sync::Arc};

use async_trait::async_trait;
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::{
    sync::Notify,
    time::{Instant, Interval, MissedTickBehavior, interval_at},
};
use tokio_util::sync::CancellationToken;
use troupe_client::{ALIVE_INTERVAL, CommandEvent, CommandRequest};

use super::{ServerState, problem, request};
use crate::{
    error::Result,
    server::Server,
    session::Connection,
    transport::local::{CommandCalls, DaemonResult},
};

/// A running command; resolves to its exit code.
pub type CommandFuture = Pin<Box<dyn Future<Output = u8> + Send>>;

/// The command line, which parses and runs commands.
pub trait CommandRunner: Send + Sync {
    /// Starts a command that makes `calls` and writes to `output`; `None` if only the Node program
    /// can run it.
    fn start(
        &self,
        request: CommandRequest,
        calls: ServerCalls,
        output: CommandOutput,
    ) -> Option<CommandFuture>;

    /// Returns the names that commands have given to sessions, by the ids of the sessions. Reads
    /// files.
    fn session_names(&self) -> HashMap<String, String>;
}

/// Makes the calls of a command in the server of this process.
#[derive(Clone)]
pub struct ServerCalls {
    server: Arc<Server>,
    /// Canceled when the server stops.
    stop: CancellationToken,
}

#[async_trait]
impl CommandCalls for ServerCalls {
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<DaemonResult> {
        let connection = Arc::new(Connection::command());
        let called = self.server.call_tool(connection, tool, arguments, &self.stop).await?;
        DaemonResult::of_call(serde_json::to_value(called).unwrap_or_default())
    }
}

/// The output that has not been sent yet. It stays small, because the command is not polled while
/// output is sent.
#[derive(Clone, Default)]
pub struct CommandOutput(Arc<OutputQueue>);

#[derive(Default)]
struct OutputQueue {
    events: Mutex<Vec<CommandEvent>>,
    written: Notify,
}

impl CommandOutput {
    /// Returns the writers for stdout and stderr.
    pub fn writers(&self) -> (Box<dyn io::Write + Send>, Box<dyn io::Write + Send>) {
        let writer = |event| Box::new(EventWriter { output: self.clone(), event });
        (writer(CommandEvent::Out), writer(CommandEvent::Err))
    }

    fn push(&self, event: CommandEvent) {
        self.0.events.lock().push(event);
        self.0.written.notify_one();
    }

    /// Returns the unsent output as lines, and an empty line if there is none.
    fn take_lines(&self) -> Bytes {
        let events = mem::take(&mut *self.0.events.lock());
        // Events consist of texts and numbers, so this cannot fail.
        let lines = events.iter().filter_map(|event| serde_json::to_string(event).ok());
        let mut text = lines.collect::<Vec<_>>().join("\n");
        text.push('\n');
        text.into()
    }
}

struct EventWriter {
    output: CommandOutput,
    event: fn(String) -> CommandEvent,
}

impl io::Write for EventWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Commands write complete texts.
        self.output.push((self.event)(String::from_utf8_lossy(bytes).into_owned()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Handles a request with a command.
pub(super) async fn run(State(state): State<ServerState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let body = match request::body(&parts.headers, body, state.request_timeout).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let Ok(request) = serde_json::from_slice::<CommandRequest>(&body) else {
        return problem(StatusCode::BAD_REQUEST, "INVALID_BODY", "the body is not a command");
    };
    if state.draining.is_cancelled() {
        let message = "the server is stopping";
        return problem(StatusCode::SERVICE_UNAVAILABLE, "SERVER_UNAVAILABLE", message);
    }
    let output = CommandOutput::default();
    let calls = ServerCalls { server: state.server, stop: state.stop };
    let started =
        state.commands.and_then(|commands| commands.start(request, calls, output.clone()));
    let Some(command) = started else {
        let message = "the Node program runs this command";
        return problem(StatusCode::NOT_IMPLEMENTED, "NOT_IMPLEMENTED", message);
    };
    let mut alive = interval_at(Instant::now() + ALIVE_INTERVAL, ALIVE_INTERVAL);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // hyper sends the head while the body yields. A client that has not received it knows that the
    // command has not run.
    let command = Box::pin(async {
        tokio::task::yield_now().await;
        command.await
    });
    let running = RunningCommand { command, output, alive };
    Body::from_stream(stream::unfold(Some(running), next_lines)).into_response()
}

struct RunningCommand {
    command: CommandFuture,
    output: CommandOutput,
    alive: Interval,
}

/// Returns the next lines of the response, and the command if it still runs.
async fn next_lines(
    running: Option<RunningCommand>,
) -> Option<(io::Result<Bytes>, Option<RunningCommand>)> {
    let mut running = running?;
    let RunningCommand { command, output, alive } = &mut running;
    let code = tokio::select! {
        biased;
        code = command => Some(code),
        () = output.0.written.notified() => None,
        _ = alive.tick() => None,
    };
    if let Some(code) = code {
        output.push(CommandEvent::Exit(code));
    }
    let lines = output.take_lines();
    Some((Ok(lines), code.is_none().then_some(running)))
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn output_is_sent_while_the_command_runs_and_its_exit_code_comes_last() {
        let output = CommandOutput::default();
        let (mut out, mut err) = output.writers();
        let command: CommandFuture = Box::pin(async move {
            io::Write::write_all(&mut err, b"working").unwrap();
            tokio::time::sleep(ALIVE_INTERVAL * 3 / 2).await;
            io::Write::write_all(&mut out, b"gray\n").unwrap();
            7
        });
        let mut alive = interval_at(Instant::now() + ALIVE_INTERVAL, ALIVE_INTERVAL);
        alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let running = RunningCommand { command, output, alive };
        let lines = stream::unfold(Some(running), next_lines).map(Result::unwrap);
        let lines: Vec<Bytes> = lines.collect().await;
        let expected = ["{\"err\":\"working\"}\n", "\n", "{\"out\":\"gray\\n\"}\n{\"exit\":7}\n"];
        assert_eq!(lines, expected);
    }
}
