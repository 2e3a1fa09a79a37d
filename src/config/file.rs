//! The settings from the configuration file. It can have flat keys (`sessionTimeout`), nested keys
//! (`session.maxSessions`), and with the Playwright set the keys of @playwright/mcp.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::ConfigError;
use super::layer::Setting;
use super::options::{self, ConfigOption};
use super::origin::Origin;
use super::playwright_keys::{self, PlaywrightKey};
use super::value::TextSource;

/// The settings of a configuration file.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub settings: Vec<Setting>,
    pub warnings: Vec<String>,
    pub name: Option<String>,
    pub version: Option<String>,
}

/// Keys that describe the server. They are not options.
pub(super) const LABELS: &[(&str, &str)] = &[
    ("name", "Name of the server that clients see. Default: troupe"),
    ("version", "Version of the server that clients see. Default: the version of Troupe"),
    ("$schema", "URL of a schema, for editors"),
];

/// Reads a file. `is_playwright`: the file can also have the keys of @playwright/mcp.
pub(super) fn read(path: &Path, is_playwright: bool) -> Result<FileSettings, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::FileUnreadable { path: path.to_owned(), source })?;
    parse(&text, Some(path.to_owned()), is_playwright)
}

pub(super) fn parse(
    text: &str,
    file: Option<PathBuf>,
    is_playwright: bool,
) -> Result<FileSettings, ConfigError> {
    // Editors on Windows write a byte order mark, which JSON does not allow.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let has_ini_name = file.as_ref().is_some_and(|path| path.extension() == Some("ini".as_ref()));
    if is_playwright && (has_ini_name || !text.trim_start().starts_with('{')) {
        let mut reader = Reader { file, found: FileSettings::default() };
        reader.ini(text)?;
        return Ok(reader.found);
    }
    let value: Value = serde_json::from_str(text)
        .map_err(|error| ConfigError::NotJson { file: file.clone(), why: error.to_string() })?;
    let Value::Object(object) = value else {
        return Err(ConfigError::NotAnObject { file });
    };
    let offers = |word: &Value| word == "playwright";
    let is_playwright = is_playwright
        || object.get("tools").is_some_and(|tools| match tools.as_array() {
            Some(words) => words.iter().any(offers),
            None => offers(tools),
        });
    let mut reader = Reader { file, found: FileSettings::default() };
    if is_playwright {
        reader.playwright_object("", &object)?;
    } else {
        reader.object(&object)?;
    }
    Ok(reader.found)
}

struct Reader {
    file: Option<PathBuf>,
    found: FileSettings,
}

impl Reader {
    fn object(&mut self, object: &Map<String, Value>) -> Result<(), ConfigError> {
        for (key, value) in object {
            if LABELS.iter().any(|(label, _)| label == key) {
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

    /// Reads an object with keys of @playwright/mcp; other keys of the file are Troupe's own.
    fn playwright_object(
        &mut self,
        path: &str,
        object: &Map<String, Value>,
    ) -> Result<(), ConfigError> {
        for (name, value) in object {
            let key = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            match (playwright_keys::lookup(&key), value) {
                (Some(PlaywrightKey::Option(option)), value) => {
                    let Some((option, negated)) = options::by_flag(option) else {
                        return Err(self.unknown(&key));
                    };
                    self.set(option, negated, &key, value)?;
                }
                (Some(PlaywrightKey::Refused(reason)), value) if !value.is_null() => {
                    return Err(ConfigError::Refused { origin: self.origin(&key), reason });
                }
                (Some(PlaywrightKey::Refused(_)), _) => {}
                (None, Value::Object(inner)) if playwright_keys::is_section(&key) => {
                    self.playwright_object(&key, inner)?;
                }
                (None, value) if path.is_empty() => {
                    self.object(&Map::from_iter([(key, value.clone())]))?;
                }
                (None, _) => return Err(self.unknown(&key)),
            }
        }
        Ok(())
    }

    /// Reads lines `key = value`, as @playwright/mcp does: with its dotted keys, `[section]` lines,
    /// and comments after `;` or `#`.
    fn ini(&mut self, text: &str) -> Result<(), ConfigError> {
        let mut section = String::new();
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with([';', '#']) {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = format!("{}.", name.trim());
                continue;
            }
            let (name, value) = line.split_once('=').unwrap_or((line, "true"));
            let key = format!("{section}{}", name.trim());
            let value = value.trim();
            let value = ['"', '\'']
                .iter()
                .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
                .unwrap_or(value);
            let option = match playwright_keys::lookup(&key) {
                Some(PlaywrightKey::Refused(reason)) => {
                    return Err(ConfigError::Refused { origin: self.origin(&key), reason });
                }
                Some(PlaywrightKey::Option(option)) => options::by_flag(option),
                None => options::by_key(&key),
            };
            let (option, negated) = option.ok_or_else(|| self.unknown(&key))?;
            let origin = self.origin(&key);
            let setting =
                Setting::from_text(option, negated, value, TextSource::Environment, origin)?;
            self.add(setting)?;
        }
        Ok(())
    }

    fn nested(&mut self, key: String, value: &Value) -> Result<(), ConfigError> {
        if let Some(option) = options::by_nested(&key) {
            return self.set(option, false, &key, value);
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
        // Programs write `null` for "not set".
        if value.is_null() {
            return Ok(());
        }
        let setting = Setting::from_json(option, negated, value, self.origin(key))?;
        self.add(setting)
    }

    fn add(&mut self, setting: Setting) -> Result<(), ConfigError> {
        if let Some(first) =
            self.found.settings.iter().find(|other| std::ptr::eq(other.option, setting.option))
        {
            return Err(ConfigError::Twice { first: first.origin.clone(), second: setting.origin });
        }
        self.found.settings.push(setting);
        Ok(())
    }

    fn label(&mut self, key: &str, value: &Value) -> Result<(), ConfigError> {
        let text = match value {
            Value::String(text) => text,
            Value::Null => return Ok(()),
            _ => return Err(self.invalid(key, value, "a text")),
        };
        match key {
            "name" => self.found.name = Some(text.clone()),
            "version" => self.found.version = Some(text.clone()),
            _ => {}
        }
        Ok(())
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
        let nested = options::OPTIONS.iter().filter_map(|option| option.nested);
        let near = match key.split_once('.') {
            // Suggests keys of the same section only.
            Some((section, _)) => {
                super::nearest(key, nested.filter(|other| other.starts_with(section)))
            }
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
