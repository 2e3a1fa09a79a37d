//! `run_script`: JavaScript that calls the methods of a session, in one call.

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::{
    answer::{Answer, IntoAnswer},
    batch::{StepDefaults, step},
    invocation::Invocation,
    progress::{Progress, Stage},
    registry::Registry,
    sandbox::{Sandbox, SandboxEvent, ScriptEnd, ScriptException},
    tool::{Group, Switch, Tool, tool},
    typed::ScriptText,
};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    session::{Connection, Session},
};

/// The default of `timeout`.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum of `timeout`.
const MAX_TIMEOUT: Duration = Duration::from_secs(600);

const ENABLED: Switch = Switch {
    option: "enable-scripts",
    is_on: |security| security.enable_scripts,
    // The user of a shell can already do more than a script.
    is_on_for_commands: true,
    suggestion: "make the calls one by one or in a `batch`, or start the server with --enable-scripts",
};

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("run_script", Group::Batch, "Run JavaScript with many steps in one call: `await session.click('e12')`, conditions, loops, `return`. session has the methods of the Node library; console.log is part of the result.")
            .command("run", &["script"], "troupe run steps.js")
            .contents(&["script"])
            .harmless()
            .not_in_batch("a script cannot be a step of a batch or of a script: make it a separate call")
            .not_replayed()
            .switched_by(ENABLED)
            .script::<ScriptParameters, ScriptAnswer>(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScriptParameters {
    /// The body of an async function with session, args and console
    script: ScriptText,
    /// The value of args
    args: Option<Value>,
    /// Default 60000, at most 600000
    timeout: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
struct ScriptAnswer {
    success: bool,
    /// What the script returned.
    value: Value,
    /// The lines that it printed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    console: Vec<String>,
    /// Number of calls that it made.
    steps: usize,
}

/// A call of `run_script`: its session and its client.
pub(super) struct ScriptInvocation<'a> {
    pub registry: &'a Registry,
    pub connection: &'a Arc<Connection>,
    pub session: Arc<Session>,
    pub progress: &'a Progress,
}

impl ScriptInvocation<'_> {
    /// Returns the tools that the script can call.
    fn steps(&self) -> impl Iterator<Item = &'static Tool> {
        self.registry.tools().iter().copied().filter(|tool| tool.is_step_in_session())
    }
}

/// A step that has begun.
struct RunStep {
    method: String,
    line: Option<u64>,
    error: Option<TroupeError>,
}

impl RunStep {
    /// Returns where the script makes the step: "line 3, `session.click`".
    fn location(&self) -> String {
        match self.line {
            Some(line) => format!("line {line}, `session.{}`", self.method),
            None => format!("`session.{}`", self.method),
        }
    }
}

/// Runs the script. Its steps run one after the other, each as a separate call.
pub(super) async fn run(call: ScriptInvocation<'_>, given: ScriptParameters) -> Result<Answer> {
    let limit = match given.timeout {
        None => TIMEOUT,
        // As in other tools, 0 means no limit of the client's.
        Some(0) => MAX_TIMEOUT,
        Some(timeout) => Duration::from_millis(timeout).min(MAX_TIMEOUT),
    };
    let tools: Value = call
        .steps()
        .map(|tool| {
            json!({
                "name": tool.name,
                "group": tool.group.as_str(),
                "inputSchema": tool.input,
                "lifecycle": null,
            })
        })
        .collect();
    let args = given.args.unwrap_or_default();
    let mut sandbox = Sandbox::start(given.script.0, args, &call.session.id, tools)?;
    let mut steps: Vec<RunStep> = Vec::new();
    let defaults = StepDefaults { session_id: Some(call.session.id.to_string()), page_id: None };
    let ended = timeout(limit, drive(&call, &mut sandbox, &defaults, &mut steps)).await;
    let error = match ended {
        Ok(ScriptEnd::Value(value)) => {
            let (console, steps) = (sandbox.printed(), steps.len());
            return Ok(ScriptAnswer { success: true, value, console, steps }.into_answer());
        }
        Ok(ScriptEnd::Failure(number)) => step_error(number, &mut steps),
        Ok(ScriptEnd::Thrown(thrown)) => exception_error(&thrown),
        Ok(ScriptEnd::Pending) => TroupeError::new(
            ErrorCode::ScriptError,
            "the script waits for a promise that nothing resolves",
        )
        .suggestion("await only session methods: there are no timers"),
        Ok(ScriptEnd::Stopped) => {
            TroupeError::new(ErrorCode::InternalError, "the script ended without a result")
        }
        Err(_) => timeout_error(limit, &steps),
    };
    let console = sandbox.printed();
    let error = error.detail("steps", steps.len());
    Err(if console.is_empty() { error } else { error.detail("console", console) })
}

