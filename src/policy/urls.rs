//! The hosts and addresses that pages may reach, as pure logic: this module does not resolve,
//! connect or wait.

use std::{fmt, net::IpAddr};

use url::{Host, Url};

use super::addresses::{AddressSpace, space};
use crate::{
    config::SecurityConfig,
    error::{ErrorCode, TroupeError},
};

/// The rule that blocks a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Rule {
    Scheme(String),
    AllowedDomains,
    BlockedDomains(String),
    /// The address is private, and the client has not navigated to it.
    PrivateNetwork(String),
}

impl Rule {
    /// Returns the value of `details.rule`.
    pub fn name(&self) -> String {
        match self {
            Self::Scheme(scheme) => format!("scheme:{scheme}"),
            Self::AllowedDomains => "allowedDomains".to_owned(),
            Self::BlockedDomains(_) => "blockedDomains".to_owned(),
            Self::PrivateNetwork(_) => "privateNetwork".to_owned(),
        }
    }

    /// Returns the suggestion for the error of a call.
    fn suggestion(&self) -> &'static str {
        match self {
            Self::Scheme(scheme) => match scheme.as_str() {
                "file" => {
                    "serve the file over HTTP and pass that `url`, or start the server with --allow-file-access"
                }
                "javascript" => "run scripts with `evaluate`",
                _ => "open an http: or https: URL",
            },
            Self::AllowedDomains => {
                "use an allowed domain, or ask the user to add this one to --allowed-domains"
            }
            Self::BlockedDomains(_) => {
                "use another domain, or ask the user to remove this one from --blocked-domains"
            }
            Self::PrivateNetwork(_) => {
                "navigate there yourself if you intend it, in a separate session; \
                 --allow-private-network allows it for all pages"
            }
        }
    }

    /// Returns the error of a call that navigates to `url`.
    pub fn error(&self, url: &str) -> TroupeError {
        TroupeError::new(ErrorCode::BlockedByPolicy, format!("`{url}` is blocked: {self}"))
            .detail("rule", self.name())
            .detail("url", url)
            .suggestion(self.suggestion())
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheme(scheme) => write!(f, "`{scheme}:` URLs are not allowed"),
            Self::AllowedDomains => f.write_str("its host is not an allowed domain"),
            Self::BlockedDomains(pattern) => write!(f, "`{pattern}` is a blocked domain"),
            Self::PrivateNetwork(address) => {
                write!(
                    f,
                    "{address} is in a private network, which pages may not reach by themselves"
                )
            }
        }
    }
}

/// One entry of `allowedDomains` or `blockedDomains`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Pattern {
    Any,
    Host(Host<String>),
    /// A domain and all its subdomains: `*.example.com`.
    Below(String),
}

impl Pattern {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        if text == "*" {
            return Some(Self::Any);
        }
        if let Some(domain) = text.strip_prefix("*.") {
            return match host(domain)? {
                Host::Domain(domain) if !domain.contains('*') => Some(Self::Below(domain)),
                _ => None,
            };
        }
        host(text).filter(|host| !host.to_string().contains('*')).map(Self::Host)
    }

    fn fits(&self, host: &Host<String>) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Host(pattern), host) => pattern == host,
            (Self::Below(domain), Host::Domain(host)) => host
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.')),
            (Self::Below(_), _) => false,
        }
    }
}

/// Normalizes a host: lower case, punycode, parsed addresses, without a trailing dot.
pub fn host(text: &str) -> Option<Host<String>> {
    // IPv6 addresses can be written without brackets.
    if let Ok(IpAddr::V6(address)) = text.parse() {
        return Some(plain(Host::Ipv6(address)));
    }
    Host::parse(text).ok().map(plain)
}

fn plain(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(name) => match name.strip_suffix('.') {
            Some(rest) if !rest.is_empty() => Host::Domain(rest.to_owned()),
            _ => Host::Domain(name),
        },
        Host::Ipv6(address) => match IpAddr::V6(address).to_canonical() {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        },
        address @ Host::Ipv4(_) => address,
    }
}

/// Returns the IP address of a host that is written as one.
pub fn literal(host: &Host<String>) -> Option<IpAddr> {
    match host {
        Host::Domain(_) => None,
        Host::Ipv4(address) => Some((*address).into()),
        Host::Ipv6(address) => Some((*address).into()),
    }
}

/// Returns the host of a URL with a network scheme.
pub fn host_of(url: &Url) -> Option<Host<String>> {
    let network = matches!(url.scheme(), "http" | "https" | "ws" | "wss" | "ftp");
    url.host().filter(|_| network).map(|host| plain(host.to_owned()))
}

/// The URL rules of a server.
#[derive(Debug, Clone)]
pub struct UrlRules {
    allowed: Vec<(Pattern, String)>,
    blocked: Vec<(Pattern, String)>,
    allow_private: bool,
    allow_files: bool,
}

