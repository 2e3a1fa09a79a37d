//! Where the log goes: stderr or a file, never stdout.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::{BoxMakeWriter, MakeWriter};

use super::usage::Usage;
use crate::config::{LogConfig, LogFormat};
use crate::policy::vault::Vault;
use crate::server::LIBRARY_LOG;

pub(super) fn start(config: &LogConfig, vault: Vault) -> Result<(), Usage> {
    let writer = match &config.file {
        None => BoxMakeWriter::new(io::stderr),
        Some(path) => {
            let file = open(path).map_err(|error| Usage::LogFile {
                path: path.display().to_string(),
                why: error.to_string(),
            })?;
            BoxMakeWriter::new(Mutex::new(file))
        }
    };
    let writer = Masking { vault: Arc::new(vault), writer };
    // Libraries log for their own authors: of them only warnings.
    let filter = EnvFilter::new(format!("warn,{LIBRARY_LOG},troupe={}", config.level.as_str()));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A second server in one process keeps the log of the first.
    let _ = match config.format {
        LogFormat::Text => builder.with_target(false).try_init(),
        LogFormat::Json => builder.json().try_init(),
    };
    Ok(())
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
    /// Takes a whole line: the log writes none in pieces.
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

fn open(path: &Path) -> io::Result<fs::File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}
