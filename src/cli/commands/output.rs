//! Prints results: short ones on stdout, long ones in files of the caller.

use std::{
    cell::LazyCell,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use clap::builder::styling::{AnsiColor, Style};
use serde_json::{Value, json};
use troupe_client::Terminal;
use uuid::Uuid;

use super::{
    arguments::PageCommand,
    hints::{as_commands, daemon_option},
    names::SessionNames,
    terminal_image::terminal_image,
};
use crate::{
    config::one_line,
    error::{ErrorCode, Result, TroupeError},
    policy::files::create_first_free,
    server::without_boundaries,
    transport::DaemonResult,
};

/// The folder for files in the working directory of the caller.
const FOLDER: &str = ".troupe";
/// A text with more characters goes to a file.
const LONGEST: usize = 4_000;
/// How much of such a text is printed: whole lines with at most this many bytes.
const HEAD: usize = 1_200;
/// Maximum number of files of one command in the folder.
const MAX_FILES: u32 = 100_000;

pub(super) struct Printer {
    command: &'static str,
    folder: PathBuf,
    json: bool,
    inline: bool,
    /// Fields that only `--json` prints.
    unprinted: &'static [&'static str],
    terminal: Terminal,
}

const LABEL: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const NEXT: Style = AnsiColor::Cyan.on_default();

