//! Decides where the pages of a session may connect: the server's rules, the hosts that its client has navigated
//! to, and the connections that were made.
//!
//! A private host is reachable for a client that navigates to it, and then for the pages of that host. All ports of
//! this machine count as one host. As long as a session has visited private hosts only, checking its connections is
//! enough. Once it has visited public hosts too, each request is checked by [`Gate::allows_request`], which knows the
//! initiating page.

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
        addresses::{Space, is_local_name, space},
        urls::{Rule, UrlRules, host, host_of, literal},
    },
};

/// What browsers say of a connection that the gate has not made.
const NOT_MADE: &[&str] = &[
    "net::ERR_SOCKS_CONNECTION_FAILED",
    "net::ERR_SOCKS_CONNECTION_HOST_UNREACHABLE",
    "net::ERR_PROXY_CONNECTION_FAILED",
    // Firefox's.
    "net::ERR_CONNECTION_REFUSED",
];
/// And of a request that was refused.
const BLOCKED: &str = "net::ERR_BLOCKED_BY_CLIENT";

/// Connections whose outcome is remembered, to say why a page did not load.
const OUTCOMES: usize = 64;

/// What became of a connection that did not come up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Refused(Rule),
    /// By the browsers' name.
    Failed(&'static str),
}

/// The gate of one session.
#[derive(Debug)]
pub struct Gate {
    rules: UrlRules,
    resolver: Resolver,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Private hosts that the client has asked for.
    asked: HashSet<String>,
    /// Whether this machine is among them.
    loopback: bool,
    /// Whether a connection to a public host was made.
    abroad: bool,
    /// The last ones, by `host:port`.
    outcomes: VecDeque<(String, Outcome)>,
    /// Hosts of which some addresses were refused, and others not, by `host:port`.
    partial: VecDeque<(String, Rule)>,
}

impl State {
    fn has_asked_for(&self, host: &str) -> bool {
        self.asked.contains(host) || self.loopback && is_loopback(host)
    }

    fn grant(&mut self, host: String) {
        self.loopback |= is_loopback(&host);
        self.asked.insert(host);
    }

    fn note(&mut self, place: String, outcome: Outcome) {
        if self.outcomes.len() == OUTCOMES {
            self.outcomes.pop_front();
        }
        self.outcomes.push_back((place, outcome));
    }

    /// Notes which rule refuses some addresses of `place`; `None` if all may be connected to.
    fn note_partial(&mut self, place: String, refused: Option<Rule>) {
        self.partial.retain(|(known, _)| *known != place);
        let Some(rule) = refused else { return };
        if self.partial.len() == OUTCOMES {
            self.partial.pop_front();
        }
        self.partial.push_back((place, rule));
    }
}

impl Gate {
    /// `None` if the connections of pages do not go through us.
    pub fn new(config: &Config) -> Option<Self> {
        let gate = || Self {
            rules: UrlRules::new(&config.security),
            resolver: Resolver::default(),
            state: Mutex::default(),
        };
        config.holds_pages().then(gate)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The client asks for `url`: where that is a private place, its pages may go there from now on. `stop` has
    /// requests put to the gate.
    pub async fn ask<'a>(&self, url: &Url, stop: impl Fn() -> BoxFuture<'a, ()>) {
        let Some(host) = host_of(url).filter(|_| !self.rules.allow_private()) else { return };
        let name = text(&host);
        if self.state().has_asked_for(&name) {
            return;
        }
        // The browser reports a name that cannot be resolved.
        let found = self.resolver.addresses(&name).await.unwrap_or_default();
        let spaces: Vec<Space> = found.into_iter().map(space).collect();
        if spaces.iter().all(|space| *space == Space::Public) {
            return;
        }
        loop {
            // Before it is granted: no request of a public page may slip through.
            let abroad = self.state().abroad;
            if abroad {
                stop().await;
            }
            let mut state = self.state();
            if state.abroad == abroad {
                state.grant(name);
                return;
            }
        }
    }

    /// The private hosts that the client has asked for.
    pub fn asked(&self) -> Vec<String> {
        let mut asked: Vec<String> = self.state().asked.iter().cloned().collect();
        asked.sort();
        asked
    }

    /// Adds the hosts that the client of this session has navigated to before it was resumed. It has no pages yet.
    pub fn grant(&self, asked: &[String]) {
        let mut state = self.state();
        asked.iter().for_each(|host| state.grant(host.clone()));
    }

    /// What became of the last connection for `url`, where it did not come up.
    pub(super) fn outcome(&self, url: &str) -> Option<Outcome> {
        let url = Url::parse(url).ok()?;
        let place = place(&text(&host_of(&url)?), url.port_or_known_default()?);
        let state = self.state();
        state
            .outcomes
            .iter()
            .rev()
            .find(|(known, _)| *known == place)
            .map(|(_, outcome)| outcome.clone())
    }

