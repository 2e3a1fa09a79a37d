//! Runs JavaScript in an engine without files, network and processes, in a thread of its own.
//!
//! The thread and the call that owns it exchange messages through one channel. The script ends when
//! the call is dropped: the engine checks a flag, and a thread that waits for the result of a step
//! is woken. The engine does not check the flag in its own loops, so `sandbox.js` limits their
//! lengths.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use parking_lot::Mutex;
use rquickjs::{
    Array, CatchResultExt, CaughtError, Context, Ctx, Function, Object, Runtime,
    context::{EvalOptions, intrinsic},
};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

use crate::error::{ErrorCode, Result, TroupeError};

/// Maximum memory of the engine, in bytes.
const MEMORY: usize = 64 * 1024 * 1024;
/// Maximum stack of the script, and the whole stack of the thread, in bytes.
const STACK: usize = 512 * 1024;
const THREAD_STACK: usize = 4 * 1024 * 1024;
/// Maximum number of calls that a script makes.
const MAX_CALLS: usize = 1_000;
/// Maximum length of an array in the engine.
const MAX_LENGTH: usize = 1_000_000;
/// Maximum product of the lengths of the two texts of a search in the engine.
const MAX_COMPARISONS: usize = 1_000_000_000;
/// Maximum length of a text that the engine normalizes.
const MAX_NORMALIZED: usize = 10_000;
/// Maximum length of what a script prints, and of an error, in bytes.
const MAX_OUTPUT: usize = 8 * 1024;
const MAX_MESSAGE: usize = 2_000;
/// Maximum number of scripts that run at the same time in this process.
const MAX_SCRIPTS: usize = 16;

/// The name of the script in stack traces.
const FILE: &str = "script.js";
const PRELUDE: &str = include_str!("sandbox.js");
/// The methods of a session of the Node library.
const METHODS: &str = include_str!("../../lib/session-methods.js");

static SLOTS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(MAX_SCRIPTS)));

/// A script that runs. Dropping it ends the script.
pub(super) struct Sandbox {
    pub events: mpsc::Receiver<SandboxEvent>,
    printed: Arc<Mutex<PrintedLines>>,
    stop: Arc<AtomicBool>,
}

pub(super) enum SandboxEvent {
    Step(ScriptStep),
    End(ScriptEnd),
}

/// A call of a session method.
pub(super) struct ScriptStep {
    pub tool: String,
    pub method: String,
    pub line: Option<u64>,
    pub arguments: Value,
    pub reply: oneshot::Sender<Result<Value>>,
}

pub(super) enum ScriptEnd {
    Value(Value),
    /// The script has not caught the failure of its step with this number, from 1.
    Failure(usize),
    Thrown(ScriptException),
    /// The script waits for a promise that nothing resolves.
    Pending,
    /// The call was dropped.
    Stopped,
}

#[derive(Deserialize)]
pub(super) struct ScriptException {
    pub name: Option<String>,
    pub message: String,
    stack: Option<String>,
}

impl ScriptException {
    /// Returns the line of the script in which the error was created.
    pub fn line(&self) -> Option<u64> {
        line_in(self.stack.as_deref().unwrap_or_default())
    }

    /// Returns whether the script needed more memory than it may use.
    pub fn is_out_of_memory(&self) -> bool {
        self.message == "out of memory" && self.name.as_deref() == Some("InternalError")
    }
}

