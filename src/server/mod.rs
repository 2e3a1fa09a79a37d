//! MCP for the tools and sessions, in both generations of the protocol. Only this module and
//! `transport` use rmcp.
//!
//! [`Server`] is shared by all clients, [`Handler`] serves one client. `resources`, `prompts`,
//! `completion`, `elicitation`, `progress` and `log` implement the other features of MCP.

mod completion;
mod elicitation;
#[cfg(feature = "testing")]
mod fixtures;
mod handler;
mod log;
mod once;
mod progress;
mod prompts;
mod render;
mod resources;
#[expect(clippy::module_inception, reason = "the noun of the folder is its main file")]
mod server;

/// The log filter for rmcp. It logs each error response as a warning, and each client that
/// disconnects early as an error.
pub const LIBRARY_LOG: &str = "rmcp=error,rmcp::service=off,rmcp::transport::worker=off,rmcp::transport::streamable_http_server::tower=off";

pub use elicitation::DashboardLinks;
pub use handler::{Handler, TurnSlot};
pub use once::{CallOutput, call_once, failure_in};
pub use render::without_boundaries;
pub use server::Server;
