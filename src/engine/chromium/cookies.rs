//! Reads and sets the cookies of a context.

use chromiumoxide::cdp::browser_protocol::{
    browser::BrowserContextId,
    network::{CookieParam, CookiePartitionKey, TimeSinceEpoch},
    storage::{GetCookiesParams, SetCookiesParams},
};
use serde::Deserialize;

use super::session::CdpSession;
use crate::engine::{
    EngineResult,
    network::{Cookie, SameSite},
};

#[derive(Deserialize)]
struct CdpCookies {
    cookies: Vec<CdpCookie>,
}

/// A cookie in CDP. Unlike in [`Cookie`], `expires` is optional, and session cookies may have one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CdpCookie {
    name: String,
    value: String,
    domain: String,
    path: String,
    expires: Option<f64>,
    #[serde(default)]
    session: bool,
    http_only: bool,
    secure: bool,
    same_site: Option<String>,
    partition_key: Option<CookiePartitionKey>,
}

impl From<CdpCookie> for Cookie {
    fn from(stored: CdpCookie) -> Self {
        Self {
            name: stored.name,
            value: stored.value,
            domain: stored.domain,
            path: stored.path,
            expires: stored.expires.filter(|_| !stored.session).unwrap_or(-1.0),
            http_only: stored.http_only,
            secure: stored.secure,
            same_site: stored.same_site.as_deref().and_then(SameSite::named),
            has_cross_site_ancestor: stored
                .partition_key
                .as_ref()
                .map(|key| key.has_cross_site_ancestor),
            partition_key: stored.partition_key.map(|key| key.top_level_site),
        }
    }
}

pub(super) async fn get(
    browser: &CdpSession,
    context: Option<BrowserContextId>,
) -> EngineResult<Vec<Cookie>> {
    let stored: CdpCookies =
        browser.execute(GetCookiesParams { browser_context_id: context }).await?;
    Ok(stored.cookies.into_iter().map(Into::into).collect())
}

pub(super) async fn set(
    browser: &CdpSession,
    context: Option<BrowserContextId>,
    cookies: &[Cookie],
) -> EngineResult<()> {
    let cookies = cookies.iter().map(|cookie| {
        let mut param = CookieParam::new(&cookie.name, &cookie.value);
        param.domain = Some(cookie.domain.clone());
        param.path = Some(cookie.path.clone());
        param.secure = Some(cookie.secure);
        param.http_only = Some(cookie.http_only);
        param.expires = (cookie.expires >= 0.0).then(|| TimeSinceEpoch::new(cookie.expires));
        param.same_site = cookie.same_site.and_then(|same_site| same_site.as_str().parse().ok());
        param.partition_key = cookie.partition_key.as_ref().map(|site| {
            // Playwright's default.
            CookiePartitionKey::new(site, cookie.has_cross_site_ancestor.unwrap_or(true))
        });
        param
    });
    let mut params = SetCookiesParams::new(cookies.collect());
    params.browser_context_id = context;
    browser.run(params).await
}
