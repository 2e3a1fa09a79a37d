//! Troupe: one browser-automation server, many isolated sessions. This is the map of the house.
//!
//! Each module knows only those that come before it in this list (`tests/layers.rs` checks it):
//!
//! - [`error`]: the one error that leaves the house, with its codes.
//! - [`config`]: everything that can be set, merged from flags, environment, file and defaults.
//! - [`policy`]: what a page, a client or a file may do.
//! - [`engine`]: browsers behind traits; a folder for each family, and the wire they are spoken to over.
//! - [`page`]: what a page is and can do, the same in every browser.
//! - [`store`]: the record of every call, and what sessions are resumed from.
//! - [`upstream`]: other MCP servers, supervised, in place of the engine.
//! - [`session`]: isolated contexts, their life and their order.
//! - [`tools`]: the list of tools; each a row of data and a function.
//! - [`server`]: MCP over the tools.
//! - [`transport`]: bytes in, messages out.
//! - [`cli`] and `node`: the two faces.

pub mod config;
pub mod engine;
pub mod error;
pub mod page;
pub mod policy;
pub mod server;
pub mod session;
pub mod store;
pub mod tools;
pub mod transport;
pub mod upstream;

pub mod cli;

// Not in tests: the symbols of Node are there only where Node loads the addon (napi-rs field notes).
#[cfg(all(feature = "node", not(test)))]
mod node;
