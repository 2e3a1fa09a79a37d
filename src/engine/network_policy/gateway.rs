//! The proxy of one context. Each context has its own port on this machine, so that the proxy knows the context of
//! each connection. It ends with the context.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Weak},
    time::Duration,
};

use async_trait::async_trait;
use parking_lot::RwLock;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{OnceCell, Semaphore},
};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    Asker, Gate, Wanted, dial,
    socks::{self, Reply},
    upstream::Upstream,
};
use crate::{
    config::ContextConfig,
    engine::{EngineError, EngineResult},
};

/// Connections of a context at once; more wait until one ends. Browsers keep to fewer.
const MOST: usize = 512;
/// How long a browser may take to say where it wants to go: it does so at once.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a connection may take to send its first bytes, if they are checked.
const OPENING: Duration = Duration::from_secs(30);
/// Maximum bytes of a request's head that are read for the check.
const LONGEST_OPENING: usize = 32 * 1024;
/// Bytes that are on their way in each direction.
const BUFFER: usize = 32 * 1024;
/// Pause before the next attempt if no connection can be accepted (no free file descriptors).
const BREATH: Duration = Duration::from_millis(50);

/// Has the browser put each request of a context to the gate.
#[async_trait]
pub trait Stops: Send + Sync {
    /// Returns once it holds for every request from then on.
    async fn stop_requests(&self);
}

pub(in crate::engine) struct Gateway {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stop: DropGuard,
}

struct Shared {
    gate: RwLock<Arc<dyn Gate>>,
    upstream: Option<Upstream>,
    stops: RwLock<Stopping>,
}

#[derive(Clone, Default)]
struct Stopping {
    by: Option<Weak<dyn Stops>>,
    /// Set once requests are put to the gate.
    done: Arc<OnceCell<()>>,
}

impl Shared {
    fn gate(&self) -> Arc<dyn Gate> {
        self.gate.read().clone()
    }
}

