//! `troupe doctor [--json]`: reports what is installed, what is missing and which command installs
//! it. Starts only `BROWSER --version`.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::screen::Screen;
use super::{FAILED, OK};
use crate::config::{BrowserKind, Config, display_present, redacted_endpoint};
use crate::engine::chromium::find_user_browser;
use crate::engine::connection::AttachFailure;
use crate::engine::install::{self, InstalledBrowser, browsers_folder, find};
use crate::files::FileStore;
use crate::store::{self, Fault, RecordLocation};

#[derive(Serialize)]
struct Report {
    usable: bool,
    /// A command that starts a working server on this machine.
    command: String,
    checks: Vec<Check>,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: CheckState,
    found: String,
    /// The command to run or the setting to change.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

#[derive(Serialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    Fine,
    /// Works with limitations, or only with an option.
    Limited,
    Missing,
}

pub(super) async fn run(config: &Config, json: bool, repair: bool, screen: &Screen) -> i32 {
    if repair {
        self::repair(config, screen);
    }
    let report = examine(config).await;
    if json {
        screen.out(&serde_json::to_string_pretty(&report).unwrap_or_default());
    } else {
        screen.out(&text(&report));
    }
    if report.usable { OK } else { FAILED }
}

async fn examine(config: &Config) -> Report {
    let display = display_present();
    let mode = config.effective_headless(display);
    let headless = mode.as_ref().is_ok_and(|(headless, _)| *headless);
    let needed = browser("browser", config, headless, CheckState::Missing).await;
    let other = if headless {
        browser("browser with a window", config, false, CheckState::Limited).await
    } else {
        browser("headless browser", config, true, CheckState::Limited).await
    };
    let mut checks = vec![needed, other];
    checks.push(match (&mode, display) {
        (Err(error), _) => {
            check("display", CheckState::Missing, &error.to_string(), Some("--headless"))
        }
        (Ok(_), true) => check("display", CheckState::Fine, "a window can be shown", None),
        (Ok(_), false) => {
            check("display", CheckState::Limited, "not found: the browser runs headless", None)
        }
    });
    if let Some(program) = install::missing_program(config.browser, headless) {
        let found = format!("`{program}` is not on PATH");
        checks.push(check(
            "virtual display",
            CheckState::Missing,
            &found,
            Some("npx -y troupe install webkit"),
        ));
    }
    let sandbox = sandbox(config);
    let needs_no_sandbox = !config.sandbox || sandbox.state != CheckState::Fine;
    checks.push(sandbox);
    checks.push(writable("temporary folder", &std::env::temp_dir(), CheckState::Missing));
    if let Some(folder) = browsers_folder() {
        checks.push(writable("folder for installed browsers", &folder, CheckState::Limited));
    }
    let mut command = "npx -y troupe".to_owned();
    if matches!(config.browser, BrowserKind::Firefox | BrowserKind::Webkit) {
        command.push_str(&format!(" --browser {}", config.browser));
    }
    if needs_no_sandbox {
        command.push_str(" --no-sandbox");
    }
    if mode.is_err() || headless {
        command.push_str(" --headless");
    }
    checks.extend(record(config));
    checks.extend(bucket(config).await);
    checks.extend(
        config.warnings.iter().map(|line| check("configuration", CheckState::Limited, line, None)),
    );
    Report {
        usable: checks.iter().all(|check| check.state != CheckState::Missing),
        command,
        checks,
    }
}

async fn browser(
    name: &'static str,
    config: &Config,
    headless: bool,
    otherwise: CheckState,
) -> Check {
    if let Some(target) = &config.attach {
        return match find_user_browser(target).await {
            Ok(found) => check(name, CheckState::Fine, &found, None),
            Err(AttachFailure { reason, suggestion, .. }) => {
                check(name, otherwise, &reason, suggestion.as_deref())
            }
        };
    }
    if config.browser_command.is_some() {
        // The command may contain a token.
        let found = "attaches to the browsers that --browser-command prints (not run)";
        return check(name, CheckState::Fine, found, None);
    }
    if let Some(endpoint) = &config.browser_endpoint {
        let use_of_it = match config.grid() {
            Some(_) => "starts browsers in the Selenium Grid",
            None => "attaches to",
        };
        return check(
            name,
            CheckState::Fine,
            &format!("{use_of_it} {} (not checked)", redacted_endpoint(endpoint)),
            None,
        );
    }
    match find(config.browser, headless, config) {
        Err(error) => check(name, otherwise, &error.to_string(), error.suggestion()),
        Ok(InstalledBrowser { path, source, .. }) => match install::version(&path).await {
            Ok(version) => {
                let found = format!("{version}: {} ({})", path.display(), source.as_str());
                check(name, CheckState::Fine, &found, None)
            }
            Err(why) => {
                let found = format!("{} does not run ({why})", path.display());
                let advice = match config.browser {
                    BrowserKind::Firefox => {
                        "npx -y troupe install firefox, or --executable-path PATH"
                    }
                    BrowserKind::Webkit => {
                        "npx -y troupe install webkit, or --executable-path PATH"
                    }
                    _ => "npx -y troupe install chromium, or --executable-path PATH",
                };
                check(name, otherwise, &found, Some(advice))
            }
        },
    }
}

