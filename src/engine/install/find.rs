//! Finds an installed browser. Only reads the file system, because every start calls it.

use std::fs;
use std::path::{Path, PathBuf};

use super::places::{BrowserSearchFolders, WRAPPED};
use super::{Channel, InstallError, InstalledBrowser, Source};
use crate::config::{BrowserKind, Config};

/// Returns the browser that a server with this configuration starts. `--executable-path` has
/// precedence. A headless server prefers the headless shell, and a headed one needs a full browser.
pub fn find(
    kind: BrowserKind,
    headless: bool,
    config: &Config,
) -> Result<InstalledBrowser, InstallError> {
    if let Some(path) = &config.executable_path {
        return given(path);
    }
    find_in(&BrowserSearchFolders::of_this_machine(), kind, headless)
}

/// Like [`find`], but searches `places`.
pub fn find_in(
    places: &BrowserSearchFolders,
    kind: BrowserKind,
    headless: bool,
) -> Result<InstalledBrowser, InstallError> {
    let channels = channels(kind, headless)?;
    for &channel in channels {
        if let Some((path, source)) = of_channel(places, channel) {
            let is_headless_shell = channel == Channel::HeadlessShell;
            return Ok(InstalledBrowser { path, channel, source, is_headless_shell });
        }
    }
    Err(InstallError::NotFound { kind, headless, searched: searched(places, channels) })
}

fn channels(kind: BrowserKind, headless: bool) -> Result<&'static [Channel], InstallError> {
    use Channel::{Chrome, Chromium, Firefox, HeadlessShell, MsEdge, Webkit};
    match (kind, headless) {
        (BrowserKind::Chromium, true) => Ok(&[HeadlessShell, Chromium, Chrome, MsEdge]),
        (BrowserKind::Chromium, false) => Ok(&[Chromium, Chrome, MsEdge]),
        (BrowserKind::Chrome, _) => Ok(&[Chrome]),
        (BrowserKind::MsEdge, _) => Ok(&[MsEdge]),
        (BrowserKind::Firefox, _) => Ok(&[Firefox]),
        (BrowserKind::Webkit, _) if cfg!(target_os = "linux") => Ok(&[Webkit]),
        (BrowserKind::Webkit, _) => Err(InstallError::UnsupportedPlatform { kind }),
    }
}

/// Returns the browser at the path that the user has set. Its kind is derived from its name.
fn given(path: &Path) -> Result<InstalledBrowser, InstallError> {
    // A name without a folder is searched on PATH, as a shell does.
    let path = which::which(path)
        .map_err(|_| InstallError::ExecutableMissing { path: path.to_owned() })?;
    let path = unwrapped(path);
    let name = path.file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let is_headless_shell = name.contains("headless-shell") || name.contains("headless_shell");
    let channel = match name.as_str() {
        _ if is_headless_shell => Channel::HeadlessShell,
        name if name.contains("edge") => Channel::MsEdge,
        name if name.contains("google") => Channel::Chrome,
        name if name.contains("firefox") => Channel::Firefox,
        name if name.contains("webkit") => Channel::Webkit,
        _ => Channel::Chromium,
    };
    Ok(InstalledBrowser { path, channel, source: Source::Option, is_headless_shell })
}

fn of_channel(places: &BrowserSearchFolders, channel: Channel) -> Option<(PathBuf, Source)> {
    let on_path = || {
        let path = places.path.as_ref()?;
        let here = Path::new(".");
        channel
            .names()
            .iter()
            .find_map(|name| which::which_in(name, Some(path), here).ok())
            .map(unwrapped)
    };
    let standard = || {
        let candidates = if places.system { channel.standard() } else { &[] };
        candidates.iter().find_map(|place| expanded(place, places).filter(|path| path.is_file()))
    };
    let cached = |folder: &Option<PathBuf>, source| {
        let folder = folder.as_ref()?;
        channel
            .cached(source)
            .iter()
            .find_map(|pattern| newest(folder, pattern))
            .map(|path| (path, source))
    };
    on_path()
        .map(|path| (path, Source::Path))
        .or_else(|| standard().map(|path| (path, Source::StandardPlace)))
        .or_else(|| cached(&places.troupe, Source::TroupeCache))
        .or_else(|| cached(&places.playwright, Source::PlaywrightCache))
        .or_else(|| cached(&places.puppeteer, Source::PuppeteerCache))
}

