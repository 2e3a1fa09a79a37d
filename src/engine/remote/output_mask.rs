//! Masks secrets in the stderr of `--browser-command`, which error messages quote.

use crate::config::redacted_endpoint;

const MASK: &str = "***";
/// Parts of the names of variables and headers whose values are secrets.
const SECRET_NAMES: &[&str] = &["key", "token", "secret", "password", "credential", "auth"];
/// Minimum length of a secret variable's value. Masking a shorter one would mask common words.
const MIN_SECRET: usize = 6;
/// The length from which a word of letters and digits counts as a token.
const MIN_TOKEN: usize = 20;

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|part| name.contains(part))
}

/// Returns the values of variables whose names suggest a secret.
pub(super) fn environment_secrets() -> Vec<String> {
    let mut secrets: Vec<String> = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| is_secret_name(name) && value.len() >= MIN_SECRET)
        .map(|(_, value)| value)
        .collect();
    // Masks long secrets first, because a secret may contain a shorter one.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// Masks `secrets`, the queries and credentials of URLs, values after the name of a secret
/// (`x-api-key: VALUE`), and words that look like tokens.
pub(super) fn mask(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    for secret in secrets {
        text = text.replace(secret, MASK);
    }
    let is_separator =
        |character: char| character.is_whitespace() || "\"'`,;{}()".contains(character);
    let mut masked = String::new();
    // Whether the next word is the value of a secret.
    let mut expects_value = false;
    for part in text.split_inclusive(is_separator) {
        let word = part.trim_end_matches(is_separator);
        let rest = &part[word.len()..];
        let is_scheme = matches!(&*word.to_ascii_lowercase(), "bearer" | "basic" | ":" | "=");
        if word.contains("://") {
            masked.push_str(&redacted_endpoint(word));
            expects_value = false;
        } else if word.is_empty() || expects_value && is_scheme {
            masked.push_str(word);
        } else if expects_value || is_token(word) {
            masked.push_str(MASK);
            expects_value = false;
        } else {
            match word.split_once(['=', ':']) {
                Some((name, value)) if is_secret_name(name) && !value.is_empty() => {
                    masked.push_str(&word[..=name.len()]);
                    masked.push_str(MASK);
                }
                _ => masked.push_str(word),
            }
            let is_name = word.ends_with([':', '=']) || rest.starts_with(['"', '\'']);
            expects_value = is_scheme || is_name && is_secret_name(word);
        }
        masked.push_str(rest);
    }
    masked
}

fn is_token(word: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.+=".contains(&byte);
    word.len() >= MIN_TOKEN
        && word.bytes().all(is_part)
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_and_the_reason_remains() {
        for (text, shown) in [
            ("curl: (22) error: 401", "curl: (22) error: 401"),
            ("sent x-api-key: abc", "sent x-api-key: ***"),
            ("Authorization: Bearer abc, retry", "Authorization: Bearer ***, retry"),
            ("{\"apiKey\":\"abc\",\"code\":3}", "{\"apiKey\":\"***\",\"code\":3}"),
            ("API_KEY=abc failed", "API_KEY=*** failed"),
            ("at wss://ann:b@c.test/d?token=e now", "at wss://c.test/d?… now"),
            ("bb_live_0123456789abcdef is unknown", "*** is unknown"),
            ("the hunter2 failed", "the *** failed"),
        ] {
            assert_eq!(mask(text, &["hunter2".to_owned()]), shown);
        }
    }
}
