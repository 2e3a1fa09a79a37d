//! The paths of installed browsers.

use std::ffi::OsString;
use std::path::PathBuf;

use directories::{BaseDirs, ProjectDirs};

use super::{Channel, Source};

/// The folders of this machine, or of a test, that are searched for browsers.
#[derive(Debug, Clone, Default)]
pub struct BrowserSearchFolders {
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// Whether the standard folders of the system are searched.
    pub system: bool,
    pub home: Option<PathBuf>,
    pub troupe: Option<PathBuf>,
    pub playwright: Option<PathBuf>,
    pub puppeteer: Option<PathBuf>,
}

impl BrowserSearchFolders {
    pub fn of_this_machine() -> Self {
        let base = BaseDirs::new();
        let home = base.as_ref().map(|base| base.home_dir().to_owned());
        // Playwright uses these three on macOS and Windows, whatever XDG_CACHE_HOME is.
        let playwright = if cfg!(target_os = "macos") {
            home.as_ref().map(|home| home.join("Library/Caches/ms-playwright"))
        } else if cfg!(windows) {
            base.as_ref().map(|base| base.data_local_dir().join("ms-playwright"))
        } else {
            base.as_ref().map(|base| base.cache_dir().join("ms-playwright"))
        };
        let puppeteer = home.as_ref().map(|home| home.join(".cache/puppeteer"));
        Self {
            path: std::env::var_os("PATH"),
            system: true,
            troupe: browsers_folder(),
            playwright: named("PLAYWRIGHT_BROWSERS_PATH").or(playwright),
            puppeteer: named("PUPPETEER_CACHE_DIR").or(puppeteer),
            home,
        }
    }
}

fn named(variable: &str) -> Option<PathBuf> {
    // Playwright's "0" means its own package folder, whose path is unknown here.
    std::env::var_os(variable).filter(|value| !value.is_empty() && value != "0").map(PathBuf::from)
}

/// Troupe's folder for downloaded browsers, `~/.cache/troupe/browsers` on Linux.
pub fn browsers_folder() -> Option<PathBuf> {
    Some(ProjectDirs::from("", "", "troupe")?.cache_dir().join("browsers"))
}

/// Distributions put a shell script on PATH that starts the browser. Some do not use `exec`: the
/// script stays the browser's parent process, and a signal to it would not reach the browser.
pub(super) const WRAPPED: &[(&str, &str)] = &[
    ("/usr/bin/chromium-headless-shell", "/usr/lib/chromium/chromium-headless-shell"),
    ("/usr/bin/chromium", "/usr/lib/chromium/chromium"),
    ("/usr/bin/firefox-esr", "/usr/lib/firefox-esr/firefox-esr"),
    ("/usr/bin/google-chrome", "/opt/google/chrome/chrome"),
    ("/usr/bin/google-chrome-stable", "/opt/google/chrome/chrome"),
    ("/usr/bin/microsoft-edge", "/opt/microsoft/msedge/msedge"),
    ("/usr/bin/microsoft-edge-stable", "/opt/microsoft/msedge/msedge"),
];

impl Channel {
    /// Returns the channel's file names on `PATH`.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::HeadlessShell => {
                &["chromium-headless-shell", "chrome-headless-shell", "headless_shell"]
            }
            Self::Chromium => &["chromium", "chromium-browser"],
            Self::Chrome => &["google-chrome-stable", "google-chrome", "chrome"],
            Self::MsEdge => &["microsoft-edge-stable", "microsoft-edge", "msedge"],
            Self::Firefox => &["firefox-esr", "firefox"],
            Self::Webkit => &["WebKitWebDriver"],
        }
    }

    /// Returns the channel's standard paths on this system. `~` is the home folder, `%NAME%` an
    /// environment variable.
    pub(super) fn standard(self) -> &'static [&'static str] {
        if cfg!(target_os = "macos") {
            match self {
                Self::HeadlessShell => &[],
                Self::Chromium => &[
                    "/Applications/Chromium.app/Contents/MacOS/Chromium",
                    "~/Applications/Chromium.app/Contents/MacOS/Chromium",
                ],
                Self::Chrome => &[
                    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
                    "~/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
                ],
                Self::MsEdge => &[
                    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
                    "~/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
                ],
                Self::Firefox => &[
                    "/Applications/Firefox.app/Contents/MacOS/firefox",
                    "~/Applications/Firefox.app/Contents/MacOS/firefox",
                ],
                Self::Webkit => &[],
            }
        } else if cfg!(windows) {
            match self {
                Self::HeadlessShell => &[],
                Self::Chromium => &[r"%LOCALAPPDATA%\Chromium\Application\chrome.exe"],
                Self::Chrome => &[
                    r"%PROGRAMFILES%\Google\Chrome\Application\chrome.exe",
                    r"%PROGRAMFILES(X86)%\Google\Chrome\Application\chrome.exe",
                    r"%LOCALAPPDATA%\Google\Chrome\Application\chrome.exe",
                ],
                Self::MsEdge => &[
                    r"%PROGRAMFILES(X86)%\Microsoft\Edge\Application\msedge.exe",
                    r"%PROGRAMFILES%\Microsoft\Edge\Application\msedge.exe",
                ],
                Self::Firefox => &[r"%PROGRAMFILES%\Mozilla Firefox\firefox.exe"],
                Self::Webkit => &[],
            }
        } else {
            match self {
                Self::HeadlessShell => &[
                    "/usr/lib/chromium/chromium-headless-shell",
                    "/usr/lib64/chromium-browser/headless_shell",
                ],
                Self::Chromium => &[
                    "/usr/lib/chromium/chromium",
                    "/usr/lib64/chromium-browser/chromium-browser",
                    "/snap/bin/chromium",
                ],
                Self::Chrome => &["/opt/google/chrome/chrome"],
                Self::MsEdge => &["/opt/microsoft/msedge/msedge"],
                Self::Firefox => &["/usr/lib/firefox-esr/firefox-esr", "/usr/lib/firefox/firefox"],
                Self::Webkit => {
                    &["/usr/bin/WebKitWebDriver", "/usr/libexec/webkit2gtk-4.1/WebKitWebDriver"]
                }
            }
        }
    }

    /// Returns the channel's paths in a cache of browsers. `*` is any text within a folder's name.
    /// A cache contains builds for its own machine only, so the pattern does not need the
    /// platform's name.
    pub(super) fn cached(self, source: Source) -> &'static [&'static str] {
        match (self, source) {
            (Self::HeadlessShell, Source::PlaywrightCache) => &[
                "chromium_headless_shell-*/*/chrome-headless-shell",
                "chromium_headless_shell-*/*/headless_shell",
            ],
            (Self::HeadlessShell, Source::PuppeteerCache) => {
                &["chrome-headless-shell/*/*/chrome-headless-shell"]
            }
            // The fetcher uses Puppeteer's folder layout. The second path is that of the npm
            // package.
            (Self::HeadlessShell, Source::TroupeCache) => &[
                "chrome-headless-shell/*/*/chrome-headless-shell",
                "chromium-headless-shell/*/chromium-headless-shell",
            ],
            (Self::Chromium, Source::PlaywrightCache) => &[
                "chromium-*/*/chrome",
                "chromium-*/*/Chromium.app/Contents/MacOS/Chromium",
                "chromium-*/*/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
            ],
            (Self::Chromium, Source::PuppeteerCache | Source::TroupeCache) => &[
                "chrome/*/*/chrome",
                "chrome/*/*/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
                "chromium/*/*/chrome",
                "chromium/*/*/Chromium.app/Contents/MacOS/Chromium",
            ],
            _ => &[],
        }
    }
}
