//! Errors in settings. Each is one line for the user.

use std::path::PathBuf;

use super::origin::Origin;

/// An error in the configuration, which prevents the start.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown option `--{}`{}", one_line(name), hint(near.as_deref()))]
    UnknownOption { name: String, near: Option<String> },
    #[error("unknown key `{}`{}{}", one_line(key), in_file(file.as_ref()), hint(near.as_deref()))]
    UnknownKey { key: String, file: Option<PathBuf>, near: Option<String> },
    #[error("{origin} must be {allowed}, but it is `{}`", one_line(value))]
    InvalidValue { origin: Origin, value: String, allowed: String },
    #[error("{origin} names an unknown device: `{}`; {}", one_line(name), devices(near))]
    UnknownDevice { origin: Origin, name: String, near: Vec<String> },
    #[error("{first} and {second} set the same option: keep one of them")]
    Twice { first: Origin, second: Origin },
    #[error("{first} and {second} contradict each other: {why}")]
    Contradiction { first: Origin, second: Origin, why: &'static str },
    #[error("{origin} needs `--{needed}`: {why}")]
    Needs { origin: Origin, needed: &'static str, why: &'static str },
    #[error("{origin} is an option of @playwright/mcp that this server does not have: {reason}")]
    Refused { origin: Origin, reason: &'static str },
    #[error("the configuration file cannot be read ({source}): `{}`", path.display())]
    FileUnreadable { path: PathBuf, source: std::io::Error },
    #[error("not valid JSON{} ({why})", in_file(file.as_ref()))]
    NotJson { file: Option<PathBuf>, why: String },
    #[error("the configuration{} must be a JSON object", in_file(file.as_ref()))]
    NotAnObject { file: Option<PathBuf> },
    #[error(
        "`--headless false` needs a display, and neither DISPLAY nor WAYLAND_DISPLAY is set: start an X server (`xvfb-run troupe …`) or use `--headless`"
    )]
    NoDisplay,
    /// The table of options and [`super::Config`] disagree: a defect that the tests detect.
    #[error("the settings do not fit together ({0})")]
    Inconsistent(String),
}

/// Returns `, did you mean …?`, or an empty string.
pub(super) fn hint(near: Option<&str>) -> String {
    near.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}

fn devices(near: &[String]) -> String {
    match near {
        [] => {
            "pass a name of Playwright's list, such as `iPhone 15`, `Pixel 7` or `Desktop Chrome`"
                .to_owned()
        }
        near => format!("similar devices: {}", near.join(", ")),
    }
}

fn in_file(file: Option<&PathBuf>) -> String {
    file.map(|path| format!(" in `{}`", path.display())).unwrap_or_default()
}

/// Shortens a value and removes its line breaks, for a message of one line.
pub fn one_line(text: &str) -> String {
    const MAX_LENGTH: usize = 120;
    let mut line: String =
        text.chars().take(MAX_LENGTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().count() > MAX_LENGTH {
        line.push('…');
    }
    line
}
