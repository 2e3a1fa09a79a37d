//! Prompts: templates for common tasks that a client offers its user. Five are built in. They have
//! the same YAML format as those that `--prompts` adds.

mod file;
mod print;

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use handlebars::RenderErrorReason;
use serde_json::{Map, Value};

use crate::{
    config::nearest,
    error::{ErrorCode, Result, TroupeError},
};

pub use file::{Prompt, PromptArgument};

const BUILT_IN: &[&str] = &[
    include_str!("built_in/scrape_website.yaml"),
    include_str!("built_in/fill_form.yaml"),
    include_str!("built_in/visual_regression.yaml"),
    include_str!("built_in/authenticate.yaml"),
    include_str!("built_in/e2e_test.yaml"),
];

/// Replaces a password in a rendered prompt.
const REDACTED: &str = "[REDACTED]";
/// Maximum number of files in a folder of prompts.
const MAX_FILES: usize = 1000;
/// Maximum length of a rendered prompt in bytes.
const MAX_TEXT_LENGTH: usize = 1024 * 1024;

/// The prompts of a server, by name.
#[derive(Default)]
pub struct Prompts(Vec<Prompt>);

impl Prompts {
    /// Loads the built-in prompts and those of `folder`, which replace built-in prompts of the same
    /// name.
    pub fn load(folder: Option<&Path>) -> Result<Self> {
        let mut prompts = Vec::new();
        for text in BUILT_IN {
            let prompt = Prompt::parse(text).map_err(|error| {
                TroupeError::new(
                    ErrorCode::InternalError,
                    format!("a built-in prompt is invalid: {error}"),
                )
            })?;
            prompts.push(prompt);
        }
        let Some(folder) = folder else { return Ok(Self(prompts)) };
        let mut found_in: BTreeMap<String, String> = BTreeMap::new();
        for path in files(folder)? {
            let shown = path.display().to_string();
            let text = fs::read_to_string(&path)
                .map_err(|error| wrong(&shown, None, &error.to_string()))?;
            let prompt =
                Prompt::parse(&text).map_err(|error| wrong(&shown, error.line, &error.problem))?;
            if let Some(other) = found_in.insert(prompt.name.clone(), shown.clone()) {
                return Err(wrong(
                    &shown,
                    None,
                    &format!("the prompt `{}` is in {other} too", prompt.name),
                ));
            }
            match prompts.iter_mut().find(|built_in| built_in.name == prompt.name) {
                Some(built_in) => *built_in = prompt,
                None => prompts.push(prompt),
            }
        }
        Ok(Self(prompts))
    }

    pub fn all(&self) -> &[Prompt] {
        &self.0
    }

    pub fn get(&self, name: &str) -> Result<&Prompt> {
        self.0.iter().find(|prompt| prompt.name == name).ok_or_else(|| {
            let near = nearest(name, self.0.iter().map(|prompt| prompt.name.as_str()));
            let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            TroupeError::new(
                ErrorCode::InvalidParameters,
                format!("there is no prompt `{name}`{near}"),
            )
        })
    }
}

fn wrong(file: &str, line: Option<u64>, problem: &str) -> TroupeError {
    let place = line.map(|line| format!(":{line}")).unwrap_or_default();
    TroupeError::new(ErrorCode::InvalidParameters, format!("--prompts: {file}{place}: {problem}"))
}

/// Returns the YAML files of a folder, sorted by name.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let shown = folder.display().to_string();
    let unreadable = |error: std::io::Error| wrong(&shown, None, &error.to_string());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        if is_yaml {
            files.push(path);
        }
    }
    if files.len() > MAX_FILES {
        return Err(wrong(
            &shown,
            None,
            &format!("it has {} files; the limit is {MAX_FILES}", files.len()),
        ));
    }
    files.sort();
    Ok(files)
}

impl Prompt {
    /// Renders the prompt with these arguments.
    pub fn render(&self, given: Map<String, Value>) -> Result<String> {
        let (data, texts) = self.data(given)?;
        let rendered = print::printing(&self.template, texts).render(file::TEMPLATE, &data);
        let text = rendered.map_err(|error| {
            let reason = match error.reason() {
                RenderErrorReason::NestedError(inner) => inner.to_string(),
                reason => reason.to_string(),
            };
            self.refusal(&format!("the template cannot be rendered: {reason}"))
        })?;
        if text.len() > MAX_TEXT_LENGTH {
            return Err(self.refusal(&format!("the text has more than {MAX_TEXT_LENGTH} bytes")));
        }
        Ok(text)
    }

