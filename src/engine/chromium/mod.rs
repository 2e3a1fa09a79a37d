//! Chromium by the DevTools Protocol, over our own wire. `chromiumoxide` gives the typed commands; events and
//! answers are read leniently by structs of our own, since a browser newer than the types must still work.
//!
//! `launch` starts and ends the process, `browser` routes its targets, `page/` does what the traits ask,
//! `events` and `requests` turn CDP's events into [`PageEvent`](super::PageEvent)s, `network` keeps a context's
//! rules up in all its sessions, `workers` lets workers in on them; `input`, `emulation`, `cookies` are tables.

mod browser;
mod console;
mod cookies;
mod emulation;
mod events;
mod input;
mod launch;
mod network;
mod page;
mod requests;
mod workers;

use std::{borrow::Cow, sync::Arc};

use async_trait::async_trait;
use chromiumoxide::types::{Command, MethodId};
use serde::de::DeserializeOwned;

use super::{
    Browser, Engine, EngineError, EngineResult, process,
    wire::{Sent, Wire, WireError},
};
use crate::config::Config;

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

/// One CDP session on the wire (`None`: the browser itself).
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

/// A command whose parameters the typed ones do not fit (what the browser gave is given back as it is).
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
    inner: super::wire::Batch<'a>,
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
            WireError::Refused { ref message, .. } if message.contains("Session with given id not found") => {
                Self::PageGone
            }
            WireError::Refused { ref message, .. } if message.contains("Target crashed") => Self::PageCrashed,
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
