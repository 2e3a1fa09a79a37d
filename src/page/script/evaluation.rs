//! Runs the client's scripts in the page's main world.

use std::time::Duration;

use scopeguard::ScopeGuard;
use serde_json::Value;

use crate::{
    engine::{EngineError, EngineResult, ScriptFailure, World},
    error::{ErrorCode, Result, TroupeError},
    page::Page,
};

/// Timeout of `evaluate`.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Chromium's messages for a value that JSON cannot represent.
const UNCOPYABLE: [&str; 2] = ["reference chain is too long", "couldn't be returned by value"];

impl Page {
    /// Evaluates `script` in the main frame and returns a copy of its value. An expression can use
    /// `arguments` as `args`; if its value is a function, the function is called with them.
    /// Anything else runs as statements. Each script runs at most once.
    pub async fn evaluate(&self, script: &str, arguments: &[Value]) -> Result<Value> {
        // Without arguments, `args` is left to the page, which may have a variable of that name.
        let (parameter, passed) = if arguments.is_empty() { ("", "") } else { ("args", "...args") };
        let arguments = Value::from(arguments.to_vec());
        // The script begins on a new line, so that line numbers in errors are those of the script.
        let function = format!(
            "({parameter}) => {{ const value = (\n{script}\n); return typeof value === 'function' ? value({passed}) : value; }}"
        );
        match self.run_script(&format!("({function})({arguments})"), 1).await {
            // A script that does not compile has not run: it can still run as statements.
            Err(error) if is_syntax_error(&error) && !self.compiles(&function).await? => {}
            outcome => return outcome,
        }
        match self.run_script(script, 0).await {
            Err(error) if is_syntax_error(&error) && script.trim_start().starts_with("return ") => {
                Err(error.suggestion("pass an expression, or a function: () => { …; return … }"))
            }
            Err(error) if !parameter.is_empty() && is_args_missing(&error) => Err(error.suggestion(
                "pass a function: (first, second) => { …; return … }; statements cannot use `args`",
            )),
            outcome => outcome,
        }
    }

    /// Tests which of `texts` match a JavaScript regular expression. Runs in the isolated world.
    ///
    /// # Errors
    /// `SCRIPT_ERROR` if the expression is not valid.
    pub async fn regex_matches(
        &self,
        source: &str,
        flags: &str,
        texts: &[String],
    ) -> Result<Vec<bool>> {
        let (source, flags, texts) =
            (Value::from(source), Value::from(flags), Value::from(texts.to_vec()));
        let script = format!("{texts}.map((text) => new RegExp({source}, {flags}).test(text))");
        let frame = self.main_frame().clone();
        let matching = async {
            self.engine
                .evaluate(
                    &frame,
                    World::Isolated,
                    &format!("new RegExp({source}, {flags}); {script}"),
                )
                .await
        };
        let stop = scopeguard::guard((), |()| self.engine.terminate_script());
        let Some(outcome) = self.within(TIMEOUT, self.guarded_for(Duration::MAX, matching)).await
        else {
            return Err(self.timed_out("the regular expression did not end", TIMEOUT));
        };
        ScopeGuard::into_inner(stop);
        let matches = outcome?;
        Ok(matches.as_array().into_iter().flatten().map(|matches| *matches == true).collect())
    }

    /// Returns whether `function`, the source of a function expression, compiles. Does not run it:
    /// engines report all syntax errors in a function's body when they compile the code around it.
    /// Unlike `new Function`, this also works on pages whose content security policy forbids
    /// `eval`.
    async fn compiles(&self, function: &str) -> Result<bool> {
        match self.run_script(&format!("void ({function})"), 1).await {
            Ok(_) => Ok(true),
            Err(error) if is_syntax_error(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn run_script(&self, expression: &str, lines_before: u64) -> Result<Value> {
        let frame = self.main_frame().clone();
        let evaluation = self.engine.evaluate(&frame, World::Main, expression);
        self.await_script(evaluation, lines_before).await
    }

    /// Awaits a script of the client. `lines_before` is the number of lines before it in the code
    /// that the engine runs.
    pub(in crate::page) async fn await_script(
        &self,
        evaluation: impl Future<Output = EngineResult<Value>>,
        lines_before: u64,
    ) -> Result<Value> {
        let evaluation = async {
            evaluation.await.map_err(|error| match error {
                EngineError::Script(failure) => EngineError::Script(ScriptFailure {
                    // V8 reports some errors at the position of the wrapper.
                    line: failure.line.saturating_sub(lines_before).max(1),
                    ..failure
                }),
                EngineError::Refused(reason)
                    if UNCOPYABLE.iter().any(|words| reason.contains(words)) =>
                {
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
        // An endless script would block every later call.
        let stop = scopeguard::guard((), |()| self.engine.terminate_script());
        match self.within(TIMEOUT, self.guarded_for(Duration::MAX, evaluation)).await {
            Some(outcome) => {
                ScopeGuard::into_inner(stop);
                outcome
            }
            None => Err(self.timed_out("the script did not end", TIMEOUT)),
        }
    }
}

fn is_syntax_error(error: &TroupeError) -> bool {
    has_class(error, "SyntaxError")
}

/// Returns whether a script failed because it used `args`, which only expressions can use.
fn is_args_missing(error: &TroupeError) -> bool {
    has_class(error, "ReferenceError")
        && error.message.split(|letter: char| !letter.is_alphanumeric()).any(|word| word == "args")
}

fn has_class(error: &TroupeError, name: &str) -> bool {
    error.code == ErrorCode::ScriptError
        && error.details.get("class").is_some_and(|class| class == name)
}
