//! Chromium over the DevTools Protocol, with Troupe's own connection. `chromiumoxide` has the types of the
//! commands. Events and answers are parsed leniently into Troupe's own structs, so that browsers newer than these
//! types work.
//!
//! `launch` starts and ends the process with the arguments of `switches`. `browser` routes its targets. `page/`
//! implements the traits. `events` and `requests` convert CDP's events into [`PageEvent`](super::PageEvent)s.
//! `network` applies a context's rules in all its CDP sessions, and `workers` attaches workers to it. `input`,
//! `mac_commands`, `emulation` and `cookies` are tables.

mod browser;
mod console;
mod cookies;
mod emulation;
mod events;
mod input;
mod launch;
mod mac_commands;
mod network;
mod page;
mod requests;
mod switches;
mod workers;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use chromiumoxide::types::{Command, MethodId};
use serde::de::DeserializeOwned;

use super::{
    Browser, Capabilities, Engine, EngineError, EngineResult,
    connection::{Sent, Wire, WireError},
    process,
};
use crate::config::Config;

const CAPABILITIES: Capabilities = Capabilities {
    mocks: true,
    closed_shadow_roots: true,
    calls_during_input: true,
    combined_clicks: false,
};

/// Starts Chromium and its relatives, or attaches to one that runs.
pub struct Chromium {
    config: Arc<Config>,
}

impl Chromium {
    pub fn new(config: Arc<Config>) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Engine for Chromium {
    async fn launch(&self) -> EngineResult<Arc<dyn Browser>> {
        let process = match &self.config.browser_endpoint {
            Some(endpoint) => launch::attach(endpoint).await?,
            None => process::beside_sweep(launch::launch(&self.config)).await?,
        };
        Ok(browser::ChromiumBrowser::open(process, self.config.clone()).await?)
    }
}

/// One CDP session of the connection (`None`: the browser itself).
#[derive(Clone)]
struct Link {
    wire: Wire,
    session: Option<Arc<str>>,
}

impl Link {
    /// Writes a command and waits for its answer.
    async fn execute<T: DeserializeOwned>(&self, command: impl Command) -> EngineResult<T> {
        Ok(self.post(command)?.read().await?)
    }

    /// Writes a command and waits until it is done.
    async fn run(&self, command: impl Command) -> EngineResult<()> {
        self.post(command)?.raw().await?;
        Ok(())
    }

    /// Writes a command; its answer may be dropped.
    fn post(&self, command: impl Command) -> EngineResult<Sent> {
        Ok(self.wire.send(self.session.as_ref(), method(&command), &command)?)
    }

    fn batch(&self) -> CommandBatch<'_> {
        CommandBatch { inner: self.wire.batch(self.session.clone()) }
    }
}

/// A command for which the typed parameters do not fit (data of the browser is sent back unchanged).
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
struct RawCommand {
    #[serde(skip)]
    method: &'static str,
    params: serde_json::Value,
}

impl chromiumoxide::types::Method for RawCommand {
    fn identifier(&self) -> MethodId {
        Cow::Borrowed(self.method)
    }
}

impl Command for RawCommand {
    type Response = serde_json::Value;
}

/// Commands that are written together.
struct CommandBatch<'a> {
    inner: super::connection::Batch<'a>,
}

impl CommandBatch<'_> {
    fn add(&mut self, command: impl Command) -> EngineResult<()> {
        Ok(self.inner.add(method(&command), &command)?)
    }

    async fn run(self) -> EngineResult<()> {
        Ok(self.inner.run().await?)
    }

    fn send(self) -> EngineResult<Vec<Sent>> {
        Ok(self.inner.send()?)
    }
}

fn method(command: &impl Command) -> &'static str {
    let name: MethodId = command.identifier();
    match name {
        Cow::Borrowed(name) => name,
        // The generated identifiers are constants; an owned one cannot occur.
        Cow::Owned(_) => "",
    }
}

impl From<WireError> for EngineError {
    fn from(error: WireError) -> Self {
        match error {
            WireError::Closed => Self::BrowserGone,
            WireError::TargetGone { .. } => Self::PageGone,
            WireError::Refused { ref message, .. } if document_gone(message) => Self::DocumentGone,
            WireError::Refused { ref message, .. }
                if message.contains("Session with given id not found") =>
            {
                Self::PageGone
            }
            WireError::Refused { ref message, .. } if message.contains("Target crashed") => {
                Self::PageCrashed
            }
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Chromium's words for "a navigation took the document away under the call".
fn document_gone(message: &str) -> bool {
    [
        "Execution context was destroyed",
        "Cannot find context with specified id",
        "Inspected target navigated or closed",
        "uniqueContextId not found",
        "Cannot find execution context",
        "No frame for given id found",
        "No frame with given id found",
        "Frame with the given id was not found",
    ]
    .iter()
    .any(|known| message.contains(known))
}
