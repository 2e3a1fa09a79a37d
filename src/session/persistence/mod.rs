//! The saved form of a session, Playwright's storage state, and the cache of a session's last known
//! state.

mod cache;
mod cookies;
mod saved;
mod storage_state;

pub use cache::{SavedHashes, StateCache};
pub use cookies::CookieParameter;
pub use saved::{SavedPage, SavedSession, SessionOrigin, origin_text};
pub use storage_state::EmptyPage;
pub use storage_state::{OriginState, StorageState, StorageStateParameter};
