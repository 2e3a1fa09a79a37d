//! Decides where the pages of a session may connect, from the server's rules, the hosts that its
//! client has navigated to, and the connections so far.
//!
//! A private host is reachable for a client that navigates to it, and then for the pages of that
//! host. All ports of this machine count as one host. As long as a session has visited private
//! hosts only, checking its connections is enough. Once it has visited public hosts too, each
//! request is checked by [`SessionNetworkPolicy::allows_request`], which knows the initiating page.

use std::{
    collections::{HashSet, VecDeque},
    net::IpAddr,
};

use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use url::Url;

use crate::{
    config::Config,
    engine::{
        self,
        network_policy::{ConnectionRequest, Initiator, Resolver},
    },
    policy::{
        addresses::{AddressSpace, is_local_name, space},
        urls::{Rule, UrlRules, host, host_of, literal},
    },
};

/// Network errors of connections that the proxy has not made.
const NOT_MADE: &[&str] = &[
    "net::ERR_SOCKS_CONNECTION_FAILED",
    "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE",
    "net::ERR_PROXY_CONNECTION_FAILED",
    // Firefox
    "net::ERR_CONNECTION_REFUSED",
];
/// Network error of a request that was blocked.
const BLOCKED: &str = "net::ERR_BLOCKED_BY_CLIENT";

/// Maximum number of remembered failures, which explain why a page did not load.
const MAX_OUTCOMES: usize = 64;

/// Why a connection was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::page) enum ConnectionFailure {
    Refused(Rule),
    /// The browsers' name of the network error.
    Failed(&'static str),
}

/// The network policy of one session.
#[derive(Debug)]
pub struct SessionNetworkPolicy {
    rules: UrlRules,
    resolver: Resolver,
    state: Mutex<PolicyState>,
}

#[derive(Debug, Default)]
struct PolicyState {
    /// Private hosts that the client has navigated to.
    requested: HashSet<String>,
    /// Whether the client has navigated to a host of this machine.
    loopback: bool,
    /// Whether a connection to a public host was made.
    has_public_connection: bool,
    /// The last failures, by `host:port`.
    outcomes: VecDeque<(String, ConnectionFailure)>,
    /// Hosts with blocked and allowed addresses, by `host:port`.
    partial: VecDeque<(String, Rule)>,
}

impl PolicyState {
    fn has_requested(&self, host: &str) -> bool {
        self.requested.contains(host) || self.loopback && is_loopback(host)
    }

    fn grant(&mut self, host: String) {
        self.loopback |= is_loopback(&host);
        self.requested.insert(host);
    }

    fn record(&mut self, authority: String, outcome: ConnectionFailure) {
        if self.outcomes.len() == MAX_OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back((authority, outcome));
    }

    /// Records the rule that blocks some addresses of `authority`; `None` if all are allowed.
    fn record_partial(&mut self, authority: String, refused: Option<Rule>) {
        self.partial.retain(|(known, _)| *known != authority);
        let Some(rule) = refused else { return };
        if self.partial.len() == MAX_OUTCOMES {
            self.partial.pop_front();
        }
        self.partial.push_back((authority, rule));
    }
}

impl SessionNetworkPolicy {
    /// Returns `None` if the pages do not connect through the proxy.
    pub fn new(config: &Config) -> Option<Self> {
        let policy = || Self {
            rules: UrlRules::new(&config.security),
            resolver: Resolver::default(),
            state: Mutex::default(),
        };
        config.routes_pages_through_proxy().then(policy)
    }

