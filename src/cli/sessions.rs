//! `troupe sessions`: lists the recorded sessions, shows one, and exports it as a report or a
//! script.

use std::{
    fs::File,
    io::{BufWriter, IsTerminal, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::replay::Replay;
use super::screen::Screen;
use super::{FAILED, OK, report};
use crate::config::{Config, LogConfig, LogLevel};
use crate::error::{ErrorCode, Result, TroupeError};
use crate::policy::vault::Vault;
use crate::private;
use crate::store::{
    Message, Picture, Record, RecordLocation, SessionFilter, SessionRow, Store, iso8601,
};
use crate::tools::{Registry, Tool};

/// What `troupe sessions` does with the record.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RecordAction {
    List,
    /// Lists the calls of this session.
    Show {
        id: String,
    },
    /// Writes a report and a script into `folder`, by default a folder named after the session.
    Export {
        id: String,
        folder: Option<String>,
    },
    /// Deletes this session, or every session.
    Purge {
        session: Option<String>,
        /// Deletes every session without asking.
        confirmed: bool,
    },
}

pub(super) async fn run(config: &Config, action: RecordAction, screen: &Screen) -> i32 {
    // The command itself reports errors, so the log needs only warnings.
    let log = LogConfig { level: LogLevel::Warn, ..config.log.clone() };
    if let Err(usage) = super::logging::start(&log, Vault::open(config).unwrap_or_default(), &[]) {
        return super::misused(screen, &usage);
    }
    match answer(config, action, screen).await {
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

async fn answer(config: &Config, action: RecordAction, screen: &Screen) -> Result<String> {
    let path = match RecordLocation::of(config)? {
        RecordLocation::File(path) => path,
        RecordLocation::None | RecordLocation::Memory => {
            return Err(TroupeError::new(
                ErrorCode::RecordNotFound,
                "this record is not in a file",
            )
            .suggestion("pass the path of a record in --store"));
        }
    };
    if !path.exists() {
        return Ok(format!("{} has no recorded sessions yet.", path.display()));
    }
    let store = Store::open(config)?;
    if store.path().is_none() {
        return Err(TroupeError::new(
            ErrorCode::InternalError,
            format!("cannot open the record {} for writing", path.display()),
        ));
    }
    let text = match action {
        RecordAction::List => list(&store, &path).await,
        RecordAction::Show { id } => show(&store, &id).await,
        RecordAction::Export { id, folder } => export(&store, &id, folder).await,
        RecordAction::Purge { session: Some(id), .. } => purge_one(&store, &id).await,
        RecordAction::Purge { session: None, confirmed } => {
            purge_all(&store, &path, confirmed, screen).await
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
    let count = counted(sessions.len(), "session");
    Ok(format!("{}\n\n{count} in {}; `show SESSION` lists its calls", table(&rows), path.display()))
}

/// Prints one line for each call. Long values are cut; `export` has all of them.
async fn show(store: &Store, id: &str) -> Result<String> {
    let session = find(store, id).await?;
    let mut rows = vec![["#", "TIME", "TOOL", "MS", "RESULT", "PARAMETERS"].map(str::to_owned)];
    for ref_id in store.history(&session.id).await? {
        // The retention limits may have deleted the call meanwhile.
        let Some(call) = store.record(&ref_id).await? else { continue };
        let (taken, result) = match &call.answer {
            None => (String::new(), "running".to_owned()),
            Some(answer) => {
                let taken = answer.at.saturating_sub(call.at).to_string();
                let failure = answer.error_message.as_deref().unwrap_or("error");
                (taken, if answer.success { "ok".to_owned() } else { cut(failure, 50) })
            }
        };
        let parameters = cut(&parameters(&call).to_string(), 80);
        rows.push([rows.len().to_string(), time(call.at), call.tool, taken, result, parameters]);
    }
    Ok(format!("Session {} ({})\n\n{}", session.id, session.state.as_str(), table(&rows)))
}

/// The parameters of a call without `sessionId`.
fn parameters(call: &Record) -> Value {
    let mut parameters: Value = serde_json::from_str(&call.params).unwrap_or_else(|_| json!({}));
    if let Some(parameters) = parameters.as_object_mut() {
        parameters.remove("sessionId");
    }
    parameters
}

/// Returns the beginning of the first line.
fn cut(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() <= most {
        return line.to_owned();
    }
    line.chars().take(most - 1).chain(['…']).collect()
}

/// Finds the session whose id is or begins with `id`.
async fn find(store: &Store, id: &str) -> Result<SessionRow> {
    let mut found = store.sessions(SessionFilter::default()).await?;
    found.retain(|session| session.id.starts_with(id) && !id.is_empty());
    let refused = |what: String, advice: &str| {
        Err(TroupeError::new(ErrorCode::SessionNotFound, what).suggestion(advice))
    };
    match found.len() {
        0 => refused(
            format!("the record has no session `{id}`"),
            "`troupe sessions` lists the recorded sessions",
        ),
        1 => Ok(found.remove(0)),
        several => refused(
            format!("{several} sessions begin with `{id}`"),
            "pass more characters of the id",
        ),
    }
}

/// Deletes the session whose id is or begins with `id`.
async fn purge_one(store: &Store, id: &str) -> Result<String> {
    let session = find(store, id).await?;
    let purged = store.purge(Some(&session.id)).await?;
    if purged.in_use > 0 {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("session {} is in use by a running server, so nothing was deleted", session.id),
        )
        .suggestion("close it with close_session, or stop the server"));
    }
    Ok(format!("Deleted session {} with {}", session.id, counted(purged.calls, "call")))
}

/// Deletes every session that no running server uses.
async fn purge_all(store: &Store, path: &Path, confirmed: bool, screen: &Screen) -> Result<String> {
    if !confirmed {
        let count = counted(store.sessions(SessionFilter::default()).await?.len(), "session");
        let question = format!("Delete {count} and all calls in {}? [y/N] ", path.display());
        if !ask(screen, question).await? {
            return Ok("Nothing was deleted".to_owned());
        }
    }
    let purged = store.purge(None).await?;
    let deleted = format!(
        "Deleted {} and {} in {}",
        counted(purged.sessions, "session"),
        counted(purged.calls, "call"),
        path.display()
    );
    Ok(match purged.in_use {
        0 => deleted,
        kept => format!("{deleted}; kept {} that running servers use", counted(kept, "session")),
    })
}

fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Asks the user at the terminal a yes-or-no question. Fails if there is no terminal.
async fn ask(screen: &Screen, question: String) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            "`troupe sessions purge --all` deletes every recorded session, and stdin is not a terminal, so it cannot ask for confirmation",
        )
        .suggestion("pass --yes to delete them"));
    }
    screen.err(&question);
    let mut line = String::new();
    let read =
        tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line).map(|_| line));
    let unread = |why: String| {
        TroupeError::new(ErrorCode::InternalError, format!("cannot read the answer: {why}"))
    };
    let line = read
        .await
        .map_err(|error| unread(error.to_string()))?
        .map_err(|error| unread(error.to_string()))?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

