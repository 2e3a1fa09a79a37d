//! Several calls in one: `batch`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    answer::{Answer, IntoAnswer},
    progress::{Progress, Stage},
    registry::{Invocation, Registry},
    tool::{Group, Tool, tool},
};
use crate::{
    error::{Result, TroupeError},
    session::{Connection, Session},
};

/// Tools that are no step of a batch, and why.
const ALONE: &[(&str, &str)] = &[
    ("batch", "a batch cannot hold another one"),
    // A client may answer by making the call again: the steps before it would run twice.
    ("ask_user", "a question to the person is a call of its own, not a step of a batch"),
];

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("batch", Group::Batch, "Run several calls in order, when no step depends on reading the last.")
            .batch::<BatchParameters, BatchAnswer>(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BatchParameters {
    steps: Vec<Step>,
    /// Default true
    stop_on_error: Option<bool>,
    session_id: Option<String>,
    page_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct Step {
    tool: String,
    arguments: Option<Map<String, Value>>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct BatchAnswer {
    /// Whether every step succeeded.
    success: bool,
    results: Vec<StepAnswer>,
    /// Steps that were not run.
    #[serde(skip_serializing_if = "is_zero")]
    skipped: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct StepAnswer {
    tool: String,
    /// What the tool answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// Which of the pictures that follow is the step's, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl BatchParameters {
    /// The session in which the batch takes its turn: the one it names, or its first step that has one.
    pub fn session<'a>(&'a self, registry: &Registry) -> Option<Option<&'a str>> {
        if let Some(id) = &self.session_id {
            return Some(Some(id));
        }
        let step = self.steps.iter().find(|step| registry.is_in_session(&step.tool))?;
        Some(step.arguments.as_ref().and_then(|arguments| arguments.get("sessionId")).and_then(Value::as_str))
    }
}

/// Runs the steps one after the other, each as a call of its own; `held` is the session whose turn it is.
pub(super) async fn run(
    registry: &Registry,
    connection: &Arc<Connection>,
    given: BatchParameters,
    held: Option<Arc<Session>>,
    whole: bool,
    progress: &Progress,
) -> Result<Answer> {
    let stop_on_error = given.stop_on_error.unwrap_or(true);
    let count = given.steps.len();
    let mut answer = BatchAnswer { success: true, results: Vec::with_capacity(count), skipped: 0 };
    let mut pictures = Vec::new();
    for (done, step) in given.steps.into_iter().enumerate() {
        #[expect(clippy::cast_precision_loss, reason = "no batch has that many steps")]
        let (done, total) = (done as f64, count as f64);
        progress.reach(Stage { done, total: Some(total), now: Some(step.tool.clone()) });
        let seen = pictures.len();
        let mut arguments = step.arguments.unwrap_or_default();
        for (name, id) in [("sessionId", &given.session_id), ("pageId", &given.page_id)] {
            if let Some(id) = id
                && registry.takes(&step.tool, name)
            {
                arguments.entry(name).or_insert_with(|| id.clone().into());
            }
        }
        let outcome = if let Some((_, reason)) = ALONE.iter().find(|(tool, _)| *tool == step.tool) {
            Err(refusal(reason))
        } else {
            let invocation = Invocation {
                held: held.clone(),
                // It is the batch that keeps within the budget.
                whole: true,
                ..Invocation::new(connection.clone(), step.tool.clone(), Value::Object(arguments))
            };
            match Box::pin(registry.call(invocation)).await {
                Ok(outcome) => outcome.result,
                Err(unknown) => Err(refusal(&unknown.to_string())),
            }
        };
        let (result, error) = match outcome {
            // An agent sees pictures beside the text, not as text.
            Ok(Answer::Image(picture)) if !whole => {
                pictures.push(picture);
                (None, None)
            }
            Ok(Answer::Pictured { facts, pictures: more }) if !whole => {
                pictures.extend(more);
                (Some(facts), None)
            }
            Ok(answer) => (Some(answer.into_value()), None),
            Err(error) => (None, Some(serde_json::to_value(error).unwrap_or_default())),
        };
        let failed = error.is_some();
        answer.success &= !failed;
        let picture = (pictures.len() > seen).then_some(pictures.len());
        answer.results.push(StepAnswer { tool: step.tool, result, picture, error });
        if failed && stop_on_error {
            break;
        }
    }
    answer.skipped = count - answer.results.len();
    Ok(match answer.into_answer() {
        Answer::Json(facts) if !pictures.is_empty() => Answer::Pictured { facts, pictures },
        other => other,
    })
}

fn refusal(message: &str) -> TroupeError {
    TroupeError::new(crate::error::ErrorCode::InvalidParameters, message)
}
