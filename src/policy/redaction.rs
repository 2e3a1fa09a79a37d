//! Masks values that are never written in clear text: typed passwords, and, unless the user
//! disables it, `Authorization` headers and cookies.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::{
    encodings::encodings_of,
    masking::{Replacement, Replacer},
    vault::{self, Vault},
};

/// Replaces a text that is not written.
pub const MASK: &str = "••••";
/// Maximum number of remembered texts of a session. The oldest are removed first.
const MAX_SECRETS: usize = 100;
/// Maximum length of a password.
const MAX_PASSWORD_LENGTH: usize = 1000;
/// Shorter texts are masked only as a whole word.
const MIN_LENGTH_IN_WORDS: usize = 6;
/// Even shorter texts are masked only if they are a whole value, because every page contains an
/// `a`.
const MIN_LENGTH: usize = 3;
/// Headers, in lower case.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// The lists of a storage state whose values can contain credentials.
const STATE: &[&str] = &["cookies", "localStorage", "sessionStorage", "indexedDB"];

/// The texts of one session that must not be written.
#[derive(Debug, Default)]
pub struct Secrets {
    texts: Mutex<TextsToMask>,
    vault: Arc<Vault>,
    revision: AtomicU64,
}

#[derive(Debug, Default)]
struct TextsToMask {
    secret: Vec<String>,
    /// Texts that were also typed into unprotected fields. They are not masked.
    unprotected: Vec<String>,
    /// Masks the current secrets; `None` until it is needed.
    masks: Option<Arc<Masks>>,
}

/// Masks the secrets of a session and those of its server in one pass.
#[derive(Debug)]
struct Masks {
    /// Short texts that are masked only as a whole value.
    whole: HashSet<String>,
    within: Replacer,
}

impl Masks {
    fn new(secret: &[String], vault: &Vault) -> Self {
        let typed =
            secret.iter().filter(|text| text.chars().count() >= MIN_LENGTH).flat_map(|text| {
                encodings_of(text).into_iter().map(|form| Replacement {
                    is_word: form.text.chars().count() < MIN_LENGTH_IN_WORDS,
                    find: form.text,
                    with: MASK.to_owned(),
                })
            });
        Self {
            whole: secret.iter().cloned().collect(),
            within: Replacer::new(vault.replacements().chain(typed)),
        }
    }
}

