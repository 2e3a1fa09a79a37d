//! Changes parts of a JSON text and leaves all its other bytes as they are: spaces, numbers,
//! escapes, the order of fields.

use std::{borrow::Cow, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, value::RawValue};

/// Returns `text`, which is the JSON of `before`, changed so that it is the JSON of `after`.
///
/// A text with repeated fields is written again: `before` has only the last of them, and another
/// one could contain what `after` omits.
pub(super) fn rewrite(text: &str, before: &Value, after: &Value) -> String {
    if before == after && !may_have_repeated_fields(text, before) {
        return text.to_owned();
    }
    let whole = serde_json::from_str::<&RawValue>(text)
        .ok()
        .filter(|_| !may_have_repeated_fields(text, before));
    let Some(whole) = whole else { return after.to_string() };
    let mut edits = Vec::new();
    collect(text, whole, before, after, &mut edits);
    let (mut rewritten, mut at) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in edits {
        rewritten.push_str(&text[at..range.start]);
        rewritten.push_str(&replacement);
        at = range.end;
    }
    rewritten.push_str(&text[at..]);
    rewritten
}

/// Adds the changes of `part`, a part of `text`, in the order of the text.
fn collect(
    text: &str,
    part: &RawValue,
    before: &Value,
    after: &Value,
    edits: &mut Vec<(Range<usize>, String)>,
) {
    if before == after {
        return;
    }
    let begin = part.get().as_ptr() as usize - text.as_ptr() as usize;
    let end = begin + part.get().len();
    let replacement = || (begin..end, after.to_string());
    match (before, after) {
        (Value::Object(old), Value::Object(new))
            if old.keys().all(|name| new.contains_key(name)) =>
        {
            let Ok(Fields(fields)) = serde_json::from_str(part.get()) else {
                return edits.push(replacement());
            };
            for (name, field) in fields {
                collect(text, field, &before[&*name], &after[&*name], edits);
            }
            let mut separator = if old.is_empty() { "" } else { "," };
            for (name, value) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
                let field = format!("{separator}{}:{value}", Value::from(name.as_str()));
                edits.push((end - 1..end - 1, field));
                separator = ",";
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(part.get()) else {
                return edits.push(replacement());
            };
            for ((item, old), new) in items.into_iter().zip(old).zip(new) {
                collect(text, item, old, new, edits);
            }
        }
        _ => edits.push(replacement()),
    }
}

/// The fields of an object, as written in the text.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;
        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((Cow::from(name), value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Returns whether `text` has more fields than its parsed `value`: some are repeated.
fn may_have_repeated_fields(text: &str, value: &Value) -> bool {
    let Ok(FieldCount(count)) = serde_json::from_str(text) else { return true };
    count != fields_in(value)
}

fn fields_in(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(fields_in).sum(),
        Value::Object(fields) => fields.len() + fields.values().map(fields_in).sum::<usize>(),
        _ => 0,
    }
}

/// The number of fields in a JSON text, at every depth.
struct FieldCount(usize);

impl<'de> Deserialize<'de> for FieldCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldCountVisitor;
        impl<'de> Visitor<'de> for FieldCountVisitor {
            type Value = FieldCount;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("JSON")
            }

            fn visit_bool<E>(self, _: bool) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_i64<E>(self, _: i64) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_u64<E>(self, _: u64) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_f64<E>(self, _: f64) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_str<E>(self, _: &str) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_unit<E>(self) -> Result<FieldCount, E> {
                Ok(FieldCount(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<FieldCount, A::Error> {
                let mut count = 0;
                while let Some(FieldCount(within)) = items.next_element()? {
                    count += within;
                }
                Ok(FieldCount(count))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<FieldCount, A::Error> {
                let mut count = 0;
                while let Some((IgnoredAny, FieldCount(within))) = fields.next_entry()? {
                    count += 1 + within;
                }
                Ok(FieldCount(count))
            }
        }
        deserializer.deserialize_any(FieldCountVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::session::any_json::any_json;

    const TEXT: &str = "[a-c\"é\n]{0,4}";

    fn changed(text: &str, change: impl FnOnce(&mut Value)) -> String {
        let before: Value = serde_json::from_str(text).unwrap();
        let mut after = before.clone();
        change(&mut after);
        rewrite(text, &before, &after)
    }

    #[test]
    fn only_changed_parts_are_rewritten() {
        let text = r#"{ "n": 1.50e2,  "a": ["\u00fc", "pass", {"b":"\/"}], "data" : "QUJD" }"#;
        assert_eq!(changed(text, |_| {}), text);
        assert_eq!(
            changed(text, |value| {
                value["a"][1] = "x\"".into();
                value["data"] = "".into();
                value["picture"] = 1.into();
            }),
            r#"{ "n": 1.50e2,  "a": ["\u00fc", "x\"", {"b":"\/"}], "data" : "" ,"picture":1}"#
        );
        assert_eq!(changed(r#"{"a":{}}"#, |value| value["a"]["b"] = 1.into()), r#"{"a":{"b":1}}"#);
        let fewer = changed(r#"[ {"a": 1, "b": 2.0} ]"#, |value| value[0] = json!({"b": 2.0}));
        assert_eq!(fewer, r#"[ {"b":2.0} ]"#);
    }

    #[test]
    fn a_repeated_field_cannot_contain_masked_text() {
        assert_eq!(changed(r#"{"a": "secret", "a": "open"}"#, |_| {}), r#"{"a":"open"}"#);
    }

    proptest! {
        #[test]
        fn the_rewritten_text_has_the_new_value(one in any_json(TEXT, "[a-c]"), other in any_json(TEXT, "[a-c]")) {
            for text in [one.to_string(), serde_json::to_string_pretty(&one).unwrap()] {
                let rewritten = rewrite(&text, &one, &other);
                prop_assert_eq!(serde_json::from_str::<Value>(&rewritten).unwrap(), other.clone());
            }
        }
    }
}
