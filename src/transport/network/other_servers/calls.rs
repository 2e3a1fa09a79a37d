//! Forwards calls to the servers that hold their sessions, and runs the calls of other servers.
//!
//! The response is a stream of lines: `admitted` when the call enters the queue of its session,
//! each stage, and finally the outcome. An empty line at an interval lets the caller detect that
//! the other server is frozen or has died.

use std::{pin::Pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::{
    body::{Body, Bytes},
    extract::{Request, State},
    http::{Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::{
    FutureExt, StreamExt,
    future::{BoxFuture, Fuse},
    stream,
};
use serde::{Deserialize, Serialize};
use tokio::{
    sync::watch,
    time::{Instant, Interval, MissedTickBehavior, interval_at, timeout},
};

use super::{CALLS_PATH, OtherServers, ServerError, ServerState, refusal};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    offload,
    session::CallTurn,
    tools::{CallForwarder, CallOutcome, ForwardedCall, Progress, ServerEndpoint, Stage},
    transport::network::{problem, request},
};

/// The interval of empty lines.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// The time without a line after which the other server counts as dead.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of an outcome in bytes. Results with screenshots are large.
const MAX_OUTCOME: usize = 256 << 20;

/// A line of the response.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ResponseLine {
    /// The call is in the queue of its session.
    Admitted,
    Stage(Stage),
    Outcome(Box<CallOutcome>),
}

impl ResponseLine {
    fn line(&self, bytes: usize) -> Bytes {
        let mut line = offload::in_place(bytes, || serde_json::to_vec(self)).unwrap_or_default();
        line.push(b'\n');
        line.into()
    }
}

/// Runs a call that another server has forwarded.
pub(super) async fn answer(State(state): State<ServerState>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    if let Some(refusal) = refusal(&state, &parts.headers) {
        return refusal;
    }
    let body = match request::body(&parts.headers, body, state.request_timeout).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };
    let call =
        match offload::in_place(body.len(), || serde_json::from_slice::<ForwardedCall>(&body)) {
            Ok(call) => call,
            Err(error) => {
                return problem(
                    StatusCode::BAD_REQUEST,
                    "INVALID_BODY",
                    format!("the body is not a forwarded call: {error}"),
                );
            }
        };
    let mut call = call.into_invocation();
    // The next turn on the call's own connection comes when the call is in the queue.
    call.turn = Some(call.connection.arrive());
    let next = call.connection.arrive();
    let admission = async move { next.wait().await }.boxed().fuse();
    let stages = call.progress.stages();
    let running = async move {
        tokio::select! {
            biased;
            () = state.stop.cancelled() => CallOutcome::failed(stopping()),
            called = state.server.registry().call(call) => called.unwrap_or_else(|unknown| {
                let message = unknown.to_string();
                CallOutcome::failed(TroupeError::new(ErrorCode::InvalidParameters, message))
            }),
        }
    };
    let mut alive = interval_at(Instant::now(), ALIVE_INTERVAL);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let call = CallInProgress { outcome: Box::pin(running), admission, stages, alive };
    // The body owns the call, so that the call is canceled if the other server disconnects.
    let lines = stream::unfold(Some(call), next_line);
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}

struct CallInProgress<F> {
    outcome: Pin<Box<F>>,
    admission: Fuse<BoxFuture<'static, ()>>,
    stages: watch::Receiver<Option<Stage>>,
    alive: Interval,
}

/// Returns the next line of the response; `None` after the outcome.
async fn next_line<F: Future<Output = CallOutcome>>(
    call: Option<CallInProgress<F>>,
) -> Option<(std::io::Result<Bytes>, Option<CallInProgress<F>>)> {
    let mut call = call?;
    tokio::select! {
        biased;
        outcome = &mut call.outcome => {
            let bytes = outcome.bytes();
            Some((Ok(ResponseLine::Outcome(Box::new(outcome)).line(bytes)), None))
        }
        () = &mut call.admission => {
            Some((Ok(ResponseLine::Admitted.line(0)), Some(call)))
        }
        Ok(()) = call.stages.changed() => {
            let stage = call.stages.borrow_and_update().clone();
            let line = stage.map_or(Bytes::from_static(b"\n"), |stage| {
                ResponseLine::Stage(stage).line(0)
            });
            Some((Ok(line), Some(call)))
        }
        _ = call.alive.tick() => Some((Ok(Bytes::from_static(b"\n")), Some(call))),
    }
}

fn stopping() -> TroupeError {
    TroupeError::canceled_call(
        "the server that holds its session is stopping",
        "another server resumes the session",
    )
}

/// Forwards calls over HTTP.
pub(super) struct ServerCallForwarder(pub Arc<OtherServers>);

#[async_trait]
impl CallForwarder for ServerCallForwarder {
    async fn forward(
        &self,
        server: &ServerEndpoint,
        call: &ForwardedCall,
        progress: &Progress,
        turn: &mut Option<CallTurn>,
    ) -> Result<Option<CallOutcome>> {
        let body = serde_json::to_vec(call).unwrap_or_default();
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = Method::POST;
        let lost = |why: &str| {
            TroupeError::new(
                ErrorCode::ServerUnavailable,
                format!("the server at {}, which holds the session, {why}", server.url),
            )
            .suggestion("check whether the call took effect, then call again: another server resumes the session")
        };
        let response = match self.0.send(server, CALLS_PATH, request).await {
            Ok(response) => response,
            Err(ServerError::Unreachable(why)) => {
                tracing::debug!(server = server.url, why, "a call waits for its session");
                return Ok(None);
            }
            Err(ServerError::NoResponse(why)) => return Err(lost(&format!("failed: {why}"))),
        };
        let status = response.status();
        // It was restarted at the same address, so the session is not there.
        if status == StatusCode::UNAUTHORIZED {
            return Ok(None);
        }
        if status != StatusCode::OK {
            return Err(lost(&format!("answered with status {status}")));
        }
        let mut body = response.into_body().into_data_stream();
        let mut line = Vec::new();
        loop {
            let bytes = match timeout(SILENCE_TIMEOUT, body.next()).await {
                Ok(Some(Ok(bytes))) => bytes,
                Ok(None) => return Err(lost("ended the response before the result")),
                Ok(Some(Err(error))) => {
                    return Err(lost(&format!("ended during the call: {error}")));
                }
                Err(_) => return Err(lost("did not respond during the call")),
            };
            for part in bytes.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(part);
                if line.len() > MAX_OUTCOME {
                    return Err(lost("returned a result that is too large"));
                }
                if !part.ends_with(b"\n") {
                    continue;
                }
                let message = offload::in_place(line.len(), || parsed(&line));
                line.clear();
                match message {
                    Ok(Some(ResponseLine::Outcome(outcome))) => return Ok(Some(*outcome)),
                    Ok(Some(ResponseLine::Admitted)) => *turn = None,
                    Ok(Some(ResponseLine::Stage(stage))) => progress.report(stage),
                    Ok(None) => {}
                    Err(error) => {
                        return Err(lost(&format!("returned an invalid result: {error}")));
                    }
                }
            }
        }
    }
}

/// Parses a line. `None` if it is empty.
fn parsed(line: &[u8]) -> serde_json::Result<Option<ResponseLine>> {
    let line = line.trim_ascii();
    if line.is_empty() { Ok(None) } else { serde_json::from_slice(line).map(Some) }
}