/// Formats a time to the second.
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
            format!("cannot write `{}`: {error}", folder.display()),
        )
    };
    make_private_folder(&folder).map_err(unwritable)?;
    let is_empty = std::fs::read_dir(&folder).map_err(unwritable)?.next().is_none();
    if !is_empty {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("`{}` is not empty, and an export does not overwrite files", folder.display()),
        )
        .suggestion("pass another folder: troupe sessions export SESSION FOLDER"));
    }
    let calls = store.history(id).await?;
    let mut report =
        BufWriter::new(create_new(&folder.join("report.md"), 0o600).map_err(unwritable)?);
    report.write_all(heading(&session, calls.len()).as_bytes()).map_err(unwritable)?;
    let mut replay = Replay::default();
    for (number, ref_id) in (1..).zip(&calls) {
        // The retention limits may have deleted the call meanwhile.
        let Some(call) = store.record(ref_id).await? else { continue };
        let pictures = store.pictures(&call.ref_id).await?;
        let names = (1..).zip(&pictures).map(|(picture, Picture { mime_type, data })| {
            let kind = mime_type.rsplit('/').next().unwrap_or("png");
            let name = format!("{number:03}-{}-{picture}.{kind}", call.tool);
            write_new(&folder.join(&name), data, 0o600).map(|()| name)
        });
        let names: Vec<String> = names.collect::<std::io::Result<_>>().map_err(unwritable)?;
        let logged = store.console_of_record(&call.ref_id, None, usize::MAX).await?.messages;
        let chapter = chapter(number, &call, &names, &logged);
        report.write_all(chapter.as_bytes()).map_err(unwritable)?;
        replay_call(&mut replay, &call);
    }
    report.flush().map_err(unwritable)?;
    let script = script(&session, &replay);
    write_new(&folder.join("run.sh"), script.as_bytes(), 0o700).map_err(unwritable)?;
    Ok(format!(
        "{} calls: {} and run.sh in the same folder{}",
        calls.len(),
        folder.join("report.md").display(),
        to_do(&replay)
    ))
}

