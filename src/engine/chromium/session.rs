//! A CDP session: sends commands, alone or in batches, and parses events.

use std::{borrow::Cow, sync::Arc};

use chromiumoxide::types::{Command, MethodId};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::engine::{
    EngineError, EngineResult,
    connection::{Batch, BrowserConnection, ConnectionError, PendingCall, read_json},
};

/// One CDP session of a connection (`id` is `None`: the session of the browser itself).
#[derive(Clone)]
pub(super) struct CdpSession {
    pub connection: BrowserConnection,
    pub id: Option<Arc<str>>,
}

impl CdpSession {
    /// Returns the session of the browser itself, on the same connection.
    pub fn browser(&self) -> Self {
        Self { connection: self.connection.clone(), id: None }
    }

    /// Returns the session `id` on the same connection.
    pub fn sibling(&self, id: Arc<str>) -> Self {
        Self { connection: self.connection.clone(), id: Some(id) }
    }

    /// Sends a command and returns its response.
    pub async fn execute<T: DeserializeOwned>(&self, command: impl Command) -> EngineResult<T> {
        Ok(self.post(command)?.read().await?)
    }

    /// Sends a command and waits for its response.
    pub async fn run(&self, command: impl Command) -> EngineResult<()> {
        self.post(command)?.raw().await?;
        Ok(())
    }

    /// Sends a command. The caller may drop its response.
    pub fn post(&self, command: impl Command) -> EngineResult<PendingCall> {
        Ok(self.connection.send(self.id.as_ref(), method(&command), &command)?)
    }

    /// Starts a batch of commands.
    pub fn batch(&self) -> CommandBatch<'_> {
        CommandBatch { inner: self.connection.batch(self.id.clone()) }
    }
}

/// A command with untyped parameters, which returns data of the browser unchanged.
#[derive(Debug, serde::Serialize)]
#[serde(transparent)]
pub(super) struct RawCommand {
    #[serde(skip)]
    pub method: &'static str,
    pub params: serde_json::Value,
}

impl chromiumoxide::types::Method for RawCommand {
    fn identifier(&self) -> MethodId {
        Cow::Borrowed(self.method)
    }
}

impl Command for RawCommand {
    type Response = serde_json::Value;
}

/// Commands that are sent together.
pub(super) struct CommandBatch<'a> {
    inner: Batch<'a>,
}

impl CommandBatch<'_> {
    /// Adds a command.
    pub fn add(&mut self, command: impl Command) -> EngineResult<()> {
        Ok(self.inner.add(method(&command), &command)?)
    }

    /// Sends the commands and waits for every response. Fails with the first error.
    pub async fn run(self) -> EngineResult<()> {
        Ok(self.inner.run().await?)
    }

    /// Sends the commands and returns their pending responses in order.
    pub fn send(self) -> EngineResult<Vec<PendingCall>> {
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

impl From<ConnectionError> for EngineError {
    fn from(error: ConnectionError) -> Self {
        match error {
            ConnectionError::Closed => Self::BrowserGone,
            ConnectionError::TargetGone { .. } => Self::PageGone,
            ConnectionError::Refused { ref message, .. } if is_document_gone(message) => {
                Self::DocumentGone
            }
            ConnectionError::Refused { ref message, .. }
                if message.contains("Session with given id not found") =>
            {
                Self::PageGone
            }
            ConnectionError::Refused { ref message, .. } if message.contains("Target crashed") => {
                Self::PageCrashed
            }
            other => Self::Refused(other.to_string()),
        }
    }
}

/// Returns whether this is Chromium's message for a call whose document was replaced by a
/// navigation.
fn is_document_gone(message: &str) -> bool {
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

/// Parses the parameters of an event. If they do not have the expected form, logs that and returns
/// `None`.
pub(super) fn parse_event<T: DeserializeOwned>(method: &str, params: &RawValue) -> Option<T> {
    read_json(params.get())
        .inspect_err(|error| tracing::warn!(method, %error, "cannot parse an event of the browser"))
        .ok()
}