/// Makes the calls of the script until it ends.
async fn drive(
    call: &ScriptInvocation<'_>,
    sandbox: &mut Sandbox,
    defaults: &StepDefaults,
    steps: &mut Vec<RunStep>,
) -> ScriptEnd {
    while let Some(event) = sandbox.events.recv().await {
        let request = match event {
            SandboxEvent::Step(step) => step,
            SandboxEvent::End(end) => return end,
        };
        #[expect(clippy::cast_precision_loss, reason = "a script makes a limited number of calls")]
        let done = steps.len() as f64;
        call.progress.report(Stage { done, total: None, step: Some(request.tool.clone()) });
        steps.push(RunStep { method: request.method, line: request.line, error: None });
        let mut arguments = match request.arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        // A script works in its own session only.
        arguments.remove("session_id");
        arguments.remove("sessionId");
        let batch_sessions: Arc<[_]> = Arc::new([call.session.clone()]);
        let invocation = if call.steps().any(|tool| tool.name == request.tool) {
            step(call.registry, call.connection, request.tool, arguments, defaults)
        } else {
            let message = format!("a script cannot call the tool `{}`", request.tool);
            Err(TroupeError::new(ErrorCode::InvalidParameters, message))
        };
        let result = match invocation {
            Ok(invocation) => {
                let invocation = Invocation { batch_sessions, overview: Some(false), ..invocation };
                match Box::pin(call.registry.call(invocation)).await {
                    Ok(outcome) => outcome.result.map(Answer::into_value),
                    Err(unknown) => {
                        Err(TroupeError::new(ErrorCode::InvalidParameters, unknown.to_string()))
                    }
                }
            }
            Err(refused) => Err(refused),
        };
        if let (Err(error), Some(last)) = (&result, steps.last_mut()) {
            last.error = Some(error.clone());
        }
        // Sending fails if the script was stopped. Then no event follows.
        let _ = request.reply.send(result);
    }
    ScriptEnd::Stopped
}

/// Returns the error of a step that the script did not catch.
fn step_error(number: usize, steps: &mut [RunStep]) -> TroupeError {
    let step = number.checked_sub(1).and_then(|index| steps.get_mut(index));
    let Some((mut error, step)) = step.and_then(|step| Some((step.error.take()?, step))) else {
        return TroupeError::new(ErrorCode::ScriptError, "a step of the script failed");
    };
    error.message = format!("{}: {}", step.location(), error.message);
    error.detail("call", step.method.clone()).detail("line", step.line)
}

fn exception_error(thrown: &ScriptException) -> TroupeError {
    if thrown.is_out_of_memory() {
        return TroupeError::new(
            ErrorCode::ResourceExhausted,
            "the script needs more than 64 MB of memory",
        )
        .suggestion("keep less data in the script");
    }
    let line = thrown.line();
    let name = thrown.name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let location = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    TroupeError::new(ErrorCode::ScriptError, format!("{location}{name}{}", thrown.message))
        .detail("message", thrown.message.clone())
        .detail("class", thrown.name.clone())
        .detail("line", line)
}

fn timeout_error(limit: Duration, steps: &[RunStep]) -> TroupeError {
    let at = match steps.last() {
        Some(step) => format!("; the last step was {}", step.location()),
        None => "; it made no call".to_owned(),
    };
    let message = format!("the script did not end within {} ms{at}", limit.as_millis());
    TroupeError::new(ErrorCode::Timeout, message)
        .suggestion("raise `timeout`, or split the script")
        .detail("timeout", u64::try_from(limit.as_millis()).unwrap_or(u64::MAX))
}
