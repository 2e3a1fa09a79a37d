//! Other MCP servers in place of the built-in engine. Each session has its own process. It starts with the
//! session's first call, is supervised and restarted, and ends together with all its child processes. Uses `engine`
//! (console messages), `config` and `error`, not sessions and not tools.
//!
//! [`Upstreams`] is shared by the sessions of a server: the command, the list of tools, the ports. [`Upstream`] is
//! one session's server; `supervisor` keeps it running by the rules of `health`. `process` starts and ends it,
//! `guardian` ends it if this process is killed, `client` speaks to it over `stdio` or `http`. `content` extracts
//! the data for the record from its answers. `state` saves and restores what the server's own tools support.

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
