//! Runs the command of `--browser-command`, which prints the address of a remote browser.

use std::{
    collections::BTreeMap,
    io,
    process::{ExitStatus, Stdio},
    time::{Duration, SystemTime},
};

use chrono::DateTime;
use serde::Deserialize;
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};
use url::Url;

use super::{
    RemoteAddress,
    output_mask::{environment_secrets, mask},
};
#[cfg(windows)]
use crate::engine::job::Job;
use crate::{
    config::{self, redacted_endpoint, server_variables},
    engine::{connection::AttachFailure, launching},
};

/// Maximum size of stdout and of stderr, in bytes.
const MAX_OUTPUT: u64 = 64 * 1024;
/// Maximum number of characters of stderr that an error quotes.
const MAX_QUOTE: usize = 400;

/// The command's output.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PrintedAddress {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    /// RFC 3339, or milliseconds since 1970.
    expires_at: Option<PrintedTime>,
    /// The URL of a page on which a person can watch the browser.
    live_view: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum PrintedTime {
    Text(String),
    Millis(u64),
}

impl PrintedTime {
    fn parse(&self) -> Option<SystemTime> {
        match self {
            Self::Text(text) => DateTime::parse_from_rfc3339(text).ok().map(SystemTime::from),
            Self::Millis(at) => SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(*at)),
        }
    }
}

/// Runs `command` and returns the address that it prints.
pub(super) async fn run_for_address(
    command: &str,
    timeout: Duration,
) -> Result<RemoteAddress, AttachFailure> {
    let failed = |reason: String| AttachFailure::new(format!("--browser-command {reason}"));
    let cannot_run = |error: io::Error| failed(format!("could not be run: {error}"));
    let mut child = shell(command).spawn().map_err(cannot_run)?;
    let group = CommandGroup::of(&child).map_err(cannot_run)?;
    let output = tokio::time::timeout(timeout, wait_for_output(&mut child)).await;
    drop(group);
    let Ok(output) = output else {
        return Err(failed(format!("did not end within {} ms", timeout.as_millis())));
    };
    let (status, stdout, stderr) = output.map_err(cannot_run)?;
    let stderr_suffix = last_lines(&stderr);
    let stderr_suffix =
        if stderr_suffix.is_empty() { stderr_suffix } else { format!(": {stderr_suffix}") };
    if !status.success() {
        return Err(failed(format!("failed ({status}){stderr_suffix}")));
    }
    let printed = parse(&stdout).map_err(|problem| {
        failed(format!("printed no address of a browser: {problem}{stderr_suffix}"))
    })?;
    if let Some(view) = &printed.live_view {
        tracing::info!(url = redacted_endpoint(view), "the remote browser has a live view");
    }
    let headers = printed.headers.iter().map(|(name, value)| format!("{name}={value}"));
    let remaining = printed
        .expires_at
        .as_ref()
        .and_then(PrintedTime::parse)
        .map(|at| at.duration_since(SystemTime::now()).unwrap_or_default());
    Ok(RemoteAddress { url: printed.url, headers: headers.collect(), remaining })
}

/// Returns the command that runs `command` in the system's shell. It inherits the environment
/// without the variables of this server.
fn shell(command: &str) -> Command {
    let mut shell = if cfg!(windows) {
        let mut shell = Command::new("cmd.exe");
        shell.args(["/D", "/S", "/C"]);
        #[cfg(windows)]
        shell.raw_arg(format!("\"{command}\""));
        shell
    } else {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", command]);
        shell
    };
    for name in server_variables() {
        shell.env_remove(name);
    }
    #[cfg(unix)]
    shell.process_group(0);
    #[cfg(windows)]
    shell.creation_flags(windows_sys::Win32::System::Threading::CREATE_NO_WINDOW);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    shell
}

/// A command and the processes that it starts. They are killed when it is dropped.
struct CommandGroup {
    #[cfg(unix)]
    id: Option<u32>,
    #[cfg(windows)]
    _job: Job,
}

impl CommandGroup {
    fn of(command: &Child) -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            id: command.id(),
            #[cfg(windows)]
            _job: Job::of(command)?,
        })
    }
}

