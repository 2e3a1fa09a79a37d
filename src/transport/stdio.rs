//! The stdio transport: one client, from the first line to the end of input.

use std::{
    pin::{Pin, pin},
    sync::Arc,
};

use rmcp::{ServiceExt, service::ServerInitializeError};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;

use super::{LifetimeLog, lines::LineTransport, network::DashboardSocket};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    server::Server,
    session::Connection,
};

/// Serves the client on stdin and stdout until it disconnects or `stop` is canceled, then shuts the
/// server down.
pub async fn serve_stdio(config: Config, stop: CancellationToken) -> Result<()> {
    let server = Server::open(Arc::new(config))?;
    let _life = LifetimeLog::begin(None);
    let manager = server.registry().manager();
    // `initialize` is answered while the browser starts.
    manager.prepare();
    let _socket = DashboardSocket::open(server.clone(), None);
    let connection = Arc::<Connection>::default();
    connection.resume_earlier_sessions(manager).await;
    let client_gone = CancellationToken::new();
    let (read, write) = streams();
    let lines = LineTransport::new(read, write, connection.clone(), client_gone.clone());
    let handler = server.handler(connection.clone(), client_gone.clone());
    let serving = async {
        let served = Box::pin(handler.serve_with_ct(lines, client_gone.clone())).await?;
        Ok::<_, ServerInitializeError>(served.waiting().await)
    };
    let stopping = async {
        stop.cancelled().await;
        server.registry().drain().await;
        client_gone.cancel();
    };
    let mut serving = pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stopping => serving.await,
    };
    let outcome = match served {
        Ok(waited) => match waited {
            Ok(reason) => {
                tracing::debug!(?reason, "the client has disconnected");
                Ok(())
            }
            Err(error) => Err(TroupeError::new(
                ErrorCode::InternalError,
                format!("the server ended with an error: {error}"),
            )),
        },
        // The client has sent no request.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            Ok(())
        }
        Err(error) => Err(TroupeError::new(
            ErrorCode::InternalError,
            format!("the client could not be initialized: {error}"),
        )),
    };
    client_gone.cancel();
    // Concurrently, because each may take long.
    tokio::join!(connection.end(manager), manager.end_sessions());
    manager.shutdown().await;
    outcome
}

pub(super) type StdinReader = Pin<Box<dyn AsyncRead + Send>>;
pub(super) type StdoutWriter = Pin<Box<dyn AsyncWrite + Send>>;

/// Returns stdin and stdout, without a thread between if possible: Node gives its children sockets,
/// a shell gives pipes. Only files and terminals need a blocking thread.
pub(super) fn streams() -> (StdinReader, StdoutWriter) {
    #[cfg(unix)]
    if let Some((read, write)) = sockets() {
        return (Box::pin(read), Box::pin(write));
    }
    let (read, write) = rmcp::transport::stdio_pipes();
    (Box::pin(read), Box::pin(write))
}

#[cfg(unix)]
fn sockets() -> Option<(tokio::net::UnixStream, tokio::net::UnixStream)> {
    use std::os::fd::{AsFd, BorrowedFd};

    fn socket(fd: BorrowedFd<'_>) -> Option<tokio::net::UnixStream> {
        use nix::sys::{
            socket::{AddressFamily, SockaddrLike, SockaddrStorage, getsockname},
            stat::{SFlag, fstat},
        };
        let mode = SFlag::from_bits_truncate(fstat(fd).ok()?.st_mode);
        if !mode.contains(SFlag::S_IFSOCK) {
            return None;
        }
        let address: SockaddrStorage = getsockname(std::os::fd::AsRawFd::as_raw_fd(&fd)).ok()?;
        if address.family() != Some(AddressFamily::Unix) {
            return None;
        }
        // No other process uses this end of the socket, so its flag can be changed.
        let stream = std::os::unix::net::UnixStream::from(fd.try_clone_to_owned().ok()?);
        stream.set_nonblocking(true).ok()?;
        tokio::net::UnixStream::from_std(stream).ok()
    }
    Some((socket(std::io::stdin().as_fd())?, socket(std::io::stdout().as_fd())?))
}
