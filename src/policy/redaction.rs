//! What is never written in clear: passwords that were typed, and (unless the user wants them) what lets others in as
//! the user: `Authorization`, cookies.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// What stands for a text that is not written.
pub const MASK: &str = "••••";
/// Texts of a session that are remembered; the oldest go first.
const MOST: usize = 100;
/// A shorter one is masked only where it is the whole of a text: every page has an `a` in it.
const SHORTEST_WITHIN: usize = 6;
/// Headers, in lower case.
const HEADERS: &[&str] = &["authorization", "proxy-authorization", "cookie", "set-cookie"];

/// The texts of one session that must not be written.
#[derive(Debug, Default)]
pub struct Secrets(Mutex<Vec<String>>);

impl Secrets {
    /// Remembers a text.
    pub fn add(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|known| known == text) {
            if known.len() == MOST {
                known.remove(0);
            }
            known.push(text.to_owned());
        }
    }

    /// `text` without them.
    pub fn mask(&self, text: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut masked: Option<String> = None;
        for secret in known.iter() {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

/// Masks the values of cookies and of headers that let others in.
pub fn mask_credentials(value: &mut Value) {
    match value {
        Value::Object(map) => {
            let named = map.get("name").and_then(Value::as_str).is_some_and(is_credential);
            for (key, value) in map.iter_mut() {
                if is_credential(key) || (named && key == "value") {
                    each_text(value, &mut |text| *text = MASK.to_owned());
                } else if key == "cookies" {
                    value.as_array_mut().into_iter().flatten().for_each(mask_cookie);
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

fn mask_cookie(cookie: &mut Value) {
    if let Some(value) = cookie.get_mut("value") {
        each_text(value, &mut |text| *text = MASK.to_owned());
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
