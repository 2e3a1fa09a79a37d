//! `troupe dashboard`: creates a link of the dashboard of a running server.

use std::time::Duration;

use axum::http::{StatusCode, header};
use serde_json::{Value, json};
use url::Url;

use super::link::is_loopback;
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError, with_causes},
    transport::Token,
};

/// Timeout for the whole request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The paths of the server that a URL may contain.
const PATHS: [&str; 3] = ["/mcp", "/ws", "/dashboard"];

/// The link to create.
#[derive(Debug, Clone, Default)]
pub struct DashboardLink {
    /// The URL of the server.
    pub url: String,
    /// Whether the link changes nothing.
    pub read_only: bool,
    /// The only session that it shows.
    pub session: Option<String>,
}

/// Creates a link, and returns its URL.
pub async fn create_dashboard_link(config: &Config, link: &DashboardLink) -> Result<String> {
    let given = &link.url;
    let invalid = |why: &str| {
        TroupeError::new(ErrorCode::InvalidParameters, format!("`--url {given}`: {why}"))
    };
    let mut url = Url::parse(given).map_err(|error| invalid(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid("the URL must begin with http: or https:"));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    let base = PATHS.iter().find_map(|end| path.strip_suffix(end)).unwrap_or(&path);
    url.set_path(&format!("{base}/dashboard/links"));
    let token = match Token::configured(config).await? {
        Some(token) => Some(token),
        None if is_loopback(&url) => Token::of_this_user().await,
        None => None,
    };
    let Some(authorization) = token.as_ref().and_then(Token::header) else {
        return Err(TroupeError::new(
            ErrorCode::InvalidParameters,
            format!("the token of the server at {given} is not known"),
        )
        .suggestion("pass it with --auth-token-file, or start the server first"));
    };
    let failed = |why: String| {
        TroupeError::new(
            ErrorCode::ServerUnavailable,
            format!("the server at {given} created no link: {why}"),
        )
        .suggestion("start a server with `troupe --transport http`, or pass its URL with --url")
    };
    // Fails if it is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // A redirect could pass the token to another host.
    let redirects = reqwest::redirect::Policy::none();
    let client = reqwest::Client::builder().no_proxy().redirect(redirects).timeout(TIMEOUT);
    let client = client.build().map_err(|error| failed(error.to_string()))?;
    let body = json!({"readOnly": link.read_only, "session": link.session}).to_string();
    let request = client.post(url.clone()).header(header::AUTHORIZATION, authorization).body(body);
    let response = request.send().await.map_err(|error| failed(with_causes(&error)))?;
    let status = response.status();
    let body = response.bytes().await.map_err(|error| failed(with_causes(&error)))?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    match body["path"].as_str().filter(|_| status.is_success()) {
        Some(path) => Ok(url.join(path).map_err(|error| failed(error.to_string()))?.to_string()),
        None if status == StatusCode::UNAUTHORIZED => {
            Err(failed("it rejected the token".to_owned())
                .suggestion("pass the token of the server with --auth-token-file"))
        }
        None => {
            let message = body["error"]["message"].as_str();
            Err(failed(message.map_or_else(|| format!("HTTP status {status}"), str::to_owned)))
        }
    }
}
