//! The tools. A tool is a row of data and a typed function. The list, the validation, the Node
//! methods and the README's table are derived from the rows. Uses `session`, `page` and `upstream`,
//! not MCP.
//!
//! `tool` defines a row, `registry` runs a tool, `answer` is its result. Each file has the rows of
//! a group, in the order in which they are listed.

mod answer;
mod batch;
mod budget;
mod calls;
mod element;
mod extraction;
mod forwarding;
mod interaction;
mod invocation;
#[cfg(test)]
mod names;
mod navigation;
mod network;
mod parameters;
mod pass_through;
mod playwright;
mod progress;
mod raw_json;
mod record;
mod recorded;
mod recorder;
mod registry;
mod resource_uri;
mod sandbox;
mod screenshots;
mod script;
mod sessions;
#[cfg(test)]
#[cfg(feature = "testing")]
mod shapes;
mod suggestions;
mod tool;
mod typed;
mod user_question;

pub use crate::store::{ClientServer, ServerEndpoint, Summary, UnreachableServerWait};

/// Returns the schema of the details of an error.
pub fn error_details_schema() -> serde_json::Value {
    parameters::schema::<crate::error::ErrorDetails>()
}

/// Returns the schema of the events of a session.
pub fn event_schema() -> serde_json::Value {
    parameters::answer_schema::<crate::page::SessionEvent>()
}

pub use answer::{Answer, AnswerKind, CallOutcome, EncodedPicture};
pub use calls::Calls;
pub use forwarding::{CallForwarder, ForwardedCall};
pub use invocation::Invocation;
pub use progress::{Progress, Stage};
pub use recorded::Recorded;
pub use registry::{Registry, UnknownTool};
pub use resource_uri::{McpResourceKind, ResourceUri, TEMPLATES, UriError, timestamp};
pub use screenshots::screenshot_at;
pub use tool::{Callable, CommandRow, Group, Hints, LifecycleEffect, Properties, Tool};
pub use user_question::{
    ANSWER_TIMEOUT, NoQuestionHandler, Question, QuestionHandler, QuestionPlace, Reply, no_answer,
};