    /// As `outcome`, where `reason` is what browsers say of connections that we have not made, or have refused.
    pub(super) fn outcome_of(&self, url: &str, reason: &str) -> Option<Outcome> {
        let word = reason.split(' ').next().unwrap_or_default();
        if word == BLOCKED {
            return self.outcome(url).filter(|outcome| matches!(outcome, Outcome::Refused(_)));
        }
        NOT_MADE.contains(&word).then(|| self.outcome(url)).flatten()
    }

    /// Why a request for `url` has failed, where the browser only knows that we have not let it through.
    pub(super) fn explain(&self, url: &str, reason: String) -> String {
        match self.outcome_of(url, &reason) {
            Some(Outcome::Refused(rule)) => format!("{BLOCKED} (policy: {})", rule.name()),
            Some(Outcome::Failed(known)) => known.to_owned(),
            None => reason,
        }
    }

    fn refuse(&self, place: String, rule: Rule) {
        tracing::warn!(place, rule = rule.name(), "blocked by policy: {rule}");
        self.state().note(place, Outcome::Refused(rule));
    }
}

/// Whether a host name always means this machine, whatever DNS returns.
fn is_loopback(host: &str) -> bool {
    host.parse::<IpAddr>().map_or_else(|_| is_local_name(host), |address| address.is_loopback())
}

/// As connections name it.
fn text(host: &url::Host<String>) -> String {
    literal(host).map_or_else(|| host.to_string(), |address| address.to_string())
}

fn place(host: &str, port: u16) -> String {
    ConnectionRequest { host: host.to_owned(), port, by_client: false }.authority()
}

impl engine::network_policy::NetworkPolicy for Gate {
    fn check_host(&self, name: &str, port: u16) -> Option<ConnectionRequest> {
        let Some(host) = host(name) else {
            tracing::warn!(name, port, "blocked: this is no host");
            return None;
        };
        let name = text(&host);
        if let Err(rule) = self.rules.host(&host) {
            self.refuse(place(&name, port), rule);
            return None;
        }
        let by_client = self.state().has_asked_for(&name);
        Some(ConnectionRequest { host: name, port, by_client })
    }

    fn allowed_addresses(&self, wanted: &ConnectionRequest, found: Vec<IpAddr>) -> Vec<IpAddr> {
        let mut refused = None;
        let admitted: Vec<IpAddr> = found
            .into_iter()
            .filter(|address| match self.rules.address(*address, wanted.by_client) {
                Ok(()) => true,
                Err(rule) => {
                    refused = Some(rule);
                    false
                }
            })
            .collect();
        match refused {
            Some(rule) if admitted.is_empty() => self.refuse(wanted.authority(), rule),
            refused => self.state().note_partial(wanted.authority(), refused),
        }
        if admitted.iter().any(|address| space(*address) == Space::Public) {
            self.record_proxied_connection();
        }
        admitted
    }

    fn record_proxied_connection(&self) {
        self.state().abroad = true;
    }

    fn must_check_requests(&self) -> bool {
        let state = self.state();
        !self.rules.allow_private() && state.abroad && !state.asked.is_empty()
    }

