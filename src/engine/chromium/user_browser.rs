//! The connection to the user's own running browser (`--attach`).
//!
//! The browser writes the port and the path of its WebSocket to `DevToolsActivePort` in its profile
//! folder. Since Chrome 144 it has no `/json/version`, and asks the user for consent to each
//! connection: the response to the WebSocket's handshake arrives when the user has decided.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use parking_lot::Mutex;
use tokio::net::TcpStream;

use crate::{
    config::{AttachTarget, CHANNELS, Config},
    engine::{
        EngineError, EngineResult,
        connection::{AttachFailure, BrowserAddress, BrowserConnection},
    },
};

/// The file in a profile folder that has the port and the path of the browser's WebSocket.
const PORT_FILE: &str = "DevToolsActivePort";
const TURN_ON: &str =
    "start the browser, open chrome://inspect/#remote-debugging in it, and allow remote debugging";

/// An attempt to connect, or the open connection. It makes progress only while a call waits for it.
/// The browser's dialog stays open in between.
type Attempt = Shared<BoxFuture<'static, Result<BrowserConnection, AttachFailure>>>;

/// The user's browser. All sessions share one connection, because each connection asks the user for
/// consent.
pub(super) struct UserBrowser {
    target: AttachTarget,
    timeout: Duration,
    attempt: Mutex<Option<Attempt>>,
}

impl UserBrowser {
    pub fn of(config: &Config) -> Option<Self> {
        let target = config.attach.clone()?;
        Some(Self { target, timeout: config.attach_timeout, attempt: Mutex::default() })
    }

    /// Returns the open connection. Without one, waits for the attempt that is in progress, or
    /// starts one. After the timeout the attempt continues, and a later call waits for it again.
    pub async fn connection(&self) -> EngineResult<BrowserConnection> {
        let attempt = self.current_or_new();
        match tokio::time::timeout(self.timeout, attempt).await {
            Err(_) => Err(EngineError::AwaitsConsent(self.timeout)),
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(AttachFailure { reason, suggestion, .. })) => Err(EngineError::Launch {
                reason: format!("cannot attach to {}: {reason}", describe(&self.target)),
                suggestion: Some(suggestion.unwrap_or_else(|| TURN_ON.to_owned())),
            }),
        }
    }

    /// Whether the browser has not responded to the attempt yet.
    pub fn awaits_consent(&self) -> bool {
        self.attempt.lock().as_ref().is_some_and(|attempt| attempt.peek().is_none())
    }

    fn current_or_new(&self) -> Attempt {
        let mut current = self.attempt.lock();
        let usable = current.as_ref().filter(|attempt| match attempt.peek() {
            None => true,
            Some(Ok(connection)) => !connection.closed().is_cancelled(),
            Some(Err(_)) => false,
        });
        match usable {
            Some(attempt) => attempt.clone(),
            None => current.insert(connect(self.target.clone()).boxed().shared()).clone(),
        }
    }
}

fn describe(target: &AttachTarget) -> String {
    match target {
        AttachTarget::Running => "a running browser".to_owned(),
        AttachTarget::Channel(channel) => format!("`{}`", channel.name),
        AttachTarget::Port(port) => format!("the browser at port {port}"),
        AttachTarget::Folder(folder) => {
            format!("the browser with the profile folder `{}`", folder.display())
        }
    }
}

async fn connect(target: AttachTarget) -> Result<BrowserConnection, AttachFailure> {
    let url = match endpoint(&target).await? {
        UserBrowserAddress::WebSocket(url) => url,
        // A browser that was started with `--remote-debugging-port` asks for no consent.
        UserBrowserAddress::Http(url) => {
            return BrowserConnection::connect(BrowserAddress::new(&url, &[])?).await;
        }
    };
    tracing::info!("waiting until the user allows the connection in the browser");
    let connected = BrowserConnection::upgrade(BrowserAddress::new(&url, &[])?).await;
    connected.map_err(|failure| AttachFailure {
        reason: format!("the browser has not allowed the connection ({})", failure.reason),
        suggestion: Some(
            "repeat the call, and choose Allow in the browser's dialog about remote debugging"
                .to_owned(),
        ),
        is_permanent: failure.is_permanent,
    })
}

