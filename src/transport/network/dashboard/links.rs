//! Controls access to the dashboard. A link works once, and is exchanged for a cookie.
//!
//! The secrets of both are random texts. Only their digests are stored, so that the time of a
//! lookup reveals nothing about the stored secrets.

use std::{collections::HashMap, sync::Arc, time::Duration};

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// How long a link with full access can be opened, and how long its cookie is valid.
const FULL: Lifetime =
    Lifetime { link: Duration::from_secs(600), access: Duration::from_secs(24 * 3600) };
/// The lifetime of a read-only link. Its cookie expires one hour after the creation of the link.
const READ_ONLY: Lifetime =
    Lifetime { link: Duration::from_secs(3600), access: Duration::from_secs(3600) };
/// Maximum number of unused links and of cookies. A new one replaces the one that expires first.
const MAX_GRANTS: usize = 256;

struct Lifetime {
    link: Duration,
    access: Duration,
}

/// The permissions of a link or a cookie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::transport::network) struct Access {
    pub read_only: bool,
    /// Identifies the owner when it controls a session.
    pub person: Arc<str>,
    /// The only accessible session; `None` for all.
    pub session: Option<Arc<str>>,
    /// `None` on a private socket, where access does not expire.
    pub expires_at: Option<Instant>,
}

impl Access {
    /// Returns whether this access permits all that `other` permits, for at least another hour.
    pub fn covers(&self, other: &Self) -> bool {
        let soon = Instant::now() + READ_ONLY.access;
        (other.read_only || !self.read_only)
            && (self.session.is_none() || self.session == other.session)
            && self.expires_at.is_none_or(|at| at > soon)
    }

    /// Returns whether it includes the session `id`.
    pub fn includes(&self, id: &str) -> bool {
        self.session.as_deref().is_none_or(|only| only == id)
    }
}

/// A new secret text, and when it expires.
pub(in crate::transport::network) struct Issued {
    pub secret: String,
    pub expires_at: Instant,
}

type SecretDigest = [u8; 32];

struct Grant {
    access: Access,
    expires_at: Instant,
}

/// The unused links and the cookies of a server.
#[derive(Default)]
pub(in crate::transport::network) struct AccessGrants {
    links: Mutex<HashMap<SecretDigest, Grant>>,
    cookies: Mutex<HashMap<SecretDigest, Grant>>,
}

impl AccessGrants {
    /// Creates a link.
    pub fn create_link(&self, read_only: bool, session: Option<Arc<str>>) -> Issued {
        let (now, lifetime) = (Instant::now(), if read_only { READ_ONLY } else { FULL });
        let person = uuid::Uuid::new_v4().to_string().into();
        let access = Access { read_only, person, session, expires_at: Some(now + lifetime.access) };
        issue(&self.links, access, now + lifetime.link)
    }

    /// Returns the access that a link grants. Its token works once.
    pub fn open(&self, token: &str) -> Option<Access> {
        let link = self.links.lock().remove(&digest(token))?;
        (link.expires_at > Instant::now()).then_some(link.access)
    }

    /// Creates a cookie.
    pub fn create_cookie(&self, access: Access) -> Issued {
        let expires_at = access.expires_at.unwrap_or_else(Instant::now);
        issue(&self.cookies, access, expires_at)
    }

    /// Returns the access of a cookie.
    pub fn access(&self, cookie: &str) -> Option<Access> {
        let cookies = self.cookies.lock();
        let grant = cookies.get(&digest(cookie))?;
        (grant.expires_at > Instant::now()).then(|| grant.access.clone())
    }
}

fn issue(
    grants: &Mutex<HashMap<SecretDigest, Grant>>,
    access: Access,
    expires_at: Instant,
) -> Issued {
    let random = || uuid::Uuid::new_v4().simple().to_string();
    let secret = format!("{}{}", random(), random());
    let mut grants = grants.lock();
    let now = Instant::now();
    grants.retain(|_, grant| grant.expires_at > now);
    if grants.len() >= MAX_GRANTS {
        let first = grants.iter().min_by_key(|(_, grant)| grant.expires_at).map(|(key, _)| *key);
        first.map(|first| grants.remove(&first));
    }
    grants.insert(digest(&secret), Grant { access, expires_at });
    Issued { secret, expires_at }
}

fn digest(secret: &str) -> SecretDigest {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl AccessGrants {
        fn redeem(&self, token: &str) -> Option<Issued> {
            self.open(token).map(|access| self.create_cookie(access))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_works_once_and_only_for_ten_minutes() {
        let grants = AccessGrants::default();
        let link = grants.create_link(false, None).secret;
        assert!(grants.access(&link).is_none(), "a link is not a cookie");
        let cookie = grants.redeem(&link).unwrap().secret;
        assert!(grants.access(&cookie).is_some_and(|access| !access.read_only));
        assert!(grants.redeem(&link).is_none() && grants.redeem(&cookie).is_none());
        let late = grants.create_link(false, None).secret;
        tokio::time::advance(Duration::from_secs(601)).await;
        assert!(grants.redeem(&late).is_none());
        assert!(grants.access(&cookie).is_some());
        tokio::time::advance(Duration::from_secs(24 * 3600)).await;
        assert!(grants.access(&cookie).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_only_link_shows_one_session_until_an_hour_after_its_creation() {
        let grants = AccessGrants::default();
        let link = grants.create_link(true, Some("one".into())).secret;
        tokio::time::advance(Duration::from_secs(3000)).await;
        let cookie = grants.redeem(&link).unwrap().secret;
        let access = grants.access(&cookie).unwrap();
        assert!(access.read_only && access.includes("one") && !access.includes("two"));
        tokio::time::advance(Duration::from_secs(601)).await;
        assert!(grants.access(&cookie).is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn links_are_limited_in_number() {
        let grants = AccessGrants::default();
        let first = grants.create_link(false, None).secret;
        for _ in 0..MAX_GRANTS {
            tokio::time::advance(Duration::from_millis(1)).await;
            grants.create_link(false, None);
        }
        assert!(grants.redeem(&first).is_none());
        assert_eq!(grants.links.lock().len(), MAX_GRANTS);
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_keeps_the_access_that_includes_a_new_link() {
        let grants = AccessGrants::default();
        let access = |read_only, session: Option<&str>| {
            let link = grants.create_link(read_only, session.map(Into::into)).secret;
            grants.open(&link).unwrap()
        };
        let (all, one) = (access(false, None), access(false, Some("one")));
        assert!(all.covers(&one) && all.covers(&access(true, None)));
        assert!(one.covers(&access(true, Some("one"))));
        assert!(!one.covers(&all) && !one.covers(&access(false, Some("two"))));
        assert!(!access(true, None).covers(&one));
        tokio::time::advance(FULL.access - READ_ONLY.access).await;
        assert!(!all.covers(&one), "it ends soon");
    }
}
