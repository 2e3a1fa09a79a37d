//! Runs the Node program in place of this one.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Seek, Write},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::PathBuf,
    process::{Command, ExitCode},
};

use crate::output;

/// The exit code of shells if a program cannot be started.
const NOT_FOUND: u8 = 127;

/// Replaces this process by Node with `troupe.js`. `stdin` contains the bytes that were already
/// read from stdin. Returns only if the replacement fails.
pub fn run(arguments: &[OsString], stdin: Option<Vec<u8>>) -> ExitCode {
    let Some(program) = program() else {
        output::err("troupe: `troupe.js` is not next to this program; install troupe again\n");
        return ExitCode::from(NOT_FOUND);
    };
    let mut command = Command::new("node");
    command.arg(program).args(arguments);
    let error = match stdin.map(|bytes| unnamed_file(&bytes)).transpose() {
        Ok(None) => command.exec(),
        Ok(Some(file)) => command.stdin(file).exec(),
        Err(error) => {
            let why = "standard input cannot be copied to a temporary file";
            output::err(&format!("troupe: {why}: {error}\n"));
            return ExitCode::from(NOT_FOUND);
        }
    };
    output::err(&format!("troupe: `node` cannot be started: {error}\n"));
    ExitCode::from(NOT_FOUND)
}

/// Returns the path of `troupe.js`. In the package, it is next to this program; in a checkout, it
/// is in `bin`.
fn program() -> Option<PathBuf> {
    let executable = env::current_exe().ok()?.canonicalize().ok()?;
    let folder = executable.parent()?;
    let candidates = [folder.join("troupe.js"), folder.join("bin/troupe.js")];
    candidates.into_iter().find(|path| path.is_file())
}

/// Returns a file without a name that contains these bytes.
fn unnamed_file(bytes: &[u8]) -> io::Result<File> {
    let path = env::temp_dir().join(format!("troupe-stdin-{}", std::process::id()));
    let mut options = OpenOptions::new();
    let mut file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(path)?;
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
