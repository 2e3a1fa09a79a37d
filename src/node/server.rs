//! `serve` for Node: a server in this process, with any transport.

use napi::{Env, bindgen_prelude::Object};
use napi_derive::napi;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{manager::read_config, outcome, panicked, promise};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    transport::Endpoint,
};

/// A server that is started once.
#[napi]
pub struct NativeServer {
    config: Mutex<Option<Result<Config>>>,
    stop: CancellationToken,
    ended: tokio::sync::watch::Sender<Option<Result<()>>>,
}

#[napi]
impl NativeServer {
    /// Creates a server for the configuration. `start` reports errors in it.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String) -> Self {
        Self {
            config: Mutex::new(Some(read_config(&config))),
            stop: CancellationToken::new(),
            ended: tokio::sync::watch::Sender::new(None),
        }
    }

    /// Starts the server. Resolves to its URL, or to null for stdin and stdout.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn start<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let config = self.config.lock().take();
        let (stop, ended) = (self.stop.clone(), self.ended.clone());
        let work = async move {
            let once =
                || TroupeError::new(ErrorCode::InternalError, "the server is already running");
            let server = Endpoint::open(config.ok_or_else(once)??).await?;
            let url = server.url();
            // Owned by the server object: `stop` ends it.
            tokio::spawn(async move { ended.send_replace(Some(server.run(stop).await)) });
            Ok(json!({"url": url}))
        };
        promise(env, async move { outcome(work.await) }, panicked())
    }

    /// Resolves when the server has stopped.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn ended<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let mut ended = self.ended.subscribe();
        let work = async move {
            let ended = ended.wait_for(Option::is_some).await.map(|ended| ended.clone());
            let ended = ended.ok().flatten();
            outcome(
                ended
                    .unwrap_or_else(|| {
                        Err(TroupeError::new(ErrorCode::InternalError, "the server has stopped"))
                    })
                    .map(|()| Value::Null),
            )
        };
        promise(env, work, panicked())
    }

    /// Begins to stop the server. Does not wait until it has stopped.
    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.stop.cancel();
    }
}
