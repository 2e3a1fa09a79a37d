//! What a client can ask for. A tool is a row of data and a typed function; listing, checking, the Node
//! methods and the README's table all read the same rows. Knows `session`, `page` and `upstream`, not MCP.
//!
//! `tool` says what a row is, `registry` runs one, `answer` is what comes out; the rows stand in one file a
//! group, in the order in which they are listed.

mod answer;
mod batch;
mod budget;
mod calls;
mod element;
mod extraction;
mod interaction;
mod navigation;
mod network;
mod parameters;
mod passed;
mod person;
mod progress;
mod record;
mod recorded;
mod recorder;
mod registry;
mod sessions;
#[cfg(test)]
#[cfg(feature = "testing")]
mod shapes;
mod tool;

pub use crate::store::Summary;
pub use answer::{Answer, AnswerKind, Outcome, Picture};
pub use calls::Calls;
pub use person::{Nobody, Person, Question, Reply};
pub use progress::{Progress, Stage};
pub use recorded::Recorded;
pub use registry::{Invocation, Registry, UnknownTool};
pub use tool::{Callable, Group, Hints, Tool};
