//! Which URLs are meant: a part of one, or a glob (`*` within a path segment, `**` over all of it, `{a,b}`).

use globset::{GlobBuilder, GlobMatcher};

use crate::error::{ErrorCode, Result, TroupeError};

/// A part of a URL, or a glob for the whole of it.
#[derive(Debug)]
pub(super) enum UrlPattern {
    Part(String),
    Glob(GlobMatcher),
}

impl UrlPattern {
    pub fn new(text: &str) -> Result<Self> {
        if !text.contains('*') {
            return Ok(Self::Part(text.to_owned()));
        }
        // A `?` begins the query, and brackets are an IPv6 address: in URLs they mean themselves.
        let escaped = text.replace('[', "[[]").replace('?', "[?]");
        let glob = GlobBuilder::new(&escaped).literal_separator(true).build().map_err(|error| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("`{text}` is no URL pattern: {}", error.kind()),
            )
        })?;
        Ok(Self::Glob(glob.compile_matcher()))
    }

    pub fn matches(&self, url: &str) -> bool {
        match self {
            Self::Part(part) => url.contains(part),
            Self::Glob(glob) => glob.is_match(url),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_matched_by_a_part_of_it_or_by_a_glob_for_all_of_it() {
        for (pattern, url, fits) in [
            ("/done", "http://a/done?x=1", true),
            ("/done", "http://a/do", false),
            ("**/done", "http://a/b/done", true),
            ("**/done", "http://a/b/done?x", false),
            ("**/done?*", "http://a/b/done?x", true),
            ("**/done?*", "http://a/b/doneX", false),
            ("http://a/*/c", "http://a/b/c", true),
            ("http://a/*/c", "http://a/b/b/c", false),
            ("http://[::1]:*/", "http://[::1]:80/", true),
            ("**/*.{png,jpg}", "http://a/b/c.jpg", true),
        ] {
            assert_eq!(UrlPattern::new(pattern).unwrap().matches(url), fits, "{pattern} {url}");
        }
        assert!(UrlPattern::new("*{").is_err());
    }
}
