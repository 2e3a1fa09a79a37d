//! The destination of the log: stderr, a file, or stdout if stdout carries no protocol.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriter};

use super::usage::UsageError;
use crate::config::{LogConfig, LogDestination, LogFormat};
use crate::policy::vault::Vault;
use crate::private;
use crate::server::LIBRARY_LOG;

/// The target of log entries that are written at any log level, such as the URL of the server.
pub(super) const NOTICE: &str = "troupe::notice";

/// Starts the log. The modules in `without` log nothing.
pub(super) fn start(config: &LogConfig, vault: Vault, without: &[&str]) -> Result<(), UsageError> {
    let writer = match &config.file {
        None if config.destination == Some(LogDestination::Stdout) => {
            BoxMakeWriter::new(io::stdout)
        }
        None => BoxMakeWriter::new(io::stderr),
        Some(path) => {
            let file = open(path).map_err(|error| UsageError::LogFile {
                path: path.display().to_string(),
                why: error.to_string(),
            })?;
            #[expect(clippy::disallowed_types, reason = "the library supports only this mutex")]
            BoxMakeWriter::new(std::sync::Mutex::new(file))
        }
    };
    let writer = Masking { vault: Arc::new(vault), writer };
    // Only warnings of libraries.
    let without: String = without.iter().map(|module| format!(",{module}=off")).collect();
    let filter = EnvFilter::new(format!(
        "warn,{LIBRARY_LOG},troupe={},{NOTICE}=info{without}",
        config.level.as_str()
    ));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A second server in the same process uses the log of the first.
    let _ = match config.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => {
            let json =
                builder.json().flatten_event(true).with_current_span(false).with_span_list(false);
            log_panics();
            json.try_init()
        }
    };
    Ok(())
}

/// Logs panics. The default hook writes several lines of text to stderr.
fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let why = panic.payload_as_str().unwrap_or_default();
        tracing::error!(place, why, "troupe panicked: this is a defect");
    }));
}

/// Writes lines without the secrets of the server.
struct Masking {
    vault: Arc<Vault>,
    writer: BoxMakeWriter,
}

struct MaskingWriter<'a> {
    vault: &'a Vault,
    writer: <BoxMakeWriter as MakeWriter<'a>>::Writer,
}

impl<'a> MakeWriter<'a> for Masking {
    type Writer = MaskingWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        MaskingWriter { vault: &self.vault, writer: self.writer.make_writer() }
    }
}

impl Write for MaskingWriter<'_> {
    /// Expects a complete line, because the log writes each line in one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match std::str::from_utf8(line).ok().and_then(|text| self.vault.mask(text)) {
            Some(masked) => self.writer.write_all(masked.as_bytes())?,
            None => self.writer.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn open(path: &Path) -> io::Result<File> {
    // The permissions of an existing file are its owner's choice.
    private::ensure_file(path)?;
    OpenOptions::new().append(true).open(path)
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_its_owner_can_read_a_new_log_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/troupe.log");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        open(&path).unwrap().write_all(b"one\n").unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        open(&path).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(mode(), 0o640, "the mode of an existing file is not changed");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }
}
