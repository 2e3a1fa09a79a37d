//! The rules for clients and pages.
//!
//! `urls` and `addresses` decide which hosts are reachable (as pure logic; the code that connects
//! calls them), `files` which files are accessible. `redaction` and `vault` mask values that must
//! not be written, in each of their `encodings`.

pub mod addresses;
mod encodings;
pub mod files;
mod masking;
pub mod redaction;
pub mod urls;
pub mod vault;

use url::Url;

use crate::{config::Config, error::Result};

/// Rejects URLs that a client may not navigate to.
pub fn check_navigation(config: &Config, url: &Url) -> Result<()> {
    urls::UrlRules::new(&config.security).check(url).map_err(|rule| rule.error(url.as_str()))
}