/// Creates a folder that is accessible only by the user account, unless it exists.
fn make_private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let is_new = !folder.exists();
    builder.create(folder)?;
    if is_new { private::restrict(folder) } else { Ok(()) }
}

/// Writes a new file that is accessible only by the user account.
fn write_new(path: &Path, content: &[u8], mode: u32) -> std::io::Result<()> {
    create_new(path, mode)?.write_all(content)
}

/// Creates a file that must not exist yet. `mode` applies where the system has file modes.
fn create_new(path: &Path, mode: u32) -> std::io::Result<File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(windows)]
    let _ = mode;
    let file = options.open(path)?;
    private::restrict(path)?;
    Ok(file)
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
    let mut text = format!(
        "\n## {number}. {}\n\n{}\n\n{}",
        call.tool,
        time(call.at),
        fenced("json", &call.params)
    );
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
    let result: Value = answer
        .result
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    for part in
        result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str())
    {
        text.push_str(&format!("\n{}", fenced("", part)));
    }
    if let Some(page) = &answer.page_snapshot
        && !Registry::row(&call.tool).is_some_and(|tool| tool.properties.is_snapshot)
    {
        text.push_str(&format!("\nThe page afterwards:\n\n{}", fenced("yaml", page)));
    }
    if !logged.is_empty() {
        let lines: Vec<String> = logged.iter().map(Message::to_string).collect();
        text.push_str(&format!("\nThe console:\n\n{}", fenced("", &lines.join("\n"))));
    }
    text
}

/// Puts `text` into a code fence that is longer than every fence in it.
fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{text}\n{fence}\n")
}

/// Adds the call to the script, unless it failed or its tool is not replayed.
fn replay_call(replay: &mut Replay, call: &Record) {
    let tool = Registry::row(&call.tool);
    let Some(answer) = &call.answer else { return };
    let result: Value = answer
        .result
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    let parts = result["content"].as_array().into_iter().flatten();
    let texts: Vec<String> =
        parts.filter_map(|part| part["text"].as_str()).map(str::to_owned).collect();
    if answer.success && tool.is_none_or(|tool| tool.properties.is_replayed) {
        let test_ids = answer.test_ids.as_deref().and_then(|text| serde_json::from_str(text).ok());
        replay.add(&call.tool, parameters(call), &texts, &test_ids.unwrap_or_default());
    }
    let parameters = parameters(call);
    // Its refs are not those of the native tools.
    let is_playwright = tool.is_some_and(Tool::is_playwright);
    let is_part = tool.is_some_and(|tool| tool.properties.is_snapshot)
        && parameters.as_object().is_some_and(|given| !given.is_empty());
    match answer.page_snapshot.as_deref().filter(|_| !is_part) {
        Some(page) => replay.see(page),
        None if is_playwright => {}
        None => texts.iter().chain(&answer.content).for_each(|text| replay.see_part(text)),
    }
}

