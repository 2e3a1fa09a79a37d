//! `troupe sessions`: what is in the record, and a session of it to read or to run again.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::screen::Screen;
use super::{FAILED, OK, report};
use crate::config::{Config, LogConfig, LogLevel};
use crate::error::{ErrorCode, Result, TroupeError};
use crate::policy::vault::Vault;
use crate::store::{Message, Picture, Place, Record, SessionFilter, SessionRow, Store, iso8601};

/// What is asked of the record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    List,
    /// The calls of this session.
    Show {
        id: String,
    },
    /// Into this folder, else one named after the session.
    Export {
        id: String,
        folder: Option<String>,
    },
    Purge,
}

pub(super) async fn run(config: &Config, wanted: Wanted, screen: &Screen) -> i32 {
    // What is wrong is told as the command's own error; the log has nothing to add.
    let log = LogConfig { level: LogLevel::Warn, ..config.log.clone() };
    if let Err(usage) = super::logging::start(&log, Vault::open(config).unwrap_or_default()) {
        return super::misused(screen, &usage);
    }
    match answer(config, wanted).await {
        Ok(text) => {
            screen.out(&text);
            OK
        }
        Err(error) => {
            report(screen, &error);
            FAILED
        }
    }
}

async fn answer(config: &Config, wanted: Wanted) -> Result<String> {
    let path = match Place::of(config)? {
        Place::File(path) => path,
        Place::None | Place::Memory => {
            return Err(TroupeError::new(ErrorCode::RecordNotFound, "this record is in no file")
                .suggestion("--store PATH names one"));
        }
    };
    if !path.exists() {
        return Ok(format!("Nothing is recorded yet in {}.", path.display()));
    }
    let store = Store::open(config)?;
    let text = match wanted {
        Wanted::List => list(&store, &path).await,
        Wanted::Show { id } => show(&store, &id).await,
        Wanted::Export { id, folder } => export(&store, &id, folder).await,
        Wanted::Purge => {
            store.purge().await.map(|calls| format!("{calls} calls are forgotten: {}", path.display()))
        }
    };
    store.close().await;
    text
}

async fn list(store: &Store, path: &Path) -> Result<String> {
    let sessions = store.sessions(SessionFilter::default()).await?;
    let mut rows = vec![["SESSION", "STATE", "CREATED", "LAST CALL", "CALLS"].map(str::to_owned)];
    rows.extend(sessions.iter().map(|session| {
        [
            session.id.clone(),
            session.state.as_str().to_owned(),
            time(session.created_at),
            time(session.last_activity),
            session.requests.to_string(),
        ]
    }));
    let count = sessions.len();
    let noun = if count == 1 { "session" } else { "sessions" };
    Ok(format!("{}\n\n{count} {noun} in {}; `show SESSION` lists its calls", table(&rows), path.display()))
}

/// One call a line; what is long is cut, `export` has all of it.
async fn show(store: &Store, id: &str) -> Result<String> {
    let session = find(store, id).await?;
    let calls = store.history(&session.id).await?;
    let mut rows = vec![["#", "TIME", "TOOL", "MS", "RESULT", "PARAMETERS"].map(str::to_owned)];
    rows.extend((1..).zip(&calls).map(|(number, call): (usize, _)| {
        let (taken, result) = match &call.answer {
            None => (String::new(), "running".to_owned()),
            Some(answer) => {
                let taken = answer.at.saturating_sub(call.at).to_string();
                let failure = answer.error_message.as_deref().unwrap_or("error");
                (taken, if answer.success { "ok".to_owned() } else { cut(failure, 50) })
            }
        };
        [
            number.to_string(),
            time(call.at),
            call.tool.clone(),
            taken,
            result,
            cut(&parameters(call).to_string(), 80),
        ]
    }));
    Ok(format!("Session {} ({})\n\n{}", session.id, session.state.as_str(), table(&rows)))
}

/// Without the session, which is known.
fn parameters(call: &Record) -> Value {
    let mut parameters: Value = serde_json::from_str(&call.params).unwrap_or_else(|_| json!({}));
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.remove("sessionId");
    }
    parameters
}

/// The beginning of the first line.
fn cut(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= most {
        return line.to_owned();
    }
    line.chars().take(most - 1).chain(['…']).collect()
}

/// The session `id`, or the one whose id begins so.
async fn find(store: &Store, id: &str) -> Result<SessionRow> {
    let mut found = store.sessions(SessionFilter::default()).await?;
    found.retain(|session| session.id.starts_with(id) && !id.is_empty());
    let refused = |what: String, advice: &str| {
        Err(TroupeError::new(ErrorCode::SessionNotFound, what).suggestion(advice))
    };
    match found.len() {
        0 => refused(format!("no session `{id}` is in the record"), "`troupe sessions` lists those that are"),
        1 => Ok(found.remove(0)),
        several => refused(format!("{several} sessions begin with `{id}`"), "give more of its id"),
    }
}

/// To the second, as people read it.
fn time(millis: u64) -> String {
    iso8601(millis).chars().take(19).map(|c| if c == 'T' { ' ' } else { c }).collect()
}

fn table<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let widths: Vec<usize> = (0..COLUMNS)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &[String; COLUMNS]| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

