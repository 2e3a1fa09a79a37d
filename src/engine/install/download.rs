//! The second installation method: Chrome for Testing (the headless shell, or the whole browser for
//! visible windows), with chromiumoxide's fetcher.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use chromiumoxide::fetcher::{
    BrowserFetcher, BrowserFetcherOptions, BrowserHost, BrowserKind as FetcherKind,
};

use super::ProgressListener;

/// The fetcher has no timeout: a network that drops packets would block it forever.
const DATA_TIMEOUT: Duration = Duration::from_secs(60);
const CHECK_INTERVAL: Duration = Duration::from_secs(2);

pub(super) async fn install(
    folder: &Path,
    headless: bool,
    host: Option<&str>,
    progress: ProgressListener<'_>,
) -> Result<(), String> {
    // reqwest is built without a TLS provider, because its default is a slow C build. It panics if
    // none is installed. The error of a provider that is already installed is ignored.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (kind, name) = if headless {
        (FetcherKind::ChromeHeadlessShell, "chrome-headless-shell")
    } else {
        (FetcherKind::Chrome, "chrome")
    };
    let folder = folder.join(name);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{} ({error})", folder.display()))?;
    let options = BrowserFetcherOptions::builder()
        .with_kind(kind)
        .with_host(match host {
            Some(host) => BrowserHost::single(host.trim_end_matches('/')),
            // The fetcher's default URL of the list of versions contains a superfluous slash.
            None => BrowserHost::new(
                "https://storage.googleapis.com",
                "https://googlechromelabs.github.io",
            ),
        })
        .with_path(&folder)
        .build()
        .map_err(|error| with_causes(&error))?;
    let fetcher = BrowserFetcher::new(options);
    let outcome = tokio::select! {
        outcome = fetcher.fetch() => outcome.map(|_| ()).map_err(|error| with_causes(&error)),
        why = watch(&folder, progress) => Err(why),
    };
    for archive in archives(&folder) {
        let _ = std::fs::remove_file(archive);
    }
    outcome
}

/// Reports the size of the download. Returns an error message when no more data arrives.
async fn watch(folder: &Path, progress: ProgressListener<'_>) -> String {
    let (mut size, mut moved) = (0, Instant::now());
    while moved.elapsed() < DATA_TIMEOUT {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let now = archives(folder)
            .iter()
            .filter_map(|path| std::fs::metadata(path).ok())
            .map(|file| file.len())
            .sum();
        if now != size {
            (size, moved) = (now, Instant::now());
            progress(&format!("  {} MB", size / 1_000_000));
        }
    }
    format!("no data for {} s", DATA_TIMEOUT.as_secs())
}

/// Returns the archives that the fetcher is writing. It removes them after unpacking.
fn archives(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "zip"))
        .collect()
}

/// Returns an error with its causes in one line, because the outermost error says only that the
/// download failed.
fn with_causes(error: &dyn Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let text = inner.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = inner.source();
    }
    message
}