impl UrlRules {
    pub fn new(config: &SecurityConfig) -> Self {
        let read = |texts: &[String]| {
            texts
                .iter()
                .filter_map(|text| Some((Pattern::read(text)?, text.trim().to_owned())))
                .collect()
        };
        Self {
            allowed: read(&config.allowed_domains),
            blocked: read(&config.blocked_domains),
            allow_private: config.allow_private_network,
            allow_files: config.allow_file_access,
        }
    }

    /// Checks whether a client can navigate to `url`. Private addresses are allowed here.
    pub fn check(&self, url: &Url) -> Result<(), Rule> {
        let scheme = url.scheme();
        if REFUSED.contains(&scheme) && !(scheme == "file" && self.allow_files) {
            return Err(Rule::Scheme(scheme.to_owned()));
        }
        host_of(url).map_or(Ok(()), |host| self.host(&host))
    }

    /// Checks the name of `host`, before it is resolved.
    pub fn host(&self, host: &Host<String>) -> Result<(), Rule> {
        if let Some((_, text)) = self.blocked.iter().find(|(pattern, _)| pattern.fits(host)) {
            return Err(Rule::BlockedDomains(text.clone()));
        }
        let allowed =
            self.allowed.is_empty() || self.allowed.iter().any(|(pattern, _)| pattern.fits(host));
        if allowed { Ok(()) } else { Err(Rule::AllowedDomains) }
    }

    /// Checks whether a page may connect to `address`, which is in a URL or which a name resolves
    /// to. `is_requested` is whether the client itself requested it.
    pub fn address(&self, address: IpAddr, is_requested: bool) -> Result<(), Rule> {
        let as_host = plain(match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        });
        if let Some((_, text)) = self
            .blocked
            .iter()
            .find(|(pattern, _)| *pattern != Pattern::Any && pattern.fits(&as_host))
        {
            return Err(Rule::BlockedDomains(text.clone()));
        }
        if self.allow_private || is_requested || space(address) == AddressSpace::Public {
            return Ok(());
        }
        Err(Rule::PrivateNetwork(address.to_string()))
    }

    /// Returns whether private addresses are allowed.
    pub fn allow_private(&self) -> bool {
        self.allow_private
    }
}

