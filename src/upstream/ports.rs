//! The ports of upstream servers: the server of a session uses the port that the hash of the
//! session's id selects, or the next free one.

use std::{
    collections::HashSet,
    net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};

const BASE: u16 = 20_000;
const SPAN: u16 = 20_000;

/// Returns the first port to try for a session: 20000 plus the first two bytes of the SHA-256 of
/// its id, modulo 20000.
pub(super) fn first_choice(session_id: &str) -> u16 {
    let hash = Sha256::digest(session_id.as_bytes());
    BASE + u16::from_be_bytes([hash[0], hash[1]]) % SPAN
}

/// The ports in use by upstream servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Ports(Arc<Mutex<HashSet<u16>>>);

/// A reserved port. Dropping it frees the port.
#[derive(Debug)]
pub(super) struct Port {
    pub number: u16,
    all: Ports,
}

impl Port {
    /// Returns whether no process listens on the port.
    pub fn is_free(&self) -> bool {
        is_free(self.number)
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        self.all.taken().remove(&self.number);
    }
}

impl Ports {
    fn taken(&self) -> MutexGuard<'_, HashSet<u16>> {
        self.0.lock()
    }

    /// Reserves a free port for the session. Returns `None` if all are taken.
    pub fn take(&self, session_id: &str) -> Option<Port> {
        self.take_free(session_id, is_free)
    }

    fn take_free(&self, session_id: &str, is_free: impl Fn(u16) -> bool) -> Option<Port> {
        let first = first_choice(session_id) - BASE;
        let mut taken = self.taken();
        let number = (0..SPAN)
            .map(|step| BASE + (first + step) % SPAN)
            .find(|port| !taken.contains(port) && is_free(*port))?;
        taken.insert(number);
        Some(Port { number, all: self.clone() })
    }
}

/// Returns whether a server could listen on the port, on both the IPv4 and the IPv6 loopback
/// address.
fn is_free(port: u16) -> bool {
    let can_bind = |address: SocketAddr| match TcpListener::bind(address) {
        Ok(_) => true,
        // Other errors: a machine without IPv6 has no such address.
        Err(error) => error.kind() != std::io::ErrorKind::AddrInUse,
    };
    can_bind((Ipv4Addr::LOCALHOST, port).into()) && can_bind((Ipv6Addr::LOCALHOST, port).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_port_comes_from_the_hash_of_the_session_id() {
        // sha256('abc') begins with ba78: 47736 % 20000.
        assert_eq!(first_choice("abc"), 27_736);
    }

    #[test]
    fn a_port_of_another_process_is_not_used() {
        let ports = Ports::default();
        let number = ports.take("somebody").unwrap().number;
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, number)).unwrap();
        assert_ne!(ports.take("somebody").unwrap().number, number);
    }

    #[test]
    fn a_port_is_free_again_after_the_end_of_its_server() {
        let ports = Ports::default();
        let first = ports.take_free("a", |_| true).unwrap();
        let number = first.number;
        assert_ne!(ports.take_free("a", |_| true).unwrap().number, number);
        drop(first);
        assert_eq!(ports.take_free("a", |_| true).unwrap().number, number);
    }

    #[test]
    fn all_ports_are_found_from_every_start() {
        let ports = Ports::default();
        // Only the ends of the range: all 20,000 ports would take a minute in a debug build.
        let is_free = |port: u16| !(BASE + 100..BASE + SPAN - 100).contains(&port);
        let all: Vec<Port> =
            (0..SPAN).map_while(|session| ports.take_free(&session.to_string(), is_free)).collect();
        assert_eq!(all.len(), 200);
        assert!(ports.take_free("a", is_free).is_none());
    }

    proptest! {
        // Each case is slow: 16 cases take a second.
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn sessions_never_share_a_port(
            ids in proptest::collection::hash_set("[0-9a-f]{8}", 100),
            busy in proptest::collection::hash_set(BASE..BASE + SPAN, 0..500),
        ) {
            let ports = Ports::default();
            let held: Vec<Port> =
                ids.iter().map(|id| ports.take_free(id, |port| !busy.contains(&port)).unwrap()).collect();
            let numbers: HashSet<u16> = held.iter().map(|port| port.number).collect();
            prop_assert_eq!(numbers.len(), ids.len());
            prop_assert!(numbers.iter().all(|port| (BASE..BASE + SPAN).contains(port) && !busy.contains(port)));
        }
    }
}
