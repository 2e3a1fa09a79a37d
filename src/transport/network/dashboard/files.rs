//! The files of the page, which the build embeds from `lib/dashboard`.

use axum::{
    http::{HeaderName, header},
    response::{IntoResponse, Response},
};

/// The path of each file, and its content.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/dashboard_files.rs"));

/// Allows the page to load only files of the server, and images that its script creates.
pub(super) const CONTENT_SECURITY_POLICY: (HeaderName, &str) = (
    header::CONTENT_SECURITY_POLICY,
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'",
);

/// Returns the file at `path`, or the page for the empty path. `None` if there is no such file.
pub(super) fn file(path: &str) -> Option<Response> {
    let path = if path.is_empty() { "index.html" } else { path };
    let (name, content) = FILES.iter().find(|(name, _)| *name == path)?;
    let kind = mime_guess::from_path(name).first_or_octet_stream();
    let kind = match kind.type_() {
        mime_guess::mime::TEXT => format!("{kind}; charset=utf-8"),
        _ => kind.to_string(),
    };
    // Revalidated, because an update of the server changes the files but not their names.
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache".to_owned())];
    Some((headers, [CONTENT_SECURITY_POLICY], *content).into_response())
}
