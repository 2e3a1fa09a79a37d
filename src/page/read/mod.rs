//! Reads a page: snapshots and their changes, texts, tables, Markdown and screenshots.

mod aria_snapshot;
mod bodies;
mod changes;
mod finding;
mod markdown;
mod person_signals;
pub mod pictures;
mod reading;
mod screencast;
mod snapshot;
mod text_diff;

pub use aria_snapshot::AriaSnapshotOptions;
pub use finding::{FoundElements, MAX_MATCHES, Query};
pub use markdown::markdown;
pub use person_signals::PersonSignals;
pub use reading::{
    ElementDescription, Elements, FieldValue, HtmlDocument, Links, ListedElement, Metadata, Table,
};
pub use screencast::Screencast;
pub use snapshot::SnapshotOptions;

pub(super) use changes::{Changes, SnapshotBefore};
pub(super) use snapshot::whole_page;
pub(super) use text_diff::difference;
