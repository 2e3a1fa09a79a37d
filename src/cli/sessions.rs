//! `troupe sessions`: lists the recorded sessions, shows one, and exports it as a report or a
//! script.

use std::{
    io::{BufWriter, IsTerminal, Write},
    path::PathBuf,
};

use super::screen::Screen;
use crate::config::Config;
use crate::error::{ErrorCode, Result, TroupeError};
use crate::export::{SessionScript, parameters, report_chapter, report_heading, time};
use crate::private;
use crate::store::{Picture, RecordLocation, SessionFilter, SessionRow, Store};

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

pub(super) async fn run(config: &Config, action: RecordAction, screen: &Screen) -> Result<String> {
    let location = RecordLocation::of(config)?;
    match &location {
        RecordLocation::File(path) if !path.exists() => {
            return Ok(format!("{location} has no recorded sessions yet."));
        }
        RecordLocation::File(_) | RecordLocation::Postgres(_) => {}
        RecordLocation::None | RecordLocation::Memory => {
            return Err(TroupeError::new(
                ErrorCode::RecordNotFound,
                "this record is not in a file",
            )
            .suggestion("pass the path or the URL of a record in --store"));
        }
    }
    let store = Store::open(config)?;
    if !store.is_durable() {
        return Err(TroupeError::new(
            ErrorCode::InternalError,
            format!("cannot open the record {location} for writing"),
        ));
    }
    let text = match action {
        RecordAction::List => list(&store, &location).await,
        RecordAction::Show { id } => show(&store, &id).await,
        RecordAction::Export { id, folder } => export(&store, &id, folder).await,
        RecordAction::Purge { session: Some(id), .. } => purge_one(&store, &id).await,
        RecordAction::Purge { session: None, confirmed } => {
            purge_all(&store, &location, confirmed, screen).await
        }
    };
    store.close().await;
    text
}

async fn list(store: &Store, location: &RecordLocation) -> Result<String> {
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
    Ok(format!("{}\n\n{count} in {location}; `show SESSION` lists its calls", table(&rows)))
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
async fn purge_all(
    store: &Store,
    location: &RecordLocation,
    confirmed: bool,
    screen: &Screen,
) -> Result<String> {
    if !confirmed {
        let count = counted(store.sessions(SessionFilter::default()).await?.len(), "session");
        let question = format!("Delete {count} and all calls in {location}? [y/N] ");
        if !ask(screen, question).await? {
            return Ok("Nothing was deleted".to_owned());
        }
    }
    let purged = store.purge(None).await?;
    let deleted = format!(
        "Deleted {} and {} in {location}",
        counted(purged.sessions, "session"),
        counted(purged.calls, "call")
    );
    Ok(match purged.in_use {
        0 => deleted,
        kept => format!("{deleted}; kept {} that running servers use", counted(kept, "session")),
    })
}

pub(super) fn counted(number: usize, noun: &str) -> String {
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
    if !folder.is_dir() {
        private::create_folder(&folder).map_err(unwritable)?;
    }
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
        BufWriter::new(private::create_file(&folder.join("report.md")).map_err(unwritable)?);
    report.write_all(report_heading(&session, calls.len()).as_bytes()).map_err(unwritable)?;
    let mut script = SessionScript::new(&session);
    for (number, ref_id) in (1..).zip(&calls) {
        // The retention limits may have deleted the call meanwhile.
        let Some(call) = store.record(ref_id).await? else { continue };
        let pictures = store.all_pictures(&call.ref_id).await?;
        let names = (1..).zip(&pictures).map(|(picture, Picture { mime_type, data })| {
            let kind = mime_type.rsplit('/').next().unwrap_or("png");
            let name = format!("{number:03}-{}-{picture}.{kind}", call.tool);
            let file = private::create_file(&folder.join(&name));
            file.and_then(|mut file| file.write_all(data)).map(|()| name)
        });
        let names: Vec<String> = names.collect::<std::io::Result<_>>().map_err(unwritable)?;
        let logged = store.console_of_record(&call.ref_id, None, usize::MAX).await?.messages;
        let chapter = report_chapter(number, &call, &names, &logged);
        report.write_all(chapter.as_bytes()).map_err(unwritable)?;
        script.add(&call);
    }
    report.flush().map_err(unwritable)?;
    let text = script.text();
    let file = private::create_executable(&folder.join("run.sh"));
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(unwritable)?;
    Ok(format!(
        "{} calls: {} and run.sh in the same folder{}",
        calls.len(),
        folder.join("report.md").display(),
        script.to_do()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["A", "B"], ["long", "x"]].map(|row| row.map(str::to_owned));
        assert_eq!(table(&rows), "A     B\nlong  x");
    }
}