/// Returns the text in the style, if it is shown in colors.
fn styled(text: &str, style: Style, is_colored: bool) -> String {
    if is_colored { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

impl Printer {
    pub fn new(command: &PageCommand, folder: &Path, terminal: Terminal) -> Self {
        let PageCommand { tool, row, json, inline, .. } = command;
        let (folder, unprinted) = (folder.join(FOLDER), tool.properties.unprinted);
        Self { command: row.name, folder, json: *json, inline: *inline, unprinted, terminal }
    }

    /// Returns the output of the command. Writes texts that are too long to files.
    pub fn text(&self, result: DaemonResult, names: &SessionNames) -> Result<String> {
        let mut parts = Vec::new();
        let mut json = Vec::new();
        // Most results contain no id of a session.
        let names = LazyCell::new(|| names.by_id());
        // The picture is in a file that the caller has named.
        let is_saved = result.content.iter().any(|part| {
            let text = part["text"].as_str().unwrap_or_default();
            serde_json::from_str::<Value>(text).is_ok_and(|facts| facts["path"].is_string())
        });
        for part in &result.content {
            if let (Some(data), Some(kind)) = (part["data"].as_str(), part["mimeType"].as_str()) {
                let images = self.terminal.images.filter(|_| !self.json);
                parts.extend(images.and_then(|protocol| terminal_image(protocol, data)));
                if is_saved {
                    continue;
                }
                let path = self.picture(data, kind)?.display().to_string();
                parts.push(path.clone());
                json.push(json!({"path": path}));
                continue;
            }
            let text = part["text"].as_str().unwrap_or_default();
            match serde_json::from_str::<Value>(text) {
                Ok(mut value @ (Value::Object(_) | Value::Array(_))) => {
                    name_sessions(&mut value, &|id| names.get(id).cloned());
                    parts.push(self.fields_text(&value)?);
                    json.push(value);
                }
                _ if self.json => {
                    json.push(json!({"text": without_boundaries(text, &result.ref_id)}));
                }
                _ => parts.push(self.short(text, &result.ref_id)?),
            }
        }
        if self.json {
            let value = if json.len() == 1 { json.remove(0) } else { json!(json) };
            return Ok(value.to_string());
        }
        Ok(parts.join("\n"))
    }

    /// Returns an error as one line and its details, or as JSON.
    pub fn error(&self, error: &TroupeError) -> String {
        if self.json {
            return serde_json::to_string(error).unwrap_or_else(|_| error.to_string());
        }
        let label = styled("error:", ERROR, self.terminal.colors.err);
        let mut lines = vec![format!("{label} {} ({})", error.message, error.code.as_str())];
        for (name, value) in &error.details {
            if matches!(name.as_str(), "matches" | "suggestions" | "violations") {
                let items = value.as_array().into_iter().flatten();
                lines.extend(items.map(|item| format!("  {}", item_line(item))));
            }
        }
        let label = styled("next:", NEXT, self.terminal.colors.err);
        if let Some(text) = &error.suggestion {
            lines.push(format!("{label} {}", as_commands(text)));
            lines.extend(daemon_option(text));
        }
        lines.join("\n")
    }

    /// Returns the fields of a result as lines.
    fn fields_text(&self, value: &Value) -> Result<String> {
        let Value::Object(fields) = value else { return self.short(&lines(value), "") };
        let mut parts = Vec::new();
        for (name, value) in fields {
            let label = styled(&format!("{name}:"), LABEL, self.terminal.colors.out);
            match value {
                Value::Null => {}
                _ if self.unprinted.contains(&name.as_str()) => {}
                Value::Bool(true) if name == "success" => {}
                Value::String(text) if name == "message" => parts.push(as_commands(text)),
                Value::String(text) if text.contains('\n') => {
                    parts.push(format!("{label}\n{}", self.short(text, "")?));
                }
                Value::String(text) => parts.push(format!("{label} {}", self.short(text, "")?)),
                Value::Array(items) if items.is_empty() => parts.push(format!("{label} none")),
                Value::Array(items) if items.iter().all(|item| !item.is_object()) => {
                    let items: Vec<String> = items.iter().map(item_line).collect();
                    parts.push(format!("{label} {}", self.short(&items.join(", "), "")?));
                }
                Value::Array(_) => {
                    parts.push(format!("{label}\n{}", self.short(&lines(value), "")?));
                }
                other => parts.push(format!("{label} {}", self.short(&other.to_string(), "")?)),
            }
        }
        Ok(parts.join("\n"))
    }

    /// Returns a text, or its beginning and the path of the file that contains all of it.
    fn short(&self, text: &str, ref_id: &str) -> Result<String> {
        if self.inline || self.json || text.chars().count() <= LONGEST {
            return Ok(text.to_owned());
        }
        let whole = without_boundaries(text, ref_id);
        let (path, mut file) = self.new_file("txt")?;
        file.write_all(whole.as_bytes()).map_err(|error| unwritable(&path, &error))?;
        let mut head = String::new();
        for line in text.lines() {
            if head.len() + line.len() > HEAD {
                break;
            }
            head.push_str(line);
            head.push('\n');
        }
        let count = whole.lines().count();
        let path = path.display();
        Ok(format!("{head}… {count} lines in {path}; search them: grep -n 'TEXT' {path}"))
    }

    fn picture(&self, data: &str, kind: &str) -> Result<PathBuf> {
        let extension = match kind {
            "image/jpeg" => "jpg",
            _ => "png",
        };
        let (path, mut file) = self.new_file(extension)?;
        let bytes = BASE64_STANDARD.decode(data).map_err(io::Error::other);
        let written = bytes.and_then(|bytes| file.write_all(&bytes));
        written.map_err(|error| unwritable(&path, &error))?;
        Ok(path)
    }

    /// Creates a file with the next free number.
    fn new_file(&self, extension: &str) -> Result<(PathBuf, File)> {
        let folder = &self.folder;
        fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        // The files are not meant for the repository.
        let ignore = folder.join(".gitignore");
        if !ignore.exists() {
            fs::write(&ignore, "*\n").map_err(|error| unwritable(&ignore, &error))?;
        }
        let path = |number| folder.join(format!("{}-{number}.{extension}", self.command));
        let Some((path, file)) = create_first_free((1..MAX_FILES).map(path)) else {
            let message = format!("`{}` contains {MAX_FILES} files", folder.display());
            return Err(TroupeError::new(ErrorCode::ResourceExhausted, message)
                .suggestion("delete the folder"));
        };
        let file = file.map_err(|error| unwritable(&path, &error))?;
        Ok((path, file))
    }
}

fn unwritable(path: &Path, error: &io::Error) -> TroupeError {
    let message = format!("`{}` cannot be written: {error}", path.display());
    TroupeError::new(ErrorCode::InternalError, message)
        .suggestion("make the working directory writable, or pass --inline")
}

/// Writes a list as one line for each item.
fn lines(value: &Value) -> String {
    let items = value.as_array().into_iter().flatten();
    items.map(item_line).collect::<Vec<_>>().join("\n")
}

fn item_line(item: &Value) -> String {
    match item {
        Value::String(text) => one_line(text),
        Value::Object(fields) => {
            let parts = fields.iter().filter(|(_, value)| !value.is_null());
            let parts = parts.map(|(name, value)| match value {
                Value::String(text) => format!("{name}={}", one_line(text)),
                other => format!("{name}={other}"),
            });
            parts.collect::<Vec<_>>().join(" ")
        }
        other => other.to_string(),
    }
}

/// Replaces the ids of sessions in a result by their names.
fn name_sessions(value: &mut Value, name_of: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) if Uuid::try_parse(text).is_ok() => {
            if let Some(name) = name_of(text) {
                *text = name;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| name_sessions(item, name_of)),
        Value::Object(fields) => {
            fields.values_mut().for_each(|value| name_sessions(value, name_of));
        }
        _ => {}
    }
}
