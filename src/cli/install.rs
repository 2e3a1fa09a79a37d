//! `troupe install [chromium|firefox|webkit]`: installs a browser unless one is installed.

use super::screen::Screen;
use super::usage::UsageError;
use super::{FAILED, OK, misused};
use crate::config::{BrowserKind, Config, display_present};
use crate::engine::install;

pub(super) async fn run(config: &Config, browser: &str, screen: &Screen) -> i32 {
    let kind = match browser {
        "chromium" => BrowserKind::Chromium,
        "firefox" => BrowserKind::Firefox,
        "webkit" => BrowserKind::Webkit,
        _ => return misused(screen, &UsageError::UnknownBrowser { name: browser.to_owned() }),
    };
    // The larger browser with windows is needed only if there is a display.
    let headless = config.effective_headless(display_present()).is_ok_and(|(headless, _)| headless);
    let host = config.download_host.as_deref();
    match install::install(kind, headless, host, &|line| screen.err(line)).await {
        Ok(browser) => {
            screen.out(&browser.path.display().to_string());
            OK
        }
        Err(error) => {
            let suggestion = error.suggestion().map(|text| format!("; {text}")).unwrap_or_default();
            screen.err(&format!("troupe: {error}{suggestion}"));
            FAILED
        }
    }
}
