//! Sends the command to the daemon.

use std::{
    ffi::OsString,
    io::{Read, Write},
    os::unix::net::UnixStream,
};

use troupe_client::{
    Colors, CommandRequest, PATH, SESSION, SILENCE_TIMEOUT, daemon_folder, socket, state_folder,
    version,
};

use crate::response;

/// What has become of a command.
pub enum Outcome {
    /// It has run, or may have run, and its output is printed.
    Ran(u8),
    /// It has not run. stdin is no longer available to other programs if its text is given.
    NotRun { stdin: Option<String> },
}

/// Runs the command in the daemon.
pub fn run(arguments: &[OsString]) -> Outcome {
    let Some((mut request, mut stream)) = request(arguments).zip(connect()) else {
        return Outcome::NotRun { stdin: None };
    };
    if request.arguments.iter().any(|argument| argument == "-") {
        let mut text = Vec::new();
        // An error ends the text: the Node program would get the same.
        let _ = std::io::stdin().read_to_end(&mut text);
        match String::from_utf8(text) {
            Ok(text) => request.stdin = Some(text),
            Err(_) => {
                response::report("stdin is not UTF-8");
                return Outcome::Ran(2);
            }
        }
    }
    let Ok(body) = serde_json::to_string(&request) else {
        return Outcome::NotRun { stdin: request.stdin };
    };
    // With HTTP/1.0, the end of the connection is the end of the response.
    let head = format!(
        "POST {PATH} HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    // If the daemon rejects the request before it has read all of it, its response has the reason.
    let _ = stream.write_all((head + &body).as_bytes());
    match response::copy(stream) {
        Some(code) => Outcome::Ran(code),
        None => Outcome::NotRun { stdin: request.stdin },
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
    let (colors, version) = (Colors::of_this_process(), version().into_owned());
    Some(CommandRequest { version, arguments, folder, session, colors, stdin: None })
}

fn connect() -> Option<UnixStream> {
    let stream = UnixStream::connect(socket(&daemon_folder(&state_folder()?))).ok()?;
    stream.set_read_timeout(Some(SILENCE_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(SILENCE_TIMEOUT)).ok()?;
    Some(stream)
}
