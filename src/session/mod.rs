//! Sessions: isolated browser contexts with their pages, and who may use them until when.
//! Knows `page`, `store`, `engine`'s traits, `upstream`, `policy`, `config`, `error`; not the protocol and not the tools.
//!
//! [`SessionManager`] makes, finds, expires and ends [`Session`]s; a [`Connection`] is one client attached and
//! remembers which sessions it made; `life` gives a session another context when its browser has died, `keeper` looks
//! at it after its calls and `saved` is what it then keeps, `resume` and `former` bring it back from that; [`Clock`] is the time, so that tests need not wait for it.

mod behind;
mod clock;
mod connection;
mod ended;
mod former;
mod keeper;
mod life;
mod manager;
mod network;
mod order;
mod owners;
mod pages;
mod results;
mod resume;
mod saved;
mod screenshots;
#[expect(clippy::module_inception, reason = "the noun of the folder is its main file")]
mod session;
mod storage_state;

pub use behind::Behind;
#[cfg(feature = "testing")]
pub use clock::VirtualClock;
pub use clock::{Clock, SystemClock};
pub use connection::{Connection, ConnectionId, Hold};
pub use ended::EndReason;
pub use manager::{CreateOptions, SessionManager};
pub use order::Turn;
pub use results::{KeptResult, Results};
pub use screenshots::Screenshot;
pub use session::{PageInfo, Session, SessionInfo};
pub use storage_state::{OriginState, StorageState};
