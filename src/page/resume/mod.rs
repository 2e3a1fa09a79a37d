//! The state that a page is resumed with: storage, fields and scroll positions.

mod keep;
mod kept_page;
mod typed_secrets;

pub use keep::LOOK_TIMEOUT;
pub use kept_page::{
    DatabaseVersions, Databases, DocumentState, FrameState, Item, KeptOrigin, KeptPage,
    OriginStorage, Scroll,
};

pub(super) use keep::FrameStateCache;
pub(super) use typed_secrets::TypedSecrets;
