//! MCP over the tools: what `initialize`, `tools/list` and `tools/call` answer, in both eras of the protocol.
//! rmcp is known here and in `transport` alone.

mod handler;
mod once;
mod render;

pub use handler::{Handler, TurnSlot};
pub use once::call_once;
