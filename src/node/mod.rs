//! The Node addon: the command line and the session manager as functions. The only module that uses
//! napi.
//! It is compiled with the cargo feature `node` and never in `cargo test`, because Node's symbols
//! exist only when Node loads the addon. Everything runs on a separate runtime with its own
//! threads. JavaScript handles the signals. Results are JSON texts, `{"ok": …}` or `{"error": …}`,
//! because an exception would lose the error's code.

mod manager;
mod server;
#[cfg(feature = "testing")]
mod testing;

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{LazyLock, OnceLock},
    time::Duration,
};

use futures_util::FutureExt;
use napi::{Env, bindgen_prelude::Object};
use napi_derive::napi;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{ErrorCode, Result, TroupeError},
    offload::{self, json_size},
    tools::{LifecycleEffect, Registry},
};

/// Calls are faster with this allocator than with that of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The exit code after a panic.
const PANICKED: i32 = 70;

/// How long an idle blocking thread waits for work. Shorter in tests, so that threads end while a
/// test runs.
const KEEP_ALIVE: Duration =
    Duration::from_millis(if cfg!(feature = "testing") { 200 } else { 10_000 });

/// Returns the runtime of this process. It is created at the first use and ends with the process.
fn runtime() -> napi::Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread()
                .thread_keep_alive(KEEP_ALIVE)
                .worker_threads(workers())
                .thread_name("troupe")
                .enable_all()
                .build()
        })
        .as_ref()
        .map_err(|error| napi::Error::from_reason(format!("cannot start threads: {error}")))
}

/// Returns the number of worker threads: one for each four processors, because browsers need the
/// others. Few threads are also faster: a call passes through a dozen tasks, and waking another
/// thread takes longer than the work of a task.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(4))
}

static STOP: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Runs `work` on the runtime's threads. The promise resolves to its result, or to that of
/// `panicked`.
fn promise<'env, T: napi::bindgen_prelude::ToNapiValue + Send + 'static>(
    env: &'env Env,
    work: impl Future<Output = T> + Send + 'static,
    panicked: T,
) -> napi::Result<Object<'env>> {
    let (deferred, promise) = env.create_deferred::<T, _>()?;
    runtime()?.spawn(async move {
        let outcome = AssertUnwindSafe(work).catch_unwind().await.unwrap_or(panicked);
        deferred.resolve(move |_| Ok(outcome));
    });
    Ok(promise)
}

/// Converts a result into JSON text.
fn outcome(result: Result<Value>) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "lowercase")]
    enum JsonOutcome {
        Ok(Value),
        Error(TroupeError),
    }
    let outcome = match result {
        Ok(value) => JsonOutcome::Ok(value),
        Err(error) => JsonOutcome::Error(error),
    };
    let bytes = if let JsonOutcome::Ok(value) = &outcome { json_size(value) } else { 0 };
    // Only strings and numbers, so this cannot fail.
    offload::in_place(bytes, || serde_json::to_string(&outcome)).unwrap_or_default()
}

fn panicked() -> String {
    outcome(Err(TroupeError::new(
        ErrorCode::InternalError,
        "the call panicked: this is a defect of Troupe",
    )))
}

/// Runs the command line `troupe args…`; resolves to the exit code. `launcher` is the command line
/// that runs this program, for the start of the daemon.
#[napi(ts_return_type = "Promise<number>", catch_unwind)]
pub fn run_cli<'env>(
    env: &'env Env,
    args: Vec<String>,
    launcher: Vec<String>,
) -> napi::Result<Object<'env>> {
    promise(env, crate::cli::run(args, crate::cli::Launcher(launcher), STOP.clone()), PANICKED)
}

/// Stops what `runCli` runs. Its promise resolves when it has stopped.
#[napi(catch_unwind)]
pub fn stop_cli() {
    STOP.cancel();
}

/// Returns the schema of the configuration, as JSON.
#[napi(catch_unwind)]
pub fn config_schema() -> String {
    crate::config::schema().to_string()
}

/// Returns the rows of the options, as JSON: see [`crate::config::option_rows`].
#[napi(catch_unwind)]
pub fn option_rows() -> String {
    crate::config::option_rows().to_string()
}

/// Returns the rows of the error codes and the schema of the details, as JSON.
#[napi(catch_unwind)]
pub fn error_schemas() -> String {
    json!({"codes": crate::error::ERROR_CODES, "details": crate::tools::error_details_schema()})
        .to_string()
}

/// Returns the schemas of a session's events, as JSON: one object for each `type`.
#[napi(catch_unwind)]
pub fn event_schemas() -> String {
    crate::tools::event_schema().to_string()
}

/// Returns all native tools as JSON: name, group, description, schemas of parameters and result,
/// and the option without which the server does not offer the tool.
#[napi(catch_unwind)]
pub fn tool_schemas() -> String {
    let rows: Vec<Value> = Registry::all()
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "group": tool.group.as_str(),
                "description": tool.description,
                "inputSchema": tool.input,
                "outputSchema": tool.output,
                "outputType": tool.output_type,
                "answer": tool.answer.as_str(),
                "lifecycle": tool.properties.lifecycle.map(LifecycleEffect::as_str),
                "neededOption": tool.needed_option(),
            })
        })
        .collect();
    Value::from(rows).to_string()
}
