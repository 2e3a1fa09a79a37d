//! Calls that are passed on to the upstream server, and their results, which are recorded without
//! pictures and typed text.

use serde_json::{Map, Value};

use super::{
    progress::{Progress, Stage},
    typed::TypedPath,
};
use crate::{
    store,
    upstream::{OnProgress, ProgressReport},
};

/// A field whose description contains one of these texts, or the word "PIN", counts as secret,
/// because the server does not report the kind of field.
const SECRET_TEXTS: [&str; 5] = ["passw", "passphrase", "secret", "token", "one-time"];
/// Minimum length of typed values that are masked; shorter ones occur everywhere.
const MIN_LENGTH: usize = 3;

/// Where the typing tools of known servers (Playwright's, Chrome DevTools') have the text. A server
/// does not say which of its parameters are typed.
const TYPED: &[(&str, &str)] = &[
    ("browser_type", "/text"),
    ("browser_fill_form", "/fields/*/value"),
    ("type_text", "/text"),
    ("type", "/text"),
    ("fill", "/value"),
    ("fill_form", "/elements/*/value"),
    ("fill_form", "/fields/*/value"),
];

/// Returns the parameters of an upstream tool that contain typed text.
pub(super) fn typed_by(tool: &str) -> Vec<TypedPath> {
    TYPED.iter().filter(|(name, _)| *name == tool).map(|(_, path)| TypedPath::text(path)).collect()
}

/// Returns a callback that passes the upstream server's progress on.
pub(super) fn progress_callback(progress: Progress) -> OnProgress {
    Box::new(move |ProgressReport { progress: done, total, message }| {
        progress.report(Stage { done, total, step: message });
    })
}

/// Returns the result with a number in place of the data of each picture, and the pictures.
pub(super) fn without_pictures(result: &Value) -> (Value, Vec<store::Picture>) {
    let mut result = result.clone();
    let mut pictures = Vec::new();
    for part in result["content"]
        .as_array_mut()
        .into_iter()
        .flatten()
        .filter(|part| part["type"] == "image")
    {
        let mime_type = part["mimeType"].as_str().unwrap_or("image/png").to_owned();
        let Some(picture) =
            store::Picture::decoded(&mime_type, part["data"].as_str().unwrap_or_default())
        else {
            continue;
        };
        pictures.push(picture);
        part["data"] = "".into();
        part["picture"] = pictures.len().into();
    }
    (result, pictures)
}

/// Returns the text of a result.
pub(super) fn text_of(result: &Value) -> String {
    let parts = result["content"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// Replaces typed text by `mask` in every text of the result, because a server repeats it in code.
pub(super) fn mask_typed(result: &mut Value, typed: &[&str], mask: &str) {
    match result {
        Value::String(text) => {
            for typed in typed.iter().filter(|typed| typed.len() >= MIN_LENGTH) {
                *text = text.replace(typed, mask);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|part| mask_typed(part, typed, mask)),
        Value::Object(map) => map.values_mut().for_each(|part| mask_typed(part, typed, mask)),
        _ => {}
    }
}

/// Returns the texts that a call types into fields with a secret description.
pub(super) fn secrets(arguments: &Map<String, Value>) -> Vec<String> {
    let lists =
        ["fields", "elements"].iter().filter_map(|name| arguments.get(*name)?.as_array()).flatten();
    let fields = lists.filter_map(Value::as_object).chain([arguments]);
    let secret = fields.filter(|field| {
        let words = ["element", "name", "target", "ref"]
            .iter()
            .filter_map(|name| field.get(*name)?.as_str());
        words.map(str::to_lowercase).any(|words| is_secret_name(&words))
    });
    let values =
        secret.filter_map(|field| field.get("text").or_else(|| field.get("value"))?.as_str());
    values.map(str::to_owned).collect()
}

/// Returns whether a description in lower case is that of a secret field.
fn is_secret_name(description: &str) -> bool {
    SECRET_TEXTS.iter().any(|secret| description.contains(secret))
        || description
            .split(|character: char| !character.is_alphanumeric())
            .any(|word| word == "pin")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{session::StoredTexts, tools::budget::fit_passed};

    #[test]
    fn text_over_the_budget_is_cut_and_pictures_are_kept() {
        let results = StoredTexts::default();
        let picture = json!({"type": "image", "data": "AAAA", "mimeType": "image/png"});
        let text = |text: String| json!({"type": "text", "text": text});
        let long = json!({"content": [text("a".repeat(900)), picture, text("b".repeat(900))]});
        let fitted = fit_passed(long.clone(), "r", 1000, &results);
        let content = fitted["content"].as_array().unwrap();
        assert_eq!(content.len(), 2);
        assert!(content[0]["text"].as_str().unwrap().contains("get_content"));
        assert_eq!(content[1], picture);
        assert_eq!(results.get(Some("r")).unwrap().text.len(), 1801);
        let mut structured = long;
        structured["structuredContent"] = json!({"a": 1});
        assert_eq!(fit_passed(structured.clone(), "r", 1000, &results), structured);
    }

    #[test]
    fn pictures_are_separated_from_the_result() {
        let result = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}], "_meta": {"a": 1}});
        let (without, pictures) = without_pictures(&result);
        assert_eq!(
            without,
            json!({
                "content": [{"type": "image", "data": "", "mimeType": "image/png", "picture": 1}], "_meta": {"a": 1},
            })
        );
        assert_eq!(pictures[0].data, [0, 0, 0]);
    }

    #[test]
    fn text_for_a_field_with_a_secret_description_is_a_secret() {
        let arguments = |value: Value| value.as_object().cloned().unwrap_or_default();
        let typed =
            arguments(json!({"element": "Password field", "target": "e5", "text": "hunter2"}));
        assert_eq!(secrets(&typed), ["hunter2"]);
        let form = arguments(json!({"fields": [
            {"name": "User", "target": "e4", "value": "me"}, {"name": "API token", "target": "e5", "value": "t0k3n"},
        ]}));
        assert_eq!(secrets(&form), ["t0k3n"]);
        assert!(secrets(&arguments(json!({"element": "Search", "text": "x"}))).is_empty());
    }
}
