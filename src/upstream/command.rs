//! The command of `--upstream`: its words, and the placeholders that each session replaces.

use std::{ffi::OsString, path::Path};

use tokio::process::Command as Process;

use crate::{
    config::{UpstreamConfig, UpstreamTransport, environment, own_variables},
    error::{ErrorCode, Result, TroupeError},
};

/// Placeholders in words, which each session replaces.
const PORT: &str = "{port}";
const OUTPUT_FOLDER: &str = "{outputDir}";
const SESSION_ID: &str = "{sessionId}";

/// The words of the command.
#[derive(Debug, Clone)]
pub(super) struct Command {
    words: Vec<String>,
    names_port: bool,
}

/// The session that a server is started for.
pub(super) struct Place<'a> {
    pub session_id: &'a str,
    /// Where its server writes files.
    pub folder: &'a Path,
    /// Where it listens, if it is spoken to by HTTP.
    pub port: Option<u16>,
}

impl Command {
    /// Splits the command as a shell does.
    pub fn read(config: &UpstreamConfig) -> Result<Self> {
        let text = config.command.as_deref().unwrap_or_default();
        let wrong = |why: &str| {
            TroupeError::new(ErrorCode::InvalidParameters, format!("`--upstream {text}`: {why}"))
                .suggestion("give a command, as \"npx -y @playwright/mcp@latest --headless\"")
        };
        let words = shlex::split(text).ok_or_else(|| wrong("a quote is not closed"))?;
        if words.is_empty() {
            return Err(wrong("it names no program"));
        }
        let names_port = words.iter().any(|word| word.contains(PORT));
        if names_port && config.transport == UpstreamTransport::Stdio {
            return Err(wrong("`{port}` has a meaning only with --upstream-transport http"));
        }
        Ok(Self { words, names_port })
    }

    /// The program, for messages.
    pub fn program(&self) -> &str {
        &self.words[0]
    }

    /// The words for a session. If a server over HTTP gets its port nowhere, it gets it as @playwright/mcp does.
    fn words_for(&self, place: &Place<'_>) -> Vec<OsString> {
        let port = place.port.map(|port| port.to_string()).unwrap_or_default();
        let mut words: Vec<OsString> = self
            .words
            .iter()
            .map(|word| {
                let word = word.replace(PORT, &port).replace(SESSION_ID, place.session_id);
                word.replace(OUTPUT_FOLDER, &place.folder.display().to_string()).into()
            })
            .collect();
        if place.port.is_some() && !self.names_port {
            words.extend(["--port".into(), port.into()]);
        }
        words
    }

    /// The process for a session, yet to be started.
    pub fn process(&self, place: &Place<'_>) -> Process {
        let words = self.words_for(place);
        // On Windows `npx` is a file of another name.
        let program = which::which(&words[0]).map_or_else(|_| words[0].clone(), Into::into);
        let mut process = Process::new(program);
        for name in own_variables() {
            process.env_remove(name);
        }
        process
            .args(&words[1..])
            .env("PLAYWRIGHT_MCP_OUTPUT_DIR", place.folder)
            .env(environment::UPSTREAM_OUTPUT_DIR, place.folder)
            .env(environment::UPSTREAM_SESSION_ID, place.session_id);
        if let Some(port) = place.port {
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
        let place = Place { session_id: "id", folder: Path::new("/out"), port };
        Ok(Command::read(&config)?.words_for(&place))
    }

    #[test]
    fn words_are_split_as_a_shell_does_and_told_what_the_session_knows() {
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
    fn a_server_by_http_is_told_its_port() {
        let http = UpstreamTransport::Http;
        assert_eq!(words("a --x", http, Some(20_001)).unwrap(), ["a", "--x", "--port", "20001"]);
        assert_eq!(words("a -p{port}", http, Some(20_001)).unwrap(), ["a", "-p20001"]);
        assert!(words("a -p{port}", UpstreamTransport::Stdio, None).is_err());
    }
}
