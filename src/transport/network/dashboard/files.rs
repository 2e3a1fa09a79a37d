//! The files of the page, which the build embeds from `lib/dashboard`.

use axum::{
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};

use super::routes::failure;

/// The path of each file, and its content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/dashboard_files.rs"));

/// What the page may load: only files of the server, and images that its script creates.
pub(super) const CONTENT_SECURITY_POLICY: (HeaderName, &str) = (
    header::CONTENT_SECURITY_POLICY,
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

/// Responds with the file at `path`; the empty path is the page.
pub(super) fn file(path: &str) -> Response {
    let path = if path.is_empty() { "index.html" } else { path };
    let Some((name, content)) = FILES.iter().find(|(name, _)| *name == path) else {
        return failure(
            StatusCode::NOT_FOUND,
            "NOT_FOUND",
            "the dashboard has no such file",
            "open `/dashboard/`",
        );
    };
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    let kind = match kind.type_() {
        mime_guess::mime::TEXT => format!("{kind}; charset=utf-8"),
        _ => kind.to_string(),
    };
    // The names of these files contain a hash of their content.
    let caching = if name.starts_with("assets/") {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, caching.to_owned())];
    (headers, [CONTENT_SECURITY_POLICY], *content).into_response()
}
