//! `troupe call TOOL JSON`: makes one call with a fresh server and prints its result to stdout.
//! With `-` in place of JSON, the arguments are read from stdin, which has no limit on its length.
//! `{"$env": "NAME"}` in them is the value of an environment variable, so that a password is not in
//! a file or on a command line.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::usage::UsageError;
use super::{FAILED, OK, logging, misused};
use crate::config::{Config, LogConfig, LogLevel};
use crate::export::ENVIRONMENT;
use crate::policy::vault::Vault;
use crate::server::CallOutput;

/// The argument that reads the JSON from stdin.
const STDIN: &str = "-";

pub(super) async fn run(
    config: Config,
    tool: &str,
    arguments: &str,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let read = match arguments {
        STDIN => tokio::task::spawn_blocking(|| std::io::read_to_string(std::io::stdin())).await,
        given => Ok(Ok(given.to_owned())),
    };
    let text = match read {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return misused(screen, &UsageError::Stdin { why: error.to_string() }),
        Err(error) => return misused(screen, &UsageError::Stdin { why: error.to_string() }),
    };
    let arguments = match object(&text).and_then(from_environment) {
        Ok(arguments) => arguments,
        Err(usage) => return misused(screen, &usage),
    };
    // A user reads stderr, so only warnings and errors are logged by default.
    let usual = Config::default().log;
    let log = if config.log == usual {
        LogConfig { level: LogLevel::Warn, ..usual }
    } else {
        config.log.clone()
    };
    // The error of the call reports why no browser could be started.
    let without = ["troupe::session::backends::pool"];
    // If the vault cannot be read, the call reports it.
    if let Err(usage) = logging::start(&log, Vault::open(&config).unwrap_or_default(), &without) {
        return misused(screen, &usage);
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let called = if config.connect.is_some() {
        crate::transport::call_connected(&config, tool, arguments, stop).await
    } else {
        crate::server::call_once(config, tool.to_owned(), arguments, stop).await
    };
    match called {
        Ok(CallOutput { text, failure }) => {
            screen.out(&text);
            match failure {
                None => OK,
                Some(failure) => {
                    screen.err(&format!("troupe: {}", crate::config::one_line(&failure)));
                    FAILED
                }
            }
        }
        Err(error) => {
            screen.err(&serde_json::to_string_pretty(&error).unwrap_or_else(|_| error.to_string()));
            FAILED
        }
    }
}

/// Replaces `{"$env": "NAME"}` objects by the values of environment variables.
fn from_environment(mut arguments: Value) -> Result<Value, UsageError> {
    let mut missing = Vec::new();
    replace(&mut arguments, &mut missing);
    match missing.is_empty() {
        true => Ok(arguments),
        false => Err(UsageError::Unset { names: missing }),
    }
}

fn replace(value: &mut Value, missing: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            if let (Some(Value::String(name)), 1) = (map.get(ENVIRONMENT), map.len()) {
                match std::env::var(name) {
                    Ok(text) => *value = Value::String(text),
                    Err(_) => missing.push(name.clone()),
                }
                return;
            }
            map.values_mut().for_each(|value| replace(value, missing));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, missing)),
        _ => {}
    }
}

fn object(text: &str) -> Result<Value, UsageError> {
    let wrong = |why: String| UsageError::NotJson { text: crate::config::one_line(text), why };
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(wrong("this is another value".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}
