//! The layer of the file: seed 000's flat keys (`sessionTimeout`) and seed 004's nested ones
//! (`session.maxSessions`), side by side if one likes.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::layer::{Origin, Setting};
use super::options::{self, ConfigOption};

/// What a file said.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub settings: Vec<Setting>,
    pub warnings: Vec<String>,
}

/// Keys of seed 004 that describe the server to the file's reader and set nothing.
const LABELS: &[&str] = &["name", "version", "$schema"];
pub(super) const DESTINATION: &str = "logging.destination";
pub(super) const DESTINATIONS: &[&str] = &["stdout", "stderr", "file"];

pub(super) fn read(path: &Path) -> Result<FileSettings, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::FileUnreadable { path: path.to_owned(), source })?;
    parse(&text, Some(path.to_owned()))
}

pub(super) fn parse(text: &str, file: Option<PathBuf>) -> Result<FileSettings, ConfigError> {
    // Editors on Windows begin a file with a byte order mark, which JSON does not know.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text)
        .map_err(|error| ConfigError::NotJson { file: file.clone(), why: error.to_string() })?;
    let Value::Object(object) = value else {
        return Err(ConfigError::NotAnObject { file });
    };
    let mut reader = Reader { file, found: FileSettings::default(), destination: None };
    reader.object(&object)?;
    reader.destination()?;
    Ok(reader.found)
}

struct Reader {
    file: Option<PathBuf>,
    found: FileSettings,
    destination: Option<String>,
}

impl Reader {
    fn object(&mut self, object: &Map<String, Value>) -> Result<(), ConfigError> {
        for (key, value) in object {
            if LABELS.contains(&key.as_str()) {
                self.label(key, value)?;
            } else if let (Value::Object(inner), true) = (value, is_section(key)) {
                for (inner_key, value) in inner {
                    self.nested(format!("{key}.{inner_key}"), value)?;
                }
            } else if let Some((option, negated)) = options::by_key(key) {
                self.set(option, negated, key, value)?;
            } else if is_section(key) {
                return Err(self.invalid(key, value, "an object"));
            } else {
                return Err(self.unknown(key));
            }
        }
        Ok(())
    }

    fn nested(&mut self, key: String, value: &Value) -> Result<(), ConfigError> {
        if let Some(option) = options::by_nested(&key) {
            return self.set(option, false, &key, value);
        }
        if key == DESTINATION {
            match value.as_str().filter(|name| DESTINATIONS.contains(name)) {
                Some(name) => self.destination = Some(name.to_owned()),
                None => return Err(self.invalid(&key, value, "`stdout`, `stderr` or `file`")),
            }
            return Ok(());
        }
        Err(self.unknown(&key))
    }

    fn set(
        &mut self,
        option: &'static ConfigOption,
        negated: bool,
        key: &str,
        value: &Value,
    ) -> Result<(), ConfigError> {
        // `null` is how programs write "not set".
        if value.is_null() {
            return Ok(());
        }
        let setting = Setting::from_json(option, negated, value, self.origin(key))?;
        if let Some(first) = self.found.settings.iter().find(|other| std::ptr::eq(other.option, option)) {
            return Err(ConfigError::Twice { first: first.origin.clone(), second: setting.origin });
        }
        self.found.settings.push(setting);
        Ok(())
    }

    fn label(&self, key: &str, value: &Value) -> Result<(), ConfigError> {
        if value.is_string() { Ok(()) } else { Err(self.invalid(key, value, "a text")) }
    }

    /// `logging.destination` only says where the log goes; it must agree with the file that is named.
    fn destination(&mut self) -> Result<(), ConfigError> {
        let log_file = self.found.settings.iter().find(|setting| setting.option.name == "log-file");
        let here = self.origin(DESTINATION);
        match (self.destination.as_deref(), log_file) {
            (Some("file"), None) => Err(ConfigError::InvalidValue {
                origin: here,
                value: "file".to_owned(),
                allowed: "`stderr` where `logging.file` names no file".to_owned(),
            }),
            (Some("stdout" | "stderr"), Some(log_file)) => Err(ConfigError::Contradiction {
                first: here,
                second: log_file.origin.clone(),
                why: "the log goes to one place",
            }),
            (Some("stdout"), None) => {
                let line = format!("{here}: `stdout` means stderr, because stdout carries the protocol");
                self.found.warnings.push(line);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn origin(&self, key: &str) -> Origin {
        Origin::Key { key: key.to_owned(), file: self.file.clone() }
    }

    fn invalid(&self, key: &str, value: &Value, allowed: &str) -> ConfigError {
        ConfigError::InvalidValue {
            origin: self.origin(key),
            value: value.to_string(),
            allowed: allowed.to_owned(),
        }
    }

    fn unknown(&self, key: &str) -> ConfigError {
        let flat: Vec<_> =
            options::OPTIONS.iter().filter(|o| !o.at.is_empty()).map(ConfigOption::key).collect();
        let nested = options::OPTIONS.iter().filter_map(|option| option.nested).chain([DESTINATION]);
        let near = match key.split_once('.') {
            // A key of a section is nearest to one of that section.
            Some((section, _)) => super::nearest(key, nested.filter(|other| other.starts_with(section))),
            None => super::nearest(key, flat.iter().map(String::as_str)),
        };
        ConfigError::UnknownKey {
            key: key.to_owned(),
            near: near.map(str::to_owned),
            file: self.file.clone(),
        }
    }
}

/// Whether the nested file has an object under this key.
fn is_section(key: &str) -> bool {
    options::OPTIONS
        .iter()
        .filter_map(|option| option.nested)
        .any(|nested| nested.split_once('.').is_some_and(|(section, _)| section == key))
}
