//! The command line: takes arguments, returns an exit code. This is the only module that uses clap,
//! and the only one besides the transport that writes to stdout. Each subcommand has its own file.

mod arguments;
mod call;
mod client;
mod commands;
mod completions;
mod daemon;
mod dashboard;
mod doctor;
mod install;
mod logging;
mod screen;
mod serve;
mod sessions;
mod skill;
mod store;
#[cfg(test)]
mod tests;
mod usage;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use self::arguments::{CommandLine, Subcommand};
use self::screen::Screen;
use self::usage::UsageError;
use crate::config::{Config, LogConfig, LogLevel, SESSION, Setting, working_directory};
use crate::error::{Result, TroupeError};
use crate::policy::vault::Vault;
use crate::tools::{CommandRow, Tool};

const OK: i32 = 0;
const FAILED: i32 = 1;
/// The arguments, the environment or the configuration file are wrong.
const MISUSED: i32 = 2;
/// Interrupted: the exit code of shells for SIGINT.
const STOPPED: i32 = 130;

pub use self::daemon::Launcher;

/// Runs the command in the arguments (without the program's name), and returns the exit code.
/// `launcher` is the command line that runs this program.
pub async fn run(args: Vec<String>, launcher: Launcher, stop: CancellationToken) -> i32 {
    // A variable that is not valid Unicode is not one of Troupe's.
    let environment = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let environment: Vec<_> = environment.collect();
    let screen = Screen::of_this_process();
    if let Some(named) = commands::arguments::named(&args) {
        let work = page_command(named, &args, &environment, launcher, &screen, stop);
        return Box::pin(work).await;
    }
    Box::pin(run_with(args, environment, launcher, &screen, stop)).await
}

/// Runs a command that calls a tool.
async fn page_command(
    named: (&'static Tool, CommandRow),
    args: &[String],
    environment: &[(String, String)],
    launcher: Launcher,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let session = environment.iter().find(|(name, _)| name == SESSION);
    let caller = commands::Caller {
        folder: working_directory(),
        session: session.map(|(_, name)| name.clone()),
        daemon: commands::DaemonAccess::Socket(launcher),
    };
    let parsed = commands::arguments::parse(named, args, &caller.folder, || {
        tokio::task::block_in_place(commands::arguments::read_stdin)
    });
    match parsed {
        Ok(Ok(command)) => commands::run(command, &caller, screen, stop).await,
        Ok(Err(help)) => {
            screen.out(&help);
            OK
        }
        Err(usage) => misused(screen, &usage),
    }
}

/// Like [`run`], with its dependencies as parameters.
async fn run_with(
    args: Vec<String>,
    environment: Vec<(String, String)>,
    launcher: Launcher,
    screen: &Screen,
    stop: CancellationToken,
) -> i32 {
    let mut passed_on = Vec::new();
    let prepared = match arguments::parse(args) {
        Ok(CommandLine::Text(text)) => {
            screen.out(&text);
            return OK;
        }
        Ok(CommandLine::Run { command, given }) => {
            // With `--http`, the options describe a server that listens on a port.
            let implied = matches!(
                command,
                Subcommand::Config { http: true, .. } | Subcommand::Dashboard { .. }
            );
            passed_on.clone_from(&given);
            let implied = implied.then_some(("transport", "http"));
            // A dashboard of all servers uses a free port, so that it never takes that of a server.
            let free = matches!(command, Subcommand::Dashboard { url: None, .. });
            let free = (free && cfg!(unix)).then_some(("port", "0"));
            let implied = implied.into_iter().chain(free);
            let given_flags = given.iter().map(|(name, text)| (&**name, &**text));
            let flags = implied.chain(given_flags);
            let flags = flags.map(|(name, text)| Setting::from_flag(name, text));
            let flags: Result<Vec<_>, _> = flags.collect();
            let prepare = |flags: Vec<Setting>| {
                let config = Config::load(flags.clone(), environment.clone())?;
                Ok((command, config.settings(flags, environment)?, config))
            };
            flags.and_then(prepare).map_err(UsageError::from)
        }
        Err(usage) => Err(usage),
    };
    match prepared {
        Err(usage) => misused(screen, &usage),
        Ok((Subcommand::Serve, _, config)) => Box::pin(serve::run(config, screen, stop)).await,
        Ok((Subcommand::Call { tool, arguments }, _, config)) => {
            Box::pin(call::run(config, &tool, &arguments, screen, stop)).await
        }
        Ok((Subcommand::Daemon(action), _, config)) => {
            // The daemon runs them for the native client.
            let commands = Arc::new(commands::RemoteCommands);
            daemon::run(config, action, &passed_on, &launcher, commands, screen, stop).await
        }
        Ok((Subcommand::Config { client, http }, settings, config)) => {
            client::run(&client, http, &settings, &config, screen).await
        }
        Ok((Subcommand::Install { browser }, _, config)) => {
            until_stopped(install::run(&config, &browser, screen), stop).await
        }
        Ok((Subcommand::Doctor { json, repair }, _, config)) => {
            until_stopped(doctor::run(&config, json, repair, screen), stop).await
        }
        Ok((Subcommand::Dashboard { url, session }, _, config)) => {
            Box::pin(dashboard::run(config, url, session, screen, stop)).await
        }
        Ok((Subcommand::Completions(shell), _, _)) => {
            screen.out(&completions::script(shell));
            OK
        }
        Ok((Subcommand::Skill(action), _, _)) => skill::run(&action, &working_directory(), screen),
        Ok((Subcommand::Sessions(action), _, config)) => {
            let run = sessions::run(&config, action, screen);
            until_stopped(print_result(&config, run, screen), stop).await
        }
        Ok((Subcommand::Store(action), _, config)) => {
            let run = Box::pin(store::run(&config, action));
            until_stopped(print_result(&config, run, screen), stop).await
        }
    }
}

/// Reports the error of a command, if any. Returns the exit code.
fn report_result(screen: &Screen, result: Result<()>) -> i32 {
    match result {
        Ok(()) => OK,
        Err(error) => {
            report(screen, &error);
            error.code.row().exit.into()
        }
    }
}

/// Prints an error and its suggestion in one line.
fn report(screen: &Screen, error: &TroupeError) {
    let suggestion = error.suggestion.as_ref().map(|text| format!("; {text}")).unwrap_or_default();
    screen.err(&format!("troupe: {}{suggestion}", error.message));
}

/// Runs a command on the record, prints its result or its error, and returns the exit code.
async fn print_result(
    config: &Config,
    run: impl Future<Output = Result<String>>,
    screen: &Screen,
) -> i32 {
    // The command itself reports errors, so the log needs only warnings.
    let log = LogConfig { level: LogLevel::Warn, ..config.log.clone() };
    if let Err(usage) = logging::start(&log, Vault::open(config).unwrap_or_default(), &[]) {
        return misused(screen, &usage);
    }
    match run.await {
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

fn misused(screen: &Screen, usage: &UsageError) -> i32 {
    // Prints a usage error in one line.
    let line = usage.to_string().replace(|c: char| c.is_control(), " ");
    screen.err(&format!("troupe: {line}"));
    MISUSED
}

async fn until_stopped(work: impl Future<Output = i32>, stop: CancellationToken) -> i32 {
    tokio::select! {
        code = work => code,
        () = stop.cancelled() => STOPPED,
    }
}
