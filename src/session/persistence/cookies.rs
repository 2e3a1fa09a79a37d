//! Cookies in the parameters of calls, and the check that browsers accept them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::{
    engine::network::{Cookie, SameSite},
    error::{ErrorCode, Result, TroupeError},
    page::normalize_url,
};

/// A cookie in the format of Playwright.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct CookieParameter {
    name: String,
    value: String,
    url: Option<String>,
    domain: Option<String>,
    path: Option<String>,
    /// s since 1970
    expires: Option<f64>,
    http_only: Option<bool>,
    secure: Option<bool>,
    same_site: Option<SameSite>,
    /// The top-level site of a partitioned cookie
    partition_key: Option<String>,
    #[serde(rename = "_crHasCrossSiteAncestor")]
    has_cross_site_ancestor: Option<bool>,
}

impl CookieParameter {
    /// Checks a list of cookies. Errors name the index of the cookie.
    pub fn check_all(given: Vec<Self>) -> Result<Vec<Cookie>> {
        given.into_iter().enumerate().map(|(at, given)| given.check(at)).collect()
    }

    /// Checks the cookies of a storage state, which a browser wrote.
    pub fn check_saved(given: Vec<Self>) -> Result<Vec<Cookie>> {
        // Firefox reports `None` for a cookie without the attribute. Other browsers reject `None`
        // without `secure`.
        let without_default = |cookie: Self| match (cookie.same_site, cookie.secure) {
            (Some(SameSite::None), None | Some(false)) => Self { same_site: None, ..cookie },
            _ => cookie,
        };
        Self::check_all(given.into_iter().map(without_default).collect())
    }

    /// Checks the cookie at index `at` of a list.
    fn check(self, at: usize) -> Result<Cookie> {
        let given = self;
        let name = given.name;
        let wrong = |field: &str, problem: String| {
            let parameter = format!("cookies[{at}]{field}");
            TroupeError::new(ErrorCode::InvalidParameters, format!("cookie `{name}`: {problem}"))
                .detail("violations", json!([{"parameter": parameter, "problem": problem}]))
        };
        if name.is_empty() && given.value.is_empty() {
            return Err(wrong(".name", "it has neither a name nor a value".to_owned()));
        }
        // Tabs are allowed in values.
        let is_control = |character: char| character.is_control() && character != '\t';
        if name.contains(['=', ';', '\t']) || name.contains(is_control) {
            let problem = "its name must not contain `=`, `;` or control characters";
            return Err(wrong(".name", problem.to_owned()));
        }
        if given.value.contains(is_control) {
            return Err(wrong(
                ".value",
                "its value must not contain control characters".to_owned(),
            ));
        }
        let expires = given.expires.unwrap_or(-1.0);
        let (domain, path, of_https) = match (given.url, given.domain) {
            (Some(_), Some(_)) => {
                return Err(wrong("", "it has both a `url` and a `domain`".to_owned())
                    .suggestion(format!("pass either `url` or `domain` for the cookie `{name}`")));
            }
            (None, None) => {
                return Err(wrong("", "it needs a `url` or a `domain`".to_owned())
                    .detail("reason", "MISSING_PARAMETER")
                    .suggestion(format!(
                        "pass `url` for the cookie `{name}`: the URL of a page that should get it"
                    )));
            }
            (None, Some(domain)) if domain.trim_matches('.').is_empty() => {
                return Err(wrong(".domain", "its `domain` is empty".to_owned()));
            }
            (None, Some(domain)) => (domain, "/".to_owned(), false),
            (Some(url), None) => {
                let url = normalize_url(&url)?;
                let Some(host) = url.host_str().filter(|_| url.scheme().starts_with("http")) else {
                    return Err(wrong(".url", format!("`{url}` cannot have cookies")).suggestion(
                        format!("pass an http or https `url` for the cookie `{name}`"),
                    ));
                };
                let path = url.path().rsplit_once('/').map_or("", |(path, _)| path);
                (host.to_owned(), format!("{path}/"), url.scheme() == "https")
            }
        };
        let path = given.path.unwrap_or(path);
        if !path.starts_with('/') {
            return Err(wrong(".path", format!("its `path` must begin with `/`, not be `{path}`")));
        }
        if given.same_site == Some(SameSite::None) && !given.secure.unwrap_or(of_https) {
            return Err(wrong(".sameSite", "with `sameSite: None` it must be `secure`".to_owned()));
        }
        Ok(Cookie {
            value: given.value,
            domain,
            path,
            expires,
            http_only: given.http_only.unwrap_or(false),
            secure: given.secure.unwrap_or(of_https),
            same_site: given.same_site,
            partition_key: given.partition_key,
            has_cross_site_ancestor: given.has_cross_site_ancestor,
            name,
        })
    }
}
