//! Private sockets, which only this user can open: Unix sockets, and named pipes on Windows. Both
//! have a path in the file system. On Windows, the file there contains the name of the pipe.

use std::path::{Path, PathBuf};

use url::Url;

#[cfg(unix)]
pub(in crate::transport) use self::unix::{PrivateListener, connect};
#[cfg(windows)]
pub(in crate::transport) use self::windows::{PrivateListener, connect};

/// Returns a URL such as `unix:///run/user/1000/socket`, or `unix:///C:/Users/…` on Windows.
/// `path` is absolute.
pub fn socket_url(path: &Path) -> String {
    let url = Url::from_file_path(path).map(String::from).unwrap_or_default();
    format!("unix{}", url.strip_prefix("file").unwrap_or_default())
}

/// Returns the path of a [`socket_url`]; `None` if it has a host or no path.
pub(in crate::transport) fn socket_path(url: &Url) -> Option<PathBuf> {
    let file = format!("file{}", url.as_str().strip_prefix("unix")?);
    let file = Url::parse(&file).ok().filter(|_| url.host_str().is_none_or(str::is_empty))?;
    file.to_file_path().ok().filter(|path| path.file_name().is_some())
}

#[cfg(unix)]
mod unix {
    use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

    use tokio::net::{UnixListener, UnixStream};

    /// Accepts connections of this user.
    pub struct PrivateListener(UnixListener);

    impl PrivateListener {
        /// Creates the socket. Replaces that of a dead server.
        pub fn bind(path: &Path) -> io::Result<Self> {
            // Clients find the socket only when it accepts connections of its owner alone.
            let new = path.with_extension("new");
            let _ = fs::remove_file(&new);
            let listener = UnixListener::bind(&new)?;
            fs::set_permissions(&new, fs::Permissions::from_mode(0o600))?;
            fs::rename(&new, path)?;
            Ok(Self(listener))
        }

        pub async fn accept(&self) -> io::Result<UnixStream> {
            Ok(self.0.accept().await?.0)
        }
    }

    /// Connects to the socket of a server.
    pub async fn connect(path: &Path) -> io::Result<UnixStream> {
        UnixStream::connect(path).await
    }
}

#[cfg(windows)]
mod windows {
    use std::{fs, io, mem, path::Path, time::Duration};

    use tokio::{
        net::windows::named_pipe::{
            ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions,
        },
        sync::Mutex,
    };
    use windows_sys::Win32::Foundation::ERROR_PIPE_BUSY;

    use crate::private;

    /// Timeout for the server to offer another instance of its pipe.
    const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

    /// Accepts connections of this user.
    pub struct PrivateListener {
        name: String,
        /// The instance of the pipe for the next connection.
        next: Mutex<NamedPipeServer>,
    }

    impl PrivateListener {
        /// Creates the pipe and the file with its name. Replaces the file of a dead server.
        pub fn bind(path: &Path) -> io::Result<Self> {
            // Other users cannot guess the name, so they cannot create the pipe first.
            let name = format!(r"\\.\pipe\troupe-{}", uuid::Uuid::new_v4().simple());
            let mut options = ServerOptions::new();
            let first = private::create_pipe(options.first_pipe_instance(true), &name)?;
            let new = path.with_extension("new");
            fs::write(&new, &name)?;
            private::restrict(&new)?;
            fs::rename(&new, path)?;
            Ok(Self { name, next: Mutex::new(first) })
        }

        pub async fn accept(&self) -> io::Result<NamedPipeServer> {
            let mut next = self.next.lock().await;
            next.connect().await?;
            let following = private::create_pipe(&ServerOptions::new(), &self.name)?;
            Ok(mem::replace(&mut next, following))
        }
    }

    /// Connects to the pipe of a server.
    pub async fn connect(path: &Path) -> io::Result<NamedPipeClient> {
        let name = tokio::fs::read_to_string(path).await?;
        loop {
            match ClientOptions::new().open(&name) {
                Err(error) if error.raw_os_error() == Some(ERROR_PIPE_BUSY.cast_signed()) => {
                    // Other clients took the free instance.
                    let name = name.clone();
                    let free = move || private::await_pipe(&name, BUSY_TIMEOUT);
                    tokio::task::spawn_blocking(free).await??;
                }
                other => return other,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test]
    fn the_url_of_a_socket_contains_its_path() {
        let folder = std::env::temp_dir().join("with space");
        for path in [folder.join("socket"), folder.join("50%é")] {
            let url = Url::parse(&socket_url(&path)).unwrap();
            assert_eq!(socket_path(&url), Some(path), "{url}");
        }
        for url in ["unix:///", "unix://host/socket", "unix:"] {
            assert_eq!(socket_path(&Url::parse(url).unwrap()), None, "{url}");
        }
    }

    #[tokio::test]
    async fn many_clients_connect_at_once_until_the_listener_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = PrivateListener::bind(&path).unwrap();
        let serve = async {
            for _ in 0..50 {
                let mut stream = listener.accept().await.unwrap();
                stream.write_all(b"hello").await.unwrap();
                let mut end = [0];
                stream.read_exact(&mut end).await.unwrap();
            }
        };
        let clients = futures_util::future::join_all((0..50).map(async |_| {
            let mut stream = connect(&path).await.unwrap();
            let mut text = [0; 5];
            stream.read_exact(&mut text).await.unwrap();
            stream.write_all(b"!").await.unwrap();
            text
        }));
        let ((), texts) = tokio::join!(serve, clients);
        assert!(texts.iter().all(|text| text == b"hello"));
        drop(listener);
        assert!(connect(&path).await.is_err());
        // The next server replaces the socket.
        let _listener = PrivateListener::bind(&path).unwrap();
        connect(&path).await.unwrap();
    }
}
