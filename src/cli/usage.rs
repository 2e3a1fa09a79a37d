//! Errors of a command line, one line each.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::config::{self, ConfigError, OPTIONS, Setting};

/// The subcommands, as messages list them.
pub(super) const COMMANDS: &[&str] = &[
    "install",
    "doctor",
    "call",
    "sessions",
    "store",
    "dashboard",
    "config",
    "daemon",
    "completions",
    "skill",
];

#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("unknown command `{name}`{}", match near {
        Some(near) => format!(", did you mean `{near}`?"),
        None => format!("; use one of {}, or no command to start the server", COMMANDS.join(", ")),
    })]
    UnknownCommand { name: String, near: Option<&'static str> },
    #[error("unknown option `{flag}`, did you mean `-{flag}`?")]
    OneDash { flag: String },
    #[error("unexpected argument `{argument}`")]
    Unexpected { argument: String },
    #[error("`{flag}` needs a value: {allowed}")]
    NeedsValue { flag: String, allowed: String },
    #[error("`troupe {command}` needs {what}")]
    Missing { command: &'static str, what: &'static str },
    #[error("unknown client `{name}`; use one of {}", known.join(", "))]
    UnknownClient { name: String, known: Vec<&'static str> },
    #[error("unknown shell `{name}`; use one of {}", known.join(", "))]
    UnknownShell { name: String, known: &'static [&'static str] },
    #[error("unknown browser `{name}`; use one of chromium, firefox, webkit")]
    UnknownBrowser { name: String },
    #[error("the arguments of the tool must be a JSON object ({why}): `{text}`")]
    NotJson { text: String, why: String },
    #[error("the arguments of the tool cannot be read from stdin: {why}")]
    Stdin { why: String },
    #[error("the arguments of the tool refer to environment variables that are not set: {}", names.join(", "))]
    Unset { names: Vec<String> },
    #[error("the log file cannot be written ({why}): `{path}`")]
    LogFile { path: String, why: String },
    #[error("{0}")]
    Other(String),
}

impl UsageError {
    /// Converts clap's error, which has several lines, into one line.
    pub(super) fn from_clap(error: &clap::Error) -> Self {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => text.clone(),
            Some(ContextValue::Strings(texts)) => texts.join(", "),
            _ => String::new(),
        };
        let argument = context(ContextKind::InvalidArg);
        match error.kind() {
            ErrorKind::UnknownArgument => Self::unknown(&argument),
            ErrorKind::InvalidSubcommand => {
                Self::unknown_command(context(ContextKind::InvalidSubcommand))
            }
            ErrorKind::InvalidValue
            | ErrorKind::NoEquals
            | ErrorKind::TooFewValues
            | ErrorKind::WrongNumberOfValues => {
                // clap adds the name of the value: "--session-timeout <MS>".
                let flag = argument.split([' ', '=', '[']).next().unwrap_or_default().to_owned();
                let option = OPTIONS.iter().find(|option| option.flag() == flag);
                Self::NeedsValue {
                    flag,
                    allowed: option.map(|option| option.kind.allowed()).unwrap_or_default(),
                }
            }
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                Self::Other(line.trim_start_matches("error: ").to_owned())
            }
        }
    }

    fn unknown(argument: &str) -> Self {
        if let Some(name) = argument.strip_prefix("--") {
            // The error of the table of options suggests the closest name.
            let name = name.split('=').next().unwrap_or_default();
            return match Setting::from_flag(name, "") {
                Err(error @ ConfigError::UnknownOption { .. }) => Self::Config(error),
                _ => Self::Unexpected { argument: argument.to_owned() },
            };
        }
        Self::Unexpected { argument: argument.to_owned() }
    }

    fn unknown_command(name: String) -> Self {
        let near = config::nearest(&name, COMMANDS.iter().copied());
        let near = near.and_then(|near| COMMANDS.iter().find(|command| **command == near)).copied();
        Self::UnknownCommand { name, near }
    }
}
