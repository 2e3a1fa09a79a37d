//! A page, the same in every browser. Uses the engine's traits, `policy`, `config` and `error`, and
//! is independent of the browser.
//!
//! [`Page`] is a handle. Its methods are in folders, each of which uses only those above it:
//!
//! | folder | contents |
//! |---|---|
//! | `state` | the state of the page, updated from the engine's events |
//! | `script` | calls into the page |
//! | `query` | targets, frames, and waits for elements |
//! | `read` | snapshots and their changes, texts, screenshots |
//! | `act` | navigation, actions, and the wait for their effects |
//! | `resume` | the state that a page is resumed with |
//!
//! `injected` is the TypeScript that runs in the page. `tests/layers.rs` checks the order of the
//! folders.

mod act;
mod query;
mod read;
mod resume;
mod script;
mod state;

use std::sync::{Arc, OnceLock, atomic::AtomicBool};

use parking_lot::Mutex;

use crate::{
    config::Config,
    engine::{self, EmulatedMedia, FrameId},
};

pub use act::{
    ActionOutcome, CONTROL_OR_META, ChangedFields, ClickOptions, MediaEmulation, Navigation,
    PersonInput, Point, PointerTarget, ScrollOptions, SelectPopup, SelectPopupView, SettledEffects,
    TypeOptions, ValueMismatch, WaitUntil, normalize_url,
};
pub use query::{Element, ElementState, PlaywrightMatch, PlaywrightTarget, TimeLimit};
pub use read::{
    AriaSnapshotOptions, ElementDescription, Elements, FieldValue, FoundElements, HtmlDocument,
    Links, ListedElement, MAX_MATCHES, Metadata, PersonSignals, Query, Screencast, SnapshotOptions,
    Table, markdown, pictures,
};
pub use resume::{
    DatabaseVersions, Databases, DocumentState, FrameState, Item, OriginStorage, READ_TIMEOUT,
    SavedOrigin, SavedPageState, Scroll,
};
pub use script::{ANSWER_BEFORE_UNLOAD, check_log, prelude, unsupported};
pub use state::{
    ChangeCounter, ConsoleLog, Dialogs, Download, DownloadState, Downloads, Events, LoggedRequest,
    OpenChoosers, OpenDialog, PageState, RefCounter, SessionContext, SessionEvent,
    SessionNetworkPolicy, ShownSnapshot, VisitedOrigins,
};

/// A tab of a session.
pub struct Page {
    /// Whether a call timed out, because a script may be blocking the page's main thread.
    is_unresponsive: AtomicBool,
    /// `page-1`, `page-2`… in order of opening.
    pub id: String,
    /// The number in `id`.
    pub number: usize,
    /// When the page opened, in milliseconds since 1970.
    pub opened_at: u64,
    engine: Arc<dyn engine::EnginePage>,
    state: Arc<PageState>,
    refs: Arc<RefCounter>,
    frame_numbers: state::FrameNumbers,
    frame_elements: query::ContentFrameCache,
    unresponsive_frames: script::UnresponsiveFrames,
    snapshot_cache: state::SnapshotCache,
    frame_states: resume::FrameStateCache,
    typed_secrets: resume::TypedSecrets,
    pointer: Mutex<act::PointerState>,
    media: Mutex<EmulatedMedia>,
    test_ids: script::IdentifiersByRef,
    locators: script::IdentifiersByRef,
    config: Arc<Config>,
    network_policy: Option<Arc<SessionNetworkPolicy>>,
    main_frame: OnceLock<FrameId>,
}

impl Page {
    /// Wraps a page that the engine has opened at `opened_at`. `shared` is the state that all pages
    /// of its session share.
    pub fn new(
        number: usize,
        opened_at: u64,
        engine: Arc<dyn engine::EnginePage>,
        shared: &SessionContext,
    ) -> Self {
        let id = format!("page-{number}");
        Self {
            is_unresponsive: AtomicBool::new(false),
            state: Arc::new(PageState::new(id.clone(), shared)),
            id,
            number,
            opened_at,
            engine,
            refs: shared.refs.clone(),
            frame_numbers: state::FrameNumbers::default(),
            frame_elements: query::ContentFrameCache::default(),
            unresponsive_frames: script::UnresponsiveFrames::default(),
            snapshot_cache: state::SnapshotCache::default(),
            frame_states: resume::FrameStateCache::default(),
            typed_secrets: resume::TypedSecrets::default(),
            pointer: Mutex::default(),
            media: Mutex::default(),
            test_ids: script::IdentifiersByRef::default(),
            locators: script::IdentifiersByRef::default(),
            config: shared.config.clone(),
            network_policy: shared.network_policy.clone(),
            main_frame: OnceLock::new(),
        }
    }
}
