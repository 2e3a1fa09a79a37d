//! Troupe: a browser-automation server with many isolated sessions.
//!
//! Each module uses only modules before it in this list (`tests/layers.rs` checks this):
//!
//! - [`error`]: the public error type and its codes.
//! - [`offload`]: keeps long computations off the async threads.
//! - [`private`]: files and folders that only this user can use.
//! - [`config`]: all options, merged from flags, environment, file and defaults.
//! - [`policy`]: which hosts, files and secrets pages and clients may use.
//! - [`files`]: the files that tools write and read, in folders or in a bucket.
//! - [`engine`]: browsers behind traits, with a folder for each family, and the protocol
//!   connections to them.
//! - [`page`]: a page and its actions, the same in every browser.
//! - [`store`]: the record of every call, and the saved state of sessions.
//! - [`upstream`]: other MCP servers, supervised, in place of the engine.
//! - [`session`]: isolated contexts, their lifetimes and the order of their calls.
//! - [`tools`]: the registry of tools; each is a row of data and a function.
//! - [`server`]: MCP for the tools.
//! - [`export`]: reports and scripts of recorded sessions.
//! - [`dashboard`]: what the dashboard shows, as JSON.
//! - [`transport`]: stdio, HTTP, WebSocket and `--connect`.
//! - [`cli`] and `node`: the command line and the Node addon.

pub mod config;
pub mod dashboard;
pub mod engine;
pub mod error;
pub mod export;
pub mod files;
pub mod offload;
pub mod page;
pub mod policy;
pub mod private;
pub mod server;
pub mod session;
pub mod store;
pub mod tools;
pub mod transport;
pub mod upstream;

pub mod cli;

// Not in tests: Node's symbols exist only in a process in which Node loads the addon.
#[cfg(all(feature = "node", not(test)))]
mod node;

#[cfg(test)]
#[path = "../tests/layers.rs"]
mod layers;
