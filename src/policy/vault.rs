//! Secrets that an agent types by name (`--secrets`): read once, and masked in everything that
//! leaves the process.

use std::{borrow::Cow, path::Path};

use serde_json::Value;

use super::{
    encodings::{EncodedText, encodings_of},
    masking::{Replacement, Replacer},
};
use crate::{
    config::{Config, near},
    error::{ErrorCode, Result, TroupeError},
};

/// Minimum length of a secret. Shorter ones occur in other texts by chance.
const MIN_LENGTH: usize = 4;
/// The secrets of a server.
#[derive(Default)]
pub struct Vault {
    secrets: Vec<Secret>,
    masks: Replacer,
    unmasks: Replacer,
}

/// A text to type, with the values of the secrets that it names.
#[derive(Debug, PartialEq)]
pub struct ResolvedText<'a> {
    pub text: Cow<'a, str>,
    /// Whether it contains a secret.
    pub is_secret: bool,
}

struct Secret {
    name: String,
    value: String,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.secrets.iter().map(|secret| &secret.name)).finish()
    }
}

impl Vault {
    /// Reads the file of the configuration. The vault is empty if there is none.
    pub fn open(config: &Config) -> Result<Self> {
        config.security.secrets.as_deref().map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(path: &Path) -> Result<Self> {
        let wrong = |why: String| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the secrets in `{}` cannot be used: {why}", path.display()),
            )
            .suggestion(
                "write one NAME=value per line; values are literal, and can be enclosed in quotes",
            )
        };
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let mut secrets = Vec::new();
        for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The message must not repeat the line, which may be a secret.
            let (name, value) =
                entry(line).ok_or_else(|| wrong(format!("line {number} is not NAME=value")))?;
            // A variable that is not set, as in @playwright/mcp.
            if value.is_empty() {
                continue;
            }
            if value.chars().count() < MIN_LENGTH {
                return Err(wrong(format!(
                    "the value of `{name}` has fewer than {MIN_LENGTH} characters"
                )));
            }
            secrets.push(Secret { name: name.to_owned(), value: value.to_owned() });
        }
        Ok(Self::of(secrets))
    }

    fn of(secrets: Vec<Secret>) -> Self {
        let masks = secrets.iter().flat_map(replacements);
        let unmasks =
            secrets.iter().flat_map(replacements).map(|Replacement { find, with, is_word }| {
                Replacement { find: with, with: find, is_word }
            });
        Self { masks: Replacer::new(masks), unmasks: Replacer::new(unmasks), secrets }
    }

    /// Returns the encodings of the secrets, each with its placeholder.
    pub(super) fn replacements(&self) -> impl Iterator<Item = Replacement> {
        self.secrets.iter().flat_map(replacements)
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Returns the names of the secrets, in the order of the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.secrets.iter().map(|secret| &*secret.name)
    }

    /// Returns the text to type for the parameter `text`.
    ///
    /// # Errors
    /// If `text` is meant as the name of a secret, and no secret has it.
    pub fn resolve<'a>(&'a self, text: &'a str) -> Result<ResolvedText<'a>> {
        if let Some(secret) = self.value(text) {
            return Ok(ResolvedText { text: secret.into(), is_secret: true });
        }
        let unmasked = self.unmask(text);
        if let Some(name) = named_in_placeholder(unmasked.as_deref().unwrap_or(text)) {
            return Err(self.unknown(name));
        }
        match unmasked {
            Some(unmasked) => Ok(ResolvedText { text: unmasked.into(), is_secret: true }),
            None if !self.is_empty() && self.is_meant_as_name(text) => Err(self.unknown(text)),
            None => Ok(ResolvedText { text: text.into(), is_secret: false }),
        }
    }

    /// Returns whether `text`, which names no secret, is probably meant as a name: it looks like an
    /// environment variable of several words, or it resembles an existing name.
    fn is_meant_as_name(&self, text: &str) -> bool {
        let has_letter = text.chars().any(char::is_alphabetic);
        let is_name = has_letter && text.chars().all(is_name_character);
        let is_capital = !text.chars().any(char::is_lowercase);
        let has_separator = text.contains(['_', '-', '.']);
        let is_variable = is_capital
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && text.contains('_');
        is_name
            && (is_variable
                || ((is_capital || has_separator) && !near(text, self.names()).is_empty()))
    }

    fn unknown(&self, name: &str) -> TroupeError {
        let near = near(name, self.names()).first().map(|near| format!("; did you mean `{near}`?"));
        let message =
            format!("there is no secret `{name}`{}; nothing was typed", near.unwrap_or_default());
        let names: Vec<&str> = self.names().collect();
        let suggestion = match names.as_slice() {
            [] => {
                "this server has no secrets; start it with --secrets FILE to define some".to_owned()
            }
            names => format!(
                "pass one of the names {}; the file of --secrets can define others",
                names.join(", ")
            ),
        };
        TroupeError::new(ErrorCode::InvalidParameters, message)
            .detail("reason", "unknown secret")
            .suggestion(suggestion)
    }

    /// Returns the secret with this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.secrets.iter().find(|secret| secret.name == name).map(|secret| secret.value.as_str())
    }

    /// Returns the placeholder of the secret with this name or placeholder; `None` if there is
    /// none.
    pub fn placeholder(&self, name: &str) -> Option<String> {
        let bare = name.strip_prefix("<secret>").and_then(|rest| rest.strip_suffix("</secret>"));
        let name = bare.unwrap_or(name);
        self.value(name).map(|_| format!("<secret>{name}</secret>"))
    }

    /// Returns `text` with placeholders for its secrets; `None` if it contains none.
    pub fn mask(&self, text: &str) -> Option<String> {
        self.masks.replace(text)
    }

    /// Masks the secrets in every text of `value`, and in field names, which a page can choose.
    pub fn mask_json(&self, value: &mut Value) {
        if !self.is_empty() {
            replace(value, &|text| self.mask(text), &|name| self.mask(name));
        }
    }

    /// Replaces the placeholders of `mask_json` by the secrets.
    pub fn unmask_json(&self, value: &mut Value) {
        if !self.is_empty() {
            replace(value, &|text| self.unmask(text), &|name| self.unmask(name));
        }
    }

    /// Returns `text` with the secrets in place of their placeholders; `None` if it contains no
    /// placeholder.
    pub fn unmask(&self, text: &str) -> Option<String> {
        self.unmasks.replace(text)
    }
}

fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || "_-.".contains(character)
}

/// Returns the name in the first placeholder of `text`, with its encoding (`NAME:base64`).
fn named_in_placeholder(text: &str) -> Option<&str> {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("<secret>") {
        let (name, _) = after.split_once("</secret>")?;
        if !name.is_empty()
            && name.chars().all(|character| is_name_character(character) || character == ':')
        {
            return Some(name);
        }
        rest = after;
    }
    None
}

/// Parses a line `NAME=value`. Quotes around the whole value are removed. Nothing in the value is
/// expanded or unescaped.
fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=')?;
    let name = name.trim();
    let name = name.strip_prefix("export ").map_or(name, str::trim_start);
    let is_name = !name.is_empty() && name.chars().all(is_name_character);
    let value = value.trim();
    let quoted =
        ['\'', '"'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    is_name.then_some((name, quoted.unwrap_or(value)))
}

/// Returns the encodings of a secret, each with its placeholder, which names the secret and the
/// encoding.
fn replacements(Secret { name, value }: &Secret) -> impl Iterator<Item = Replacement> {
    encodings_of(value).into_iter().map(move |EncodedText { kind, text }| {
        let kind = if kind.is_empty() { kind } else { format!(":{kind}") };
        Replacement { find: text, with: format!("<secret>{name}{kind}</secret>"), is_word: false }
    })
}

