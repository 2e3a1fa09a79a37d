//! Signs that a page needs a person: a CAPTCHA, or a field for a password.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use url::Url;

use crate::{
    engine::{FrameId, World},
    page::Page,
};

/// Timeout for reading a frame, which prolongs the call.
const TIMEOUT: Duration = Duration::from_millis(500);
/// Whether the document has a visible password field, and a visible iframe whose title contains
/// "captcha".
const DOCUMENT: &str = "(() => {
    const isVisible = (element) => {
        const { width, height } = element.getBoundingClientRect()
        return width > 1 && height > 1 &&
            (element.checkVisibility?.({ opacityProperty: true, visibilityProperty: true }) ?? true)
    }
    const has = (selector) => Array.from(document.querySelectorAll(selector)).some(isVisible)
    return [has('input[type=password]'), has('iframe[title*=captcha i]')]
})()";
/// Whether a frame is large enough for a widget that a person uses.
const IS_SHOWN: &str = "innerWidth >= 100 && innerHeight >= 40";

/// The signals on a page that it needs a person.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PersonSignals {
    pub captcha: bool,
    /// A visible password field in the main frame.
    pub login: bool,
}

impl Page {
    /// Returns the signals that the page needs a person; none if it does not respond.
    pub async fn person_signals(&self) -> PersonSignals {
        if self.dialog().is_some() || !self.is_open() {
            return PersonSignals::default();
        }
        let widgets: Vec<FrameId> = self.state.read(|facts| {
            let frames = facts.frames.iter();
            let widgets = frames.filter(|(_, frame)| is_captcha(frame.url.as_ref()));
            widgets.map(|(id, _)| id.clone()).collect()
        });
        let read = async |frame: &FrameId, script: &str| {
            let read = self.engine.evaluate(frame, World::Isolated, script);
            let read = tokio::time::timeout(TIMEOUT, read).await;
            read.ok().and_then(Result::ok).unwrap_or_default()
        };
        let shown = join_all(widgets.iter().map(|frame| read(frame, IS_SHOWN)));
        let (document, shown) = tokio::join!(read(self.main_frame(), DOCUMENT), shown);
        PersonSignals {
            captcha: document[1] == true || shown.contains(&Value::Bool(true)),
            login: document[0] == true,
        }
    }
}

/// Returns whether `url` is that of a CAPTCHA widget that requires an action of the user.
fn is_captcha(url: &str) -> bool {
    let Ok(parsed) = Url::parse(url) else { return false };
    let host = parsed.host_str().unwrap_or_default();
    let is_of = |domain: &str| {
        host.strip_suffix(domain).is_some_and(|before| before.is_empty() || before.ends_with('.'))
    };
    // Pages also load other frames of these services, which have no visible widget.
    let is_invisible = url.contains("size=invisible");
    let is_recaptcha = (is_of("google.com") || is_of("recaptcha.net"))
        && parsed.path().starts_with("/recaptcha/")
        && parsed.path().ends_with("/anchor");
    let is_hcaptcha = is_of("hcaptcha.com") && url.contains("frame=checkbox");
    !is_invisible && (is_recaptcha || is_hcaptcha) || host == "challenges.cloudflare.com"
}

#[cfg(test)]
mod tests {
    use super::is_captcha;

    #[test]
    fn widgets_are_recognized_by_their_url() {
        for url in [
            "https://www.google.com/recaptcha/api2/anchor?ar=1&k=x&size=normal",
            "https://www.google.com/recaptcha/enterprise/anchor?k=x",
            "https://www.recaptcha.net/recaptcha/api2/anchor?k=x",
            "https://newassets.hcaptcha.com/captcha/v1/1/static/hcaptcha.html#frame=checkbox&id=0",
            "https://challenges.cloudflare.com/cdn-cgi/challenge-platform/h/b/turnstile/if/ov2/",
        ] {
            assert!(is_captcha(url), "{url}");
        }
        for url in [
            "https://www.google.com/recaptcha/api2/anchor?k=x&size=invisible",
            "https://www.google.com/recaptcha/api2/bframe?k=x",
            "https://www.google.com/maps/anchor",
            "https://newassets.hcaptcha.com/captcha/v1/1/static/hcaptcha.html#frame=challenge",
            "https://evilhcaptcha.com/#frame=checkbox",
            "https://challenges.cloudflare.com.evil.example/",
            "about:blank",
            "",
        ] {
            assert!(!is_captcha(url), "{url}");
        }
    }
}
