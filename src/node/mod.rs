//! The face for Node: the command line and the session manager as functions of the addon. The only place
//! that knows napi.
//!
//! Behind the cargo feature `node`, and never in `cargo test`: the symbols of Node are there only where Node
//! loads the addon. Everything runs on a runtime of our own, on threads of our own; JavaScript owns the
//! signals. Answers are JSON texts of an outcome, `{"ok": …}` or `{"error": …}`: an error thrown from here
//! would lose its code on the way.

mod manager;
mod server;
#[cfg(feature = "testing")]
mod testing;

use std::{
    future::Future,
    panic::AssertUnwindSafe,
    sync::{LazyLock, OnceLock},
};

use futures_util::FutureExt;
use napi::{Env, bindgen_prelude::Object};
use napi_derive::napi;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::{
    error::{ErrorCode, Result, TroupeError},
    tools::Registry,
};

/// Of what a call costs, an eighth was the allocator of the C library.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a panic exits with.
const PANICKED: i32 = 70;

/// The runtime of this process; made when it is first wanted, ended with the process.
fn runtime() -> napi::Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    RUNTIME
        .get_or_init(|| {
            tokio::runtime::Builder::new_multi_thread()
                .worker_threads(workers())
                .thread_name("troupe")
                .enable_all()
                .build()
        })
        .as_ref()
        .map_err(|error| napi::Error::from_reason(format!("no threads could be started: {error}")))
}

/// One for four processors: browsers need the others. Few are quicker, too: a call is handed on a dozen times, and each
/// time that wakes another thread costs more than what is done there.
fn workers() -> usize {
    std::thread::available_parallelism().map_or(1, |processors| processors.get().div_ceil(4))
}

static STOP: LazyLock<CancellationToken> = LazyLock::new(CancellationToken::new);

/// Runs `work` on our threads; the promise gets what it gives, or `panicked`.
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

/// An outcome as JSON text.
fn outcome(result: Result<Value>) -> String {
    match result {
        Ok(value) => json!({"ok": value}).to_string(),
        Err(error) => json!({"error": error}).to_string(),
    }
}

fn panicked() -> String {
    outcome(Err(TroupeError::new(ErrorCode::InternalError, "the call panicked: that is a defect of troupe")))
}

/// Runs the command line `troupe args…`; resolves to the exit code.
#[napi(ts_return_type = "Promise<number>", catch_unwind)]
pub fn run_cli<'env>(env: &'env Env, args: Vec<String>) -> napi::Result<Object<'env>> {
    promise(env, crate::cli::run(args, STOP.clone()), PANICKED)
}

/// Asks what `runCli` runs to end; its promise resolves when it has.
#[napi(catch_unwind)]
pub fn stop_cli() {
    STOP.cancel();
}

/// The schema of the configuration, as JSON.
#[napi(catch_unwind)]
pub fn config_schema() -> String {
    crate::config::schema().to_string()
}

/// Every native tool as JSON: name, group, description, schemas of its parameters and its answer.
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
                "answer": tool.answer.as_str(),
            })
        })
        .collect();
    Value::from(rows).to_string()
}
