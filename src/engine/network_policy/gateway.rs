//! The proxy of one context. Each context has its own local port, so that the proxy knows the
//! context of each connection. The proxy ends with the context.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use parking_lot::RwLock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{OnceCell, Semaphore},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    ConnectionRequest, Initiator, NetworkPolicy, connect,
    socks::{self, SocksReply},
    upstream_proxy::UpstreamProxy,
};
use crate::{
    config::ContextConfig,
    engine::{EngineError, EngineResult},
};

/// Maximum number of concurrent connections of a context. More wait until one ends. Browsers open
/// fewer.
const MAX_CONNECTIONS: usize = 512;
/// Maximum time for a browser to send its connection request, and for an upstream proxy to reply.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time for a connection to send its first bytes, if they are checked.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of bytes of a connection that are read for the check.
const MAX_FIRST_BYTES: usize = 32 * 1024;
/// Size of the copy buffer in each direction.
const BUFFER_SIZE: usize = 32 * 1024;
/// Pause before the next attempt if no connection can be accepted (no free file descriptors).
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// Intercepts the requests of a context, so that the policy can check each of them.
#[async_trait]
pub trait RequestInterceptor: Send + Sync {
    /// Starts the interception. Returns when every later request is intercepted.
    async fn intercept_requests(&self);
}

/// The SOCKS proxy of a context, or of a browser itself.
pub(in crate::engine) struct Gateway {
    address: SocketAddr,
    state: Arc<GatewayState>,
    _stop: DropGuard,
}

struct GatewayState {
    policy: RwLock<Arc<dyn NetworkPolicy>>,
    upstream: Option<UpstreamProxy>,
    interception: RwLock<Interception>,
}

#[derive(Clone, Default)]
struct Interception {
    by: Vec<Weak<dyn RequestInterceptor>>,
    /// Set when requests are intercepted.
    done: Arc<OnceCell<()>>,
}

impl GatewayState {
    fn policy(&self) -> Arc<dyn NetworkPolicy> {
        self.policy.read().clone()
    }
}

