//! URL patterns, for routes and for waits.

use globset::{GlobBuilder, GlobMatcher};

/// A URL, a glob, or a part of a URL.
///
/// A glob matches whole URLs: `*` matches anything except `/`, `**` matches anything, and `{a,b}`
/// matches either. Without `*` and `{`, a whole URL matches itself, and any other text matches the
/// URLs that contain it. The fragment of a URL is compared only if the pattern has one.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    text: String,
    kind: PatternKind,
}

#[derive(Debug, Clone)]
enum PatternKind {
    Whole,
    Part,
    Glob(GlobMatcher),
}

impl UrlPattern {
    /// Parses `text`. The error describes what is invalid.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(['*', '{']) {
            let glob = GlobBuilder::new(&glob_source(text))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| error.kind().to_string())?;
            return Ok(Self {
                text: text.to_owned(),
                kind: PatternKind::Glob(glob.compile_matcher()),
            });
        }
        if text.contains("://") {
            let url = url::Url::parse(text).map_err(|error| error.to_string())?;
            return Ok(Self { text: url.to_string(), kind: PatternKind::Whole });
        }
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self { text: text.to_owned(), kind: PatternKind::Part })
    }

    /// Parses a pattern for requests, which have no fragment.
    pub fn for_requests(text: &str) -> Result<Self, String> {
        Self::parse(without_fragment(text))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn fits(&self, url: &str) -> bool {
        let url = if self.text.contains('#') { url } else { without_fragment(url) };
        match &self.kind {
            PatternKind::Whole => self.text == url,
            PatternKind::Part => url.contains(&self.text),
            PatternKind::Glob(glob) => glob.is_match(url),
        }
    }
}

impl PartialEq for UrlPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

fn without_fragment(url: &str) -> &str {
    url.split('#').next().unwrap_or_default()
}

/// Converts a glob to the syntax of globset. In a URL, `?` and brackets match themselves, and `**`
/// may stand next to other characters.
fn glob_source(text: &str) -> String {
    let mut source = String::with_capacity(text.len() + 8);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("**") {
            let after = after.trim_start_matches('*');
            let alone = source.is_empty() || source.ends_with('/');
            source.push_str(if alone && (after.is_empty() || after.starts_with('/')) {
                "**"
            } else {
                "{*,*/**/*}"
            });
            rest = after;
            continue;
        }
        if "?[]\\!".contains(character) {
            source.push('\\');
        }
        source.push(character);
        rest = &rest[character.len_utf8()..];
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(pattern: &str, url: &str) -> bool {
        UrlPattern::parse(pattern).unwrap().fits(url)
    }

    #[test]
    fn a_url_matches_itself_in_any_spelling() {
        assert!(fits("http://a.b", "http://a.b/"));
        assert!(fits("http://A.b/x?y=[1]", "http://a.b/x?y=[1]#z"));
        assert!(!fits("http://a.b/x#y", "http://a.b/x#z"));
        assert!(!fits("http://a.b/x", "http://a.b/x?y"));
        assert!(!fits("http://a.b/x", "http://a.b/xy"));
    }

    #[test]
    fn one_star_does_not_match_a_slash_and_two_do() {
        let url = "http://a.b:81/api/users/1.json?full=[1]";
        for pattern in [
            "**",
            "**/api/**",
            "**/users/*",
            "http://a.b:81/**",
            "http://*/api/*/1.json?full=[1]",
            "**.json**",
            "http://a.b:81/api**",
            "**/{users,groups}/*",
            "*://a.b:*/api/users/*",
            "**full=*",
            "**/*.json?full=[*]",
        ] {
            assert!(fits(pattern, url), "{pattern}");
        }
        for pattern in
            ["*", "http://*", "**/api/*", "**/user/**", "**.jso", "**/*.json?Full=*", "**/1?json**"]
        {
            assert!(!fits(pattern, url), "{pattern}");
        }
        assert!(fits("http://a.b/**", "http://a.b/"));
        assert!(fits("**/x", "http://a.b/x"));
        assert!(fits("http://a.b/**/x", "http://a.b/x"));
    }

    #[test]
    fn a_part_matches_the_urls_that_contain_it() {
        for part in ["/api", "api/users", "a.b:81", "#done", "users?full=1"] {
            assert!(fits(part, "http://a.b:81/api/users?full=1#done"), "{part}");
        }
        assert!(!fits("/apis", "http://a.b/api/users"));
        assert!(
            !fits("/z", "http://a.b/x#/z"),
            "a fragment is compared only if the pattern has one"
        );
    }

    #[test]
    fn an_invalid_pattern_is_an_error() {
        for text in ["", "**/{a", "http://"] {
            assert!(UrlPattern::parse(text).is_err(), "{text}");
        }
    }
}
