//! Runs the Node program in place of this one.

use std::{
    ffi::OsString,
    io::{self, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::PathBuf,
    process::{Command, ExitCode, Stdio},
};

use crate::response;

/// The exit code of shells if a program cannot be started.
const NOT_FOUND: u8 = 127;
/// Shells add this to the number of the signal that has ended a process.
const SIGNALED: i32 = 128;

/// Runs `troupe.js` with these arguments and this text as stdin. Without a text, the Node program
/// takes the place of this process.
pub fn run(arguments: &[OsString], stdin: Option<String>) -> ExitCode {
    let Some(program) = program() else {
        response::report("`troupe.js` is not next to this program; install troupe again");
        return ExitCode::from(NOT_FOUND);
    };
    let mut command = Command::new("node");
    command.arg(program).args(arguments);
    let error = match stdin {
        None => command.exec(),
        Some(text) => match with_stdin(command, text) {
            Ok(code) => return ExitCode::from(code),
            Err(error) => error,
        },
    };
    response::report(&format!("`node` cannot be started: {error}"));
    ExitCode::from(NOT_FOUND)
}

/// Returns the path of `troupe.js`: in the package next to this program, in a checkout in `bin`.
fn program() -> Option<PathBuf> {
    let own = std::env::current_exe().ok()?.canonicalize().ok()?;
    let folder = own.parent()?;
    let places = [folder.join("troupe.js"), folder.join("bin/troupe.js")];
    places.into_iter().find(|place| place.is_file())
}

fn with_stdin(mut command: Command, text: String) -> io::Result<u8> {
    let mut child = command.stdin(Stdio::piped()).spawn()?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read it is not an error.
        let _ = pipe.write_all(text.as_bytes());
    }
    let status = child.wait()?;
    let code = status.code().or(status.signal().map(|signal| SIGNALED + signal));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