impl Gateway {
    /// Opens a port. Behind it can be the user's own proxy.
    pub async fn open(gate: Arc<dyn Gate>, config: &ContextConfig) -> EngineResult<Arc<Self>> {
        let upstream = Upstream::configured(config)?;
        let no_port = |error: io::Error| {
            EngineError::Refused(format!("no port for the pages' connections: {error}"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(no_port)?;
        let address = listener.local_addr().map_err(no_port)?;
        let stop = CancellationToken::new();
        let shared =
            Arc::new(Shared { gate: RwLock::new(gate), upstream, stops: RwLock::default() });
        // Owned by the gateway: ends with it, and its connections too.
        tokio::spawn(stop.clone().run_until_cancelled_owned(accept(
            listener,
            shared.clone(),
            stop.clone(),
        )));
        Ok(Arc::new(Self { address, shared, _stop: stop.drop_guard() }))
    }

    /// As Chromium wants it.
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

    /// Asks `gate` from now on: that of the one context that the browser itself has.
    pub fn ask(&self, gate: Arc<dyn Gate>) {
        *self.shared.gate.write() = gate;
    }

    /// Who has requests put to the gate, once that is needed.
    pub fn stopped_by(&self, stops: Weak<dyn Stops>) {
        let stopping = Stopping { by: Some(stops), done: Arc::default() };
        *self.shared.stops.write() = stopping;
    }

    /// Has requests put to the gate.
    pub async fn stop_requests(&self) {
        self.shared.stop_requests().await;
    }
}

impl Shared {
    async fn stop_requests(&self) {
        let Stopping { by, done } = self.stops.read().clone();
        done.get_or_init(|| async {
            if let Some(stops) = by.and_then(|stops| stops.upgrade()) {
                stops.stop_requests().await;
            }
        })
        .await;
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>, stop: CancellationToken) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((browser, _)) => {
                let (shared, stop) = (shared.clone(), stop.clone());
                tokio::spawn(async move {
                    let _place = place;
                    tokio::select! {
                        outcome = serve(browser, &shared) => {
                            if let Err(error) = outcome {
                                tracing::trace!(%error, "a connection of a page has ended");
                            }
                        }
                        () = stop.cancelled() => {}
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of a page could not be taken");
                tokio::time::sleep(BREATH).await;
            }
        }
    }
}

/// One connection, from its wish to its end.
async fn serve(mut browser: TcpStream, shared: &Shared) -> io::Result<()> {
    browser.set_nodelay(true)?;
    let wish = tokio::time::timeout(HANDSHAKE, socks::read(&mut browser)).await;
    let (host, port) = wish.map_err(|_| io::ErrorKind::TimedOut)??;
    let gate = shared.gate();
    let Some(wanted) = gate.wants(&host, port) else {
        return socks::reply(&mut browser, Reply::NotAllowed).await;
    };
    let server = match connect(shared, &*gate, &wanted).await {
        Ok(Some(server)) => server,
        Ok(None) => return socks::reply(&mut browser, Reply::NotAllowed).await,
        Err(reason) => {
            gate.failed(&wanted, reason);
            return socks::reply(&mut browser, Reply::Failed).await;
        }
    };
    if gate.is_mixed() {
        shared.stop_requests().await;
    }
    socks::reply(&mut browser, Reply::Connected).await?;
    let mut opening = Vec::new();
    if wanted.asked && gate.is_mixed() {
        let read = tokio::time::timeout(OPENING, read_opening(&mut browser, &mut opening)).await;
        read.map_err(|_| io::ErrorKind::TimedOut)??;
        if !may_open(&*gate, &wanted, &opening) {
            return Ok(());
        }
    }
    splice(browser, server, &opening).await
}

/// Connects to where the gate lets it; `None` where that is nowhere, and the browser's name for why it failed.
async fn connect(
    shared: &Shared,
    gate: &dyn Gate,
    wanted: &Wanted,
) -> Result<Option<TcpStream>, &'static str> {
    let local =
        wanted.host.parse::<std::net::IpAddr>().is_ok() || wanted.host.ends_with("localhost");
    let upstream = shared.upstream.as_ref().filter(|upstream| upstream.serves(&wanted.host));
    if upstream.is_none() || local {
        let found = gate.resolver().addresses(&wanted.host).await.unwrap_or_default();
        if found.is_empty() {
            return Err("net::ERR_NAME_NOT_RESOLVED");
        }
        let admitted = gate.addresses(wanted, found);
        if admitted.is_empty() {
            return Ok(None);
        }
        if upstream.is_none() {
            return dial::connect(&admitted, wanted.port)
                .await
                .map(Some)
                .map_err(|error| dial::reason(&error));
        }
    }
    match upstream {
        // Where it leads is the proxy's to say.
        Some(upstream) => {
            gate.goes_abroad();
            let asked = upstream.connect(&wanted.host, wanted.port);
            match tokio::time::timeout(HANDSHAKE, asked).await {
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

/// Copies in both directions until both have ended. A connection that is broken off here is broken off there.
async fn splice(mut browser: TcpStream, mut server: TcpStream, opening: &[u8]) -> io::Result<()> {
    server.write_all(opening).await?;
    let copied =
        tokio::io::copy_bidirectional_with_sizes(&mut browser, &mut server, BUFFER, BUFFER).await;
    if copied.is_err() {
        for stream in [&browser, &server] {
            let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
        }
    }
    copied.map(drop)
}

/// Reads the first bytes of a connection: the head of a request, or a TLS ClientHello.
async fn read_opening(browser: &mut TcpStream, opening: &mut Vec<u8>) -> io::Result<()> {
    let mut chunk = vec![0; 4096];
    while !is_whole(opening) && opening.len() < LONGEST_OPENING {
        match browser.read(&mut chunk).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            read => opening.extend_from_slice(&chunk[..read]),
        }
    }
    Ok(())
}

const TLS_HANDSHAKE: u8 = 22;

fn is_whole(opening: &[u8]) -> bool {
    match opening {
        [TLS_HANDSHAKE, _, _, high, low, rest @ ..] => {
            rest.len() >= usize::from(u16::from_be_bytes([*high, *low]))
        }
        [TLS_HANDSHAKE, ..] | [] => false,
        head => head.windows(4).any(|end| end == b"\r\n\r\n"),
    }
}

/// Whether a connection with these first bytes may go to a private host, in a context that has visited public ones.
/// The browser has asked the gate about most HTTP requests, but not about WebSockets and not about every worker's
/// requests. The headers show the initiator of these.
fn may_open(gate: &dyn Gate, wanted: &Wanted, opening: &[u8]) -> bool {
    if opening.first() == Some(&TLS_HANDSHAKE) {
        // Browsers offer HTTP/2 for everything but WebSockets, and those do not say here whose they are.
        let is_socket = !opening.windows(3).any(|protocol| protocol == b"\x02h2");
        return !is_socket || gate.admits(Asker::Unknown, &format!("wss://{}/", wanted.place()));
    }
    let head = String::from_utf8_lossy(opening);
    let header = |name: &str| {
        let mut lines = head.lines().skip(1).take_while(|line| !line.is_empty());
        lines
            .find_map(|line| line.split_once(':').filter(|(key, _)| key.eq_ignore_ascii_case(name)))
    };
    let value = |name: &str| header(name).map(|(_, value)| value.trim());
    let is_socket = header("upgrade").is_some();
    let asker = match (value("origin").or_else(|| value("referer")), value("sec-fetch-site")) {
        (Some("null"), _) => Asker::Unknown,
        (Some(from), _) => Asker::Document(from),
        // What asks from elsewhere and does not say whence.
        (None, Some("cross-site" | "same-site")) => Asker::Unknown,
        (None, _) if is_socket => Asker::Unknown,
        (None, _) => return true,
    };
    gate.admits(asker, &format!("{}://{}/", if is_socket { "ws" } else { "http" }, wanted.place()))
}

impl Wanted {
    /// The host as in a URL.
    pub fn place(&self) -> String {
        let Self { host, port, .. } = self;
        if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use parking_lot::Mutex;

    use super::*;
    use crate::engine::network_policy::Resolver;

    /// Lets everything through but one name, and one document.
    #[derive(Default)]
    struct Porter {
        resolver: Resolver,
        failed: Mutex<Vec<String>>,
    }

    impl Gate for Porter {
        fn wants(&self, host: &str, port: u16) -> Option<Wanted> {
            (host != "blocked.localhost").then(|| Wanted {
                host: host.to_owned(),
                port,
                asked: true,
            })
        }

        fn addresses(&self, wanted: &Wanted, found: Vec<IpAddr>) -> Vec<IpAddr> {
            found.into_iter().filter(|_| wanted.host != "private.localhost").collect()
        }

        fn goes_abroad(&self) {}

        fn is_mixed(&self) -> bool {
            false
        }

        fn is_asked(&self, _of: &str) -> bool {
            true
        }

        fn admits(&self, asker: Asker<'_>, _to: &str) -> bool {
            asker == Asker::Document("http://private")
        }

        fn failed(&self, wanted: &Wanted, reason: &'static str) {
            self.failed.lock().push(format!("{} {reason}", wanted.place()));
        }

        fn resolver(&self) -> &Resolver {
            &self.resolver
        }
    }

    async fn gateway() -> (Arc<Porter>, Arc<Gateway>) {
        let porter = Arc::<Porter>::default();
        let gateway = Gateway::open(porter.clone(), &ContextConfig::default()).await.unwrap();
        (porter, gateway)
    }

    async fn connection(gateway: &Gateway, host: &str, port: u16) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(gateway.address).await?;
        socks::ask(&mut stream, host, port, None).await.map(|()| stream)
    }

    #[tokio::test]
    async fn bytes_go_both_ways_and_ends_are_passed_on() {
        let (_, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let mut here = connection(&gateway, "a.localhost", port).await.unwrap();
        let (mut there, _) = server.accept().await.unwrap();
        here.write_all(b"question").await.unwrap();
        here.shutdown().await.unwrap();
        let mut asked = String::new();
        there.read_to_string(&mut asked).await.unwrap();
        there.write_all(b"answer").await.unwrap();
        drop(there);
        let mut answered = String::new();
        here.read_to_string(&mut answered).await.unwrap();
        assert_eq!((asked.as_str(), answered.as_str()), ("question", "answer"));
    }

    #[tokio::test]
    async fn what_is_not_let_through_is_not_connected_and_what_fails_is_told() {
        let (porter, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        for host in ["blocked.localhost", "private.localhost"] {
            assert!(connection(&gateway, host, port).await.is_err(), "{host}");
        }
        drop(server);
        assert!(connection(&gateway, "127.0.0.1", port).await.is_err());
        assert_eq!(
            *porter.failed.lock(),
            [format!("127.0.0.1:{port} net::ERR_CONNECTION_REFUSED")]
        );
    }

    #[tokio::test]
    async fn its_connections_end_with_it() {
        let (_, gateway) = gateway().await;
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut here =
            connection(&gateway, "127.0.0.1", server.local_addr().unwrap().port()).await.unwrap();
        let (mut there, _) = server.accept().await.unwrap();
        drop(gateway);
        let mut nothing = Vec::new();
        assert_eq!(there.read_to_end(&mut nothing).await.unwrap(), 0);
        let _ = here.read_to_end(&mut nothing).await;
        assert!(nothing.is_empty());
    }

    #[test]
    fn what_a_connection_is_opened_for_tells_whose_it_is() {
        let wanted = Wanted { host: "localhost".into(), port: 80, asked: true };
        let may = |headers: &str| {
            let head = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
            assert!(is_whole(head.as_bytes()));
            may_open(&Porter::default(), &wanted, head.as_bytes())
        };
        for open in [
            "",
            "Referer: http://private\r\n",
            "Sec-Fetch-Site: none\r\n",
            "Upgrade: websocket\r\norigin: http://private\r\n",
        ] {
            assert!(may(open), "{open}");
        }
        for shut in [
            "Upgrade: websocket\r\n",
            "Upgrade: websocket\r\nOrigin: null\r\n",
            "Origin: http://public\r\n",
            "Referer: http://public/\r\n",
            "Sec-Fetch-Site: cross-site\r\n",
        ] {
            assert!(!may(shut), "{shut}");
        }
        let hello = |protocols: &[u8]| [&[TLS_HANDSHAKE, 3, 1, 0, 9][..], protocols].concat();
        assert!(may_open(&Porter::default(), &wanted, &hello(b"\x02h2\x08http/1.1")));
        assert!(!may_open(&Porter::default(), &wanted, &hello(b"\x08http/1.1")));
    }
}
