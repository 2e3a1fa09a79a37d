//! The cookies of a session. WebDriver reads and writes only those of the current document. So the
//! cookies of a page are stored when the page navigates, and to change a host-only cookie, a
//! separate window visits its host.

use std::{collections::HashMap, net::IpAddr, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use thirtyfour::common::command::Command;
use tokio::time::Instant;
use url::Url;

use super::{
    cookies,
    driver::{CommandGuard, into_engine_result},
    now,
    page::WebkitPage,
    windows::SessionWindows,
};
use crate::engine::{EngineResult, network::Cookie};

/// A path that is requested to reach a host; its response does not matter.
const PROBE_PATH: &str = "/.well-known/troupe-nowhere";
/// A window begins to navigate within this time.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);
/// Polling interval while the window starts to navigate.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct CookieJar(Mutex<KnownCookies>);

/// The cookies at the last read.
#[derive(Default)]
struct KnownCookies {
    cookies: Vec<Cookie>,
    /// By host name, a URL at which its cookies can be set.
    origins: HashMap<String, Url>,
}

impl KnownCookies {
    fn forget(&mut self, other: &Cookie) {
        self.cookies.retain(|cookie| {
            (&cookie.name, &cookie.domain, &cookie.path)
                != (&other.name, &other.domain, &other.path)
        });
    }
}

impl CookieJar {
    fn lock(&self) -> MutexGuard<'_, KnownCookies> {
        self.0.lock()
    }

    /// Replaces the cookies that are sent to `url` with `found`.
    fn read(&self, url: &Url, found: Vec<Cookie>) {
        let mut known = self.lock();
        if let (Some(host), Ok(origin)) = (url.host_str(), url.join(PROBE_PATH)) {
            known.origins.insert(host.to_owned(), origin);
        }
        known.cookies.retain(|cookie| !cookie.is_sent_to(url));
        for cookie in found {
            known.forget(&cookie);
            known.cookies.push(cookie);
        }
    }

    /// Stores a cookie that was set.
    fn put(&self, cookie: &Cookie) {
        let mut known = self.lock();
        known.forget(cookie);
        known.cookies.push(cookie.clone());
    }

    fn all(&self) -> Vec<Cookie> {
        let now = now();
        let mut known = self.lock();
        known.cookies.retain(|cookie| cookie.expires < 0.0 || cookie.expires > now);
        known.cookies.clone()
    }

    /// The URL where `cookie` can be set as host-only. An IP address has no subdomains.
    fn place(&self, cookie: &Cookie) -> Option<Url> {
        let host = &cookie.domain;
        if host.starts_with('.') || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return None;
        }
        self.lock().origins.get(host).cloned()
    }
}

impl SessionWindows {
    /// Returns the cookies of all pages at their last read.
    pub async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        let mut commands = self.commands_without_dialog().await;
        for page in self.pages() {
            self.note_cookies(&mut commands, &page).await;
        }
        Ok(self.jar.all())
    }

    /// Reads and stores the cookies of the document that `page` shows.
    pub async fn note_cookies(&self, commands: &mut CommandGuard<'_>, page: &WebkitPage) {
        let Some(url) = page.url().filter(|url| matches!(url.scheme(), "http" | "https")) else {
            return;
        };
        if page.select_main_frame(commands).await.is_err() {
            return;
        }
        // Fails while a dialog is open.
        if let Ok(answer) = commands.send(Command::GetAllCookies).await {
            self.jar.read(&url, cookies::read(answer));
        }
    }

    pub async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        let mut commands = self.commands_without_dialog().await;
        for cookie in cookies {
            let place = self.jar.place(cookie);
            let mut stored = cookies::write(cookie);
            match &place {
                Some(url) => self.visit(&mut commands, url).await?,
                None => {
                    stored.domain = Some(cookie.domain.clone());
                    let window = self.any_window(&mut commands).await?;
                    into_engine_result(commands.select_frame(&window, &[]).await)?;
                }
            }
            into_engine_result(commands.send(Command::AddCookie(stored)).await)?;
            self.jar.put(cookie);
        }
        Ok(())
    }

    /// Navigates the separate window to `url`, so that the cookie commands apply to its host.
    async fn visit(&self, commands: &mut CommandGuard<'_>, url: &Url) -> EngineResult<()> {
        let probe = self.probe(commands).await?;
        into_engine_result(commands.select_window(&probe).await)?;
        let deadline = Instant::now() + LEAVES_WITHIN;
        into_engine_result(commands.send(Command::NavigateTo(url.as_str().into())).await)?;
        while into_engine_result(commands.send(Command::GetCurrentUrl).await)? != url.as_str()
            && Instant::now() < deadline
        {
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookie(name: &str, domain: &str, path: &str) -> Cookie {
        let found = serde_json::json!({"name": name, "value": "v", "domain": domain, "path": path});
        cookies::read(serde_json::json!([found])).remove(0)
    }

    fn names(jar: &CookieJar) -> Vec<String> {
        jar.all().into_iter().map(|cookie| cookie.name).collect()
    }

    #[test]
    fn a_host_only_cookie_is_set_at_its_host() {
        let jar = CookieJar::default();
        jar.read(&"http://a:81/x".parse().unwrap(), vec![]);
        jar.read(&"http://127.0.0.1/".parse().unwrap(), vec![]);
        let place = |domain: &str| jar.place(&cookie("c", domain, "/")).map(String::from);
        assert_eq!(place("a"), Some(format!("http://a:81{PROBE_PATH}")));
        assert_eq!([place(".a"), place("b"), place("127.0.0.1")], [None, None, None]);
    }

    #[test]
    fn a_read_replaces_the_cookies_of_its_url() {
        let jar = CookieJar::default();
        let at = |url: &str| Url::parse(url).unwrap();
        jar.read(&at("http://a/"), vec![cookie("one", "a", "/"), cookie("two", "a", "/")]);
        jar.read(&at("http://b/"), vec![cookie("other", "b", "/")]);
        jar.read(
            &at("http://a/deep/"),
            vec![cookie("one", "a", "/"), cookie("deep", "a", "/deep")],
        );
        assert_eq!(names(&jar), ["other", "one", "deep"]);
        jar.read(&at("http://a/"), vec![]);
        assert_eq!(names(&jar), ["other", "deep"], "cookies that are not sent to the URL stay");
    }
}
