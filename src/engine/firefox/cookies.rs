//! Cookies of a user context.

use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Bidi;
use crate::engine::{
    EngineResult,
    network::{Cookie, SameSite},
};

#[derive(Deserialize)]
struct CookieList {
    cookies: Vec<BidiCookie>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BidiCookie {
    name: String,
    value: CookieValue,
    domain: String,
    path: String,
    expiry: Option<f64>,
    http_only: bool,
    secure: bool,
    same_site: Option<String>,
}

/// A string, or base64 if it is not valid UTF-8.
#[derive(Deserialize)]
struct CookieValue {
    value: String,
}

impl From<BidiCookie> for Cookie {
    fn from(stored: BidiCookie) -> Self {
        Self {
            name: stored.name,
            value: stored.value.value,
            domain: stored.domain,
            path: stored.path,
            expires: stored.expiry.unwrap_or(-1.0),
            http_only: stored.http_only,
            secure: stored.secure,
            same_site: stored.same_site.as_deref().and_then(SameSite::named),
            // BiDi returns unpartitioned cookies only.
            partition_key: None,
            has_cross_site_ancestor: None,
        }
    }
}

fn partition(user_context: &str) -> Value {
    json!({"type": "storageKey", "userContext": user_context})
}

pub(super) async fn get(bidi: &Bidi, user_context: &str) -> EngineResult<Vec<Cookie>> {
    let stored: CookieList =
        bidi.call("storage.getCookies", json!({"partition": partition(user_context)})).await?;
    Ok(stored.cookies.into_iter().map(Into::into).collect())
}

pub(super) async fn set(bidi: &Bidi, user_context: &str, cookies: &[Cookie]) -> EngineResult<()> {
    let mut sent = Vec::with_capacity(cookies.len());
    for cookie in cookies {
        let mut param = json!({
            "name": cookie.name,
            "value": {"type": "string", "value": cookie.value},
            "domain": cookie.domain,
            "path": cookie.path,
            "httpOnly": cookie.http_only,
            "secure": cookie.secure,
        });
        if cookie.expires >= 0.0 {
            param["expiry"] = json!(cookie.expires.round());
        }
        if let Some(same_site) = cookie.same_site {
            param["sameSite"] = same_site.as_str().to_ascii_lowercase().into();
        }
        sent.push(bidi.post(
            "storage.setCookie",
            json!({"cookie": param, "partition": partition(user_context)}),
        )?);
    }
    for answer in join_all(sent.into_iter().map(crate::engine::connection::PendingCall::raw)).await
    {
        answer.map_err(super::convert_error)?;
    }
    Ok(())
}