async fn export(store: &Store, id: &str, folder: Option<String>) -> Result<String> {
    let session = find(store, id).await?;
    let id = session.id.as_str();
    let folder = PathBuf::from(folder.unwrap_or_else(|| format!("troupe-session-{id}")));
    let unwritable = |error: std::io::Error| {
        TroupeError::new(
            ErrorCode::InternalError,
            format!("`{}` cannot be written: {error}", folder.display()),
        )
    };
    std::fs::create_dir_all(&folder).map_err(unwritable)?;
    let calls = store.history(id).await?;
    let mut report = heading(&session, calls.len());
    for (number, call) in (1..).zip(&calls) {
        let pictures = store.pictures(&call.ref_id).await?;
        let names = (1..).zip(&pictures).map(|(picture, Picture { mime_type, data })| {
            let kind = mime_type.rsplit('/').next().unwrap_or("png");
            let name = format!("{number:03}-{}-{picture}.{kind}", call.tool);
            std::fs::write(folder.join(&name), data).map(|()| name)
        });
        let names: Vec<String> = names.collect::<std::io::Result<_>>().map_err(unwritable)?;
        let logged = store.console_of_record(&call.ref_id, None).await?;
        report.push_str(&chapter(number, call, &names, &logged));
    }
    std::fs::write(folder.join("report.md"), report).map_err(unwritable)?;
    let script = folder.join("run.sh");
    std::fs::write(&script, self::script(&session, &calls)).map_err(unwritable)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).map_err(unwritable)?;
    }
    Ok(format!("{} calls: {} and run.sh beside it", calls.len(), folder.join("report.md").display()))
}

fn heading(session: &SessionRow, calls: usize) -> String {
    format!(
        "# Session {}\n\n{calls} calls, {} to {} (UTC); {}.\n",
        session.id,
        time(session.created_at),
        time(session.last_activity),
        session.state.as_str()
    )
}

fn chapter(number: usize, call: &Record, pictures: &[String], logged: &[Message]) -> String {
    let mut text =
        format!("\n## {number}. {}\n\n{}\n\n{}", call.tool, time(call.at), fenced("json", &call.params));
    let Some(answer) = &call.answer else {
        text.push_str("\nNo answer yet.\n");
        return text;
    };
    if let Some(message) = &answer.error_message {
        text.push_str(&format!("\nFailed: {}\n", message.lines().next().unwrap_or_default()));
    }
    for picture in pictures {
        text.push_str(&format!("\n![{}]({picture})\n", call.tool));
    }
    let result: Value =
        answer.result.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    for part in result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()) {
        text.push_str(&format!("\n{}", fenced("", part)));
    }
    if let Some(page) = &answer.page_snapshot
        && call.tool != "snapshot"
    {
        text.push_str(&format!("\nThe page afterwards:\n\n{}", fenced("yaml", page)));
    }
    if !logged.is_empty() {
        let lines: Vec<String> = logged.iter().map(Message::to_string).collect();
        text.push_str(&format!("\nThe console:\n\n{}", fenced("", &lines.join("\n"))));
    }
    text
}

/// In a fence that is longer than every one inside.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// What makes the same calls again, in one session of its own.
fn script(session: &SessionRow, calls: &[Record]) -> String {
    // The session that they run in is another one, and a batch stands beside its steps in the record.
    const LEFT_OUT: &[&str] =
        &["batch", "create_session", "close_session", "list_sessions", "session_resume", "save_state"];
    let steps: Vec<String> = calls
        .iter()
        .filter(|call| !LEFT_OUT.contains(&call.tool.as_str()))
        .map(|call| json!({"tool": call.tool, "arguments": parameters(call)}).to_string())
        .collect();
    let steps = quoted(&format!("{{\"stopOnError\": false, \"steps\": [\n  {}\n]}}", steps.join(",\n  ")));
    let options: String =
        options(session).map(|(name, value)| format!(" {name} {}", quoted(&value))).collect();
    format!(
        "#!/bin/sh\n\
         # The calls of session {}, made again in a new one. What was masked (••••) is to be filled in.\n\
         # Options go behind: ./run.sh --headless\n\
         exec troupe call batch {steps}{options} \"$@\"\n",
        session.id
    )
}

/// What the session was made with, as options of the command line.
fn options(session: &SessionRow) -> impl Iterator<Item = (&'static str, String)> + '_ {
    const OPTIONS: &[(&str, &str)] = &[
        ("device", "--device"),
        ("userAgent", "--user-agent"),
        ("locale", "--locale"),
        ("timezone", "--timezone"),
        ("viewport", "--viewport-size"),
    ];
    let made_with = &session.metadata["options"];
    OPTIONS.iter().filter_map(move |(field, option)| {
        let value = match &made_with[*field] {
            Value::String(text) => text.clone(),
            Value::Object(size) => format!("{}x{}", size.get("width")?, size.get("height")?),
            _ => return None,
        };
        Some((*option, value))
    })
}

/// As one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("", "a ``` b"), "````\na ``` b\n````\n");
        assert_eq!(fenced("json", "{}"), "```json\n{}\n```\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["A", "B"], ["long", "x"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "A     B\nlong  x");
    }
}
