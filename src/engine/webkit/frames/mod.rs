//! The frames of a page at the last poll. Compares them with the current poll and derives events
//! from the differences.

mod document;
mod frame;
mod main_frame;
mod pending_requests;
mod report;
#[cfg(test)]
mod tests;
mod tree;

pub(super) use self::{report::DocumentReport, tree::Frames};
