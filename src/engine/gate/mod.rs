//! The way out of a browser: every connection of a context goes through a gate of its own, which asks whoever made
//! the context where it may lead. What is allowed is decided above; this is how it is held.
//!
//! The browser is launched with a SOCKS proxy of ours (`gateway`), so that HTTP, WebSockets, prefetches and what
//! else pages find to connect with go one way, by name: names are resolved here (`resolve`), and the connection is
//! made to the very address that was looked at (`dial`), through the user's own proxy where there is one
//! (`upstream`). SOCKS rather than HTTP: no request is parsed, nothing is copied but bytes, and the browser's own
//! words for what servers do wrong stay as they are.

mod asking;
mod dial;
mod gateway;
mod resolve;
mod socks;
mod upstream;

use std::{net::IpAddr, sync::Arc};

pub use self::gateway::Stops;
pub use self::resolve::Resolver;
pub(super) use self::{
    asking::{Going, Kind, Passed, Stopped, WayOut, Whose},
    gateway::Gateway,
};

/// Who asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker<'a> {
    /// The client, by a navigation of its own.
    Client,
    /// The document or worker at this URL.
    Document(&'a str),
    Unknown,
}

/// A connection that somebody wants, before its name is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Lower case; addresses of IPv6 without brackets.
    pub host: String,
    pub port: u16,
    /// Whether the client had asked for this place when the connection was wanted.
    pub asked: bool,
}

/// Decides where the pages of a context may go. Called on tasks of the engine: it must not block.
pub trait Gate: Send + Sync {
    /// A connection is wanted; `None` where its host may not be reached at all.
    fn wants(&self, host: &str, port: u16) -> Option<Wanted>;
    /// Those of the addresses of a host that may be connected to; where it is none, that is told here.
    fn addresses(&self, wanted: &Wanted, found: Vec<IpAddr>) -> Vec<IpAddr>;
    /// A connection leads through a proxy, to wherever that takes it.
    fn goes_abroad(&self);
    /// Whether the client has asked for private places in a context that has been to public ones: then each
    /// request must be put to [`Gate::admits`].
    fn is_mixed(&self) -> bool;
    /// Whether the client has asked for the private place of the URL `of`.
    fn is_asked(&self, of: &str) -> bool;
    /// Whether `asker` may send a request to the URL `to`.
    fn admits(&self, asker: Asker<'_>, to: &str) -> bool;
    /// A connection could not be made, for the reason that browsers have this name for.
    fn failed(&self, wanted: &Wanted, reason: &'static str);
    fn resolver(&self) -> &Resolver;
}

/// Stands where nothing may be connected to: for what the browser does that is no context's.
pub(super) struct Closed(Resolver);

impl Closed {
    pub fn gate() -> Arc<dyn Gate> {
        Arc::new(Self(Resolver::default()))
    }
}

impl Gate for Closed {
    fn wants(&self, host: &str, port: u16) -> Option<Wanted> {
        tracing::debug!(host, port, "the browser itself may not connect");
        None
    }

    fn addresses(&self, _wanted: &Wanted, _found: Vec<IpAddr>) -> Vec<IpAddr> {
        Vec::new()
    }

    fn goes_abroad(&self) {}

    fn is_mixed(&self) -> bool {
        false
    }

    fn is_asked(&self, _of: &str) -> bool {
        false
    }

    fn admits(&self, _asker: Asker<'_>, _to: &str) -> bool {
        false
    }

    fn failed(&self, _wanted: &Wanted, _reason: &'static str) {}

    fn resolver(&self) -> &Resolver {
        &self.0
    }
}