/// Returns the browser that a distribution's wrapper script starts.
fn unwrapped(path: PathBuf) -> PathBuf {
    let behind =
        WRAPPED.iter().find(|(wrapper, _)| Path::new(wrapper) == path).map(|(_, behind)| behind);
    match behind {
        Some(behind) if Path::new(behind).is_file() => PathBuf::from(behind),
        _ => path,
    }
}

/// Replaces `~` or `%NAME%` at the beginning of `place`.
fn expanded(place: &str, places: &BrowserSearchFolders) -> Option<PathBuf> {
    if let Some(rest) = place.strip_prefix("~/") {
        return Some(places.home.as_ref()?.join(rest));
    }
    if let Some((variable, rest)) =
        place.strip_prefix('%').and_then(|place| place.split_once("%\\"))
    {
        return Some(PathBuf::from(std::env::var_os(variable)?).join(rest));
    }
    Some(PathBuf::from(place))
}

/// Returns the file that matches `pattern` in the folder. If several match, the newest version.
fn newest(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let (segment, rest) =
        pattern.split_once('/').map_or((pattern, None), |(segment, rest)| (segment, Some(rest)));
    let Some(rest) = rest else {
        let path = folder.join(segment).with_extension(std::env::consts::EXE_EXTENSION);
        return path.is_file().then_some(path);
    };
    let Some((before, after)) = segment.split_once('*') else {
        return newest(&folder.join(segment), rest);
    };
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| {
            name.len() >= segment.len() - 1 && name.starts_with(before) && name.ends_with(after)
        })
        .collect();
    names.sort_by_key(|name| std::cmp::Reverse(numbers(name)));
    names.iter().find_map(|name| newest(&folder.join(name), rest))
}

