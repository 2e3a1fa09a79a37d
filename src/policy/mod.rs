//! What a client and a page may do. Knows `config` and `error`.
//!
//! So far: which URLs a client may navigate to, (`files`) which files are in reach, and (`redaction`) what is never
//! written down. The rules for what
//! pages themselves request come with the safety part of the product; until then the configuration says that
//! they are not held.

pub mod files;
pub mod redaction;

use url::Url;

use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// Schemes that reach into the machine or the browser itself.
const REFUSED: &[&str] = &["file", "view-source", "chrome", "devtools", "javascript"];

/// Refuses what a client may not navigate to.
pub fn check_navigation(config: &Config, url: &Url) -> Result<()> {
    let scheme = url.scheme();
    if !REFUSED.contains(&scheme) || (scheme == "file" && config.security.allow_file_access) {
        return Ok(());
    }
    let error =
        TroupeError::new(ErrorCode::BlockedByPolicy, format!("`{scheme}:` URLs are not allowed: `{url}`"))
            .detail("rule", format!("scheme:{scheme}"))
            .detail("url", url.as_str());
    Err(match scheme {
        "file" => error.suggestion("start the server with --allow-file-access, or serve the file over HTTP"),
        "javascript" => error.suggestion("run scripts with evaluate"),
        _ => error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str) -> Option<ErrorCode> {
        check_navigation(&Config::default(), &Url::parse(url).unwrap()).err().map(|error| error.code)
    }

    #[test]
    fn schemes_that_reach_into_the_machine_are_refused() {
        for url in
            ["file:///etc/passwd", "FILE:///x", "view-source:http://a/", "chrome://version", "javascript:1"]
        {
            assert_eq!(check(url), Some(ErrorCode::BlockedByPolicy), "{url}");
        }
        for url in ["http://a/", "https://a/", "data:text/html,x", "about:blank", "blob:http://a/1"] {
            assert_eq!(check(url), None, "{url}");
        }
    }

    #[test]
    fn files_can_be_allowed() {
        let mut config = Config::default();
        config.security.allow_file_access = true;
        assert!(check_navigation(&config, &Url::parse("file:///tmp/a.html").unwrap()).is_ok());
    }
}
