//! The life of a session: its creation, its calls, its end and its resumption; and the clients that use it.

mod backend;
mod clients;
mod connection;
mod ended;
mod manager;
mod queue;
mod restore;
mod resume;
mod save;
mod session;
mod storage;

pub use backend::{Backend, BrowserCounts};
pub use clients::ConnectionId;
pub use connection::{Admitted, Connection, Hold};
pub use ended::EndReason;
pub use manager::{CreateOptions, SessionLimit, SessionManager};
pub use queue::Turn;
pub(super) use session::{AttachedWorker, Readiness, Worker};
pub use session::{PageInfo, Session, SessionInfo};
