//! The daemon of the command line: a server on a private socket, which only its owner can use.
//!
//! `folder` has the files of the daemon and their locks, `client` sends calls to it. The protocol
//! is Streamable HTTP, as on a port. `servers` has the private sockets of all servers of the user,
//! and `socket` creates and opens them.

mod client;
mod folder;
mod servers;
mod socket;

pub(super) use self::{
    client::{COMMAND_HEADER, DRAIN_PATH},
    folder::listen,
    servers::{RegisteredServer, ServersFolder},
    socket::{PrivateListener, connect, socket_path},
};
pub use self::{
    client::{CommandCalls, DaemonClient, DaemonResult},
    folder::{DaemonFolder, DaemonInfo, FolderLock},
    socket::socket_url,
};
