//! Copies the output of a command.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    process::ExitCode,
};

use troupe_client::{CommandEvent, UNAVAILABLE};

/// Maximum number of bytes of the head of a response.
const MAX_HEAD: u64 = 16 * 1024;
const MAX_HEADERS: usize = 64;

/// Copies the output and returns the exit code; `None` if the daemon has not run the command.
pub fn copy(stream: impl Read) -> Option<u8> {
    let mut reader = BufReader::new(stream);
    let events = match status(&mut reader) {
        Ok(200) => events(reader),
        Ok(_) => return None,
        Err(error) => Err(error),
    };
    Some(events.unwrap_or_else(|error| {
        report(&format!(
            "the daemon ended during the command, which may have run: {error}; look at the page \
             with `troupe snapshot`, and at `troupe daemon logs`"
        ));
        UNAVAILABLE
    }))
}

/// Reads the head of the response and returns its status.
fn status(reader: &mut impl BufRead) -> io::Result<u16> {
    let mut head = Vec::new();
    let mut limited = reader.take(MAX_HEAD);
    loop {
        if limited.read_until(b'\n', &mut head)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        if response.parse(&head).map_err(io::Error::other)?.is_complete() {
            return response.code.ok_or_else(|| io::ErrorKind::InvalidData.into());
        }
    }
}

/// Copies the events until the exit code.
fn events(reader: impl BufRead) -> io::Result<u8> {
    for line in reader.lines() {
        let line = line?;
        if line.is_empty() {
            continue;
        }
        match serde_json::from_str(&line)? {
            CommandEvent::Out(text) => write(&mut io::stdout().lock(), &text),
            CommandEvent::Err(text) => write(&mut io::stderr().lock(), &text),
            CommandEvent::Exit(code) => return Ok(code),
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}

/// Prints an error of the client.
pub fn report(message: &str) {
    write(&mut io::stderr().lock(), &format!("troupe: {message}\n"));
}

pub fn print(text: &str) -> ExitCode {
    write(&mut io::stdout().lock(), text);
    ExitCode::SUCCESS
}

/// A reader that closes the pipe (`troupe text | head -1`) is not an error.
fn write(stream: &mut impl Write, text: &str) {
    let _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_the_daemon() {
        let response = "HTTP/1.0 200 OK\r\ncontent-type: x\r\n\r\n\n{\"exit\":19}\n";
        assert_eq!(copy(response.as_bytes()), Some(19));
    }

    #[test]
    fn a_command_has_not_run_if_the_daemon_refuses_it() {
        assert_eq!(copy("HTTP/1.0 404 Not Found\r\n\r\n{}".as_bytes()), None);
    }

    #[test]
    fn the_end_of_the_daemon_is_an_error_of_the_command() {
        for response in ["", "HTTP/1.0 200", "HTTP/1.0 200 OK\r\n\r\n\n", "garbage\n"] {
            assert_eq!(copy(response.as_bytes()), Some(UNAVAILABLE), "{response:?}");
        }
    }
}
