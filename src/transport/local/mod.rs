//! The daemon of the command line: a server on a Unix socket that only its owner can use.
//!
//! `folder` has the files of the daemon and their locks, `client` sends calls to it. The protocol
//! is Streamable HTTP, as on a port.

mod client;
mod folder;

pub(super) use self::folder::listen;
pub use self::{
    client::{DaemonClient, DaemonResult},
    folder::{DaemonFolder, DaemonInfo, FolderLock},
};
