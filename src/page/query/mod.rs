//! Finds elements in the frames of a page and waits for them.

mod actionability;
mod frame_elements;
mod frame_transform;
mod playwright_target;
mod targets;
mod typed_query;
mod waiting;

pub use playwright_target::{PlaywrightMatch, PlaywrightTarget};
pub use waiting::{Element, ElementState, TimeLimit};

pub(super) use actionability::{ActionPoint, ActionabilityQuery, point_in};
pub(super) use frame_elements::ContentFrameCache;
pub(super) use frame_transform::{FrameTransform, area};
pub(super) use targets::{FrameElement, MAX_DEPTH, ResolvedTarget};
pub(super) use typed_query::parse_answer;