/// The address of a browser.
enum UserBrowserAddress {
    WebSocket(String),
    Http(String),
}

/// Finds the browser that `--attach` names, without connecting to it. Describes what was found.
pub async fn find_user_browser(target: &AttachTarget) -> Result<String, AttachFailure> {
    let (url, what) = match endpoint(target).await? {
        UserBrowserAddress::WebSocket(url) => (url, "asks for your consent at the first call"),
        UserBrowserAddress::Http(url) => (url, "not checked"),
    };
    // The path is the browser's secret.
    let address = url.split('/').nth(2).unwrap_or_default();
    Ok(format!("attaches to {} at {address} ({what})", describe(target)))
}

/// Finds the address of the browser.
async fn endpoint(target: &AttachTarget) -> Result<UserBrowserAddress, AttachFailure> {
    match target {
        AttachTarget::Folder(folder) => Ok(UserBrowserAddress::WebSocket(
            resolve_reachable_url(&PortFile::read(folder).await?).await?,
        )),
        AttachTarget::Channel(channel) => {
            let folder = channel
                .profile_folder()
                .ok_or_else(|| AttachFailure::new("there is no home directory"))?;
            Ok(UserBrowserAddress::WebSocket(
                resolve_reachable_url(&PortFile::read(&folder).await?).await?,
            ))
        }
        AttachTarget::Running => {
            let mut found = Vec::new();
            for file in port_files().await {
                match resolve_reachable_url(&file).await {
                    Ok(url) => return Ok(UserBrowserAddress::WebSocket(url)),
                    Err(failure) => found.push(failure.reason),
                }
            }
            if found.is_empty() {
                let names: Vec<_> = CHANNELS.iter().map(|channel| channel.name).collect();
                found.push(format!("no profile of {} has a `{PORT_FILE}`", names.join(", ")));
            }
            Err(AttachFailure::new(found.join("; ")))
        }
        AttachTarget::Port(port) => {
            let file = port_files().await.into_iter().find(|file| file.port == *port);
            match file {
                Some(file) => {
                    Ok(UserBrowserAddress::WebSocket(resolve_reachable_url(&file).await?))
                }
                None => Ok(UserBrowserAddress::Http(format!("http://127.0.0.1:{port}"))),
            }
        }
    }
}

/// The contents of `DevToolsActivePort`.
struct PortFile {
    port: u16,
    path: String,
    file: PathBuf,
}

impl PortFile {
    async fn read(folder: &Path) -> Result<Self, AttachFailure> {
        let file = folder.join(PORT_FILE);
        let text = tokio::fs::read_to_string(&file).await.map_err(|error| {
            let shown = file.display();
            AttachFailure::new(match error.kind() {
                io::ErrorKind::NotFound => {
                    format!("remote debugging is off: there is no `{shown}`")
                }
                _ => format!("`{shown}` cannot be read: {error}"),
            })
        })?;
        let mut lines = text.lines();
        let port = lines.next().and_then(|port| port.trim().parse().ok());
        let path = lines.next().filter(|path| path.starts_with('/')).map(str::to_owned);
        let (Some(port), Some(path)) = (port, path) else {
            let shown = file.display();
            return Err(AttachFailure::new(format!("`{shown}` has no port and path")));
        };
        Ok(Self { port, path, file })
    }
}

/// Reads the files of all channels that have one.
async fn port_files() -> Vec<PortFile> {
    let mut files = Vec::new();
    for folder in CHANNELS.iter().filter_map(|channel| channel.profile_folder()) {
        files.extend(PortFile::read(&folder).await);
    }
    files
}

/// Returns the URL of the WebSocket if its port accepts connections. A browser that has ended may
/// leave the file. A connection without a handshake opens no dialog.
async fn resolve_reachable_url(file: &PortFile) -> Result<String, AttachFailure> {
    let PortFile { port, path, file } = file;
    TcpStream::connect(("127.0.0.1", *port)).await.map_err(|error| {
        let file = file.display();
        AttachFailure::new(format!("the browser of `{file}` is not running ({error})"))
    })?;
    Ok(format!("ws://127.0.0.1:{port}{path}"))
}
