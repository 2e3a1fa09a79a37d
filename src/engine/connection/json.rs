//! Parses a browser's JSON, which can contain lone surrogates that serde rejects.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

/// Parses `text`. Replaces lone surrogates (`\\ud83d`), which JavaScript strings may contain, by
/// U+FFFD.
pub fn read_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    serde_json::from_str(text).or_else(|error| match replace_lone_surrogates(text) {
        Cow::Borrowed(_) => Err(error),
        Cow::Owned(repaired) => serde_json::from_str(&repaired),
    })
}

/// Returns the JSON `text` with every lone surrogate replaced.
pub fn repair_json(text: String) -> String {
    if memchr::memmem::find(text.as_bytes(), br"\ud").is_none() {
        return text;
    }
    match replace_lone_surrogates(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(repaired) => repaired,
    }
}

/// Returns `text` with every lone surrogate escape replaced.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u32> {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let mut repaired = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) => at += 12,
            Some(0xD800..=0xDFFF) => {
                repaired.push_str(&text[copied..at]);
                repaired.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // After an escaped backslash, `u` is a plain letter.
            _ => at += 2,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    repaired.push_str(&text[copied..]);
    Cow::Owned(repaired)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_lone_surrogate_becomes_the_replacement_character() {
        for (json, text) in [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00""#, "\u{1f600}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d""#, "\\\u{fffd}"),
        ] {
            assert_eq!(read_json::<String>(json).unwrap(), text, "{json}");
        }
        assert!(read_json::<String>("\"\\u12").is_err());
    }

    proptest! {
        #[test]
        fn any_utf16_string_can_be_parsed(units in proptest::collection::vec(any::<u16>(), 0..20)) {
            let json: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read = read_json::<String>(&format!("\"{json}\"")).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }

        #[test]
        fn no_text_causes_a_panic(text in ".*") {
            let _ = read_json::<serde_json::Value>(&text);
        }
    }
}
