//! Sends requests to the daemon on one connection.

use std::io::{self, BufRead, BufReader, Read, Write};

use troupe_client::{CommandEvent, CommandRequest, PATH};

use crate::output;

/// Maximum number of bytes of the head of a response.
const MAX_HEAD: u64 = 16 * 1024;
const MAX_HEADERS: usize = 64;

/// The head of a response.
struct Head {
    status: u16,
    /// The length of the body, if the response has one.
    length: u64,
}

/// Waits until the daemon has responded to a request.
///
/// # Errors
/// Returns an error if the daemon does not serve this connection.
pub fn check<S: Read + Write>(stream: &mut BufReader<S>) -> io::Result<()> {
    stream.get_mut().write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")?;
    let length = head(stream)?.length;
    io::copy(&mut stream.take(length), &mut io::sink()).map(drop)
}

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
    if self::head(stream)?.status != 200 {
        return Ok(None);
    }
    events(stream).map(Some)
}

fn head(reader: &mut impl BufRead) -> io::Result<Head> {
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
        let status = response.code.ok_or(io::ErrorKind::InvalidData)?;
        let length = response.headers.iter().find_map(|header| {
            let is_length = header.name.eq_ignore_ascii_case("content-length");
            std::str::from_utf8(header.value).ok().filter(|_| is_length)?.parse().ok()
        });
        return Ok(Head { status, length: length.unwrap_or(0) });
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
    fn a_command_has_not_run_if_the_daemon_refuses_it() {
        assert_eq!(respond("HTTP/1.0 404 Not Found\r\n\r\n{}").unwrap(), None);
    }

    #[test]
    fn the_end_of_the_daemon_is_an_error_of_the_command() {
        for response in ["", "HTTP/1.0 200", "HTTP/1.0 200 OK\r\n\r\n\n", "garbage\n"] {
            assert!(respond(response).is_err(), "{response:?}");
        }
    }

    #[test]
    fn the_command_follows_the_response_of_the_check() {
        let responses = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\
                         HTTP/1.0 200 OK\r\n\r\n{\"exit\":3}\n";
        let mut stream = BufReader::new(Connection(Cursor::new(responses)));
        check(&mut stream).unwrap();
        assert_eq!(head(&mut stream).unwrap().status, 200);
        assert_eq!(events(&mut stream).unwrap(), 3);
    }
}
