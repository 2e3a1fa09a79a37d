//! The layer of the environment: `TROUPE_` and an option's name in capitals.

use super::error::ConfigError;
use super::layer::{Origin, Setting};
use super::options::{self, ConfigOption};
use super::value::Medium;

const PREFIX: &str = "TROUPE_";

/// Reads every variable that begins with `TROUPE_`. An empty one counts as not set: clients'
/// configuration files often pass empty strings on.
pub(super) fn settings(
    variables: impl IntoIterator<Item = (String, String)>,
) -> Result<Vec<Setting>, ConfigError> {
    let mut ours: Vec<_> = variables.into_iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
    // The environment has no order; the error that is told should not change from start to start.
    ours.sort();
    let mut settings: Vec<Setting> = Vec::new();
    for (name, text) in ours {
        let Some((option, negated)) = options::by_variable(&name) else {
            return Err(ConfigError::UnknownVariable { near: near(&name), name });
        };
        if text.is_empty() {
            continue;
        }
        let setting =
            Setting::from_text(option, negated, &text, Medium::Environment, Origin::Variable(name))?;
        if let Some(first) = settings.iter().find(|other| std::ptr::eq(other.option, option)) {
            return Err(ConfigError::Twice { first: first.origin.clone(), second: setting.origin });
        }
        settings.push(setting);
    }
    Ok(settings)
}

fn near(name: &str) -> Option<String> {
    let known: Vec<_> = options::OPTIONS.iter().map(ConfigOption::variable).collect();
    // Without the common prefix, which would make all of them alike.
    let known = known.iter().map(|name| &name[PREFIX.len()..]);
    super::nearest(&name[PREFIX.len()..], known).map(|name| format!("{PREFIX}{name}"))
}