    fn refusal(&self, problem: &str) -> TroupeError {
        TroupeError::new(ErrorCode::InvalidParameters, format!("prompt `{}`: {problem}", self.name))
    }

    /// Returns the data for the template: checked, with defaults, without passwords. Also returns
    /// the original texts of parsed arguments.
    fn data(
        &self,
        mut given: Map<String, Value>,
    ) -> Result<(Map<String, Value>, HashMap<String, String>)> {
        // A form that a user leaves empty sends an empty text.
        given.retain(|_, value| !value.is_null() && value.as_str() != Some(""));
        let names = || self.arguments.iter().map(|argument| argument.name.as_str());
        if let Some(unknown) =
            given.keys().find(|name| !names().any(|known| known == name.as_str()))
        {
            let near = nearest(unknown, names()).map(|near| format!("; did you mean `{near}`?"));
            return Err(self.refusal(&format!(
                "there is no argument `{unknown}`{}",
                near.unwrap_or_default()
            )));
        }
        let (mut data, mut texts) = (Map::new(), HashMap::new());
        let mut missing = Vec::new();
        for argument in &self.arguments {
            let value = given
                .remove(&argument.name)
                .or_else(|| argument.default.clone().map(Value::String));
            match value {
                Some(_) if argument.is_secret() => {
                    data.insert(argument.name.clone(), REDACTED.into());
                }
                Some(value) => {
                    texts.extend(
                        value.as_str().map(|text| (argument.name.clone(), text.to_owned())),
                    );
                    data.insert(argument.name.clone(), self.value(argument, value)?);
                }
                None if argument.required => missing.push(format!("`{}`", argument.name)),
                None => {}
            }
        }
        if missing.is_empty() {
            return Ok((data, texts));
        }
        let (word, verb) =
            if missing.len() == 1 { ("argument", "is") } else { ("arguments", "are") };
        Err(self.refusal(&format!("the {word} {} {verb} missing", missing.join(", "))))
    }

