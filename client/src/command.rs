//! Sends the command to the daemon.

use std::{
    ffi::OsString,
    io::{BufReader, Read},
    os::unix::net::UnixStream,
    time::Duration,
};

use troupe_client::{
    CommandRequest, SESSION, SILENCE_TIMEOUT, Terminal, daemon_folder, socket, state_folder,
    version,
};

use crate::{failure::Failure, http};

/// How much longer than `--timeout` the client waits for the daemon, if that is less than
/// [`SILENCE_TIMEOUT`].
const GRACE: Duration = Duration::from_secs(10);

/// The outcome of a command.
pub enum Outcome {
    /// The command has run, or may have run, and its output was printed.
    Ran(u8),
    /// The command has not run. `stdin` contains the bytes that were already read from stdin.
    NotRun { stdin: Option<Vec<u8>> },
}

/// Runs the command in the daemon.
pub fn run(arguments: &[OsString]) -> Outcome {
    let Some(mut request) = request(arguments) else {
        return Outcome::NotRun { stdin: None };
    };
    let silence = silence_timeout(&request.arguments);
    let Some(stream) = connect(silence) else {
        return Outcome::NotRun { stdin: None };
    };
    let mut stream = BufReader::new(stream);
    if request.arguments.iter().any(|argument| is_stdin(argument)) {
        let mut text = Vec::new();
        // After an error, the text that was read so far is sent, as the Node program does.
        let _ = std::io::stdin().read_to_end(&mut text);
        match String::from_utf8(text) {
            Ok(text) => request.stdin = Some(text),
            Err(error) => return Outcome::NotRun { stdin: Some(error.into_bytes()) },
        }
    }
    match http::run(&mut stream, &request) {
        Ok(Some(code)) => Outcome::Ran(code),
        Ok(None) => Outcome::NotRun { stdin: request.stdin.map(String::into_bytes) },
        Err(error) => {
            let is_json = request.arguments.iter().any(|argument| argument == "--json");
            Outcome::Ran(Failure::new(&error, silence).print(is_json))
        }
    }
}

/// Returns the request, or `None` if the arguments name no command or cannot be sent.
fn request(arguments: &[OsString]) -> Option<CommandRequest> {
    let arguments: Option<Vec<String>> =
        arguments.iter().map(|argument| argument.to_str().map(str::to_owned)).collect();
    let arguments = arguments?;
    // Options without a command start a server.
    let is_session = |first: &String| {
        ["-s", "--session"].contains(&first.as_str()) || first.starts_with("--session=")
    };
    arguments.first().filter(|first| !first.starts_with('-') || is_session(first))?;
    let folder = std::env::current_dir().ok().filter(|folder| folder.to_str().is_some())?;
    let session = std::env::var(SESSION).ok();
    let (terminal, version) = (Terminal::of_this_process(), version().into_owned());
    Some(CommandRequest { version, arguments, folder, session, terminal, stdin: None })
}

/// Returns whether the argument or the value of an option is read from stdin.
fn is_stdin(argument: &str) -> bool {
    argument == "-" || (argument.starts_with("--") && argument.ends_with("=-"))
}

/// Returns how long the daemon may send nothing. The daemon itself ends a command after its
/// `--timeout`.
fn silence_timeout(arguments: &[String]) -> Duration {
    let mut arguments = arguments.iter();
    let timeout_argument = arguments.find_map(|argument| argument.strip_prefix("--timeout"));
    let value = match timeout_argument {
        Some("") => arguments.next().map(String::as_str),
        timeout_argument => timeout_argument.and_then(|rest| rest.strip_prefix('=')),
    };
    let value = value.and_then(|value| value.parse().ok()).map(Duration::from_millis);
    value.map_or(SILENCE_TIMEOUT, |value| SILENCE_TIMEOUT.min(value.saturating_add(GRACE)))
}

fn connect(silence: Duration) -> Option<UnixStream> {
    let stream = UnixStream::connect(socket(&daemon_folder(&state_folder()?))).ok()?;
    stream.set_read_timeout(Some(silence)).ok()?;
    stream.set_write_timeout(Some(silence)).ok()?;
    Some(stream)
}

/// Returns whether the daemon has not responded in time.
pub fn is_timeout(error: &std::io::Error) -> bool {
    // Unix reports the timeout of a socket as `WouldBlock`.
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_waits_for_the_daemon_only_shortly_longer_than_the_timeout_of_the_command() {
        for (line, seconds) in [
            ("click e1", 60),
            ("wait text --timeout 2000", 12),
            ("wait text --timeout=2000 --json", 12),
            ("wait text --timeout 900000", 60),
            ("wait text --timeout", 60),
            ("wait text --timeout soon", 60),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(silence_timeout(&arguments), Duration::from_secs(seconds), "{line}");
        }
    }

    #[test]
    fn stdin_is_read_only_for_a_dash() {
        assert!(is_stdin("-") && is_stdin("--script=-"));
        assert!(!is_stdin("a=-") && !is_stdin("--json") && !is_stdin("-1"));
    }
}
