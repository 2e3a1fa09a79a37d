//! Connects to the addresses that the gate allows, and uses the first connection that succeeds.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio::{net::TcpStream, time::Instant};

/// How long a server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(20);
/// How long an address may take before the next one is tried beside it (RFC 8305).
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to one of `addresses`, which are not none.
pub(super) async fn connect(addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut rest = addresses.iter().map(|address| SocketAddr::new(*address, port));
    let over = Instant::now() + TIMEOUT;
    let mut trying = FuturesUnordered::new();
    let mut failure: io::Error = io::ErrorKind::AddrNotAvailable.into();
    loop {
        match rest.next() {
            Some(address) => trying.push(TcpStream::connect(address)),
            None if trying.is_empty() => return Err(failure),
            None => {}
        }
        let patience = if rest.len() == 0 { over } else { over.min(Instant::now() + HEAD_START) };
        match tokio::time::timeout_at(patience, trying.next()).await {
            Ok(Some(Ok(stream))) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Some(Err(error))) => failure = error,
            Ok(None) => {}
            Err(_) if Instant::now() >= over => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

/// The name that browsers have for why no connection came up.
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
    async fn the_first_that_answers_is_taken() {
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
