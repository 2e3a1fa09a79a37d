//! The interface between the proxy and the layer that decides which connections are allowed.

use std::{net::IpAddr, sync::Arc};

use super::Resolver;

/// The initiator of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initiator<'a> {
    /// The client, with a navigation tool.
    Client,
    /// The document or worker at this URL.
    Document(&'a str),
    Unknown,
}

/// A connection that a browser requests, before its host name is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionRequest {
    /// Lower case; IPv6 addresses without brackets.
    pub host: String,
    pub port: u16,
    /// Whether the client had navigated to this host and port before the connection was requested.
    pub by_client: bool,
}

impl ConnectionRequest {
    /// Returns the host and port as in a URL.
    pub fn authority(&self) -> String {
        authority(&self.host, self.port)
    }
}

/// `host:port`, with brackets around an IPv6 address.
pub(super) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Decides which hosts the pages of a context may connect to. Called on tasks of the engine: it
/// must not block.
pub trait NetworkPolicy: Send + Sync {
    /// Checks the host of a requested connection. Returns `None` if the host is not allowed at any
    /// address.
    fn check_host(&self, host: &str, port: u16) -> Option<ConnectionRequest>;
    /// Returns the addresses of a host that are allowed. If there are none, the implementation
    /// records that.
    fn allowed_addresses(&self, request: &ConnectionRequest, found: Vec<IpAddr>) -> Vec<IpAddr>;
    /// Records that a connection goes through the user's proxy, so that its address is unknown.
    fn record_proxied_connection(&self);
    /// Returns whether the client has requested private hosts in a context that has connected to
    /// public ones. Then each request must be checked with [`NetworkPolicy::allows_request`].
    fn must_check_requests(&self) -> bool;
    /// Returns whether the client has requested the private host of `url`.
    fn is_requested_by_client(&self, url: &str) -> bool;
    /// Returns whether `initiator` may send a request to the URL `to`.
    fn allows_request(&self, initiator: Initiator<'_>, to: &str) -> bool;
    /// Records a failed connection. `reason` is Chromium's error name (`net::ERR_…`).
    fn record_failure(&self, request: &ConnectionRequest, reason: &'static str);
    fn resolver(&self) -> &Resolver;
}

/// Denies all traffic that belongs to no context.
pub(super) struct DenyAll(Resolver);

impl DenyAll {
    pub fn policy() -> Arc<dyn NetworkPolicy> {
        Arc::new(Self(Resolver::default()))
    }
}

impl NetworkPolicy for DenyAll {
    fn check_host(&self, host: &str, port: u16) -> Option<ConnectionRequest> {
        tracing::debug!(host, port, "denied a connection of the browser itself");
        None
    }

    fn allowed_addresses(&self, _request: &ConnectionRequest, _found: Vec<IpAddr>) -> Vec<IpAddr> {
        Vec::new()
    }

    fn record_proxied_connection(&self) {}

    fn must_check_requests(&self) -> bool {
        false
    }

    fn is_requested_by_client(&self, _url: &str) -> bool {
        false
    }

    fn allows_request(&self, _initiator: Initiator<'_>, _to: &str) -> bool {
        false
    }

    fn record_failure(&self, _request: &ConnectionRequest, _reason: &'static str) {}

    fn resolver(&self) -> &Resolver {
        &self.0
    }
}
