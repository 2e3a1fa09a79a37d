//! Runs a command in the daemon without starting Node: sends the arguments to the daemon's socket
//! and copies the output. The daemon parses the arguments. Everything else is handed to the Node
//! program, `troupe.js`, which takes the place of this process.

use std::process::ExitCode;

#[cfg(unix)]
mod command;
#[cfg(unix)]
mod failure;
#[cfg(unix)]
mod http;
#[cfg(unix)]
mod node_program;
#[cfg(unix)]
mod output;

#[cfg(unix)]
fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let [flag] = arguments.as_slice()
        && flag == "--client-version"
    {
        // The install script checks with this that the client runs on this machine.
        output::out(&format!("{}\n", troupe_client::version()));
        return ExitCode::SUCCESS;
    }
    match command::run(&arguments) {
        command::Outcome::Ran(code) => ExitCode::from(code),
        command::Outcome::NotRun { stdin } => node_program::run(&arguments, stdin),
    }
}

/// Only `cargo build --workspace` builds it: the packages for Windows contain no client.
#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
