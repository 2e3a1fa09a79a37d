//! Sessions: isolated browser contexts with their pages, and who may use them until when.
//! Knows `page`, `store`, `engine`'s traits, `upstream`, `policy`, `config`, `error`; not the protocol and not the tools.
//!
//! [`SessionManager`] makes, finds, expires and ends [`Session`]s; a [`Connection`] is one client attached and
//! remembers which sessions it made; what does their work is a `backend`: `browsers` gives a session
//! another context when its browser has died, `upstreams` has a server for each. `keeper` looks at it after its calls and `saved` is what it then keeps, `resume` and `former` bring it back from that; [`Clock`] is the time, so that tests need not wait for it.

mod backend;
mod browsers;
mod clock;
mod connection;
mod ended;
mod former;
mod keeper;
mod manager;
mod memory;
mod network;
mod order;
mod owners;
mod pages;
mod pool;
mod results;
mod resume;
mod saved;
mod screenshots;
#[expect(clippy::module_inception, reason = "the noun of the folder is its main file")]
mod session;
mod storage_state;
mod upstreams;

pub use backend::Backend;
pub use browsers::Browsers;
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
