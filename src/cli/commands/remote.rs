//! Runs commands in the daemon for the native client, which has sent its arguments.

use std::{collections::HashMap, io};

use tokio_util::sync::CancellationToken;
use troupe_client::CommandRequest;

use super::{Caller, DaemonAccess, arguments, names::SessionNames};
use crate::{
    cli::{daemon::is_older, misused, screen::Screen},
    config::version,
    transport::{CommandFuture, CommandOutput, CommandRunner, DaemonFolder, ServerCalls},
};

/// The commands of the daemon in this process.
pub(in crate::cli) struct RemoteCommands;

impl CommandRunner for RemoteCommands {
    fn start(
        &self,
        request: CommandRequest,
        calls: ServerCalls,
        output: CommandOutput,
    ) -> Option<CommandFuture> {
        let CommandRequest { version: client, arguments, folder, session, terminal, stdin } =
            request;
        // The Node program of a newer version replaces this daemon.
        if is_older(&version(), &client) {
            return None;
        }
        let named = arguments::named(&arguments)?;
        let parsed = arguments::parse(named, &arguments, &folder, || {
            stdin.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        });
        let (out, err) = output.writers();
        let screen = Screen::new(out, err).on(terminal);
        let caller = Caller { folder, session, daemon: DaemonAccess::SameProcess(calls) };
        let code = match parsed {
            Ok(Ok(command)) => {
                return Some(Box::pin(async move {
                    // A client that disconnects drops the command.
                    let never = CancellationToken::new();
                    exit_code(super::run(command, &caller, &screen, never).await)
                }));
            }
            // The width of the help is that of the terminal.
            Ok(Err(_help)) => return None,
            Err(usage) => exit_code(misused(&screen, &usage)),
        };
        Some(Box::pin(std::future::ready(code)))
    }

    fn session_names(&self) -> HashMap<String, String> {
        let names = DaemonFolder::of_this_user().and_then(|folder| SessionNames::new(&folder));
        names.map(|names| names.by_id()).unwrap_or_default()
    }
}

fn exit_code(code: i32) -> u8 {
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use crate::error::ErrorCode;

    #[test]
    fn the_native_client_exits_with_the_code_of_an_unavailable_server() {
        assert_eq!(ErrorCode::ServerUnavailable.row().exit, troupe_client::UNAVAILABLE);
    }
}
