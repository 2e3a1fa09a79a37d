//! Connects to the addresses that the policy allows, and uses the first connection that succeeds.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{net::TcpStream, time::Instant};

/// Maximum time for a server to accept the connection.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Delay before the next address is tried in parallel (RFC 8305).
const ATTEMPT_DELAY: Duration = Duration::from_millis(250);

/// Connects to one of `addresses`.
pub(super) async fn connect(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut rest = addresses.iter().map(|address| SocketAddr::new(*address, port));
    let deadline = Instant::now() + TIMEOUT;
    let mut trying = FuturesUnordered::new();
    let mut failure: io::Error = io::ErrorKind::AddrNotAvailable.into();
    loop {
        match rest.next() {
            Some(address) => trying.push(TcpStream::connect(address)),
            None if trying.is_empty() => return Err(failure),
            None => {}
        }
        let next_attempt =
            if rest.len() == 0 { deadline } else { deadline.min(Instant::now() + ATTEMPT_DELAY) };
        match tokio::time::timeout_at(next_attempt, trying.next()).await {
            Ok(Some(Ok(stream))) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Some(Err(error))) => failure = error,
            Ok(None) => {}
            Err(_) if Instant::now() >= deadline => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// Chromium's name for the reason why a connection failed.
pub(super) fn reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "net::ERR_CONNECTION_REFUSED",
        io::ErrorKind::ConnectionReset => "net::ERR_CONNECTION_RESET",
        io::ErrorKind::TimedOut => "net::ERR_CONNECTION_TIMED_OUT",
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::AddrNotAvailable => "net::ERR_ADDRESS_UNREACHABLE",
        _ => "net::ERR_CONNECTION_FAILED",
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn the_first_address_that_accepts_is_used() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let addresses = ["127.0.0.2", "::1", "127.0.0.1"].map(|text| text.parse().unwrap());
        let stream = connect(&addresses, port).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap().ip(), addresses[2]);
        drop(listener);
        let error = connect(&addresses, port).await.unwrap_err();
        assert_eq!(reason(&error), "net::ERR_CONNECTION_REFUSED");
    }
}
