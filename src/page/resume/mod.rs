//! The state that a page is resumed with: storage, fields and scroll positions.

mod read_and_restore;
mod saved_page_state;
mod typed_secrets;

pub use read_and_restore::READ_TIMEOUT;
pub use saved_page_state::{
    DatabaseVersions, Databases, DocumentState, FrameState, Item, OriginStorage, SavedOrigin,
    SavedPageState, Scroll,
};

pub(super) use read_and_restore::FrameStateCache;
pub(super) use typed_secrets::TypedSecrets;
