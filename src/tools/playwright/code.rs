//! Writes JavaScript for the Playwright test runner.

use serde_json::Value;

/// Quotes `text` as a JavaScript string with `quote`.
pub(super) fn quote_with(text: &str, quote: char) -> String {
    let json = Value::from(text).to_string();
    let inner = json[1..json.len() - 1].replace("\\\"", "\"");
    let escaped = inner.replace(quote, &format!("\\{quote}"));
    format!("{quote}{escaped}{quote}")
}

/// Quotes `text` as a JavaScript string in single quotes.
pub(super) fn quote(text: &str) -> String {
    quote_with(text, '\'')
}

/// Writes `text` for the inside of a template literal.
pub(super) fn in_template_literal(text: &str) -> String {
    text.replace('\\', "\\\\").replace('`', "\\`").replace("${", "\\${")
}

/// Writes a value as JavaScript: the keys of objects sorted, each on its own line.
pub(super) fn object(value: &Value) -> String {
    written(value, true)
}

/// Writes a value as JavaScript on one line.
pub(super) fn inline_object(value: &Value) -> String {
    written(value, false)
}

fn written(value: &Value, multiline: bool) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(object).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let mut names: Vec<&String> = map.keys().filter(|name| *name != "timeout").collect();
            names.sort();
            let fields: Vec<String> =
                names.iter().map(|name| format!("{name}: {}", object(&map[*name]))).collect();
            if fields.is_empty() {
                "{}".to_owned()
            } else if multiline {
                format!("{{\n  {}\n}}", fields.join(",\n  "))
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
        other => other.to_string(),
    }
}

/// Writes an object as the last argument of a call; empty without fields.
pub(super) fn options(value: &Value) -> String {
    match object(value) {
        empty if empty == "{}" => String::new(),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strings_and_objects_are_written_as_playwright_writes_them() {
        assert_eq!(quote("it's \"a\"\n\\"), r#"'it\'s "a"\n\\'"#);
        assert_eq!(
            object(&json!({"path": "a.png", "fullPage": true, "timeout": 5})),
            "{\n  fullPage: true,\n  path: 'a.png'\n}"
        );
        assert_eq!(in_template_literal("\\ ` ${x} $"), "\\\\ \\` \\${x} $");
        assert_eq!(options(&json!({})), "");
        assert_eq!(inline_object(&json!({"media": null})), "{ media: null }");
    }
}
