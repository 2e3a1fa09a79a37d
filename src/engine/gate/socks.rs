//! SOCKS 5 (RFC 1928) as far as browsers speak it: no authentication, connections by name or address.

use std::{
    io,
    net::{Ipv4Addr, Ipv6Addr},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const VERSION: u8 = 5;
const NO_AUTHENTICATION: u8 = 0;
const NONE_ACCEPTABLE: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// What a connection is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    Connected = 0,
    Failed = 1,
    NotAllowed = 2,
    CommandUnknown = 7,
}

/// Reads what the browser wants: host and port.
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
        reply(stream, Reply::CommandUnknown).await?;
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok((host, port))
}

/// Tells the browser how its wish went.
pub(super) async fn reply(stream: &mut TcpStream, reply: Reply) -> io::Result<()> {
    // Where we have connected from concerns no page.
    stream.write_all(&[VERSION, reply as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}

/// Asks another proxy for a connection to `host`, as a client of it.
pub(super) async fn ask(stream: &mut TcpStream, host: &str, port: u16) -> io::Result<()> {
    let length = u8::try_from(host.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut request = vec![VERSION, 1, NO_AUTHENTICATION, VERSION, CONNECT, 0, NAME, length];
    request.extend_from_slice(host.as_bytes());
    request.extend_from_slice(&port.to_be_bytes());
    stream.write_all(&request).await?;
    let mut answer = [0; 2 + 4];
    stream.read_exact(&mut answer).await?;
    let [_, method, _, outcome, _, kind] = answer;
    if method != NO_AUTHENTICATION || outcome != Reply::Connected as u8 {
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
