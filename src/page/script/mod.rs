//! Calls into a page: the injected script, the client's scripts, and how a call ends if the page
//! does not respond.

mod call_guard;
mod errors;
mod evaluation;
mod injected_script;
mod test_ids;
mod unresponsive_frames;

pub use errors::{ANSWER_BEFORE_UNLOAD, check_log, unsupported};
pub use injected_script::prelude;

pub(super) use call_guard::{ANSWER_TIMEOUT, GRACE, millis};
pub(super) use errors::DOCUMENT_GONE;
pub(super) use test_ids::IdentifiersByRef;
pub(super) use unresponsive_frames::{UnresponsiveFrames, is_unresponsive};
