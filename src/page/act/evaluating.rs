//! Runs the client's scripts on elements.

use serde_json::{Value, json};

use crate::{
    error::{ErrorCode, Result, TroupeError},
    page::Page,
};

/// Returns the source of a function that calls `function` with an element. If `function` is an
/// expression that is not a function, returns its value. The given source begins on the second
/// line.
fn wrapped(function: &str) -> String {
    format!(
        "(element) => {{ const value = (\n{function}\n); return typeof value === 'function' ? value(element) : value; }}"
    )
}

impl Page {
    /// Calls `function`, the source text of a function, with the element that `target` refers to,
    /// in the page's own world. Awaits its promise, and returns a copy of the value. Fails with the
    /// message of an exception.
    pub async fn evaluate_on(&self, target: &str, function: &str) -> Result<Value> {
        let resolved = self.locate(target).await?;
        let arguments = json!({"target": resolved.target, "strict": true});
        let found = self.call_injected_in(&resolved.frame, "resolve", arguments).await?;
        let reference = found["ref"].as_str().ok_or_else(|| {
            TroupeError::new(ErrorCode::ElementNotFound, format!("no element matches `{target}`"))
                .detail("selector", target)
        })?;
        let function = wrapped(function);
        let call = self.engine.call_on_element(&resolved.frame, reference, &function);
        self.await_script(call, 1).await
    }
}
