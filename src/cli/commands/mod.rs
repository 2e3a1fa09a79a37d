//! Commands that call a tool: `troupe open URL`, `troupe click e12`. They are generated from the
//! rows of the registry and sent to the daemon.
//!
//! `arguments` makes clap's commands, `names` has the names of sessions, `output` prints results,
//! in which `hints` replaces the names of tools, and images, encoded by `terminal_image`. `remote`
//! runs commands of the native client.

pub(super) mod arguments;
mod hints;
mod names;
mod output;
mod remote;
mod terminal_image;

pub(super) use self::{hints::as_commands, names::working_tree, remote::RemoteCommands};

use std::{path::PathBuf, time::Duration};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use self::{
    arguments::PageCommand,
    names::{NamedSession, SessionNames},
    output::Printer,
};
use super::{
    OK, STOPPED,
    daemon::{self, Launcher},
    screen::Screen,
};
use crate::{
    error::{ENDED_DURING_CALL, ErrorCode, Result, TroupeError},
    offload,
    tools::{LifecycleEffect, Registry},
    transport::{CommandCalls, DaemonFolder, DaemonResult, ServerCalls},
};

/// The deadline of a command without `--timeout`.
const DEADLINE: Duration = Duration::from_secs(180);
/// How much longer than the tool itself a command waits: the error of the tool says more.
const GRACE: Duration = Duration::from_secs(2);

/// Where a command runs: the environment of its caller.
pub(super) struct Caller {
    pub folder: PathBuf,
    /// The value of `TROUPE_SESSION`.
    pub session: Option<String>,
    pub daemon: DaemonAccess,
}

/// How a command reaches the daemon.
pub(super) enum DaemonAccess {
    /// Over its socket. The launcher starts the daemon if none runs.
    Socket(Launcher),
    /// The command runs in the daemon.
    SameProcess(ServerCalls),
}

impl DaemonAccess {
    async fn connect(&self, folder: &DaemonFolder) -> Result<Box<dyn CommandCalls>> {
        Ok(match self {
            Self::Socket(launcher) => Box::new(daemon::connect(folder, launcher, &[]).await?),
            Self::SameProcess(calls) => Box::new(calls.clone()),
        })
    }
}

/// Runs the command and returns its exit code.
pub(super) async fn run(
    command: PageCommand,
    caller: &Caller,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let printer = Printer::new(&command, &caller.folder, screen.terminal);
    let limit = match command.timeout {
        Some(given) if command.tool.takes("timeout") => given + GRACE,
        Some(given) => given,
        None => DEADLINE,
    };
    let work = tokio::time::timeout(limit, Box::pin(call(&command, caller, screen)));
    let name = format!("troupe {}", command.row.name);
    let work = screen.while_running(&name, work);
    let done = tokio::select! {
        done = work => done.unwrap_or_else(|_| Err(deadline_error(&command, limit))),
        () = stop.cancelled() => return STOPPED,
    };
    let printed = done.and_then(|(result, names)| match command.quiet {
        true => Ok(None),
        // Printing can encode an image and write files.
        false => {
            let bytes = result.content.iter().map(offload::json_size).sum();
            offload::in_place(bytes, || printer.text(result, &names).map(Some))
        }
    });
    match printed {
        Ok(text) => {
            text.iter().for_each(|text| screen.out(text));
            OK
        }
        Err(error) => {
            screen.err(&printer.error(&error));
            error.code.row().exit.into()
        }
    }
}

fn deadline_error(command: &PageCommand, limit: Duration) -> TroupeError {
    TroupeError::new(
        ErrorCode::Timeout,
        format!("`troupe {}` did not finish within {} ms", command.row.name, limit.as_millis()),
    )
    .suggestion("raise --timeout, or look at the page with `troupe snapshot`")
}

/// Makes the call in the session of the command.
async fn call(
    command: &PageCommand,
    caller: &Caller,
    screen: &Screen,
) -> Result<(DaemonResult, SessionNames)> {
    let name = names::name(command.session.as_deref(), caller)?;
    let folder = DaemonFolder::of_this_user()?;
    let names = SessionNames::new(&folder)?;
    let tool = command.tool;
    let mut arguments = command.arguments.clone();
    if !tool.takes("sessionId") {
        let mut calls = caller.daemon.connect(&folder).await?;
        return Ok((calls.call(&tool.name, arguments).await?, names));
    }
    let closes = tool.properties.lifecycle == Some(LifecycleEffect::Close);
    let mut session = names.open(&name, tool.properties.opens_session || closes).await?;
    let mut calls = caller.daemon.connect(&folder).await?;
    let id = match session.id() {
        Some(id) => id.to_owned(),
        None if tool.properties.opens_session => create(&mut *calls, &mut session).await?,
        None => return Err(not_open_error(&name)),
    };
    arguments["sessionId"] = json!(id);
    // Other commands of the session must not wait for this one, unless it closes the session.
    if !closes {
        session.unlock();
    }
    let mut done = calls.call(&tool.name, arguments.clone()).await;
    if let Err(error) = &done
        && !closes
        && matches!(error.code, ErrorCode::SessionNotFound | ErrorCode::SessionExpired)
        && error.reason() != Some(ENDED_DURING_CALL)
    {
        // The call did not run, so it can be repeated.
        arguments["sessionId"] = json!(resume(&mut *calls, command, &names, &name, screen).await?);
        done = calls.call(&tool.name, arguments).await;
    }
    let is_gone = |error: &TroupeError| {
        matches!(error.code, ErrorCode::SessionNotFound | ErrorCode::SessionExpired)
    };
    if closes && done.as_ref().map_or_else(is_gone, |_| true) {
        session.forget()?;
    }
    Ok((done?, names))
}

fn not_open_error(name: &str) -> TroupeError {
    TroupeError::new(ErrorCode::SessionNotFound, format!("the session `{name}` is not open"))
        .suggestion(
            "open it with `troupe open URL`, or name another one with -s; `troupe list` lists them",
        )
}

async fn create(calls: &mut dyn CommandCalls, session: &mut NamedSession) -> Result<String> {
    let tool = Registry::of_lifecycle(LifecycleEffect::Create);
    let created = calls.call(tool, json!({})).await?;
    let id = created.parsed_text()["sessionId"].as_str().unwrap_or_default().to_owned();
    session.set(&id)?;
    Ok(id)
}

/// Resumes the session after the end of its daemon. A command that opens sessions replaces one that
/// cannot be resumed.
async fn resume(
    calls: &mut dyn CommandCalls,
    command: &PageCommand,
    names: &SessionNames,
    name: &str,
    screen: &Screen,
) -> Result<String> {
    let opens = command.tool.properties.opens_session;
    // Concurrent commands resume the session once: the second finds it resumed.
    let mut session = names.open(name, true).await?;
    let Some(id) = session.id().map(str::to_owned) else { return Err(not_open_error(name)) };
    let tool = Registry::of_lifecycle(LifecycleEffect::Resume);
    match calls.call(tool, json!({"sessionId": id})).await {
        Ok(_) => Ok(id),
        Err(error) if error.details.get("reason").and_then(Value::as_str) == Some("open") => Ok(id),
        Err(error) if opens => {
            let why = crate::config::one_line(&error.message);
            screen.err(&format!("troupe: opened a new session `{name}`: {why}"));
            create(calls, &mut session).await
        }
        Err(error) => Err(error.suggestion("open a new session with `troupe open URL`")),
    }
}
