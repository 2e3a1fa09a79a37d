//! SOCKS 5 (RFC 1928): connections by host name or address. Browsers do not authenticate. The
//! user's proxy may require authentication (RFC 1929).

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::credentials::Credentials;

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
/// User name and password (RFC 1929), and the version of its messages.
const PASSWORD: u8 = 2;
const PASSWORD_VERSION: u8 = 1;
const NONE_ACCEPTABLE: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The reply to a connection request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SocksReply {
    Connected = 0,
    Failed = 1,
    NotAllowed = 2,
    CommandUnknown = 7,
}

/// Reads the browser's request: host and port.
pub(super) async fn read(stream: &mut TcpStream) -> io::Result<(String, u16)> {
    let mut head = [0; 2];
    stream.read_exact(&mut head).await?;
    let mut methods = vec![0; head[1].into()];
    stream.read_exact(&mut methods).await?;
    if head[0] != VERSION || !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NONE_ACCEPTABLE]).await?;
        return Err(io::ErrorKind::InvalidData.into());
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut request = [0; 4];
    stream.read_exact(&mut request).await?;
    let [version, command, _, kind] = request;
    let host = match kind {
        IPV4 => {
            let mut address = [0; 4];
            stream.read_exact(&mut address).await?;
            Ipv4Addr::from(address).to_string()
        }
        IPV6 => {
            let mut address = [0; 16];
            stream.read_exact(&mut address).await?;
            Ipv6Addr::from(address).to_string()
        }
        NAME => {
            let length = stream.read_u8().await?;
            let mut name = vec![0; length.into()];
            stream.read_exact(&mut name).await?;
            String::from_utf8(name).map_err(|_| io::ErrorKind::InvalidData)?
        }
        _ => return Err(io::ErrorKind::InvalidData.into()),
    };
    let port = stream.read_u16().await?;
    if version != VERSION || command != CONNECT {
        reply(stream, SocksReply::CommandUnknown).await?;
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok((host, port))
}

/// Sends the reply to the browser's request.
pub(super) async fn reply(stream: &mut TcpStream, reply: SocksReply) -> io::Result<()> {
    // The bound address is not revealed to pages.
    stream.write_all(&[VERSION, reply as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}

/// Requests a connection to `host` from another proxy.
pub(super) async fn connect(
    stream: &mut TcpStream,
    host: &str,
    port: u16,
    credentials: Option<&Credentials>,
) -> io::Result<()> {
    let length = u8::try_from(host.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut request = vec![VERSION, CONNECT, 0, NAME, length];
    request.extend_from_slice(host.as_bytes());
    request.extend_from_slice(&port.to_be_bytes());
    match credentials {
        // The request follows at once, because the proxy has only one method to choose.
        None => {
            stream.write_all(&[&[VERSION, 1, NO_AUTHENTICATION], &*request].concat()).await?;
            if chosen_method(stream).await? != NO_AUTHENTICATION {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
        }
        Some(credentials) => {
            stream.write_all(&[VERSION, 2, NO_AUTHENTICATION, PASSWORD]).await?;
            match chosen_method(stream).await? {
                NO_AUTHENTICATION => {}
                PASSWORD => log_in(stream, credentials).await?,
                _ => return Err(io::ErrorKind::PermissionDenied.into()),
            }
            stream.write_all(&request).await?;
        }
    }
    let mut answer = [0; 4];
    stream.read_exact(&mut answer).await?;
    let [_, outcome, _, kind] = answer;
    if outcome != SocksReply::Connected as u8 {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    let bound = match kind {
        IPV4 => 4,
        IPV6 => 16,
        _ => usize::from(stream.read_u8().await?),
    };
    let mut rest = vec![0; bound + 2];
    stream.read_exact(&mut rest).await?;
    Ok(())
}

async fn chosen_method(stream: &mut TcpStream) -> io::Result<u8> {
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    Ok(answer[1])
}

/// Sends user name and password (RFC 1929).
async fn log_in(
    stream: &mut TcpStream,
    Credentials { user, password }: &Credentials,
) -> io::Result<()> {
    let length = |text: &[u8]| u8::try_from(text.len()).map_err(|_| io::ErrorKind::InvalidInput);
    let mut message = vec![PASSWORD_VERSION, length(user)?];
    message.extend_from_slice(user);
    message.push(length(password)?);
    message.extend_from_slice(password);
    stream.write_all(&message).await?;
    let mut answer = [0; 2];
    stream.read_exact(&mut answer).await?;
    if answer[1] == 0 { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// Connects through a proxy that requires a user name and password. Returns the result of
    /// `connect`, and the host that the proxy received.
    async fn connect_with(password: &str) -> (io::Result<()>, Option<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut greeting = [0; 4];
            stream.read_exact(&mut greeting).await.unwrap();
            assert_eq!(greeting, [5, 2, NO_AUTHENTICATION, PASSWORD]);
            stream.write_all(&[5, PASSWORD]).await.unwrap();
            let mut sent = vec![0; 2 + "user".len()];
            stream.read_exact(&mut sent).await.unwrap();
            assert_eq!(sent, b"\x01\x04user");
            let mut password = vec![0; stream.read_u8().await.unwrap().into()];
            stream.read_exact(&mut password).await.unwrap();
            let wrong = u8::from(password != b"p\xc3\xa4ss");
            stream.write_all(&[PASSWORD_VERSION, wrong]).await.unwrap();
            if wrong != 0 {
                return None;
            }
            let mut request = [0; 5];
            stream.read_exact(&mut request).await.unwrap();
            let mut host = vec![0; request[4].into()];
            stream.read_exact(&mut host).await.unwrap();
            stream.read_u16().await.unwrap();
            reply(&mut stream, SocksReply::Connected).await.unwrap();
            Some(String::from_utf8(host).unwrap())
        };
        let client = async {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let credentials =
                Credentials { user: b"user".to_vec(), password: password.as_bytes().to_vec() };
            connect(&mut stream, "example.test", 80, Some(&credentials)).await
        };
        tokio::join!(client, proxy)
    }

    #[tokio::test]
    async fn a_proxy_gets_the_user_name_and_password() {
        let (connected, host) = connect_with("päss").await;
        connected.unwrap();
        assert_eq!(host.as_deref(), Some("example.test"));
        let (refused, host) = connect_with("wrong").await;
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(host, None);
    }
}
