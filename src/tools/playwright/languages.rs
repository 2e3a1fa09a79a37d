//! Translates generated JavaScript to the other languages of Playwright.

use super::code::quote_with;
use crate::config::{Codegen, snake_case};

/// An expression of generated code.
#[derive(Debug, PartialEq)]
enum Expression {
    Text(String),
    Pattern {
        source: String,
        flags: String,
    },
    /// A number or a boolean.
    Word(String),
    /// An environment variable: `process.env['NAME']`.
    Variable(String),
    Array(Vec<Expression>),
    Object(Vec<(String, Expression)>),
    Chain(Vec<Step>),
}

/// A call or property in a chain, such as `first()`.
#[derive(Debug, PartialEq)]
struct Step {
    name: String,
    arguments: Vec<Expression>,
}

/// Translates a statement that performs or asserts one thing on `page`. Returns it unchanged if
/// `language` is JavaScript, or if it has a form that generated actions do not have.
pub(super) fn translate(statement: &str, language: Codegen) -> String {
    let writer = match language {
        Codegen::Typescript | Codegen::None => return statement.to_owned(),
        Codegen::Python | Codegen::Java | Codegen::Csharp => CodeWriter { language },
    };
    let expression = statement.strip_prefix("await ").and_then(|rest| rest.strip_suffix(';'));
    match expression.and_then(parse) {
        Some(Expression::Chain(steps)) => match language {
            Codegen::Python => writer.chain(&steps, true),
            Codegen::Java => format!("{};", writer.chain(&steps, true)),
            _ => format!("await {};", writer.chain(&steps, true)),
        },
        _ => statement.to_owned(),
    }
}

fn parse(code: &str) -> Option<Expression> {
    let mut parser = Parser { rest: code };
    let expression = parser.expression()?;
    parser.rest.is_empty().then_some(expression)
}

/// Parses the JavaScript that this tool set generates.
struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn skip(&mut self, token: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn word(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let length = text
            .find(|character: char| !character.is_ascii_alphanumeric() && character != '-')
            .unwrap_or(text.len());
        let (word, rest) = text.split_at(length);
        self.rest = rest;
        (!word.is_empty()).then(|| word.to_owned())
    }

    /// Reads until an unescaped `end`, which it skips. Keeps the escapes.
    fn until(&mut self, end: char) -> Option<String> {
        let mut is_escaped = false;
        let position = self.rest.find(|character| {
            let ends = character == end && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
            ends
        })?;
        let text = self.rest[..position].to_owned();
        self.rest = &self.rest[position + end.len_utf8()..];
        Some(text)
    }

    fn expression(&mut self) -> Option<Expression> {
        if self.skip("process.env['") {
            let name = self.until('\'')?;
            return self.skip("]").then_some(Expression::Variable(name));
        }
        if self.skip("'") {
            let escaped = self.until('\'')?;
            return unescape(&escaped).map(Expression::Text);
        }
        if self.skip("`") {
            return Some(Expression::Text(snapshot_text(&self.until('`')?)));
        }
        if self.skip("/") {
            let source = self.pattern_source()?;
            let flags = self.word().unwrap_or_default();
            return Some(Expression::Pattern { source, flags });
        }
        if self.skip("[") {
            return self.list("]", Self::expression).map(Expression::Array);
        }
        if self.skip("{") {
            let fields = self.list("}", |parser| {
                let name = parser.word()?;
                parser.skip(":").then_some(())?;
                Some((name, parser.expression()?))
            });
            return fields.map(Expression::Object);
        }
        let word = self.word()?;
        if word == "true" || word == "false" || word.parse::<f64>().is_ok() {
            return Some(Expression::Word(word));
        }
        let mut steps = vec![self.step(word)?];
        while self.skip(".") {
            let name = self.word()?;
            steps.push(self.step(name)?);
        }
        Some(Expression::Chain(steps))
    }

    fn step(&mut self, name: String) -> Option<Step> {
        let arguments = if self.skip("(") { self.list(")", Self::expression)? } else { Vec::new() };
        Some(Step { name, arguments })
    }

    fn list<T>(&mut self, end: &str, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        while !self.skip(end) {
            if !items.is_empty() && !self.skip(",") {
                return None;
            }
            items.push(item(self)?);
        }
        Some(items)
    }

    /// Reads a regular expression until the `/` that ends it. A `/` in a class, such as `[/]`, does
    /// not end it.
    fn pattern_source(&mut self) -> Option<String> {
        let (mut is_escaped, mut is_in_class) = (false, false);
        let position = self.rest.find(|character| {
            let was_escaped = std::mem::replace(&mut is_escaped, false);
            match character {
                _ if was_escaped => {}
                '\\' => is_escaped = true,
                '[' => is_in_class = true,
                ']' => is_in_class = false,
                '/' => return !is_in_class,
                _ => {}
            }
            false
        })?;
        let source = self.rest[..position].to_owned();
        self.rest = &self.rest[position + 1..];
        Some(source)
    }
}

