//! The known cookies of a session.

use std::{collections::HashMap, net::IpAddr};

use parking_lot::{Mutex, MutexGuard};
use url::Url;

use super::now;
use crate::engine::network::Cookie;

/// The path that the separate window requests to visit a host. Its response does not matter.
const PROBE_PATH: &str = "/.well-known/troupe-nowhere";

#[derive(Default)]
pub(super) struct CookieJar(Mutex<CookieTable>);

/// The cookies at the last read.
#[derive(Default)]
struct CookieTable {
    cookies: Vec<Cookie>,
    /// Maps a host name to a URL at which cookies of the host can be set.
    origins: HashMap<String, Url>,
}

impl CookieTable {
    fn forget(&mut self, other: &Cookie) {
        self.cookies.retain(|cookie| {
            (&cookie.name, &cookie.domain, &cookie.path)
                != (&other.name, &other.domain, &other.path)
        });
    }
}

impl CookieJar {
    fn lock(&self) -> MutexGuard<'_, CookieTable> {
        self.0.lock()
    }

    /// Replaces the cookies that are sent to `url` with `found`.
    pub fn replace_cookies(&self, url: &Url, found: Vec<Cookie>) {
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
    pub fn put(&self, cookie: &Cookie) {
        let mut known = self.lock();
        known.forget(cookie);
        known.cookies.push(cookie.clone());
    }

    pub fn all(&self) -> Vec<Cookie> {
        let now = now();
        let mut known = self.lock();
        known.cookies.retain(|cookie| cookie.expires < 0.0 || cookie.expires > now);
        known.cookies.clone()
    }

    /// Returns the URL where `cookie` can be set as host-only. An IP address has no subdomains.
    pub fn host_only_url(&self, cookie: &Cookie) -> Option<Url> {
        let host = &cookie.domain;
        if host.starts_with('.') || host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() {
            return None;
        }
        self.lock().origins.get(host).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::cookies, *};

    fn cookie(name: &str, domain: &str, path: &str) -> Cookie {
        let found = serde_json::json!({"name": name, "value": "v", "domain": domain, "path": path});
        cookies::from_driver(serde_json::json!([found])).remove(0)
    }

    fn names(jar: &CookieJar) -> Vec<String> {
        jar.all().into_iter().map(|cookie| cookie.name).collect()
    }

    #[test]
    fn a_host_only_cookie_is_set_at_its_host() {
        let jar = CookieJar::default();
        jar.replace_cookies(&"http://a:81/x".parse().unwrap(), vec![]);
        jar.replace_cookies(&"http://127.0.0.1/".parse().unwrap(), vec![]);
        let url = |domain: &str| jar.host_only_url(&cookie("c", domain, "/")).map(String::from);
        assert_eq!(url("a"), Some(format!("http://a:81{PROBE_PATH}")));
        assert_eq!([url(".a"), url("b"), url("127.0.0.1")], [None, None, None]);
    }

    #[test]
    fn a_read_replaces_the_cookies_of_its_url() {
        let jar = CookieJar::default();
        let at = |url: &str| Url::parse(url).unwrap();
        jar.replace_cookies(
            &at("http://a/"),
            vec![cookie("one", "a", "/"), cookie("two", "a", "/")],
        );
        jar.replace_cookies(&at("http://b/"), vec![cookie("other", "b", "/")]);
        jar.replace_cookies(
            &at("http://a/deep/"),
            vec![cookie("one", "a", "/"), cookie("deep", "a", "/deep")],
        );
        assert_eq!(names(&jar), ["other", "one", "deep"]);
        jar.replace_cookies(&at("http://a/"), vec![]);
        assert_eq!(names(&jar), ["other", "deep"], "cookies that are not sent to the URL stay");
    }
}