impl Gateway {
    /// Opens a local port. Connections go through the user's own proxy if `config` has one.
    pub async fn open(
        policy: Arc<dyn NetworkPolicy>,
        config: &ContextConfig,
    ) -> EngineResult<Arc<Self>> {
        let upstream = UpstreamProxy::from_config(config)?;
        let no_port = |error: io::Error| {
            EngineError::Refused(format!("cannot open a port for the network proxy: {error}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let stop = CancellationToken::new();
        let state = Arc::new(GatewayState {
            policy: RwLock::new(policy),
            upstream,
            interception: RwLock::default(),
        });
        // Ends with the gateway, as do its connections.
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(
            listener,
            state.clone(),
            stop.clone(),
        )));
        Ok(Arc::new(Self { address, state, _stop: stop.drop_guard() }))
    }

    /// Returns the URL of the proxy (`socks5://127.0.0.1:port`).
    pub fn url(&self) -> String {
        format!("socks5://{}", self.address)
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// `127.0.0.1:port`
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Replaces the policy. Used for the default context, which shares the proxy of the browser.
    pub fn set_policy(&self, policy: Arc<dyn NetworkPolicy>) {
        *self.state.policy.write() = policy;
    }

    /// Adds an object that intercepts requests when a policy needs it.
    pub fn add_interceptor(&self, interceptor: Weak<dyn RequestInterceptor>) {
        let mut interception = self.state.interception.write();
        interception.by.retain(|interceptor| interceptor.strong_count() > 0);
        interception.by.push(interceptor);
        interception.done = Arc::default();
    }

    /// Intercepts the requests of the context from now on.
    pub async fn intercept_requests(&self) {
        self.state.intercept_requests().await;
    }
}

impl GatewayState {
    async fn intercept_requests(&self) {
        let Interception { by, done } = self.interception.read().clone();
        done.get_or_init(|| async {
            let interceptors = by.iter().filter_map(Weak::upgrade);
            join_all(interceptors.map(async |interceptor| interceptor.intercept_requests().await))
                .await;
        })
        .await;
    }
}

async fn accept(listener: TcpListener, state: Arc<GatewayState>, stop: CancellationToken) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((browser, _)) => {
                let (state, stop) = (state.clone(), stop.clone());
                tokio::spawn(async move {
                    let _permit = permit;
                    tokio::select! {
                        outcome = serve(browser, &state) => {
                            if let Err(error) = outcome {
                                tracing::trace!(%error, "a connection of a page ended");
                            }
                        }
                        () = stop.cancelled() => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection of a page");
                tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
            }
        }
    }
}

/// Serves one connection until it ends.
async fn serve(mut browser: TcpStream, state: &GatewayState) -> io::Result<()> {
    browser.set_nodelay(true)?;
    let request = tokio::time::timeout(HANDSHAKE_TIMEOUT, socks::read(&mut browser)).await;
    let (host, port) = request.map_err(|_| io::ErrorKind::TimedOut)??;
    let policy = state.policy();
    let Some(request) = policy.check_host(&host, port) else {
        return socks::reply(&mut browser, SocksReply::NotAllowed).await;
    };
    let server = match connect(state, &*policy, &request).await {
        Ok(Some(server)) => server,
        Ok(None) => return socks::reply(&mut browser, SocksReply::NotAllowed).await,
        Err(reason) => {
            policy.record_failure(&request, reason);
            return socks::reply(&mut browser, SocksReply::Failed).await;
        }
    };
    if policy.must_check_requests() {
        state.intercept_requests().await;
    }
    socks::reply(&mut browser, SocksReply::Connected).await?;
    let mut first_bytes = Vec::new();
    if request.by_client && policy.must_check_requests() {
        let read = tokio::time::timeout(
            FIRST_BYTES_TIMEOUT,
            read_first_bytes(&mut browser, &mut first_bytes),
        )
        .await;
        read.map_err(|_| io::ErrorKind::TimedOut)??;
        if !allows_first_bytes(&*policy, &request, &first_bytes) {
            return Ok(());
        }
    }
    splice(browser, server, &first_bytes).await
}

/// Connects to an address that the policy allows. Returns `None` if it allows none. The error is
/// Chromium's name of the failure (`net::ERR_…`).
async fn connect(
    state: &GatewayState,
    policy: &dyn NetworkPolicy,
    request: &ConnectionRequest,
) -> Result<Option<TcpStream>, &'static str> {
    let local =
        request.host.parse::<std::net::IpAddr>().is_ok() || request.host.ends_with("localhost");
    let upstream = state.upstream.as_ref().filter(|upstream| upstream.applies_to(&request.host));
    if upstream.is_none() || local {
        let found = policy.resolver().addresses(&request.host).await.unwrap_or_default();
        if found.is_empty() {
            return Err("net::ERR_NAME_NOT_RESOLVED");
        }
        let allowed = policy.allowed_addresses(request, found);
        if allowed.is_empty() {
            return Ok(None);
        }
        if upstream.is_none() {
            return connect::connect(&allowed, request.port)
                .await
                .map(Some)
                .map_err(|error| connect::reason(&error));
        }
    }
    match upstream {
        // The user's proxy resolves the name, so the address is unknown here.
        Some(upstream) => {
            policy.record_proxied_connection();
            let connecting = upstream.connect(&request.host, request.port);
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, connecting).await {
                Ok(Ok(stream)) => Ok(Some(stream)),
                Ok(Err(error)) if error.kind() == io::ErrorKind::PermissionDenied => {
                    tracing::warn!("the proxy rejects the credentials of --proxy-server");
                    Err("net::ERR_PROXY_AUTH_REQUESTED")
                }
                Ok(Err(_)) => Err("net::ERR_PROXY_CONNECTION_FAILED"),
                Err(_) => Err("net::ERR_CONNECTION_TIMED_OUT"),
            }
        }
        None => Ok(None),
    }
}

