//! What is never written in clear: passwords that were typed, and (unless the user wants them) what lets others in as
//! the user: `Authorization`, cookies.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// What stands for a text that is not written.
pub const MASK: &str = "••••";
/// Texts of a session that are remembered; the oldest go first.
const MOST: usize = 100;
/// A longer text is no password.
const LONGEST_OPEN: usize = 1000;
/// A shorter one is masked only where it is the whole of a text: every page has an `a` in it.
const SHORTEST_WITHIN: usize = 6;
/// Headers, in lower case.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// The lists of a storage state whose values let others in.
const STATE: &[&str] = &["cookies", "localStorage", "sessionStorage", "indexedDB"];

/// The texts of one session that must not be written.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Texts>);

#[derive(Debug, Default)]
struct Texts {
    secret: Vec<String>,
    /// What has stood in the open: masking it would hide nothing, and puzzle whoever reads.
    open: Vec<String>,
}

impl Secrets {
    /// Remembers a text, unless it was typed in the open, too.
    pub fn add(&self, text: &str) {
        let mut texts = self.lock();
        if !texts.open.iter().any(|open| open == text) {
            remember(&mut texts.secret, text);
        }
    }

    /// Remembers that a text is no secret.
    pub fn add_open(&self, text: &str) {
        if text.len() > LONGEST_OPEN {
            return;
        }
        let mut texts = self.lock();
        texts.secret.retain(|secret| secret != text);
        remember(&mut texts.open, text);
    }

    fn lock(&self) -> MutexGuard<'_, Texts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `text` without them.
    pub fn mask(&self, text: &str) -> Option<String> {
        let texts = self.lock();
        let mut masked: Option<String> = None;
        for secret in &texts.secret {
            let now = masked.as_deref().unwrap_or(text);
            if now == secret {
                return Some(MASK.to_owned());
            }
            if secret.len() >= SHORTEST_WITHIN && now.contains(secret.as_str()) {
                masked = Some(now.replace(secret.as_str(), MASK));
            }
        }
        masked
    }

    /// Masks them in `text`.
    pub fn mask_text(&self, text: &mut String) {
        if let Some(masked) = self.mask(text) {
            *text = masked;
        }
    }

    /// Masks every text in `value`.
    pub fn mask_json(&self, value: &mut Value) {
        if !self.is_empty() {
            each_text(value, &mut |text| self.mask_text(text));
        }
    }

    fn is_empty(&self) -> bool {
        self.lock().secret.is_empty()
    }
}

fn remember(texts: &mut Vec<String>, text: &str) {
    if text.is_empty() || texts.iter().any(|known| known == text) {
        return;
    }
    if texts.len() == MOST {
        texts.remove(0);
    }
    texts.push(text.to_owned());
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
    fn a_short_secret_is_masked_only_where_it_stands_alone() {
        let secrets = Secrets::default();
        secrets.add("abc");
        secrets.add("correct horse");
        let mut value = json!({"a": "abc", "b": "abcd", "c": ["say correct horse twice: correct horse"]});
        secrets.mask_json(&mut value);
        assert_eq!(value, json!({"a": MASK, "b": "abcd", "c": ["say •••• twice: ••••"]}));
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
