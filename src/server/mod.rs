//! MCP over the tools and sessions, in both eras of the protocol. rmcp is known here and in `transport` alone.
//!
//! [`Server`] is what all clients of one server share, [`Handler`] answers one of them; `resources`, `prompts`,
//! `completion`, `person` (elicitation), `progress` and `log` are what it offers beside the tools.

mod completion;
#[cfg(feature = "testing")]
mod fixtures;
mod handler;
mod log;
mod once;
mod person;
mod progress;
mod prompts;
mod render;
mod resources;
#[expect(clippy::module_inception, reason = "the noun of the folder is its main file")]
mod server;

/// What the protocol's library may log. It warns of each answer that is an error, and takes it for an error that a client
/// which has gone cannot be answered any more, or goes before it has shaken hands.
pub const LIBRARY_LOG: &str = "rmcp=error,rmcp::service=off,rmcp::transport::worker=off,rmcp::transport::streamable_http_server::tower=off";

pub use handler::{Handler, TurnSlot};
pub use once::call_once;
pub use server::Server;