/// The schemes that give access to the machine or the browser.
const REFUSED: &[&str] = &["file", "view-source", "chrome", "edge", "devtools", "javascript"];

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;

    use super::*;
    use crate::config::Config;

    fn rules(allowed: &[&str], blocked: &[&str]) -> UrlRules {
        let mut config = Config::default().security;
        config.allowed_domains = allowed.iter().map(|&text| text.to_owned()).collect();
        config.blocked_domains = blocked.iter().map(|&text| text.to_owned()).collect();
        let rules = UrlRules::new(&config);
        assert_eq!(
            (rules.allowed.len(), rules.blocked.len()),
            (allowed.len(), blocked.len()),
            "all are read"
        );
        rules
    }

    fn goes(rules: &UrlRules, url: &str) -> bool {
        rules.check(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn schemes_that_access_the_machine_are_rejected() {
        let rules = rules(&[], &[]);
        for url in [
            "file:///etc/passwd",
            "FILE:///x",
            "view-source:http://a/",
            "chrome://version",
            "javascript:1",
            "devtools://x",
        ] {
            assert!(!goes(&rules, url), "{url}");
        }
        for url in ["http://a/", "https://a/", "data:text/html,x", "about:blank", "blob:http://a/1"]
        {
            assert!(goes(&rules, url), "{url}");
        }
    }

    #[test]
    fn files_can_be_allowed() {
        let mut config = Config::default();
        config.security.allow_file_access = true;
        assert!(goes(&UrlRules::new(&config.security), "file:///tmp/a.html"));
    }

    #[test]
    fn a_name_matches_itself_and_a_star_also_matches_subdomains() {
        let rules = rules(&["example.com", "*.wild.example", "10.0.0.1"], &[]);
        for url in [
            "http://example.com/",
            "https://EXAMPLE.com./",
            "http://example.com:8080/x",
            "ws://example.com/",
            "http://wild.example/",
            "http://a.b.wild.example/",
            "http://user:pass@wild.example/",
            "http://10.0.0.1/",
            "http://0xa000001/",
            "http://[::ffff:10.0.0.1]/",
        ] {
            assert!(goes(&rules, url), "{url}");
        }
        for url in [
            "http://a.example.com/",
            "http://example.com.evil/",
            "http://notexample.com/",
            "http://notwild.example/",
            "http://evil/?example.com",
            "http://example.com@evil/",
            "http://10.0.0.2/",
            "http://[::1]/",
        ] {
            assert!(!goes(&rules, url), "{url}");
        }
    }

    #[test]
    fn a_blocked_host_stays_blocked_if_it_is_also_allowed() {
        let rules = rules(&["*.example.com"], &["secret.example.com", "bücher.example"]);
        assert!(goes(&rules, "http://a.example.com/"));
        assert_eq!(
            rules.check(&Url::parse("http://SECRET.example.com").unwrap()),
            Err(Rule::BlockedDomains("secret.example.com".into()))
        );
        assert!(!goes(&rules, "http://xn--bcher-kva.example/"));
    }

    #[test]
    fn only_domains_are_accepted_as_domains() {
        for text in [
            "https://example.com",
            "example.com/x",
            "a.*.com",
            "*",
            "exa mple.com",
            "",
            "*.10.0.0.1",
            "*example.com",
        ] {
            assert_eq!(Pattern::read(text).is_some(), text == "*", "{text}");
        }
    }

    #[test]
    fn a_private_address_is_reachable_for_the_client_that_requested_it() {
        let rules = rules(&[], &["192.168.0.9"]);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        assert_eq!(
            rules.address(address("192.168.0.1"), false),
            Err(Rule::PrivateNetwork("192.168.0.1".to_owned()))
        );
        assert_eq!(rules.address(address("192.168.0.1"), true), Ok(()));
        assert_eq!(rules.address(address("8.8.8.8"), false), Ok(()));
        // A blocked address stays blocked in IPv4-mapped form.
        assert!(rules.address(address("::ffff:192.168.0.9"), true).is_err());
    }

    #[test]
    fn errors_contain_the_rule_and_a_suggestion() {
        let rules = [
            Rule::Scheme("file".into()),
            Rule::AllowedDomains,
            Rule::BlockedDomains("*.ads.example".into()),
            Rule::PrivateNetwork("169.254.169.254".into()),
        ];
        insta::assert_json_snapshot!(rules.map(|rule| rule.error("http://x.example/")));
    }

    /// Writes a part of an IPv4 address in one of the notations that browsers accept.
    fn spelled(value: u64, base: u8) -> String {
        match base {
            0 => value.to_string(),
            1 => format!("0x{value:x}"),
            2 => format!("0X{value:X}"),
            3 => format!("0{value:o}"),
            _ => format!("0x000{value:x}"),
        }
    }

    proptest! {
        /// Notations of IPv4 addresses have one to four parts, each decimal, hexadecimal or octal.
        #[test]
        fn an_address_is_recognized_in_every_notation(
            address in any::<u32>(),
            parts in 1_usize..=4,
            bases in prop::array::uniform4(0_u8..5),
            dot in any::<bool>(),
        ) {
            let octets = address.to_be_bytes();
            let mut spelling: Vec<String> =
                (0..parts - 1).map(|at| spelled(octets[at].into(), bases[at])).collect();
            let rest = octets[parts - 1..].iter().fold(0, |sum, octet| sum << 8 | u64::from(*octet));
            spelling.push(spelled(rest, bases[parts - 1]));
            let spelling = spelling.join(".") + if dot { "." } else { "" };
            let expected = Ipv4Addr::from(address);
            let url = Url::parse(&format!("http://{spelling}/")).unwrap();
            prop_assert_eq!(host_of(&url).as_ref().and_then(literal), Some(IpAddr::V4(expected)));
            let rules = rules(&[], &[&expected.to_string()]);
            prop_assert!(rules.check(&url).is_err());
        }

        #[test]
        fn an_ipv4_mapped_address_is_classified_by_its_ipv4_address(address in any::<u32>()) {
            let address = Ipv4Addr::from(address);
            let url = Url::parse(&format!("http://[::ffff:{address}]/")).unwrap();
            let found = host_of(&url).as_ref().and_then(literal).unwrap();
            prop_assert_eq!(space(found), space(address.into()));
        }

        /// Compares with a second implementation, which compares the labels from the end.
        #[test]
        fn a_star_matches_subdomains(host in "[ab]{1,2}(\\.[ab]{1,2}){0,3}", domain in "[ab]{1,2}(\\.[ab]{1,2}){0,2}") {
            let rules = rules(&[], &[&format!("*.{domain}")]);
            let below = host.split('.').rev().zip(domain.split('.').rev()).filter(|(a, b)| a == b).count()
                == domain.split('.').count()
                && host.split('.').rev().take(domain.split('.').count()).eq(domain.split('.').rev());
            prop_assert_eq!(!goes(&rules, &format!("http://{host}/")), below);
        }

        #[test]
        fn no_url_makes_it_panic(url in ".*") {
            if let Ok(url) = Url::parse(&url) {
                let _ = rules(&["*.a.b"], &["c"]).check(&url);
            }
        }
    }
}
