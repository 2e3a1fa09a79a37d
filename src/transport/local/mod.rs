//! The daemon of the command line: a server on a Unix socket that only its owner can use.
//!
//! `folder` has the files of the daemon and their locks, `client` sends calls to it. The protocol
//! is Streamable HTTP, as on a port. `servers` has the private sockets of all servers of the user.

mod client;
mod folder;
mod servers;

pub(super) use self::{
    client::{COMMAND_HEADER, open},
    folder::listen,
    servers::{RegisteredServer, ServersFolder},
};
pub use self::{
    client::{DaemonClient, DaemonResult},
    folder::{DaemonFolder, DaemonInfo, FolderLock},
};
