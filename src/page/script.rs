//! Scripts of the client in the page's own world.

use std::time::Duration;

use serde_json::Value;

use super::{Page, on_drop::OnDrop};
use crate::{
    engine::{EngineError, ScriptFailure, World},
    error::{ErrorCode, Result, TroupeError},
};

/// The longest that `evaluate` waits for a script.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Chromium's words for a value that JSON has no form for.
const UNCOPYABLE: [&str; 2] = ["reference chain is too long", "couldn't be returned by value"];

impl Page {
    /// Evaluates an expression, or calls the function that it is with `arguments`.
    pub async fn evaluate(&self, script: &str, arguments: &[Value]) -> Result<Value> {
        let arguments = Value::from(arguments.to_vec());
        // The script begins on a line of its own, so that positions can be told as in the script.
        let wrapped = format!(
            "(() => {{ const value = (\n{script}\n); return typeof value === 'function' ? value(...{arguments}) : value; }})()"
        );
        match self.run_script(&wrapped, 1).await {
            // Statements are no expression: their last value is the result.
            Err(error) if is_syntax_error(&error) => match self.run_script(script, 0).await {
                // Its own words, not those for our wrapper around it.
                Err(second) if !is_syntax_error(&second) => Err(second),
                Err(second) if script.trim_start().starts_with("return ") => {
                    Err(second.suggestion("give an expression, or a function: () => { …; return … }"))
                }
                other => other,
            },
            other => other,
        }
    }

    async fn run_script(&self, expression: &str, lines_before: u64) -> Result<Value> {
        let frame = self.main_frame().clone();
        let evaluation = async {
            self.engine.evaluate(&frame, World::Main, expression).await.map_err(|error| match error {
                EngineError::Script(failure) => EngineError::Script(ScriptFailure {
                    // V8 tells some errors at the wrapper itself.
                    line: failure.line.saturating_sub(lines_before).max(1),
                    ..failure
                }),
                EngineError::Refused(reason) if UNCOPYABLE.iter().any(|words| reason.contains(words)) => {
                    EngineError::Script(ScriptFailure {
                        message: "the value cannot be copied out of the page: it refers to itself, is a host object, \
                                  or holds a BigInt"
                            .to_owned(),
                        line: 1,
                        column: 1,
                        class: None,
                    })
                }
                other => other,
            })
        };
        // A script that runs for ever would hold up every later call.
        let stop = OnDrop::new(|| self.engine.stop_script());
        match self.within(TIMEOUT, self.alive_for(Duration::MAX, evaluation)).await {
            Some(outcome) => {
                stop.disarm();
                outcome
            }
            None => Err(self.timed_out("the script did not end", TIMEOUT)),
        }
    }
}

fn is_syntax_error(error: &TroupeError) -> bool {
    error.code == ErrorCode::ScriptError
        && error.details.get("class").is_some_and(|class| class == "SyntaxError")
}