#[cfg(unix)]
impl Drop for CommandGroup {
    fn drop(&mut self) {
        if let Some(group) = self.id.and_then(|id| i32::try_from(id).ok()) {
            let group = nix::unistd::Pid::from_raw(group);
            let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        }
    }
}

/// Waits for the end of the command. Fails if it prints too much.
async fn wait_for_output(child: &mut Child) -> io::Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (stdout, stderr) = tokio::try_join!(output(stdout), output(stderr))?;
    Ok((child.wait().await?, stdout, stderr))
}

async fn output(pipe: Option<impl AsyncRead + Unpin>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(pipe) = pipe else { return Ok(bytes) };
    pipe.take(MAX_OUTPUT + 1).read_to_end(&mut bytes).await?;
    if bytes.len() as u64 > MAX_OUTPUT {
        return Err(io::Error::other(format!("it printed more than {MAX_OUTPUT} bytes")));
    }
    Ok(bytes)
}

/// Parses stdout, or its last line, as a JSON object. The error does not quote it, because it may
/// contain a token.
fn parse(stdout: &[u8]) -> Result<PrintedAddress, String> {
    let text = String::from_utf8_lossy(stdout);
    let last = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let object = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    let object = object(&text).or_else(|| object(last)).filter(serde_json::Value::is_object);
    let object = object.ok_or("stdout is not a JSON object such as {\"url\": \"wss://…\"}")?;
    let printed: PrintedAddress = serde_json::from_value(object).map_err(
        |_| "it must have a text `url`, and may have `headers`, `expiresAt` and `liveView`",
    )?;
    let url = Url::parse(&printed.url).map_err(|error| format!("`url` is not a URL ({error})"))?;
    if !matches!(url.scheme(), "ws" | "wss" | "http" | "https") {
        return Err("`url` must begin with ws:, wss:, http: or https:".to_owned());
    }
    let is_header = |(name, value): (&String, &String)| {
        config::header(&format!("{name}={value}")).is_some_and(|(parse, _)| parse == name.as_str())
    };
    if let Some((name, _)) = printed.headers.iter().find(|header| !is_header(*header)) {
        return Err(format!("`headers` has an invalid header `{name}`"));
    }
    if printed.expires_at.as_ref().is_some_and(|at| at.parse().is_none()) {
        return Err(
            "`expiresAt` is neither an RFC 3339 time nor a number of milliseconds".to_owned()
        );
    }
    Ok(printed)
}

/// Returns the last lines of stderr without secrets.
fn last_lines(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let text = mask(text.trim(), &environment_secrets());
    let last = launching::last_lines(text.lines());
    match last.char_indices().rev().nth(MAX_QUOTE - 1) {
        Some((begin, _)) if begin > 0 => format!("…{}", &last[begin..]),
        _ => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_has_the_last_lines_of_stderr() {
        assert_eq!(last_lines(b"one\ntwo\n\nthree\nfour\n"), "two; three; four");
        let long = "x ".repeat(1000);
        assert_eq!(last_lines(long.as_bytes()).chars().count(), MAX_QUOTE + 1);
    }

    #[test]
    fn the_address_is_the_output_or_its_last_line() {
        let parse = |text: &str| parse(text.as_bytes());
        let expires = r#""expiresAt": "2026-11-26T12:00:00Z""#;
        for text in [
            r#"{"url": "wss://a.test"}"#.to_owned(),
            "creating a session\n{\"url\": \"https://a.test\"}\n\n".to_owned(),
            format!("{{\n\"url\": \"ws://a.test\",\n{expires}, \"liveView\": null, \"id\": 7\n}}"),
        ] {
            assert!(parse(&text).is_ok(), "{text}");
        }
        for (text, problem) in [
            ("", "not a JSON object"),
            ("[]", "not a JSON object"),
            ("{}", "must have a text `url`"),
            (r#"{"url": "secret"}"#, "not a URL"),
            (r#"{"url": "ftp://a.test/secret"}"#, "must begin with"),
            (r#"{"url": "ws://a.test", "headers": {"a b": "secret"}}"#, "invalid header `a b`"),
            (r#"{"url": "ws://a.test", "expiresAt": "secret"}"#, "RFC 3339"),
        ] {
            let error = parse(text).err().unwrap();
            assert!(error.contains(problem) && !error.contains("secret"), "{error}");
        }
    }
}
