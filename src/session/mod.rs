//! Sessions: isolated browser contexts with their pages, owners and expiry. Independent of the
//! protocol and the tools.
//!
//! The folders, in the order of their imports (each uses only the ones before it):
//! - `persistence` has the saved form of a session, and the cache of its last known state.
//! - `lifecycle` has [`Session`], [`SessionManager`] (creates, finds, expires and ends sessions)
//!   and [`Connection`] (an attached client and its sessions). It also saves and restores the
//!   state of sessions.
//! - `backends` implements what a session does: in Troupe's own browsers, or in an upstream server
//!   for each session.
//!
//! [`Clock`] provides the time, so that tests need not wait.

#[cfg(test)]
pub mod any_json;
mod backends;
mod clock;
mod errors;
mod lifecycle;
mod memory;
mod pages;
mod persistence;
mod results;

pub use backends::Browsers;
#[cfg(feature = "testing")]
pub use clock::VirtualClock;
pub use clock::{Clock, SystemClock};
pub use lifecycle::{
    AdmittedSession, AskedQuestion, Backend, BrowserCounts, CallTurn, ClientSaver, Connection,
    ConnectionId, ControllingPerson, CreateOptions, EndReason, PageInfo, PersonQuestion,
    PresenceGuard, Session, SessionInfo, SessionLimit, SessionLocks, SessionManager, SessionNotice,
};
pub use memory::{ResidentMemory, available as available_memory};
pub use persistence::{
    ClientSettings, CookieParameter, OriginState, SavedClient, StorageState, StorageStateParameter,
};
pub use results::{Screenshot, StoredText, StoredTexts};
