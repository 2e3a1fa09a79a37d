//! Where the log goes: stderr or a file, never stdout.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use super::usage::Usage;
use crate::config::{LogConfig, LogFormat};
use crate::server::LIBRARY_LOG;

pub(super) fn start(config: &LogConfig) -> Result<(), Usage> {
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

fn open(path: &Path) -> io::Result<fs::File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    OpenOptions::new().create(true).append(true).open(path)
}
