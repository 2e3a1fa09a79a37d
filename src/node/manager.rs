//! `SessionManager` for Node: calls tools by name, and lists the sessions.

use std::sync::Arc;

use napi::{
    Env,
    bindgen_prelude::{Function, Object},
    threadsafe_function::ThreadsafeFunctionCallMode,
};
use napi_derive::napi;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::{outcome, panicked, promise, runtime};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    offload,
    session::{CallTurn, Connection, Session, SessionManager},
    tools::{Invocation, Registry},
};

/// The capacity of the queue of events for JavaScript. Further events are dropped.
const EVENTS: usize = 1024;

/// The tools of a manager, which the first call opens, because opening reads and creates files.
pub(super) struct LazyRegistry {
    config: Result<Arc<Config>>,
    opened: OnceCell<Result<Arc<Registry>>>,
}

impl LazyRegistry {
    pub fn new(config: Result<Arc<Config>>) -> Arc<Self> {
        Arc::new(Self { config, opened: OnceCell::new() })
    }

    #[cfg(feature = "testing")]
    pub fn done(registry: Result<Arc<Registry>>) -> Arc<Self> {
        Arc::new(Self { config: Ok(Arc::default()), opened: OnceCell::new_with(Some(registry)) })
    }

    async fn registry(&self) -> Result<Arc<Registry>> {
        let open = async {
            let config = self.config.clone()?;
            let opening = tokio::task::spawn_blocking(|| Registry::open(config));
            let opened = opening.await.map_err(|error| {
                TroupeError::new(
                    ErrorCode::InternalError,
                    format!("cannot open the manager: {error}"),
                )
            })?;
            opened.map(Arc::new)
        };
        self.opened.get_or_init(|| open).await.clone()
    }

    /// Marks the tools as closed, and returns them if they were open.
    async fn close(&self) -> Result<Arc<Registry>> {
        let shut_down = || async {
            Err(TroupeError::new(ErrorCode::BrowserError, "the manager was shut down"))
        };
        self.opened.get_or_init(shut_down).await.clone()
    }

    /// Returns the sessions if the tools are open. Otherwise there are none.
    fn manager(&self) -> Option<Arc<SessionManager>> {
        Some(self.opened.get()?.as_ref().ok()?.manager().clone())
    }

    fn session(&self, id: &str) -> Result<Arc<Session>> {
        match self.manager() {
            Some(manager) => manager.get(id),
            None => Err(TroupeError::new(
                ErrorCode::SessionNotFound,
                format!("there is no session `{id}`"),
            )
            .session(id)),
        }
    }
}

/// A server without a protocol. Its caller is its only client.
#[napi]
pub struct NativeManager {
    pub(super) lazy_registry: Arc<LazyRegistry>,
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
    lazy_registry: Arc<LazyRegistry>,
    connection: Arc<Connection>,
    turn: CallTurn,
    tool: String,
    arguments: String,
) -> Result<Value> {
    let parsed = offload::in_place(arguments.len(), || serde_json::from_str(&arguments));
    let arguments = parsed.map_err(|error| {
        TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("the arguments of `{tool}` are not JSON: {error}"),
        )
    })?;
    let invocation = Invocation {
        full_result: true,
        turn: Some(turn),
        ..Invocation::new(connection, tool, arguments)
    };
    let outcome =
        lazy_registry.registry().await?.call(invocation).await.map_err(|unknown| {
            TroupeError::new(ErrorCode::InvalidParameters, unknown.to_string())
        })?;
    Ok(outcome.result?.into_value())
}

#[napi]
impl NativeManager {
    /// Creates a manager for the configuration. The first call reports errors in it. Opens no file.
    #[napi(constructor, catch_unwind)]
    pub fn new(config: String) -> Self {
        Self {
            lazy_registry: LazyRegistry::new(read_config(&config).map(Arc::new)),
            connection: Arc::default(),
            #[cfg(feature = "testing")]
            clock: None,
        }
    }

    /// Returns the error in a configuration that is detectable without opening a file.
    #[napi(catch_unwind)]
    pub fn check(config: String) -> String {
        outcome(
            read_config(&config)
                .and_then(|config| Registry::check(&Arc::new(config)))
                .map(|()| Value::Null),
        )
    }

    /// Starts the browser.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn initialize<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let (lazy_registry, connection) = (self.lazy_registry.clone(), self.connection.clone());
        let work = async move {
            let started = async {
                let registry = lazy_registry.registry().await?;
                connection.resume_earlier_sessions(registry.manager()).await;
                registry.manager().initialize().await.map(|()| Value::Null)
            };
            outcome(started.await)
        };
        promise(env, work, panicked())
    }

    /// Calls `listener` with each event of the session, as JSON. A listener does not keep the
    /// process alive.
    #[napi(ts_args_type = "id: string, listener: (event: string) => void", catch_unwind)]
    pub fn listen(&self, id: String, listener: Function<'_, String, ()>) -> napi::Result<String> {
        let listener = listener
            .build_threadsafe_function()
            .weak::<true>()
            .max_queue_size::<EVENTS>()
            .build()?;
        let session = match self.lazy_registry.session(&id) {
            Ok(session) => session,
            Err(error) => return Ok(outcome(Err(error))),
        };
        // Owned by the session: it returns at the session's end.
        runtime()?.spawn(async move {
            let of = session.clone();
            let hand_over = move |event| {
                let mut event = json!(event);
                of.secrets.vault().mask_json(&mut event);
                listener.call(event.to_string(), ThreadsafeFunctionCallMode::NonBlocking);
            };
            session.listen(hand_over).await;
        });
        Ok(outcome(Ok(Value::Null)))
    }

    /// Calls a tool. Calls enter the queue of their session in the order in which they are made.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn call<'env>(
        &self,
        env: &'env Env,
        tool: String,
        arguments: String,
    ) -> napi::Result<Object<'env>> {
        let turn = self.connection.arrive();
        let work = call(self.lazy_registry.clone(), self.connection.clone(), turn, tool, arguments);
        promise(env, async move { outcome(work.await) }, panicked())
    }

    /// Returns the description of the session, or null if it is not open.
    #[napi(catch_unwind)]
    pub fn get_session(&self, id: String) -> String {
        outcome(Ok(self
            .lazy_registry
            .session(&id)
            .map_or(Value::Null, |session| json!(session.info()))))
    }

    /// Returns whether the session can be used. If not, returns the error that a call would get.
    #[napi(catch_unwind)]
    pub fn validate_session(&self, id: String) -> String {
        outcome(Ok(match self.lazy_registry.session(&id) {
            Ok(_) => json!({"valid": true}),
            Err(error) => json!({"valid": false, "error": error}),
        }))
    }

    /// Returns the open sessions, the oldest first.
    #[napi(catch_unwind)]
    pub fn list_sessions(&self) -> String {
        let sessions =
            self.lazy_registry.manager().map(|manager| manager.list()).unwrap_or_default();
        outcome(Ok(sessions.iter().map(|session| json!(session.info())).collect()))
    }

    /// Closes every session and the browser.
    #[napi(ts_return_type = "Promise<string>", catch_unwind)]
    pub fn shutdown<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let lazy_registry = self.lazy_registry.clone();
        let work = async move {
            if let Ok(registry) = lazy_registry.close().await {
                registry.manager().shutdown().await;
            }
            outcome(Ok(Value::Null))
        };
        promise(env, work, panicked())
    }
}
