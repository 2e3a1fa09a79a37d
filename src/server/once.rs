//! One call without a client: `troupe call`.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
    session::Connection,
    tools::{Answer, EncodedPicture, Invocation, Registry},
};

/// The result of `troupe call`.
pub struct CallOutput {
    pub text: String,
    /// Why the call, or a step of its batch, failed although there is a result.
    pub failure: Option<String>,
}

/// Makes one call with a new server, ends the server, and returns the result as text.
pub async fn call_once(
    config: Config,
    tool: String,
    arguments: Value,
    stop: CancellationToken,
) -> Result<CallOutput> {
    let registry = Registry::open(Arc::new(config))?;
    let connection = Arc::<Connection>::default();
    let invocation =
        Invocation { full_result: true, ..Invocation::new(connection, tool, arguments) };
    let outcome = tokio::select! {
        outcome = registry.call(invocation) => outcome
            .map_err(|unknown| TroupeError::new(ErrorCode::InvalidParameters, unknown.to_string()))
            .and_then(|outcome| outcome.result),
        () = stop.cancelled() => Err(TroupeError::new(ErrorCode::InternalError, "the call was canceled")),
    };
    registry.manager().shutdown().await;
    let pretty =
        |value: Value| serde_json::to_string_pretty(&value).unwrap_or_else(|_| value.to_string());
    let answer = outcome?;
    let failure = failure(&answer);
    let text = match answer {
        Answer::Json(value) => pretty(value),
        Answer::Text(text) => text,
        Answer::Image(EncodedPicture { path: Some(path), .. }) => pretty(json!({"path": path})),
        Answer::Image(EncodedPicture { data, mime_type, .. }) => {
            format!("data:{mime_type};base64,{data}")
        }
        passed @ Answer::PassedThrough(_) => pretty(passed.into_value()),
        pictured @ Answer::Pictured { .. } => pretty(pictured.into_value()),
    };
    Ok(CallOutput { text, failure })
}

/// Returns why a call with this answer has failed.
fn failure(answer: &Answer) -> Option<String> {
    let facts = match answer {
        Answer::Json(facts) | Answer::Pictured { facts, .. } => facts,
        other => return other.failure(),
    };
    failure_in(facts)
}

/// Returns the error in the result of a failed step of the Playwright set.
fn playwright_error(step: &Value) -> Option<&str> {
    let result = &step["result"];
    let text = result["content"][0]["text"].as_str().filter(|_| result["isError"] == true)?;
    Some(text.strip_prefix("### Error\n").unwrap_or(text))
}

/// Returns why a call with this result has failed: the first step of a batch that failed.
pub fn failure_in(facts: &Value) -> Option<String> {
    if facts["success"] != false {
        return None;
    }
    let steps = facts["results"].as_array().into_iter().flatten().enumerate();
    let failed = steps.filter_map(|(at, step)| {
        let message = step["error"]["message"].as_str().or_else(|| playwright_error(step))?;
        Some(format!(
            "step {} ({}) failed: {message}",
            at + 1,
            step["tool"].as_str().unwrap_or_default()
        ))
    });
    Some(failed.into_iter().next().unwrap_or_else(|| "the call failed".to_owned()))
}
