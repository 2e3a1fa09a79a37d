//! The backends of sessions: Troupe's own browsers, or an upstream server for each session.

mod browsers;
mod pool;
mod upstreams;

pub use browsers::Browsers;
