//! Files that tools of the set write, and how results name them.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::call::PlaywrightCall;
use crate::{
    config::{Config, FilePaths},
    error::Result,
    files::{FileLocation, IfExists},
    policy::files,
    store::{iso8601, now},
    tools::extraction::run_blocking,
};

/// A file that a tool has written.
pub(super) struct WrittenFile {
    /// The path or URL in results.
    pub name: String,
}

impl WrittenFile {
    /// Returns a Markdown list item with a link to the file.
    pub fn link(&self, title: &str) -> String {
        format!("- [{title}]({})", self.name)
    }
}

/// The name of a new file: given by the client, or made from a prefix and the time.
pub(super) enum FileName {
    /// Relative to the workspace.
    Given(String),
    /// In the output directory.
    Timestamped { prefix: &'static str, extension: String },
}

impl FileName {
    pub fn new(given: Option<String>, prefix: &'static str, extension: impl Into<String>) -> Self {
        let given = given.filter(|name| !name.is_empty());
        given.map_or_else(|| Self::Timestamped { prefix, extension: extension.into() }, Self::Given)
    }
}

/// Returns `prefix-2026-11-25T13-30-03-123Z`.
fn timestamped(prefix: &str, at: u64) -> String {
    format!("{prefix}-{}", iso8601(at).replace([':', '.'], "-"))
}

/// Returns the path or URL of a file as results name it.
pub(super) fn location_in_results(config: &Config, location: &FileLocation) -> String {
    match location {
        FileLocation::Local(path) => name_in_results(config, path),
        FileLocation::Object(url) => url.clone(),
    }
}

/// Returns a path as results name it: relative to the workspace, or absolute (`--file-paths`).
fn name_in_results(config: &Config, path: &Path) -> String {
    if config.file_paths == FilePaths::Absolute {
        return path.display().to_string();
    }
    let written = &config.working_directory;
    // The client may have named the workspace by a symbolic link.
    let real = (!path.starts_with(written)).then(|| written.canonicalize().ok()).flatten();
    let workspace = real.as_ref().filter(|real| path.starts_with(real)).unwrap_or(written);
    let Some(relative) = relative_to(path, workspace) else { return path.display().to_string() };
    let text = relative.display().to_string();
    let is_plain = relative.components().count() == 1 && !text.starts_with('.');
    if is_plain { format!("./{text}") } else { text }
}

/// Returns `path` relative to `base`, with `..` where it is outside.
fn relative_to(path: &Path, base: &Path) -> Option<PathBuf> {
    let mut up = PathBuf::new();
    for ancestor in base.ancestors() {
        if let Ok(rest) = path.strip_prefix(ancestor) {
            return Some(up.join(rest));
        }
        up.push("..");
    }
    None
}

/// Writes a text without the session's secrets.
pub(super) async fn write_text(
    call: &PlaywrightCall,
    name: FileName,
    mut text: String,
) -> Result<WrittenFile> {
    crate::offload::in_place(text.len(), || call.session.secrets.mask_text(&mut text));
    write(call, name, text.into_bytes()).await
}

/// Writes a file. A file that exists is replaced, as @playwright/mcp does.
pub(super) async fn write(
    call: &PlaywrightCall,
    name: FileName,
    bytes: Vec<u8>,
) -> Result<WrittenFile> {
    write_file(call, name, false, bytes).await
}

/// Writes a file that contains logins.
pub(super) async fn write_secret(
    call: &PlaywrightCall,
    name: FileName,
    bytes: Vec<u8>,
) -> Result<WrittenFile> {
    write_file(call, name, true, bytes).await
}

async fn write_file(
    call: &PlaywrightCall,
    name: FileName,
    is_secret: bool,
    bytes: Vec<u8>,
) -> Result<WrittenFile> {
    let files = call.files();
    let location = match name {
        FileName::Given(name) => files.replace(&name, is_secret, bytes).await?,
        // Calls of other sessions may create a file in the same millisecond.
        FileName::Timestamped { prefix, extension } => {
            let name = format!("{}.{extension}", timestamped(prefix, now()));
            files.create(&name, IfExists::Rename, is_secret, bytes).await?
        }
    };
    Ok(WrittenFile { name: location_in_results(&call.config, &location) })
}

/// Deletes the oldest files of the output folder until they have at most `limit` bytes. Keeps files
/// that were changed since `begun`: a result may name them.
pub(super) async fn evict(config: &Config, limit: u64, begun: SystemTime) {
    let Some(folder) = files::output_folder(config) else { return };
    let evicted = run_blocking(move || {
        let mut found = files_below(&folder);
        found.sort_by_key(|file| file.changed);
        let mut total: u64 = found.iter().map(|file| file.size).sum();
        for OutputFile { path, size, changed } in found {
            if total <= limit {
                break;
            }
            if changed < begun && fs::remove_file(&path).is_ok() {
                total -= size;
            }
        }
        Ok(())
    });
    if let Err(error) = evicted.await {
        tracing::warn!(%error, "old files of the output folder could not be deleted");
    }
}

struct OutputFile {
    path: PathBuf,
    size: u64,
    changed: SystemTime,
}

/// Returns the files of a folder and of the folders in it. Does not follow symbolic links.
fn files_below(folder: &Path) -> Vec<OutputFile> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(properties) = entry.metadata() else { continue };
            if properties.is_dir() {
                folders.push(entry.path());
            } else if let (true, Ok(changed)) = (properties.is_file(), properties.modified()) {
                found.push(OutputFile { path: entry.path(), size: properties.len(), changed });
            }
        }
    }
    found
}

/// A log to which lines are added between responses.
#[derive(Debug, Clone)]
pub(super) struct LogFile {
    path: PathBuf,
    name: String,
    /// Milliseconds since 1970. Lines have the time since then.
    started: u64,
    lines: usize,
}

impl LogFile {
    /// Creates a log in the output directory.
    pub fn create(config: &Config, prefix: &str, started: u64) -> Result<Self> {
        let name = format!("{}.log", timestamped(prefix, started));
        let (path, _) = files::create_output(config, &name)?;
        Ok(Self { name: name_in_results(config, &path), path, started, lines: 0 })
    }

    /// Adds entries with their times. Returns a link to the new lines.
    pub fn add(&mut self, entries: &[(u64, String)]) -> Result<String> {
        let text = log_text(self.started, entries);
        let open = OpenOptions::new().append(true).create(true).open(&self.path);
        open.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| files::unwritable(&self.path, &error))?;
        let first = self.lines + 1;
        self.lines += text.matches('\n').count();
        Ok(link_to_lines(&self.name, first, self.lines))
    }
}

/// Returns the lines of entries with the time since `started`.
pub(super) fn log_text(started: u64, entries: &[(u64, String)]) -> String {
    let line = |(at, entry): &(u64, String)| {
        let since = i128::from(*at) - i128::from(started);
        format!("[{since:>8}ms] {entry}\n")
    };
    entries.iter().map(line).collect()
}

/// Returns a link to lines of a log.
pub(super) fn link_to_lines(name: &str, first: usize, last: usize) -> String {
    if first == last { format!("{name}#L{first}") } else { format!("{name}#L{first}-L{last}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_relative_to_the_workspace() {
        let config = Config { working_directory: "/work/space".into(), ..Config::default() };
        for (path, name) in [
            ("/work/space/.playwright-mcp/page.yml", ".playwright-mcp/page.yml"),
            ("/work/space/shot.png", "./shot.png"),
            ("/work/out/page.yml", "../out/page.yml"),
        ] {
            assert_eq!(name_in_results(&config, Path::new(path)), name);
        }
    }
}