/// The here-document delimiter after the steps in the exported script.
const END: &str = "END_OF_STEPS";

/// Returns a script that makes the same calls again in a new session.
fn script(session: &SessionRow, replay: &Replay) -> String {
    let options: String =
        options(session).map(|(name, value)| format!(" {name} {}", quoted(&value))).collect();
    let tools = match replay.playwright_tools.as_slice() {
        [] => String::new(),
        used => format!(" --tools native,{}", used.join(",")),
    };
    let mut notes = String::new();
    // A line break in a name from the record would end the comment.
    let mut note = |text: &str| notes.push_str(&format!("# {}\n", crate::config::one_line(text)));
    if replay.has_secrets {
        note("It types secrets by name: ./run.sh --secrets FILE");
    }
    for (name, purpose) in &replay.variables {
        note(&format!("Set {name}: the record has no value for {purpose}."));
    }
    for number in &replay.unnamed {
        note(&format!(
            "Edit step {number}: the record has no unique role and name and no test id for its element."
        ));
    }
    // The steps are on stdin, because Linux limits an argument to 128 KiB. No line of JSON equals
    // the end marker.
    format!(
        "#!/bin/sh\n\
         # Repeats the calls of session {} in a new session. Calls that failed are omitted.\n\
         # Stops at the first step that fails, with exit code 1. Accepts options: ./run.sh --headless\n\
         {notes}\
         run() {{ if command -v troupe >/dev/null 2>&1; then troupe \"$@\"; else npx -y troupe \"$@\"; fi; }}\n\
         run call batch -{options}{tools} \"$@\" <<'{END}'\n\
         {{\"steps\": [\n  {}\n]}}\n\
         {END}\n",
        session.id,
        replay.steps.join(",\n  ")
    )
}

/// Lists what the user has to do before the script runs, one line each.
fn to_do(replay: &Replay) -> String {
    let mut lines = String::new();
    if replay.has_secrets {
        lines.push_str("\nrun.sh types secrets by name: pass --secrets FILE");
    }
    if !replay.variables.is_empty() {
        let names: Vec<&str> = replay.variables.iter().map(|(name, _)| &**name).collect();
        lines.push_str(&format!(
            "\nrun.sh needs values that are not recorded: set {}",
            names.join(", ")
        ));
    }
    if !replay.unnamed.is_empty() {
        let numbers: Vec<String> = replay.unnamed.iter().map(ToString::to_string).collect();
        let numbers = numbers.join(", ");
        lines.push_str(&format!("\nrun.sh needs a selector in these steps, whose elements have no unique role and name and no test id: {numbers}"));
    }
    lines
}

/// Returns the command-line options with which the session was created.
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

/// Quotes a text as one shell word.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_the_record_stay_in_the_comments_of_a_script() {
        let mut replay = Replay::default();
        replay.add(
            "odd\ntool",
            serde_json::json!({"a\ntouch /tmp/x\n#": "••••"}),
            &[],
            &std::collections::HashMap::new(),
        );
        let session = SessionRow {
            id: "s".into(),
            created_at: 0,
            last_activity: 0,
            state: crate::store::SessionState::Closed,
            metadata: serde_json::Value::Null,
            saved_at: None,
            requests: 1,
            is_released: false,
            used_by: None,
        };
        let script = script(&session, &replay);
        let commands: Vec<&str> =
            script.lines().take_while(|line| !line.starts_with("run call")).collect();
        assert!(
            commands.iter().all(|line| line.starts_with('#') || line.starts_with("run() {")),
            "{script}"
        );
    }

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
