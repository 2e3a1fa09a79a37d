//! The egress proxy of a browser. Every connection of a context goes through its own proxy, which asks the creator
//! of the context whether the connection is allowed. The layers above decide; this module enforces.
//!
//! The browser is launched with a SOCKS proxy (`gateway`), so that HTTP, WebSockets, prefetches and all other
//! connections of pages arrive in one place, by name. Names are resolved here (`resolve`), and the connection goes
//! to the address that was checked (`dial`), or through the user's own proxy (`upstream`). With SOCKS instead of
//! HTTP, no request is parsed, only bytes are copied, and the browser's own error messages about servers remain
//! unchanged.

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
    asking::{ClientNavigation, Kind, Passed, Stopped, WayOut, Whose},
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
    /// Returns the addresses of a host that are allowed. If there are none, the implementation records that.
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

/// Denies all traffic that belongs to no context.
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