/// Reads the inside of a string in single quotes.
fn unescape(text: &str) -> Option<String> {
    let json = text.replace("\\'", "'").replace('"', "\\\"");
    serde_json::from_str(&format!("\"{json}\"")).ok()
}

/// Reads the inside of the template literal of a snapshot, without its indentation.
fn snapshot_text(text: &str) -> String {
    let text = text.replace("\\`", "`").replace("\\${", "${").replace("\\\\", "\\");
    let lines = text.trim_end_matches(' ').trim_matches('\n').lines();
    lines.map(|line| line.strip_prefix("  ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Returns `name` with a capital first letter.
fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    characters
        .next()
        .map(|first| format!("{}{}", first.to_ascii_uppercase(), characters.as_str()))
        .unwrap_or_default()
}

fn quote(text: &str) -> String {
    quote_with(text, '"')
}

/// Methods without arguments that are properties in Python and C#.
const PROPERTIES: [&str; 3] = ["first", "last", "contentFrame"];

/// Writes expressions in Python, Java or C#.
struct CodeWriter {
    language: Codegen,
}

impl CodeWriter {
    /// Selects the form of this writer's language.
    fn pick<T>(&self, python: T, java: T, csharp: T) -> T {
        match self.language {
            Codegen::Python => python,
            Codegen::Java => java,
            _ => csharp,
        }
    }

    /// Writes a chain of calls. The last call of a statement is the action.
    fn chain(&self, steps: &[Step], is_statement: bool) -> String {
        let mut written: Vec<String> = Vec::new();
        // The class of the object on which Java calls the next method.
        let mut class = "Page";
        let mut negation = "";
        for (position, step) in steps.iter().enumerate() {
            let is_action = is_statement && position + 1 == steps.len();
            match step.name.as_str() {
                "page" => {
                    written.push("page".to_owned());
                    continue;
                }
                "expect" => {
                    let name = self.pick("expect", "assertThat", "Expect");
                    written.push(format!("{name}({})", self.arguments(step, class, false)));
                    continue;
                }
                "not" => {
                    match self.language {
                        Codegen::Python => negation = "not_",
                        Codegen::Java => written.push("not()".to_owned()),
                        _ => written.push("Not".to_owned()),
                    }
                    continue;
                }
                _ => {}
            }
            let name = self.method(&step.name, is_action);
            let is_property =
                self.language != Codegen::Java && PROPERTIES.contains(&step.name.as_str());
            written.push(if is_property {
                name
            } else {
                format!("{negation}{name}({})", self.arguments(step, class, is_action))
            });
            class = match step.name.as_str() {
                "contentFrame" | "frameLocator" => "FrameLocator",
                _ => "Locator",
            };
        }
        written.join(".")
    }

    /// Returns the name of a method.
    fn method(&self, name: &str, is_action: bool) -> String {
        match self.language {
            Codegen::Python => match name {
                "and" | "or" => format!("{name}_"),
                _ => snake_case(name),
            },
            Codegen::Java if is_action => {
                let prefixes = [
                    ("toBe", "is"),
                    ("toHave", "has"),
                    ("toMatch", "matches"),
                    ("goto", "navigate"),
                ];
                let renamed = prefixes.into_iter().find_map(|(from, to)| {
                    name.strip_prefix(from).map(|rest| format!("{to}{rest}"))
                });
                renamed.unwrap_or_else(|| name.to_owned())
            }
            Codegen::Java => name.to_owned(),
            _ => {
                let name =
                    if name == "dblclick" { "DblClick".to_owned() } else { capitalized(name) };
                if is_action { format!("{name}Async") } else { name }
            }
        }
    }

    fn arguments(&self, step: &Step, class: &str, is_action: bool) -> String {
        let written =
            step.arguments.iter().enumerate().map(|(position, argument)| match argument {
                Expression::Object(fields) => self.options(&step.name, fields, class, is_action),
                Expression::Text(role) if step.name == "getByRole" && position == 0 => self.pick(
                    quote(role),
                    format!("AriaRole.{}", role.to_uppercase()),
                    format!("AriaRole.{}", capitalized(role)),
                ),
                // C# has no overload for one value.
                Expression::Text(text) if step.name == "selectOption" => {
                    let array = format!("new[] {{ {} }}", quote(text));
                    self.pick(quote(text), quote(text), array)
                }
                other => self.value(other),
            });
        written.collect::<Vec<_>>().join(", ")
    }

    /// Writes the options of `method`. Those of an action have several lines in Java and C#.
    fn options(
        &self,
        method: &str,
        fields: &[(String, Expression)],
        class: &str,
        is_action: bool,
    ) -> String {
        let fields = fields.iter().map(|(name, value)| {
            let written = self.field(name, value);
            match self.language {
                Codegen::Python => format!("{}={written}", snake_case(name)),
                Codegen::Java => format!(".set{}({written})", capitalized(name)),
                _ if matches!(value, Expression::Pattern { .. }) => {
                    format!("{}Regex = {written}", capitalized(name))
                }
                _ => format!("{} = {written}", capitalized(name)),
            }
        });
        let fields: Vec<String> = fields.collect();
        match (self.language, is_action) {
            (Codegen::Python, _) => fields.join(", "),
            (Codegen::Java, true) => {
                let method = if method == "dblclick" { "click" } else { method };
                let lines = format!("\n  {}", fields.join("\n  "));
                format!("new {class}.{}Options(){lines}", capitalized(method))
            }
            (Codegen::Java, false) => {
                format!("new {class}.{}Options(){}", capitalized(method), fields.concat())
            }
            (_, true) => format!("new()\n{{\n    {},\n}}", fields.join(",\n    ")),
            (_, false) => format!("new() {{ {} }}", fields.join(", ")),
        }
    }

    /// Writes the value of an option. The button and the modifiers are constants in Java and C#.
    fn field(&self, name: &str, value: &Expression) -> String {
        let constant = |class: &str, text: &str| {
            let name = self.pick(quote(text), text.to_uppercase(), capitalized(text));
            if self.language == Codegen::Python { name } else { format!("{class}.{name}") }
        };
        match (name, value) {
            ("button", Expression::Text(text)) => constant("MouseButton", text),
            ("modifiers", Expression::Array(items)) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| match item {
                        Expression::Text(text) => constant("KeyboardModifier", text),
                        other => self.value(other),
                    })
                    .collect();
                let items = items.join(", ");
                self.pick(
                    format!("[{items}]"),
                    format!("Arrays.asList({items})"),
                    format!("new[] {{ {items} }}"),
                )
            }
            _ => self.value(value),
        }
    }

    fn value(&self, value: &Expression) -> String {
        match value {
            Expression::Text(text) => quote(text),
            Expression::Word(word) => self.pick(capitalized(word), word.clone(), word.clone()),
            Expression::Variable(name) => self.pick(
                format!("os.environ[\"{name}\"]"),
                format!("System.getenv(\"{name}\")"),
                format!("Environment.GetEnvironmentVariable(\"{name}\")"),
            ),
            Expression::Array(items) => {
                let written: Vec<String> = items.iter().map(|item| self.value(item)).collect();
                let written = written.join(", ");
                let java = if items.is_empty() {
                    "new String[0]".to_owned()
                } else {
                    format!("new String[] {{{written}}}")
                };
                self.pick(format!("[{written}]"), java, format!("new[] {{ {written} }}"))
            }
            Expression::Pattern { source, flags } => self.pattern(source, flags),
            Expression::Chain(steps) => self.chain(steps, false),
            Expression::Object(fields) => self.options("object", fields, "Locator", false),
        }
    }

    fn pattern(&self, source: &str, flags: &str) -> String {
        let source = source.replace("\\'", "'").replace("\\\"", "\"").replace("\\`", "`");
        let class = self.pick("re", "Pattern", "RegexOptions");
        let names = [
            ('i', self.pick("IGNORECASE", "CASE_INSENSITIVE", "IgnoreCase")),
            ('m', self.pick("MULTILINE", "MULTILINE", "Multiline")),
            ('s', self.pick("DOTALL", "DOTALL", "Singleline")),
        ];
        let flags: Vec<String> = flags
            .chars()
            .filter_map(|flag| names.iter().find(|(name, _)| *name == flag))
            .map(|(_, name)| format!("{class}.{name}"))
            .collect();
        let flags =
            if flags.is_empty() { String::new() } else { format!(", {}", flags.join(" | ")) };
        match self.language {
            Codegen::Python => {
                let source = source.replace("\\/", "/").replace('"', "\\\"");
                format!("re.compile(r\"{source}\"{flags})")
            }
            Codegen::Java => format!("Pattern.compile({}{flags})", quote(&source)),
            _ => format!("new Regex({}{flags})", quote(&source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_translated_to_each_language() {
        let statement = "await page.getByRole('link', { name: /a\\/[/]\"b/is }).first().click();";
        let source = r#""a\\/[/]\"b""#;
        for (language, expected) in [
            (Codegen::Typescript, statement.to_owned()),
            (
                Codegen::Python,
                r#"page.get_by_role("link", name=re.compile(r"a/[/]\"b", re.IGNORECASE | re.DOTALL)).first.click()"#
                    .to_owned(),
            ),
            (
                Codegen::Java,
                format!(
                    "page.getByRole(AriaRole.LINK, new Page.GetByRoleOptions().setName(\
                     Pattern.compile({source}, Pattern.CASE_INSENSITIVE | Pattern.DOTALL)))\
                     .first().click();"
                ),
            ),
            (
                Codegen::Csharp,
                format!(
                    "await page.GetByRole(AriaRole.Link, new() {{ NameRegex = new Regex({source}, \
                     RegexOptions.IgnoreCase | RegexOptions.Singleline) }}).First.ClickAsync();"
                ),
            ),
        ] {
            assert_eq!(translate(statement, language), expected);
        }
    }

    #[test]
    fn texts_keep_quotes_backslashes_and_lines() {
        let text = "it's a \"b\" \\ `${x}`\nü";
        let statement = format!("await page.locator('a').fill({});", quote_with(text, '\''));
        assert_eq!(
            translate(&statement, Codegen::Python),
            format!("page.locator(\"a\").fill({})", quote(text))
        );
    }

    #[test]
    fn other_code_stays_javascript() {
        for code in ["// Press Tab", "await page.evaluate(() => 1);", "await page.click('a\\');"] {
            assert_eq!(translate(code, Codegen::Python), code);
        }
    }
}