impl Secrets {
    /// Creates the secrets of a new session, which are those of the vault.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self { texts: Mutex::default(), vault, revision: AtomicU64::new(0) }
    }

    /// Returns the secrets of `--secrets`.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Remembers a secret text, unless it was also typed into an unprotected field.
    pub fn add(&self, text: &str) {
        // The name of a vault secret is not secret, and its value is masked already.
        if self.vault.resolve(text).is_ok_and(|typed| typed.is_secret) {
            return;
        }
        let mut texts = self.lock();
        if !text.is_empty()
            && !texts.unprotected.iter().any(|open| open == text)
            && !texts.secret.iter().any(|known| known == text)
        {
            remember(&mut texts.secret, text.to_owned());
            texts.masks = None;
            self.revision.fetch_add(1, Ordering::Release);
        }
    }

    /// Returns a number that increases when the masks change.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Remembers that a text is not secret.
    pub fn add_unprotected(&self, text: &str) {
        if text.len() > MAX_PASSWORD_LENGTH {
            return;
        }
        let mut texts = self.lock();
        if texts.secret.iter().any(|secret| secret == text) {
            texts.secret.retain(|secret| secret != text);
            texts.masks = None;
            self.revision.fetch_add(1, Ordering::Release);
        }
        if !text.is_empty() && !texts.unprotected.iter().any(|open| open == text) {
            remember(&mut texts.unprotected, text.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, TextsToMask> {
        self.texts.lock()
    }

    /// Returns the masks for the current secrets; `None` if only the server has secrets.
    fn masks(&self) -> Option<Arc<Masks>> {
        let mut texts = self.lock();
        if texts.secret.is_empty() {
            return None;
        }
        let masks =
            texts.masks.take().unwrap_or_else(|| Arc::new(Masks::new(&texts.secret, &self.vault)));
        Some(texts.masks.insert(masks).clone())
    }

    /// Returns `text` with its secrets masked; `None` if it contains none.
    pub fn mask(&self, text: &str) -> Option<String> {
        self.mask_with(self.masks().as_deref(), text)
    }

    fn mask_with(&self, masks: Option<&Masks>, text: &str) -> Option<String> {
        match masks {
            None => self.vault.mask(text),
            Some(masks) => {
                let is_whole = || masks.whole.contains(text).then(|| MASK.to_owned());
                masks.within.replace(text).or_else(is_whole)
            }
        }
    }

    /// Masks the secrets in `text`.
    pub fn mask_text(&self, text: &mut String) {
        if let Some(masked) = self.mask(text) {
            *text = masked;
        }
    }

    /// Masks every text in `value`; secrets of the server in the names of fields, too.
    pub fn mask_json(&self, value: &mut Value) {
        match self.masks() {
            None => self.vault.mask_json(value),
            masks => {
                vault::replace(value, &|text| self.mask_with(masks.as_deref(), text), &|name| {
                    self.vault.mask(name)
                })
            }
        }
    }

    /// Returns whether a text in `value` contains a secret.
    pub fn are_in(&self, value: &Value) -> bool {
        let masks = self.masks();
        if masks.is_none() && self.vault.is_empty() {
            return false;
        }
        self.is_in(masks.as_deref(), value)
    }

    fn is_in(&self, masks: Option<&Masks>, value: &Value) -> bool {
        match value {
            Value::String(text) => {
                self.mask_with(masks, text).is_some_and(|masked| masked != *text)
            }
            Value::Array(list) => list.iter().any(|value| self.is_in(masks, value)),
            Value::Object(map) => map
                .iter()
                .any(|(name, value)| self.vault.mask(name).is_some() || self.is_in(masks, value)),
            _ => false,
        }
    }

    /// Returns whether no secret was typed in this session.
    pub fn is_empty(&self) -> bool {
        self.lock().secret.is_empty()
    }
}

fn remember<T>(texts: &mut Vec<T>, text: T) {
    if texts.len() == MAX_SECRETS {
        texts.remove(0);
    }
    texts.push(text);
}

/// Masks the values of cookies, storage and headers that can contain credentials.
pub fn mask_credentials(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let named = map.get("name").and_then(Value::as_str).is_some_and(is_credential);
            for (key, value) in map.iter_mut() {
                if is_credential(key) || (named && key == "value") {
                    each_text(value, &mut |text| *text = MASK.to_owned());
                } else if STATE.contains(&key.as_str()) && value.is_array() {
                    value.as_array_mut().into_iter().flatten().for_each(mask_item);
                } else {
                    mask_credentials(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(mask_credentials),
        _ => {}
    }
}

fn is_credential(name: &str) -> bool {
    HEADERS.contains(&name.to_ascii_lowercase().as_str())
}

/// Masks the value of a cookie, a storage item or a database record.
fn mask_item(item: &mut Value) {
    for part in ["value", "stores"] {
        if let Some(value) = item.get_mut(part) {
            each_text(value, &mut |text| *text = MASK.to_owned());
        }
    }
}

/// Changes every text in `value`, but no field names.
fn each_text(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(list) => list.iter_mut().for_each(|value| each_text(value, change)),
        Value::Object(map) => map.values_mut().for_each(|value| each_text(value, change)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_secret_is_masked_only_as_a_whole_word_or_value() {
        let secrets = Secrets::default();
        secrets.add("abc");
        secrets.add("é1");
        secrets.add("correct horse");
        let mut value = json!({"a": "abc", "b": "abcd é1!", "c": ["say correct horse twice: correct horse"], "d": "?p=abc&é1", "e": "é1"});
        secrets.mask_json(&mut value);
        let masked = json!({"a": MASK, "b": "abcd é1!", "c": ["say •••• twice: ••••"], "d": "?p=••••&é1", "e": MASK});
        assert_eq!(value, masked);
    }

    #[test]
    fn the_encoded_form_of_a_secret_is_masked() {
        let secrets = Secrets::default();
        secrets.add("p@ss w/rd!9");
        let sent = "a?p=p%40ss+w%2Frd%219&q=p%40ss%20w%2Frd%219 p@ss w/rd!9";
        assert_eq!(secrets.mask(sent).unwrap(), "a?p=••••&q=•••• ••••");
    }

    #[test]
    fn a_text_that_was_typed_into_an_unprotected_field_is_not_masked() {
        let secrets = Secrets::default();
        secrets.add("said twice");
        secrets.add_unprotected("said twice");
        secrets.add("said twice");
        assert_eq!(secrets.mask("said twice"), None);
    }

    #[test]
    fn cookies_and_credentials_are_masked_in_every_field() {
        let mut value = json!({
            "response": {"headers": {"Set-Cookie": "a=1", "content-type": "text/html"}},
            "headers": [{"name": "Authorization", "value": "Bearer x"}, {"name": "Accept", "value": "*/*"}],
            "cookies": [{"name": "sid", "value": "1", "domain": "a"}],
        });
        mask_credentials(&mut value);
        insta::assert_json_snapshot!(value, @r#"
        {
          "response": {
            "headers": {
              "Set-Cookie": "••••",
              "content-type": "text/html"
            }
          },
          "headers": [
            {
              "name": "Authorization",
              "value": "••••"
            },
            {
              "name": "Accept",
              "value": "*/*"
            }
          ],
          "cookies": [
            {
              "name": "sid",
              "value": "••••",
              "domain": "a"
            }
          ]
        }
        "#);
    }

    proptest! {
        #[test]
        fn no_long_secret_is_left(secret in "[a-z]{6,12}", before in "[a-z ]{0,20}", after in "[a-z ]{0,20}") {
            let secrets = Secrets::default();
            secrets.add(&secret);
            let masked = secrets.mask(&format!("{before}{secret}{after}")).unwrap();
            prop_assert!(!masked.contains(&secret));
        }
    }
}
