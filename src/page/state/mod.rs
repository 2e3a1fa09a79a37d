//! The state of a page and its session, maintained from the engine's events. Makes no calls into
//! pages.

mod accessors;
mod change_counter;
mod console;
mod dialogs;
mod downloads;
mod facts;
mod frame;
mod hidden_lines;
mod network_log;
mod network_policy;
mod open_choosers;
mod page_console;
mod page_state;
mod reducer;
mod ref_numbers;
mod requests;
mod sequence;
mod session_events;
mod snapshot_cache;
mod visited;

pub use change_counter::ChangeCounter;
pub use console::ConsoleLog;
pub use dialogs::{Dialogs, OpenDialog};
pub use downloads::{Download, DownloadState, Downloads};
pub use network_log::LoggedRequest;
pub use network_policy::SessionNetworkPolicy;
pub use open_choosers::OpenChoosers;
pub use page_state::{PageState, SessionContext};
pub use ref_numbers::RefCounter;
pub use session_events::{Events, SessionEvent};
pub use snapshot_cache::ShownSnapshot;
pub use visited::VisitedOrigins;

pub(super) use accessors::DocumentFailure;
pub(super) use dialogs::OtherPageDialog;
pub(super) use facts::PageFacts;
pub(super) use frame::Frame;
pub(super) use hidden_lines::{HiddenLines, without_focus};
pub(super) use network_log::NetworkLog;
pub(super) use network_policy::ConnectionFailure;
pub(super) use ref_numbers::FrameNumbers;
pub(super) use requests::{InFlightRequest, InFlightRequests};
pub(super) use sequence::EventSequence;
pub(super) use snapshot_cache::{
    DocumentVersion, FrameSnapshot, FrameSnapshots, PageSnapshot, SnapshotCache,
};
pub(super) use visited::same_site;
