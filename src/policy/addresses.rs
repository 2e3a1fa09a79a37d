//! Classifies IP addresses as public, loopback or private.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The network that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    Public,
    /// The loopback addresses of this machine.
    Loopback,
    /// Every other address that is not routed on the public internet: private networks, link-local
    /// addresses (with the metadata services of clouds), multicast and reserved addresses.
    Private,
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length))
}

const fn v6(first: u16, second: u16, length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(first, second, 0, 0, 0, 0, 0, 0), length))
}

/// The entries of IANA's special-purpose registries that are not globally reachable.
const PRIVATE: &[IpNet] = &[
    v4(10, 0, 0, 0, 8),
    v4(100, 64, 0, 0, 10),
    v4(169, 254, 0, 0, 16),
    v4(172, 16, 0, 0, 12),
    v4(192, 0, 0, 0, 24),
    v4(192, 168, 0, 0, 16),
    v4(198, 18, 0, 0, 15),
    v4(224, 0, 0, 0, 4),
    v4(240, 0, 0, 0, 4),
    // IPv6 addresses that contain an IPv4 address and are translated.
    v6(0x64, 0xff9b, 32),
    v6(0x2001, 0, 32),
    v6(0x2002, 0, 16),
    v6(0xfc00, 0, 7),
    v6(0xfe80, 0, 9),
    v6(0xff00, 0, 8),
    // The rest of 1::/16 and below, with `::` and the old IPv4-compatible addresses.
    v6(0, 0, 16),
];

/// The addresses that a socket connects to this machine, including the unspecified address.
const LOOPBACK: &[IpNet] = &[v4(127, 0, 0, 0, 8), v4(0, 0, 0, 0, 8)];

/// Classifies `address`. An IPv4-mapped IPv6 address is classified by its IPv4 address.
pub fn space(address: IpAddr) -> AddressSpace {
    let address = address.to_canonical();
    let within = |nets: &[IpNet]| nets.iter().any(|net| net.contains(&address));
    if address.is_loopback() || address.is_unspecified() || within(LOOPBACK) {
        AddressSpace::Loopback
    } else if within(PRIVATE) {
        AddressSpace::Private
    } else {
        AddressSpace::Public
    }
}

/// Returns whether a name always resolves to this machine (RFC 6761).
pub fn is_local_name(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_classified_by_the_registries_of_iana() {
        let cases: &[(AddressSpace, &[&str])] = &[
            (
                AddressSpace::Loopback,
                &[
                    "127.0.0.1",
                    "127.255.0.9",
                    "0.0.0.0",
                    "0.1.2.3",
                    "::1",
                    "::",
                    "::ffff:127.0.0.1",
                ],
            ),
            (
                AddressSpace::Private,
                &[
                    "10.0.0.1",
                    "100.64.0.1",
                    "100.127.255.255",
                    "169.254.169.254",
                    "172.16.0.1",
                    "172.31.255.255",
                    "192.0.0.1",
                    "192.168.1.1",
                    "198.18.0.1",
                    "224.0.0.251",
                    "239.255.255.250",
                    "240.0.0.1",
                    "255.255.255.255",
                    "fc00::1",
                    "fd12:3456::1",
                    "fe80::1",
                    "fec0::1",
                    "ff02::1",
                    "::ffff:10.0.0.1",
                    "::ffff:169.254.169.254",
                    "::10.0.0.1",
                    "64:ff9b::7f00:1",
                    "64:ff9b:1::a00:1",
                    "2002:7f00:1::",
                    "2001:0:4136:e378:8000:63bf:3fff:fdd2",
                ],
            ),
            (
                AddressSpace::Public,
                &[
                    "1.1.1.1",
                    "8.8.8.8",
                    "9.255.255.255",
                    "11.0.0.0",
                    "100.63.255.255",
                    "100.128.0.0",
                    "126.255.0.1",
                    "128.0.0.1",
                    "169.253.0.1",
                    "169.255.0.1",
                    "172.15.0.1",
                    "172.32.0.1",
                    "192.0.2.1",
                    "192.167.0.1",
                    "198.20.0.1",
                    "203.0.113.1",
                    "223.255.255.255",
                    "2606:4700::1111",
                    "2a00::1",
                    "::ffff:8.8.8.8",
                ],
            ),
        ];
        for (expected, addresses) in cases {
            for address in *addresses {
                assert_eq!(space(address.parse().unwrap()), *expected, "{address}");
            }
        }
    }

    #[test]
    fn only_whole_names_mean_this_machine() {
        assert!(is_local_name("localhost") && is_local_name("a.b.localhost"));
        assert!(!is_local_name("localhost.example") && !is_local_name("notlocalhost"));
    }
}
