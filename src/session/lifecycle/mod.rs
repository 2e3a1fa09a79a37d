//! The life of a session: its creation, its calls, its end and its resumption; and the clients that
//! use it.

mod admission;
mod asking;
mod backend;
mod clients;
mod connection;
mod ended;
mod manager;
mod person_control;
mod question;
mod queue;
mod restore;
mod resume;
mod save;
mod session;
mod slots;
mod storage;
mod takeover;
mod uploads;

pub use asking::AskedQuestion;
pub use backend::{Backend, BrowserCounts};
pub use clients::ConnectionId;
pub use connection::{AdmittedSession, ClientSaver, Connection, PresenceGuard};
pub use ended::EndReason;
pub use manager::{CreateOptions, SessionLimit, SessionManager};
pub use person_control::ControllingPerson;
pub use question::PersonQuestion;
pub use queue::{CallTurn, SessionLocks};
pub(super) use session::{AttachedWorker, Readiness, SessionWorker};
pub use session::{PageInfo, Session, SessionInfo, SessionNotice};
