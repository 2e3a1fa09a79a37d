//! `batch`: several calls in one.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    answer::{Answer, IntoAnswer},
    invocation::Invocation,
    progress::{Progress, Stage},
    registry::Registry,
    tool::{Group, Tool, tool},
};
use crate::{
    error::{Result, TroupeError},
    session::{Connection, Session},
};

/// The names of the parameter for the session.
const SESSION: [&str; 2] = ["sessionId", "session_id"];
/// The names of the parameter for the page.
const PAGE: [&str; 2] = ["pageId", "page_id"];

pub(super) fn tools() -> Vec<Tool> {
    vec![
        tool("batch", Group::Batch, "Run several calls in order in one turn: a form, a login, several pages. Selectors such as label= and role= work on pages that a step opens. One line per step, and the last result in full.")
            .harmless()
            .not_in_batch("a batch cannot contain another batch")
            .not_replayed()
            .batch::<BatchParameters, BatchAnswer>(),
    ]
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct BatchParameters {
    steps: Vec<BatchStep>,
    /// Default true
    stop_on_error: Option<bool>,
    session_id: Option<String>,
    page_id: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline)]
struct BatchStep {
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
struct StepAnswer {
    tool: String,
    /// The result of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// The number of the step's image among those that follow, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    picture: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
}

impl BatchParameters {
    /// Returns the batch's own session, and the other sessions that its steps name; `None` if no
    /// step works in a session. The batch's own session is the one that its parameters name, or
    /// else the session of its first step that works in one.
    pub fn sessions(&self, registry: &Registry) -> Option<(Option<String>, Vec<String>)> {
        let steps = self.steps.iter().filter(|step| registry.is_in_session(&step.tool));
        let mut named =
            steps.map(|step| step.arguments.as_ref().and_then(named_session).map(str::to_owned));
        let own = match &self.session_id {
            Some(id) => Some(id.clone()),
            None => named.next()?,
        };
        Some((own, named.flatten().collect()))
    }
}

/// Returns the session that the arguments of a call name.
pub(super) fn named_session(arguments: &Map<String, Value>) -> Option<&str> {
    SESSION.iter().find_map(|name| arguments.get(*name)?.as_str())
}

/// The form of the result of a batch. The fields have the same meaning as in [`Invocation`].
#[derive(Clone, Copy)]
pub(super) struct ResultForm {
    pub full_result: bool,
    pub overview: bool,
}

/// Runs the steps one after the other, each as a separate call. `batch_sessions`: the sessions to
/// which the batch was admitted. Only the last step returns an overview.
pub(super) async fn run(
    registry: &Registry,
    connection: &Arc<Connection>,
    given: BatchParameters,
    batch_sessions: Arc<[Arc<Session>]>,
    ResultForm { full_result, overview }: ResultForm,
    progress: &Progress,
) -> Result<Answer> {
    let stop_on_error = given.stop_on_error.unwrap_or(true);
    let count = given.steps.len();
    let mut answer = BatchAnswer { success: true, results: Vec::with_capacity(count), skipped: 0 };
    let mut pictures = Vec::new();
    let defaults = StepDefaults { session_id: given.session_id, page_id: given.page_id };
    for (done, step) in given.steps.into_iter().enumerate() {
        let is_last = done + 1 == count;
        #[expect(clippy::cast_precision_loss, reason = "no batch has that many steps")]
        let (done, total) = (done as f64, count as f64);
        progress.report(Stage { done, total: Some(total), step: Some(step.tool.clone()) });
        let earlier_pictures = pictures.len();
        let arguments = step.arguments.unwrap_or_default();
        let outcome =
            match self::step(registry, connection, step.tool.clone(), arguments, &defaults) {
                Ok(invocation) => {
                    let invocation = Invocation {
                        batch_sessions: batch_sessions.clone(),
                        overview: Some(overview && is_last),
                        condensed: !full_result && !is_last,
                        ..invocation
                    };
                    match Box::pin(registry.call(invocation)).await {
                        Ok(outcome) => outcome.result,
                        Err(unknown) => Err(refusal(&unknown.to_string())),
                    }
                }
                Err(refused) => Err(refused),
            };
        // A failed call of the Playwright set has a result.
        let is_failure = outcome.as_ref().is_ok_and(Answer::is_failure);
        let (result, error) = match outcome {
            // Agents receive pictures as image content, not as text.
            Ok(Answer::Image(picture)) if !full_result => {
                let without_picture = picture.without_picture();
                pictures.push(picture);
                (without_picture, None)
            }
            Ok(Answer::Pictured { facts, pictures: more }) if !full_result => {
                pictures.extend(more);
                (Some(facts), None)
            }
            Ok(answer) if !full_result && !is_last && registry.acts_on_page(&step.tool) => {
                (Some(condensed(answer.into_value())), None)
            }
            Ok(answer) => (Some(answer.into_value()), None),
            Err(error) => (None, Some(serde_json::to_value(error).unwrap_or_default())),
        };
        let failed = is_failure || error.is_some();
        answer.success &= !failed;
        let picture = (pictures.len() > earlier_pictures).then_some(pictures.len());
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

/// The session and the page for steps that name none.
pub(super) struct StepDefaults {
    pub session_id: Option<String>,
    pub page_id: Option<String>,
}

/// Creates the call of a step, unless the tool cannot be a step.
pub(super) fn step(
    registry: &Registry,
    connection: &Arc<Connection>,
    tool: String,
    mut arguments: Map<String, Value>,
    defaults: &StepDefaults,
) -> Result<Invocation> {
    if let Some(reason) = registry.not_in_batch(&tool) {
        return Err(refusal(reason));
    }
    for (names, id) in [(SESSION, &defaults.session_id), (PAGE, &defaults.page_id)] {
        if let Some(id) = id
            && registry.takes(&tool, names[0])
            && !names.iter().any(|name| arguments.contains_key(*name))
        {
            arguments.insert(names[0].to_owned(), id.clone().into());
        }
    }
    let invocation = Invocation::new(connection.clone(), tool, Value::Object(arguments));
    // The budget applies to the result of all steps, not to each.
    Ok(Invocation { full_result: true, ..invocation })
}

/// Removes the fields that the last step reports. Returns only the message if no other field is
/// left.
fn condensed(mut result: Value) -> Value {
    let Some(facts) = result.as_object_mut() else { return result };
    for name in ["success", "changes", "earlierChanges", "snapshot", "timing"] {
        facts.remove(name);
    }
    let is_message = facts.len() == 1 && facts.contains_key("message");
    if is_message { facts["message"].take() } else { result }
}

fn refusal(message: &str) -> TroupeError {
    TroupeError::new(crate::error::ErrorCode::InvalidParameters, message)
}
