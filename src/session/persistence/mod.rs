//! The saved form of a session and of a client, Playwright's storage state, and the cache of a
//! session's last known state.

mod cache;
mod client;
mod cookies;
mod saved;
mod storage_state;

pub use cache::{SavedHashes, StateCache};
pub use client::{ClientSettings, SavedClient};
pub use cookies::CookieParameter;
pub use saved::{SavedPage, SavedSession, SessionOrigin, origin_text};
pub use storage_state::EmptyPage;
pub use storage_state::{OriginState, StorageState, StorageStateParameter};