    fn state(&self) -> MutexGuard<'_, PolicyState> {
        self.state.lock()
    }

    /// Allows the pages to connect to the host of `url`, which the client navigates to, if it is
    /// private. `intercept` enables the interception of requests.
    pub async fn allow_client_navigation<'a>(
        &self,
        url: &Url,
        intercept: impl Fn() -> BoxFuture<'a, ()>,
    ) {
        let Some(host) = host_of(url).filter(|_| !self.rules.allow_private()) else { return };
        let name = text(&host);
        if self.state().has_requested(&name) {
            return;
        }
        // If the name cannot be resolved, the browser reports that.
        let found = self.resolver.addresses(&name).await.unwrap_or_default();
        let spaces: Vec<AddressSpace> = found.into_iter().map(space).collect();
        if spaces.iter().all(|space| *space == AddressSpace::Public) {
            return;
        }
        loop {
            // Requests are intercepted before the host is allowed, so that no request of a public
            // page reaches it.
            let has_public_connection = self.state().has_public_connection;
            if has_public_connection {
                intercept().await;
            }
            let mut state = self.state();
            if state.has_public_connection == has_public_connection {
                state.grant(name);
                return;
            }
        }
    }

    /// Returns the private hosts that the client has navigated to, sorted.
    pub fn requested_hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self.state().requested.iter().cloned().collect();
        hosts.sort();
        hosts
    }

    /// Adds the hosts that the client had navigated to before the session was resumed. Call it
    /// before the session has pages.
    pub fn grant(&self, hosts: &[String]) {
        let mut state = self.state();
        hosts.iter().for_each(|host| state.grant(host.clone()));
    }

    /// Returns why the last connection for `url` was not made.
    pub(in crate::page) fn outcome(&self, url: &str) -> Option<ConnectionFailure> {
        let url = Url::parse(url).ok()?;
        let authority = authority(&text(&host_of(&url)?), url.port_or_known_default()?);
        let state = self.state();
        state
            .outcomes
            .iter()
            .rev()
            .find(|(known, _)| *known == authority)
            .map(|(_, outcome)| outcome.clone())
    }

    /// Returns why the last connection for `url` was not made. `None` unless browsers report
    /// `reason` for a connection that the proxy blocked or could not make.
    pub(in crate::page) fn outcome_of(&self, url: &str, reason: &str) -> Option<ConnectionFailure> {
        let word = reason.split(' ').next().unwrap_or_default();
        if word == BLOCKED {
            return self
                .outcome(url)
                .filter(|outcome| matches!(outcome, ConnectionFailure::Refused(_)));
        }
        NOT_MADE.contains(&word).then(|| self.outcome(url)).flatten()
    }

    /// Returns the actual reason for a failed request for `url` if `reason` only says that the
    /// proxy has not made it.
    pub(in crate::page) fn explain(&self, url: &str, reason: String) -> String {
        match self.outcome_of(url, &reason) {
            Some(ConnectionFailure::Refused(rule)) => {
                format!("{BLOCKED} (policy: {})", rule.name())
            }
            Some(ConnectionFailure::Failed(known)) => known.to_owned(),
            None => reason,
        }
    }

    fn refuse(&self, authority: String, rule: Rule) {
        tracing::warn!(authority, rule = rule.name(), "blocked by policy: {rule}");
        self.state().record(authority, ConnectionFailure::Refused(rule));
    }
}

/// Returns whether a host name always means this machine, whatever DNS returns.
fn is_loopback(host: &str) -> bool {
    host.parse::<IpAddr>().map_or_else(|_| is_local_name(host), |address| address.is_loopback())
}

/// Returns the host as connections name it.
fn text(host: &url::Host<String>) -> String {
    literal(host).map_or_else(|| host.to_string(), |address| address.to_string())
}

fn authority(host: &str, port: u16) -> String {
    ConnectionRequest { host: host.to_owned(), port, by_client: false }.authority()
}

impl engine::network_policy::NetworkPolicy for SessionNetworkPolicy {
    fn check_host(&self, name: &str, port: u16) -> Option<ConnectionRequest> {
        let Some(host) = host(name) else {
            tracing::warn!(name, port, "blocked: this is not a valid host");
            return None;
        };
        let name = text(&host);
        if let Err(rule) = self.rules.host(&host) {
            self.refuse(authority(&name, port), rule);
            return None;
        }
        let by_client = self.state().has_requested(&name);
        Some(ConnectionRequest { host: name, port, by_client })
    }

    fn allowed_addresses(&self, target: &ConnectionRequest, found: Vec<IpAddr>) -> Vec<IpAddr> {
        let mut refused = None;
        let admitted: Vec<IpAddr> = found
            .into_iter()
            .filter(|address| match self.rules.address(*address, target.by_client) {
                Ok(()) => true,
                Err(rule) => {
                    refused = Some(rule);
                    false
                }
            })
            .collect();
        match refused {
            Some(rule) if admitted.is_empty() => self.refuse(target.authority(), rule),
            refused => self.state().record_partial(target.authority(), refused),
        }
        if admitted.iter().any(|address| space(*address) == AddressSpace::Public) {
            self.record_proxied_connection();
        }
        admitted
    }

