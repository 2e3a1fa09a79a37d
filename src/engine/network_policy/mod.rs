//! The egress proxy of a browser. Each context has its own proxy, which enforces the context's
//! [`NetworkPolicy`]. The layers above implement the policy.
//!
//! The browser is launched with a SOCKS proxy (`gateway`), so that HTTP, WebSockets, prefetches and
//! all other connections of pages arrive in one place, by host name. `resolver` resolves the names.
//! `connect` connects to the address that was checked, or `upstream_proxy` connects through the
//! user's own proxy. SOCKS copies bytes and parses no requests, so the browser's own error messages
//! about servers remain unchanged.

mod connect;
mod credentials;
mod egress;
mod gateway;
mod initiator;
mod policy;
mod request_check;
mod resolver;
mod socks;
mod upstream_proxy;

pub(super) use self::{
    egress::Egress,
    gateway::Gateway,
    initiator::{ClientNavigation, InterceptedRequest, RequestInitiator, document_url},
    request_check::{DocumentUrls, RequestCheck},
    upstream_proxy::UpstreamProxy,
};
pub use self::{
    gateway::RequestInterceptor,
    policy::{ConnectionRequest, Initiator, NetworkPolicy},
    resolver::Resolver,
};
