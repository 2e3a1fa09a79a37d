//! Runs a command in the daemon without starting Node. Sends the arguments to the daemon's socket
//! and prints the output. The daemon parses the arguments. If the daemon cannot run the command,
//! this process is replaced by the Node program, `troupe.js`.

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
        // The install script runs this to check that the client works on this machine.
        output::out(&format!("{}\n", troupe_client::version()));
        return ExitCode::SUCCESS;
    }
    match command::run(&arguments) {
        command::Outcome::Ran(code) => ExitCode::from(code),
        command::Outcome::NotRun { stdin } => node_program::run(&arguments, stdin),
    }
}

/// Lets `cargo build --workspace` succeed. The packages for Windows contain no client.
#[cfg(not(unix))]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
