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
    driver::{Turn, plain},
    now,
    page::WebkitPage,
    windows::Shared,
};
use crate::engine::{EngineResult, network::Cookie};

/// A path that is requested there; the response does not matter.
const NOWHERE: &str = "/.well-known/troupe-nowhere";
/// A window begins to navigate within this time.
const LEAVES_WITHIN: Duration = Duration::from_secs(2);
/// Polling interval for that.
const PAUSE: Duration = Duration::from_millis(2);

#[derive(Default)]
pub(super) struct Jar(Mutex<Known>);

/// The cookies at the last read.
#[derive(Default)]
struct Known {
    cookies: Vec<Cookie>,
    /// By host.
    origins: HashMap<String, Url>,
}

impl Known {
    fn forget(&mut self, other: &Cookie) {
        self.cookies.retain(|cookie| {
            (&cookie.name, &cookie.domain, &cookie.path)
                != (&other.name, &other.domain, &other.path)
        });
    }
}

impl Jar {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock()
    }

    /// Takes in all that is sent to `url`.
    fn read(&self, url: &Url, told: Vec<Cookie>) {
        let mut known = self.lock();
        if let (Some(host), Ok(origin)) = (url.host_str(), url.join(NOWHERE)) {
            known.origins.insert(host.to_owned(), origin);
        }
        known.cookies.retain(|cookie| !cookie.is_sent_to(url));
        for cookie in told {
            known.forget(&cookie);
            known.cookies.push(cookie);
        }
    }

    /// One has been set.
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

impl Shared {
    /// All cookies that pages have had, as they were last seen.
    pub async fn cookies(&self) -> EngineResult<Vec<Cookie>> {
        let mut turn = self.free_turn().await;
        for page in self.pages() {
            self.note_cookies(&mut turn, &page).await;
        }
        Ok(self.jar.all())
    }

    /// Remembers the cookies of what `page` shows.
    pub async fn note_cookies(&self, turn: &mut Turn<'_>, page: &WebkitPage) {
        let Some(url) = page.url().filter(|url| matches!(url.scheme(), "http" | "https")) else {
            return;
        };
        if page.at_top(turn).await.is_err() {
            return;
        }
        // A page that waits for its dialog is not asked.
        if let Ok(answer) = turn.send(Command::GetAllCookies).await {
            self.jar.read(&url, cookies::read(answer));
        }
    }

    pub async fn set_cookies(&self, cookies: &[Cookie]) -> EngineResult<()> {
        let mut turn = self.free_turn().await;
        for cookie in cookies {
            let place = self.jar.place(cookie);
            let mut stored = cookies::write(cookie);
            match &place {
                Some(url) => self.visit(&mut turn, url).await?,
                None => {
                    stored.domain = Some(cookie.domain.clone());
                    let window = self.any_window(&mut turn).await?;
                    plain(turn.at(&window, &[]).await)?;
                }
            }
            plain(turn.send(Command::AddCookie(stored)).await)?;
            self.jar.put(cookie);
        }
        Ok(())
    }

    /// Navigates the separate window to `url`, so that the cookie commands apply to its host.
    async fn visit(&self, turn: &mut Turn<'_>, url: &Url) -> EngineResult<()> {
        let probe = self.probe(turn).await?;
        plain(turn.window(&probe).await)?;
        let deadline = Instant::now() + LEAVES_WITHIN;
        plain(turn.send(Command::NavigateTo(url.as_str().into())).await)?;
        while plain(turn.send(Command::GetCurrentUrl).await)? != url.as_str()
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
        let told = serde_json::json!({"name": name, "value": "v", "domain": domain, "path": path});
        cookies::read(serde_json::json!([told])).remove(0)
    }

    fn names(jar: &Jar) -> Vec<String> {
        jar.all().into_iter().map(|cookie| cookie.name).collect()
    }

    #[test]
    fn a_cookie_of_one_host_is_set_there() {
        let jar = Jar::default();
        jar.read(&"http://a:81/x".parse().unwrap(), vec![]);
        jar.read(&"http://127.0.0.1/".parse().unwrap(), vec![]);
        let place = |domain: &str| jar.place(&cookie("c", domain, "/")).map(String::from);
        assert_eq!(place("a"), Some(format!("http://a:81{NOWHERE}")));
        assert_eq!([place(".a"), place("b"), place("127.0.0.1")], [None, None, None]);
    }

    #[test]
    fn what_is_seen_at_a_place_is_all_that_it_has() {
        let jar = Jar::default();
        let at = |url: &str| Url::parse(url).unwrap();
        jar.read(&at("http://a/"), vec![cookie("one", "a", "/"), cookie("two", "a", "/")]);
        jar.read(&at("http://b/"), vec![cookie("other", "b", "/")]);
        jar.read(
            &at("http://a/deep/"),
            vec![cookie("one", "a", "/"), cookie("deep", "a", "/deep")],
        );
        assert_eq!(names(&jar), ["other", "one", "deep"]);
        jar.read(&at("http://a/"), vec![]);
        assert_eq!(names(&jar), ["other", "deep"], "what is not sent to a place is not told there");
    }
}
