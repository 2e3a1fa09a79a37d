//! Spellings of an option's name (`--session-timeout`, `sessionTimeout`, `TROUPE_SESSION_TIMEOUT`),
//! and the known name that is closest to a misspelled one.

use heck::{ToLowerCamelCase, ToShoutySnakeCase};

/// `session-timeout` → `sessionTimeout`.
pub fn camel(kebab: &str) -> String {
    kebab.to_lower_camel_case()
}

/// `session-timeout` → `TROUPE_SESSION_TIMEOUT`.
pub fn environment(kebab: &str) -> String {
    format!("TROUPE_{}", kebab.to_shouty_snake_case())
}

/// `sessionId` → `session_id`. Unlike `heck`, keeps all characters of a name that is not camelCase,
/// for example of an HTTP header.
pub fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

/// Returns the known name that is most similar to `given`.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(given, known).into_iter().next()
}

/// Returns the known names that are similar to `given`, the most similar first. They differ in at
/// most a third of their letters. Case and separators are ignored.
pub fn near<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let given = plain(given);
    let mut names: Vec<_> = known
        .into_iter()
        .map(|name| (strsim::levenshtein(&given, &plain(name)), name))
        .filter(|(distance, name)| distance * 3 <= name.len().max(given.len()))
        .collect();
    names.sort_by_key(|(distance, _)| *distance);
    names.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_spelled_in_every_way() {
        assert_eq!(camel("session-timeout"), "sessionTimeout");
        assert_eq!(camel("browser"), "browser");
        assert_eq!(environment("no-sandbox"), "TROUPE_NO_SANDBOX");
    }

    #[test]
    fn the_similar_name_is_found_for_a_typo_and_none_for_another_word() {
        let known = ["session-timeout", "max-sessions", "browser"];
        assert_eq!(nearest("sesion-timout", known), Some("session-timeout"));
        assert_eq!(nearest("maxSession", known), Some("max-sessions"));
        assert_eq!(nearest("quux", known), None);
    }
}
