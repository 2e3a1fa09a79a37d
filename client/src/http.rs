//! Sends a command to the daemon.

use std::io::{self, BufRead, BufReader, Read, Write};

use troupe_client::{CommandEvent, CommandRequest, PATH};

use crate::{command::is_timeout, output};

/// Maximum number of bytes of the head of a response.
const MAX_HEAD: u64 = 16 * 1024;
const MAX_HEADERS: usize = 64;

/// The status of a response to a command that runs.
const RUNS: u16 = 200;

/// Sends the command and prints its output. Returns the exit code; `None` if the daemon has not run
/// the command.
pub fn run<S: Read + Write>(
    stream: &mut BufReader<S>,
    request: &CommandRequest,
) -> io::Result<Option<u8>> {
    let body = serde_json::to_string(request)?;
    // With HTTP/1.0, the end of the connection is the end of the response.
    let head = format!(
        "POST {PATH} HTTP/1.0\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    // If the daemon rejects the request before it has read all of it, its response has the reason.
    let _ = stream.get_mut().write_all((head + &body).as_bytes());
    match status(stream) {
        Ok(RUNS) => events(stream).map(Some),
        Err(error) if is_timeout(&error) => Err(error),
        // The operating system also completes connections to a daemon that is stopping and accepts
        // none. A daemon sends the head of its response before the command starts.
        _ => Ok(None),
    }
}

/// Reads the head of the response, and returns its status.
fn status(reader: &mut impl BufRead) -> io::Result<u16> {
    let mut bytes = Vec::new();
    let mut limited = reader.take(MAX_HEAD);
    loop {
        if limited.read_until(b'\n', &mut bytes)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        if response.parse(&bytes).map_err(io::Error::other)?.is_partial() {
            continue;
        }
        return response.code.ok_or_else(|| io::ErrorKind::InvalidData.into());
    }
}

/// Prints the output of the command. Returns its exit code.
fn events(reader: &mut impl BufRead) -> io::Result<u8> {
    for line in reader.lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str(&line)? {
            CommandEvent::Out(text) => output::out(&text),
            CommandEvent::Err(text) => output::err(&text),
            CommandEvent::Exit(code) => return Ok(code),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A connection whose peer has already responded.
    struct Connection(Cursor<&'static str>);

    impl Read for Connection {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.0.read(bytes)
        }
    }

    impl Write for Connection {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn respond(response: &'static str) -> io::Result<Option<u8>> {
        let request = CommandRequest {
            version: String::new(),
            arguments: Vec::new(),
            folder: "/".into(),
            session: None,
            terminal: Default::default(),
            stdin: None,
        };
        run(&mut BufReader::new(Connection(Cursor::new(response))), &request)
    }

    #[test]
    fn the_exit_code_is_that_of_the_daemon() {
        let response = "HTTP/1.0 200 OK\r\ncontent-type: x\r\n\r\n\n{\"exit\":19}\n";
        assert_eq!(respond(response).unwrap(), Some(19));
    }

    #[test]
    fn a_command_has_not_run_if_the_daemon_refuses_it_or_ends_before_it_responds() {
        for response in ["HTTP/1.0 404 Not Found\r\n\r\n{}", "", "HTTP/1.0 200", "garbage\n"] {
            assert_eq!(respond(response).unwrap(), None, "{response:?}");
        }
    }

    #[test]
    fn the_end_of_the_daemon_is_an_error_of_the_command() {
        let head = "HTTP/1.0 200 OK\r\n\r\n";
        for output in ["", "\n", "{\"out\":\"a\"}\n", "{\"exit\":"] {
            let response: &'static str = format!("{head}{output}").leak();
            assert!(respond(response).is_err(), "{response:?}");
        }
    }
}
