//! `troupe call TOOL JSON`: one call against a fresh server, its result on stdout.

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::screen::Screen;
use super::usage::Usage;
use super::{FAILED, OK, logging, misused};
use crate::config::{Config, LogConfig, LogLevel};
use crate::policy::vault::Vault;

pub(super) async fn run(
    config: Config,
    tool: &str,
    arguments: &str,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let arguments = match object(arguments) {
        Ok(arguments) => arguments,
        Err(usage) => return misused(screen, &usage),
    };
    // A person reads this: nothing but trouble is worth a line, unless more was asked for.
    let usual = Config::default().log;
    let log =
        if config.log == usual { LogConfig { level: LogLevel::Warn, ..usual } } else { config.log.clone() };
    // One that cannot be read is told by the call.
    if let Err(usage) = logging::start(&log, Vault::open(&config).unwrap_or_default()) {
        return misused(screen, &usage);
    }
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    match crate::server::call_once(config, tool.to_owned(), arguments, stop).await {
        Ok(result) => {
            screen.out(&result);
            OK
        }
        Err(error) => {
            screen.err(&serde_json::to_string_pretty(&error).unwrap_or_else(|_| error.to_string()));
            FAILED
        }
    }
}

fn object(text: &str) -> Result<Value, Usage> {
    let wrong = |why: String| Usage::NotJson { text: crate::config::one_line(text), why };
    match serde_json::from_str(text) {
        Ok(object @ Value::Object(_)) => Ok(object),
        Ok(_) => Err(wrong("this is another value".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}
