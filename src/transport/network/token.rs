//! The token that clients send.
//!
//! The JSON API always wants one. Where none is configured, it is in a file that only the user of the server can read,
//! the same for all servers of that user.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::Path,
};

use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;

use crate::{
    config::{Config, state_folder},
    error::{ErrorCode, Result, TroupeError},
};

/// Where a token is put that was not configured.
const FILE: &str = "api-token";

/// A secret that clients share with the server.
#[derive(Clone)]
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
        Self::read(&text).map(Some)
    }

    fn read(text: &str) -> Result<Self> {
        let token = text.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("the token must be of visible ASCII characters".to_owned()));
        }
        Ok(Self(token.as_bytes().to_vec()))
    }

    /// The one of this user's file, which is made where there is none yet. Without it nobody can use the JSON API.
    pub fn made() -> Option<Self> {
        let Some(folder) = state_folder() else {
            tracing::warn!(
                "the JSON API is closed: there is no folder for its token; --auth-token-file names one"
            );
            return None;
        };
        let path = folder.join(FILE);
        let made = made_at(&path).map_err(|error| error.to_string());
        match made.and_then(|text| Self::read(&text).map_err(|error| error.message)) {
            Ok(token) => {
                tracing::info!("the JSON API at /api takes the token in {}", path.display());
                Some(token)
            }
            Err(error) => {
                let path = path.display();
                tracing::warn!("the JSON API is closed: its token in `{path}` cannot be had: {error}");
                None
            }
        }
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

/// What is in the file at `path`, which only its owner can read.
fn made_at(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => {
            owned(path)?;
            return read;
        }
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let random = || uuid::Uuid::new_v4().simple().to_string();
    let draft = path.with_extension(random());
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&draft)?.write_all(format!("{}{}\n", random(), random()).as_bytes())?;
    // Whole or not at all; another server may have been quicker, and then its token is the one.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::read_to_string(path),
    }
}

/// Takes from others what they may do with the file.
fn owned(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

fn wrong(message: String) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_made_token_stays_and_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("troupe-token-{}", uuid::Uuid::new_v4()));
        let path = folder.join("state").join(FILE);
        let made: Vec<String> = (0..2).map(|_| made_at(&path).unwrap()).collect();
        assert!(made[0].trim().len() == 64 && made[0] == made[1]);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        made_at(&path).unwrap();
        assert_eq!(mode(), 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(folder).unwrap();
    }

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
