//! `SessionManager` for Node: the tools by name, and the sessions as they are listed.

use std::sync::Arc;

use napi::{Env, bindgen_prelude::Object};
use napi_derive::napi;
use serde_json::{Value, json};

use super::{outcome, panicked, promise};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    session::Connection,
    tools::{Invocation, Registry},
};

/// A server without a protocol: its caller is the one client.
#[napi]
pub struct NativeManager {
    pub(super) registry: Result<Arc<Registry>>,
    pub(super) connection: Arc<Connection>,
    #[cfg(feature = "testing")]
    pub(super) clock: Option<Arc<crate::session::VirtualClock>>,
}

pub(super) fn read_config(text: &str) -> Result<Config> {
    Config::from_json(text).map_err(|error| {
        TroupeError::new(ErrorCode::InvalidParameters, error.to_string()).detail("reason", "config")
    })
}

async fn call(
    registry: Result<Arc<Registry>>,
    connection: Arc<Connection>,
    tool: String,
    arguments: String,
) -> Result<Value> {
    let arguments = serde_json::from_str(&arguments).map_err(|error| {
        TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("the arguments of `{tool}` are not JSON: {error}"),
        )
    })?;
    let invocation = Invocation { whole: true, ..Invocation::new(connection, tool, arguments) };
    let outcome = registry?
        .call(invocation)
        .await
        .map_err(|unknown| TroupeError::new(ErrorCode::InvalidParameters, unknown.to_string()))?;
    Ok(outcome.result?.into_value())
}

#[napi]
impl NativeManager {
    /// A manager for the configuration; what is wrong with it is told by the first call.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String) -> Self {
        Self {
            registry: read_config(&config).and_then(|config| Registry::open(Arc::new(config))).map(Arc::new),
            connection: Arc::default(),
            #[cfg(feature = "testing")]
            clock: None,
        }
    }

    /// What is wrong with a configuration.
    #[napi(catch_unwind)]
    pub fn check(config: String) -> String {
        outcome(
            read_config(&config).and_then(|config| Registry::check(Arc::new(config))).map(|()| Value::Null),
        )
    }

    /// Starts the browser.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn initialize<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let registry = self.registry.clone();
        let work = async move {
            let started = async { registry?.manager().initialize().await.map(|()| Value::Null) };
            outcome(started.await)
        };
        promise(env, work, panicked())
    }

    /// Calls a tool.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn call<'env>(&self, env: &'env Env, tool: String, arguments: String) -> napi::Result<Object<'env>> {
        let work = call(self.registry.clone(), self.connection.clone(), tool, arguments);
        promise(env, async move { outcome(work.await) }, panicked())
    }

    /// What is told of the session, or null.
    #[napi(catch_unwind)]
    pub fn get_session(&self, id: String) -> String {
        outcome(
            self.registry.clone().map(|registry| {
                registry.manager().get(&id).map_or(Value::Null, |session| json!(session.info()))
            }),
        )
    }

    /// Whether the session can be used, and if not the error that a call would get.
    #[napi(catch_unwind)]
    pub fn validate_session(&self, id: String) -> String {
        outcome(self.registry.clone().map(|registry| match registry.manager().get(&id) {
            Ok(_) => json!({"valid": true}),
            Err(error) => json!({"valid": false, "error": error}),
        }))
    }

    /// The sessions that live, the oldest first.
    #[napi(catch_unwind)]
    pub fn list_sessions(&self) -> String {
        outcome(
            self.registry.clone().map(|registry| {
                registry.manager().list().iter().map(|session| json!(session.info())).collect()
            }),
        )
    }

    /// Closes every session and the browser.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn shutdown<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let registry = self.registry.clone();
        let work = async move {
            if let Ok(registry) = registry {
                registry.manager().shutdown().await;
            }
            outcome(Ok(Value::Null))
        };
        promise(env, work, panicked())
    }
}
