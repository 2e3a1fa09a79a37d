//! A call as it arrives.

use std::{path::Path, sync::Arc};

use serde_json::Value;

use super::{
    progress::Progress,
    user_question::{self, QuestionHandler},
};
use crate::session::{CallTurn, Connection, Session};

/// A call as it arrives.
pub struct Invocation {
    pub tool: String,
    pub arguments: Value,
    pub connection: Arc<Connection>,
    /// Its place among the calls of its connection, if calls can overtake each other.
    pub turn: Option<CallTurn>,
    /// The id of the call, if the client has assigned one.
    pub ref_id: Option<String>,
    /// The sessions to which the call's batch or script was admitted, its own first. Empty for a
    /// call that is not a step.
    pub batch_sessions: Arc<[Arc<Session>]>,
    /// Whether the result is returned in full, for programs. Results for agents are cut to the
    /// result budget.
    pub full_result: bool,
    /// Whether a result that shows another document contains an overview of it. `None`: as
    /// configured.
    pub overview: Option<bool>,
    /// Whether the result is shortened, because it is a step of a batch before the last.
    pub condensed: bool,
    /// The user, for questions.
    pub question_handler: Arc<dyn QuestionHandler>,
    /// The client's first root, in place of the working directory for tools of the Playwright set.
    pub workspace: Option<Arc<Path>>,
    /// Receives the progress of the call.
    pub progress: Progress,
}

impl Invocation {
    /// Creates a call of `connection` to `tool`.
    pub fn new(connection: Arc<Connection>, tool: impl Into<String>, arguments: Value) -> Self {
        Self {
            tool: tool.into(),
            arguments,
            connection,
            turn: None,
            ref_id: None,
            batch_sessions: Arc::default(),
            full_result: false,
            overview: None,
            condensed: false,
            question_handler: user_question::no_question_handler(),
            workspace: None,
            progress: Progress::default(),
        }
    }
}
