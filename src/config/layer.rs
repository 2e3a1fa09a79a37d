//! A layer: the settings from one source, each with its origin.

use std::path::PathBuf;

use serde_json::Value;

use super::error::ConfigError;
use super::options::{self, ConfigOption};
use super::origin::Origin;
use super::redacted_endpoint;
use super::value::{Kind, TextSource};

/// One option with a checked value.
#[derive(Debug, Clone)]
pub struct Setting {
    pub option: &'static ConfigOption,
    pub value: Value,
    pub origin: Origin,
}

impl Setting {
    /// A setting of the command line. `name` is the flag without its dashes in any spelling.
    pub fn from_flag(name: &str, text: &str) -> Result<Self, ConfigError> {
        let Some((option, negated)) = options::by_flag(name) else {
            return Err(ConfigError::UnknownOption {
                name: name.to_owned(),
                near: near_flag(name),
            });
        };
        Self::from_text(option, negated, text, TextSource::Flag, Origin::Flag(format!("--{name}")))
    }

    /// Rejects an option that this server does not have, unless it is turned off.
    fn new(
        option: &'static ConfigOption,
        value: Value,
        origin: Origin,
    ) -> Result<Self, ConfigError> {
        match option.refusal.filter(|_| value != false) {
            Some(reason) => Err(ConfigError::Refused { origin, reason }),
            None => Ok(Self { option, value, origin }),
        }
    }

    pub(super) fn from_text(
        option: &'static ConfigOption,
        negated: bool,
        text: &str,
        source: TextSource,
        origin: Origin,
    ) -> Result<Self, ConfigError> {
        match option.kind.parse(text, source) {
            Some(value) => Self::new(option, negate(value, negated), origin),
            None => Err(reject_value(option, text.to_owned(), origin)),
        }
    }

    pub(super) fn from_json(
        option: &'static ConfigOption,
        negated: bool,
        value: &Value,
        origin: Origin,
    ) -> Result<Self, ConfigError> {
        match option.kind.check(value) {
            Some(value) => Self::new(option, negate(value, negated), origin),
            None => Err(reject_value(option, value.to_string(), origin)),
        }
    }
}

/// Returns the error of a value that `option` does not allow.
fn reject_value(option: &ConfigOption, value: String, origin: Origin) -> ConfigError {
    let value = match option.kind {
        _ if option.is_secret && !value.trim().is_empty() => "…".to_owned(),
        Kind::Url(_) => redacted_endpoint(&value),
        // Credentials before the host may contain slashes.
        Kind::Output if value.contains("://") && value.contains(['@', '?']) => "…".to_owned(),
        _ => value,
    };
    ConfigError::InvalidValue { origin, value, allowed: option.kind.allowed() }
}

fn negate(value: Value, negated: bool) -> Value {
    match value {
        Value::Bool(on) if negated => Value::Bool(!on),
        other => other,
    }
}

/// Returns the flag that is closest to a misspelled one, with its dashes.
fn near_flag(name: &str) -> Option<String> {
    let known: Vec<String> = options::OPTIONS
        .iter()
        .flat_map(|option| {
            let negated = option.negatable.then(|| format!("no-{}", option.name));
            option.names().map(str::to_owned).chain(negated)
        })
        .collect();
    super::nearest(name, known.iter().map(String::as_str)).map(|name| format!("--{name}"))
}

/// The setting of `--store` if no layer has one.
pub(super) fn default_store(text: &str) -> Result<Setting, ConfigError> {
    let origin = Origin::Default("store");
    Setting::from_flag("store", text).map(|setting| Setting { origin, ..setting })
}

/// Returns the file that `--config` names in this layer.
pub(super) fn config_file(settings: &[Setting]) -> Option<PathBuf> {
    settings
        .iter()
        .rev()
        .find(|setting| setting.option.name == options::CONFIG)?
        .value
        .as_str()
        .map(PathBuf::from)
}

/// Whether a layer offers the Playwright set.
pub(super) fn is_playwright(settings: &[Setting]) -> bool {
    let tools = settings.iter().filter(|setting| setting.option.name == "tools");
    tools.filter_map(|setting| setting.value.as_array()).flatten().any(|word| word == "playwright")
}

/// Joins the values of a list option that occurs several times on a command line.
pub(super) fn joined(settings: Vec<Setting>) -> Vec<Setting> {
    let mut result: Vec<Setting> = Vec::new();
    for setting in settings {
        let earlier = result.iter().position(|other| std::ptr::eq(other.option, setting.option));
        match (earlier, &setting.value) {
            (Some(position), Value::Array(more)) => {
                if let Value::Array(items) = &mut result[position].value {
                    items.extend(more.iter().cloned());
                }
            }
            (Some(position), _) => result[position] = setting,
            (None, _) => result.push(setting),
        }
    }
    result
}