    /// In the protocol, arguments are strings: a string that is valid JSON is parsed.
    fn value(&self, argument: &PromptArgument, value: Value) -> Result<Value> {
        let Value::String(text) = value else { return Ok(value) };
        let looks_like_json = text.trim_start().starts_with(['{', '[']);
        match serde_json::from_str::<Value>(&text) {
            Ok(parsed @ (Value::Object(_) | Value::Array(_))) => Ok(parsed),
            _ if !argument.is_json => Ok(Value::String(text)),
            Err(error) if looks_like_json => {
                Err(self.refusal(&format!("the argument `{}` is not JSON: {error}", argument.name)))
            }
            _ => {
                let problem =
                    format!("the argument `{}` must be a JSON object or array", argument.name);
                Err(self.refusal(&problem))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn render(name: &str, given: Value) -> Result<String> {
        Prompts::load(None).unwrap().get(name).unwrap().render(arguments(given))
    }

    #[test]
    fn built_in_prompts_have_the_documented_text() {
        let cases = [
            (
                "scrape_website",
                json!({"url": "http://a/?b=1&c=2", "selectors": r#"{"title": "h1 > a", "price": ".p"}"#}),
            ),
            ("fill_form", json!({"url": "http://a/", "form_data": r#"{"name": "O'Hara <x>"}"#})),
            ("visual_regression", json!({"url": "http://a/", "baseline_screenshot": "before.png"})),
            ("authenticate", json!({"url": "http://a/", "username": "ada", "password": "hunter2"})),
            ("e2e_test", json!({"test_scenario": "buy a book", "start_url": "http://a/"})),
        ];
        let texts: Vec<String> = cases
            .into_iter()
            .map(|(name, given)| format!("## {name}\n{}", render(name, given).unwrap()))
            .collect();
        let texts = texts.join("\n");
        assert!(!texts.contains("hunter2"));
        insta::assert_snapshot!(texts);
    }

    #[test]
    fn invalid_arguments_are_reported() {
        let messages: Vec<String> = [
            json!({"url": "http://a/"}),
            json!({}),
            json!({"url": "", "selectors": "{}"}),
            json!({"url": "http://a/", "selectors": "{\"a\""}),
            json!({"url": "http://a/", "selectors": "h1"}),
            json!({"url": "http://a/", "selector": "{}"}),
        ]
        .into_iter()
        .map(|given| {
            format!("{given}: {}", render("scrape_website", given.clone()).unwrap_err().message)
        })
        .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn errors_in_a_file_are_reported_with_their_line() {
        let messages: Vec<String> = [
            "name: a\ntemplate: |\n  one\n  {{#each x}}\n  two\n",
            "name: a\ntemplate: '{{#each'\n",
            "name: a\ntemplat: x\n",
            "name: a\n",
            "name: [a\n",
            "name: a b\ntemplate: x\n",
            "name: a\narguments:\n  - name: x\n  - name: x\ntemplate: y\n",
            "name: a\narguments:\n  - name: x\n    required: perhaps\ntemplate: y\n",
            "",
        ]
        .iter()
        .map(|text| format!("{text:?}\n   {}", Prompt::parse(text).map(|_| ()).unwrap_err()))
        .collect();
        insta::assert_snapshot!(messages.join("\n"));
    }

    #[test]
    fn an_argument_that_is_json_is_printed_as_it_was_given() {
        let rendered = |template: &str, given: Value| {
            let arguments_ = "arguments:\n  - name: x\n  - name: y\n    default: '[1]'\n";
            let quoted = serde_json::to_string(template).unwrap();
            let prompt =
                Prompt::parse(&format!("name: a\n{arguments_}template: {quoted}\n")).unwrap();
            prompt.render(arguments(given)).unwrap()
        };
        let text = "{\"b\": [1,  {\"c\": null}], \"a\": \"<\"}";
        for (template, expected) in [
            ("{{x}}", text),
            ("{{{x}}} {{y}}", &format!("{text} [1]")),
            (
                "{{#if y}}{{x}}{{else}}{{/if}}{{#unless y}}{{else}}{{x}}{{/unless}}",
                &format!("{text}{text}"),
            ),
            ("{{#each y}}{{../x}}{{/each}}", text),
            ("{{x.a}} {{x.b}} {{x.b.[1].c}}.", "< [1,{\"c\":null}] ."),
            ("{{#each x}}{{@key}}={{this}};{{/each}}", "b=[1,{\"c\":null}];a=<;"),
            ("{{#each x.b}}{{@key}}={{this}};{{/each}}", "0=1;1={\"c\":null};"),
            (
                "{{#each x}}{{#if @first}}{{#each this}}{{@key}}{{/each}}{{/if}}{{@key}}{{/each}}",
                "01ba",
            ),
            ("{{z}}{{#with x}}{{a}}{{x}}{{/with}}{{len x}}", "<2"),
        ] {
            assert_eq!(rendered(template, json!({"x": text})), expected, "{template}");
        }
        let entries = json!([1]);
        assert_eq!(rendered("{{x}}", json!({"x": entries})), "[1]");
        assert_eq!(rendered("{{x}}", json!({"x": 7})), "7");
    }

    proptest! {
        #[test]
        fn text_is_printed_unchanged(text in "[ \\[{]*[^\u{0}]+") {
            let printed = render("e2e_test", json!({"test_scenario": text.clone(), "start_url": "http://a/"}));
            let begins = format!("Execute this E2E test scenario: {text}\n");
            prop_assert!(printed.unwrap().starts_with(&begins));
        }

        #[test]
        fn no_file_causes_a_panic(text in any::<String>(), template in any::<String>()) {
            let _ = Prompt::parse(&text);
            let quoted = serde_json::to_string(&template).unwrap();
            let written = format!("name: a\narguments:\n  - name: x\ntemplate: {quoted}\n");
            if let Ok(prompt) = Prompt::parse(&written) {
                let _ = prompt.render(arguments(json!({"x": "y"})));
            }
        }

        #[test]
        fn no_template_causes_a_panic(parts in proptest::collection::vec(prop_oneof![
            Just("{{"), Just("}}"), Just("{{{"), Just("}}}"), Just("#each x"), Just("/each"), Just("x"), Just("@key"),
            Just("#if x"), Just("/if"), Just("else"), Just("../"), Just("this"), Just("> p"), Just("~"), Just(" "), Just("\n"),
        ], 0..20)) {
            let quoted = serde_json::to_string(&parts.concat()).unwrap();
            if let Ok(prompt) = Prompt::parse(&format!("name: a\narguments:\n  - name: x\ntemplate: {quoted}\n")) {
                let _ = prompt.render(arguments(json!({"x": r#"{"a": [1, {"b": null}]}"#})));
            }
        }

        #[test]
        fn a_password_is_never_rendered(password in "[a-zA-Z0-9]{12,30}") {
            let text = render("authenticate", json!({"url": "http://a/", "username": "ada", "password": password.clone()}));
            prop_assert!(!text.unwrap().contains(&password));
        }
    }
}
