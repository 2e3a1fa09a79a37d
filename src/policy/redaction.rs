//! What is never written in clear: passwords that were typed, and (unless the user wants them) what lets others in as
//! the user: `Authorization`, cookies.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::{forms::forms_of, vault::Vault};

/// What stands for a text that is not written.
pub const MASK: &str = "••••";
/// Texts of a session that are remembered; the oldest go first.
const MOST: usize = 100;
/// A longer text is no password.
const LONGEST_OPEN: usize = 1000;
/// A shorter one is masked only as a word of its own…
const SHORTEST_WITHIN: usize = 6;
/// …and one that is shorter still only where it is the whole of a text: every page has an `a` in it.
const SHORTEST_WORD: usize = 3;
/// Headers, in lower case.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// The lists of a storage state whose values let others in.
const STATE: &[&str] = &["cookies", "localStorage", "sessionStorage", "indexedDB"];

/// The texts of one session that must not be written.
#[derive(Debug, Default)]
pub struct Secrets {
    texts: Mutex<Texts>,
    vault: Arc<Vault>,
}

#[derive(Debug, Default)]
struct Texts {
    secret: Vec<Secret>,
    /// What has stood in the open: masking it would hide nothing, and puzzle whoever reads.
    open: Vec<String>,
}

impl Secrets {
    /// Those of a session to begin with: what the user has given us by name.
    pub fn new(vault: Arc<Vault>) -> Self {
        Self { texts: Mutex::default(), vault }
    }

    /// What is typed where a client gives `text`: the secret of that name, if there is one.
    pub fn typed<'a>(&'a self, text: &'a str) -> &'a str {
        self.vault.value(text).unwrap_or(text)
    }

    /// Those that the user has given us by name.
    pub fn vault(&self) -> &Vault {
        &self.vault
    }

    /// Remembers a text, unless it was typed in the open, too.
    pub fn add(&self, text: &str) {
        // A name is none.
        if self.vault.value(text).is_some() {
            return;
        }
        let mut texts = self.lock();
        if !text.is_empty()
            && !texts.open.iter().any(|open| open == text)
            && !texts.secret.iter().any(|known| known.text == text)
        {
            remember(&mut texts.secret, Secret::new(text));
        }
    }

    /// Remembers that a text is no secret.
    pub fn add_open(&self, text: &str) {
        if text.len() > LONGEST_OPEN {
            return;
        }
        let mut texts = self.lock();
        texts.secret.retain(|secret| secret.text != text);
        if !text.is_empty() && !texts.open.iter().any(|open| open == text) {
            remember(&mut texts.open, text.to_owned());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Texts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `text` without them.
    pub fn mask(&self, text: &str) -> Option<String> {
        let mut masked = self.vault.mask(text);
        let texts = self.lock();
        for secret in &texts.secret {
            let now = masked.as_deref().unwrap_or(text);
            if now == secret.text {
                return Some(MASK.to_owned());
            }
            for form in &secret.forms {
                let now = masked.as_deref().unwrap_or(text);
                if now.contains(form.as_str()) {
                    masked = Some(without(now, form));
                }
            }
        }
        masked.filter(|masked| masked != text)
    }

    /// Masks them in `text`.
    pub fn mask_text(&self, text: &mut String) {
        if let Some(masked) = self.mask(text) {
            *text = masked;
        }
    }

    /// Masks every text in `value`.
    pub fn mask_json(&self, value: &mut Value) {
        self.vault.mask_json(value);
        if !self.is_empty() {
            each_text(value, &mut |text| self.mask_text(text));
        }
    }

    /// Whether a text in `value` holds one.
    pub fn are_in(&self, value: &Value) -> bool {
        let mut masked = value.clone();
        self.mask_json(&mut masked);
        masked != *value
    }

    /// Whether nothing was typed in this session that is one.
    pub fn is_empty(&self) -> bool {
        self.lock().secret.is_empty()
    }
}

/// A text, and how else it is written.
#[derive(Debug)]
struct Secret {
    text: String,
    /// The longest first; none of a text that is masked only as a whole.
    forms: Vec<String>,
}

impl Secret {
    fn new(text: &str) -> Self {
        let mut forms: Vec<String> = Vec::new();
        if text.chars().count() >= SHORTEST_WORD {
            forms.extend(forms_of(text).into_iter().map(|form| form.text));
        }
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { text: text.to_owned(), forms }
    }
}

/// `text` with the mask in place of `secret`; of a short one only where no letter or digit stands beside it.
fn without(text: &str, secret: &str) -> String {
    if secret.chars().count() >= SHORTEST_WITHIN {
        return text.replace(secret, MASK);
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let beside = [text[..at].chars().next_back(), text[end..].chars().next()];
        if beside.into_iter().flatten().all(|beside| !beside.is_alphanumeric()) {
            masked.push_str(&text[rest..at]);
            masked.push_str(MASK);
            rest = end;
        }
    }
    masked.push_str(&text[rest..]);
    masked
}

fn remember<T>(texts: &mut Vec<T>, text: T) {
    if texts.len() == MOST {
        texts.remove(0);
    }
    texts.push(text);
}

/// Masks the values of cookies, storages and headers that let others in.
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

/// The value of a cookie or an item of a storage, or what a database holds.
fn mask_item(item: &mut Value) {
    for part in ["value", "stores"] {
        if let Some(value) = item.get_mut(part) {
            each_text(value, &mut |text| *text = MASK.to_owned());
        }
    }
}

/// Changes every text in `value`, and no name of a field.
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
    fn a_short_secret_is_masked_only_where_it_stands_for_itself() {
        let secrets = Secrets::default();
        secrets.add("abc");
        secrets.add("é1");
        secrets.add("correct horse");
        let mut value = json!({"a": "abc", "b": "abcd é1!", "c": ["say correct horse twice: correct horse"], "d": "?p=abc&é1", "e": "é1"});
        secrets.mask_json(&mut value);
        let masked =
            json!({"a": MASK, "b": "abcd é1!", "c": ["say •••• twice: ••••"], "d": "?p=••••&é1", "e": MASK});
        assert_eq!(value, masked);
    }

    #[test]
    fn a_secret_is_masked_as_it_is_sent() {
        let secrets = Secrets::default();
        secrets.add("p@ss w/rd!9");
        let sent = "a?p=p%40ss+w%2Frd%219&q=p%40ss%20w%2Frd%219 p@ss w/rd!9";
        assert_eq!(secrets.mask(sent).unwrap(), "a?p=••••&q=•••• ••••");
    }

    #[test]
    fn what_was_typed_in_the_open_is_no_secret() {
        let secrets = Secrets::default();
        secrets.add("said twice");
        secrets.add_open("said twice");
        secrets.add("said twice");
        assert_eq!(secrets.mask("said twice"), None);
    }

    #[test]
    fn cookies_and_credentials_are_masked_wherever_they_stand() {
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
