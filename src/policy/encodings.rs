//! The encodings in which pages and protocols write a text: URL-encoded, escaped for JSON or HTML,
//! base64. Masking searches for a secret in all of them.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// Minimum length of an encoded part. Shorter parts occur in other texts by chance.
const MIN_BASE64_LENGTH: usize = 4;
/// The characters that `encodeURIComponent` escapes. Forms differ only in the space.
const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
const FORM: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'*').remove(b' ');
/// Escapes a text like browsers do in a fragment.
const FRAGMENT: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'`');
/// Escapes a text like browsers do in a query.
const QUERY: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'<').add(b'>').add(b'\'');

/// An encoding of a text.
pub(super) struct EncodedText {
    /// The name of the encoding; empty for the plain text.
    pub kind: String,
    pub text: String,
}

/// Returns the encodings of a text, the plain text first. Omits duplicates.
pub(super) fn encodings_of(value: &str) -> Vec<EncodedText> {
    let percent = |set: &'static AsciiSet| utf8_percent_encode(value, set).to_string();
    let lower = |text: &str| {
        // Only the digits of `%2F`: the rest is the secret itself.
        let mut lowered = String::with_capacity(text.len());
        let mut after = 0;
        for character in text.chars() {
            lowered.push(if after > 0 { character.to_ascii_lowercase() } else { character });
            after = if character == '%' { 2 } else { i32::max(after - 1, 0) };
        }
        lowered
    };
    let form = percent(FORM).replace(' ', "+");
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.trim_start_matches('"').strip_suffix('"').unwrap_or(&json).to_owned();
    let ascii: String = value
        .encode_utf16()
        .map(|unit| match u8::try_from(unit) {
            Ok(byte @ 0x20..0x7f) if byte != b'"' && byte != b'\\' => char::from(byte).to_string(),
            _ => format!("\\u{unit:04x}"),
        })
        .collect();
    let html_of = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let html = html_of(value);
    let mut forms = vec![
        (String::new(), value.to_owned()),
        ("json".to_owned(), json.clone()),
        ("ascii".to_owned(), ascii),
        ("js-quoted".to_owned(), json.replace("\\\"", "\"").replace('\'', "\\'")),
        ("json-twice".to_owned(), json.replace('\\', "\\\\").replace('"', "\\\"")),
        ("json-html".to_owned(), html_of(&json)),
        ("html".to_owned(), html.clone()),
        ("html-quoted".to_owned(), html.replace('"', "&quot;").replace('\'', "&#39;")),
    ];
    for (name, text) in [
        ("url", percent(COMPONENT)),
        ("form", form),
        ("query", percent(QUERY)),
        ("fragment", percent(FRAGMENT)),
        ("every", percent(NON_ALPHANUMERIC)),
    ] {
        forms.push((format!("{name}-lower"), lower(&text)));
        forms.push((name.to_owned(), text));
    }
    // The encoding depends on the position of the secret in the encoded text, modulo three.
    for shift in 0..3 {
        let bytes = [vec![0; shift], value.as_bytes().to_vec()].concat();
        // The characters that encode only bits of the secret.
        let (begin, end) = ((shift * 8).div_ceil(6), bytes.len() * 8 / 6);
        for (name, text) in [
            ("base64", STANDARD_NO_PAD.encode(&bytes)),
            ("base64url", URL_SAFE_NO_PAD.encode(&bytes)),
        ] {
            if let Some(text) = text.get(begin..end).filter(|text| text.len() >= MIN_BASE64_LENGTH)
            {
                forms.push((format!("{name}-{shift}"), text.to_owned()));
            }
        }
    }
    forms.into_iter().map(|(kind, text)| EncodedText { kind, text }).collect()
}