    fn is_requested_by_client(&self, of: &str) -> bool {
        // A blob is of the origin that has made it.
        let of = Url::parse(of.strip_prefix("blob:").unwrap_or(of)).ok();
        let host = of.and_then(|of| host_of(&of));
        host.is_some_and(|host| self.state().has_asked_for(&text(&host)))
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
            let place = place(&host, url.port_or_known_default().unwrap_or_default());
            self.refuse(place, Rule::PrivateNetwork(host));
        }
        admitted
    }

    fn record_failure(&self, wanted: &ConnectionRequest, reason: &'static str) {
        let place = wanted.authority();
        let refused = self
            .state()
            .partial
            .iter()
            .find(|(known, _)| *known == place)
            .map(|(_, rule)| rule.clone());
        match refused {
            // The address that policy refused may be the one where the server listens.
            Some(rule) => self.refuse(place, rule),
            None => {
                tracing::debug!(place, reason, "a page's connection did not come up");
                self.state().note(place, Outcome::Failed(reason));
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

    fn gate() -> Gate {
        Gate::new(&Config::default()).unwrap()
    }

    fn goes(gate: &Gate, host: &str) -> bool {
        let Some(wanted) = gate.check_host(host, 80) else { return false };
        let address = wanted.host.parse().unwrap_or([127, 0, 0, 1].into());
        !gate.allowed_addresses(&wanted, vec![address]).is_empty()
    }

    async fn ask(gate: &Gate, url: &str) {
        gate.ask(&Url::parse(url).unwrap(), || Box::pin(async {})).await;
    }

    #[tokio::test]
    async fn this_machine_is_one_place_and_every_other_private_host_its_own() {
        let gate = gate();
        assert!(!goes(&gate, "127.0.0.1") && !goes(&gate, "localhost") && !goes(&gate, "10.0.0.1"));
        ask(&gate, "http://localhost:3000/").await;
        assert!(
            goes(&gate, "127.0.0.1")
                && goes(&gate, "LOCALHOST.")
                && goes(&gate, "a.localhost")
                && goes(&gate, "::1")
        );
        // A name that is made to lead here has not been asked for.
        assert!(
            !goes(&gate, "rebound.example") && !goes(&gate, "0.0.0.0") && !goes(&gate, "10.0.0.1")
        );
        ask(&gate, "http://10.0.0.1/").await;
        assert!(
            goes(&gate, "10.0.0.1") && !goes(&gate, "10.0.0.2") && goes(&gate, "::ffff:10.0.0.1")
        );
    }

    #[tokio::test]
    async fn a_name_that_was_public_when_it_was_asked_for_stays_so() {
        let gate = gate();
        ask(&gate, "http://203.0.113.7/").await;
        let wanted = gate.check_host("203.0.113.7", 80).unwrap();
        assert!(!wanted.by_client);
        assert_eq!(
            gate.allowed_addresses(&wanted, vec!["192.168.0.1".parse().unwrap()]),
            Vec::<IpAddr>::new()
        );
        let both = vec!["192.168.0.1".parse().unwrap(), "203.0.113.7".parse().unwrap()];
        assert_eq!(gate.allowed_addresses(&wanted, both.clone()), both[1..]);
    }

    #[tokio::test]
    async fn a_host_fails_by_policy_if_a_blocked_address_is_the_one_that_would_answer() {
        let mut config = Config::default();
        config.security.allow_private_network = true;
        config.security.blocked_domains = vec!["127.0.0.1".to_owned()];
        let gate = Gate::new(&config).unwrap();
        let wanted = gate.check_host("localhost", 80).unwrap();
        let both: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "::1".parse().unwrap()];
        assert_eq!(gate.allowed_addresses(&wanted, both.clone()), both[1..]);
        gate.record_failure(&wanted, "net::ERR_CONNECTION_REFUSED");
        let Some(Outcome::Refused(rule)) = gate.outcome("http://localhost/") else {
            panic!("blocked")
        };
        assert_eq!(rule.name(), "blockedDomains");
        // Once the name has no blocked address any more, failures are the server's.
        assert_eq!(gate.allowed_addresses(&wanted, both[1..].to_vec()), both[1..]);
        gate.record_failure(&wanted, "net::ERR_CONNECTION_REFUSED");
        assert_eq!(
            gate.outcome("http://localhost/"),
            Some(Outcome::Failed("net::ERR_CONNECTION_REFUSED"))
        );
    }

    #[tokio::test]
    async fn what_was_asked_for_holds_in_a_session_that_is_resumed() {
        let first = gate();
        for url in ["http://localhost:3000/", "http://10.0.0.1/", "http://203.0.113.7/"] {
            ask(&first, url).await;
        }
        assert_eq!(first.asked(), ["10.0.0.1", "localhost"]);
        let resumed = gate();
        resumed.grant(&first.asked());
        assert!(
            goes(&resumed, "127.0.0.1")
                && goes(&resumed, "10.0.0.1")
                && !goes(&resumed, "10.0.0.2")
        );
    }

    #[tokio::test]
    async fn where_both_are_there_it_counts_who_asks() {
        let gate = gate();
        ask(&gate, "http://localhost:3000/").await;
        assert!(!gate.must_check_requests());
        gate.record_proxied_connection();
        assert!(gate.must_check_requests());
        let to = "http://127.0.0.1:3000/x";
        assert!(gate.allows_request(Initiator::Client, to));
        assert!(gate.allows_request(Initiator::Document("http://localhost:8080/"), to));
        assert!(!gate.allows_request(Initiator::Document("https://public.example/"), to));
        assert!(!gate.allows_request(Initiator::Document("http://127.0.0.1.public.example/"), to));
        assert!(!gate.allows_request(Initiator::Document("about:blank"), to));
        assert!(!gate.allows_request(Initiator::Document("blob:https://public.example/1"), to));
        assert!(gate.allows_request(Initiator::Document("blob:http://localhost:8080/1"), to));
        assert!(!gate.allows_request(Initiator::Unknown, to));
        assert!(gate.allows_request(
            Initiator::Document("https://public.example/"),
            "https://other.example/"
        ));
        let Some(Outcome::Refused(rule)) = gate.outcome(to) else { panic!("it is remembered") };
        assert_eq!(rule.name(), "privateNetwork");
    }

    #[tokio::test]
    async fn requests_are_stopped_before_a_private_place_is_granted_to_a_session_that_was_abroad() {
        let gate = gate();
        gate.record_proxied_connection();
        let granted = Mutex::new(None);
        let stop = || -> BoxFuture<'_, ()> {
            Box::pin(async {
                *granted.lock() = Some(gate.check_host("127.0.0.1", 80).unwrap().by_client)
            })
        };
        gate.ask(&Url::parse("http://127.0.0.1/").unwrap(), stop).await;
        assert_eq!(*granted.lock(), Some(false));
        assert!(gate.check_host("127.0.0.1", 80).unwrap().by_client);
    }
}