/// Changes every text in `value` with `text_to`, and the field names with `name_to`.
pub(super) fn replace(
    value: &mut Value,
    text_to: &impl Fn(&str) -> Option<String>,
    name_to: &impl Fn(&str) -> Option<String>,
) {
    match value {
        Value::String(text) => {
            if let Some(other) = text_to(text) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, text_to, name_to)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| replace(value, text_to, name_to));
            let names: Vec<_> =
                map.keys().filter_map(|name| Some((name.clone(), name_to(name)?))).collect();
            for (name, other) in names {
                if let Some(value) = map.remove(&name) {
                    map.insert(other, value);
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use proptest::prelude::*;

    use super::*;

    fn named(secrets: &[(&str, &str)]) -> Vault {
        let secrets = secrets
            .iter()
            .map(|(name, value)| Secret { name: (*name).into(), value: (*value).into() });
        Vault::of(secrets.collect())
    }

    fn vault(value: &str) -> Vault {
        named(&[("PASSWORD", value)])
    }

    #[test]
    fn a_secret_is_masked_by_its_name_in_every_form() {
        let value = "pa/ss wörd+\"&<1>'";
        let vault = vault(value);
        let url = |query: &str| {
            url::Url::parse(&format!("http://a/?q={query}#{query}")).unwrap().to_string()
        };
        for text in [
            value.to_owned(),
            serde_json::json!({"a": value}).to_string(),
            serde_json::json!(serde_json::json!({"a": value}).to_string()).to_string(),
            "\"pa/ss wörd+\\\"&amp;&lt;1&gt;'\"".to_owned(),
            "pa/ss w\\u00f6rd+\\u0022&<1>'".to_owned(),
            "pa%2Fss%20w%C3%B6rd%2B%22%26%3C1%3E'".to_owned(),
            "pa%2fss%20w%c3%b6rd%2b%22%26%3c1%3e'".to_owned(),
            url::form_urlencoded::byte_serialize(value.as_bytes()).collect(),
            url("pa/ss wörd+\"&<1>'"),
            "pa/ss wörd+\"&amp;&lt;1&gt;'".to_owned(),
            STANDARD.encode(value),
            STANDARD.encode(format!("me:{value}")),
            STANDARD.encode(format!("x{value} and more")),
        ] {
            let masked =
                vault.mask(&format!("before {text} after")).unwrap_or_else(|| panic!("{text}"));
            assert!(masked.contains("<secret>PASSWORD"), "{masked}");
            assert!(!masked.contains("ss%20w") && !masked.contains("rd+"), "{masked}");
        }
        assert_eq!(vault.mask("pa/ss"), None);
        assert_eq!(format!("{vault:?}"), r#"["PASSWORD"]"#);
    }

    #[test]
    fn a_secret_is_masked_in_names_of_fields_too() {
        let vault = vault("tiger");
        let before = serde_json::json!({"a tiger": ["tiger", {"tiger": 1}], "b": 2});
        let mut value = before.clone();
        vault.mask_json(&mut value);
        assert!(!value.to_string().contains("tiger"), "{value}");
        vault.unmask_json(&mut value);
        assert_eq!(value, before);
    }

    #[test]
    fn a_secret_that_is_a_part_of_another_does_not_reveal_it() {
        let vault = named(&[("A", "tiger"), ("B", "paper tiger")]);
        assert_eq!(
            vault.mask("a paper tiger, a tiger").unwrap(),
            "a <secret>B</secret>, a <secret>A</secret>"
        );
    }

    #[test]
    fn a_text_is_typed_as_the_secret_that_it_names() {
        let vault = named(&[
            ("SHOP_PASSWORD", "hunter2!"),
            ("LOGIN", "annabel"),
            ("api.key", "0123456789"),
        ]);
        for (given, typed) in [
            ("LOGIN", "annabel"),
            ("<secret>LOGIN</secret>", "annabel"),
            ("user:<secret>SHOP_PASSWORD</secret>;", "user:hunter2!;"),
            ("api.key", "0123456789"),
        ] {
            let found = vault.resolve(given).unwrap();
            assert_eq!((&*found.text, found.is_secret), (typed, true), "{given}");
        }
        let encoded = STANDARD.encode("annabel annabel");
        let form = vault.mask(&encoded).unwrap();
        assert_eq!(vault.resolve(&form).unwrap().text, encoded, "{form}");
        for plain in [
            "login",
            "Ann",
            "USA",
            "ASAP!",
            "a_b",
            "user-name",
            "1_000",
            "__",
            "",
            "<secret></secret>",
            "<secret>a b</secret>",
        ] {
            let found = vault.resolve(plain).unwrap();
            assert_eq!((&*found.text, found.is_secret), (plain, false), "{plain}");
        }
        for unknown in [
            "SHOP_PASWORD",
            "DB_PASSWORD",
            "LOGON",
            "<secret>OTHER</secret>",
            "api.kee",
            "<secret>LOGIN:none</secret>",
            "a <secret>LOGON</secret> b",
        ] {
            let error = vault.resolve(unknown).unwrap_err();
            assert_eq!(error.code, ErrorCode::InvalidParameters, "{unknown}");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
        let none = Vault::default();
        assert_eq!(none.resolve("DB_PASSWORD").unwrap().text, "DB_PASSWORD");
        assert!(none.resolve("<secret>DB_PASSWORD</secret>").is_err());
    }

    #[test]
    fn values_in_a_file_are_literal() {
        let path = std::env::temp_dir().join(format!("troupe-secrets-{}", uuid::Uuid::new_v4()));
        let lines = [
            ("A=p@ss$word1", "p@ss$word1"),
            ("B=${HOME}$(id)`id`", "${HOME}$(id)`id`"),
            (r"C=back\slash\n\", r"back\slash\n\"),
            (r#"  export D = "quoted $A\n"  "#, r"quoted $A\n"),
            ("E='it''s = # all'", "it''s = # all"),
            ("F=with # and \"quotes\" inside", "with # and \"quotes\" inside"),
            ("G='only one quote", "'only one quote"),
            ("H.i-j=  spaces inside  \r", "spaces inside"),
        ];
        let text: String = lines.iter().map(|(line, _)| format!("{line}\n\n # note\n")).collect();
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        let vault = Vault::read(&path).unwrap();
        let _ = std::fs::remove_file(&path);
        let values: Vec<&str> = vault.secrets.iter().map(|secret| &*secret.value).collect();
        assert_eq!(values, lines.map(|(_, value)| value));
        let names: Vec<&str> = vault.secrets.iter().map(|secret| &*secret.name).collect();
        assert_eq!(names, ["A", "B", "C", "D", "E", "F", "G", "H.i-j"]);
        assert_eq!(vault.mask("its p@ss$word1").unwrap(), "its <secret>A</secret>");
    }

    #[test]
    fn the_error_of_an_invalid_file_does_not_contain_the_files_text() {
        let path = std::env::temp_dir().join(format!("troupe-secrets-{}", uuid::Uuid::new_v4()));
        for (text, ok) in [
            ("A=long-enough\n# note\nB='quoted value'\n", true),
            // Not hexadecimal digits, because the file name contains those.
            ("A=xyz\n", false),
            ("hunter2 is no entry\n", false),
            ("hunter 2=is no entry\n", false),
        ] {
            std::fs::write(&path, text).unwrap();
            let read = Vault::read(&path);
            assert_eq!(read.is_ok(), ok, "{text}");
            if let Err(error) = read {
                assert!(
                    !error.message.contains("hunter2") && !error.message.contains("xyz"),
                    "{error}"
                );
            }
        }
        let _ = std::fs::remove_file(&path);
    }

    proptest! {
        #[test]
        fn masking_can_be_reversed(value in "[ -~äß€]{4,20}", before in "[a-z]{0,5}", after in "[a-z]{0,5}") {
            let vault = vault(&value);
            for EncodedText { text: form, .. } in encodings_of(&value) {
                let text = format!("{before}{form}{after}");
                let masked = vault.mask(&text).unwrap();
                prop_assert!(!masked.replace("<secret>PASSWORD", "").contains(&value) || "</secret>".contains(&value));
                prop_assert_eq!(vault.unmask(&masked).unwrap(), text);
            }
        }
    }
}
