//! The tool set of @playwright/mcp: its tools, with the same parameters and results, over the same
//! page layer as the native tools.
//!
//! `tools.json` has the names, parameters and annotations. Each file has the handlers of a group.
//! `response` renders a result as Markdown sections. Uses only native page functions, so that
//! targets, waits and snapshots are those of the native tools.

mod arguments;
mod call;
mod code;
mod console;
mod evaluation;
mod extraction;
mod find;
mod interaction;
mod languages;
mod mouse;
mod navigation;
mod network;
mod output;
mod response;
mod routes;
mod rows;
mod state;
mod storage;
mod tabs;
mod testing;
mod unavailable;

pub(super) use arguments::check;
pub(super) use call::{PlaywrightCall, PlaywrightHandler};
pub(super) use response::{error_text, failure};
pub(super) use rows::tools;
