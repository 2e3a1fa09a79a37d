//! Other MCP servers in place of the built-in engine: one process for each session, started when its first call comes,
//! watched, started again, and ended with everything that it has started. Knows `engine` (what a page logs), `config`,
//! `error`; not sessions, not tools.
//!
//! [`Upstreams`] is what the sessions of a server share: the command, the list of tools, the ports. [`Upstream`] is one
//! session's server; `supervisor` keeps it alive by the rules of `health`. `process` starts and ends it, `guardian` ends
//! it where we are killed, `client` speaks to it over `stdio` or `http`. `content` finds in its answers what the record
//! keeps, `state` saves and brings back what its own tools can.

mod client;
mod command;
mod content;
mod guardian;
mod health;
mod http;
mod lines;
mod ports;
mod process;
mod state;
mod stdio;
mod supervisor;
mod upstreams;

pub use client::{OnProgress, Told};
pub use content::Found;
pub use state::{Kept, Replayed};
pub use supervisor::{Passed, Upstream, Vitals};
pub use upstreams::{Offered, Upstreams};
