//! Sessions: isolated browser contexts with their pages, their owners and their expiry. Uses `page`, `store`,
//! `engine`'s traits, `upstream`, `policy`, `config`, `error`; not the protocol and not the tools.
//!
//! [`SessionManager`] creates, finds, expires and ends [`Session`]s. A [`Connection`] is one attached client and
//! the sessions that it created. A `backend` does the work: `browsers` gives a session a new context when its
//! browser has died, `upstreams` has a server for each session. After calls, `keeper` saves a session's state in
//! the form of `saved`, from which `resume` and `former` restore it. [`Clock`] is the time, so that tests need not
//! wait.

mod backend;
mod browsers;
mod clock;
mod connection;
mod ended;
mod former;
mod given_cookie;
mod holders;
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

pub use backend::{Backend, BrowserCounts};
pub use browsers::Browsers;
#[cfg(feature = "testing")]
pub use clock::VirtualClock;
pub use clock::{Clock, SystemClock};
pub use connection::{Admitted, Connection, ConnectionId, Hold};
pub use ended::EndReason;
pub use given_cookie::GivenCookie;
pub use manager::{CreateOptions, SessionLimit, SessionManager};
pub use memory::{ResidentMemory, available as available_memory};
pub use order::Turn;
pub use results::{KeptResult, Results};
pub use screenshots::Screenshot;
pub use session::{PageInfo, Session, SessionInfo};
pub use storage_state::{GivenState, OriginState, StorageState};
