//! Other MCP servers in place of the built-in engine. Each session has its own server process. It
//! starts with the first call of the session, is supervised and restarted, and ends with all its
//! child processes. Independent of sessions and tools.
//!
//! [`Upstreams`] is what the sessions share: the command, the list of tools, the ports.
//! [`Upstream`] is the server of one session: `supervisor` keeps it running by the rules of
//! `health`. `process` starts and ends it, `watchdog` ends it if this process is killed, `client`
//! talks to it over `stdio` or `http`. `content` extracts the data for the record from its results.
//! `state` saves and restores what the server's own tools support.

mod client;
mod command;
mod content;
mod health;
mod http;
mod lines;
mod ports;
mod process;
mod state;
mod stdio;
mod supervisor;
mod upstreams;
mod watchdog;

pub use client::{OnProgress, ProgressReport};
pub use content::PageObservations;
pub use state::{ReplayReport, UpstreamState};
pub use supervisor::{ForwardedResult, Upstream, UpstreamHealth};
pub use upstreams::{UpstreamTool, Upstreams};
