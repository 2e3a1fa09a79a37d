//! The token that clients send, and the file that contains it.
//!
//! Without a configured token, the server creates one in a file that only its user can read. All
//! servers of that user share the file, and `--connect` and `troupe config` read it.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use axum::http::{HeaderMap, HeaderValue, header};
use subtle::ConstantTimeEq;

use crate::{
    config::{Config, state_folder},
    error::{ErrorCode, Result, TroupeError},
    private,
};

/// Name of the token file in the state directory.
const FILE: &str = "auth-token";

/// A secret that clients share with the server.
#[derive(Clone)]
pub struct Token {
    text: String,
    /// The file that contains it, unless the configuration itself does.
    file: Option<PathBuf>,
}

impl Token {
    /// Reads the token of `--auth-token` or `--auth-token-file`.
    pub(super) async fn configured(config: &Config) -> Result<Option<Self>> {
        let (text, file) = match (&config.auth_token, &config.auth_token_file) {
            (Some(token), _) => (token.0.clone(), None),
            (None, Some(path)) => {
                let read = tokio::fs::read_to_string(path).await;
                let text = read.map_err(|error| {
                    wrong(format!("`{}` cannot be read: {error}", path.display()))
                })?;
                (text, Some(path.clone()))
            }
            (None, None) => return Ok(None),
        };
        Self::parse(&text, file).map(Some)
    }

    /// Returns the token that clients of a server with this configuration send: the configured one,
    /// or that of the user's token file, which is created if it does not exist.
    pub async fn of_server(config: &Config) -> Result<Self> {
        if let Some(token) = Self::configured(config).await? {
            return Ok(token);
        }
        let unavailable = |why: String| {
            wrong(format!("no token file can be used: {why}")).suggestion(
                "pass a file with --auth-token-file, or accept local clients without a token with --no-auth",
            )
        };
        let path =
            path().ok_or_else(|| unavailable("this user has no state directory".to_owned()))?;
        let created = {
            let path = path.clone();
            tokio::task::spawn_blocking(move || read_or_create(&path)).await
        };
        let text = created
            .map_err(io::Error::from)
            .flatten()
            .map_err(|error| unavailable(format!("`{}`: {error}", path.display())))?;
        Self::parse(&text, Some(path))
    }

    /// Reads the user's token file, if it exists. For clients on the server's machine.
    pub(super) async fn of_this_user() -> Option<Self> {
        let path = path()?;
        let text = tokio::fs::read_to_string(&path).await.ok()?;
        Self::parse(&text, Some(path)).ok()
    }

    fn parse(text: &str, file: Option<PathBuf>) -> Result<Self> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong("the token must consist of visible ASCII characters".to_owned()));
        }
        Ok(Self { text: text.to_owned(), file })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Returns the value of the `Authorization` header.
    pub(super) fn header(&self) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("Bearer {}", self.text)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// Returns whether a request carries the token. The comparison takes constant time.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        let Some(given) = headers.get(header::AUTHORIZATION) else { return false };
        let (scheme, token) = given.as_bytes().split_at(given.len().min("Bearer ".len()));
        scheme.eq_ignore_ascii_case(b"Bearer ")
            && bool::from(token.trim_ascii().ct_eq(self.text.as_bytes()))
    }
}

/// Path of the token file of this user; `None` without a home directory.
fn path() -> Option<PathBuf> {
    Some(state_folder()?.join(FILE))
}

/// Reads the file at `path`, and creates it with a random token if it does not exist.
fn read_or_create(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        read => {
            private::restrict(path)?;
            return read;
        }
    }
    fs::create_dir_all(path.parent().unwrap_or(path))?;
    let random = || uuid::Uuid::new_v4().simple().to_string();
    let draft = path.with_extension(random());
    let mut file = private::create_file(&draft)?;
    file.write_all(format!("{}{}\n", random(), random()).as_bytes())?;
    // The link appears with its whole content. If another server was faster, its file is used.
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => fs::read_to_string(path),
    }
}

fn wrong(message: String) -> TroupeError {
    TroupeError::new(ErrorCode::InvalidParameters, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_created_token_persists_and_only_its_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("troupe-token-{}", uuid::Uuid::new_v4()));
        let path = folder.join("state").join(FILE);
        let made: Vec<String> = (0..2).map(|_| read_or_create(&path).unwrap()).collect();
        assert!(made[0].trim().len() == 64 && made[0] == made[1]);
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        read_or_create(&path).unwrap();
        assert_eq!(mode(), 0o600);
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no draft is left");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let token = Token::parse("right", None).unwrap();
        let sends = |value: &'static str| {
            let headers =
                HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
            token.is_in(&headers)
        };
        assert!(sends("Bearer right") && sends("bearer right"));
        for wrong in
            ["Bearer righ", "Bearer rightx", "Bearer", "Bearer ", "", "right", "Basic right"]
        {
            assert!(!sends(wrong), "{wrong}");
        }
        assert!(!token.is_in(&HeaderMap::new()));
    }
}
