//! The user name and password of a proxy.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::percent_decode_str;
use url::Url;

/// User name and password of a proxy, percent-decoded. Both have at most 255 bytes, as in SOCKS 5.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Credentials {
    pub user: Vec<u8>,
    pub password: Vec<u8>,
}

impl Credentials {
    /// Reads the credentials in `url`, if it has any. Fails if one is too long.
    pub fn from_url(url: &Url) -> Result<Option<Self>, ()> {
        if url.username().is_empty() && url.password().is_none() {
            return Ok(None);
        }
        let part = |text| percent_decode_str(text).collect::<Vec<u8>>();
        let (user, password) = (part(url.username()), part(url.password().unwrap_or_default()));
        if user.len().max(password.len()) > 255 {
            return Err(());
        }
        Ok(Some(Self { user, password }))
    }

    /// Returns the value of `Proxy-Authorization`.
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode([&*self.user, b":", &*self.password].concat()))
    }
}
