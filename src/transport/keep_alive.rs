//! Detects dead peers by TCP keep-alive and by a limit for unacknowledged data.

use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// The idle time before the first probe.
const IDLE: Duration = Duration::from_secs(30);
/// The interval between probes.
const INTERVAL: Duration = Duration::from_secs(10);
/// The number of unanswered probes after which the system closes the connection.
const PROBES: u32 = 3;
/// How long sent data may stay unacknowledged: `IDLE + PROBES * INTERVAL`.
#[cfg(target_os = "linux")]
const ACKNOWLEDGMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Makes the system close `stream` about a minute after its peer has disappeared, in place of more
/// than eleven.
pub(super) fn watch(stream: &TcpStream) {
    let probes = TcpKeepalive::new().with_time(IDLE).with_interval(INTERVAL).with_retries(PROBES);
    let socket = SockRef::from(stream);
    if let Err(error) = socket.set_tcp_keepalive(&probes) {
        tracing::debug!(%error, "TCP keep-alive could not be turned on for a connection");
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = socket.set_tcp_user_timeout(Some(ACKNOWLEDGMENT_TIMEOUT)) {
        tracing::debug!(%error, "the limit for unacknowledged data could not be set for a connection");
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_dead_peer_is_detected_within_a_minute() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (client, server) =
            tokio::join!(TcpStream::connect(listener.local_addr().unwrap()), listener.accept());
        let stream = server.unwrap().0;
        watch(&stream);
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let idle = socket.tcp_keepalive_time().unwrap();
        let probes =
            socket.tcp_keepalive_interval().unwrap() * socket.tcp_keepalive_retries().unwrap();
        assert_eq!(idle + probes, Duration::from_secs(60));
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_secs(60)));
        drop(client);
    }
}
