//! The command of `--upstream`: its arguments, and the placeholders that are replaced for each
//! session.

use std::{ffi::OsString, path::Path};

use tokio::process::Command as Process;

use crate::{
    config::{UpstreamConfig, UpstreamTransport, environment, own_variables},
    error::{ErrorCode, Result, TroupeError},
};

/// The placeholders in the arguments.
const PORT: &str = "{port}";
const OUTPUT_FOLDER: &str = "{outputDir}";
const SESSION_ID: &str = "{sessionId}";

/// The parsed command.
#[derive(Debug, Clone)]
pub(super) struct Command {
    words: Vec<String>,
    names_port: bool,
}

/// The values of the placeholders for a session.
pub(super) struct CommandValues<'a> {
    pub session_id: &'a str,
    /// The folder where its server writes files.
    pub folder: &'a Path,
    /// The port where it listens, with the HTTP transport.
    pub port: Option<u16>,
}

impl Command {
    /// Splits the command like a shell.
    pub fn read(config: &UpstreamConfig) -> Result<Self> {
        let text = config.command.as_deref().unwrap_or_default();
        let wrong = |why: &str| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("`--upstream {text}`: {why}"))
                .suggestion("pass a command, such as \"npx -y @playwright/mcp@latest --headless\"")
        };
        let words = shlex::split(text).ok_or_else(|| wrong("a quote is not closed"))?;
        if words.is_empty() {
            return Err(wrong("it is empty"));
        }
        let names_port = words.iter().any(|word| word.contains(PORT));
        if names_port && config.transport == UpstreamTransport::Stdio {
            return Err(wrong("`{port}` requires --upstream-transport http"));
        }
        Ok(Self { words, names_port })
    }

    /// Returns the program, for messages.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    /// Returns the program and its arguments for a session. With HTTP and without the placeholder
    /// `{port}`, adds `--port`, which @playwright/mcp expects.
    fn words_for(&self, values: &CommandValues<'_>) -> Vec<OsString> {
        let port = values.port.map(|port| port.to_string()).unwrap_or_default();
        let mut words: Vec<OsString> = self
            .words
            .iter()
            .map(|word| {
                let word = word.replace(PORT, &port).replace(SESSION_ID, values.session_id);
                word.replace(OUTPUT_FOLDER, &values.folder.display().to_string()).into()
            })
            .collect();
        if values.port.is_some() && !self.names_port {
            words.extend(["--port".into(), port.into()]);
        }
        words
    }

    /// Returns the process for a session, which is not started yet.
    pub fn process(&self, values: &CommandValues<'_>) -> Process {
        let words = self.words_for(values);
        // On Windows, the file of `npx` has another name.
        let program = which::which(&words[0]).map_or_else(|_| words[0].clone(), Into::into);
        let mut process = Process::new(program);
        for name in own_variables() {
            process.env_remove(name);
        }
        process
            .args(&words[1..])
            .env("PLAYWRIGHT_MCP_OUTPUT_DIR", values.folder)
            .env(environment::UPSTREAM_OUTPUT_DIR, values.folder)
            .env(environment::UPSTREAM_SESSION_ID, values.session_id);
        if let Some(port) = values.port {
            process.env(environment::UPSTREAM_PORT, port.to_string());
        }
        process
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(
        command: &str,
        transport: UpstreamTransport,
        port: Option<u16>,
    ) -> Result<Vec<OsString>> {
        let config = UpstreamConfig {
            command: Some(command.into()),
            transport,
            ..UpstreamConfig::default()
        };
        let values = CommandValues { session_id: "id", folder: Path::new("/out"), port };
        Ok(Command::read(&config)?.words_for(&values))
    }

    #[test]
    fn words_are_split_like_in_a_shell_and_placeholders_are_replaced() {
        let read = words(
            "npx -y 'a b' --dir={outputDir}/x --name {sessionId}",
            UpstreamTransport::Stdio,
            None,
        );
        assert_eq!(read.unwrap(), ["npx", "-y", "a b", "--dir=/out/x", "--name", "id"]);
        let unclosed = words("npx 'a", UpstreamTransport::Stdio, None).unwrap_err();
        assert!(unclosed.message.contains("not closed"), "{}", unclosed.message);
        assert!(words("  ", UpstreamTransport::Stdio, None).is_err());
    }

    #[test]
    fn a_server_over_http_gets_its_port() {
        let http = UpstreamTransport::Http;
        assert_eq!(words("a --x", http, Some(20_001)).unwrap(), ["a", "--x", "--port", "20001"]);
        assert_eq!(words("a -p{port}", http, Some(20_001)).unwrap(), ["a", "-p20001"]);
        assert!(words("a -p{port}", UpstreamTransport::Stdio, None).is_err());
    }
}
