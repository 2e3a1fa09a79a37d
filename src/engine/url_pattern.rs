//! URL patterns, for mocks and for waits.

use globset::{GlobBuilder, GlobMatcher};

/// One URL, all that a glob fits, or all that hold a text.
///
/// A glob is for the whole URL: `*` stands for anything but `/`, `**` for anything, `{a,b}` for either, everything
/// else for itself. Without `*` and `{` a whole URL means itself, and any other text the URLs that it is a part
/// of. A fragment counts only where one is named.
#[derive(Debug, Clone)]
pub struct UrlPattern {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone)]
enum Kind {
    Whole,
    Part,
    Glob(GlobMatcher),
}

impl UrlPattern {
    /// Reads `text`; the error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.contains(['*', '{']) {
            let glob = GlobBuilder::new(&glob_source(text))
                .literal_separator(true)
                .backslash_escape(true)
                .build()
                .map_err(|error| error.kind().to_string())?;
            return Ok(Self { text: text.to_owned(), kind: Kind::Glob(glob.compile_matcher()) });
        }
        if text.contains("://") {
            let url = url::Url::parse(text).map_err(|error| error.to_string())?;
            return Ok(Self { text: url.to_string(), kind: Kind::Whole });
        }
        if text.is_empty() {
            return Err("it is empty".to_owned());
        }
        Ok(Self { text: text.to_owned(), kind: Kind::Part })
    }

    /// The same for requests, which carry no fragment.
    pub fn for_requests(text: &str) -> Result<Self, String> {
        Self::parse(without_fragment(text))
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn fits(&self, url: &str) -> bool {
        let url = if self.text.contains('#') { url } else { without_fragment(url) };
        match &self.kind {
            Kind::Whole => self.text == url,
            Kind::Part => url.contains(&self.text),
            Kind::Glob(glob) => glob.is_match(url),
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

/// globset's spelling: in a URL `?` and brackets are letters like others, and `**` need not stand alone
/// between slashes.
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
    fn a_url_means_itself_however_it_is_written() {
        assert!(fits("http://a.b", "http://a.b/"));
        assert!(fits("http://A.b/x?y=[1]", "http://a.b/x?y=[1]#z"));
        assert!(!fits("http://a.b/x#y", "http://a.b/x#z"));
        assert!(!fits("http://a.b/x", "http://a.b/x?y"));
        assert!(!fits("http://a.b/x", "http://a.b/xy"));
    }

    #[test]
    fn a_star_stops_at_a_slash_and_two_do_not() {
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
    fn what_is_no_whole_url_means_those_that_hold_it() {
        for part in ["/api", "api/users", "a.b:81", "#done", "users?full=1"] {
            assert!(fits(part, "http://a.b:81/api/users?full=1#done"), "{part}");
        }
        assert!(!fits("/apis", "http://a.b/api/users"));
        assert!(!fits("/z", "http://a.b/x#/z"), "a fragment counts only where one is named");
    }

    #[test]
    fn what_is_no_pattern_is_told_so() {
        for text in ["", "**/{a", "http://"] {
            assert!(UrlPattern::parse(text).is_err(), "{text}");
        }
    }
}
