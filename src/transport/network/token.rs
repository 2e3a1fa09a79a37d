//! The token that clients send.

use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;

use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// A secret that clients share with the server.
pub(in crate::transport) struct Token(Vec<u8>);

impl Token {
    /// The one that the configuration holds or names the file of.
    pub async fn configured(config: &Config) -> Result<Option<Self>> {
        let text = match (&config.auth_token, &config.auth_token_file) {
            (Some(token), _) => token.0.clone(),
            (None, Some(path)) => {
                let read = tokio::fs::read_to_string(path).await;
                read.map_err(|error| wrong(format!("`{}` cannot be read: {error}", path.display())))?
            }
            (None, None) => return Ok(None),
        };
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("the token must be of visible ASCII characters".to_owned()));
        }
        Ok(Some(Self(token.as_bytes().to_vec())))
    }

    /// As a client sends it.
    pub fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_bytes(&[b"Bearer ", &*self.0].concat()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Whether a request carries it. How long the comparison takes does not tell how much of it was right.
    pub fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(given) = headers.get(header::AUTHORIZATION) else { return false };
        let (scheme, token) = given.as_bytes().split_at(given.len().min("Bearer ".len()));
        scheme.eq_ignore_ascii_case(b"Bearer ") && bool::from(token.trim_ascii().ct_eq(&self.0))
    }
}

fn wrong(message: String) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_very_token_is_taken() {
        let token = Token(b"right".to_vec());
        let sends = |value: &'static str| {
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            token.is_in(&headers)
        };
        assert!(sends("Bearer right") && sends("bearer right"));
        for wrong in ["Bearer righ", "Bearer rightx", "Bearer", "Bearer ", "", "right", "Basic right"] {
            assert!(!sends(wrong), "{wrong}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }
}
