//! Secrets that an agent types by name (`--secrets`): read once, and masked in everything that leaves the process.

use std::{collections::BTreeSet, path::Path};

use serde_json::Value;

use super::forms::{Form, forms_of};
use crate::{
    config::Config,
    error::{ErrorCode, Result, TroupeError},
};

/// A shorter one stands in every other text by chance.
const SHORTEST: usize = 4;
/// The secrets of a server.
#[derive(Default)]
pub struct Vault {
    secrets: Vec<Secret>,
    /// The longest first: one may be a part of another.
    masked: Vec<Masked>,
}

struct Secret {
    name: String,
    value: String,
}

/// A secret as it is written somewhere.
struct Masked {
    form: String,
    /// What stands in its place: it names the secret, and the form where it is not the plain one.
    mark: String,
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.secrets.iter().map(|secret| &secret.name)).finish()
    }
}

impl Vault {
    /// Reads the file that the configuration names; empty where it names none.
    pub fn open(config: &Config) -> Result<Self> {
        config.security.secrets.as_deref().map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(path: &Path) -> Result<Self> {
        let wrong = |why: String| {
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("the secrets in `{}` cannot be used: {why}", path.display()),
            )
            .suggestion("one NAME=value a line")
        };
        let lines = dotenvy::from_path_iter(path).map_err(|error| wrong(error.to_string()))?;
        let mut secrets = Vec::new();
        for (at, line) in lines.enumerate() {
            // The library's own words would show the line.
            let (name, value) = line.map_err(|_| wrong(format!("entry {} is none", at + 1)))?;
            if value.chars().count() < SHORTEST {
                return Err(wrong(format!("`{name}` has less than {SHORTEST} characters")));
            }
            secrets.push((name, value));
        }
        Ok(Self::of(secrets))
    }

    fn of(secrets: Vec<(String, String)>) -> Self {
        let secrets: Vec<Secret> = secrets.into_iter().map(|(name, value)| Secret { name, value }).collect();
        let mut known = BTreeSet::new();
        let mut masked = Vec::new();
        for Secret { name, value } in &secrets {
            for Form { kind, text } in forms_of(value) {
                if known.insert(text.clone()) {
                    let kind = if kind.is_empty() { String::new() } else { format!(":{kind}") };
                    masked.push(Masked { form: text, mark: format!("<secret>{name}{kind}</secret>") });
                }
            }
        }
        masked.sort_by_key(|masked| std::cmp::Reverse(masked.form.len()));
        Self { secrets, masked }
    }

    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The secret of this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.secrets.iter().find(|secret| secret.name == name).map(|secret| secret.value.as_str())
    }

    /// `text` without any of them; `None` where none stands in it.
    pub fn mask(&self, text: &str) -> Option<String> {
        exchanged(text, self.masked.iter().map(|Masked { form, mark }| (&**form, &**mark)))
    }

    /// Masks them in every text of `value`, and in the names of fields: a page chooses those too.
    pub fn mask_json(&self, value: &mut Value) {
        if !self.is_empty() {
            replace(value, &|text| self.mask(text));
        }
    }

    /// Takes `mask_json` back.
    pub fn unmask_json(&self, value: &mut Value) {
        if !self.is_empty() {
            replace(value, &|text| self.unmask(text));
        }
    }

    /// The text that `mask` has made this one of.
    pub fn unmask(&self, text: &str) -> Option<String> {
        exchanged(text, self.masked.iter().map(|Masked { form, mark }| (&**mark, &**form)))
    }
}

/// `text` with the second of each pair in place of the first; `None` where none of the first stands in it.
fn exchanged<'a>(text: &str, pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    let mut exchanged: Option<String> = None;
    for (old, new) in pairs {
        let now = exchanged.as_deref().unwrap_or(text);
        if now.contains(old) {
            exchanged = Some(now.replace(old, new));
        }
    }
    exchanged
}

fn replace(value: &mut Value, other: &impl Fn(&str) -> Option<String>) {
    match value {
        Value::String(text) => {
            if let Some(other) = other(text) {
                *text = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, other)),
        Value::Object(map) => {
            map.values_mut().for_each(|value| replace(value, other));
            let names: Vec<_> = map.keys().filter_map(|name| Some((name.clone(), other(name)?))).collect();
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

    fn vault(value: &str) -> Vault {
        Vault::of(vec![("PASSWORD".to_owned(), value.to_owned())])
    }

    #[test]
    fn a_secret_is_masked_by_its_name_in_every_form() {
        let value = "pa/ss wörd+\"&<1>'";
        let vault = vault(value);
        let url = |query: &str| url::Url::parse(&format!("http://a/?q={query}#{query}")).unwrap().to_string();
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
            let masked = vault.mask(&format!("before {text} after")).unwrap_or_else(|| panic!("{text}"));
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
    fn one_that_is_a_part_of_another_does_not_give_it_away() {
        let vault = Vault::of(vec![("A".into(), "tiger".into()), ("B".into(), "paper tiger".into())]);
        assert_eq!(
            vault.mask("a paper tiger, a tiger").unwrap(),
            "a <secret>B</secret>, a <secret>A</secret>"
        );
    }

    #[test]
    fn a_file_that_cannot_be_used_is_told_without_what_is_in_it() {
        let path = std::env::temp_dir().join(format!("troupe-secrets-{}", uuid::Uuid::new_v4()));
        for (text, ok) in [
            ("A=long-enough\n# note\nB='quoted value'\n", true),
            // No hexadecimal digits: the name of the file is full of them.
            ("A=xyz\n", false),
            ("hunter2 is no entry\n", false),
        ] {
            std::fs::write(&path, text).unwrap();
            let read = Vault::read(&path);
            assert_eq!(read.is_ok(), ok, "{text}");
            if let Err(error) = read {
                assert!(!error.message.contains("hunter2") && !error.message.contains("xyz"), "{error}");
            }
        }
        let _ = std::fs::remove_file(&path);
    }

    proptest! {
        #[test]
        fn what_is_masked_can_be_brought_back(value in "[ -~äß€]{4,20}", before in "[a-z]{0,5}", after in "[a-z]{0,5}") {
            let vault = vault(&value);
            for Form { text: form, .. } in forms_of(&value) {
                let text = format!("{before}{form}{after}");
                let masked = vault.mask(&text).unwrap();
                prop_assert!(!masked.replace("<secret>PASSWORD", "").contains(&value) || "</secret>".contains(&value));
                prop_assert_eq!(vault.unmask(&masked).unwrap(), text);
            }
        }
    }
}