    fn record_proxied_connection(&self) {
        self.state().has_public_connection = true;
    }

    fn must_check_requests(&self) -> bool {
        let state = self.state();
        !self.rules.allow_private() && state.has_public_connection && !state.requested.is_empty()
    }

    fn is_requested_by_client(&self, url: &str) -> bool {
        // A `blob:` URL contains the origin that created it.
        let url = Url::parse(url.strip_prefix("blob:").unwrap_or(url)).ok();
        let host = url.and_then(|url| host_of(&url));
        host.is_some_and(|host| self.state().has_requested(&text(&host)))
    }

    fn allows_request(&self, initiator: Initiator<'_>, to: &str) -> bool {
        // Hosts that are not private are checked when they are connected to.
        let admitted = !self.is_requested_by_client(to)
            || match initiator {
                Initiator::Client => true,
                Initiator::Document(from) => self.is_requested_by_client(from),
                Initiator::Unknown => false,
            };
        if !admitted
            && let Ok(url) = Url::parse(to)
            && let Some(host) = host_of(&url).map(|host| text(&host))
        {
            let authority = authority(&host, url.port_or_known_default().unwrap_or_default());
            self.refuse(authority, Rule::PrivateNetwork(host));
        }
        admitted
    }

    fn record_failure(&self, target: &ConnectionRequest, reason: &'static str) {
        let authority = target.authority();
        let refused = self
            .state()
            .partial
            .iter()
            .find(|(known, _)| *known == authority)
            .map(|(_, rule)| rule.clone());
        match refused {
            // The server may listen only at the address that the policy blocks.
            Some(rule) => self.refuse(authority, rule),
            None => {
                tracing::debug!(authority, reason, "a connection of a page could not be opened");
                self.state().record(authority, ConnectionFailure::Failed(reason));
            }
        }
    }

