//! Bytes in, messages out: how clients reach the server.

mod lines;
mod stdio;

pub use stdio::serve_stdio;
