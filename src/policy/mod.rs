//! What a client and a page may do. Knows `config` and `error`.
//!
//! `urls` and `addresses` decide which hosts are reached (as pure logic: whoever connects asks), `files` which files
//! are in reach, `redaction` and `vault` what is never written down, in whichever of its `forms`.

pub mod addresses;
pub mod files;
mod forms;
pub mod redaction;
pub mod urls;
pub mod vault;

use url::Url;

use crate::{config::Config, error::Result};

/// Refuses what a client may not navigate to.
pub fn check_navigation(config: &Config, url: &Url) -> Result<()> {
    urls::UrlRules::new(&config.security).asked(url).map_err(|rule| rule.error(url.as_str()))
}