/// Returns the first line of the script that a stack trace names.
fn line_in(stack: &str) -> Option<u64> {
    let (_, rest) = stack.split_once(&format!("{FILE}:"))?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// The lines that the script has printed.
#[derive(Default)]
struct PrintedLines {
    lines: Vec<String>,
    bytes: usize,
    is_cut: bool,
}

impl PrintedLines {
    fn add(&mut self, line: String) {
        self.bytes += line.len() + 4;
        if self.bytes <= MAX_OUTPUT {
            self.lines.push(line);
        } else if !self.is_cut {
            self.is_cut = true;
            self.lines.push(format!("… the rest is left out: more than {MAX_OUTPUT} bytes"));
        }
    }
}

impl Sandbox {
    /// Starts a script. `tools`: the rows of the tools that it can call, for `session-methods.js`.
    pub fn start(script: String, args: Value, session_id: &str, tools: Value) -> Result<Self> {
        let slot = SLOTS.clone().try_acquire_owned().map_err(|_| {
            let message = format!("{MAX_SCRIPTS} scripts are running on this server");
            TroupeError::new(ErrorCode::ResourceExhausted, message)
                .suggestion("call again when one of them has ended")
        })?;
        let setup = json!({
            "tools": tools, "sessionId": session_id, "args": args,
            "maxCalls": MAX_CALLS, "maxLength": MAX_LENGTH,
            "maxComparisons": MAX_COMPARISONS, "maxNormalized": MAX_NORMALIZED,
        });
        let (sender, events) = mpsc::channel(1);
        let (printed, stop) = (Arc::default(), Arc::default());
        let engine = ScriptThread {
            script,
            setup: setup.to_string(),
            events: sender,
            printed: Arc::clone(&printed),
            stop: Arc::clone(&stop),
            _slot: slot,
        };
        // The thread ends soon after the sandbox is dropped. It holds its slot until then, so the
        // number of threads has a limit.
        let started = thread::Builder::new()
            .name("troupe-script".to_owned())
            .stack_size(THREAD_STACK)
            .spawn(move || engine.run());
        started.map_err(|error| {
            let message = format!("no thread could be started for the script: {error}");
            TroupeError::new(ErrorCode::ResourceExhausted, message)
        })?;
        Ok(Self { events, printed, stop })
    }

    /// Returns the lines that the script has printed so far.
    pub fn printed(&self) -> Vec<String> {
        self.printed.lock().lines.clone()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// The thread of a script.
struct ScriptThread {
    script: String,
    setup: String,
    events: mpsc::Sender<SandboxEvent>,
    printed: Arc<Mutex<PrintedLines>>,
    stop: Arc<AtomicBool>,
    _slot: OwnedSemaphorePermit,
}

impl ScriptThread {
    fn run(self) {
        let end = self.evaluate().unwrap_or_else(|error| {
            ScriptEnd::Thrown(ScriptException {
                name: None,
                message: error.to_string(),
                stack: None,
            })
        });
        // Fails only if the call was dropped: nothing waits for the end then.
        let _ = self.events.blocking_send(SandboxEvent::End(end));
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn evaluate(&self) -> rquickjs::Result<ScriptEnd> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(MEMORY);
        runtime.set_max_stack_size(STACK);
        let stop = self.stop.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || stop.load(Ordering::Relaxed))));
        // `Proxy` is not available, because its traps could bypass the limits of arrays.
        let context = Context::custom::<(
            intrinsic::Date,
            intrinsic::Eval,
            intrinsic::RegExpCompiler,
            intrinsic::RegExp,
            intrinsic::Json,
            intrinsic::MapSet,
            intrinsic::TypedArrays,
            intrinsic::Promise,
            intrinsic::WeakRef,
        )>(&runtime)?;
        context.with(|ctx| self.evaluate_in(&ctx))
    }

    fn evaluate_in(&self, ctx: &Ctx<'_>) -> rquickjs::Result<ScriptEnd> {
        let printed = self.printed.clone();
        let print = Function::new(ctx.clone(), move |line: String| printed.lock().add(line))?;
        let load: Function<'_> =
            compile(ctx, &format!("(function (module) {{{METHODS}\n}})"), "session-methods.js")?;
        let prelude: Function<'_> = compile(ctx, PRELUDE, "sandbox.js")?;
        let host: Object<'_> = prelude.call((self.setup.as_str(), print, load))?;
        let [start, take, settle, finish, described] =
            ["start", "take", "settle", "finish", "described"]
                .map(|name| host.get::<_, Function<'_>>(name));
        let (start, take, settle, finish, described) =
            (start?, take?, settle?, finish?, described?);
        // The function begins on the first line of the script, so that line numbers are correct.
        let script = format!("(async (session, args, console) => {{{}\n}})", self.script);
        let begun = compile::<Function<'_>>(ctx, &script, FILE);
        let begun = begun.and_then(|main| start.call::<_, ()>((main,)));
        if let Err(error) = begun.catch(ctx) {
            return self.thrown(ctx, error, &described);
        }
        loop {
            while ctx.execute_pending_job() {
                if self.is_stopped() {
                    return Ok(ScriptEnd::Stopped);
                }
            }
            let taken: Option<Array<'_>> = match take.call(()).catch(ctx) {
                Ok(taken) => taken,
                Err(error) => return self.thrown(ctx, error, &described),
            };
            let Some(taken) = taken else { break };
            let Some((is_failure, text)) = self.step(&taken)? else {
                return Ok(ScriptEnd::Stopped);
            };
            if let Err(error) = settle.call::<_, ()>((is_failure, text)).catch(ctx) {
                return self.thrown(ctx, error, &described);
            }
        }
        let text: rquickjs::Result<String> = finish.call(());
        match text.catch(ctx) {
            Ok(text) => Ok(end(&text)),
            Err(error) => self.thrown(ctx, error, &described),
        }
    }

    /// Makes a call and waits for its result; `None` if the script is stopped.
    fn step(&self, taken: &Array<'_>) -> rquickjs::Result<Option<(bool, String)>> {
        let (text, stack): (String, String) = (taken.get(2)?, taken.get(3)?);
        let (reply, result) = oneshot::channel();
        let step = ScriptStep {
            tool: taken.get(0)?,
            method: taken.get(1)?,
            line: line_in(&stack),
            arguments: serde_json::from_str(&text).unwrap_or_default(),
            reply,
        };
        if self.events.blocking_send(SandboxEvent::Step(step)).is_err() {
            return Ok(None);
        }
        Ok(result.blocking_recv().ok().map(|result| match result {
            Ok(value) => (false, value.to_string()),
            Err(error) => (true, json!(error).to_string()),
        }))
    }

    fn thrown<'js>(
        &self,
        ctx: &Ctx<'js>,
        error: CaughtError<'js>,
        described: &Function<'js>,
    ) -> rquickjs::Result<ScriptEnd> {
        if self.is_stopped() {
            return Ok(ScriptEnd::Stopped);
        }
        let text: rquickjs::Result<String> = match error {
            CaughtError::Error(error) => return Err(error),
            CaughtError::Exception(exception) => described.call((exception.into_object(),)),
            CaughtError::Value(value) => described.call((value,)),
        };
        text.catch(ctx).map(|text| end(&text)).or_else(|_| {
            let message = "the script ended without a readable error".to_owned();
            Ok(ScriptEnd::Thrown(ScriptException { name: None, message, stack: None }))
        })
    }
}

fn compile<'js, V: rquickjs::FromJs<'js>>(
    ctx: &Ctx<'js>,
    source: &str,
    file: &str,
) -> rquickjs::Result<V> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(source, options)
}

/// Reads the outcome that the prelude describes.
fn end(text: &str) -> ScriptEnd {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    enum End {
        Value(Value),
        Failure(usize),
        Thrown(ScriptException),
        Pending(#[expect(dead_code, reason = "always true")] bool),
    }
    match serde_json::from_str(text) {
        Ok(End::Value(value)) => ScriptEnd::Value(value),
        Ok(End::Failure(id)) => ScriptEnd::Failure(id),
        Ok(End::Thrown(mut thrown)) => {
            let end = thrown.message.floor_char_boundary(MAX_MESSAGE);
            thrown.message.truncate(end);
            ScriptEnd::Thrown(thrown)
        }
        Ok(End::Pending(_)) => ScriptEnd::Pending,
        Err(error) => ScriptEnd::Thrown(ScriptException {
            name: None,
            message: error.to_string(),
            stack: None,
        }),
    }
}
