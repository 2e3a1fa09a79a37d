//! Reads and writes cookies over WebDriver, which has only the cookies of the current document.

use serde_json::Value;
use thirtyfour::{Cookie as DriverCookie, SameSite as DriverSameSite};

use crate::engine::network::{Cookie, SameSite};

/// Parses the driver's list of cookies.
pub(super) fn from_driver(answer: Value) -> Vec<Cookie> {
    let stored: Vec<DriverCookie> = serde_json::from_value(answer).unwrap_or_default();
    let cookie = |stored: DriverCookie| Cookie {
        name: stored.name,
        value: stored.value,
        domain: stored.domain.unwrap_or_default(),
        path: stored.path.unwrap_or_else(|| "/".to_owned()),
        expires: stored.expiry.map_or(-1.0, without_overflow),
        http_only: stored.http_only.unwrap_or_default(),
        secure: stored.secure.unwrap_or_default(),
        same_site: match stored.same_site {
            Some(DriverSameSite::Strict) => Some(SameSite::Strict),
            Some(DriverSameSite::Lax) => Some(SameSite::Lax),
            Some(DriverSameSite::None) if stored.secure == Some(true) => Some(SameSite::None),
            // The driver reports the same value for cookies that were set without the attribute.
            Some(DriverSameSite::None | DriverSameSite::Default) | None => None,
        },
        partition_key: None,
        has_cross_site_ancestor: None,
    };
    stored.into_iter().map(cookie).collect()
}

/// Converts the driver's expiry into seconds since 1970. The driver reports times after January
/// 2038 as negative 32-bit numbers.
fn without_overflow(expiry: i64) -> f64 {
    let correction = if expiry < 0 { 1_i64 << 32 } else { 0 };
    (expiry + correction) as f64
}

/// Converts a cookie into the driver's form.
pub(super) fn to_driver(cookie: &Cookie) -> DriverCookie {
    let mut stored = DriverCookie::new(cookie.name.clone(), cookie.value.clone());
    // Without a domain, the driver uses the current host.
    stored.domain = cookie.domain.starts_with('.').then(|| cookie.domain.clone());
    stored.path = Some(cookie.path.clone());
    stored.http_only = Some(cookie.http_only);
    stored.secure = Some(cookie.secure);
    stored.expiry = (cookie.expires >= 0.0).then_some(cookie.expires.round() as i64);
    stored.same_site = cookie.same_site.map(|same_site| match same_site {
        SameSite::Strict => DriverSameSite::Strict,
        SameSite::Lax => DriverSameSite::Lax,
        SameSite::None => DriverSameSite::None,
    });
    stored
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_after_january_2038_is_reported_as_it_was_set() {
        for (reported, expires) in
            [(2_147_483_600_i64, 2_147_483_600.0), (-294_967_296, 4_000_000_000.0)]
        {
            let answer = serde_json::json!([{ "name": "a", "value": "1", "expiry": reported }]);
            assert_eq!(from_driver(answer)[0].expires, expires);
        }
    }
}
