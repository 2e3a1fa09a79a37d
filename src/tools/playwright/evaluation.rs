//! Runs the client's JavaScript in the page.

use serde::Deserialize;
use serde_json::Value;

use super::{call::PlaywrightCall, code, response::Response};
use crate::{
    error::{ErrorCode, Result, TroupeError},
    tools::extraction::{page_with_secret, secret_error},
};

#[derive(Deserialize)]
pub(super) struct Evaluate {
    target: Option<String>,
    function: String,
    filename: Option<String>,
}

/// Evaluates an expression. If its value is a function, calls it with the element. Returns the JSON
/// of the result, and whether it was a function.
const EVALUATE: &str = r"async (element) => {
  const value = (
FUNCTION
  )
  const isFunction = typeof value === 'function'
  const result = await (isFunction ? value(element) : value)
  const plain = (key, value) =>
    value === window
      ? 'ref: <Window>'
      : value instanceof Document
        ? 'ref: <Document>'
        : value instanceof Node
          ? 'ref: <Node>'
          : value
  return { text: JSON.stringify(result, plain, 2) ?? 'undefined', isFunction }
}";

pub(super) async fn evaluate(call: PlaywrightCall, given: Evaluate) -> Result<Response> {
    let page = call.page().await?;
    if call.config.security.enable_script_evaluation.is_none()
        && let Some(page_id) = page_with_secret(&call.session, &page).await
    {
        return Err(secret_error(&page_id));
    }
    let target = match given.target.filter(|target| !target.is_empty()) {
        Some(target) => Some(call.strict_target(&page, &target).await?),
        None => None,
    };
    let script = EVALUATE.replace("FUNCTION", &given.function);
    let evaluating = async {
        match &target {
            Some(target) => page.evaluate_on(&target.reference, &script).await,
            None => page.evaluate(&script, &[]).await,
        }
    };
    let evaluated = page.run_and_settle(evaluating).await;
    let subject = target.as_ref().map(|target| format!(".{}", target.locator)).unwrap_or_default();
    let evaluated = match evaluated {
        Ok(evaluated) => evaluated,
        // The result shows the dialog.
        Err(error) if error.code == ErrorCode::DialogOpen => return Ok(Response::default()),
        Err(error) => {
            return Ok(Response::error(exception_message(&error)));
        }
    };
    let mut response = Response::default();
    let expression = if evaluated["isFunction"] == true {
        given.function
    } else {
        format!("() => ({})", given.function)
    };
    response.add_code(format!("await page{subject}.evaluate({});", code::quote(&expression)));
    let text = evaluated["text"].as_str().unwrap_or_default().to_owned();
    response.add_result(&call, "Evaluation result", text, given.filename).await?;
    Ok(response)
}

/// Returns the message of an exception, which begins with its class.
fn exception_message(error: &TroupeError) -> String {
    let message = error.details.get("message").and_then(Value::as_str).unwrap_or(&error.message);
    match error.details.get("class").and_then(Value::as_str) {
        Some(class) if !message.starts_with(class) => format!("{class}: {message}"),
        _ => message.to_owned(),
    }
}