/// Returns the numbers in a name, to compare versions: `linux-131.0.6778.85` is newer than
/// `linux-99.1`.
fn numbers(name: &str) -> Vec<u64> {
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Lists the names and folders that were searched, for the error message.
fn searched(places: &BrowserSearchFolders, channels: &[Channel]) -> String {
    let names: Vec<_> = channels
        .iter()
        .flat_map(|channel| channel.names())
        .map(|name| format!("`{name}`"))
        .collect();
    let caches: Vec<_> = [&places.troupe, &places.playwright, &places.puppeteer]
        .into_iter()
        .flatten()
        .map(|folder| format!("`{}`", folder.display()))
        .collect();
    format!(
        "{} on PATH, in the system's standard folders and below {}",
        names.join(", "),
        caches.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine on which only these files exist, in a temporary folder.
    struct Machine {
        root: PathBuf,
    }

    impl Machine {
        fn with(files: &[&str]) -> Self {
            let root = std::env::temp_dir().join(format!("troupe-find-{}", uuid::Uuid::new_v4()));
            for file in files {
                let path = root.join(file).with_extension(std::env::consts::EXE_EXTENSION);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, "").unwrap();
                #[cfg(unix)]
                {
                    use std::os::unix::fs::PermissionsExt;
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
                }
            }
            fs::create_dir_all(&root).unwrap();
            Self { root }
        }

        fn find(&self, kind: BrowserKind, headless: bool) -> Result<(String, Source), String> {
            let places = BrowserSearchFolders {
                path: Some(self.root.join("bin").into_os_string()),
                system: false,
                home: None,
                troupe: Some(self.root.join("troupe")),
                playwright: Some(self.root.join("playwright")),
                puppeteer: Some(self.root.join("puppeteer")),
            };
            match find_in(&places, kind, headless) {
                Ok(browser) => {
                    let path = browser
                        .path
                        .strip_prefix(&self.root)
                        .unwrap()
                        .to_string_lossy()
                        .into_owned();
                    assert_eq!(browser.is_headless_shell, path.contains("headless"), "{path}");
                    Ok((path, browser.source))
                }
                Err(error) => Err(error.to_string().replace(&*self.root.to_string_lossy(), "ROOT")),
            }
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.root);
        }
    }

    fn found(path: &str, source: Source) -> Result<(String, Source), String> {
        Ok((path.to_owned(), source))
    }

    #[test]
    fn headless_takes_the_headless_shell_and_a_window_the_full_browser() {
        let machine = Machine::with(&["bin/chromium", "bin/chromium-headless-shell"]);
        assert_eq!(
            machine.find(BrowserKind::Chromium, true),
            found("bin/chromium-headless-shell", Source::Path)
        );
        assert_eq!(machine.find(BrowserKind::Chromium, false), found("bin/chromium", Source::Path));
    }

    #[test]
    fn headless_prefers_a_cached_headless_shell_to_a_full_browser_on_path() {
        let shell = "playwright/chromium_headless_shell-1200/chrome-headless-shell-linux64/chrome-headless-shell";
        let machine = Machine::with(&["bin/google-chrome", shell]);
        assert_eq!(
            machine.find(BrowserKind::Chromium, true),
            found(shell, Source::PlaywrightCache)
        );
        assert_eq!(
            machine.find(BrowserKind::Chromium, false),
            found("bin/google-chrome", Source::Path)
        );
    }

    #[test]
    fn the_newest_version_of_a_cache_is_taken() {
        let new = "puppeteer/chrome/linux-131.0.6778.85/chrome-linux64/chrome";
        let machine =
            Machine::with(&["puppeteer/chrome/linux-99.0.1.2/chrome-linux64/chrome", new]);
        assert_eq!(machine.find(BrowserKind::Chromium, false), found(new, Source::PuppeteerCache));
        assert_eq!(machine.find(BrowserKind::Chromium, true), found(new, Source::PuppeteerCache));
    }

    #[test]
    fn older_cache_layouts_and_troupes_cache_are_searched() {
        let old = "playwright/chromium_headless_shell-1148/chrome-linux/headless_shell";
        assert_eq!(
            Machine::with(&[old]).find(BrowserKind::Chromium, true),
            found(old, Source::PlaywrightCache)
        );
        let own = "troupe/chromium-headless-shell/147.0.0/chromium-headless-shell";
        assert_eq!(
            Machine::with(&[own]).find(BrowserKind::Chromium, true),
            found(own, Source::TroupeCache)
        );
        let fetched = "troupe/chrome-headless-shell/linux-150.0.1.2/chrome-headless-shell-linux64/chrome-headless-shell";
        assert_eq!(
            Machine::with(&[fetched, own]).find(BrowserKind::Chromium, true),
            found(fetched, Source::TroupeCache)
        );
    }

    #[test]
    fn a_channel_is_only_itself() {
        let machine = Machine::with(&["bin/chromium", "bin/microsoft-edge"]);
        assert_eq!(
            machine.find(BrowserKind::MsEdge, true),
            found("bin/microsoft-edge", Source::Path)
        );
        assert!(machine.find(BrowserKind::Chrome, true).is_err());
    }

    #[test]
    fn the_error_lists_the_searched_names_if_nothing_is_found() {
        insta::assert_snapshot!(Machine::with(&[]).find(BrowserKind::Chrome, false).unwrap_err(), @"no browser was found for `chrome` with a window: searched for `google-chrome-stable`, `google-chrome`, `chrome` on PATH, in the system's standard folders and below `ROOT/troupe`, `ROOT/playwright`, `ROOT/puppeteer`");
        let shells = Machine::with(&[]).find(BrowserKind::Chromium, true).unwrap_err();
        assert!(
            shells.starts_with(
                "no browser was found for `chromium`: searched for `chromium-headless-shell`"
            ),
            "{shells}"
        );
        let machine = Machine::with(&["bin/firefox-esr", "bin/chromium", "bin/WebKitWebDriver"]);
        assert_eq!(
            machine.find(BrowserKind::Webkit, true),
            found("bin/WebKitWebDriver", Source::Path)
        );
        assert_eq!(
            machine.find(BrowserKind::Firefox, true),
            found("bin/firefox-esr", Source::Path)
        );
    }

    #[test]
    fn the_configured_executable_has_precedence_and_must_exist() {
        let machine = Machine::with(&["elsewhere/my-headless_shell"]);
        let path = machine
            .root
            .join("elsewhere/my-headless_shell")
            .with_extension(std::env::consts::EXE_EXTENSION);
        let mut config = Config { executable_path: Some(path.clone()), ..Config::default() };
        let browser = find(BrowserKind::Chromium, true, &config).unwrap();
        assert_eq!(
            (browser.path, browser.source, browser.is_headless_shell),
            (path, Source::Option, true)
        );
        config.executable_path = Some(PathBuf::from("/nowhere/chrome"));
        insta::assert_snapshot!(find(BrowserKind::Chromium, true, &config).unwrap_err(), @"the executable in `--executable-path` does not exist: `/nowhere/chrome`");
    }
}