    fn resolver(&self) -> &Resolver {
        &self.resolver
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::network_policy::NetworkPolicy as _;

    fn policy() -> SessionNetworkPolicy {
        SessionNetworkPolicy::new(&Config::default()).unwrap()
    }

    fn goes(policy: &SessionNetworkPolicy, host: &str) -> bool {
        let Some(target) = policy.check_host(host, 80) else { return false };
        let address = target.host.parse().unwrap_or([127, 0, 0, 1].into());
        !policy.allowed_addresses(&target, vec![address]).is_empty()
    }

    async fn navigate(policy: &SessionNetworkPolicy, url: &str) {
        policy.allow_client_navigation(&Url::parse(url).unwrap(), || Box::pin(async {})).await;
    }

    #[tokio::test]
    async fn all_ports_of_this_machine_count_as_one_host() {
        let policy = policy();
        assert!(
            !goes(&policy, "127.0.0.1")
                && !goes(&policy, "localhost")
                && !goes(&policy, "10.0.0.1")
        );
        navigate(&policy, "http://localhost:3000/").await;
        assert!(
            goes(&policy, "127.0.0.1")
                && goes(&policy, "LOCALHOST.")
                && goes(&policy, "a.localhost")
                && goes(&policy, "::1")
        );
        // The client has not navigated to a name that resolves to this machine.
        assert!(
            !goes(&policy, "rebound.example")
                && !goes(&policy, "0.0.0.0")
                && !goes(&policy, "10.0.0.1")
        );
        navigate(&policy, "http://10.0.0.1/").await;
        assert!(
            goes(&policy, "10.0.0.1")
                && !goes(&policy, "10.0.0.2")
                && goes(&policy, "::ffff:10.0.0.1")
        );
    }

    #[tokio::test]
    async fn a_host_that_was_public_at_the_navigation_does_not_become_private() {
        let policy = policy();
        navigate(&policy, "http://203.0.113.7/").await;
        let target = policy.check_host("203.0.113.7", 80).unwrap();
        assert!(!target.by_client);
        assert_eq!(
            policy.allowed_addresses(&target, vec!["192.168.0.1".parse().unwrap()]),
            Vec::<IpAddr>::new()
        );
        let both = vec!["192.168.0.1".parse().unwrap(), "203.0.113.7".parse().unwrap()];
        assert_eq!(policy.allowed_addresses(&target, both.clone()), both[1..]);
    }

    #[tokio::test]
    async fn a_failed_connection_is_attributed_to_the_policy_if_it_blocks_an_address() {
        let mut config = Config::default();
        config.security.allow_private_network = true;
        config.security.blocked_domains = vec!["127.0.0.1".to_owned()];
        let policy = SessionNetworkPolicy::new(&config).unwrap();
        let target = policy.check_host("localhost", 80).unwrap();
        let both: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(policy.allowed_addresses(&target, both.clone()), both[1..]);
        policy.record_failure(&target, "net::ERR_CONNECTION_REFUSED");
        let Some(ConnectionFailure::Refused(rule)) = policy.outcome("http://localhost/") else {
            panic!("blocked")
        };
        assert_eq!(rule.name(), "blockedDomains");
        // If the name has no blocked address, the policy is not the reason.
        assert_eq!(policy.allowed_addresses(&target, both[1..].to_vec()), both[1..]);
        policy.record_failure(&target, "net::ERR_CONNECTION_REFUSED");
        assert_eq!(
            policy.outcome("http://localhost/"),
            Some(ConnectionFailure::Failed("net::ERR_CONNECTION_REFUSED"))
        );
    }

    #[tokio::test]
    async fn a_resumed_session_keeps_its_allowed_private_hosts() {
        let first = policy();
        for url in ["http://localhost:3000/", "http://10.0.0.1/", "http://203.0.113.7/"] {
            navigate(&first, url).await;
        }
        assert_eq!(first.requested_hosts(), ["10.0.0.1", "localhost"]);
        let resumed = policy();
        resumed.grant(&first.requested_hosts());
        assert!(
            goes(&resumed, "127.0.0.1")
                && goes(&resumed, "10.0.0.1")
                && !goes(&resumed, "10.0.0.2")
        );
    }

    #[tokio::test]
    async fn with_public_and_private_hosts_the_initiator_of_a_request_decides() {
        let policy = policy();
        navigate(&policy, "http://localhost:3000/").await;
        assert!(!policy.must_check_requests());
        policy.record_proxied_connection();
        assert!(policy.must_check_requests());
        let to = "http://127.0.0.1:3000/x";
        assert!(policy.allows_request(Initiator::Client, to));
        assert!(policy.allows_request(Initiator::Document("http://localhost:8080/"), to));
        assert!(!policy.allows_request(Initiator::Document("https://public.example/"), to));
        assert!(
            !policy.allows_request(Initiator::Document("http://127.0.0.1.public.example/"), to)
        );
        assert!(!policy.allows_request(Initiator::Document("about:blank"), to));
        assert!(!policy.allows_request(Initiator::Document("blob:https://public.example/1"), to));
        assert!(policy.allows_request(Initiator::Document("blob:http://localhost:8080/1"), to));
        assert!(!policy.allows_request(Initiator::Unknown, to));
        assert!(policy.allows_request(
            Initiator::Document("https://public.example/"),
            "https://other.example/"
        ));
        let Some(ConnectionFailure::Refused(rule)) = policy.outcome(to) else {
            panic!("it is recorded")
        };
        assert_eq!(rule.name(), "privateNetwork");
    }

    #[tokio::test]
    async fn requests_are_intercepted_before_a_session_with_public_pages_may_use_a_private_host() {
        let policy = policy();
        policy.record_proxied_connection();
        let granted = Mutex::new(None);
        let intercept = || -> BoxFuture<'_, ()> {
            Box::pin(async {
                *granted.lock() = Some(policy.check_host("127.0.0.1", 80).unwrap().by_client)
            })
        };
        policy.allow_client_navigation(&Url::parse("http://127.0.0.1/").unwrap(), intercept).await;
        assert_eq!(*granted.lock(), Some(false));
        assert!(policy.check_host("127.0.0.1", 80).unwrap().by_client);
    }
}
