//! Sessions: isolated browser contexts with their pages, and who may use them until when.
//! Knows `page`, `engine`'s traits, `config`, `error`; not the protocol and not the tools.
//!
//! [`SessionManager`] makes, finds, expires and ends [`Session`]s; a [`Connection`] is one client attached and
//! remembers which sessions it made; [`Clock`] is the time, so that tests need not wait for it.

mod clock;
mod connection;
mod ended;
mod manager;
mod network;
mod pages;
mod results;
mod screenshots;
#[expect(clippy::module_inception, reason = "the noun of the folder is its main file")]
mod session;
mod storage_state;

#[cfg(feature = "testing")]
pub use clock::VirtualClock;
pub use clock::{Clock, SystemClock};
pub use connection::{Connection, ConnectionId, Turn};
pub use ended::EndReason;
pub use manager::{CreateOptions, SessionManager};
pub use results::{KeptResult, Results};
pub use screenshots::Screenshot;
pub use session::{PageInfo, Session, SessionInfo};
pub use storage_state::StorageState;