/// Copies in both directions until both have ended. If one connection is reset, the other one is
/// reset too.
async fn splice(
    mut browser: TcpStream,
    mut server: TcpStream,
    first_bytes: &[u8],
) -> io::Result<()> {
    server.write_all(first_bytes).await?;
    let copied = tokio::io::copy_bidirectional_with_sizes(
        &mut browser,
        &mut server,
        BUFFER_SIZE,
        BUFFER_SIZE,
    )
    .await;
    if copied.is_err() {
        for stream in [&browser, &server] {
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
    copied.map(drop)
}

/// Reads the first bytes of a connection: the head of a request, or a TLS ClientHello.
async fn read_first_bytes(browser: &mut TcpStream, first_bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = vec![0; 4096];
    while !is_complete(first_bytes) && first_bytes.len() < MAX_FIRST_BYTES {
        match browser.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => first_bytes.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(())
}

const TLS_HANDSHAKE: u8 = 22;

fn is_complete(first_bytes: &[u8]) -> bool {
    match first_bytes {
        [TLS_HANDSHAKE, _, _, high, low, rest @ ..] => {
            rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
        }
        [TLS_HANDSHAKE, ..] | [] => false,
        head => head.windows(4).any(|end| end == b"\r\n\r\n"),
    }
}

/// Returns whether a connection with these first bytes may go to a private host, in a context that
/// has connected to public ones. Most HTTP requests were intercepted and checked, but WebSockets
/// and the requests of some workers were not. Their headers show their initiator.
fn allows_first_bytes(
    policy: &dyn NetworkPolicy,
    request: &ConnectionRequest,
    first_bytes: &[u8],
) -> bool {
    if first_bytes.first() == Some(&TLS_HANDSHAKE) {
        // Browsers offer HTTP/2 for everything except WebSockets, whose initiator is encrypted.
        let is_socket = !first_bytes.windows(3).any(|protocol| protocol == b"\x02h2");
        return !is_socket
            || policy
                .allows_request(Initiator::Unknown, &format!("wss://{}/", request.authority()));
    }
    let head = String::from_utf8_lossy(first_bytes);
    let header = |name: &str| {
        let mut lines = head.lines().skip(1).take_while(|line| !line.is_empty());
        lines
            .find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)))
    };
    let value = |name: &str| header(name).map(|(_, value)| value.trim());
    let is_socket = header("upgrade").is_some();
    let initiator = match (value("origin").or_else(|| value("referer")), value("sec-fetch-site")) {
        (Some("null"), _) => Initiator::Unknown,
        (Some(from), _) => Initiator::Document(from),
        // A cross-site request without its origin.
        (None, Some("cross-site" | "same-site")) => Initiator::Unknown,
        (None, _) if is_socket => Initiator::Unknown,
        (None, _) => return true,
    };
    policy.allows_request(
        initiator,
        &format!("{}://{}/", if is_socket { "ws" } else { "http" }, request.authority()),
    )
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use parking_lot::Mutex;

    use super::*;
    use crate::engine::network_policy::Resolver;

    /// Allows everything except one host name, the addresses of another one, and all but one
    /// document.
    #[derive(Default)]
    struct TestPolicy {
        resolver: Resolver,
        failed: Mutex<Vec<String>>,
    }

    impl NetworkPolicy for TestPolicy {
        fn check_host(&self, host: &str, port: u16) -> Option<ConnectionRequest> {
            (host != "blocked.localhost").then(|| ConnectionRequest {
                host: host.to_owned(),
                port,
                by_client: true,
            })
        }

        fn allowed_addresses(
            &self,
            request: &ConnectionRequest,
            found: Vec<IpAddr>,
        ) -> Vec<IpAddr> {
            found.into_iter().filter(|_| request.host != "private.localhost").collect()
        }

        fn record_proxied_connection(&self) {}

        fn must_check_requests(&self) -> bool {
            false
        }

        fn is_requested_by_client(&self, _url: &str) -> bool {
            true
        }

        fn allows_request(&self, initiator: Initiator<'_>, _to: &str) -> bool {
            initiator == Initiator::Document("http://private")
        }

        fn record_failure(&self, request: &ConnectionRequest, reason: &'static str) {
            self.failed.lock().push(format!("{} {reason}", request.authority()));
        }

        fn resolver(&self) -> &Resolver {
            &self.resolver
        }
    }

    async fn gateway() -> (Arc<TestPolicy>, Arc<Gateway>) {
        let policy = Arc::<TestPolicy>::default();
        let gateway = Gateway::open(policy.clone(), &ContextConfig::default()).await.unwrap();
        (policy, gateway)
    }

    async fn connection(gateway: &Gateway, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(gateway.address).await?;
        socks::connect(&mut stream, host, port, None).await.map(|()| stream)
    }

    #[tokio::test]
    async fn bytes_and_the_end_of_a_stream_are_forwarded_in_both_directions() {
        let (_, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let mut client = connection(&gateway, "a.localhost", port).await.unwrap();
        let (mut server_side, _) = server.accept().await.unwrap();
        client.write_all(b"question").await.unwrap();
        client.shutdown().await.unwrap();
        let mut received = String::new();
        server_side.read_to_string(&mut received).await.unwrap();
        server_side.write_all(b"answer").await.unwrap();
        drop(server_side);
        let mut answered = String::new();
        client.read_to_string(&mut answered).await.unwrap();
        assert_eq!((received.as_str(), answered.as_str()), ("question", "answer"));
    }

    #[tokio::test]
    async fn denied_hosts_are_not_connected_and_failures_are_recorded() {
        let (policy, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        for host in ["blocked.localhost", "private.localhost"] {
            assert!(connection(&gateway, host, port).await.is_err(), "{host}");
        }
        drop(server);
        assert!(connection(&gateway, "127.0.0.1", port).await.is_err());
        assert_eq!(
            *policy.failed.lock(),
            [format!("127.0.0.1:{port} net::ERR_CONNECTION_REFUSED")]
        );
    }

    #[tokio::test]
    async fn connections_end_with_the_gateway() {
        let (_, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client =
            connection(&gateway, "127.0.0.1", server.local_addr().unwrap().port()).await.unwrap();
        let (mut server_side, _) = server.accept().await.unwrap();
        drop(gateway);
        let mut nothing = Vec::new();
        assert_eq!(server_side.read_to_end(&mut nothing).await.unwrap(), 0);
        let _ = client.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty());
    }

    #[test]
    fn the_first_bytes_of_a_connection_show_its_initiator() {
        let request = ConnectionRequest { host: "localhost".into(), port: 80, by_client: true };
        let allows = |headers: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
            assert!(is_complete(head.as_bytes()));
            allows_first_bytes(&TestPolicy::default(), &request, head.as_bytes())
        };
        for allowed in [
            "",
            "Referer: http://private\r\n",
            "Sec-Fetch-Site: none\r\n",
            "Upgrade: websocket\r\norigin: http://private\r\n",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
        for denied in [
            "Upgrade: websocket\r\n",
            "Upgrade: websocket\r\nOrigin: null\r\n",
            "Origin: http://public\r\n",
            "Referer: http://public/\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
        ] {
            assert!(!allows(denied), "{denied}");
        }
        let hello = |protocols: &[u8]| [&[TLS_HANDSHAKE, 3, 1, 0, 9][..], protocols].concat();
        assert!(allows_first_bytes(
            &TestPolicy::default(),
            &request,
            &hello(b"\x02h2\x08http/1.1")
        ));
        assert!(!allows_first_bytes(&TestPolicy::default(), &request, &hello(b"\x08http/1.1")));
    }
}