fn sandbox(config: &Config) -> Check {
    const NAME: &str = "sandbox";
    const ADVICE: &str = "pass --no-sandbox, or run as a user who can use the sandbox";
    if !config.sandbox {
        return check(NAME, CheckState::Fine, "switched off (--no-sandbox)", None);
    }
    if !config.browser.is_chromium() {
        return check(
            NAME,
            CheckState::Fine,
            "provided by the browser, if it supports this system",
            None,
        );
    }
    match obstacle_to_sandbox() {
        Some(obstacle) => check(NAME, CheckState::Limited, obstacle, Some(ADVICE)),
        None => check(NAME, CheckState::Fine, "available", None),
    }
}

/// Returns why Chromium's sandbox cannot start here, by the settings of the kernel. Starts no
/// process.
fn obstacle_to_sandbox() -> Option<&'static str> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    #[cfg(unix)]
    if nix::unistd::geteuid().is_root() {
        return Some("running as root: Chromium's sandbox is not available");
    }
    let is = |file: &str, value: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.trim() == value)
    };
    if is("/proc/sys/kernel/unprivileged_userns_clone", "0")
        || is("/proc/sys/user/max_user_namespaces", "0")
    {
        return Some(
            "this system does not allow unprivileged user namespaces, which the sandbox needs",
        );
    }
    if is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
        return Some(
            "AppArmor restricts namespaces, which the sandbox of an unpackaged browser needs",
        );
    }
    None
}

/// Renames a damaged record. Leaves an intact one unchanged.
fn repair(config: &Config, screen: &Screen) {
    let Ok(RecordLocation::File(path)) = RecordLocation::of(config) else { return };
    if path.exists()
        && let Some(Fault::Damaged { .. }) = store::examine(&path)
    {
        match store::set_aside(&path) {
            Ok(aside) => {
                screen.err(&format!("troupe: the damaged record is now {}", aside.display()))
            }
            Err(error) => {
                screen.err(&format!("troupe: {} cannot be renamed ({error})", path.display()))
            }
        }
    }
}

fn record(config: &Config) -> Option<Check> {
    const NAME: &str = "record";
    let path = match RecordLocation::of(config) {
        Ok(RecordLocation::File(path)) => path,
        Ok(RecordLocation::None | RecordLocation::Memory) => return None,
        Ok(RecordLocation::Postgres(url)) => {
            return Some(match store::examine_database(&url) {
                Ok(()) => check(NAME, CheckState::Fine, &format!("{url} can be used"), None),
                Err(error) => {
                    let advice = error.suggestion.as_deref();
                    check(NAME, CheckState::Missing, &error.message, advice)
                }
            });
        }
        Err(error) => {
            return Some(check(
                NAME,
                CheckState::Missing,
                &error.message,
                error.suggestion.as_deref(),
            ));
        }
    };
    if !path.exists() {
        return Some(writable(NAME, &path, CheckState::Limited));
    }
    Some(match store::examine(&path) {
        None => check(NAME, CheckState::Fine, &format!("{} is intact", path.display()), None),
        // The server also starts without a record.
        Some(fault @ Fault::Unavailable { .. }) => {
            check(NAME, CheckState::Limited, &fault.to_string(), Some(fault.suggestion()))
        }
        Some(fault) => {
            check(NAME, CheckState::Missing, &fault.to_string(), Some(fault.suggestion()))
        }
    })
}

/// Checks the bucket of `--output-dir`.
async fn bucket(config: &Config) -> Option<Check> {
    const NAME: &str = "bucket";
    match FileStore::open(&Arc::new(config.clone())).check_bucket().await {
        Ok(None) => None,
        Ok(Some(url)) => Some(check(NAME, CheckState::Fine, &format!("{url} is writable"), None)),
        Err(error) => {
            let advice = error.suggestion.as_deref();
            Some(check(NAME, CheckState::Missing, &error.message, advice))
        }
    }
}

fn writable(name: &'static str, folder: &Path, otherwise: CheckState) -> Check {
    // A missing folder is created when it is needed, so its nearest existing ancestor is checked.
    let there = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(folder);
    // A new file with a random name, never an existing file or link. It is removed when dropped.
    let written = tempfile::Builder::new().prefix(".troupe-doctor-").tempfile_in(there);
    let shown = folder.display();
    match written {
        Ok(_) => check(name, CheckState::Fine, &format!("{shown} is writable"), None),
        Err(error) => check(name, otherwise, &format!("{shown} is not writable ({error})"), None),
    }
}

fn check(name: &'static str, state: CheckState, found: &str, advice: Option<&str>) -> Check {
    Check { name, state, found: found.to_owned(), advice: advice.map(str::to_owned) }
}

fn text(report: &Report) -> String {
    let mut lines = Vec::new();
    for check in &report.checks {
        let mark = match check.state {
            CheckState::Fine => "ok     ",
            CheckState::Limited => "limited",
            CheckState::Missing => "MISSING",
        };
        lines.push(format!("{mark}  {}: {}", check.name, check.found));
        if let Some(advice) = &check.advice {
            lines.push(format!("         what to do: {advice}"));
        }
    }
    lines.push(if report.usable {
        format!("\nUsable. Start it with: {}", report.command)
    } else {
        "\nNot usable yet: see MISSING above.".to_owned()
    });
    lines.join("\n")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_test_of_a_folder_follows_no_link_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "content").unwrap();
        let link = folder.path().join(format!(".troupe-doctor-{}", std::process::id()));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(writable("folder", folder.path(), CheckState::Missing).state == CheckState::Fine);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "content");
        assert!(link.is_symlink());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
